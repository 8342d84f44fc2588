// Work in a process of its own, so that a crash or a runaway in it is an outcome and not the end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>

namespace hloc::cli {

struct ChildOutcome {
  std::string text;                 // what the work returned
  std::optional<std::string> died;  // "crashed: Segmentation fault", "ran longer than 20 s"
};

// One such process. `pipe` can be polled with those of other children; read until `receive` says that no more comes, then
// ask for the outcome.
class Child {
 public:
  // `seconds`: after so long the process is ended; 0: never.
  explicit Child(const std::function<std::string()>& work, unsigned seconds = 0);
  Child(Child&& other) noexcept { *this = std::move(other); }
  Child& operator=(Child&& other) noexcept;
  ~Child();  // waits

  int pipe() const { return pipe_; }  // -1: there is no process, the outcome says why
  bool receive();                     // waits for a piece; false: that was all
  ChildOutcome outcome();             // waits for the end

 private:
  pid_t process_ = -1;
  int pipe_ = -1;
  unsigned seconds_ = 0;
  ChildOutcome outcome_;
};

// The same for one process and its caller, who waits.
ChildOutcome in_child(const std::function<std::string()>& work, unsigned seconds = 0);

}  // namespace hloc::cli
