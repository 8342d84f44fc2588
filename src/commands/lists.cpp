// hloc ops, rules, passes, targets: what there is, one line each.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "src/commands/command.h"

namespace hloc::cli {
namespace {

int print_entries(const std::vector<ListEntry>& entries) {
  size_t name = 0, family = 0;
  for (const ListEntry& e : entries) {
    name = std::max(name, e.name.size());
    family = std::max(family, e.family.size());
  }
  for (const ListEntry& e : entries) {
    std::string line = family == 0 ? fmt::format("{:<{}}  {}", e.name, name, e.text)
                                   : fmt::format("{:<{}}  {:<{}}  {}", e.name, name, e.family, family, e.text);
    fmt::print("{}\n", line);
  }
  return 0;
}

void add_list(CLI::App& app, Action& action, const char* name, const char* what, std::vector<ListEntry> (*list)()) {
  CLI::App* command = app.add_subcommand(name, what);
  command->footer("");
  command->callback([list, &action] { action = [list] { return print_entries(list()); }; });
}

}  // namespace

void add_lists(CLI::App& app, Action& action) {
  add_list(app, action, "ops", "List the ops: HLO name, StableHLO name, operands", list_ops);
  add_list(app, action, "rules", "List the rewrite rules: family, law, and in brackets the element types it holds for", list_rules);
  add_list(app, action, "passes", "List the passes", list_passes);
  add_list(app, action, "targets", "List the targets", list_targets);
}

}  // namespace hloc::cli
