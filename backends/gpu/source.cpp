#include "backends/gpu/source.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/gpu/c_text.h"
#include "backends/gpu/kernel_text.h"
#include "ir/op.h"
#include "ir/print/print.h"

namespace hloc::gpu {
namespace {

constexpr size_t most_named_ops = 12;

// Functions of C's library by the compiler's own names for them.
std::string math_words() {
  std::string out;
  for (std::string_view name : {"fma", "sqrt", "floor", "ceil", "trunc", "rint", "fabs"})
    for (std::string_view suffix : {"f", ""}) out += fmt::format("#define {0}{1} __builtin_{0}{1}\n", name, suffix);
  return out;
}

// The ops of a fusion that compute, each once.
std::string fused_ops(ir::Value fusion) {
  std::vector<std::string_view> names;
  for (ir::Value v : fusion->callee(0).instructions()) {
    std::string_view name = ir::name_of(v->op);
    bool is_quiet = v->op == ir::Op::Parameter || v->op == ir::Op::Constant || v->op == ir::Op::Tuple;
    if (!is_quiet && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  bool more = names.size() > most_named_ops;
  if (more) names.resize(most_named_ops);
  return fmt::format("{}{}", fmt::join(names, ", "), more ? ", …" : "");
}

void heading(std::string& out, const plan::Program& plan, const GpuKernel& k) {
  out += fmt::format("// {}: {}\n", k.kernel->name, fused_ops(k.step->fusion));
  size_t inputs = k.step->inputs.size();
  for (size_t b = 0; b < inputs + k.step->outputs.size(); ++b) {
    const plan::Buffer& buffer = plan.buffers[b < inputs ? k.step->inputs[b] : k.step->outputs[b - inputs]];
    out += fmt::format("//   {:<3} {} {}\n", b < inputs ? "in" : "out", ir::to_string(buffer.type), k.kernel->buffers[b].name);
  }
}

std::string how(const Launch& l) {
  if (l.mapping == Mapping::tiles) return fmt::format("a block for each of {} tiles, {} threads", l.blocks, l.threads);
  if (l.mapping == Mapping::parts)
    return fmt::format("a block of {} threads for each of {} parts of {} iteration{}", l.threads, l.spread.front().parts, l.iterations,
                       l.iterations == 1 ? "" : "s");
  if (l.iterations == 1) return l.threads == 1 ? "one thread" : fmt::format("one block of {} threads", l.threads);
  if (l.mapping == Mapping::block) return fmt::format("a block of {} threads for each of {} iterations", l.threads, l.iterations);
  if (l.mapping == Mapping::squares)
    return fmt::format("a block of {0} threads for each square of {1} x {1} of {2} iterations", l.threads, square_side, l.iterations);
  if (l.lanes > 1) return fmt::format("a thread for each {} of {} iterations", l.lanes, l.iterations);
  return fmt::format("a thread for each of {} iterations", l.iterations);
}

// What the file holds, for whoever opens it.
std::string contents(const GpuProgram& program) {
  std::string out = "// Kernels, in the order of the plan:\n";
  for (const GpuKernel& k : program.kernels) out += fmt::format("//   {}: {}\n", k.kernel->name, fused_ops(k.step->fusion));
  return out;
}

std::string kernel_functions(const GpuProgram& program, const Dialect& dialect) {
  std::string out;
  for (const GpuKernel& k : program.kernels) {
    heading(out, *program.plan, k);
    for (const Launch& l : k.launches) {
      out += fmt::format("// {}\n", how(l));
      out += KernelText(k, l).run() + "\n";
    }
  }
  return source_head(out, dialect) + out;
}

}  // namespace

std::string source_head(std::string_view functions, const Dialect& dialect) {
  return fmt::format("// Threads that execute together.\nenum {{ wave = {} }};\n\n{}{}\n{}", dialect.wave,
                     dialect.has_math ? "" : math_words(), dialect.prelude, helper_functions(functions));
}

std::string parameter_type(const GpuKernel& kernel, loops::BufferId buffer) {
  const loops::Buffer& b = kernel.kernel->buffers[buffer];
  return fmt::format("{}{}*", b.role == loops::BufferRole::input ? "const " : "", c_type(b.element));
}

std::string kernel_source(const GpuProgram& program, const Dialect& dialect) {
  return contents(program) + "\n" + kernel_functions(program, dialect);
}

}  // namespace hloc::gpu
