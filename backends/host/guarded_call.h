// A call with every buffer between guard pages, for tests.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "backends/host/guarded.h"
#include "include/hloc/result.h"
#include "passes/plan.h"

namespace hloc::host {

// run(in, out, memory) on copies of the inputs, and `memory_bytes` of memory that holds NaN patterns; the results are copied out.
template <class F>
Result<void> guarded_call(const plan::Program& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                          size_t memory_bytes, F&& run) {
  std::vector<GuardedBuffer> buffers;
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto bytes = static_cast<size_t>(plan.buffers[plan.parameters[i]].bytes());
    buffers.emplace_back(bytes);
    if (bytes != 0) std::memcpy(buffers.back().data(), inputs[i], bytes);
    in.push_back(buffers.back().data());
  }
  for (plan::BufferId id : plan.results) {
    buffers.emplace_back(static_cast<size_t>(plan.buffers[id].bytes()));
    out.push_back(buffers.back().data());
  }
  GuardedBuffer memory(memory_bytes);
  Result<void> done = run(in.data(), out.data(), memory.data());
  if (!done) return done;
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto bytes = static_cast<size_t>(plan.buffers[plan.results[i]].bytes());
    if (bytes != 0) std::memcpy(outputs[i], out[i], bytes);
  }
  return {};
}

}  // namespace hloc::host
