// One element of a literal as text, both ways; used by every reader and printer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/literal.h"

namespace hloc::ir {

// Appends the shortest decimal text that reads back to the same bits ("1", "-0", "0.1", "inf", "nan", "nan(0x400001)",
// "true", "(1, -2.5)" for complex). `bytes` points at one element.
void append_element(std::string& out, ElementType element, const std::byte* bytes);

enum class ElementError : uint8_t { none, not_a_number, out_of_range };

// Reads one real number ("5", "-2.5e3", "inf", "-nan", "nan(0x1)", "true") as `element` (not complex: call once for each
// part with f32 or f64), rounding to nearest even once, and stores it at `out`. Out of the element's finite range after
// rounding, or an integer that does not fit, is `out_of_range`.
ElementError parse_element(std::string_view text, ElementType element, std::byte* out);

}  // namespace hloc::ir
