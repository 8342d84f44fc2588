// The C header beside an object file.
#pragma once

#include <string>
#include <string_view>

#include "ir/target.h"
#include "passes/plan.h"

namespace hloc::cpu {

// C11 and C++: the entry's declaration, hloc_context, shapes, sizes and alignments as constants, aliasing as comments.
std::string c_header(const plan::Program& program, const ir::Target& target, std::string_view abi, std::string_view symbol,
                     int64_t scratch_bytes);

}  // namespace hloc::cpu
