// hloc convert: read a graph, print it as HLO or StableHLO text.
#include <memory>

#include "src/commands/command.h"

namespace hloc::cli {
namespace {

struct ConvertArguments {
  std::string in, out, to;
};

int run_convert(const ConvertArguments& a) {
  auto module = read_file(a.in);
  if (!module) return report(module.error());
  bool stablehlo = a.to == "mlir" || (a.to.empty() && a.out.ends_with(".mlir"));
  auto text = print(*module, stablehlo ? Format::stablehlo : Format::hlo);
  if (!text) return report(text.error());
  if (auto ok = write_output(a.out, *text); !ok) return report(ok.error());
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  auto a = std::make_shared<ConvertArguments>();
  CLI::App* command = app.add_subcommand("convert", "Read a graph and print it as HLO or StableHLO text");
  command->add_option("IN", a->in, "HLO or StableHLO text; '-' is standard input")->required();
  command->add_option("OUT", a->out, "Where to write; '-' is standard output")->required();
  command->add_option("--to", a->to, "hlo or mlir; by default what OUT's name says, else hlo")->check(CLI::IsMember({"hlo", "mlir"}));
  command->footer(
      "Examples:\n"
      "  hloc convert graph.mlir graph.hlo\n"
      "  hloc convert graph.hlo - --to mlir");
  command->callback([a, &action] { action = [a] { return run_convert(*a); }; });
}

}  // namespace hloc::cli
