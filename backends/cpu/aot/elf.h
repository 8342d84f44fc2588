// ELF64 relocatable objects (System V ABI, `gABI` chapter 4 and the x86-64 psABI), as linkers take them.
#pragma once

#include <cstddef>
#include <vector>

#include "backends/cpu/machine/object.h"

namespace hloc::aot {

// Sections .text, .rodata (pool and named data), .symtab, .strtab, .shstrtab, .rela.text, .note.GNU-stack. Functions in
// `code.exported` are global, all other symbols local. Position independent. An object that refers to anything outside
// is refused: it could not be linked without a runtime library.
Result<std::vector<std::byte>> write_elf(const machine::ObjectCode& code);

}  // namespace hloc::aot
