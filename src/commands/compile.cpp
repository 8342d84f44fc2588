// hloc compile: a graph to an object file and a header, or to the text of a level.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/commands/command.h"
#include "src/commands/stats.h"

namespace hloc::cli {
namespace {

struct CompileArguments {
  std::string file, out, target = "native", kind = "object", cache;
  bool verbose = false, json = false;
};

// After the files are written.
void show(const CompileArguments& a, const ProgramStats& s) {
  if (a.verbose) show_stats(s);
  if (!a.json) return;
  nlohmann::ordered_json j{{"compile_ms", s.compile_ms}};
  add_stats(j, s);
  fmt::print("{}\n", j.dump());
}

int compile_object_file(const CompileArguments& a, const Module& module) {
  if (a.out == "-") {
    std::fputs("error: an object file doesn't go to standard output; name a file with -o, or --emit a text kind\n", stderr);
    return 2;
  }
  std::string object_path = a.out.empty() ? stem(a.file) + ".o" : a.out;
  std::string header_path = object_path.ends_with(".o") ? object_path.substr(0, object_path.size() - 2) + ".h" : object_path + ".h";
  if (same_file(a.file, object_path) || same_file(a.file, header_path)) {
    fmt::print(stderr, "error: {} and {} would replace the graph {}; choose another name with -o\n", object_path, header_path, a.file);
    return 2;
  }
  std::string symbol = c_identifier(module.name());
  ProgramStats stats;
  auto object = compile_object(module, symbol, {.target = a.target}, &stats);
  if (!object) return report(object.error());
  std::string_view bytes(reinterpret_cast<const char*>(object->object.data()), object->object.size());
  std::pair<std::string, std::string_view> files[] = {{object_path, bytes}, {header_path, object->header}};
  bool device = written_in_place(object_path);  // nothing belongs beside a device or a pipe
  if (auto ok = write_outputs(std::span(files).first(device ? 1 : 2)); !ok) return report(ok.error());
  if (!a.json) fmt::print("wrote {} ({} bytes){}; the function is {}\n", object_path, bytes.size(), device ? "" : " and " + header_path, symbol);
  show(a, stats);
  return 0;
}

int run_compile(const CompileArguments& a) {
  auto module = read_file(a.file);
  if (!module) return report(module.error());
  if (a.kind == "object") return compile_object_file(a, *module);
  ProgramStats stats;
  auto text = emit(*module, a.kind, {.target = a.target, .cache = a.cache}, a.verbose || a.json ? &stats : nullptr);
  if (!text) return report(text.error());
  bool is_text = text->find('\0') == std::string::npos;
  std::string out = !a.out.empty() ? a.out : is_text ? "-" : stem(a.file) + "." + a.kind;
  if (a.json && out == "-") {
    std::fputs("error: --json prints on standard output; name a file for the text with -o\n", stderr);
    return 2;
  }
  if (auto ok = write_output(out, *text); !ok) return report(ok.error());
  show(a, stats);
  return 0;
}

}  // namespace

void add_compile(CLI::App& app, Action& action) {
  auto a = std::make_shared<CompileArguments>();
  CLI::App* command = app.add_subcommand("compile", "Compile a graph to an object file and a C header");
  command->add_option("FILE", a->file, "HLO or StableHLO text; '-' is standard input")->required();
  command->add_option("-o,--output", a->out, "Where to write (default: NAME.o, text kinds are printed); X.o also writes X.h")->check(not_empty);
  command->add_option("--target", a->target, "native (default), x86-64-v3, x86-64-v4, aarch64, cuda:sm_80 (see `hloc targets`)");
  command->add_option("--emit", a->kind, "object (default), hlo (optimised), plan, loops, and what the target has: asm, machine, cuda, ptx, cubin, hip, code-object")
      ->check(not_empty);
  add_cache_option(*command, a->cache);
  command->add_flag("--verbose", a->verbose, "Say what the compiler did; for cubin and code-object also what each launch takes: registers, memory, spills");
  command->add_flag("--json", a->json, "The same as one JSON object on standard output");
  command->footer(
      "Examples:\n"
      "  hloc compile graph.hlo                                write graph.o and graph.h\n"
      "  hloc compile graph.hlo -o out/net.o --target x86-64-v3  for any CPU with AVX2\n"
      "  hloc compile graph.hlo --emit loops                   show the loops\n"
      "  hloc compile graph.hlo --target cuda:sm_80 --emit cubin --verbose  registers and spills of the kernels");
  command->callback([a, &action] { action = [a] { return run_compile(*a); }; });
}

}  // namespace hloc::cli
