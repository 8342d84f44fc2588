#include "tests/fuzz/fuzz.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace hloc::fuzz {
namespace {

// Only the signal handler reads these.
const std::string* volatile current_input = nullptr;
volatile uint64_t current_seed = 0;

void on_death(int signal) {
  char line[96];
  int n = std::snprintf(line, sizeof line, "\nFINDING: signal %d, seed %llu, input:\n", signal, static_cast<unsigned long long>(current_seed));
  if (write(STDOUT_FILENO, line, static_cast<size_t>(n)) < 0) _exit(1);
  if (const std::string* text = current_input)
    if (write(STDOUT_FILENO, text->data(), text->size()) < 0) _exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void set_current_input(const std::string* text) { current_input = text; }

FuzzArguments parse_arguments(int argc, char** argv) {
  FuzzArguments a;
  for (int i = 1; i < argc; ++i) {
    bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--seconds") == 0 && has_value) a.seconds = std::atof(argv[++i]);
    else if (std::strcmp(argv[i], "--seed") == 0 && has_value) a.seed = std::strtoull(argv[++i], nullptr, 10);
    else if (std::strcmp(argv[i], "--inputs") == 0 && has_value) a.inputs = std::strtoull(argv[++i], nullptr, 10);
    else if (std::strcmp(argv[i], "--target") == 0 && has_value) a.target = argv[++i];
    else if (std::strcmp(argv[i], "--only") == 0 && has_value) a.seed = std::strtoull(argv[++i], nullptr, 10), a.only = true;
    else a.paths.emplace_back(argv[i]);
  }
  return a;
}

int run_fuzzer(const char* name, const FuzzArguments& a, double slow_seconds, std::string (*one)(uint64_t, const FuzzArguments&)) {
  using clock = std::chrono::steady_clock;
  for (int s : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS}) std::signal(s, on_death);
  auto start = clock::now();
  auto since = [](clock::time_point t) { return std::chrono::duration<double>(clock::now() - t).count(); };
  uint64_t inputs = 0, findings = 0;
  for (uint64_t seed = a.seed; inputs == 0 || (!a.only && inputs < a.inputs && since(start) < a.seconds); ++seed, ++inputs) {
    current_seed = seed;
    auto began = clock::now();
    std::string finding = one(seed, a);
    if (finding.empty() && since(began) > slow_seconds) finding = "it took " + std::to_string(since(began)) + " s";
    if (finding.empty()) continue;
    ++findings;
    std::printf("FINDING (%s, seed %llu): %s\n", name, static_cast<unsigned long long>(seed), finding.c_str());
    if (findings >= 5) break;
  }
  std::printf("fuzz %s: %llu inputs from seed %llu: %d passed, %llu failed\n", name, static_cast<unsigned long long>(inputs),
              static_cast<unsigned long long>(a.seed), findings == 0 ? 1 : 0, static_cast<unsigned long long>(findings));
  return findings == 0 ? 0 : 1;
}

}  // namespace hloc::fuzz
