#include "src/commands/stats.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hloc::cli {
namespace {

std::string registers(const KernelResources& k) {
  if (!k.scalar_registers) return fmt::format("{} registers", k.registers);
  std::string accumulation = k.accumulation_registers ? fmt::format(", {} accumulation", *k.accumulation_registers) : "";
  return fmt::format("{} vector{}, {} scalar registers", k.registers, accumulation, *k.scalar_registers);
}

std::string spills(const KernelResources& k) {
  if (!k.spill_stored_bytes && !k.spilled_registers) return "spills are not known";
  if (!k.spills()) return "no spills";
  if (k.spill_stored_bytes) return fmt::format("spills: {} bytes stored, {} loaded", *k.spill_stored_bytes, k.spill_loaded_bytes.value_or(0));
  return fmt::format("spills: {} vector, {} scalar registers", *k.spilled_registers, k.spilled_scalar_registers.value_or(0));
}

}  // namespace

void show_stats(const ProgramStats& s) {
  fmt::print(stderr, "target {}: instructions: {}, kernels: {}, host steps: {}, arena: {} bytes, code: {} bytes; compiled in {:.2f} ms\n",
             s.target, s.instructions, s.kernels, s.fallback_kernels, s.arena_bytes, s.code_bytes, s.compile_ms);
  for (const std::string& op : s.fallbacks) fmt::print(stderr, "  host step: {}\n", op);
  if (s.from_cache) fmt::print(stderr, "  code: {}\n", *s.from_cache ? "from the cache" : "compiled, now in the cache");
  for (const KernelResources& k : s.device_kernels)
    fmt::print(stderr, "  launch {}: {}; {} bytes shared by a block, {} bytes of stack a thread; {}\n", k.name, registers(k), k.shared_bytes,
               k.stack_bytes, spills(k));
}

void add_stats(nlohmann::ordered_json& to, const ProgramStats& stats) {
  to["arena_bytes"] = stats.arena_bytes;
  to["code_bytes"] = stats.code_bytes;
  to["kernels"] = stats.kernels;
  to["fallback_kernels"] = stats.fallback_kernels;
  to["flops"] = stats.flops;
  to["bytes"] = stats.bytes;
  to["target"] = stats.target;
  if (!stats.runner.empty()) to["runner"] = stats.runner;
  if (stats.from_cache) to["from_cache"] = *stats.from_cache;
  if (stats.device_kernels.empty()) return;
  auto list = nlohmann::ordered_json::array();
  for (const KernelResources& k : stats.device_kernels) {
    nlohmann::ordered_json j{{"name", k.name}, {"registers", k.registers}, {"shared_bytes", k.shared_bytes}, {"stack_bytes", k.stack_bytes}};
    const std::pair<const char*, const std::optional<int64_t>&> known[] = {{"scalar_registers", k.scalar_registers},
                                                                           {"accumulation_registers", k.accumulation_registers},
                                                                           {"spill_stored_bytes", k.spill_stored_bytes},
                                                                           {"spill_loaded_bytes", k.spill_loaded_bytes},
                                                                           {"spilled_registers", k.spilled_registers},
                                                                           {"spilled_scalar_registers", k.spilled_scalar_registers}};
    for (const auto& [name, value] : known)
      if (value) j[name] = *value;
    list.push_back(std::move(j));
  }
  to["device_kernels"] = std::move(list);
}

}  // namespace hloc::cli
