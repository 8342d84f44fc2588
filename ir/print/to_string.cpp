// Types, literals and single instructions as text.
#include "ir/print/hlo_printer.h"
#include "ir/print/hlo_text.h"

namespace hloc::ir {

std::string to_string(Type type) {
  std::string out;
  if (type) append_type(out, type);
  return out;
}

std::string to_string(const Literal& literal, int64_t elide_above) {
  std::string out;
  append_literal(out, literal, elide_above);
  return out;
}

std::string to_string(const Computation& computation, Value v, const PrintOptions& options) {
  HloPrinter printer(options);
  printer.instruction(computation, v);
  return std::move(printer.out());
}

}  // namespace hloc::ir
