// Child processes: which descriptors they get, and what becomes of a start that fails.
#include <cerrno>
#include <string>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/host/child_process.h"

namespace hloc::test {
namespace {

using host::InheritedFile;

std::string content(int file) {
  std::string out(64, '\0');
  ssize_t n = ::pread(file, out.data(), out.size(), 0);
  out.resize(n < 0 ? 0 : static_cast<size_t>(n));
  return out;
}

}  // namespace

TEST_CASE("a child has the descriptors that it is given under their numbers there") {
  int first = ::memfd_create("first", MFD_CLOEXEC), second = ::memfd_create("second", MFD_CLOEXEC);
  REQUIRE((first >= 0 && second >= 0));
  // Numbers of this process that are wanted for something else there.
  const InheritedFile files[] = {{first, second}, {second, first}};
  const std::string arguments[] = {"sh", "-c", "echo 1 >&" + std::to_string(second) + "; echo 2 >&" + std::to_string(first)};
  if (first < 10 && second < 10) {  // what a shell can name
    CHECK(host::run_child(arguments, files) == 0);
    CHECK(content(first) == "1\n");
    CHECK(content(second) == "2\n");
  }
  ::close(first), ::close(second);
}

TEST_CASE("a child that can't have its descriptors is not started") {
  int file = ::memfd_create("written", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  const InheritedFile files[] = {{file, STDOUT_FILENO}, {-1, STDERR_FILENO}};
  const std::string arguments[] = {"sh", "-c", "echo started"};
  CHECK(host::run_child(arguments, files) == -1);
  CHECK(errno == EBADF);
  CHECK(content(file).empty());
  ::close(file);
}

TEST_CASE("a command that is not there is told by errno, an end by its status", "[vfork]") {
  const std::string missing[] = {"hloc-no-such-command"}, status[] = {"sh", "-c", "exit 7"};
  CHECK(host::run_child(missing, {}) == -1);
  CHECK(errno == ENOENT);
  CHECK(WEXITSTATUS(host::run_child(status, {})) == 7);
}

}  // namespace hloc::test
