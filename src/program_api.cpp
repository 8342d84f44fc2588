// include/hloc/program.h over the passes and the backends.
#include "include/hloc/program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "ir/op.h"
#include "ir/print/print.h"
#include "ir/verify.h"
#include "passes/pass.h"
#include "passes/rewrite/rules.h"
#include "src/edge.h"
#include "src/program.h"
#include "src/signature.h"
#include "src/work_estimate.h"

namespace hloc {
namespace {

// "sort (main/sort.3)" for every host step in the tree.
void collect_fallbacks(const plan::Block& block, std::vector<std::string>& out) {
  for (const plan::Step& step : block) {
    if (auto* host = std::get_if<plan::HostStep>(&step.what)) {
      out.push_back(fmt::format("{} ({}/{})", ir::name_of(host->instruction->op), step.computation->name(),
                                step.computation->name(host->instruction)));
    } else if (auto* loop = std::get_if<plan::WhileStep>(&step.what)) {
      collect_fallbacks(loop->condition, out);
      collect_fallbacks(loop->body, out);
    } else if (auto* branch = std::get_if<plan::BranchStep>(&step.what)) {
      for (const plan::Block& b : branch->branches) collect_fallbacks(b, out);
    }
  }
}

void fill_stats(ProgramStats& stats, const Module& module, const Lowered& lowered) {
  stats.target = lowered.target->name;
  stats.instructions = static_cast<int64_t>(module.instruction_count());
  if (lowered.plan) {
    plan::Counts counts = plan::count_steps(*lowered.plan);
    stats.kernels = counts.kernels;
    stats.fallback_kernels = counts.host_steps;
    stats.arena_bytes = lowered.plan->arena_bytes;
    collect_fallbacks(lowered.plan->steps, stats.fallbacks);
    WorkEstimate work = estimate_work(*lowered.plan);
    stats.flops = work.flops;
    stats.bytes = work.bytes;
  }
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// "k2_y" before "k10_x", whatever order the makers have them in.
void set_device_kernels(ProgramStats& stats, std::vector<KernelResources> kernels) {
  std::ranges::sort(kernels, [](const KernelResources& a, const KernelResources& b) { return ::strverscmp(a.name.c_str(), b.name.c_str()) < 0; });
  stats.device_kernels = std::move(kernels);
}

// A level as text, or another compiler's code, where `stats` are wanted with what its kernels take.
Result<std::string> emit_kind(const backends::EmitKind& kind, const backends::Job& job, ProgramStats* stats) {
  auto text = kind.emit(job);
  if (!text || !kind.resources || !stats) return text;
  auto kernels = kind.resources(*text);
  if (!kernels) return kernels.error();
  set_device_kernels(*stats, std::move(*kernels));
  stats->code_bytes = static_cast<int64_t>(text->size());
  return text;
}

Result<Program> compile_program(const Module& module, const CompileOptions& options) {
  auto start = std::chrono::steady_clock::now();
  auto implementation = std::make_shared<Program::Implementation>();
  auto parameters = module.parameters();
  if (!parameters) return parameters.error();
  auto results = module.results();
  if (!results) return results.error();
  implementation->parameters = std::move(*parameters);
  implementation->results = std::move(*results);

  auto lowered = lower(module, options);
  if (!lowered) return lowered.error();
  fill_stats(implementation->stats, module, *lowered);
  if (lowered->plan)
    for (const plan::Alias& a : lowered->plan->aliases) implementation->aliases.push_back({a.parameter, a.result, a.must});
  auto executable = lowered->backend->compile(lowered->job());
  if (!executable) return executable.error();
  implementation->executable = std::move(*executable);
  ProgramStats& stats = implementation->stats;
  stats.code_bytes = implementation->executable->code_bytes();
  set_device_kernels(stats, implementation->executable->device_kernels());
  if (lowered->cache) stats.from_cache = lowered->cache->has_found();
  stats.runner = implementation->executable->runner();
  stats.compile_ms = milliseconds_since(start);
  return Program(std::shared_ptr<const Program::Implementation>(std::move(implementation)));
}

Result<std::string> emit_lowered(const Lowered& lowered, std::string_view kind, std::string_view target, ProgramStats* stats) {
  if (kind == "hlo") return ir::print_hlo(*lowered.module);
  if (kind == "plan" && lowered.plan) return plan::to_string(*lowered.plan);
  std::vector<std::string_view> known{"hlo"};
  if (lowered.plan) known.push_back("plan");
  for (const backends::EmitKind& k : lowered.backend->emits) {
    if (k.name == kind) return emit_kind(k, lowered.job(), stats);
    known.push_back(k.name);
  }
  return error(ErrorKind::usage, fmt::format("target '{}' can't emit '{}'; it can emit {}", target, kind, fmt::join(known, ", ")));
}

bool is_c_name(std::string_view s) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", digits = "0123456789";
  return !s.empty() && digits.find(s[0]) == s.npos && std::ranges::all_of(s, [&](char c) {
    return letters.find(c) != letters.npos || digits.find(c) != digits.npos;
  });
}

}  // namespace

const std::vector<Shape>& Program::parameters() const { return implementation_->parameters; }
const std::vector<Shape>& Program::results() const { return implementation_->results; }
const std::vector<Alias>& Program::aliases() const { return implementation_->aliases; }
const ProgramStats& Program::stats() const { return implementation_->stats; }

Result<void> Program::call(std::span<const std::span<const std::byte>> inputs,
                           std::span<const std::span<std::byte>> outputs, const CallOptions& options) const {
  return at_the_edge([&]() -> Result<void> {
    std::vector<size_t> in_sizes, out_sizes;
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    for (auto s : inputs) in.push_back(s.data()), in_sizes.push_back(s.size());
    for (auto s : outputs) out.push_back(s.data()), out_sizes.push_back(s.size());
    if (auto ok = check_sizes(parameters(), in_sizes, "parameter"); !ok) return ok.error();
    if (auto ok = check_sizes(results(), out_sizes, "result"); !ok) return ok.error();
    return implementation_->executable->call(in, out, options);
  });
}

Result<Program> compile(const Module& module, const CompileOptions& options) {
  return at_the_edge([&] { return compile_program(module, options); });
}

Result<ObjectFile> compile_object(const Module& module, std::string_view symbol, const CompileOptions& options, ProgramStats* stats_out) {
  return at_the_edge([&]() -> Result<ObjectFile> {
    auto start = std::chrono::steady_clock::now();
    if (!is_c_name(symbol))
      return error(ErrorKind::usage, fmt::format("'{}' can't name a C function: letters, digits and '_' were expected", symbol));
    if (auto shapes = module.parameters(); !shapes) return shapes.error();
    if (auto shapes = module.results(); !shapes) return shapes.error();
    auto lowered = lower(module, options);
    if (!lowered) return lowered.error();
    if (!lowered->backend->object)
      return error(ErrorKind::target, fmt::format("target '{}' makes no object files", options.target));
    ProgramStats stats;
    fill_stats(stats, module, *lowered);
    if (!stats.fallbacks.empty())
      return error(ErrorKind::target,
                   fmt::format("an object file can't hold ops that target '{}' has no native code for yet: {}; `hloc run` "
                               "evaluates them on the host",
                               lowered->target->name, fmt::join(stats.fallbacks, ", ")));
    auto object = lowered->backend->object(lowered->job(), symbol);
    if (!object) return object;
    stats.code_bytes = static_cast<int64_t>(object->object.size());
    stats.compile_ms = milliseconds_since(start);
    if (stats_out) *stats_out = std::move(stats);
    return object;
  });
}

Result<std::string> emit(const Module& module, std::string_view kind, const CompileOptions& options, ProgramStats* stats) {
  return at_the_edge([&]() -> Result<std::string> {
    auto start = std::chrono::steady_clock::now();
    auto lowered = lower(module, options);
    if (!lowered) return lowered.error();
    if (stats) fill_stats(*stats = {}, module, *lowered);
    auto text = emit_lowered(*lowered, kind, options.target, stats);
    if (!stats) return text;
    if (lowered->cache) stats->from_cache = lowered->cache->has_found();
    stats->compile_ms = milliseconds_since(start);
    return text;
  });
}

Result<Module> optimize(const Module& module, std::span<const std::string> names, const CompileOptions& options) {
  return at_the_edge([&]() -> Result<Module> {
    auto backend = backends::find_backend(options.target);
    if (!backend) return backend.error();
    auto target = (*backend)->facts(options.target);
    if (!target) return target.error();
    std::vector<const passes::Pass*> list;
    for (const std::string& name : names) {
      if (const passes::Pass* pass = passes::find_pass(name)) {
        list.push_back(pass);
        continue;
      }
      return unknown_name("pass", name, pass_names(), "passes");
    }
    if (auto known = check_switches(options); !known) return known.error();
    if (auto verified = ir::verify(*module.ir()); !verified) return verified.error();
    passes::PassContext context{*target, options.disabled_rules};
    passes::RunOptions run;
    run.verify_each = true;
    run.disabled_passes = options.disabled_passes;
    auto result = passes::run_passes(module.ir(), list, context, run);
    if (!result) return result.error();
    return Module(std::move(*result));
  });
}

Result<void> find_target(std::string_view name) {
  return at_the_edge([&]() -> Result<void> {
    if (auto backend = backends::find_backend(name); !backend) return backend.error();
    return {};
  });
}

std::vector<ListEntry> list_ops() {
  std::vector<ListEntry> out;
  for (const ir::OpFacts& op : ir::all_ops()) {
    std::string count = op.max_operands < 0                  ? fmt::format("{}+", op.min_operands)
                        : op.max_operands == op.min_operands ? fmt::format("{}", op.min_operands)
                                                             : fmt::format("{}-{}", op.min_operands, op.max_operands);
    out.push_back({std::string(op.hlo.empty() ? op.stablehlo : op.hlo), std::string(op.stablehlo), count});
  }
  return out;
}

std::vector<ListEntry> list_rules() {
  std::vector<ListEntry> out;
  for (const passes::RuleEntry& r : passes::all_rules())
    out.push_back({std::string(r.name), std::string(r.family), r.rule->law()});
  return out;
}

std::vector<ListEntry> list_passes() {
  std::vector<ListEntry> out;
  for (const passes::Pass& p : passes::all_passes()) out.push_back({std::string(p.name), "", std::string(p.description)});
  return out;
}

std::vector<ListEntry> list_targets() {
  std::vector<ListEntry> out;
  for (const backends::Backend* b : backends::all_backends()) {
    for (const backends::TargetEntry& t : b->targets()) {
      std::string device = b->device ? b->device(t.name) : "";
      out.push_back({t.name, std::string(b->name), device.empty() ? t.description : fmt::format("{}; here: {}", t.description, device)});
    }
  }
  return out;
}

}  // namespace hloc
