// Text tests: one small file is one test. Its first line says what to do, comments say what to expect:
//
//   // test: opt --passes=simplify        what to run, see the table in main.cpp
//   …the input…
//   // expect: ROOT x = f32[8]{0} parameter(0)      these lines, in this order, among the output's (trimmed)
//   // expect-not: negate                           no output line contains this
//   // expect-error: 4:9: 'ad' is not an op         an error at line 4, column 9 of this file whose message contains the text
//   // expect-ok                                    no error (the default; says so where the point is that there is none)
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "include/hloc/hloc.h"

namespace hloc::test {

struct TextTest {
  std::string path, text;          // the whole file is the input: directives are comments there
  std::string command;             // "opt"
  std::vector<std::string> options;  // "--passes=simplify"
  std::vector<std::string> expect, expect_not;
  std::optional<std::string> expect_error;  // "4:9: text"

  std::string option(std::string_view name) const;  // the value of --name=…, or ""
};

// What running it gave: output to match with the expectations, or an error to match with expect-error. A Failure is a
// property that must hold whatever the file expects (a round trip, equal values before and after).
struct TextOutcome {
  std::string output;
  std::optional<Diagnostic> error;
  std::optional<std::string> failure;
};

using TextHandler = TextOutcome (*)(const TextTest&);

std::optional<TextTest> parse_text_test(const std::string& path);
// Nothing when the outcome is as expected, else what is wrong.
std::optional<std::string> judge(const TextTest& test, const TextOutcome& outcome);

TextOutcome run_read(const TextTest&);
TextOutcome run_round_trip(const TextTest&);
TextOutcome run_verify(const TextTest&);
TextOutcome run_values(const TextTest&);
TextOutcome run_opt(const TextTest&);
TextOutcome run_plan(const TextTest&);
// `emit --target=cuda:sm_80 --kind=cuda`: a level's text.
TextOutcome run_emit(const TextTest&);
// Without host steps, and to the bit what the evaluator gives (NaN is NaN), on each target that this machine runs.
TextOutcome run_native(const TextTest&);
// Kernels in C: the emulator's finding, or the arrays that they write.
TextOutcome run_emulator(const TextTest&);
TextOutcome run_loops_text(const TextTest&);
TextOutcome run_machine_text(const TextTest&);

// Compares two modules on the same inputs by the evaluator; the text of the first difference.
std::optional<std::string> compare_by_evaluation(const Module& before, const Module& after);

}  // namespace hloc::test
