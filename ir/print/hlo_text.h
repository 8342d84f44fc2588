// Pieces of HLO text that several printers share: types, literals, quoted strings, names.
#pragma once

#include <string>
#include <string_view>

#include "ir/literal.h"
#include "ir/type.h"

namespace hloc::ir {

void append_type(std::string& out, Type type);
void append_integer(std::string& out, int64_t value);
// The value alone; its type is known from elsewhere. More than `elide_above` elements become {...}.
void append_literal(std::string& out, const Literal& literal, int64_t elide_above);
// With types: `s32[2]{0} {1, 2}`, `(f32[] 1, s32[] 2)`.
void append_typed_literal(std::string& out, const Literal& literal, int64_t elide_above);
// "…" with the escapes that HLO text needs.
void append_quoted(std::string& out, std::string_view text);

// Whether HLO text can use the name as it is: its letters, and no word that means something else.
enum class HloNameKind : uint8_t { plain, keyword, type_name, illegal };
HloNameKind classify_name(std::string_view name);
// The name as it stands in text: with '%' before a keyword or the name of a type; letters that may not stand in it become
// '_', so that it may be no longer unique.
std::string legal_name(std::string_view name);

}  // namespace hloc::ir
