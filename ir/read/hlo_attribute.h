// Finds and reads attributes by name, from the rows of ir/hlo_attributes.def.
#pragma once

#include <span>

#include "ir/read/hlo_forms.h"

namespace hloc::ir {

struct HloAttributeRow {
  std::string_view name;
  HloPresence presence;
  const HloOps* ops;
  size_t attr;  // the struct's position in the variant
  bool (*read)(HloParts& parts, Attr& attr);
};

// The rows that an op may have; at most 32.
std::span<const HloAttributeRow* const> hlo_rows(Op op);

bool read_metadata(HloParts& parts, Metadata& out);
// One attribute of the module header, whose name was read: `parts.attribute`.
bool read_module_attribute(HloParts& parts, ModuleConfig& out);

}  // namespace hloc::ir
