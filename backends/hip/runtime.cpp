#include "backends/hip/runtime.h"

#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "backends/gpu/library.h"
#include "ir/support/source.h"

namespace hloc::hip {
namespace {

constexpr const char* runtime_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

enum CopyKind { host_to_device = 1, device_to_host = 2, device_to_device = 3 };
enum Status { no_device = 100, invalid_device = 101 };

// Functions of the runtime; those with an int result return 0 when good.
struct Runtime {
  int (*init)(unsigned flags);
  int (*device_count)(int*);
  int (*device)(int*);
  int (*set_device)(int);
  int (*properties)(void*, int device);
  int (*load_module)(void** module, const void* image);
  int (*unload_module)(void* module);
  int (*function)(void** function, void* module, const char* name);
  int (*allocate)(void**, size_t);
  int (*free)(void*);
  int (*copy)(void* to, const void* from, size_t, int kind);
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                unsigned shared_bytes, void* stream, void** parameters, void** extra);
  int (*synchronize)();
  const char* (*error_name)(int);
  const char* (*error_text)(int);
};

Result<Runtime> load_runtime() {
  gpu::Library library(runtime_names, "HLOC_ROCM_PATH");
  if (!library.is_open())
    return error(ErrorKind::target, "AMD's HIP runtime, libamdhip64.so.7 (or .6, .5), was not found; install it (Debian: apt install "
                                    "libamdhip64-5; ROCm: hip-runtime-amd) or name its folder in HLOC_ROCM_PATH");
  Runtime out;
  library.find(out.init, "hipInit");
  library.find(out.device_count, "hipGetDeviceCount");
  library.find(out.device, "hipGetDevice");
  library.find(out.set_device, "hipSetDevice");
  library.find(out.properties, "hipGetDevicePropertiesR0600", "hipGetDeviceProperties");
  library.find(out.load_module, "hipModuleLoadData");
  library.find(out.unload_module, "hipModuleUnload");
  library.find(out.function, "hipModuleGetFunction");
  library.find(out.allocate, "hipMalloc");
  library.find(out.free, "hipFree");
  library.find(out.copy, "hipMemcpy");
  library.find(out.launch, "hipModuleLaunchKernel");
  library.find(out.synchronize, "hipDeviceSynchronize");
  library.find(out.error_name, "hipGetErrorName");
  library.find(out.error_text, "hipGetErrorString");
  if (!library.has_all()) return error(ErrorKind::target, "the HIP runtime that was found is too old: that of ROCm 5 or newer is needed");
  return out;
}

std::string words_of(const Runtime& runtime, int status) {
  const char *name = runtime.error_name(status), *text = runtime.error_text(status);
  if (!name) return fmt::format("status {}", status);
  return text ? fmt::format("{}: {}", name, text) : name;
}

class HipDriver final : public gpu::Driver {
 public:
  HipDriver(const Runtime& runtime, int device, std::string name) : runtime_(runtime), device_(device), name_(std::move(name)) {}

  std::string device() const override { return name_; }
  std::string words(int status) const override { return words_of(runtime_, status); }

  int enter(int& before) override {
    int status = runtime_.device(&before);
    return status == 0 ? runtime_.set_device(device_) : status;
  }
  void leave(int before) override { runtime_.set_device(before); }

  int load(void*& module, const void* code) override { return runtime_.load_module(&module, code); }
  int unload(void* module) override { return runtime_.unload_module(module); }
  int find(void*& function, void* module, const char* name) override { return runtime_.function(&function, module, name); }
  int allocate(std::byte*& memory, size_t bytes) override {
    void* out = nullptr;
    int status = runtime_.allocate(&out, bytes);
    memory = static_cast<std::byte*>(out);
    return status;
  }
  int free(std::byte* memory) override { return runtime_.free(memory); }
  int write(std::byte* to, const std::byte* from, size_t bytes) override { return runtime_.copy(to, from, bytes, host_to_device); }
  int read(std::byte* to, const std::byte* from, size_t bytes) override { return runtime_.copy(to, from, bytes, device_to_host); }
  int copy(std::byte* to, const std::byte* from, size_t bytes) override { return runtime_.copy(to, from, bytes, device_to_device); }
  int launch(void* function, unsigned blocks, unsigned threads, void** parameters) override {
    return runtime_.launch(function, blocks, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr);
  }
  int synchronize() override { return runtime_.synchronize(); }

 private:
  Runtime runtime_;
  int device_;
  std::string name_;
};

// Properties are a struct that begins with the device's name in 256 bytes; where in the rest "gfx90a:sramecc+:xnack-" stands
// is another place in every version.
Result<gpu::DeviceInfo> info_of(const Runtime& runtime, int device) {
  constexpr size_t name_bytes = 256, more_than_any_version = 16 << 10;
  std::string bytes(more_than_any_version, '\0');
  if (int status = runtime.properties(bytes.data(), device))
    return error(ErrorKind::target, fmt::format("the HIP runtime does not say what its device is: {}", words_of(runtime, status)));
  gpu::DeviceInfo out{device, bytes.c_str(), "an unknown processor"};
  if (out.name.empty()) out.name = "AMD device";
  for (size_t at = bytes.find("gfx", name_bytes); at != bytes.npos; at = bytes.find("gfx", at + 3)) {
    size_t end = at + 3;
    while (end < bytes.size() && std::isxdigit(static_cast<unsigned char>(bytes[end]))) ++end;
    if (end > at + 3) return out.architecture = bytes.substr(at, end - at), out;
  }
  return out;
}

Result<std::vector<gpu::DeviceInfo>> start(const Runtime& runtime) {
  int count = 0, status = runtime.init(0);
  if (status == 0) status = runtime.device_count(&count);
  if (status == no_device || status == invalid_device || (status == 0 && count == 0))
    return error(ErrorKind::target, "the HIP runtime finds no device of AMD on this machine");
  if (status != 0) return error(ErrorKind::target, fmt::format("the HIP runtime does not start: {}", words_of(runtime, status)));
  std::vector<gpu::DeviceInfo> out;
  for (int i = 0; i < count; ++i) {
    auto info = info_of(runtime, i);
    if (!info) return info.error();
    out.push_back(*std::move(info));
  }
  return out;
}

}  // namespace

Result<gpu::DeviceInfo> find_device(std::string_view processor) {
  auto runtime = load_runtime();
  if (!runtime) return runtime.error();
  auto devices = start(*runtime);
  if (!devices) return devices.error();
  return gpu::choose_device(*devices, processor, [](std::string_view device, std::string_view wanted) { return device == wanted; });
}

Result<std::unique_ptr<gpu::Driver>> open_runtime(std::string_view processor) {
  auto info = find_device(processor);
  if (!info) return info.error();
  auto runtime = load_runtime();
  if (!runtime) return runtime.error();
  return std::unique_ptr<gpu::Driver>(std::make_unique<HipDriver>(*runtime, info->number, info->text()));
}

}  // namespace hloc::hip
