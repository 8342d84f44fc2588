#include "backends/cuda/driver.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "backends/gpu/library.h"
#include "ir/support/source.h"

namespace hloc::cuda {
namespace {

constexpr const char* driver_names[] = {"libcuda.so.1"};  // libcuda.so may be the toolkit's, to link against, which does nothing

// What the driver calls things by.
using Device = int;
using Context = void*;
using Module = void*;
using Function = void*;
using Address = unsigned long long;
enum Attribute { capability_major = 75, capability_minor = 76 };
enum Status { no_device = 100 };

// Functions of the driver under their versioned names; all return 0 when good.
struct DriverFunctions {
  int (*init)(unsigned flags);
  int (*version)(int*);
  int (*device_count)(int*);
  int (*device)(Device*, int number);
  int (*device_name)(char*, int size, Device);
  int (*attribute)(int*, int attribute, Device);
  int (*retain_context)(Context*, Device);
  int (*release_context)(Device);
  int (*push_context)(Context);
  int (*pop_context)(Context*);
  int (*load_module)(Module*, const void* image);
  int (*unload_module)(Module);
  int (*function)(Function*, Module, const char* name);
  int (*allocate)(Address*, size_t);
  int (*free)(Address);
  int (*write)(Address, const void*, size_t);
  int (*read)(void*, Address, size_t);
  int (*copy)(Address to, Address from, size_t);
  int (*launch)(Function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                unsigned shared_bytes, void* stream, void** parameters, void** extra);
  int (*synchronize)();
  int (*error_name)(int, const char**);
  int (*error_text)(int, const char**);
};

Result<DriverFunctions> load_driver() {
  gpu::Library library(driver_names, "HLOC_CUDA_PATH");
  if (!library.is_open())
    return error(ErrorKind::target, "NVIDIA's driver, libcuda.so.1, was not found (Debian: apt install nvidia-driver; in a container: "
                                    "start it with the devices)");
  DriverFunctions out;
  library.find(out.init, "cuInit");
  library.find(out.version, "cuDriverGetVersion");
  library.find(out.device_count, "cuDeviceGetCount");
  library.find(out.device, "cuDeviceGet");
  library.find(out.device_name, "cuDeviceGetName");
  library.find(out.attribute, "cuDeviceGetAttribute");
  library.find(out.retain_context, "cuDevicePrimaryCtxRetain");
  library.find(out.release_context, "cuDevicePrimaryCtxRelease_v2");
  library.find(out.push_context, "cuCtxPushCurrent_v2");
  library.find(out.pop_context, "cuCtxPopCurrent_v2");
  library.find(out.load_module, "cuModuleLoadData");
  library.find(out.unload_module, "cuModuleUnload");
  library.find(out.function, "cuModuleGetFunction");
  library.find(out.allocate, "cuMemAlloc_v2");
  library.find(out.free, "cuMemFree_v2");
  library.find(out.write, "cuMemcpyHtoD_v2");
  library.find(out.read, "cuMemcpyDtoH_v2");
  library.find(out.copy, "cuMemcpyDtoD_v2");
  library.find(out.launch, "cuLaunchKernel");
  library.find(out.synchronize, "cuCtxSynchronize");
  library.find(out.error_name, "cuGetErrorName");
  library.find(out.error_text, "cuGetErrorString");
  if (!library.has_all())
    return error(ErrorKind::target, "the driver of NVIDIA that was found is too old: one for CUDA 11 or newer is needed");
  return out;
}

std::string words_of(const DriverFunctions& driver, int status) {
  const char *name = nullptr, *text = nullptr;
  if (driver.error_name(status, &name) != 0 || !name) return fmt::format("status {}", status);
  if (driver.error_text(status, &text) != 0 || !text) return name;
  return fmt::format("{}: {}", name, text);
}

Address address(const std::byte* p) { return reinterpret_cast<uintptr_t>(p); }

class CudaDriver final : public gpu::Driver {
 public:
  CudaDriver(const DriverFunctions& driver, Device device, Context context, std::string name)
      : driver_(driver), device_(device), context_(context), name_(std::move(name)) {}
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;
  ~CudaDriver() override { driver_.release_context(device_); }

  std::string device() const override { return name_; }
  std::string words(int status) const override { return words_of(driver_, status); }

  int enter(int&) override { return driver_.push_context(context_); }
  void leave(int) override {
    Context popped;
    driver_.pop_context(&popped);
  }

  int load(void*& module, const void* code) override { return driver_.load_module(&module, code); }
  int unload(void* module) override { return driver_.unload_module(module); }
  int find(void*& function, void* module, const char* name) override { return driver_.function(&function, module, name); }
  int allocate(std::byte*& memory, size_t bytes) override {
    Address out = 0;
    int status = driver_.allocate(&out, bytes);
    memory = reinterpret_cast<std::byte*>(out);
    return status;
  }
  int free(std::byte* memory) override { return driver_.free(address(memory)); }
  int write(std::byte* to, const std::byte* from, size_t bytes) override { return driver_.write(address(to), from, bytes); }
  int read(std::byte* to, const std::byte* from, size_t bytes) override { return driver_.read(to, address(from), bytes); }
  int copy(std::byte* to, const std::byte* from, size_t bytes) override { return driver_.copy(address(to), address(from), bytes); }
  int launch(void* function, unsigned blocks, unsigned threads, void** parameters) override {
    return driver_.launch(function, blocks, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr);
  }
  int synchronize() override { return driver_.synchronize(); }

 private:
  DriverFunctions driver_;
  Device device_;
  Context context_;
  std::string name_;
};

// "sm_90" as 9 and 0.
struct Capability {
  int major = 0, minor = 0;
  bool is_exact = false;  // "sm_90a"
};
Capability capability(std::string_view architecture) {
  int number = 0;
  if (architecture.starts_with("sm_")) architecture.remove_prefix(3);
  std::from_chars(architecture.data(), architecture.data() + architecture.size(), number);
  return {number / 10, number % 10, architecture.ends_with('a')};
}

Result<gpu::DeviceInfo> info_of(const DriverFunctions& driver, int number) {
  Device device = 0;
  char name[256] = "";
  int major = 0, minor = 0, status = driver.device(&device, number);
  if (status == 0) status = driver.device_name(name, sizeof name - 1, device);
  if (status == 0) status = driver.attribute(&major, capability_major, device);
  if (status == 0) status = driver.attribute(&minor, capability_minor, device);
  if (status != 0)
    return error(ErrorKind::target, fmt::format("NVIDIA's driver does not say what its device is: {}", words_of(driver, status)));
  return gpu::DeviceInfo{number, name, fmt::format("sm_{}{}", major, minor)};
}

Result<std::vector<gpu::DeviceInfo>> start(const DriverFunctions& driver) {
  int count = 0, status = driver.init(0);
  if (status == 0) status = driver.device_count(&count);
  if (status == no_device || (status == 0 && count == 0))
    return error(ErrorKind::target, "NVIDIA's driver finds no device on this machine");
  if (status != 0) return error(ErrorKind::target, fmt::format("NVIDIA's driver does not start: {}", words_of(driver, status)));
  std::vector<gpu::DeviceInfo> out;
  for (int i = 0; i < count; ++i) {
    auto info = info_of(driver, i);
    if (!info) return info.error();
    out.push_back(*std::move(info));
  }
  return out;
}

}  // namespace

bool runs_code(std::string_view device, std::string_view architecture) {
  Capability has = capability(device), wants = capability(architecture);
  return has.major == wants.major && (wants.is_exact ? has.minor == wants.minor : has.minor >= wants.minor);
}

Result<gpu::DeviceInfo> find_device(std::string_view architecture) {
  auto driver = load_driver();
  if (!driver) return driver.error();
  auto devices = start(*driver);
  if (!devices) return devices.error();
  return gpu::choose_device(*devices, architecture, runs_code);
}

Result<std::unique_ptr<gpu::Driver>> open_driver(std::string_view architecture) {
  auto info = find_device(architecture);
  if (!info) return info.error();
  auto driver = load_driver();
  if (!driver) return driver.error();
  Device device = 0;
  Context context = nullptr;
  int version = 0, status = driver->version(&version);
  if (status == 0) status = driver->device(&device, info->number);
  if (status == 0) status = driver->retain_context(&context, device);
  if (status != 0) return error(gpu::kind_of_status(status), fmt::format("{} can't be used: {}", info->text(), words_of(*driver, status)));
  std::string name = fmt::format("{} ({}, driver for CUDA {}.{})", info->name, info->architecture, version / 1000, version % 1000 / 10);
  return std::unique_ptr<gpu::Driver>(std::make_unique<CudaDriver>(*driver, device, context, std::move(name)));
}

}  // namespace hloc::cuda
