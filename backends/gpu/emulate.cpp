// Source to a program by g++ in a child process.
#include "backends/gpu/emulator.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "backends/gpu/emulator_device.h"
#include "backends/gpu/emulator_text.h"
#include "backends/gpu/source.h"
#include "backends/host/child_process.h"
#include "ir/support/source.h"

namespace hloc::gpu {
namespace {

constexpr int most_lines = 12;  // of what g++ says

// The table of launches. A function is called by way of a pointer to one that takes untyped pointers: both take them in the
// same registers.
std::string launch_table(const std::vector<std::vector<EmulatedLaunch>>& launches) {
  std::string functions, rows;
  size_t number = 0;
  for (const auto& kernel : launches) {
    for (const EmulatedLaunch& l : kernel) {
      std::vector<std::string> types, arguments, facts;
      for (const EmulatedArgument& a : l.arguments) {
        types.emplace_back("void*");
        arguments.push_back(fmt::format("a[{}]", arguments.size()));
        facts.push_back(fmt::format("{{{}u, {}u, {}}}", a.bytes, a.element_bytes, a.is_written));
      }
      if (facts.empty()) facts.emplace_back("{}");
      functions += fmt::format("PLAIN static void call_{}(void** a) {{ ((void (*)({}))opaque((void*)&{}))({}); }}\n", number,
                               fmt::join(types, ", "), l.function, fmt::join(arguments, ", "));
      functions += fmt::format("static const ArgumentFacts arguments_{}[] = {{{}}};\n", number, fmt::join(facts, ", "));
      rows += fmt::format("  {{call_{0}, arguments_{0}, {1}u, {2}u, {3}}},\n", number, l.blocks, l.threads, l.is_cooperative);
      ++number;
    }
  }
  if (rows.empty()) rows = "  {},\n";
  return fmt::format(R"(
namespace emulator {{
struct ArgumentFacts {{ unsigned long bytes, element_bytes; bool is_writable; }};
struct LaunchFacts {{ void (*call)(void** arguments); const ArgumentFacts* arguments; unsigned int blocks, threads; bool waits; }};
PLAIN static inline void* opaque(void* p) {{ asm("" : "+r"(p)); return p; }}
{}static const LaunchFacts launches[] = {{
{}}};
}}  // namespace emulator
)", functions, rows);
}

std::string main_file(const std::vector<std::vector<EmulatedLaunch>>& launches, const Dialect& dialect) {
  return fmt::format("{}{}#include \"{}\"\nnamespace emulator {{ {} }}\n{}{}{}", emulation::words, dialect.host_words,
                     emulated_file, emulation::protocol_text, emulation::checks, launch_table(launches), emulation::scheduler);
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

Result<void> write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) return error(ErrorKind::target, fmt::format("{} can't be written", path.string()));
  return {};
}

// Runs g++ in that folder; its exit status.
Result<int> run_compiler(const std::filesystem::path& folder) {
  // No fused multiply-add and no wider precision than the source says; -march: for fmaf, which is a call otherwise. At -O1 and
  // without threaded jumps no barrier becomes two. Code stands at its addresses in the file, within 4 GiB. DWARF 4: with
  // 5, binutils mix up the first two files. The checkers' libraries are left out: the program has functions in their place.
  const std::string arguments[] = {
      "g++", "-std=c++17", "-O1", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing", "-fwrapv",
      "-fno-thread-jumps", "-fno-exceptions", "-fno-rtti", "-fno-asynchronous-unwind-tables", "-fno-stack-protector", "-fno-pie",
      "-no-pie", "-gdwarf-4", "-g1", "-w", "-fsanitize=thread", "--param", "tsan-instrument-func-entry-exit=0",
      "-fsanitize=alignment,integer-divide-by-zero", "-fsanitize-recover=alignment,integer-divide-by-zero", "-nodefaultlibs",
      "-o", folder / "kernels", folder / "main.cpp", "-pthread", "-lm", "-lc", "-lgcc"};
  int log = ::open((folder / "log").c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
  if (log < 0) return error(ErrorKind::target, fmt::format("{} can't be written: {}", (folder / "log").string(), std::strerror(errno)));
  const host::InheritedFile files[] = {{log, STDOUT_FILENO}, {log, STDERR_FILENO}};
  int status = host::run_child(arguments, files), failure = errno;
  ::close(log);
  if (status >= 0) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (failure == ENOENT)
    return error(ErrorKind::target, "running kernels on the host needs g++, which was not found (Debian: apt install g++)");
  return error(ErrorKind::target,
               fmt::format("g++, which running kernels on the host needs, can't be started: {}", std::strerror(failure)));
}

// An error of ours has a place in the source; without one g++ could not do its work: no space, no memory, no assembler.
Diagnostic compiler_failed(const std::filesystem::path& folder) {
  std::ifstream in(folder / "log");
  std::string lines, line;
  bool is_ours = false;
  for (int i = 0; std::getline(in, line); ++i) {
    if (i < most_lines) lines += "\n" + line;
    std::string_view place = std::string_view(line).substr(0, line.find(": error: "));
    is_ours |= place.size() != line.size() && (place.find(emulated_file) != place.npos || place.find("main.cpp") != place.npos);
  }
  if (is_ours) return error(ErrorKind::bug, "g++ refused the source of the kernels:" + lines);
  if (lines.empty()) lines = " it says nothing";
  return error(ErrorKind::target, fmt::format("g++ can't compile kernels here (is {} full?):{}", folder.parent_path().string(), lines));
}

EmulatedSource with_lines_of_prelude(EmulatedSource source, const Dialect& dialect) {
  size_t begin = source.text.find(dialect.prelude);
  if (dialect.prelude.empty() || begin == std::string::npos) return source;
  source.prelude_begin = static_cast<uint32_t>(1 + std::ranges::count(std::string_view(source.text).substr(0, begin), '\n'));
  source.prelude_end = source.prelude_begin + static_cast<uint32_t>(std::ranges::count(dialect.prelude, '\n'));
  return source;
}

int64_t copies(const Launch& l, Place place) {
  if (place == Place::per_block) return l.blocks;
  return place == Place::per_thread ? l.blocks * l.threads : 1;
}

}  // namespace

std::vector<std::vector<EmulatedLaunch>> emulated_launches(const GpuProgram& program) {
  std::vector<std::vector<EmulatedLaunch>> out;
  for (const GpuKernel& k : program.kernels) {
    auto& list = out.emplace_back();
    for (const Launch& l : k.launches) {
      EmulatedLaunch e{l.name, l.blocks, l.threads, l.is_cooperative, {}};
      for (loops::BufferId b : l.buffers) {
        const loops::Buffer& buffer = k.kernel->buffers[b];
        int width = byte_width(buffer.element);
        e.arguments.push_back({buffer.name, buffer.count * width * copies(l, l.places[b]), width, buffer.role != loops::BufferRole::input});
      }
      list.push_back(std::move(e));
    }
  }
  return out;
}

Result<std::unique_ptr<Device>> make_emulator(std::string source, std::vector<std::vector<EmulatedLaunch>> launches,
                                              const Dialect& dialect) {
  for (const auto& kernel : launches)
    for (const EmulatedLaunch& l : kernel)
      if (l.threads > emulation::most_threads || l.blocks > UINT32_MAX || l.arguments.size() > emulation::most_arguments)
        return error(ErrorKind::target, fmt::format("{} has more blocks, threads or arguments than devices take", l.function));
  TemporaryFolder folder;
  if (folder.path.empty()) return error(ErrorKind::target, "no temporary folder can be made (TMPDIR or /tmp)");
  if (auto ok = write_file(folder.path / emulated_file, source); !ok) return ok.error();
  if (auto ok = write_file(folder.path / "main.cpp", main_file(launches, dialect)); !ok) return ok.error();
  auto status = run_compiler(folder.path);
  if (!status) return status.error();
  if (*status != 0) return compiler_failed(folder.path);
  return start_emulated_device(folder.path / "kernels", with_lines_of_prelude({std::move(source), 0, 0, std::move(launches)}, dialect));
}

Result<std::unique_ptr<Device>> make_emulator(const GpuProgram& program, const Dialect& dialect) {
  return make_emulator(kernel_source(program, dialect), emulated_launches(program), dialect);
}

}  // namespace hloc::gpu
