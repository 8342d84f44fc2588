// What the commands share: how they register, report and write.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "include/hloc/hloc.h"

namespace hloc::cli {

// Set by the command that was given on the command line; returns the exit code.
using Action = std::function<int()>;

void add_compile(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_opt(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_reduce(CLI::App& app, Action& action);
void add_lists(CLI::App& app, Action& action);  // ops, rules, passes, targets

// Exit codes of the command line: a contract.
int exit_code(ErrorKind kind);
// Prints the error to standard error; returns its exit code.
int report(const Diagnostic& error);

// Writes all of it or nothing: a regular or new file through a temporary one beside it; "-" is standard output; a
// device or pipe is written in place.
Result<void> write_output(const std::string& path, std::string_view bytes);
// The same for two files that belong together: neither appears unless both can be written.
Result<void> write_outputs(std::span<const std::pair<std::string, std::string_view>> files);

// Whether write_output would write into what is there already: "-", a device, a pipe.
bool written_in_place(const std::string& path);
// Whether both name one existing file.
bool same_file(const std::string& a, const std::string& b);

// The option --cache, the same for all commands that make code for devices.
void add_cache_option(CLI::App& command, std::string& folder);

// Says on stderr that an emulator runs the code, where one does.
void say_runner(const ProgramStats& stats);

// For options that name a file: CLI11 would take "" for the option's absence.
std::string not_empty(const std::string& text);

// "path/to/graph.hlo" → "graph".
std::string stem(const std::string& path);
// Letters, digits and '_', not starting with a digit; no keyword of C or C++ and no name of the C library.
std::string c_identifier(std::string_view name);

}  // namespace hloc::cli
