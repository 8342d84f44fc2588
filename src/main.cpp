// The command line: one file per command in src/commands/.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <new>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "src/commands/command.h"
#include "src/commands/error.h"

namespace {

// The first word, where it is no command: the parser itself would only say that a command is missing.
std::optional<hloc::Diagnostic> unknown_command(const CLI::App& app, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(command->get_name());
  if (word.starts_with('-') || std::find(names.begin(), names.end(), word) != names.end()) return {};
  return hloc::cli::file_error("", fmt::format("'{}' is not a command; the commands are {}", word, fmt::join(names, ", ")),
                               hloc::ErrorKind::usage);
}

// Output that can't be written throws in fmt::print; so may whatever else a command does around the library.
int run(const hloc::cli::Action& action) {
  using hloc::ErrorKind;
  using hloc::cli::file_error;
  try {
    int code = action();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    int failed = hloc::cli::report(file_error("", "standard output can't be written", ErrorKind::io));
    return code == 0 ? failed : code;
  } catch (const std::system_error& e) {
    return hloc::cli::report(file_error("", fmt::format("standard output can't be written: {}", e.code().message()), ErrorKind::io));
  } catch (const std::bad_alloc&) {
    return hloc::cli::report(file_error("", "there is not enough memory", ErrorKind::memory));
  } catch (const std::exception& e) {
    return hloc::cli::report(file_error("", fmt::format("an exception got away: {}", e.what()), ErrorKind::bug));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a write error, not a silent death

  CLI::App app{"hloc compiles HLO and StableHLO graphs to machine code and runs them."};
  app.set_version_flag("--version",
                       "hloc 0.1.0\n"
                       "reads HLO text of XLA as of August 2026 (parser of 2026-08-22) and StableHLO text 1.20 of 2026");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  hloc compile graph.hlo                     write graph.o and graph.h\n"
      "  hloc run graph.hlo --input x.npy           print the results\n"
      "  hloc compile graph.hlo --emit loops        show the loops\n"
      "Exit codes: 0 good, 1 a file is wrong or missing or a check failed, 2 wrong command line,\n"
      "3 this machine or target can't, 4 a bug of hloc.");

  hloc::cli::Action action;
  hloc::cli::add_compile(app, action);
  hloc::cli::add_run(app, action);
  hloc::cli::add_check(app, action);
  hloc::cli::add_bench(app, action);
  hloc::cli::add_convert(app, action);
  hloc::cli::add_opt(app, action);
  hloc::cli::add_reduce(app, action);
  hloc::cli::add_lists(app, action);

  if (argc > 1)
    if (auto unknown = unknown_command(app, argv[1])) return hloc::cli::report(*unknown);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    bool asked = e.get_exit_code() == 0;  // --help, --version
    app.exit(e);
    return asked ? 0 : 2;
  }
  return run(action);
}
