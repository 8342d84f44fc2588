#include "backends/registry.h"

#include <fmt/format.h>

#include "backends/cpu/aarch64_backend.h"
#include "backends/cpu/x86_backend.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/hip/hip_backend.h"
#include "backends/reference/reference.h"
#include "ir/support/source.h"

namespace hloc::backends {

std::span<const Backend* const> all_backends() {
  static constexpr const Backend* table[] = {&x86_backend, &aarch64_backend, &cuda_backend, &hip_backend, &reference_backend};
  return table;
}

Result<const Backend*> find_backend(std::string_view target) {
  std::vector<std::string> names;
  for (const Backend* backend : all_backends())
    for (const TargetEntry& entry : backend->targets()) {
      if (entry.name == target) return backend;
      names.push_back(entry.name);
    }
  std::string_view near = nearest(target, names);
  std::string hint = suggestion(near);
  return error(ErrorKind::usage, fmt::format("'{}' is not a target{} (targets: {})", target, hint, fmt::join(names, ", ")));
}

}  // namespace hloc::backends
