// Runs text tests: `text_tests PATH…` (files or folders; default: the folders of the table). Last line: N passed, N failed.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "tests/harness/text_test.h"

namespace {

using namespace hloc::test;  // one program, one file

struct Command {
  std::string_view name;
  TextHandler run;
};
constexpr Command commands[] = {
    {"read", run_read},      {"roundtrip", run_round_trip}, {"verify", run_verify},      {"run", run_values},
    {"opt", run_opt},        {"plan", run_plan},            {"native", run_native},
    {"loops", run_loops_text},   {"machine", run_machine_text}, {"emit", run_emit},
    {"emulator", run_emulator},
};

std::vector<std::string> files_below(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<std::string> run_one(const TextTest& test) {
  for (const Command& c : commands) {
    if (c.name != test.command) continue;
    try {
      return judge(test, c.run(test));
    } catch (const std::exception& e) {
      return fmt::format("an exception got away: {}", e.what());
    }
  }
  return fmt::format("'{}' is no command of text tests", test.command);
}

}  // namespace

int main(int argc, char** argv) {
  int passed = 0, failed = 0;
  for (const std::string& file : files_below({argv + 1, argv + argc})) {
    auto test = parse_text_test(file);
    if (!test) continue;
    if (auto wrong = run_one(*test)) {
      ++failed;
      fmt::print("FAILED {}\n{}\n", file, *wrong);
    } else {
      ++passed;
    }
  }
  fmt::print("text tests: {} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
