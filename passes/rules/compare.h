// Rules of comparisons and choices.
#pragma once

#include "passes/rewrite/algebra.h"

namespace hloc::passes::rules {

inline bool is_exact_element(ir::Value v) { return !is_float(v->type.element()) && !is_complex(v->type.element()); }

inline const ir::CompareAttr& comparison(ir::Value v) { return v->as<ir::CompareAttr>(); }

// What the comparison of a value with itself gives; NaN is neither equal nor ordered.
inline bool holds_for_equals(const Match& m) {
  ir::Direction d = comparison(m[p]).direction;
  return is_exact_element(m[x]) && (d == ir::Direction::EQ || d == ir::Direction::GE || d == ir::Direction::LE);
}
inline bool fails_for_equals(const Match& m) {
  ir::Direction d = comparison(m[p]).direction;
  return is_exact_element(m[x]) && (d == ir::Direction::NE || d == ir::Direction::GT || d == ir::Direction::LT);
}

// a < b is b > a.
inline std::optional<ir::Attr> flipped(const Match&, ir::Value compare, ir::Value) {
  ir::CompareAttr attr = comparison(compare);
  switch (attr.direction) {
    case ir::Direction::EQ:
    case ir::Direction::NE: break;
    case ir::Direction::GE: attr.direction = ir::Direction::LE; break;
    case ir::Direction::GT: attr.direction = ir::Direction::LT; break;
    case ir::Direction::LE: attr.direction = ir::Direction::GE; break;
    case ir::Direction::LT: attr.direction = ir::Direction::GT; break;
  }
  return attr;
}

// not (a < b) is a >= b, but not where a or b may be NaN.
inline std::optional<ir::Attr> inverted(const Match&, ir::Value compare, ir::Value) {
  ir::CompareAttr attr = comparison(compare);
  switch (attr.direction) {
    case ir::Direction::EQ: attr.direction = ir::Direction::NE; break;
    case ir::Direction::NE: attr.direction = ir::Direction::EQ; break;
    case ir::Direction::GE: attr.direction = ir::Direction::LT; break;
    case ir::Direction::GT: attr.direction = ir::Direction::LE; break;
    case ir::Direction::LE: attr.direction = ir::Direction::GT; break;
    case ir::Direction::LT: attr.direction = ir::Direction::GE; break;
  }
  return attr;
}
inline bool has_inverse(const Match& m) {
  const ir::CompareAttr& attr = comparison(m[p]);
  return is_exact_element(m[x]) || attr.type == ir::CompareType::TOTALORDER || attr.direction == ir::Direction::EQ ||
         attr.direction == ir::Direction::NE;
}

inline bool only_left_is_constant(const Match& m) { return uniform_bytes(m[y]).empty(); }
inline bool converts_pred(const Match& m) { return m[x]->type.element() == ElementType::pred; }
inline bool selects_whole_arrays(const Match& m) {
  return m.root->type.element() != ElementType::pred && m[x]->type.rank() == m.root->type.rank();
}

inline constexpr Rule comparison_rules[] = {
    {"compare-self-true", compare(x, x, p), 1, Condition{"the direction of p is EQ, GE or LE and x is no float", holds_for_equals}},
    {"compare-self-false", compare(x, x, p), 0, Condition{"the direction of p is NE, GT or LT and x is no float", fails_for_equals}},
    {"compare-constant-left", compare(c, y, p), compare(y, c, computed("flip", flipped, p)),
     Condition{"y is no constant", only_left_is_constant}},
    {"compare-eq-true", eq(x, 1), x, Valid::pred},
    {"compare-ne-false", ne(x, 0), x, Valid::pred},
    {"compare-eq-false", eq(x, 0), !x, Valid::pred},
    {"compare-ne-true", ne(x, 1), !x, Valid::pred},
    {"compare-converted-ne", ne(convert(x), 0), x, Condition{"x is pred", converts_pred}},
    {"compare-converted-eq", eq(convert(x), 0), !x, Condition{"x is pred", converts_pred}},
    {"not-compare", !compare(x, y, p), compare(x, y, computed("invert", inverted, p)),
     Condition{"x is no float, or p is EQ, NE or TOTALORDER", has_inverse}},
};

inline constexpr Rule choice[] = {
    {"select-same", select(z, x, x), x},
    {"select-true", select(1, x, y), x},
    {"select-false", select(0, x, y), y},
    {"select-not", select(!z, x, y), select(z, y, x)},
    {"select-bool", select(x, 1, 0), x, Valid::pred},
    {"select-not-bool", select(x, 0, 1), !x, Valid::pred},
    {"select-to-convert", select(x, 1, 0), convert(x), Condition{"the result is no pred", selects_whole_arrays}},
    {"select-select-true", select(z, select(z, x, y), w), select(z, x, w)},
    {"select-select-false", select(z, x, select(z, y, w)), select(z, x, w)},
};

}  // namespace hloc::passes::rules
