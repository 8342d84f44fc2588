// Errors about a file as a whole, or (file "") about the command line.
#pragma once

#include <string>
#include <utility>

#include "include/hloc/result.h"

namespace hloc::cli {

inline Diagnostic file_error(std::string file, std::string message, ErrorKind kind = ErrorKind::input) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  d.file = std::move(file);
  return d;
}

}  // namespace hloc::cli
