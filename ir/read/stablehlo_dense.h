// Elements of dense<…> attributes: text or a run of hexadecimal digits to a Literal.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"
#include "ir/read/stablehlo_tree.h"

namespace hloc::ir::mlir {

struct DenseError {
  const char* place = nullptr;  // in the source
  size_t length = 1;
  std::string message;
};

struct DenseValue {
  // A splat of more than one element is the one element, a scalar.
  Literal literal;
  bool is_splat = false;
};

// Nothing is allocated for a type's sizes before the text proves to hold as many elements.
bool decode_dense(Context& context, const Attribute& attribute, const Piece& piece, DenseValue& out, DenseError& error);

}  // namespace hloc::ir::mlir
