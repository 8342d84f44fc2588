// Readers: text to Module, as written: nothing is dropped, merged or reordered.
#pragma once

#include <vector>

#include "include/hloc/result.h"
#include "ir/graph.h"

namespace hloc::ir {

// What a file is, told by its content.
enum class FileKind : uint8_t { hlo_text, stablehlo_text, stablehlo_bytecode, hlo_proto, unknown };
FileKind file_kind(std::string_view bytes);

// HLO text (the grammar of XLA's parser). Errors point into the source.
Result<ModuleRef> read_hlo(SourceRef source, ContextRef context);

// StableHLO text. A file holds pieces separated by `// -----` lines; one Module each. Each module's entry is its public
// function `main`, else its only public function, else its last function. `chlo` ops that HLO cannot say are decomposed.
Result<std::vector<ModuleRef>> read_stablehlo(SourceRef source, ContextRef context);

}  // namespace hloc::ir
