#include "src/work_estimate.h"

namespace hloc {
namespace {

double elements(ir::Type type) {
  double n = 0;
  for (ir::Type leaf : ir::leaves(type))
    if (leaf.is_array()) n += static_cast<double>(leaf.count());
  return n;
}

double dot_flops(ir::Value v) {
  double k = 1;
  for (int64_t d : v->as<ir::DotAttr>().lhs_contracting) k *= static_cast<double>(v->operand(0)->type.dim(d));
  return 2 * k * elements(v->type);
}

double flops_of(ir::Value v);

double flops_of(const ir::Computation& c) {
  double sum = 0;
  for (ir::Value v : c.instructions()) sum += flops_of(v);
  return sum;
}

double flops_of(ir::Value v) {
  if (v->op == ir::Op::Dot) return dot_flops(v);
  if (v->op == ir::Op::Reduce) return elements(v->operand(0)->type) * static_cast<double>(v->operand_count / 2);
  if (v->op == ir::Op::Fusion) return flops_of(v->callee(0));
  bool computes = ir::is_elementwise(v->op) && v->op != ir::Op::Convert;
  return computes ? elements(v->type) : 0;
}

struct Estimator {
  const plan::Program& program;
  WorkEstimate total;

  double bytes(std::span<const plan::BufferId> ids) const {
    double sum = 0;
    for (plan::BufferId id : ids) sum += static_cast<double>(program.buffers[id].bytes());
    return sum;
  }
  void operator()(const plan::KernelStep& s) {
    total.bytes += bytes(s.inputs) + bytes(s.outputs);
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
