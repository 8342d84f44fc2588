// Functions for AArch64 that are run together, in one program under the emulator, and what they should give.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/machine/machine.h"

namespace hloc::test {

struct Buffers {
  alignas(64) std::array<std::byte, 64> a, b, c, out;
};

// Equal bits, or both NaN.
bool same_elements(ElementType t, const std::array<std::byte, 64>& x, const std::array<std::byte, 64>& y, std::string& difference);

class EmulatedBatch {
 public:
  static bool possible();

  // The function that the next calls are of.
  void function(const machine::Function& f);
  // A call f(a, b, c, out, n) with what is in `buffers`; `out` and `result` (if any) are what it should give.
  void call(ElementType t, const Buffers& buffers, uint64_t n, const std::array<std::byte, 64>& out, std::optional<uint64_t> result);
  // Runs and checks what was added since.
  void run();

 private:
  struct Call {
    size_t function;
    ElementType type;
    Buffers buffers;
    uint64_t n;
    std::array<std::byte, 64> out;
    std::optional<uint64_t> result;
  };
  static constexpr size_t most = 3000;  // calls in one program

  std::vector<machine::Function> functions_;
  std::vector<Call> calls_;
};

}  // namespace hloc::test
