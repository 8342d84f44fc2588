#include "backends/gpu/emulator_device.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "backends/host/child_process.h"
#include "backends/host/descriptor.h"
#include "ir/support/source.h"

namespace hloc::gpu {
namespace {

using emulation::Finding;
using host::Descriptor;

constexpr size_t alignment = 256;
constexpr size_t most_bytes = size_t{1} << emulation::address_bits_of_argument;

class EmulatedDevice final : public Device {
 public:
  EmulatedDevice(Descriptor socket, Descriptor memory, EmulatedSource source)
      : socket_(std::move(socket)), memory_(std::move(memory)), source_(std::move(source)) {
    uint64_t number = 0;
    for (const auto& kernel : source_.launches) first_launches_.push_back(std::exchange(number, number + kernel.size()));
  }
  EmulatedDevice(const EmulatedDevice&) = delete;
  EmulatedDevice& operator=(const EmulatedDevice&) = delete;
  ~EmulatedDevice() override {
    end();
    if (here_) ::munmap(here_, bytes_);
  }

  void runs_in(pid_t process) { process_ = process; }

  Result<std::byte*> allocate(size_t bytes) override {
    if (bytes > most_bytes - bytes_)
      return error(ErrorKind::memory, fmt::format("emulated kernels have {} GiB of memory at most", most_bytes >> 30));
    size_t from = bytes_, to = from + (bytes + alignment - 1) / alignment * alignment;
    if (to == from) return at(from);
    // The pages are taken now: later there would be no error but a signal.
    int failure = ::posix_fallocate(memory_.get(), static_cast<off_t>(from), static_cast<off_t>(to - from));
    void* all = failure == 0 ? ::mmap(nullptr, to, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0) : MAP_FAILED;
    if (all == MAP_FAILED) return error(ErrorKind::memory, fmt::format("there are no {} bytes for emulated kernels", bytes));
    if (here_) ::munmap(here_, bytes_);
    here_ = static_cast<std::byte*>(all);
    bytes_ = to;
    return at(from);
  }
  Result<void> write(std::byte* to, const std::byte* from, size_t bytes) override { return move(here(to), from, bytes); }
  Result<void> read(std::byte* to, const std::byte* from, size_t bytes) override { return move(to, here(from), bytes); }
  Result<void> copy(std::byte* to, const std::byte* from, size_t bytes) override { return move(here(to), here(from), bytes); }

  Result<void> launch(size_t kernel, size_t launch, std::span<std::byte* const> arguments) override {
    const EmulatedLaunch& what = source_.launches[kernel][launch];
    if (process_ < 0)
      return error(ErrorKind::bug, fmt::format("{}: the process that runs emulated kernels has ended before", what.function));
    request_.assign({first_launches_[kernel] + launch, bytes_});
    for (const std::byte* a : arguments) request_.push_back(offset(a));
    Finding finding;
    if (!exchange(finding)) return ended(what);
    if (finding.kind == emulation::nothing) return {};
    return describe(finding, source_, what, process_);
  }

 private:
  // Addresses of the device are offsets, but none is null.
  static std::byte* at(size_t offset) { return reinterpret_cast<std::byte*>(offset + alignment); }
  static size_t offset(const std::byte* address) { return reinterpret_cast<size_t>(address) - alignment; }
  std::byte* here(const std::byte* address) const { return here_ + offset(address); }

  static Result<void> move(std::byte* to, const std::byte* from, size_t bytes) {
    if (bytes != 0) std::memmove(to, from, bytes);
    return {};
  }

  bool exchange(Finding& answer) const {
    auto bytes = static_cast<ssize_t>(request_.size() * sizeof request_[0]);
    ssize_t n = 0;
    do n = ::send(socket_.get(), request_.data(), static_cast<size_t>(bytes), MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n != bytes) return false;
    do n = ::recv(socket_.get(), &answer, sizeof answer, 0);
    while (n < 0 && errno == EINTR);
    return n == static_cast<ssize_t>(sizeof answer);
  }

  int end() {
    if (process_ < 0) return -1;
    ::kill(process_, SIGKILL);
    return host::wait_for_child(std::exchange(process_, -1));
  }

  Diagnostic ended(const EmulatedLaunch& launch) {
    int status = end();
    std::string how = status >= 0 && WIFSIGNALED(status) ? fmt::format(" by signal {}", WTERMSIG(status)) : "";
    return error(ErrorKind::bug, fmt::format("{}: the process that runs emulated kernels has ended{}", launch.function, how));
  }

  Descriptor socket_, memory_;
  EmulatedSource source_;
  std::vector<uint64_t> first_launches_;  // numbers in the process's table, by kernel
  pid_t process_ = -1;
  std::byte* here_ = nullptr;
  size_t bytes_ = 0;
  std::vector<uint64_t> request_;
};

}  // namespace

Result<std::unique_ptr<Device>> start_emulated_device(const std::string& program, EmulatedSource source) {
  int ends[2] = {-1, -1};
  bool paired = ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
  Descriptor ours(ends[0]), theirs(ends[1]), memory = host::memory_file();
  if (!paired || !memory.is_open())
    return error(ErrorKind::target, fmt::format("no process can be had for emulated kernels: {}", std::strerror(errno)));
  const host::InheritedFile files[] = {{theirs.get(), emulation::socket_number}, {memory.get(), emulation::memory_number}};
  auto device = std::make_unique<EmulatedDevice>(std::move(ours), std::move(memory), std::move(source));
  const std::string arguments[] = {program};
  pid_t process = host::start_child(arguments, files);
  if (process < 0) return error(ErrorKind::target, fmt::format("the compiled kernels can't be started: {}", std::strerror(errno)));
  device->runs_in(process);
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace hloc::gpu
