// The edge of the API: broken invariants and exhausted memory become Diagnostics, so nothing ends the host program.
#pragma once

#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "include/hloc/result.h"
#include "ir/support/check.h"
#include "ir/support/source.h"

namespace hloc {

template <class F>
auto at_the_edge(F&& f) -> decltype(f()) {
  try {
    return std::forward<F>(f)();
  } catch (const BugError& e) {
    return error(ErrorKind::bug, std::string("hloc broke one of its own rules: ") + e.what());
  } catch (const std::bad_alloc&) {
    return error(ErrorKind::memory, "there is not enough memory");
  } catch (const std::length_error&) {
    return error(ErrorKind::memory, "there is not enough memory");
  } catch (const std::exception& e) {
    return error(ErrorKind::bug, std::string("an exception got away: ") + e.what());
  }
}

// "'simplfy' is not a pass; did you mean 'simplify'?; `hloc passes` lists them"
template <class Range>
Diagnostic unknown_name(std::string_view what, std::string_view name, const Range& known, std::string_view list) {
  std::string_view near = nearest(name, known);
  std::string hint = suggestion(near);
  return error(ErrorKind::usage, fmt::format("'{}' is not a {}{} (`hloc {}` lists them)", name, what, hint, list));
}

}  // namespace hloc
