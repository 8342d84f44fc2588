// Shardings of HLO text, after `sharding=`: `{replicated}`, `{devices=[2,1]<=[2]}`, `{{manual}, {maximal device=0}}`,
// `{mesh['x'=2], [{'x'}]}`.
#pragma once

#include "ir/attr.h"
#include "ir/read/lexer.h"

namespace hloc::ir {

bool read_sharding(HloLexer& lexer, Sharding& out);

// `[2,4]<=[4,2]T(1,0)` after its first list was seen to start with '['. Checks that both sides have as many devices.
bool read_iota_tile(HloLexer& lexer, IotaTile& out);

// Numbers between `open` and `close`, separated by commas.
bool read_numbers(HloLexer& lexer, char open, char close, Ints& out, std::string_view what);

}  // namespace hloc::ir
