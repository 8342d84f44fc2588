// Literals of HLO text: `5`, `{ {1, 2}, {3, 4} }`, `(1, {2, 3})`, `{...}`, for a type that is already known, and the form
// that names its types itself (`literal=(f32[] 1, s32[2]{0} {2, 3})`).
#pragma once

#include "ir/literal.h"
#include "ir/read/hlo_type.h"
#include "ir/read/lexer.h"

namespace hloc::ir {

bool read_literal(HloLexer& lexer, Type type, Literal& out);
// One element of a scalar type, which is not elided; as many bytes as the type has.
bool read_scalar(HloLexer& lexer, Type type, std::byte* out);
bool read_typed_literal(HloLexer& lexer, HloTypeReader& types, Context& context, Literal& out);

}  // namespace hloc::ir
