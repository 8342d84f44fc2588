// hloc check: many programs against their expected results. Each check runs in a process of its own, so that a crash or
// a runaway is one failure and not the end.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <poll.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/commands/check_one.h"
#include "src/commands/child.h"
#include "src/commands/command.h"
#include "src/commands/error.h"

namespace hloc::cli {
namespace {

namespace fs = std::filesystem;

struct CheckArguments {
  std::vector<std::string> paths;
  std::string form = "all";
  CheckOptions options;
  unsigned jobs = 1;
  bool json = false, verbose = false;
};

constexpr std::string_view all_forms[] = {"hlo", "mlir", "mlirbc", "pb"};

bool wanted(const CheckArguments& a, std::string_view form) { return a.form == "all" || a.form == form; }

void add_case_folder(const CheckArguments& a, const fs::path& folder, std::vector<CheckTask>& tasks) {
  for (std::string_view form : all_forms)
    if (wanted(a, form) && fs::exists(folder / fmt::format("module.{}", form)))
      tasks.push_back({CheckKind::case_folder, folder.string(), std::string(form)});
}

// `plain`: what is checked of a file that does not check itself.
void add_file(const CheckArguments& a, const fs::path& file, CheckKind plain, std::vector<CheckTask>& tasks) {
  std::string form = "hlo";
  for (std::string_view known : all_forms)
    if (file.extension() == fmt::format(".{}", known)) form = known;
  if (!wanted(a, form)) return;
  CheckKind kind = plain;
  if (form == "mlir" || form == "mlirbc") {
    auto text = read_bytes(file.string());
    if (text && (form == "mlirbc" || text->find("check.expect_") != std::string::npos)) kind = CheckKind::self_checking;
  }
  tasks.push_back({kind, file.string(), form});
}

// Columns by tab; the first names the file, the one headed '…parser' has the verdict.
void add_index(const CheckArguments& a, const fs::path& folder, std::vector<CheckTask>& tasks) {
  auto text = read_bytes((folder / "index.tsv").string());
  if (!text) return;
  auto columns = [](std::string_view line) {
    std::vector<std::string> out;
    for (size_t at = 0;;) {
      size_t tab = line.find('\t', at);
      out.emplace_back(line.substr(at, tab == std::string_view::npos ? tab : tab - at));
      if (tab == std::string_view::npos) return out;
      at = tab + 1;
    }
  };
  size_t verdict = 1;
  std::string_view rest = *text;
  for (bool header = true; !rest.empty(); header = false) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    auto cells = columns(line);
    if (header) {
      for (size_t i = 0; i < cells.size(); ++i)
        if (cells[i].ends_with("parser") || cells[i] == "verdict") verdict = i;
      continue;
    }
    if (cells.size() <= verdict || cells[0].empty()) continue;
    const std::string& word = cells[verdict];
    bool refuse = word.starts_with("reject (invalid)") || word.starts_with("accept (invalid)") || word.starts_with("crash") || word == "reject";
    std::string form = fs::path(cells[0]).extension() == ".mlir" ? "mlir" : "hlo";
    if (wanted(a, form)) tasks.push_back({refuse ? CheckKind::refuse : CheckKind::accept, (folder / cells[0]).string(), form});
  }
}

void add_folder(const CheckArguments& a, const fs::path& folder, std::vector<CheckTask>& tasks) {
  if (fs::exists(folder / "case.json")) return add_case_folder(a, folder, tasks);
  if (fs::exists(folder / "index.tsv")) return add_index(a, folder, tasks);
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) {
    if (fs::is_directory(entry, ignored)) add_folder(a, entry, tasks);
    else if (entry.extension() == ".hlo" || entry.extension() == ".mlir" || entry.extension() == ".mlirbc") add_file(a, entry, CheckKind::round_trip, tasks);
  }
}

// An outcome crosses the pipe as text: status, fallbacks, reason.
std::string packed(const CheckOutcome& outcome) {
  return fmt::format("{} {} {}", static_cast<int>(outcome.status), outcome.fallbacks, outcome.what);
}

CheckOutcome unpacked(const ChildOutcome& child) {
  if (child.died) return {CheckOutcome::failed, *child.died, 0};
  int status = 0, used = 0;
  long long fallbacks = 0;
  if (std::sscanf(child.text.c_str(), "%d %lld %n", &status, &fallbacks, &used) < 2)
    return {CheckOutcome::failed, child.text.empty() ? "the check ended without an outcome" : child.text, 0};
  return {static_cast<CheckOutcome::Status>(status), child.text.substr(static_cast<size_t>(used)), fallbacks};
}

struct RunningCheck {
  size_t task;
  Child child;
};

// Waits until a child has something to say, and takes it; whoever has said all leaves `running`.
void take_pieces(std::vector<RunningCheck>& running, std::vector<CheckOutcome>& outcomes) {
  std::vector<pollfd> waits;
  for (const RunningCheck& r : running) waits.push_back({r.child.pipe(), POLLIN, 0});
  ::poll(waits.data(), waits.size(), -1);
  for (size_t i = running.size(); i-- > 0;) {
    if (waits[i].revents == 0 || running[i].child.receive()) continue;
    outcomes[running[i].task] = unpacked(running[i].child.outcome());
    running.erase(running.begin() + static_cast<ptrdiff_t>(i));
  }
}

std::vector<CheckOutcome> run_checks(const std::vector<CheckTask>& tasks, const CheckArguments& a) {
  std::vector<CheckOutcome> outcomes(tasks.size());
  std::vector<RunningCheck> running;
  size_t next = 0;
  while (next < tasks.size() || !running.empty()) {
    for (; next < tasks.size() && running.size() < a.jobs; ++next) {
      Child child([&] { return packed(check_one(tasks[next], a.options)); });
      if (child.pipe() < 0) outcomes[next] = unpacked(child.outcome());
      else running.push_back({next, std::move(child)});
    }
    if (!running.empty()) take_pieces(running, outcomes);
  }
  return outcomes;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

int summarise(const std::vector<CheckTask>& tasks, const std::vector<CheckOutcome>& outcomes, const CheckArguments& a) {
  size_t counts[3] = {};
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < tasks.size(); ++i) {
    const CheckOutcome& o = outcomes[i];
    ++counts[o.status];
    static constexpr const char* words[] = {"passed", "failed", "skipped"};
    if (a.json) {
      list.push_back({{"path", tasks[i].path}, {"form", tasks[i].form}, {"status", words[o.status]}, {"what", o.what}, {"fallback_kernels", o.fallbacks}});
    } else if (o.status != CheckOutcome::passed || a.verbose) {
      fmt::print("{} [{}]: {}{}\n", tasks[i].path, tasks[i].form, words[o.status], o.what.empty() ? "" : ": " + one_line(o.what));
    }
  }
  if (a.json) fmt::print("{}\n", list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  fmt::print("{} passed, {} failed, {} skipped\n", counts[0], counts[1], counts[2]);
  return counts[1] == 0 ? 0 : 1;
}

int run_check(const CheckArguments& a) {
  if (auto target = find_target(a.options.target); !target) return report(target.error());
  std::vector<CheckTask> tasks;
  for (const std::string& path : a.paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      add_folder(a, path, tasks);
    } else if (fs::exists(path, error)) {
      add_file(a, path, CheckKind::evaluated, tasks);
    } else {
      return report(file_error(path, "there is no such file or folder"));
    }
  }
  int code = summarise(tasks, run_checks(tasks, a), a);
  if (!tasks.empty()) return code;
  return report(file_error("", fmt::format("there is nothing to check in {} ({})", fmt::join(a.paths, ", "),
                                           a.form == "all" ? "no case.json, index.tsv, .hlo, .mlir or .mlirbc file"
                                                           : fmt::format("no form {}", a.form))));
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto a = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand("check", "Compare programs with their expected results");
  command->add_option("PATH", a->paths, "Case folders or trees of them, programs that check themselves, folders with an index.tsv, or files to compare with the evaluator "
                      "(files found in folders are only read and printed)")->required();
  command->add_option("--target", a->options.target, "native (default) or another of `hloc targets`");
  add_cache_option(*command, a->options.cache);
  command->add_option("--form", a->form, "hlo, mlir, mlirbc, pb or all that are there (default)")->check(CLI::IsMember({"hlo", "mlir", "mlirbc", "pb", "all"}));
  command->add_flag("--no-fallback", a->options.no_fallback, "Fail where an op runs by the evaluator instead of native code");
  command->add_flag("--bisect", a->options.bisect, "Where a result is wrong, say which pass or rule changes it first");
  command->add_flag("--verify", a->options.verify, "Also verify plain files");
  command->add_option("--jobs", a->jobs, "Checks at the same time (default 1)")->check(CLI::Range(1u, 1024u));
  command->add_option("--threads", a->options.threads, "Threads of each program (default 1)")->check(CLI::Range(1u, 1024u));
  command->add_flag("--json", a->json, "All outcomes as JSON before the last line");
  command->add_flag("--verbose", a->verbose, "A line for what passed, too");
  command->footer(
      "Examples:\n"
      "  hloc check cases/ --jobs 4               every case below this folder\n"
      "  hloc check cases/softmax --bisect        and which pass or rule is to blame\n"
      "  hloc check graph.hlo --target cuda:host  this target's code and the evaluator on made inputs");
  command->callback([a, &action] { action = [a] { return run_check(*a); }; });
}

}  // namespace hloc::cli
