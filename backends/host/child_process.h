// Other programs as child processes.
#pragma once

#include <span>
#include <string>
#include <sys/types.h>

namespace hloc::host {

// What the child knows as descriptor `there` is the one that is `here` in this process.
struct InheritedFile {
  int here = -1, there = -1;
};

// Starts `arguments[0]`, found on the path, and returns once that program has taken over: its process, or -1 with errno
// (ENOENT: there is no such command). Other descriptors are inherited unless they close on exec.
pid_t start_child(std::span<const std::string> arguments, std::span<const InheritedFile> files);

// Waits for its end; the wait status (see waitpid), or -1.
int wait_for_child(pid_t child);

// Both: the wait status, or -1 with errno.
int run_child(std::span<const std::string> arguments, std::span<const InheritedFile> files);

}  // namespace hloc::host
