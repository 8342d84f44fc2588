// What stands for x86_backend.cpp where hloc is built without xbyak: its targets are known, and refused.
#include <fmt/format.h>

#include "backends/cpu/x86_backend.h"
#include "ir/support/source.h"

namespace hloc::backends {
namespace {

std::vector<TargetEntry> absent_targets() {
  return {{"x86-64-v3", "not part of this build: xbyak was missing"}, {"x86-64-v4", "not part of this build: xbyak was missing"}};
}

Result<ir::Target> absent_facts(std::string_view target) {
  return error(ErrorKind::target, fmt::format("this build of hloc makes no code for {}: xbyak's header was missing (Debian: apt install "
                                              "libxbyak-dev, then build again)", target));
}

}  // namespace

constinit const Backend x86_backend{.name = "x86-64", .targets = absent_targets, .facts = absent_facts};

}  // namespace hloc::backends
