#include "backends/loops/rename.h"

#include "backends/loops/walk.h"

namespace hloc::loops {

Affine replaced(const Affine& affine, IndexId from, const Affine& to) {
  int64_t c = affine.coefficient(from);
  if (c == 0) return affine;
  Affine out = affine;
  std::erase_if(out.terms, [from](const Term& t) { return t.index == from; });
  return out += to * c;
}

void replace_index(Kernel& kernel, Block& block, IndexId from, const Affine& to) {
  auto replace = [&](Affine& a) { a = replaced(a, from, to); };
  for_each_statement(block, [&](Statement& s) {
    for_each_affine(s, replace);
    if (auto* derive = s.as<Derive>()) replace(kernel.indices[derive->index].of);
  });
}

void replace_values(Kernel& kernel, Block& block, const ValueMap& map) {
  auto now = [&map](ValueId& v) {
    if (auto it = map.find(v); it != map.end()) v = it->second;
  };
  for_each_statement(block, [&](Statement& s) {
    for_each_value_slot(s, now);
    if (auto* derive = s.as<Derive>()) now(kernel.indices[derive->index].value);
  });
}

}  // namespace hloc::loops
