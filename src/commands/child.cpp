#include "src/commands/child.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace hloc::cli {
namespace {

[[noreturn]] void be_the_child(const std::function<std::string()>& work, unsigned seconds, int pipe) {
  ::alarm(seconds);
  std::string text;
  try {
    text = work();
  } catch (const std::exception& e) {
    text = fmt::format("an exception got away: {}", e.what());
  }
  for (std::string_view rest = text; !rest.empty();) {
    ssize_t n = ::write(pipe, rest.data(), rest.size());
    if (n <= 0) break;
    rest.remove_prefix(static_cast<size_t>(n));
  }
  ::_exit(0);
}

}  // namespace

Child::Child(const std::function<std::string()>& work, unsigned seconds) : seconds_(seconds) {
  int ends[2];
  std::fflush(nullptr);
  if (::pipe(ends) != 0) {
    outcome_.died = "no pipe can be made";
    return;
  }
  process_ = ::fork();
  if (process_ == 0) {
    ::close(ends[0]);
    be_the_child(work, seconds, ends[1]);
  }
  ::close(ends[1]);
  pipe_ = ends[0];
  if (process_ > 0) return;
  ::close(pipe_);
  pipe_ = -1;
  outcome_.died = "no process can be made";
}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(pipe_, other.pipe_);
  std::swap(seconds_, other.seconds_);
  std::swap(outcome_, other.outcome_);
  return *this;
}

Child::~Child() { outcome(); }

bool Child::receive() {
  char chunk[4096];
  ssize_t n = pipe_ < 0 ? 0 : ::read(pipe_, chunk, sizeof chunk);
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  outcome_.text.append(chunk, static_cast<size_t>(n));
  return true;
}

ChildOutcome Child::outcome() {
  if (pipe_ >= 0) {
    ::close(std::exchange(pipe_, -1));
    int status = 0;
    ::waitpid(std::exchange(process_, -1), &status, 0);
    if (WIFSIGNALED(status))
      outcome_.died = WTERMSIG(status) == SIGALRM ? fmt::format("ran longer than {} s", seconds_)
                                                  : fmt::format("crashed: {}", ::strsignal(WTERMSIG(status)));
  }
  return outcome_;
}

ChildOutcome in_child(const std::function<std::string()>& work, unsigned seconds) {
  Child child(work, seconds);
  while (child.receive()) {}
  return child.outcome();
}

}  // namespace hloc::cli
