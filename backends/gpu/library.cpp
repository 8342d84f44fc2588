#include "backends/gpu/library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>

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

void* Library::address(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace hloc::gpu
