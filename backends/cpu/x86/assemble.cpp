// All steps from machine IR to an object, and what its symbols refer to.
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "backends/cpu/x86/emitter.h"

namespace hloc::x86 {

using machine::ObjectCode;
using machine::Relocation;

namespace {

struct FreeAligned {
  void operator()(void* p) const { std::free(p); }
};

Result<void> prepare(Function& f, machine::Allocation& allocation, const Features& features) {
  if (Result<void> ok = machine::verify(f); !ok) return ok;
  machine::drop_unreachable_blocks(f);
  if (Result<void> ok = legalise(f, features); !ok) return ok;
  fold_operands(f, features);
  Result<machine::Allocation> a = machine::allocate(f, target_regs(features));
  if (!a) return a.error();
  allocation = std::move(*a);
  return {};
}

size_t code_estimate(const std::vector<Function>& functions) {
  size_t insts = 0;
  for (const Function& f : functions) {
    insts += 64;
    for (const machine::Block& b : f.blocks) insts += b.insts.size() + 1;
  }
  return insts * 16 + 4096;
}

// Distances between functions of the same text are known now.
void settle_local_calls(ObjectCode& out) {
  std::erase_if(out.relocations, [&](const Relocation& r) {
    if (r.target != Relocation::Target::function) return false;
    uint64_t target = out.functions[r.index].offset + static_cast<uint64_t>(r.addend);
    auto distance = static_cast<uint32_t>(target - r.offset);
    std::memcpy(out.text.data() + r.offset, &distance, sizeof distance);
    return true;
  });
}

// One try with a buffer of `size` bytes; false if it was too small.
bool emit_all(const std::vector<Function>& functions, const std::vector<machine::Allocation>& allocations,
              const Features& features, bool listing, size_t size, machine::SymbolTable& symbols, ObjectCode& out) {
  size = (size + 63) / 64 * 64;
  std::unique_ptr<void, FreeAligned> buffer(std::aligned_alloc(64, size));
  if (!buffer) throw std::bad_alloc();
  try {
    Emitter emitter(buffer.get(), size, features, out);
    for (size_t n = 0; n < functions.size(); n++) {
      size_t first = out.relocations.size();
      emitter.function(functions[n], allocations[n], listing);
      for (size_t r = first; r < out.relocations.size(); r++) {
        Relocation& relocation = out.relocations[r];
        if (relocation.target != Relocation::Target::external) continue;
        symbols.resolve(relocation, functions[n].symbols[relocation.index], out);
      }
    }
    const auto* code = reinterpret_cast<const std::byte*>(emitter.getCode());
    out.text.assign(code, code + emitter.getSize());
    settle_local_calls(out);
    return true;
  } catch (const Xbyak::Error& e) {
    HLOC_CHECK(static_cast<int>(e) == Xbyak::ERR_CODE_IS_TOO_BIG, std::string("the encoder refused an instruction: ") + e.what());
    return false;
  }
}

}  // namespace

Result<ObjectCode> assemble(std::vector<Function> functions, const Features& features, const AssembleOptions& options) {
  std::vector<machine::Allocation> allocations(functions.size());
  for (size_t n = 0; n < functions.size(); n++) {
    if (Result<void> ok = prepare(functions[n], allocations[n], features); !ok) return ok.error();
  }
  for (size_t size = code_estimate(functions);; size *= 2) {
    ObjectCode out;
    out.isa = machine::Isa::x86_64;
    out.data = options.data;
    out.exported = options.exported;
    machine::SymbolTable symbols(functions, options.data);
    if (emit_all(functions, allocations, features, options.listing, size, symbols, out)) return out;
  }
}

}  // namespace hloc::x86
