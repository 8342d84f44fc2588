// Another program, run to its end.
#pragma once

#include <span>
#include <string>

namespace hloc::host {

// What the child knows as descriptor `there` is the one that is `here` in this process.
struct InheritedFile {
  int here = -1, there = -1;
};

// Starts `arguments[0]`, found on the path, and waits; the wait status (see waitpid), or -1 with errno when it could not be
// started: ENOENT where there is no such command. Other descriptors are inherited unless they close on exec.
int run_child(std::span<const std::string> arguments, std::span<const InheritedFile> files);

}  // namespace hloc::host
