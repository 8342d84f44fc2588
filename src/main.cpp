// The command line: one file per command in src/commands/.
#include <csignal>
#include <cstdio>

#include "src/commands/command.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a write error, not a silent death

  CLI::App app{"hloc compiles HLO and StableHLO graphs to machine code and runs them."};
  app.set_version_flag("--version",
                       "hloc 0.1.0\n"
                       "reads HLO text of XLA as of August 2026 (parser of 2026-08-22) and StableHLO text 1.20 of 2026");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  hloc compile graph.hlo                 write graph.o and graph.h\n"
      "  hloc run graph.hlo --input x.npy       print the results\n"
      "  hloc compile graph.hlo --emit loops -o -   show the loops\n"
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

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    bool asked = e.get_exit_code() == 0;  // --help, --version
    app.exit(e);
    return asked ? 0 : 2;
  }
  int code = action ? action() : 2;
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fputs("error: standard output can't be written\n", stderr);
    return code == 0 ? 3 : code;
  }
  return code;
}
