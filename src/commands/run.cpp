// hloc run: compile a graph, call it once, show the results.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sys/stat.h>

#include <fmt/format.h>

#include "src/commands/command.h"
#include "src/commands/error.h"
#include "src/commands/inputs.h"
#include "src/commands/npy.h"
#include "src/commands/stats.h"

namespace hloc::cli {
namespace {

struct RunArguments {
  std::string file, out, target = "native", dump, cache;
  InputArguments inputs;
  uint64_t fill = 0;
  unsigned threads = 1;
  bool verbose = false;
};

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return {};
  return file_error(path, fmt::format("the folder can't be made: {}", std::strerror(errno)), ErrorKind::io);
}

int show_results(const RunArguments& a, std::span<const Shape> shapes, const std::vector<std::span<const std::byte>>& results) {
  for (size_t k = 0; k < shapes.size(); ++k) {
    std::string size = shapes[k].count() > 64 ? fmt::format("  ({} bytes, checksum {:016x})", results[k].size(), checksum(results[k])) : "";
    fmt::print("{}{} = {}{}\n", results.size() > 1 ? fmt::format("out{} ", k) : "", to_string(shapes[k]), show_array(shapes[k], results[k]), size);
  }
  if (a.out.empty()) return 0;
  if (auto ok = make_folder(a.out); !ok) return report(ok.error());
  for (size_t k = 0; k < shapes.size(); ++k)
    if (auto ok = write_output(fmt::format("{}/out{}.npy", a.out, k), make_npy(shapes[k], results[k])); !ok) return report(ok.error());
  return 0;
}

bool is_loops_text(std::string_view text) {
  for (;;) {  // blanks and // comments, then `kernel`
    size_t at = text.find_first_not_of(" \t\r\n");
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at);
    if (!text.starts_with("//")) return text.starts_with("kernel ");
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

int run_loops_file(const RunArguments& a, std::string text) {
  auto signature = loops_signature(text, a.file);
  if (!signature) return report(signature.error());
  auto inputs = gather_inputs(a.inputs, signature->inputs);
  if (!inputs) return report(inputs.error());
  auto results = run_loops(std::move(text), a.file, input_spans(*inputs));
  if (!results) return report(results.error());
  return show_results(a, signature->outputs, {results->begin(), results->end()});
}

int run_run(const RunArguments& a) {
  auto text = read_bytes(a.file);
  if (!text) return report(text.error());
  if (is_loops_text(*text)) return run_loops_file(a, std::move(*text));
  auto module = read(std::move(*text), a.file == "-" ? "<stdin>" : a.file);
  if (!module) return report(module.error());

  CompileOptions options{.target = a.target, .cache = a.cache};
  Result<void> dumped;
  if (!a.dump.empty()) {
    if (auto ok = make_folder(a.dump); !ok) return report(ok.error());
    options.dump = [&](const std::string& name, const std::string& level) {
      if (dumped) dumped = write_output(a.dump + "/" + name, level);
    };
  }
  auto program = compile(*module, options);
  if (!program) return report(program.error());
  if (!dumped) return report(dumped.error());
  if (a.verbose) show_stats(program->stats());
  say_runner(program->stats());

  auto inputs = gather_inputs(a.inputs, program->parameters());
  if (!inputs) return report(inputs.error());
  auto results = make_outputs(program->results());
  if (!results) return report(results.error());
  auto pool = make_thread_pool(a.threads);
  if (auto ok = program->call(input_spans(*inputs), output_spans(*results), {.executor = pool.get()}); !ok) return report(ok.error());
  return show_results(a, program->results(), input_spans(*results));
}

// CLI11 takes what strtoull takes: "-1", and the largest number for any that is too large.
std::string is_seed(const std::string& text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? "" : fmt::format("'{}' is not a seed: a number from 0 to 2^64 - 1 was expected", text);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto a = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Compile a graph, call it once and print the results");
  command->add_option("FILE", a->file, "HLO or StableHLO text, or a loop-IR kernel; '-' is standard input")->required();
  command->add_option("--input", a->inputs.npy, "A .npy file, once per parameter in order");
  command->add_option("--inputs", a->inputs.npz, "An .npz file with members in0, in1, …");
  CLI::Option* fill = command->add_option("--fill", a->fill, "Make inputs from this seed: floats in [-1, 1), integers in [0, 100)")->check(is_seed);
  command->add_option("--out", a->out, "A folder for out0.npy, out1.npy, …")->check(not_empty);
  command->add_option("--target", a->target, "native (default) or another of `hloc targets`");
  command->add_option("--threads", a->threads, "Threads (default 1); 0: one per core")->check(CLI::Range(0u, 1024u));
  add_cache_option(*command, a->cache);
  command->add_flag("--verbose", a->verbose, "Say what the compiler did");
  command->add_option("--dump", a->dump, "A folder for every level of the compiler as text, numbered")->check(not_empty);
  command->footer(
      "Examples:\n"
      "  hloc run graph.hlo --fill 1                      with made-up inputs\n"
      "  hloc run graph.hlo --input x.npy --input w.npy   with your own, in the order of the parameters\n"
      "  hloc run graph.hlo --fill 1 --dump levels        levels/00-read.hlo, 01-inline.hlo, …");
  command->callback([a, fill, &action] {
    if (fill->count() > 0) a->inputs.fill = a->fill;
    action = [a] { return run_run(*a); };
  });
}

}  // namespace hloc::cli
