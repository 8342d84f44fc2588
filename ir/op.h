// The op table as an enumeration with facts. One row of ir/ops.def is one op; nothing else lists ops.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hloc::ir {

// Facts about an op, or-ed together in ops.def.
enum Trait : uint32_t {
  none = 0,
  elementwise = 1 << 0,   // result element i depends on operand elements i only; one shape for all
  commutative = 1 << 1,
  associative = 1 << 2,   // mathematically; floats still keep their order
  effect = 1 << 3,        // must survive and keep its place among effects
  collective = 1 << 4,    // talks to other devices
  data_movement = 1 << 5, // moves elements without computing
  leaf = 1 << 6,          // no operands by nature: parameter, constant, iota, partition-id…
  calls = 1 << 7,         // has called computations
};

// Who defines the op; decides its spelling in StableHLO text.
enum class Dialect : uint8_t { hlo, stablehlo, chlo, check, shape, sdy, interpreter };

enum class Op : uint16_t {
#define HLOC_OP(Name, hlo, stablehlo, min, max, attr, traits) Name,
#include "ir/ops.def"
#undef HLOC_OP
};

struct OpFacts {
  std::string_view name;       // the enumerator
  std::string_view hlo;        // HLO text, "" where HLO has no such op
  std::string_view stablehlo;  // "stablehlo.add", "chlo.erf", … "" where there is none
  int16_t min_operands;
  int16_t max_operands;        // -1: any number
  std::string_view attr;       // the attribute struct, "NoAttr" when there is none
  uint32_t traits;
};

std::span<const OpFacts> all_ops();
inline const OpFacts& facts(Op op) { return all_ops()[static_cast<size_t>(op)]; }
inline bool has(Op op, Trait trait) { return (facts(op).traits & trait) != 0; }
inline bool is_elementwise(Op op) { return has(op, elementwise); }
// The name for people: HLO's where there is one, StableHLO's else.
inline std::string_view name_of(Op op) { return facts(op).hlo.empty() ? facts(op).stablehlo : facts(op).hlo; }

// By text; nullptr when there is no such op. Names are looked up in a table sorted at compile time.
const Op* find_hlo_op(std::string_view name);
const Op* find_stablehlo_op(std::string_view qualified_name);

}  // namespace hloc::ir
