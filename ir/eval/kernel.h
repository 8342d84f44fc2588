// A kernel: one elementwise op resolved for its element types, ready to run over n elements. Whole arrays, rows of a
// reduction and single scalars in a reducer's body all run the same kernels.
#pragma once

#include <optional>
#include <span>

#include "ir/attr.h"
#include "ir/eval/element.h"
#include "ir/op.h"

namespace hloc::ir::eval {

struct Kernel {
  // out[i] = f(in[0][i], in[1][i], …) for i < n; an input that is `fixed` stays at its first element. `out` may be an
  // input.
  using Run = void (*)(const Kernel&, const std::byte* const* in, std::byte* out, int64_t n);
  // acc = f(acc, in[i]) for i = 0…n-1, rounding each time; only binary ops whose types are all one have it.
  using Fold = void (*)(const Kernel&, std::byte* acc, const std::byte* in, int64_t n);

  Run run = nullptr;
  Fold fold = nullptr;
  void (*function)() = nullptr;  // on wide values; the loops know its type
  int bits = 0;                  // bit width of the operand's element
  int64_t a = 0, b = 0;          // what the op's attribute says
  int width = 0;                 // bytes of one result element
  std::array<bool, 3> fixed{};   // scalar operands of clamp and select on arrays
};

// The parts of an instruction that decide its kernel.
struct ElementwiseOp {
  Op op;
  const Attr& attr;
  std::span<const ElementType> operands;
  ElementType result;
};

// One function for each family; nullopt when the op is not of the family or does not admit the types.
std::optional<Kernel> unary_kernel(const ElementwiseOp& e);
std::optional<Kernel> binary_kernel(const ElementwiseOp& e);
std::optional<Kernel> choice_kernel(const ElementwiseOp& e);   // compare, select, clamp
std::optional<Kernel> convert_kernel(const ElementwiseOp& e);  // and everything else that changes the element type
std::optional<Kernel> elementwise_kernel(const ElementwiseOp& e);

// From one element type to another, as `convert` does.
Kernel converter(ElementType from, ElementType to);

}  // namespace hloc::ir::eval
