// What the middle may know of a target: plain facts, filled by the target's backend, read by passes.
#pragma once

#include <cstdint>
#include <string>

#include "ir/graph.h"

namespace hloc::ir {

struct Target {
  std::string name;                // "x86-64-v4"
  int64_t vector_bytes = 32;       // one vector register
  int64_t vector_registers = 16;
  int64_t cache_line = 64;
  int64_t l1_bytes = 32 << 10;     // per core
  int64_t l2_bytes = 512 << 10;    // per core
  int64_t l3_bytes = 8 << 20;      // shared
  // An output of at least so many bytes has left the caches before anything reads it: it is better stored past them.
  int64_t streaming_bytes = 16 << 20;
  int64_t buffer_alignment = 64;   // of arena offsets and results
  double launch_cost_bytes = 4096; // bytes of memory traffic that one kernel launch is worth
  bool exchanges_buffers = false;  // whether its loops can let two arrays change places after each turn
  // Whether the op, with its types and attributes, has a native lowering inside a kernel. Everything else is a host step.
  bool (*supports)(const Instruction&) = nullptr;
};

}  // namespace hloc::ir
