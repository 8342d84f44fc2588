#include "backends/gpu/driver_device.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ir/support/source.h"

namespace hloc::gpu {
namespace {

// Makes the device the thread's while it lives.
class Visit {
 public:
  explicit Visit(Driver& driver) : driver_(driver) { status_ = driver.enter(before_); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() {
    if (status_ == 0) driver_.leave(before_);
  }
  int status() const { return status_; }

 private:
  Driver& driver_;
  int before_ = 0, status_ = 0;
};

class DriverDevice final : public Device {
 public:
  explicit DriverDevice(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}

  ~DriverDevice() override {
    Visit visit(*driver_);
    if (visit.status() != 0) return;
    for (std::byte* memory : memory_) driver_->free(memory);
    if (module_) driver_->unload(module_);
  }

  Result<void> load(const GpuProgram& program, std::string_view code) {
    if (auto ok = visit([&] { return driver_->load(module_, code.data()); }, "loading the kernels"); !ok) return ok;
    for (const GpuKernel& k : program.kernels) {
      auto& list = functions_.emplace_back();
      for (const Launch& l : k.launches) {
        Function& f = list.emplace_back(Function{nullptr, l.name, l.blocks, l.threads});
        if (l.blocks > std::numeric_limits<int32_t>::max())
          return error(ErrorKind::target,
                       fmt::format("{} takes {} blocks, and {} runs no more than 2^31 - 1", l.name, l.blocks, driver_->device()));
        auto found = visit([&] { return driver_->find(f.at, module_, l.name.c_str()); }, fmt::format("finding the kernel {}", l.name));
        if (!found) return found;
      }
    }
    return {};
  }

  Result<std::byte*> allocate(size_t bytes) override {
    std::byte* memory = nullptr;
    auto ok = visit([&] { return driver_->allocate(memory, std::max<size_t>(bytes, 1)); }, fmt::format("making room for {} bytes", bytes));
    if (!ok) return ok.error();
    memory_.push_back(memory);
    return memory;
  }

  Result<void> write(std::byte* to, const std::byte* from, size_t bytes) override {
    if (bytes == 0) return {};
    return visit([&] { return driver_->write(to, from, bytes); }, "writing to the device");
  }

  Result<void> read(std::byte* to, const std::byte* from, size_t bytes) override {
    if (bytes == 0) return {};
    auto ok = visit([&] { return driver_->read(to, from, bytes); }, "reading from the device");
    if (ok) queued_ = 0;
    return ok;
  }

  Result<void> copy(std::byte* to, const std::byte* from, size_t bytes) override {
    if (bytes == 0 || to == from) return {};
    auto a = reinterpret_cast<uintptr_t>(to), b = reinterpret_cast<uintptr_t>(from);
    bool overlaps = std::max(a, b) - std::min(a, b) < bytes;
    return visit([&] { return overlaps ? copy_by_way_of(to, from, bytes) : driver_->copy(to, from, bytes); }, "copying on the device");
  }

  Result<void> launch(size_t kernel, size_t launch, std::span<std::byte* const> arguments) override {
    const Function& f = functions_[kernel][launch];
    if (f.blocks == 0) return {};  // which drivers refuse
    std::vector<void*> parameters;
    for (std::byte* const& a : arguments) parameters.push_back(const_cast<std::byte**>(&a));
    auto blocks = static_cast<unsigned>(f.blocks), threads = static_cast<unsigned>(f.threads);
    auto ok = visit([&] { return driver_->launch(f.at, blocks, threads, parameters.data()); }, fmt::format("launching {}", f.name));
    if (!ok) return ok;
    if (queued_++ == 0) first_queued_ = &f;
    last_queued_ = &f;
    return {};
  }

 private:
  struct Function {
    void* at;
    std::string name;
    int64_t blocks;
    int threads;
  };

  // Drivers leave open what a copy does that overlaps itself.
  int copy_by_way_of(std::byte* to, const std::byte* from, size_t bytes) {
    std::byte* between = nullptr;
    if (int status = driver_->allocate(between, bytes)) return status;
    int status = driver_->copy(between, from, bytes);
    if (status == 0) status = driver_->copy(to, between, bytes);
    if (status == 0) status = driver_->synchronize();
    int freed = driver_->free(between);
    return status == 0 ? freed : status;
  }

  template <class F>
  Result<void> visit(F&& act, std::string_view what) {
    if (lost_) return *lost_;
    Visit visit(*driver_);
    int status = visit.status() == 0 ? act() : visit.status();
    if (status == 0) return {};
    Diagnostic d = error(kind_of_status(status), fmt::format("{} failed on {}: {}{}", what, driver_->device(), driver_->words(status),
                                                             is_fault(status) ? suspects() : ""));
    // After some errors nothing works any more; a device that can be waited for is not lost.
    if (visit.status() != 0 || driver_->synchronize() != 0) lost_ = d;
    return d;
  }

  std::string suspects() const {
    if (queued_ == 0) return "";
    if (queued_ == 1) return fmt::format("; the kernel that did it is {}", first_queued_->name);
    return fmt::format("; the kernel that did it is one of the last {}, from {} to {}", queued_, first_queued_->name, last_queued_->name);
  }

  std::unique_ptr<Driver> driver_;
  void* module_ = nullptr;
  std::vector<std::vector<Function>> functions_;  // by kernel, by launch
  std::vector<std::byte*> memory_;
  std::optional<Diagnostic> lost_;
  // Launches that nobody has waited for yet.
  size_t queued_ = 0;
  const Function *first_queued_ = nullptr, *last_queued_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Device>> make_driver_device(const GpuProgram& program, std::string_view code, std::unique_ptr<Driver> driver) {
  auto out = std::make_unique<DriverDevice>(std::move(driver));
  if (auto ok = out->load(program, code); !ok) return ok.error();
  return std::unique_ptr<Device>(std::move(out));
}

}  // namespace hloc::gpu
