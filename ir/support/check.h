// HLOC_CHECK: an invariant of hloc itself. A broken one unwinds to the edge of the API, which turns it into a
// Diagnostic of kind `bug`: an embedded library never ends its host. Errors in the user's program are Diagnostics from
// the start and never come this way.
#pragma once

#include <stdexcept>
#include <string>

namespace hloc {

class BugError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void bug(const char* file, int line, const char* condition, const std::string& what) {
  throw BugError(std::string(file) + ":" + std::to_string(line) + ": " + condition + ": " + what);
}

[[noreturn]] inline void unreachable_bug(const char* file, int line) { bug(file, line, "unreachable", "reached"); }

}  // namespace hloc

#define HLOC_CHECK(condition, what) \
  do {                              \
    if (!(condition)) [[unlikely]]  \
      ::hloc::bug(__FILE__, __LINE__, #condition, (what)); \
  } while (0)

#define HLOC_UNREACHABLE() ::hloc::unreachable_bug(__FILE__, __LINE__)
