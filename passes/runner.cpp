// Runs passes one after the other: verifies what changed, times, and hands each state to whoever dumps.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "ir/verify.h"
#include "passes/call_inline.h"
#include "passes/canonical.h"
#include "passes/fold.h"
#include "passes/fusion/fuse.h"
#include "passes/pass.h"
#include "passes/ranges.h"
#include "passes/schedule.h"
#include "passes/simplify.h"
#include "passes/while_loops.h"

namespace hloc::passes {
namespace {

// The story of the compiler, in order.
const Pass* const compile_pipeline[] = {
    &inline_pass,     // one computation per control structure
    &canonical_pass,  // dead and common code go
    &while_pass,      // loops carry only what they need
    &ranges_pass,     // what their counters may be decides comparisons
    &inline_pass,     // loops that run once, and branches that are known now
    &fold_pass,       // what is known is computed now
    &simplify_pass,   // rewrite rules to a fixed point
    &canonical_pass,  // what the rules made equal becomes one
    &fuse_pass,       // instructions into kernels
    &schedule_pass,   // an order that needs little memory
};

bool is_disabled(const RunOptions& options, std::string_view pass) {
  return std::ranges::find(options.disabled_passes, pass) != options.disabled_passes.end();
}

Result<ir::ModuleRef> run_one(const ir::ModuleRef& module, const Pass& pass, PassContext& context,
                              const RunOptions& options) {
  auto start = std::chrono::steady_clock::now();
  Result<ir::ModuleRef> result = pass.run(module, context);
  if (!result) return result;
  std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  bool changed = *result != module;
  if (options.timings) options.timings->push_back({pass.name, spent.count(), changed});
  if (changed && options.verify_each) {
    if (Result<void> ok = ir::verify(**result); !ok) {
      Diagnostic d = ok.error();
      d.kind = ErrorKind::bug;
      d.message = fmt::format("the pass '{}' made a module that does not verify: {}", pass.name, d.message);
      return d;
    }
  }
  if (options.after_each) options.after_each(pass.name, **result);
  return result;
}

}  // namespace

std::span<const Pass> all_passes() {
  static const Pass known[] = {canonical_pass, fold_pass,     fuse_pass, inline_pass,
                               ranges_pass,    schedule_pass, simplify_pass, while_pass};
  return known;
}
std::span<const Pass* const> pipeline() { return compile_pipeline; }

const Pass* find_pass(std::string_view name) {
  for (const Pass& pass : all_passes())
    if (pass.name == name) return &pass;
  return nullptr;
}

Result<ir::ModuleRef> run_passes(ir::ModuleRef module, std::span<const Pass* const> passes, PassContext& context,
                                 const RunOptions& options) {
  for (const Pass* pass : passes) {
    if (is_disabled(options, pass->name)) continue;
    Result<ir::ModuleRef> next = run_one(module, *pass, context, options);
    if (!next) return next;
    module = *std::move(next);
  }
  return module;
}

}  // namespace hloc::passes
