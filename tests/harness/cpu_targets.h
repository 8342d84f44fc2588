// The targets whose code this machine runs itself and tests compare.
#pragma once

#include <vector>

#include "backends/cpu/machine/object.h"

namespace hloc::test {

// "native", and on an x86-64 machine the code for one without AVX-512, which may differ.
inline std::vector<const char*> cpu_targets() {
  if (machine::host_isa == machine::Isa::x86_64) return {"native", "x86-64-v3"};
  return {"native"};
}

}  // namespace hloc::test
