// hloc check: many programs against their expected results. Each check runs in a process of its own, so that a crash or
// a runaway is one failure and not the end.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/commands/check_one.h"
#include "src/commands/command.h"

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

void add_file(const CheckArguments& a, const fs::path& file, std::vector<CheckTask>& tasks) {
  std::string form = file.extension() == ".mlir" ? "mlir" : file.extension() == ".mlirbc" ? "mlirbc" : file.extension() == ".pb" ? "pb" : "hlo";
  if (!wanted(a, form)) return;
  CheckKind kind = CheckKind::round_trip;
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
    else if (entry.extension() == ".hlo" || entry.extension() == ".mlir" || entry.extension() == ".mlirbc") add_file(a, entry, tasks);
  }
}

// A check running in a child process; its outcome comes through a pipe: status, fallbacks, text.
struct Child {
  size_t task = 0;
  pid_t pid = -1;
  int pipe = -1;
  std::string received;
};

void write_outcome(int fd, const CheckOutcome& outcome) {
  std::string message = fmt::format("{} {} {}", static_cast<int>(outcome.status), outcome.fallbacks, outcome.what);
  for (std::string_view rest = message; !rest.empty();) {
    ssize_t n = ::write(fd, rest.data(), rest.size());
    if (n <= 0) return;
    rest.remove_prefix(static_cast<size_t>(n));
  }
}

CheckOutcome outcome_of(const Child& child, int status) {
  if (WIFSIGNALED(status)) return {CheckOutcome::failed, fmt::format("crashed: {}", strsignal(WTERMSIG(status))), 0};
  int code = 0;
  long long fallbacks = 0;
  int used = 0;
  if (std::sscanf(child.received.c_str(), "%d %lld %n", &code, &fallbacks, &used) < 2)
    return {CheckOutcome::failed, "the check ended without an outcome", 0};
  return {static_cast<CheckOutcome::Status>(code), child.received.substr(static_cast<size_t>(used)), fallbacks};
}

Child start_check(const CheckTask& task, size_t number, const CheckOptions& options) {
  int ends[2];
  Child child{number, -1, -1, {}};
  std::fflush(nullptr);
  if (::pipe(ends) != 0) return child;
  child.pid = ::fork();
  if (child.pid == 0) {
    ::close(ends[0]);
    CheckOutcome outcome;
    try {
      outcome = check_one(task, options);
    } catch (const std::exception& e) {
      outcome = {CheckOutcome::failed, fmt::format("an exception got away: {}", e.what()), 0};
    }
    write_outcome(ends[1], outcome);
    ::_exit(0);
  }
  ::close(ends[1]);
  child.pipe = ends[0];
  return child;
}

std::vector<CheckOutcome> run_checks(const std::vector<CheckTask>& tasks, const CheckArguments& a) {
  std::vector<CheckOutcome> outcomes(tasks.size());
  std::vector<Child> running;
  size_t next = 0;
  while (next < tasks.size() || !running.empty()) {
    while (next < tasks.size() && running.size() < std::max(1u, a.jobs)) {
      running.push_back(start_check(tasks[next], next, a.options));
      ++next;
    }
    std::vector<pollfd> waits;
    for (const Child& c : running) waits.push_back({c.pipe, POLLIN, 0});
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
    for (size_t i = running.size(); i-- > 0;) {
      if (waits[i].revents == 0) continue;
      char chunk[4096];
      ssize_t n = ::read(running[i].pipe, chunk, sizeof chunk);
      if (n > 0) {
        running[i].received.append(chunk, static_cast<size_t>(n));
        continue;
      }
      int status = 0;
      ::waitpid(running[i].pid, &status, 0);
      ::close(running[i].pipe);
      outcomes[running[i].task] = outcome_of(running[i], status);
      running.erase(running.begin() + static_cast<ptrdiff_t>(i));
    }
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
      add_file(a, path, tasks);
    } else {
      fmt::print(stderr, "{}: error: there is no such file or folder\n", path);
      return 1;
    }
  }
  return summarise(tasks, run_checks(tasks, a), a);
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto a = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand("check", "Compare programs with their expected results");
  command->add_option("PATH", a->paths, "Case folders or trees of them, programs that check themselves, folders with an index.tsv, or .hlo files")->required();
  command->add_option("--target", a->options.target, "See `hloc targets`");
  command->add_option("--form", a->form, "hlo, mlir, mlirbc, pb or all that are there")->check(CLI::IsMember({"hlo", "mlir", "mlirbc", "pb", "all"}));
  command->add_flag("--no-fallback", a->options.no_fallback, "Fail where an op runs by the evaluator instead of native code");
  command->add_flag("--bisect", a->options.bisect, "Where a result is wrong, say which pass or rule changes it first");
  command->add_flag("--verify", a->options.verify, "Also verify plain files");
  command->add_option("--jobs", a->jobs, "Checks at the same time")->check(CLI::Range(1u, 1024u));
  command->add_option("--threads", a->options.threads, "Threads of each program")->check(CLI::Range(1u, 1024u));
  command->add_flag("--json", a->json, "All outcomes as JSON before the last line");
  command->add_flag("--verbose", a->verbose, "A line for what passed, too");
  command->callback([a, &action] { action = [a] { return run_check(*a); }; });
}

}  // namespace hloc::cli
