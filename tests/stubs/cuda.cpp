// NVIDIA's driver over the stub device.
#include <cstring>
#include <vector>

#include "tests/stubs/stub_device.h"

namespace {

struct Context {
  int device, uses = 0;
};
Context context{0};
bool is_started = false;
thread_local std::vector<Context*> pushed;

int in_context(const char* name, const std::string& arguments = "") {
  if (int status = stub::call(name, arguments)) return status;
  return pushed.empty() || pushed.back()->uses == 0 ? stub::invalid_context : 0;
}

const std::vector<std::string>& all_devices() { return stub::devices("sm_80"); }

const std::string& architecture(int device) {
  if (device < 0 || static_cast<size_t>(device) >= all_devices().size()) stub::mistake("there is no device " + std::to_string(device));
  return all_devices()[static_cast<size_t>(device)];
}

}  // namespace

extern "C" {

int cuInit(unsigned flags) {
  if (int status = stub::call("cuInit")) return status;
  if (flags != 0) return stub::invalid_value;
  is_started = true;
  return all_devices().empty() ? stub::no_device : 0;
}
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) {
  if (!is_started) stub::mistake("the driver is used before cuInit");
  *count = static_cast<int>(all_devices().size());
  return stub::call("cuDeviceGetCount");
}
int cuDeviceGet(int* device, int number) {
  architecture(*device = number);
  return stub::call("cuDeviceGet", std::to_string(number));
}
int cuDeviceGetName(char* name, int size, int device) {
  architecture(device);
  std::strncpy(name, "Stub", static_cast<size_t>(size));
  return stub::call("cuDeviceGetName");
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  int number = std::stoi(architecture(device).substr(3));
  *value = attribute == 75 ? number / 10 : attribute == 76 ? number % 10 : -1;
  return stub::call("cuDeviceGetAttribute", std::to_string(attribute));
}
int cuDevicePrimaryCtxRetain(Context** out, int device) {
  if (int status = stub::call("cuDevicePrimaryCtxRetain", std::to_string(device))) return status;
  context.device = device;
  if (context.uses++ == 0) ++stub::contexts;
  *out = &context;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  if (context.uses == 0) stub::mistake("a context is given back that nobody has");
  if (--context.uses == 0) --stub::contexts;
  return stub::call("cuDevicePrimaryCtxRelease");
}
int cuCtxPushCurrent_v2(Context* c) {
  pushed.push_back(c);
  ++stub::current;
  return 0;
}
int cuCtxPopCurrent_v2(Context** c) {
  if (pushed.empty()) stub::mistake("a context is popped where none was pushed");
  *c = pushed.back();
  pushed.pop_back();
  --stub::current;
  return 0;
}
int cuModuleLoadData(void** module, const void* image) {
  if (int status = in_context("cuModuleLoadData")) return status;
  return stub::load(*module, image, architecture(context.device));
}
int cuModuleUnload(void* module) {
  if (int status = in_context("cuModuleUnload")) return status;
  return stub::unload(module), 0;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (int status = in_context("cuModuleGetFunction", name)) return status;
  return stub::find(*function, module, name);
}
int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  if (int status = in_context("cuMemAlloc", std::to_string(bytes))) return status;
  uint64_t out = 0;
  int status = stub::allocate(out, bytes);
  *address = out;
  return status;
}
int cuMemFree_v2(unsigned long long address) {
  if (int status = in_context("cuMemFree")) return status;
  return stub::free(address), 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  if (int status = in_context("cuMemcpyHtoD", std::to_string(bytes))) return status;
  return std::memcpy(stub::host(to, bytes), from, bytes), 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  if (int status = in_context("cuMemcpyDtoH", std::to_string(bytes))) return status;
  return std::memcpy(to, stub::host(from, bytes), bytes), 0;
}
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t bytes) {
  if (int status = in_context("cuMemcpyDtoD", std::to_string(bytes))) return status;
  return stub::copy_on_device(to, from, bytes), 0;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes,
                   void*, void** parameters, void** extra) {
  if (int status = in_context("cuLaunchKernel", std::to_string(gx) + " " + std::to_string(bx))) return status;
  if (gy != 1 || gz != 1 || by != 1 || bz != 1 || extra) return stub::invalid_value;
  return stub::launch(function, gx, bx, shared_bytes, parameters), 0;
}
int cuCtxSynchronize() { return in_context("cuCtxSynchronize"); }
int cuGetExportTable(const void**, const void*) { return stub::not_found; }  // NVRTC asks for one
int cuGetErrorName(int status, const char** name) {
  *name = stub::status_name(status);
  return *name ? 0 : stub::invalid_value;
}
int cuGetErrorString(int, const char** text) { return *text = "as the test wants it", 0; }
}
