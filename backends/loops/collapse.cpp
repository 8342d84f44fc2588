// Merging nested loops into longer ones: x[16*i0 + i1] for i0 in 4, i1 in 16 is x[i] for i in 64.
#include <functional>

#include "backends/loops/schedule.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

// Calls f(affine) for all maps in the blocks, also those of the derived indices that they make.
template <class F>
void for_each_map(Kernel& kernel, std::span<Block* const> blocks, F&& f) {
  for (Block* block : blocks)
    for_each_statement(*block, [&](Statement& s) {
      for_each_affine(s, f);
      if (auto* derive = s.as<Derive>()) f(kernel.indices[derive->index].of);
    });
}

bool may_collapse(Kernel& kernel, std::span<Block* const> blocks, IndexId outer, IndexId inner, int64_t inner_extent) {
  bool fits = true;
  for_each_map(kernel, blocks, [&](const Affine& a) { fits &= a.coefficient(outer) == a.coefficient(inner) * inner_extent; });
  return fits;
}

// inner takes the place of outer * extent + inner.
void remove_outer(Kernel& kernel, std::span<Block* const> blocks, IndexId outer, IndexId inner, int64_t extent) {
  for_each_map(kernel, blocks, [outer](Affine& a) { std::erase_if(a.terms, [outer](const Term& t) { return t.index == outer; }); });
  kernel.indices[inner].range = {0, extent - 1};
}

void collapse_nest(Kernel& kernel, Loop& loop) {
  while (loop.body.size() == 1) {
    auto* inner = loop.body[0].as<Loop>();
    Block* blocks[] = {inner ? &inner->body : nullptr};
    if (!inner || inner->kind != loop.kind || inner->grain != loop.grain) return;
    if (inner->go_on != no_id || loop.go_on != no_id) return;
    if (!may_collapse(kernel, blocks, loop.index, inner->index, inner->extent)) return;
    remove_outer(kernel, blocks, loop.index, inner->index, loop.extent * inner->extent);
    Loop merged{inner->index, loop.extent * inner->extent, loop.kind, loop.grain, std::move(inner->body), no_id};
    loop = std::move(merged);
  }
}

void collapse_contract(Kernel& kernel, Contract& c) {
  Block* blocks[] = {&c.lhs, &c.rhs, &c.epilogue};
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < c.dims.size() && !changed; ++i) {
      for (size_t j = 0; j < c.dims.size() && !changed; ++j) {
        ContractDim outer = c.dims[i], &inner = c.dims[j];
        if (i == j || outer.role != inner.role) continue;
        if (!may_collapse(kernel, blocks, outer.index, inner.index, inner.extent)) continue;
        inner.extent *= outer.extent;
        remove_outer(kernel, blocks, outer.index, inner.index, inner.extent);
        c.dims.erase(c.dims.begin() + static_cast<std::ptrdiff_t>(i));
        changed = true;
      }
    }
  }
}

void collapse_in(Kernel& kernel, Block& block) {
  for (Statement& s : block) {
    for_each_block(s, [&](Block& inner) { collapse_in(kernel, inner); });
    if (auto* loop = s.as<Loop>()) collapse_nest(kernel, *loop);
    if (auto* contract = s.as<Contract>()) collapse_contract(kernel, *contract);
  }
}

}  // namespace

void collapse_loops(Kernel& kernel) { collapse_in(kernel, kernel.body); }

}  // namespace hloc::loops
