// Rules of conversions between element types.
#pragma once

#include "passes/rewrite/algebra.h"

namespace hloc::passes::rules {

// Every value of `from` is a value of `to`.
inline bool holds_all(ElementType to, ElementType from) {
  if (from == to) return true;
  if (is_float(to)) {
    FloatRange wide = float_range(to);
    if (!wide.ieee) return false;
    if (from == ElementType::pred) return true;
    if (is_integer(from)) {
      int bits = bit_width(from) - (is_signed_integer(from) ? 1 : 0);
      return bits <= wide.bits && bit_width(from) <= wide.highest;
    }
    if (!is_float(from)) return false;
    FloatRange narrow = float_range(from);
    return narrow.bits <= wide.bits && narrow.highest <= wide.highest && narrow.lowest >= wide.lowest;
  }
  if (is_integer(to)) {
    if (from == ElementType::pred) return bit_width(to) > 1 || is_unsigned_integer(to);
    if (!is_integer(from)) return false;
    if (is_signed_integer(from) == is_signed_integer(to)) return bit_width(from) <= bit_width(to);
    return is_signed_integer(to) && bit_width(from) < bit_width(to);
  }
  return to == ElementType::c128 && from == ElementType::c64;
}

// The value between loses nothing that the result needs: it holds every value of x, or all are integers and it has at
// least the result's bits. A float between integers must not saturate what would wrap.
inline bool middle_is_lossless(const Match& m) {
  ElementType from = m[x]->type.element(), middle = m[p]->type.element(), to = m.root->type.element();
  if (is_float(middle) && !is_float(from) && is_integer(to)) return holds_all(middle, from) && holds_all(to, from);
  if (holds_all(middle, from)) return true;
  return is_integer(from) && is_integer(middle) && is_integer(to) && bit_width(middle) >= bit_width(to);
}

inline bool one_width(const Match& m) {
  int width = bit_width(m.root->type.element());
  return bit_width(m[x]->type.element()) == width && bit_width(m[p]->type.element()) == width;
}

// reduce-precision to what the type has anyway.
inline bool keeps_precision(const Match& m) {
  const auto& attr = m[p]->as<ir::ReducePrecisionAttr>();
  FloatRange range = float_range(m[x]->type.element());
  int64_t exponent_bits = 1;
  while ((int64_t{1} << (exponent_bits - 1)) <= range.highest) ++exponent_bits;
  return range.ieee && attr.mantissa_bits >= range.bits - 1 && attr.exponent_bits >= exponent_bits;
}

inline constexpr Rule conversion[] = {
    {"convert-same", convert(x), x},
    {"convert-convert", convert(convert(x, p)), convert(x), Condition{"the type between loses nothing", middle_is_lossless}},
    {"bitcast-convert-same", bitcast_convert(x), x},
    {"bitcast-convert-twice", bitcast_convert(bitcast_convert(x, p)), bitcast_convert(x),
     Condition{"all three types have one width", one_width}},
    {"reduce-precision-none", reduce_precision(x, p), x, Condition{"the type has no more bits", keeps_precision}},
    {"copy-same", copy(x), x},
    {"bitcast-same", bitcast(x), x},
};

}  // namespace hloc::passes::rules
