// Lesson 2: rules and what their proofs say. Looks inside: passes/rewrite/algebra.h (how rules are written) and check.h beside it.
#include <cstdio>
#include <string>

#include "passes/rewrite/algebra.h"
#include "passes/rewrite/check.h"

namespace {

using namespace hloc::passes;         // Rule, Valid, check_rule
using namespace hloc::passes::rules;  // x, y, z and the ops

// Laws as one might write them down. Which are right?
constexpr Rule laws[] = {
    {"add-zero", x + 0, x},
    {"add-zero-of-integers", x + 0, x, Valid::integers},
    {"sub-self", x - x, 0},
    {"cancel", (x * y) / y, x, Valid::integers},
    {"not-less", !lt(x, y), ge(x, y)},
    {"min-of-max", minimum(maximum(x, y), y), y, Valid::integers},
};

// What an error says up to the first graph: the law and the element that differs.
std::string first_sentence(const std::string& message) {
  size_t end = message.find(" (seed");
  return message.substr(0, end == std::string::npos ? message.find('\n') : end);
}

}  // namespace

int main() {
  for (const Rule& rule : laws) {
    hloc::Result<RuleProof> proof = check_rule(rule, 2);
    if (proof)
      std::printf("%s holds: %lld graphs, %lld element types\n", std::string(rule.law()).c_str(), static_cast<long long>(proof->instances),
                  static_cast<long long>(proof->element_types));
    else
      std::printf("%s\n", first_sentence(proof.error().message).c_str());
  }
  return 0;
}
