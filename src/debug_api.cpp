// include/hloc/program.h: what helps to find where a program goes wrong.
#include "backends/host/literals.h"
#include "include/hloc/program.h"
#include "ir/verify.h"
#include "passes/bisect.h"
#include "passes/rewrite/rules.h"
#include "passes/shrink.h"
#include "src/edge.h"
#include "src/program.h"
#include "src/signature.h"

namespace hloc {

Result<Module> shrink(const Module& module, const std::function<bool(const Module&)>& still_fails) {
  return at_the_edge([&]() -> Result<Module> {
    if (auto verified = ir::verify(*module.ir()); !verified) return verified.error();
    return Module(passes::shrink(module.ir(), [&](const ir::ModuleRef& m) { return still_fails(Module(m)); }));
  });
}

Result<std::vector<Decision>> explain(const Module& module, const CompileOptions& options) {
  return at_the_edge([&]() -> Result<std::vector<Decision>> {
    if (auto verified = ir::verify(*module.ir()); !verified) return verified.error();
    auto backend = backends::find_backend(options.target);
    if (!backend) return backend.error();
    auto target = (*backend)->facts(options.target);
    if (!target) return target.error();
    std::vector<passes::Remark> remarks;
    passes::PassContext context{*target, options.disabled_rules, &remarks};
    passes::RunOptions run;
    run.disabled_passes = options.disabled_passes;
    if (auto done = passes::run_passes(module.ir(), passes::pipeline(), context, run); !done) return done.error();
    std::vector<Decision> out;
    for (passes::Remark& r : remarks)
      out.push_back({std::move(r.pass), std::move(r.rule), std::move(r.computation), std::move(r.instruction), std::move(r.text)});
    return out;
  });
}

Result<Culprit> bisect(const Module& module, std::span<const std::span<const std::byte>> inputs, const CompileOptions& options) {
  return at_the_edge([&]() -> Result<Culprit> {
    if (auto verified = ir::verify(*module.ir()); !verified) return verified.error();
    if (auto known = check_switches(options); !known) return known.error();
    auto shapes = module.parameters();
    if (!shapes) return shapes.error();
    std::vector<size_t> sizes;
    std::vector<const std::byte*> buffers;
    for (std::span<const std::byte> input : inputs) buffers.push_back(input.data()), sizes.push_back(input.size());
    if (auto ok = check_sizes(*shapes, sizes, "parameter"); !ok) return ok.error();
    auto backend = backends::find_backend(options.target);
    if (!backend) return backend.error();
    auto target = (*backend)->facts(options.target);
    if (!target) return target.error();
    std::vector<ir::Literal> arguments;
    size_t next = 0;
    for (ir::Value p : module.ir()->entry().parameters()) arguments.push_back(host::literal_from_buffers(p->type, buffers, next));
    std::vector<std::string_view> rules;
    for (const passes::RuleEntry& entry : passes::all_rules()) rules.push_back(entry.name);
    passes::PassContext context{*target, options.disabled_rules};
    auto found = passes::bisect(module.ir(), arguments, passes::pipeline(), context, rules);
    if (!found) return found.error();
    return Culprit{std::move(found->pass), std::move(found->rule)};
  });
}

}  // namespace hloc
