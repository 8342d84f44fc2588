// read_stablehlo: a file's pieces, each to a tree and then to a module.
#include <cstring>

#include "ir/read/read.h"
#include "ir/read/stablehlo_build.h"
#include "ir/read/stablehlo_parser.h"

namespace hloc::ir {
namespace {

// Where each piece begins and ends: lines that read `// -----` stand between them.
std::vector<std::pair<uint32_t, uint32_t>> pieces_of(std::string_view text) {
  constexpr std::string_view mark = "// -----";
  std::vector<std::pair<uint32_t, uint32_t>> out;
  size_t begin = 0, from = 0;
  while (true) {
    size_t at = text.find(mark, from);
    if (at == std::string_view::npos) break;
    size_t line_end = std::min(text.find('\n', at), text.size());
    size_t line_begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    bool alone = text.substr(line_begin, at - line_begin).find_first_not_of(" \t") == std::string_view::npos &&
                 text.substr(at + mark.size(), line_end - at - mark.size()).find_first_not_of("- \t\r") == std::string_view::npos;
    if (alone) {
      out.emplace_back(static_cast<uint32_t>(begin), static_cast<uint32_t>(line_begin));
      begin = line_end;
    }
    from = line_end;
  }
  out.emplace_back(static_cast<uint32_t>(begin), static_cast<uint32_t>(text.size()));
  return out;
}

}  // namespace

Result<std::vector<ModuleRef>> read_stablehlo(SourceRef source, ContextRef context) {
  if (source->text.size() >= UINT32_MAX) return error(ErrorKind::input, source->file + ": the text is larger than 4 GiB; write large constants as bytecode");
  context->keep(source);
  std::vector<ModuleRef> modules;
  for (auto [begin, end] : pieces_of(source->text)) {
    mlir::Piece piece;
    mlir::Parser parser(*source, *context, begin, end);
    if (!parser.parse_piece(piece)) return parser.take_error();
    if (piece.functions.empty() && piece.name.empty() && piece.attributes.empty() && piece.others.empty()) continue;
    mlir::PieceBuilder builder(source, context, piece);
    ModuleRef module = builder.build();
    if (!module) return builder.take_error();
    modules.push_back(std::move(module));
  }
  if (modules.empty()) return error_at(*source, {0, 0}, "the text holds no function; expected 'module @name { … }' or 'func.func @main(…) { … }'");
  return modules;
}

}  // namespace hloc::ir
