// One check: a program in one form, compiled and compared, or a text that must (or must not) read.
#pragma once

#include <string>

#include "include/hloc/hloc.h"

namespace hloc::cli {

enum class CheckKind : uint8_t {
  case_folder,    // path is the folder, form one of hlo, mlir, mlirbc, pb
  self_checking,  // a file whose program has check.expect_*; all its modules
  evaluated,      // a file whose results on made inputs are the evaluator's, and that reads, prints and reads again equal
  round_trip,     // a file that reads, prints and reads again equal
  accept,         // a file of an index.tsv that must be read (and round-trip)
  refuse,         // a file of an index.tsv that must be refused
};

struct CheckTask {
  CheckKind kind = CheckKind::round_trip;
  std::string path, form;
};

struct CheckOptions {
  std::string target = "native", cache;
  bool no_fallback = false, verify = false, bisect = false;
  unsigned threads = 1;
};

struct CheckOutcome {
  enum Status : uint8_t { passed, failed, skipped } status = passed;
  std::string what;  // the reason when not passed
  int64_t fallbacks = 0;
};

CheckOutcome check_one(const CheckTask& task, const CheckOptions& options);

}  // namespace hloc::cli
