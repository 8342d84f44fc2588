// From a module to a plan: verify, the passes in their order, buffers and steps. Read `lower` as the table of contents.
#include <algorithm>

#include <fmt/format.h>

#include "ir/print/print.h"
#include "ir/verify.h"
#include "passes/pass.h"
#include "passes/rewrite/rules.h"
#include "src/edge.h"
#include "src/program.h"

namespace hloc {
namespace {

// Numbered texts of the levels, for `--dump`.
class Dumper {
 public:
  explicit Dumper(const CompileOptions& options) : sink_(options.dump) {}
  explicit operator bool() const { return static_cast<bool>(sink_); }

  void text(std::string_view name, std::string_view extension, const std::string& content) {
    if (sink_) sink_(fmt::format("{:02}-{}.{}", number_++, name, extension), content);
  }
  void module(std::string_view name, const ir::Module& module) {
    if (!sink_) return;
    auto printed = ir::print_hlo(module);
    text(name, "hlo", printed ? *printed : printed.error().render());
  }

 private:
  const std::function<void(const std::string&, const std::string&)>& sink_;
  int number_ = 0;
};

// Values that hloc can't run at all are refused before any work, with the place.
Result<void> refuse_elided(const ir::Module& module) {
  for (const ir::ComputationRef& c : module.computations()) {
    for (ir::Value v : c->instructions()) {
      if (v->op != ir::Op::Constant || !v->as<ir::ConstantAttr>().value.is_elided()) continue;
      std::string message = fmt::format(
          "the value of constant '{}' was left out when this module was printed, '{{...}}'; print it in full (XLA: "
          "--xla_dump_large_constants or HloPrintOptions with print_large_constants) and try again",
          c->name(v));
      return module.source() ? error_at(*module.source(), c->location(v).text, message) : error(ErrorKind::input, message);
    }
  }
  return {};
}

}  // namespace

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> out;
  for (const passes::Pass& p : passes::all_passes()) out.push_back(p.name);
  return out;
}

Result<void> check_switches(const CompileOptions& options) {
  std::vector<std::string_view> passes = pass_names(), rules;
  for (const passes::RuleEntry& r : passes::all_rules()) rules.push_back(r.name);
  for (const std::string& name : options.disabled_passes)
    if (std::ranges::find(passes, name) == passes.end()) return unknown_name("pass", name, passes, "passes");
  for (const std::string& name : options.disabled_rules)
    if (std::ranges::find(rules, name) == rules.end()) return unknown_name("rule", name, rules, "rules");
  return {};
}

Result<Lowered> lower(const Module& module, const CompileOptions& options) {
  if (auto known = check_switches(options); !known) return known.error();
  Lowered out;
  auto backend = backends::find_backend(options.target);
  if (!backend) return backend.error();
  out.backend = *backend;
  auto facts = out.backend->facts(options.target);
  if (!facts) return facts.error();
  out.target = std::make_shared<ir::Target>(std::move(*facts));
  out.module = module.ir();
  if (!options.cache.empty()) out.cache = std::make_unique<host::CodeCache>(options.cache);

  if (auto verified = ir::verify(*out.module); !verified) return verified.error();
  if (auto complete = refuse_elided(*out.module); !complete) return complete.error();

  Dumper dump(options);
  dump.module("read", *out.module);
  if (!out.backend->wants_plan) return out;

  passes::PassContext context{*out.target, options.disabled_rules};
  passes::RunOptions run;
  run.verify_each = options.verify_each;
  run.disabled_passes = options.disabled_passes;
  if (dump) run.after_each = [&](std::string_view pass, const ir::Module& m) { dump.module(pass, m); };
  auto optimized = passes::run_passes(out.module, passes::pipeline(), context, run);
  if (!optimized) return optimized.error();
  out.module = std::move(*optimized);

  auto plan = plan::make_program(out.module, *out.target);
  if (!plan) return plan.error();
  out.plan = std::move(*plan);
  if (dump) {
    dump.text("plan", "txt", plan::to_string(*out.plan));
    for (const backends::EmitKind& kind : out.backend->emits) {
      if (kind.needs_tool) continue;
      auto text = kind.emit(out.job());
      dump.text(kind.name, "txt", text ? *text : text.error().render());
    }
  }
  return out;
}

}  // namespace hloc
