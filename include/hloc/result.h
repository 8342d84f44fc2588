// Errors as values: what every fallible call of the library returns.
//
// A Diagnostic says what went wrong, where, and what was expected. Nothing in the library prints or ends the process;
// whoever gets a Diagnostic decides. Its kind maps to the exit codes of the command line (1 input, 2 usage, 3 target,
// memory, io, 4 bug).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace hloc {

enum class ErrorKind : uint8_t {
  input,   // a named file or argument is missing or its content is wrong
  usage,   // the call itself makes no sense (an unknown option, a wrong combination)
  target,  // this machine or target cannot do it (no lowering, a missing device or tool)
  memory,  // more memory would be needed than there is
  io,      // reading or writing failed (a full disk, no permission)
  bug,     // hloc broke one of its own invariants
};

// One error with its place. `line` and `column` count from 1 (0: no place), columns in bytes; `width` is how many characters
// the caret line underlines. The source line is copied in, so a Diagnostic outlives its source.
struct Diagnostic {
  ErrorKind kind = ErrorKind::input;
  std::string message;
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t width = 0;
  uint32_t caret = 0;  // where the caret stands in `source_line`, which may be cut out of a long line
  std::string source_line;

  // `file:line:column: error: message`, the source line and a caret line; every line ends with '\n'.
  std::string render() const;
};

// Either a value or a Diagnostic. Test with `if (!r)`, then use `*r`, `r->` or `r.error()`; asking for the one that is not
// there is a mistake of the caller's.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diagnostic error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }

  const Diagnostic& error() const& { return std::get<1>(state_); }
  Diagnostic&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Diagnostic> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Diagnostic error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Diagnostic& error() const& { return *error_; }
  Diagnostic&& error() && { return *std::move(error_); }

 private:
  std::optional<Diagnostic> error_;
};

}  // namespace hloc
