#include "passes/buffers/step_kind.h"

#include <unordered_set>

namespace hloc::passes {
namespace {

using ir::Op;
using ir::Value;

bool is_control(Op op) { return op == Op::While || op == Op::Conditional || op == Op::Call; }

bool is_structure(Op op) {
  return op == Op::Tuple || op == Op::GetTupleElement || op == Op::AfterAll || op == Op::AddDependency ||
         op == Op::OptBarrier || op == Op::Domain || op == Op::StableHloCreateToken;
}

bool is_kernel(Value fusion, const ir::Target& target) {
  if (fusion->as<ir::FusionAttr>().kind == ir::FusionKind::kCustom) return false;
  for (Value operand : fusion->operands())
    if (!operand->type.is_array()) return false;
  for (Value v : fusion->callee(0).instructions()) {
    bool is_part = v->op == Op::GetTupleElement && v->operand(0)->op == Op::Reduce;
    bool is_list = v->op == Op::Tuple && v == fusion->callee(0).root();
    bool free = v->op == Op::Parameter || v->op == Op::Constant || is_part || is_list;
    if (!free && !is_supported(v, target)) return false;
  }
  return true;
}

// Elements are whole bytes that mean the same in another type: not pred, whose only bytes are 0 and 1.
bool has_plain_bytes(ElementType t) { return bit_width(t) % 8 == 0 && t != ElementType::pred; }

}  // namespace

bool is_rename(Value v) {
  if (v->op == Op::Copy) return true;
  bool candidate = v->op == Op::Reshape || v->op == Op::Bitcast || v->op == Op::BitcastConvert;
  if (!candidate || !v->type.is_array() || !v->operand(0)->type.is_array()) return false;
  ir::Type to = v->type, from = v->operand(0)->type;
  if (!to.is_static() || !from.is_static()) return false;
  if (v->op == Op::Reshape) return true;
  if (to.byte_size() != from.byte_size()) return false;
  if (to.element() != from.element() && !(has_plain_bytes(to.element()) && has_plain_bytes(from.element()))) return false;
  // A bitcast keeps the physical bytes; buffers are row-major whatever the layout says.
  return v->op == Op::BitcastConvert || (to.layout().is_row_major() && from.layout().is_row_major());
}

StepKind step_kind(Value v, const ir::Target& target) {
  if (v->op == Op::Parameter || v->op == Op::Constant) return StepKind::leaf;
  if (is_structure(v->op)) return StepKind::structure;
  if (is_control(v->op)) return StepKind::control;
  if (v->op == Op::Fusion) return is_kernel(v, target) ? StepKind::kernel : StepKind::host;
  return is_rename(v) ? StepKind::rename : StepKind::host;
}

std::vector<const ir::Computation*> step_computations(const ir::Computation& entry) {
  struct Frame {
    const ir::Computation* computation;
    size_t instruction = 0, callee = 0;
  };
  std::vector<const ir::Computation*> order;
  std::unordered_set<const ir::Computation*> seen{&entry};
  std::vector<Frame> stack{{&entry}};
  while (!stack.empty()) {
    Frame& top = stack.back();
    auto instructions = top.computation->instructions();
    if (top.instruction == instructions.size()) {
      order.push_back(top.computation);
      stack.pop_back();
      continue;
    }
    Value v = instructions[top.instruction];
    if (!is_control(v->op) || top.callee == v->callees().size()) {
      ++top.instruction;
      top.callee = 0;
      continue;
    }
    const ir::Computation* callee = &v->callee(top.callee++);
    if (seen.insert(callee).second) stack.push_back({callee});
  }
  return order;
}

}  // namespace hloc::passes
