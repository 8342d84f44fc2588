// chlo operations as formulas, shared between the files chlo*.cpp.
#pragma once

#include "ir/read/chlo_expr.h"

namespace hloc::ir::mlir {

// Special functions; the operands are f32 or f64.
Expr chlo_erfc(Expr x);
Expr chlo_erf_inv(Expr x);
Expr chlo_lgamma(Expr x);
Expr chlo_digamma(Expr x);
Expr chlo_bessel_i1e(Expr x);
Expr chlo_zeta(Expr x, Expr q);
Expr chlo_polygamma(Expr n, Expr x);
// Of any float type.
Expr chlo_next_after(Expr from, Expr to);

// next_after, zeta or polygamma, by the end of the name.
Expr chlo_binary(std::string_view name, Expr x, Expr y);

// chlo.broadcast_add and the like.
bool read_chlo_broadcast(PieceBuilder& b, const Operation& op);

}  // namespace hloc::ir::mlir
