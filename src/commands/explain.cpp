// hloc explain: what the passes decided and why.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "src/commands/command.h"

namespace hloc::cli {
namespace {

struct ExplainArguments {
  std::string file;
  std::vector<std::string> passes;
  CompileOptions options;
};

int run_explain(const ExplainArguments& a) {
  auto module = read_file(a.file);
  if (!module) return report(module.error());
  auto decisions = explain(*module, a.options);
  if (!decisions) return report(decisions.error());
  std::string text, before;
  for (const Decision& d : *decisions) {
    if (!a.passes.empty() && std::find(a.passes.begin(), a.passes.end(), d.pass) == a.passes.end()) continue;
    std::string section = d.pass + " " + d.computation;
    if (section != before) text += fmt::format("{}{}\n", before.empty() ? "" : "\n", section);
    before = section;
    text += fmt::format("  {:24} {:16} {}\n", d.instruction, d.rule, d.text);
  }
  if (text.empty()) text = "no pass decided anything: the graph is compiled as it is\n";
  if (auto ok = write_output("-", text); !ok) return report(ok.error());
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto a = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand("explain", "Show what the passes decided: rules that fired, fusions made and refused, with numbers");
  command->add_option("FILE", a->file, "HLO or StableHLO text; '-' is standard input")->required();
  command->add_option("--pass", a->passes, "Only these passes, with commas between (see `hloc passes`)")->delimiter(',');
  command->add_option("--target", a->options.target, "Whose facts the passes read");
  command->add_option("--disable-rule", a->options.disabled_rules, "Switch a rewrite rule off (see `hloc rules`)");
  command->callback([a, &action] { action = [a] { return run_explain(*a); }; });
}

}  // namespace hloc::cli
