#include "backends/gpu/driver.h"

#include <fmt/format.h>

#include "ir/support/source.h"

namespace hloc::gpu {
namespace {

enum Status {
  invalid_value = 1,
  out_of_memory = 2,
  invalid_handle = 400,
  not_found = 500,
  illegal_address = 700,
  first_stop = 714,  // of a kernel, for one reason or another
  last_stop = 719,
};

}  // namespace

bool is_fault(int status) { return status == illegal_address || (status >= first_stop && status <= last_stop); }

ErrorKind kind_of_status(int status) {
  if (status == out_of_memory) return ErrorKind::memory;
  bool is_ours = status == invalid_value || status == invalid_handle || status == not_found || is_fault(status);
  return is_ours ? ErrorKind::bug : ErrorKind::target;
}

Result<DeviceInfo> choose_device(std::span<const DeviceInfo> devices, std::string_view wanted, RunsCode* runs) {
  std::vector<std::string> there;
  for (const DeviceInfo& d : devices) {
    if (runs(d.architecture, wanted)) return d;
    there.push_back(d.text());
  }
  return error(ErrorKind::target, fmt::format("what this machine has is {} (see `hloc targets`)", fmt::join(there, ", ")));
}

}  // namespace hloc::gpu
