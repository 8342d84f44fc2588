#include "ir/op.h"

#include <algorithm>
#include <array>

namespace hloc::ir {
namespace {

constexpr OpFacts op_table[] = {
#define HLOC_OP(Name, hlo, stablehlo, min, max, attr, traits) {#Name, hlo, stablehlo, min, max, #attr, traits},
#include "ir/ops.def"
#undef HLOC_OP
};

constexpr size_t op_count = std::size(op_table);

// Op numbers sorted by one of the two names.
template <std::string_view OpFacts::* field>
constexpr std::array<Op, op_count> sorted_by() {
  std::array<Op, op_count> order{};
  for (size_t i = 0; i < op_count; ++i) order[i] = static_cast<Op>(i);
  std::sort(order.begin(), order.end(), [](Op a, Op b) {
    return op_table[static_cast<size_t>(a)].*field < op_table[static_cast<size_t>(b)].*field;
  });
  return order;
}

template <std::string_view OpFacts::* field>
const Op* find(std::string_view name) {
  static constexpr std::array<Op, op_count> order = sorted_by<field>();
  if (name.empty()) return nullptr;
  auto text = [](Op op) { return op_table[static_cast<size_t>(op)].*field; };
  auto it = std::lower_bound(order.begin(), order.end(), name, [&](Op op, std::string_view n) { return text(op) < n; });
  return it != order.end() && text(*it) == name ? &*it : nullptr;
}

}  // namespace

std::span<const OpFacts> all_ops() { return op_table; }
const Op* find_hlo_op(std::string_view name) { return find<&OpFacts::hlo>(name); }
const Op* find_stablehlo_op(std::string_view qualified_name) { return find<&OpFacts::stablehlo>(qualified_name); }

}  // namespace hloc::ir
