// Pretty forms of operations: what may stand between an op's name and its type, and how it says the generic attributes.
#pragma once

#include <string>
#include <string_view>

#include "ir/read/stablehlo_tree.h"

namespace hloc::ir::mlir {

class Parser;

// Whether `name` ("stablehlo.add") is an op that can be read.
bool known_operation(std::string_view name);
// The full name of an op as written ("return" is "func.return"), or "" when it is unknown. Views `word` or a literal.
std::string_view qualified_operation(std::string_view word);
// The message for an op that is not known.
std::string unknown_operation(std::string_view word);

// After the op's name: operands, attributes, regions and the type, up to a location.
bool parse_pretty(Parser& p, Operation& op);

// Forms that need a function of their own; nullptr when the table says it all.
using SpecialForm = bool (*)(Parser&, Operation&);
SpecialForm special_form(std::string_view name);

// Pieces that forms share.
bool parse_operands(Parser& p, Operation& op);            // %a, %b (possibly none)
bool parse_function_signature(Parser& p, Operation& op);  // `: (T) -> R`, checked against the operands
bool parse_key(Parser& p, std::string_view word);         // `word =`
bool parse_ints(Parser& p, Ints& out);                    // [1, 2]
void add_attribute(Operation& op, std::string_view name, Attribute value);

}  // namespace hloc::ir::mlir
