#include "backends/gpu/library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <sys/stat.h>

#include <fmt/format.h>

namespace hloc::gpu {

Library::Library(std::span<const char* const> names, const char* folder_variable) {
  const char* folder = std::getenv(folder_variable);
  if (folder && *folder)
    for (const char* name : names)
      for (const char* below : {"/", "/lib64/", "/lib/"})
        if ((handle_ = ::dlopen((std::string(folder) + below + name).c_str(), RTLD_NOW | RTLD_LOCAL))) return;
  for (const char* name : names)
    if ((handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL))) return;
}

std::string Library::file_identity() const {
  link_map* loaded = nullptr;
  std::error_code failed;
  if (!handle_ || ::dlinfo(handle_, RTLD_DI_LINKMAP, &loaded) != 0) return "";
  std::filesystem::path path = std::filesystem::canonical(loaded->l_name, failed);
  struct stat info {};
  if (failed || ::stat(path.c_str(), &info) != 0) return "";
  return fmt::format("{}, {} bytes, {}", path.filename().string(), info.st_size, info.st_mtime);
}

void* Library::address(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace hloc::gpu
