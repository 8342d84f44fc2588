// Checks and texts shared by the shape rules.
#include "ir/infer/site.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace hloc::ir::shapes {

std::string dim_text(Dim dim) {
  switch (dim.kind) {
    case Dim::fixed: return fmt::format("{}", dim.size);
    case Dim::bounded: return fmt::format("<={}", dim.size);
    case Dim::unknown: return "?";
  }
  HLOC_UNREACHABLE();
}

namespace {

constexpr size_t longest_shape_text = 400;  // what is wider is cut: nobody reads more in a message
constexpr size_t longest_list = 64;

void append_array_text(std::string& out, Type type) {
  if (type->quant)
    out += fmt::format("quantized<{}:{}>", name_of(type->quant->storage), name_of(type->quant->expressed));
  else
    out += name_of(type.element());
  out += '[';
  size_t shown = std::min(type.dims().size(), longest_list);
  for (size_t i = 0; i < shown; ++i) out += (i ? "," : "") + dim_text(type.dims()[i]);
  if (shown < type.dims().size()) out += ",...";
  out += ']';
}

struct ShapeTextStep {
  Type type;
  const char* text;
};

// The open parts of a type, last first: an explicit stack, because tuples may be nested deeply.
void push_parts(std::vector<ShapeTextStep>& todo, Type type, const char* open, const char* close) {
  todo.push_back({Type(), close});
  for (size_t i = type->elements.size(); i-- > 0;) {
    todo.push_back({type.element_type(i), nullptr});
    if (i > 0) todo.push_back({Type(), ", "});
  }
  todo.push_back({Type(), open});
}

}  // namespace

std::string shape_text(Type type) {
  if (!type) return "no type";
  std::string out;
  std::vector<ShapeTextStep> todo{{type, nullptr}};
  while (!todo.empty()) {
    auto [part, literal] = todo.back();
    todo.pop_back();
    if (out.size() > longest_shape_text) return out + "...";
    if (literal) {
      out += literal;
      continue;
    }
    switch (part.kind()) {
      case TypeKind::array: append_array_text(out, part); break;
      case TypeKind::tuple: push_parts(todo, part, "(", ")"); break;
      case TypeKind::token: out += "token[]"; break;
      case TypeKind::opaque: out += "opaque[]"; break;
      case TypeKind::buffer: push_parts(todo, part, "b(", ")"); break;
      case TypeKind::future: push_parts(todo, part, "future(", ")"); break;
    }
  }
  return out;
}

std::string list_text(std::span<const int64_t> list) {
  bool cut = list.size() > longest_list;
  return fmt::format("{{{}{}}}", fmt::join(cut ? list.first(longest_list) : list, ","), cut ? ",..." : "");
}

unsigned class_of(Type array) {
  if (array->quant) return class_float;
  ElementType t = array.element();
  if (t == ElementType::pred) return class_pred;
  if (is_signed_integer(t)) return class_signed;
  if (is_unsigned_integer(t)) return class_unsigned;
  if (is_float(t)) return class_float;
  return is_complex(t) ? unsigned{class_complex} : 0u;
}

std::string class_text(unsigned classes) {
  std::vector<std::string_view> names;
  if (classes & class_pred) names.push_back("pred");
  if ((classes & class_integer) == class_integer) names.push_back("integer");
  else if (classes & class_signed) names.push_back("signed integer");
  else if (classes & class_unsigned) names.push_back("unsigned integer");
  if (classes & class_float) names.push_back("float");
  if (classes & class_complex) names.push_back("complex");
  std::string out;
  for (size_t i = 0; i < names.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", names[i]);
  return out;
}

bool fits(Dim a, Dim b) { return a.kind == Dim::unknown || b.kind == Dim::unknown || a.size == b.size; }

Dim meet(Dim a, Dim b) {
  if (a.kind == Dim::unknown) return b;
  if (b.kind == Dim::unknown) return a;
  return a.kind == Dim::bounded ? a : b;
}

bool fits_dims(Type a, Type b) {
  return std::ranges::equal(a.dims(), b.dims(), [](Dim x, Dim y) { return fits(x, y); });
}

bool fits_element(Type a, Type b, Elements elements) {
  if (a->quant || b->quant)
    return a->quant && b->quant && a->quant->storage == b->quant->storage && a->quant->expressed == b->quant->expressed;
  return a.element() == b.element() ||
         (elements == Elements::any_float && is_float(a.element()) && is_float(b.element()));
}

bool fits(Type a, Type b, Elements elements) {
  if (a == b) return true;
  std::vector<std::pair<Type, Type>> todo{{a, b}};
  while (!todo.empty()) {
    auto [x, y] = todo.back();
    todo.pop_back();
    if (x == y) continue;
    if (x.kind() != y.kind() || x->elements.size() != y->elements.size()) return false;
    if (x.is_array() && !(fits_element(x, y, elements) && fits_dims(x, y))) return false;
    for (size_t i = 0; i < x->elements.size(); ++i) todo.emplace_back(x.element_type(i), y.element_type(i));
  }
  return true;
}

bool promotes(Type from, Type to) {
  if (fits_element(from, to, Elements::any_float)) return true;
  if (from->quant && to->quant)
    return from->quant->expressed == to->quant->expressed &&
           bit_width(from->quant->storage) <= bit_width(to->quant->storage);
  return class_of(from) == class_of(to) && !from->quant && !to->quant &&
         bit_width(from.element()) <= bit_width(to.element());
}

namespace {

// Where a float type stands: exponent of the first power of two that overflows, then bits of the significand.
std::pair<int, int> float_reach(ElementType t) {
  using enum ElementType;
  if (t == f64) return {1024, 53};
  if (t == f32) return {128, 24};
  if (t == bf16) return {128, 8};
  if (t == f8e8m0fnu) return {128, 1};
  if (t == f16) return {16, 11};
  if (t == f8e5m2 || t == f8e5m2fnuz) return {16, 3};
  if (t == f8e4m3fn) return {9, 4};
  if (t == f8e4m3 || t == f8e4m3fnuz) return {8, 4};
  if (t == f8e4m3b11fnuz) return {5, 4};
  if (t == f6e3m2fn) return {5, 3};
  if (t == f8e3m4) return {4, 5};
  if (t == f6e2m3fn) return {3, 4};
  if (t == f4e2m1fn) return {3, 2};
  return {std::numeric_limits<int>::min(), -1};
}

}  // namespace

ElementType wider_element(ElementType a, ElementType b) {
  auto key = [](ElementType t) { return std::tuple(is_complex(t), float_reach(t), bit_width(t), is_signed_integer(t)); };
  return key(a) < key(b) ? b : a;
}

Problem check_array(const Site& s, size_t operand) {
  Type t = s.operands[operand];
  if (t.is_array()) return {};
  return reject(s, "operand {} must be an array, but it is {}", operand, shape_text(t));
}

Problem check_arrays(const Site& s) {
  for (size_t i = 0; i < s.operands.size(); ++i)
    if (Problem p = check_array(s, i)) return p;
  return {};
}

Problem check_token(const Site& s, size_t operand) {
  Type t = s.operands[operand];
  if (t.is_token()) return {};
  return reject(s, "operand {} must be a token, but it is {}", operand, shape_text(t));
}

Problem check_class(const Site& s, size_t operand, unsigned classes) {
  if (Problem p = check_array(s, operand)) return p;
  if (class_of(s.operands[operand]) & classes) return {};
  return reject(s, "the element type of operand {} must be {}, but it is {}", operand, class_text(classes),
                shape_text(s.operands[operand]));
}

Problem check_scalar(const Site& s, size_t operand, unsigned classes) {
  if (Problem p = check_class(s, operand, classes)) return p;
  if (s.operands[operand].is_scalar()) return {};
  return reject(s, "operand {} must be a scalar, but it is {}", operand, shape_text(s.operands[operand]));
}

Problem check_same_dims(const Site& s, size_t a, size_t b) {
  Type x = s.operands[a], y = s.operands[b];
  if (x == y || fits_dims(x, y)) return {};
  if (s.operands.size() == 2)
    return reject(s, "the operands have different shapes: {} and {}", shape_text(x), shape_text(y));
  return reject(s, "operands {} and {} have different shapes: {} and {}", a, b, shape_text(x), shape_text(y));
}

Problem check_same_element(const Site& s, size_t a, size_t b) {
  Type x = s.operands[a], y = s.operands[b];
  if (x == y || fits_element(x, y)) return {};
  return reject(s, "operands {} and {} have different element types: {} and {}; convert one of them", a, b,
                shape_text(x), shape_text(y));
}

Problem check_rank_at_least(const Site& s, size_t operand, int64_t rank) {
  if (s.operands[operand].rank() >= rank) return {};
  return reject(s, "operand {} needs at least {} dimension{}, but it is {}", operand, rank, rank == 1 ? "" : "s",
                shape_text(s.operands[operand]));
}

Problem check_dim(const Site& s, std::string_view what, int64_t dim, int64_t rank) {
  if (dim >= 0 && dim < rank) return {};
  if (rank == 0) return reject(s, "{} {} is out of range: there are no dimensions", what, dim);
  return reject(s, "{} {} is out of range: it must be from 0 to {}", what, dim, rank - 1);
}

Problem check_dims(const Site& s, std::string_view what, std::span<const int64_t> dims, int64_t rank) {
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (int64_t d : dims) {
    if (d < 0 || d >= rank)
      return reject(s, "{}={} names dimension {}, but there {}", what, list_text(dims), d,
                    rank == 0   ? "are none"
                    : rank == 1 ? "is only dimension 0"
                                : fmt::format("are only dimensions 0 to {}", rank - 1));
    if (seen[static_cast<size_t>(d)]) return reject(s, "{}={} names dimension {} twice", what, list_text(dims), d);
    seen[static_cast<size_t>(d)] = true;
  }
  return {};
}

Problem check_sorted(const Site& s, std::string_view what, std::span<const int64_t> dims) {
  if (std::ranges::is_sorted(dims)) return {};
  return reject(s, "{}={} must be in ascending order", what, list_text(dims));
}

Problem check_disjoint(const Site& s, std::string_view what_a, std::span<const int64_t> a, std::string_view what_b,
                       std::span<const int64_t> b, int64_t rank) {
  std::vector<bool> seen = marks(static_cast<size_t>(rank), {a});
  for (int64_t d : b)
    if (seen[static_cast<size_t>(d)])
      return reject(s, "dimension {} is in both {}={} and {}={}", d, what_a, list_text(a), what_b, list_text(b));
  return {};
}

Problem check_one(const Site& s, std::string_view what, std::span<const int64_t> list) {
  if (list.size() == 1) return {};
  return reject(s, "{}={} must name exactly one dimension", what, list_text(list));
}

Problem check_length(const Site& s, std::string_view what, size_t length, int64_t rank) {
  if (static_cast<int64_t>(length) == rank) return {};
  return reject(s, "{} has {} entr{}, but there {} {} dimension{}", what, length, length == 1 ? "y" : "ies",
                rank == 1 ? "is" : "are", rank, rank == 1 ? "" : "s");
}

Problem check_declared_array(const Site& s) {
  if (!s.declared || s.declared.is_array()) return {};
  return reject(s, "the result must be an array, but it is declared {}", shape_text(s.declared));
}

Problem check_parameters(const Site& s, const Computation& callee, std::span<const Type> expected) {
  auto parameters = callee.parameters();
  if (parameters.size() != expected.size())
    return reject(s, "computation {} must take {} parameter{}, but it takes {}", callee.name(), expected.size(),
                  expected.size() == 1 ? "" : "s", parameters.size());
  for (size_t i = 0; i < expected.size(); ++i)
    if (!fits(parameters[i]->type, expected[i]))
      return reject(s, "parameter {} of computation {} must be {}, but it is {}", i, callee.name(),
                    shape_text(expected[i]), shape_text(parameters[i]->type));
  return {};
}

Problem check_callee_result(const Site& s, const Computation& callee, Type expected) {
  if (fits(callee.result_type(), expected)) return {};
  return reject(s, "computation {} must return {}, but it returns {}", callee.name(), shape_text(expected),
                shape_text(callee.result_type()));
}

namespace {

// The N scalars that a reducer returns.
Result<std::vector<Type>> accumulators(const Site& s, const Computation& callee, size_t n) {
  Type result = callee.result_type();
  std::vector<Type> out;
  if (result.is_tuple())
    for (size_t i = 0; i < result.tuple_size(); ++i) out.push_back(result.element_type(i));
  else
    out.push_back(result);
  bool good = out.size() == n;
  for (Type t : out) good = good && t.is_scalar();
  if (good) return out;
  return reject(s, "computation {} must return {}, but it returns {}", callee.name(),
                n == 1 ? std::string("a scalar") : fmt::format("a tuple of {} scalars", n), shape_text(result));
}

}  // namespace

Result<std::vector<Type>> check_reducer(const Site& s, const Computation& callee, std::span<const Type> inputs,
                                        std::span<const Type> inits) {
  size_t n = inputs.size();
  auto parameters = callee.parameters();
  if (parameters.size() != 2 * n)
    return reject(s, "computation {} must take {} scalars ({} accumulator{} and {} element{}), but it takes {} parameter{}",
                  callee.name(), 2 * n, n, n == 1 ? "" : "s", n, n == 1 ? "" : "s", parameters.size(),
                  parameters.size() == 1 ? "" : "s");
  auto scalars = accumulators(s, callee, n);
  if (!scalars) return scalars;
  for (size_t i = 0; i < 2 * n; ++i) {
    Type parameter = parameters[i]->type;
    Type accumulator = (*scalars)[i % n];
    if (!parameter.is_scalar())
      return reject(s, "parameter {} of computation {} must be a scalar, but it is {}", i, callee.name(),
                    shape_text(parameter));
    if (i < n && !fits_element(parameter, accumulator, Elements::any_float))
      return reject(s, "parameter {} of computation {} is {}, but the result that becomes it next time is {}", i,
                    callee.name(), shape_text(parameter), shape_text(accumulator));
    if (i >= n && !promotes(inputs[i - n], parameter))
      return reject(s, "parameter {} of computation {} is {}, but the elements that it gets are those of {}", i,
                    callee.name(), shape_text(parameter), shape_text(inputs[i - n]));
  }
  for (size_t i = 0; i < inits.size(); ++i)
    if (!promotes(inits[i], (*scalars)[i]))
      return reject(s, "the initial value {} does not agree with the {} that computation {} returns",
                    shape_text(inits[i]), shape_text((*scalars)[i]), callee.name());
  return scalars;
}

Type make_array(const Site& s, Type element_of, std::vector<Dim> dims) {
  return s.context.array(element_of.element(), std::move(dims), element_of->quant);
}

Type plain(const Site& s, Type type) {
  // The verifier ignores layouts, so it needs no new type.
  if (s.declared || !type.is_array() || type.layout().is_row_major()) return type;
  return make_array(s, type, dims_of(type));
}

Type one_or_tuple(const Site& s, std::span<const Type> types) {
  return types.size() == 1 ? types[0] : s.context.tuple(types);
}

Type part_at(Type type, const ShapeIndex& index) {
  for (int64_t i : index) {
    if (!type.is_tuple() || i < 0 || static_cast<uint64_t>(i) >= type.tuple_size()) return Type();
    type = type.element_type(static_cast<size_t>(i));
  }
  return type;
}

namespace {

// An operand that is pinned comes out as a buffer of it.
Type inside_buffer(Type type) { return type.kind() == TypeKind::buffer ? type.element_type(0) : type; }

}  // namespace

Problem check_aliases(const Site& s, std::span<const OperandAlias> aliases) {
  for (const OperandAlias& a : aliases) {
    if (a.operand < 0 || static_cast<uint64_t>(a.operand) >= s.operands.size())
      return reject(s, "output_to_operand_aliasing names operand {}, but there are {} operands", a.operand,
                    s.operands.size());
    Type operand = s.operands[static_cast<size_t>(a.operand)];
    Type in = part_at(operand, a.index);
    if (!in)
      return reject(s, "output_to_operand_aliasing: operand {} is {} and has no part {}", a.operand,
                    shape_text(operand), list_text(a.index));
    if (!s.declared) continue;
    Type out = part_at(s.declared, a.output);
    if (!out)
      return reject(s, "output_to_operand_aliasing: the result is {} and has no part {}", shape_text(s.declared),
                    list_text(a.output));
    if (!fits(inside_buffer(in), inside_buffer(out)))
      return reject(s, "output_to_operand_aliasing: result part {} is {}, but operand {} part {} is {}",
                    list_text(a.output), shape_text(out), a.operand, list_text(a.index), shape_text(in));
  }
  return {};
}

// size(dilate(x, d)) = x == 0 ? 0 : (x - 1) * d + 1;  result = floor((padded - window) / stride) + 1, or 0 when the
// window is larger than the padded input.
Result<Dim> window_result(const Site& s, size_t i, Dim input, const WindowDim& w) {
  for (auto [value, what] : {std::pair(w.size, "size"), std::pair(w.stride, "stride"),
                             std::pair(w.lhs_dilate, "lhs_dilate"), std::pair(w.rhs_dilate, "rhs_dilate")})
    if (value < 1) return reject(s, "window dimension {} has {}={}; it must be at least 1", i, what, value);
  Checked window = (Checked(w.size) - 1) * w.rhs_dilate + 1;
  if (!window.ok) return reject(s, "window dimension {}: the dilated window does not fit into 63 bits", i);
  if (input.kind == Dim::unknown) return Dim::any();
  Checked dilated = input.size == 0 ? Checked(0) : (Checked(input.size) - 1) * w.lhs_dilate + 1;
  Checked padded = dilated + w.pad_low + w.pad_high;
  if (!padded.ok) return reject(s, "window dimension {}: the padded input does not fit into 63 bits", i);
  if (padded.value < 0)
    return reject(s, "window dimension {}: padding {}_{} removes more than the {} elements that there are", i,
                  w.pad_low, w.pad_high, dilated.value);
  int64_t size = padded.value == 0 || window.value > padded.value ? 0 : (padded.value - window.value) / w.stride + 1;
  return input.kind == Dim::bounded ? Dim::at_most(size) : Dim::of(size);
}

}  // namespace hloc::ir::shapes
