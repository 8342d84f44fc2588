#include "backends/gpu/emulator_finding.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "backends/host/child_process.h"
#include "backends/host/descriptor.h"
#include "ir/support/source.h"

namespace hloc::gpu {
namespace {

using emulation::Finding;

// Lines of the source, from 1; 0: not known.
struct SourcePlace {
  uint32_t line = 0;   // in the kernel
  uint32_t inner = 0;  // in a function that is called there and became part of the kernel; 0: there is none, or it is the prelude's
};

// What addr2line says of these addresses of the process's program.
std::string addr2line(pid_t process, const std::vector<uint64_t>& addresses) {
  std::vector<std::string> arguments{"addr2line", "-a", "-i", "-e", fmt::format("/proc/{}/exe", process)};
  for (uint64_t a : addresses) arguments.push_back(fmt::format("{:#x}", a));
  std::string out;
  host::Descriptor file = host::memory_file();
  const host::InheritedFile files[] = {{file.get(), STDOUT_FILENO}, {file.get(), STDERR_FILENO}};
  if (host::run_child(arguments, files) != 0) return out;
  off_t bytes = ::lseek(file.get(), 0, SEEK_END);
  out.resize(bytes < 0 ? 0 : static_cast<size_t>(bytes));
  if (!host::read_all(file, 0, std::as_writable_bytes(std::span(out)))) out.clear();
  return out;
}

// One place for each address. Its text has a line "0x…" per address and then a line "file:line" for the place and each function
// that it is part of, outermost last.
std::vector<SourcePlace> places(const EmulatedSource& source, pid_t process, const std::vector<uint64_t>& addresses) {
  std::vector<SourcePlace> out;
  std::string text = addr2line(process, addresses);
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with("0x")) {
      out.emplace_back();
      continue;
    }
    size_t colon = line.find(':');
    if (out.empty() || colon == line.npos || !line.substr(0, colon).ends_with(emulated_file)) continue;
    auto number = static_cast<uint32_t>(std::atoi(std::string(line.substr(colon + 1)).c_str()));
    SourcePlace& p = out.back();
    bool in_prelude = number >= source.prelude_begin && number < source.prelude_end;
    if (p.line != 0 && p.inner == 0) p.inner = p.line;
    if (!in_prelude) p.line = number;
  }
  out.resize(addresses.size());
  return out;
}

// "element 7 of x, which has 5"
std::string element(const Finding& f, const EmulatedLaunch& launch, bool with_size) {
  if (f.where == emulation::nowhere) return "memory that is no argument's, not shared and not of its own stack";
  std::string name;
  int64_t width = f.size;
  if (f.where == emulation::in_argument) {
    const EmulatedArgument& a = launch.arguments[static_cast<size_t>(f.argument)];
    name = a.name;
    width = a.element_bytes;
  } else {
    name = "shared " + std::string(f.name, ::strnlen(f.name, sizeof f.name));
  }
  int64_t index = f.offset >= 0 ? f.offset / width : -((-f.offset + width - 1) / width);
  std::string out = fmt::format("element {} of {}", index, name);
  if (with_size) out += fmt::format(", which has {}", f.bytes / width);
  return out;
}

std::string at_line(const SourcePlace& p) { return p.line == 0 ? "" : fmt::format(" in line {}", p.line); }

std::string waits(emulation::State state, const SourcePlace& p) {
  if (state == emulation::finished) return "has ended";
  return fmt::format("waits {}{}", state == emulation::at_barrier ? "for the block" : "for its wave", at_line(p));
}

std::string other_access(const Finding& f, const SourcePlace& place) {
  std::string_view did = f.other_is_write ? "wrote" : "read";
  if (f.other_thread < 0) return fmt::format("another block {} in the same launch", did);
  std::string who = f.other_thread == emulation::several ? "several threads" : fmt::format("thread {}", f.other_thread);
  if (f.other_block != f.block) return fmt::format("{} of block {} {}{} in the same launch", who, f.other_block, did, at_line(place));
  return fmt::format("{} {}{} with no barrier between them", who, did, at_line(place));
}

std::string crash(const Finding& f) {
  if (f.is_stack_overflow) return fmt::format("needs more than the {} KiB of its stack", int{emulation::stack_kib});
  if (f.signal == SIGFPE) return "divides the least integer by -1";
  if (f.signal == SIGSEGV || f.signal == SIGBUS) return fmt::format("accesses memory that is not there, at {:#x}", f.address);
  return fmt::format("is ended by signal {}", f.signal);
}

std::string what_happens(const Finding& f, const EmulatedLaunch& launch, const SourcePlace& other) {
  std::string_view does = f.is_write ? "writes" : "reads";
  switch (f.kind) {
    case emulation::nothing: return "nothing";
    case emulation::outside: return fmt::format("{} {}", does, element(f, launch, true));
    case emulation::read_only: return fmt::format("writes {}, which this launch only reads", element(f, launch, false));
    case emulation::unwritten: return fmt::format("reads {}, which no thread of the block has written", element(f, launch, false));
    case emulation::race: return fmt::format("{} {}, which {}", does, element(f, launch, false), other_access(f, other));
    case emulation::misaligned:
      return fmt::format("accesses {} bytes at {}, whose address is no multiple of {}", f.size, element(f, launch, false), f.size);
    case emulation::division: return "divides an integer by zero";
    case emulation::divergent:
      if (f.other_thread < 0) return "shuffles with a lane that its mask does not name";
      return fmt::format("{}, but thread {} {}{}", waits(f.state, {}), f.other_thread, waits(f.other_state, other),
                         f.code == f.other_code && f.state == f.other_state ? " with another mask" : "");
    case emulation::crash: return crash(f);
    case emulation::no_memory: return "has no memory";
  }
  return "";
}

Loc range_of_line(const std::string& text, uint32_t line) {
  size_t begin = 0;
  for (uint32_t i = 1; i < line && begin != std::string::npos; ++i) begin = text.find('\n', begin) + 1;
  size_t end = std::min(text.find('\n', begin), text.size());
  size_t first = std::min(text.find_first_not_of(' ', begin), end);
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(end)};
}

}  // namespace

Diagnostic describe(const Finding& f, const EmulatedSource& source, const EmulatedLaunch& launch, pid_t process) {
  if (f.kind == emulation::no_memory) return error(ErrorKind::memory, fmt::format("{}: there is no memory to emulate it", launch.function));
  std::vector<SourcePlace> found = places(source, process, {f.code, f.other_code});
  std::string message = fmt::format("{}: thread {} of block {} {}", launch.function, f.thread, f.block, what_happens(f, launch, found[1]));
  const SourcePlace& place = found[0];
  if (place.inner != 0) message += fmt::format(" (in line {}, called here)", place.inner);
  if (place.line == 0) return error(ErrorKind::bug, message);
  Diagnostic d = error_at({std::string(emulated_file), source.text}, range_of_line(source.text, place.line), message);
  d.kind = ErrorKind::bug;
  return d;
}

}  // namespace hloc::gpu
