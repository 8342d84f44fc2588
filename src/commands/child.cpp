#include "src/commands/child.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace hloc::cli {

ChildOutcome in_child(const std::function<std::string()>& work, unsigned seconds) {
  int ends[2];
  std::fflush(nullptr);
  if (::pipe(ends) != 0) return {{}, "no pipe can be made"};
  pid_t pid = ::fork();
  if (pid < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return {{}, "no process can be made"};
  }
  if (pid == 0) {
    ::close(ends[0]);
    ::alarm(seconds);
    std::string text;
    try {
      text = work();
    } catch (const std::exception& e) {
      text = fmt::format("an exception got away: {}", e.what());
    }
    for (std::string_view rest = text; !rest.empty();) {
      ssize_t n = ::write(ends[1], rest.data(), rest.size());
      if (n <= 0) break;
      rest.remove_prefix(static_cast<size_t>(n));
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  ChildOutcome out;
  char chunk[4096];
  for (ssize_t n; (n = ::read(ends[0], chunk, sizeof chunk)) > 0;) out.text.append(chunk, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFSIGNALED(status))
    out.died = WTERMSIG(status) == SIGALRM ? fmt::format("ran longer than {} s", seconds)
                                           : fmt::format("crashed: {}", ::strsignal(WTERMSIG(status)));
  return out;
}

}  // namespace hloc::cli
