// The command line: one file per command in src/commands/.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "ir/support/source.h"
#include "src/commands/command.h"

namespace {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  std::string_view near = hloc::nearest(word, known);
  return hloc::suggestion(near);
}

// A command or an option that there is not: the message with the nearest that there is, or nothing.
std::string unknown_word(const CLI::App& app, int argc, char** argv) {
  auto commands = app.get_subcommands(nullptr);
  std::vector<std::string> known;
  const CLI::App* chosen = nullptr;
  std::string first = argc > 1 ? argv[1] : "";
  for (const CLI::App* command : commands) {
    known.push_back(command->get_name());
    if (command->get_name() == first) chosen = command;
  }
  if (!chosen && !first.empty() && first[0] != '-')
    return fmt::format("'{}' is not a command{} (commands: {})", first, did_you_mean(first, known), fmt::join(known, ", "));
  known.clear();
  for (const CLI::Option* option : (chosen ? *chosen : app).get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (const std::string& word : chosen ? chosen->remaining() : app.remaining())
    if (word.starts_with("--")) return fmt::format("'{}' is not an option{}", word, did_you_mean(word.substr(0, word.find('=')), known));
  return "";
}

int wrong_command_line(CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  std::string unknown = unknown_word(app, argc, argv);
  if (unknown.empty()) {
    app.exit(e);
  } else {
    fmt::print(stderr, "error: {}\nRun with --help for more information.\n", unknown);
  }
  return 2;
}

// What the library's edge does for the library: nothing that is thrown ends the program without a word and its exit code.
int act(const hloc::cli::Action& action) {
  try {
    return action();
  } catch (const std::system_error& e) {  // fmt::print, when a stream can't be written
    return hloc::cli::report(hloc::error(hloc::ErrorKind::io, e.what()));
  } catch (const std::bad_alloc&) {
    return hloc::cli::report(hloc::error(hloc::ErrorKind::memory, "there is not enough memory"));
  } catch (const std::length_error&) {
    return hloc::cli::report(hloc::error(hloc::ErrorKind::memory, "there is not enough memory"));
  } catch (const std::exception& e) {
    return hloc::cli::report(hloc::error(hloc::ErrorKind::bug, e.what()));
  }
}

// What was printed must have arrived, or the command failed after all.
int finish(int code) {
  bool written = static_cast<bool>(std::cout.flush());
  written &= std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written) return code;
  std::fputs("error: standard output can't be written\n", stderr);
  return code == 0 ? 3 : code;
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
  hloc::cli::add_explain(app, action);
  hloc::cli::add_reduce(app, action);
  hloc::cli::add_lists(app, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) return wrong_command_line(app, e, argc, argv);
    action = [&app, &e] { return app.exit(e); };  // --help, --version
    return finish(act(action));
  }
  return finish(act(action));
}
