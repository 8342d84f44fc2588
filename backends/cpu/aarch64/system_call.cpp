#include "backends/cpu/aarch64/system_call.h"

#include "backends/cpu/aarch64/encode.h"

namespace hloc::aarch64 {

// The number goes to x8, the arguments one register down.
std::vector<uint32_t> system_call_code() {
  constexpr int64_t zero = 31;
  std::vector<uint32_t> code{encode(Form::Orr, {8, zero, 0})};
  for (int64_t r = 0; r < 5; r++) code.push_back(encode(Form::Orr, {r, zero, r + 1}));
  code.push_back(encode(Form::Svc, {0}));
  code.push_back(encode(Form::Ret, {}));
  return code;
}

}  // namespace hloc::aarch64
