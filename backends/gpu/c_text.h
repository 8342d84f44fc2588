// Types, constants and scalar operations as C.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "backends/loops/loops.h"

namespace hloc::gpu {

// "float", "signed char"; f16 and bf16 are structs of helpers.cpp.
std::string_view c_type(ElementType type);
std::string c_constant(ElementType type, uint64_t bits);

// The operation on these operands, all of type `operand` (Select: but the first), as one expression.
std::string c_expression(const loops::Compute& c, ElementType operand, ElementType result, const std::array<std::string, 3>& args);

// a op b for an accumulating op.
std::string c_combination(loops::ScalarOp op, ElementType type, const std::string& a, const std::string& b);

// Letters, digits and underscores of a name; never empty, no leading digit, no word of C.
std::string c_name(std::string_view name);

// Those functions of the common prelude that the text uses, with what they use.
std::string helper_functions(std::string_view text);
bool is_helper_function(std::string_view name);

}  // namespace hloc::gpu
