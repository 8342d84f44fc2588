// hloc reduce: a small module that still shows a failure.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "src/commands/child.h"
#include "src/commands/command.h"
#include "src/commands/fill.h"
#include "src/commands/inputs.h"
#include "src/commands/tolerance.h"

namespace hloc::cli {
namespace {

struct ReduceArguments {
  std::string file, out = "-", target = "native", command;
  uint64_t fill = 1;
  double tolerance = 0;
  unsigned seconds = 20;
};

Result<std::vector<Bytes>> run_on(const Module& module, const std::string& target, uint64_t fill) {
  auto program = compile(module, {.target = target, .verify_each = true});
  if (!program) return program.error();
  std::vector<Bytes> inputs;
  for (size_t i = 0; i < program->parameters().size(); ++i) inputs.push_back(fill_default(program->parameters()[i], fill + i));
  auto results = make_outputs(program->results());
  if (!results) return results.error();
  auto called = program->call(input_spans(inputs), output_spans(*results), {.guard_pages = true});
  if (!called) return called.error();
  return results;
}

// The kind of failure, as one word that must stay the same: "" is none.
std::string failure_of(const Module& module, const ReduceArguments& a) {
  auto want = run_on(module, "reference", a.fill);
  if (!want) return "";  // the evaluator has no say
  auto got = run_on(module, a.target, a.fill);
  if (!got) return fmt::format("error {}", static_cast<int>(got.error().kind));
  auto shapes = module.results();
  if (!shapes) return "";
  for (size_t k = 0; k < shapes->size(); ++k) {
    ElementType element = (*shapes)[k].element;
    bool exact = a.tolerance == 0 || !is_float(element);
    auto width = static_cast<size_t>(byte_width(element));
    for (size_t at = 0; at + width <= (*got)[k].size(); at += width) {
      const std::byte *g = (*got)[k].data() + at, *w = (*want)[k].data() + at;
      if (!(exact ? identical(element, g, w) : close_enough({a.tolerance, a.tolerance}, element, g, w))) return "values differ";
    }
  }
  return "";
}

std::string isolated_failure(const Module& module, const ReduceArguments& a) {
  ChildOutcome outcome = in_child([&] { return failure_of(module, a); }, a.seconds);
  return outcome.died ? *outcome.died : outcome.text;
}

// The command is given the module's file; it says by its exit code 0 that the failure is there.
bool command_agrees(const Module& module, const ReduceArguments& a, const std::string& file) {
  auto text = print(module);
  if (!text || !write_output(file, *text)) return false;
  ::setenv("FILE", file.c_str(), 1);
  return std::system(a.command.c_str()) == 0;
}

int run_reduce(const ReduceArguments& a) {
  auto module = read_file(a.file);
  if (!module) return report(module.error());
  if (auto ok = verify(*module); !ok) return report(ok.error());
  std::string scratch = (std::filesystem::temp_directory_path() / fmt::format("hloc-reduce-{}.hlo", ::getpid())).string();
  std::string failure = a.command.empty() ? isolated_failure(*module, a) : command_agrees(*module, a, scratch) ? "command" : "";
  if (failure.empty()) {
    fmt::print(stderr, "{}: error: there is no failure to keep: {}\n", a.file,
               a.command.empty() ? fmt::format("'{}' and the evaluator agree (other inputs: --fill; smaller differences: --tolerance)", a.target)
                                 : "the command does not exit with 0");
    return 1;
  }
  size_t tries = 0;
  auto small = shrink(*module, [&](const Module& m) {
    ++tries;
    return a.command.empty() ? isolated_failure(m, a) == failure : command_agrees(m, a, scratch);
  });
  std::error_code ignored;
  std::filesystem::remove(scratch, ignored);
  if (!small) return report(small.error());
  auto text = print(*small);
  if (!text) return report(text.error());
  if (auto ok = write_output(a.out, *text); !ok) return report(ok.error());
  fmt::print(stderr, "{}: {} of {} instructions are left after {} tries ({})\n", a.file, small->instruction_count(),
             module->instruction_count(), tries, failure);
  return 0;
}

}  // namespace

void add_reduce(CLI::App& app, Action& action) {
  auto a = std::make_shared<ReduceArguments>();
  CLI::App* command = app.add_subcommand("reduce", "Make a graph that fails on a target as small as it gets");
  command->add_option("FILE", a->file, "HLO or StableHLO text; '-' is standard input")->required();
  command->add_option("-o,--output", a->out, "Where to write the small graph (default: standard output)");
  command->add_option("--target", a->target, "Compared with the evaluator: native (default) or another of `hloc targets`");
  command->add_option("--fill", a->fill, "Seed of the inputs, as for `hloc run` (default 1)");
  command->add_option("--tolerance", a->tolerance, "Floats that are so close, relative and absolute, count as equal (default: equal bits)");
  command->add_option("--seconds", a->seconds, "A try that takes longer has failed (default 20)")->check(CLI::Range(1u, 3600u));
  command->add_option("--command", a->command, "Instead: a shell command that exits with 0 while the graph in $FILE fails");
  command->footer(
      "Examples:\n"
      "  hloc reduce graph.hlo -o small.hlo\n"
      "  hloc reduce graph.hlo --command 'my-test \"$FILE\"'");
  command->callback([a, &action] { action = [a] { return run_reduce(*a); }; });
}

}  // namespace hloc::cli
