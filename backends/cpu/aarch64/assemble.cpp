// All steps from machine IR to an object.
#include "backends/cpu/aarch64/emitter.h"

namespace hloc::aarch64 {

using machine::ObjectCode;
using machine::Relocation;

namespace {

Result<void> prepare(Function& f, machine::Allocation& allocation) {
  if (Result<void> ok = machine::verify(f); !ok) return ok;
  machine::drop_unreachable_blocks(f);
  if (Result<void> ok = legalise(f); !ok) return ok;
  Result<machine::Allocation> a = machine::allocate(f, target_regs());
  if (!a) return a.error();
  allocation = std::move(*a);
  return {};
}

// Distances between functions of the same text are known now.
void settle_local_calls(ObjectCode& out) {
  std::erase_if(out.relocations, [&](const Relocation& r) {
    if (r.target != Relocation::Target::function || r.kind != Relocation::Kind::call) return false;
    return machine::apply_relocation(out.isa, r.kind, out.text.data() + r.offset, r.offset, out.functions[r.index].offset);
  });
}

}  // namespace

Result<ObjectCode> assemble(std::vector<Function> functions, const machine::AssembleOptions& options) {
  ObjectCode out;
  out.isa = machine::Isa::aarch64;
  out.data = options.data;
  out.exported = options.exported;
  machine::SymbolTable symbols(functions, options.data);
  Emitter emitter(out);
  for (Function& f : functions) {
    machine::Allocation allocation;
    if (Result<void> ok = prepare(f, allocation); !ok) return ok.error();
    size_t first = out.relocations.size();
    emitter.function(f, allocation, options.listing);
    for (size_t r = first; r < out.relocations.size(); r++) {
      if (out.relocations[r].target != Relocation::Target::external) continue;
      symbols.resolve(out.relocations[r], f.symbols[out.relocations[r].index], out);
    }
  }
  settle_local_calls(out);
  return out;
}

}  // namespace hloc::aarch64
