// hloc bench: how long compiling and running take, as one JSON object.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sys/resource.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/commands/case.h"
#include "src/commands/command.h"
#include "src/commands/inputs.h"
#include "src/commands/stats.h"

namespace hloc::cli {
namespace {

struct BenchArguments {
  std::string path, target = "native", cache;
  unsigned threads = 1;
  int repeat = 10;
  bool json = false;
};

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// A case's own inputs, or fills for a plain file.
Result<std::vector<Bytes>> bench_inputs(const std::string& folder, const Program& program) {
  if (folder.empty()) return gather_inputs({{}, {}, 1}, program.parameters());
  auto c = read_case(folder);
  if (!c) return c.error();
  return case_inputs(*c, c->instances.front());
}

int run_bench(const BenchArguments& a) {
  namespace fs = std::filesystem;
  std::string file = a.path, folder;
  if (fs::is_directory(a.path)) {
    folder = a.path;
    file = folder + (fs::exists(folder + "/module.hlo") ? "/module.hlo" : "/module.mlir");
  }
  auto text = read_bytes(file);
  if (!text) return report(text.error());

  double compile_ms = 1e300;
  std::optional<Program> program;
  for (int i = 0; i < std::min(a.repeat, 5); ++i) {  // the best of a few: the first one also warms caches and pages
    std::string copy = *text;
    auto start = std::chrono::steady_clock::now();
    auto module = read(std::move(copy), file);
    if (!module) return report(module.error());
    auto compiled = compile(*module, {.target = a.target, .cache = a.cache});
    if (!compiled) return report(compiled.error());
    compile_ms = std::min(compile_ms, milliseconds_since(start));
    program = std::move(*compiled);
  }

  auto inputs = bench_inputs(folder, *program);
  if (!inputs) return report(inputs.error());
  auto results = make_outputs(program->results());
  if (!results) return report(results.error());
  auto pool = make_thread_pool(a.threads);
  auto in = input_spans(*inputs);
  auto out = output_spans(*results);
  std::vector<double> times;
  for (int i = 0; i < a.repeat + 1; ++i) {
    auto start = std::chrono::steady_clock::now();
    if (auto ok = program->call(in, out, {.executor = pool.get()}); !ok) return report(ok.error());
    if (i > 0) times.push_back(milliseconds_since(start));
  }
  std::sort(times.begin(), times.end());

  const ProgramStats& s = program->stats();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  nlohmann::ordered_json j{{"compile_ms", compile_ms},
                           {"run_ms_min", times.front()},
                           {"run_ms_median", times[times.size() / 2]},
                           {"peak_rss_mb", static_cast<double>(usage.ru_maxrss) / 1024},
                           {"threads", a.threads}};
  add_stats(j, s);
  say_runner(s);
  if (a.json) {
    fmt::print("{}\n", j.dump());
  } else {
    for (const auto& [key, value] : j.items()) fmt::print("{:<17} {}\n", key, value.dump());
  }
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto a = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand("bench", "Time compiling and running a graph");
  command->add_option("FILE", a->path, "A graph, or a case folder (module.hlo, else module.mlir)")->required();
  command->add_option("--threads", a->threads, "Threads (default 1)")->check(CLI::Range(1u, 1024u));
  command->add_option("--repeat", a->repeat, "Calls that are timed (default 10)")->check(CLI::Range(1, 1000000));
  command->add_option("--target", a->target, "native (default) or another of `hloc targets`");
  add_cache_option(*command, a->cache);
  command->add_flag("--json", a->json, "One JSON object");
  command->footer(
      "Examples:\n"
      "  hloc bench graph.hlo --threads 4 --json");
  command->callback([a, &action] { action = [a] { return run_bench(*a); }; });
}

}  // namespace hloc::cli
