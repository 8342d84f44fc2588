// Source to a shared library by g++ in a child process, and its functions by dlopen.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "backends/gpu/emulator.h"
#include "backends/gpu/source.h"
#include "backends/host/child_process.h"
#include "backends/host/guarded.h"
#include "ir/support/source.h"

namespace hloc::gpu {
namespace {

using EmulatedLaunch = bool(void** arguments);

// For each launch a function that takes its arguments as an array.
std::string entries(const GpuProgram& program) {
  std::string out;
  for (const GpuKernel& k : program.kernels) {
    for (const Launch& l : k.launches) {
      std::string arguments;
      for (size_t i = 0; i < l.buffers.size(); ++i)
        arguments += fmt::format("{}({})a[{}]", i == 0 ? "" : ", ", parameter_type(k, l.buffers[i]), i);
      out += fmt::format("static void call_{0}(void** a) {{ {0}({1}); }}\n", l.name, arguments);
      out += fmt::format("extern \"C\" bool emulate_{0}(void** a) {{ return emulator::run(call_{0}, a, {1}u, {2}, {3}); }}\n", l.name, l.blocks, l.threads,
                         l.is_cooperative);
    }
  }
  return out;
}

struct TemporaryFolder {
  std::filesystem::path path;

  TemporaryFolder() {
    const char* base = std::getenv("TMPDIR");
    std::string name = fmt::format("{}/hloc-XXXXXX", base && *base ? base : "/tmp");
    if (::mkdtemp(name.data())) path = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

// Runs g++ in that folder; its exit status, 127 when there is none.
int run_compiler(const std::filesystem::path& folder) {
  // No fused multiply-add and no wider precision than the source says; -march: for fmaf, which is a call otherwise.
  const std::string arguments[] = {"g++", "-std=c++17", "-O1", "-march=native", "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv", "-w", "-fPIC",
                                   "-shared", "-o", folder / "kernels.so", folder / "kernels.cpp"};
  int log = ::open((folder / "log").c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
  if (log < 0) return 126;
  const host::InheritedFile files[] = {{log, STDOUT_FILENO}, {log, STDERR_FILENO}};
  int status = host::run_child(arguments, files);
  ::close(log);
  if (status < 0) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string first_lines(const std::filesystem::path& file, int most) {
  std::ifstream in(file);
  std::string out, line;
  for (int i = 0; i < most && std::getline(in, line); ++i) out += "\n" + line;
  return out;
}

class Emulator final : public Device {
 public:
  explicit Emulator(void* library) : library_(library) {}
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;
  ~Emulator() override { ::dlclose(library_); }

  bool find_all(const GpuProgram& program) {
    for (const GpuKernel& k : program.kernels) {
      auto& list = launches_.emplace_back();
      for (const Launch& l : k.launches) {
        void* f = ::dlsym(library_, ("emulate_" + l.name).c_str());
        if (!f) return false;
        list.push_back({reinterpret_cast<EmulatedLaunch*>(f), l.name});
      }
    }
    return true;
  }

  Result<std::byte*> allocate(size_t bytes) override { return memory_.emplace_back(bytes, 256).data(); }
  Result<void> write(std::byte* to, const std::byte* from, size_t bytes) override { return copy(to, from, bytes); }
  Result<void> read(std::byte* to, const std::byte* from, size_t bytes) override { return copy(to, from, bytes); }
  Result<void> copy(std::byte* to, const std::byte* from, size_t bytes) override {
    if (bytes != 0) std::memmove(to, from, bytes);
    return {};
  }

  Result<void> launch(size_t kernel, size_t launch, std::span<std::byte* const> arguments) override {
    const auto& [function, name] = launches_[kernel][launch];
    std::vector<void*> pointers(arguments.begin(), arguments.end());
    if (function(pointers.data())) return {};
    return error(ErrorKind::bug, fmt::format("{}: threads of a block wait at a barrier or a shuffle for others that never come there", name));
  }

 private:
  struct Entry {
    EmulatedLaunch* function;
    std::string name;
  };
  void* library_;
  std::vector<host::GuardedBuffer> memory_;
  std::vector<std::vector<Entry>> launches_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_emulator(const GpuProgram& program, const Dialect& dialect) {
  TemporaryFolder folder;
  if (folder.path.empty()) return error(ErrorKind::target, "no temporary folder can be made (TMPDIR or /tmp)");
  {
    std::ofstream source(folder.path / "kernels.cpp");
    source << kernel_source(program, emulated(dialect)) << entries(program);
    if (!source.flush()) return error(ErrorKind::target, fmt::format("{} can't be written", (folder.path / "kernels.cpp").string()));
  }
  int status = run_compiler(folder.path);
  if (status == 127) return error(ErrorKind::target, "running kernels on the host needs g++, which was not found (Debian: apt install g++)");
  if (status != 0) return error(ErrorKind::bug, fmt::format("g++ refused the source of the kernels:{}", first_lines(folder.path / "log", 12)));
  void* library = ::dlopen((folder.path / "kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return error(ErrorKind::target, fmt::format("the compiled kernels can't be loaded: {}", ::dlerror()));
  auto out = std::make_unique<Emulator>(library);
  if (!out->find_all(program)) return error(ErrorKind::bug, "a launch has no function in the compiled kernels");
  return std::unique_ptr<Device>(std::move(out));
}

}  // namespace hloc::gpu
