#include "src/commands/check_one.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/commands/case.h"
#include "src/commands/inputs.h"
#include "src/commands/tolerance.h"

namespace hloc::cli {
namespace {

CheckOutcome failed(std::string what) { return {CheckOutcome::failed, std::move(what), 0}; }

// The first line of an error, with its place.
CheckOutcome failed(const Diagnostic& d) {
  std::string text = d.render();
  return failed(text.substr(0, text.find('\n')));
}

CheckOutcome refuse_fallbacks(const ProgramStats& stats) {
  return failed(fmt::format("{} ops have no native code: {}", stats.fallback_kernels, fmt::join(stats.fallbacks, ", ")));
}

// Where a wrong result comes from, as words.
std::string blame(const Module& module, const std::vector<Bytes>& inputs, const CheckOptions& options) {
  auto culprit = bisect(module, input_spans(inputs), {.target = options.target});
  if (!culprit) return "; no bisection: " + culprit.error().message;
  if (culprit->pass.empty()) return "; no pass changes the result, the code of the target does (`hloc reduce` makes it small)";
  if (culprit->rule.empty()) return fmt::format("; the pass '{}' changes the result first", culprit->pass);
  return fmt::format("; the rule '{}' in the pass '{}' changes the result first", culprit->rule, culprit->pass);
}

Result<Program> compiled(const Module& module, const CheckOptions& options) {
  return compile(module, {.target = options.target, .cache = options.cache});
}

Result<std::vector<Bytes>> run(const Program& program, const std::vector<Bytes>& inputs, const CheckOptions& options) {
  auto results = make_outputs(program.results());
  if (!results) return results.error();
  auto pool = make_thread_pool(options.threads);
  auto called = program.call(input_spans(inputs), output_spans(*results), {.executor = pool.get(), .guard_pages = true});
  if (!called) return called.error();
  return results;
}

CheckOutcome check_instance(const Case& c, const CaseInstance& instance, const Module& module, const CheckOptions& options) {
  auto program = compiled(module, options);
  if (!program) return failed(program.error());
  if (options.no_fallback && program->stats().fallback_kernels > 0) return refuse_fallbacks(program->stats());
  auto inputs = case_inputs(c, instance);
  if (!inputs) return failed(inputs.error());
  auto results = run(*program, *inputs, options);
  if (!results) return failed(results.error());
  auto difference = compare_outputs(c, instance, program->results(), *results);
  if (!difference) return failed(difference.error());
  if (*difference) return failed(**difference + (options.bisect ? blame(module, *inputs, options) : ""));
  CheckOutcome out;
  out.fallbacks = program->stats().fallback_kernels;
  return out;
}

CheckOutcome check_case(const CheckTask& task, const CheckOptions& options) {
  auto c = read_case(task.path);
  if (!c) return failed(c.error());
  auto module = read_file(task.path + "/module." + task.form);
  if (!module) return failed(module.error());
  CheckOutcome out;
  for (const CaseInstance& instance : c->instances) {
    CheckOutcome one = check_instance(*c, instance, *module, options);
    if (one.status != CheckOutcome::passed) return one;
    out.fallbacks += one.fallbacks;
  }
  return out;
}

Result<std::vector<Module>> read_modules(const std::string& path) {
  auto text = read_bytes(path);
  if (!text) return text.error();
  return read_all(std::move(*text), path);
}

CheckOutcome check_round_trip(const CheckTask& task, const CheckOptions& options) {
  auto modules = read_modules(task.path);
  if (!modules) return failed(modules.error());
  for (const Module& module : *modules) {
    auto text = print(module, task.form == "hlo" ? Format::hlo : Format::stablehlo);
    if (!text) return failed(text.error());
    auto again = read(std::move(*text), task.path + " (printed)");
    if (!again) return failed(again.error());
    std::string why;
    if (task.form == "hlo" && !equal(module, *again, &why)) return failed("read, print, read again differs: " + why);
    if (options.verify)
      if (auto ok = verify(module); !ok) return failed(ok.error());
  }
  return {};
}

CheckOutcome check_self(const CheckTask& task, const CheckOptions& options) {
  auto modules = read_modules(task.path);
  if (!modules) return failed(modules.error());
  CheckOutcome out;
  for (const Module& module : *modules) {
    auto program = compiled(module, options);
    if (!program) return failed(program.error());
    if (options.no_fallback && program->stats().fallback_kernels > 0) return refuse_fallbacks(program->stats());
    out.fallbacks += program->stats().fallback_kernels;
    auto inputs = gather_inputs({{}, {}, 1}, program->parameters());
    if (!inputs) return failed(inputs.error());
    if (auto results = run(*program, *inputs, options); !results) return failed(results.error());
  }
  return out;
}

CheckOutcome not_run(const Diagnostic& why) { return {CheckOutcome::skipped, "not run: " + why.message, 0}; }

// Skipped: the evaluator can't say what is right.
CheckOutcome check_evaluated(const CheckTask& task, const CheckOptions& options) {
  if (CheckOutcome read = check_round_trip(task, options); read.status != CheckOutcome::passed) return read;
  auto modules = read_modules(task.path);
  if (!modules) return failed(modules.error());
  CheckOutcome out;
  for (const Module& module : *modules) {
    auto reference = compile(module, {.target = "reference"});
    if (!reference) return not_run(reference.error());
    auto inputs = gather_inputs({{}, {}, 1}, reference->parameters());
    if (!inputs) return not_run(inputs.error());
    auto want = run(*reference, *inputs, options);
    if (!want) return not_run(want.error());
    auto program = compiled(module, options);
    if (!program) return failed(program.error());
    if (options.no_fallback && program->stats().fallback_kernels > 0) return refuse_fallbacks(program->stats());
    auto got = run(*program, *inputs, options);
    if (!got) return failed(got.error());
    out.fallbacks += program->stats().fallback_kernels;
    for (size_t k = 0; k < want->size(); ++k) {
      const Shape& shape = program->results()[k];
      auto difference = first_difference(k, shape, (*got)[k], (*want)[k], {usual_tolerance(shape, (*want)[k])});
      if (difference) return failed(*difference + (options.bisect ? blame(module, *inputs, options) : ""));
    }
  }
  return out;
}

CheckOutcome check_refusal(const CheckTask& task) {
  auto modules = read_modules(task.path);
  if (!modules) return modules.error().kind == ErrorKind::bug ? failed(modules.error()) : CheckOutcome{};
  return failed("the file must be refused, but it was read without an error");
}

}  // namespace

CheckOutcome check_one(const CheckTask& task, const CheckOptions& options) {
  switch (task.kind) {
    case CheckKind::case_folder: return check_case(task, options);
    case CheckKind::self_checking: return check_self(task, options);
    case CheckKind::evaluated: return check_evaluated(task, options);
    case CheckKind::round_trip:
    case CheckKind::accept: return check_round_trip(task, options);
    case CheckKind::refuse: return check_refusal(task);
  }
  return failed("no such check");
}

}  // namespace hloc::cli
