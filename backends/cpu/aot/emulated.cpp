// Files that live in memory hold the program, its inputs and its outputs, so that nothing is left behind and no pipe fills up.
#include "backends/cpu/aot/emulated.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "backends/host/child_process.h"
#include "backends/host/descriptor.h"
#include "ir/support/source.h"

namespace hloc::aot {
namespace {

Diagnostic missing(const Emulator& e) {
  return error(ErrorKind::target, fmt::format("'{}' is not on the path; it runs code of this target on this machine (Debian: apt install "
                                              "{})", e.command, e.package));
}

// The wait status, or -1 if it could not be started (errno says why).
int run_program(std::string_view command, int program, int input, int output) {
  constexpr int program_at = 3;
  const std::string arguments[] = {std::string(command), fmt::format("/proc/self/fd/{}", program_at)};
  const host::InheritedFile files[] = {{input, STDIN_FILENO}, {output, STDOUT_FILENO}, {program, program_at}};
  return host::run_child(arguments, files);
}

class EmulatedExecutable final : public backends::Executable {
 public:
  EmulatedExecutable(CallSizes sizes, host::Descriptor program, const Emulator& emulator, int64_t code_bytes)
      : sizes_(std::move(sizes)), program_(std::move(program)), emulator_(emulator), code_bytes_(code_bytes) {}

  int64_t code_bytes() const override { return code_bytes_; }
  std::string_view runner() const override { return emulator_.command; }

  // Threads and guard pages: there is one thread, and the program's buffers always have guard pages.
  Result<void> call(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, const CallOptions&) const override {
    host::Descriptor in = host::memory_file(), out = host::memory_file();
    bool good = in.is_open() && out.is_open();
    for (size_t i = 0; good && i < inputs.size(); ++i) good = host::write_all(in, {inputs[i], static_cast<size_t>(sizes_.inputs[i])});
    if (!good || ::lseek(in.get(), 0, SEEK_SET) < 0) return error(ErrorKind::memory, "there is not enough memory for the inputs");
    int status = run_program(emulator_.command, program_.get(), in.get(), out.get());
    if (status == -1 && errno == ENOENT) return missing(emulator_);
    if (status == -1) return error(ErrorKind::target, fmt::format("{} can't be started: {}", emulator_.command, std::strerror(errno)));
    auto ended = [&](ErrorKind kind, std::string_view how, int number) {
      return error(kind, fmt::format("under {} the program ended {} {}", emulator_.command, how, number));
    };
    if (WIFSIGNALED(status)) return ended(ErrorKind::bug, "by signal", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0) return ended(ErrorKind::target, "with status", WEXITSTATUS(status));
    off_t at = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::span<std::byte> bytes(outputs[i], static_cast<size_t>(sizes_.outputs[i]));
      if (!host::read_all(out, at, bytes))
        return error(ErrorKind::bug, fmt::format("under {} the program wrote too little", emulator_.command));
      at += static_cast<off_t>(bytes.size());
    }
    return {};
  }

 private:
  CallSizes sizes_;
  host::Descriptor program_;
  Emulator emulator_;
  int64_t code_bytes_;
};

}  // namespace

Result<void> find_emulator(const Emulator& emulator) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    size_t end = std::min(rest.find(':'), rest.size());
    std::string candidate = fmt::format("{}/{}", rest.substr(0, end), emulator.command);
    if (::access(candidate.c_str(), X_OK) == 0) return {};
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return missing(emulator);
}

Result<std::unique_ptr<backends::Executable>> make_emulated(CallSizes sizes, std::span<const std::byte> program, const Emulator& emulator,
                                                            int64_t code_bytes) {
  host::Descriptor file = host::memory_file();
  if (!host::write_all(file, program)) return error(ErrorKind::memory, "there is not enough memory for the program");
  return std::unique_ptr<backends::Executable>(
      std::make_unique<EmulatedExecutable>(std::move(sizes), std::move(file), emulator, code_bytes));
}

}  // namespace hloc::aot
