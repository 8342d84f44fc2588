// By posix_spawn: in a process of many threads little is allowed between fork and exec.
#include "backends/host/child_process.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace hloc::host {

pid_t start_child(std::span<const std::string> arguments, std::span<const InheritedFile> files) {
  std::vector<char*> words;
  for (const std::string& a : arguments) words.push_back(const_cast<char*>(a.c_str()));
  words.push_back(nullptr);
  // Copies beyond all descriptors that the child is to have, so that none is overwritten before it is used.
  int beyond = 0;
  for (const InheritedFile& f : files) beyond = std::max(beyond, f.there + 1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  std::vector<int> copies;
  int failure = 0;
  for (const InheritedFile& f : files) {
    int copy = ::fcntl(f.here, F_DUPFD_CLOEXEC, beyond);
    if (copy < 0) failure = errno;
    else if (copies.push_back(copy); failure == 0) failure = posix_spawn_file_actions_adddup2(&actions, copy, f.there);
  }
  pid_t child = -1;
  if (failure == 0) failure = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  for (int copy : copies) ::close(copy);
  return failure == 0 ? child : (errno = failure, -1);
}

int wait_for_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

int run_child(std::span<const std::string> arguments, std::span<const InheritedFile> files) {
  pid_t child = start_child(arguments, files);
  return child < 0 ? -1 : wait_for_child(child);
}

}  // namespace hloc::host
