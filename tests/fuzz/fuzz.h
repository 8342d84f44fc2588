// What the fuzzers share: seeds, time, and the input at hand, which is written down when the process dies of it.
//
//   fuzz_bytes --seconds 20 --seed 1 PATH…     mutates the files below the paths
//   fuzz_modules --seconds 20 --seed 1         makes modules by grammar
//
// Every input has a seed of its own that is printed with a finding; --only SEED runs that one again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hloc::fuzz {

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // In [0, n); 0 for n = 0.
  uint64_t below(uint64_t n) { return n == 0 ? 0 : next() % n; }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  uint64_t state_;
};

struct FuzzArguments {
  double seconds = 20;
  uint64_t seed = 1;
  uint64_t inputs = UINT64_MAX;    // --inputs N: at most so many, so that a run does not depend on the machine's speed
  std::string target;              // --target NAME: this one instead of those that the fuzzer takes by itself
  bool only = false;               // one input, of exactly this seed
  std::vector<std::string> paths;
};
FuzzArguments parse_arguments(int argc, char** argv);

// Runs `one(seed)` for seed, seed + 1, … until the time is over; the text of a finding or "". Prints each finding with
// its seed and the last line `fuzz NAME: N inputs, seed S: P passed, F failed`; returns the exit code. An input that takes more
// than `slow_seconds` is a finding.
int run_fuzzer(const char* name, const FuzzArguments& arguments, double slow_seconds, std::string (*one)(uint64_t seed, const FuzzArguments&));

// The input being tried, for the report when a signal ends the process.
void set_current_input(const std::string* text);

}  // namespace hloc::fuzz
