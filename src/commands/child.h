// Work in a process of its own, so that a crash or a runaway in it is an outcome and not the end.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace hloc::cli {

struct ChildOutcome {
  std::string text;                 // what the work returned
  std::optional<std::string> died;  // "crashed: Segmentation fault", "ran longer than 20 s"
};

// `seconds`: after so long the process is ended; 0: never.
ChildOutcome in_child(const std::function<std::string()>& work, unsigned seconds = 0);

}  // namespace hloc::cli
