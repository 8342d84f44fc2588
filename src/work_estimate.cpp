#include "src/work_estimate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "passes/fusion/cost.h"

namespace hloc {
namespace {

double elements(ir::Type type) {
  double n = 0;
  for (ir::Type leaf : ir::leaves(type))
    if (leaf.is_array()) n += static_cast<double>(leaf.count());
  return n;
}

double flops_of(ir::Value v);

double flops_of(const ir::Computation& c) {
  double sum = 0;
  for (ir::Value v : c.instructions()) sum += flops_of(v);
  return sum;
}

// Counted, not weighted by what they take as fusion's cost model does: an element of an elementwise result is one.
double flops_of(ir::Value v) {
  if (v->op == ir::Op::Fusion) return flops_of(v->callee(0));
  if (!ir::is_elementwise(v->op)) return passes::flops_of(v);
  return v->op == ir::Op::Convert ? 0 : elements(v->type);
}

double width(ir::Type type) { return byte_width(type.element()); }

// How many elements of each parameter a fused computation reads, and how many of each result it writes.
struct FusionTraffic {
  std::vector<double> read, written;
};

// The elements of an operand that are wanted when so many of the result are: a slice or a gather wants no more than it gives.
double wanted_elements(ir::Value v, size_t k, double wanted) {
  ir::Value operand = v->operand(k);
  double all = elements(operand->type);
  if (v->op == ir::Op::Reduce) {
    bool is_input = k < v->operands().size() / 2;
    double results = elements(v->type) / static_cast<double>(v->operands().size() / 2);
    return is_input && results > 0 ? std::min(all, wanted * (all / results)) : all;
  }
  bool is_one_to_one = ir::is_elementwise(v->op) || v->op == ir::Op::Reshape || v->op == ir::Op::Transpose || v->op == ir::Op::Copy ||
                       v->op == ir::Op::Slice || v->op == ir::Op::Reverse || v->op == ir::Op::Broadcast || v->op == ir::Op::Concatenate ||
                       v->op == ir::Op::BitcastConvert || v->op == ir::Op::Tuple || v->op == ir::Op::GetTupleElement;
  bool is_first = k == 0 && (v->op == ir::Op::DynamicSlice || v->op == ir::Op::Gather || v->op == ir::Op::Pad);
  return is_one_to_one || is_first ? std::min(all, wanted) : all;
}

// A result that is written in place: only what changes moves.
bool updates_in_place(ir::Value v, size_t result, const plan::KernelStep& step) {
  if (v->op != ir::Op::DynamicUpdateSlice && v->op != ir::Op::Scatter) return false;
  ir::Value target = v->operand(0);
  if (target->op != ir::Op::Parameter) return false;
  auto number = static_cast<uint32_t>(target->as<ir::ParameterAttr>().number);
  return std::ranges::find(step.in_place, std::pair(number, static_cast<uint32_t>(result))) != step.in_place.end();
}

FusionTraffic traffic_of(const plan::KernelStep& step) {
  const ir::Computation& c = step.fusion->callee(0);
  std::vector<double> wanted(c.size(), 0);
  FusionTraffic out;
  std::vector<ir::Value> results{c.root()};
  if (c.root()->op == ir::Op::Tuple) results.assign(c.root()->operands().begin(), c.root()->operands().end());
  std::vector<bool> in_place(c.size());
  for (size_t r = 0; r < results.size(); ++r) {
    ir::Value v = results[r];
    double changed = elements(v->type);
    if (updates_in_place(v, r, step)) {
      in_place[v->id] = true;
      changed = elements(v->operand(v->op == ir::Op::Scatter ? v->operand_count - 1 : 1)->type);
    }
    wanted[v->id] = elements(v->type);
    if (!v->type.is_tuple()) out.written.push_back(changed);
    else
      for (ir::Type leaf : ir::leaves(v->type)) out.written.push_back(elements(leaf));
  }
  auto instructions = c.instructions();
  for (size_t i = instructions.size(); i-- > 0;) {
    ir::Value v = instructions[i];
    if (wanted[i] == 0 || v->op == ir::Op::Tuple) continue;
    for (size_t k = 0; k < v->operands().size(); ++k) {
      if (k == 0 && in_place[i]) continue;
      double& sum = wanted[v->operand(k)->id];
      sum = std::min(elements(v->operand(k)->type), sum + wanted_elements(v, k, wanted[i]));
    }
  }
  for (ir::Value p : c.parameters()) out.read.push_back(wanted[p->id]);
  return out;
}

struct Estimator {
  const plan::Program& program;
  WorkEstimate total;

  double bytes(std::span<const plan::BufferId> ids) const {
    double sum = 0;
    for (plan::BufferId id : ids) sum += static_cast<double>(program.buffers[id].bytes());
    return sum;
  }
  double bytes(plan::BufferId id, double count) const { return count * width(program.buffers[id].type); }
  void operator()(const plan::KernelStep& s) {
    FusionTraffic traffic = traffic_of(s);
    for (size_t i = 0; i < s.inputs.size(); ++i) total.bytes += bytes(s.inputs[i], traffic.read[i]);
    for (size_t i = 0; i < s.outputs.size(); ++i) total.bytes += bytes(s.outputs[i], traffic.written[i]);
    total.flops += flops_of(s.fusion);
  }
  void operator()(const plan::HostStep& s) {
    total.bytes += bytes(s.inputs) + bytes(s.outputs);
    total.flops += flops_of(s.instruction);
  }
  void operator()(const plan::CopyStep& s) { total.bytes += 2 * static_cast<double>(program.buffers[s.from].bytes()); }
  void operator()(const plan::WhileStep& s) { block(s.condition), block(s.body); }
  void operator()(const plan::BranchStep& s) {
    for (const plan::Block& b : s.branches) block(b);
  }
  void block(const plan::Block& b) {
    for (const plan::Step& s : b) std::visit(*this, s.what);
  }
};

}  // namespace

WorkEstimate estimate_work(const plan::Program& program) {
  Estimator e{program, {}};
  e.block(program.steps);
  return e.total;
}

}  // namespace hloc
