// hloc opt: run passes by name and print the module.
#include <memory>

#include "src/commands/command.h"

namespace hloc::cli {
namespace {

struct OptArguments {
  std::string file, out = "-";
  std::vector<std::string> passes;
  CompileOptions options;
};

int run_opt(const OptArguments& a) {
  auto module = read_file(a.file);
  if (!module) return report(module.error());
  auto optimized = optimize(*module, a.passes, a.options);
  if (!optimized) return report(optimized.error());
  auto text = print(*optimized);
  if (!text) return report(text.error());
  if (auto ok = write_output(a.out, *text); !ok) return report(ok.error());
  return 0;
}

}  // namespace

void add_opt(CLI::App& app, Action& action) {
  auto a = std::make_shared<OptArguments>();
  CLI::App* command = app.add_subcommand("opt", "Run passes on a graph and print it");
  command->add_option("FILE", a->file, "HLO or StableHLO text; '-' is standard input")->required();
  command->add_option("--passes", a->passes, "Passes in order, with commas between (see `hloc passes`)")->delimiter(',')->required();
  command->add_option("--disable-rule", a->options.disabled_rules, "Switch a rewrite rule off (see `hloc rules`)");
  command->add_option("--disable-pass", a->options.disabled_passes, "Skip a pass");
  command->add_option("--target", a->options.target, "Whose facts the passes read: native (default) or another of `hloc targets`");
  command->add_option("-o,--output", a->out, "Where to write (default: standard output)")->check(not_empty);
  command->footer(
      "Examples:\n"
      "  hloc opt graph.hlo --passes inline,canonical,simplify\n"
      "  hloc opt graph.hlo --passes simplify --disable-rule mul-one");
  command->callback([a, &action] { action = [a] { return run_opt(*a); }; });
}

}  // namespace hloc::cli
