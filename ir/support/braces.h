// Text in braces: the JSON or MLIR of a backend_config, which HLO and StableHLO write in different ways.
#pragma once

#include <string_view>

namespace hloc::ir {

// Whether `text` begins with '{' and ends with the '}' that closes it, braces in strings not counted: HLO text can have it
// as it is.
bool is_braced(std::string_view text);

// Whether `text` is a dictionary whose values are numbers, strings, booleans, units, types, lists, dictionaries, symbols, or a
// word with something in angle brackets (array<i64: 1, 2>, dense<1> : tensor<4xi32>, #stablehlo<precision HIGH>). MLIR,
// "Language Reference", section Attributes.
bool is_mlir_dictionary(std::string_view text);

}  // namespace hloc::ir
