// AMD's HIP runtime over the stub device; STUB_OLD: as before ROCm 6.
#include <cstring>

#include "tests/stubs/stub_device.h"

namespace {

bool is_started = false;

const std::vector<std::string>& all_devices() { return stub::devices("gfx90a:sramecc+:xnack-"); }

std::string architecture(int device) {
  if (device < 0 || static_cast<size_t>(device) >= all_devices().size()) stub::mistake("there is no device " + std::to_string(device));
  return all_devices()[static_cast<size_t>(device)];
}

}  // namespace

extern "C" {

int hipInit(unsigned) {
  if (int status = stub::call("hipInit")) return status;
  is_started = true;
  return all_devices().empty() ? stub::no_device : 0;
}
int hipGetDeviceCount(int* count) {
  if (!is_started) stub::mistake("the runtime is used before hipInit");
  *count = static_cast<int>(all_devices().size());
  return stub::call("hipGetDeviceCount");
}
int hipGetDevice(int* device) { return *device = stub::current, 0; }
int hipSetDevice(int device) {
  architecture(device);
  return stub::current = device, 0;
}
#ifdef STUB_OLD
int hipGetDeviceProperties(char* properties, int device) {
  constexpr size_t size = 792, architecture_at = 396;
#else
int hipGetDevicePropertiesR0600(char* properties, int device) {
  constexpr size_t size = 1472, architecture_at = 1160;
#endif
  std::string name = architecture(device);
  std::memset(properties, 0, size);
  std::strcpy(properties, "gfx Stub");
  std::strcpy(properties + architecture_at, name.c_str());
  return stub::call("hipGetDeviceProperties");
}
int hipModuleLoadData(void** module, const void* image) {
  if (int status = stub::call("hipModuleLoadData")) return status;
  return stub::load(*module, image, architecture(stub::current));
}
int hipModuleUnload(void* module) {
  if (int status = stub::call("hipModuleUnload")) return status;
  return stub::unload(module), 0;
}
int hipModuleGetFunction(void** function, void* module, const char* name) {
  if (int status = stub::call("hipModuleGetFunction", name)) return status;
  return stub::find(*function, module, name);
}
int hipMalloc(void** address, size_t bytes) {
  if (int status = stub::call("hipMalloc", std::to_string(bytes))) return status;
  uint64_t out = 0;
  int status = stub::allocate(out, bytes);
  *address = reinterpret_cast<void*>(out);
  return status;
}
int hipFree(void* address) {
  if (int status = stub::call("hipFree")) return status;
  return stub::free(reinterpret_cast<uint64_t>(address)), 0;
}
int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
  if (int status = stub::call("hipMemcpy", std::to_string(kind) + " " + std::to_string(bytes))) return status;
  auto device_to = reinterpret_cast<uint64_t>(to), device_from = reinterpret_cast<uint64_t>(from);
  if (kind == 1) std::memcpy(stub::host(device_to, bytes), from, bytes);
  else if (kind == 2) std::memcpy(to, stub::host(device_from, bytes), bytes);
  else if (kind == 3) stub::copy_on_device(device_to, device_from, bytes);
  else return stub::invalid_value;
  return 0;
}
int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared_bytes, void*, void** parameters, void** extra) {
  if (int status = stub::call("hipModuleLaunchKernel", std::to_string(gx) + " " + std::to_string(bx))) return status;
  if (gy != 1 || gz != 1 || by != 1 || bz != 1 || extra) return stub::invalid_value;
  return stub::launch(function, gx, bx, shared_bytes, parameters), 0;
}
int hipDeviceSynchronize() { return stub::call("hipDeviceSynchronize"); }
const char* hipGetErrorName(int status) { return stub::status_name(status); }
const char* hipGetErrorString(int) { return "as the test wants it"; }
}
