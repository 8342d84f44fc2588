// What a shape rule sees, and the checks and texts that the rules share.
//
// A rule is one function `Result<Type> infer_<family>(const Site&)`. It checks operands and attributes and returns the
// type of the result, or no type where the operands do not say it. The verifier calls the same rules with `declared`
// set; a rule that returns no type has then checked the declared one itself.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "include/hloc/result.h"
#include "ir/graph.h"
#include "ir/support/source.h"

namespace hloc::ir::shapes {

struct Site {
  Context& context;
  Op op;
  std::span<const Type> operands;
  const Attr& attr;
  std::span<const Computation* const> callees;
  Type declared;  // what the program says; no type when asked for what it must be

  template <class A>
  const A& as() const {
    return get<A>(attr);
  }
};

// An error, or nothing.
using Problem = std::optional<Diagnostic>;

// "<op>: <message>", without a place.
template <class... T>
Diagnostic reject(const Site& s, fmt::format_string<T...> format, T&&... args) {
  return error(ErrorKind::input,
               fmt::format("{}: {}", name_of(s.op), fmt::format(format, std::forward<T>(args)...)));
}

// Texts for messages; shapes without layouts.
std::string shape_text(Type type);                   // f32[2,<=3,?], (f32[], token[])
std::string dim_text(Dim dim);                       // 2, <=3, ?
std::string list_text(std::span<const int64_t> list);  // {0,1}

// Classes of element types, or-ed together where an op admits several. A quantised type counts as what it expresses.
enum ElementClass : unsigned {
  class_pred = 1,
  class_signed = 2,
  class_unsigned = 4,
  class_float = 8,
  class_complex = 16,
  class_integer = class_signed | class_unsigned,
  class_any = 31,
};
unsigned class_of(Type array);
std::string class_text(unsigned classes);  // "a float or complex"

// Two dimensions fit when some run-time size can be both; XLA keeps bounds and sizes equal, and so do we.
bool fits(Dim a, Dim b);
Dim meet(Dim a, Dim b);  // of two that fit: what is known about both
bool fits_dims(Type a, Type b);

// How element types are compared: equal (quantisation parameters aside), or any two float types.
enum class Elements : uint8_t { equal, any_float };
bool fits_element(Type a, Type b, Elements elements = Elements::equal);
// Same structure, dimensions that fit, element types as asked; layouts are ignored.
bool fits(Type a, Type b, Elements elements = Elements::equal);
// Whether a value of `from` may be widened to `to` on its way into a reducer: one class, no narrower; or two floats.
bool promotes(Type from, Type to);
// The element type that XLA computes in when two meet: more range, then more precision, then more bits.
ElementType wider_element(ElementType a, ElementType b);

// Sizes in arithmetic that must not overflow: once `ok` is false it stays so.
struct Checked {
  int64_t value = 0;
  bool ok = true;

  Checked(int64_t v) : value(v) {}
  friend Checked operator+(Checked a, Checked b) {
    Checked r(0);
    r.ok = !__builtin_add_overflow(a.value, b.value, &r.value) && a.ok && b.ok;
    return r;
  }
  friend Checked operator-(Checked a, Checked b) {
    Checked r(0);
    r.ok = !__builtin_sub_overflow(a.value, b.value, &r.value) && a.ok && b.ok;
    return r;
  }
  friend Checked operator*(Checked a, Checked b) {
    Checked r(0);
    r.ok = !__builtin_mul_overflow(a.value, b.value, &r.value) && a.ok && b.ok;
    return r;
  }
};

// Checks. `what` names the thing in the message.
Problem check_array(const Site& s, size_t operand);
Problem check_arrays(const Site& s);  // every operand is an array
Problem check_token(const Site& s, size_t operand);
Problem check_class(const Site& s, size_t operand, unsigned classes);
Problem check_scalar(const Site& s, size_t operand, unsigned classes);
Problem check_same_dims(const Site& s, size_t a, size_t b);
Problem check_same_element(const Site& s, size_t a, size_t b);
Problem check_rank_at_least(const Site& s, size_t operand, int64_t rank);
Problem check_dim(const Site& s, std::string_view what, int64_t dim, int64_t rank);
// All in [0, rank) and none twice.
Problem check_dims(const Site& s, std::string_view what, std::span<const int64_t> dims, int64_t rank);
Problem check_sorted(const Site& s, std::string_view what, std::span<const int64_t> dims);
Problem check_disjoint(const Site& s, std::string_view what_a, std::span<const int64_t> a, std::string_view what_b,
                       std::span<const int64_t> b, int64_t rank);
Problem check_one(const Site& s, std::string_view what, std::span<const int64_t> list);  // exactly one entry
Problem check_length(const Site& s, std::string_view what, size_t length, int64_t rank);
Problem check_declared_array(const Site& s);  // where there is a declared type

// The called computation takes exactly these parameters.
Problem check_parameters(const Site& s, const Computation& callee, std::span<const Type> expected);
Problem check_callee_result(const Site& s, const Computation& callee, Type expected);

// A reducer for N inputs takes N accumulators and N elements, all scalars, and returns N accumulators. The scalar types
// of the accumulators. `inits` may be empty.
Result<std::vector<Type>> check_reducer(const Site& s, const Computation& callee, std::span<const Type> inputs,
                                        std::span<const Type> inits);

// Builds types with the row-major layout.
Type make_array(const Site& s, Type element_of, std::vector<Dim> dims);  // element and quantisation of `element_of`
Type plain(const Site& s, Type type);             // the same array, row-major; other types as they are
Type one_or_tuple(const Site& s, std::span<const Type> types);  // one: itself; else a tuple
inline std::vector<Dim> dims_of(Type type) { return {type.dims().begin(), type.dims().end()}; }

inline bool contains(std::span<const int64_t> list, int64_t value) {
  for (int64_t v : list)
    if (v == value) return true;
  return false;
}

// Which of the numbers 0 to n-1 are in the lists; all of them must be in range.
inline std::vector<bool> marks(size_t n, std::initializer_list<std::span<const int64_t>> lists) {
  std::vector<bool> out(n);
  for (std::span<const int64_t> list : lists)
    for (int64_t v : list) out[static_cast<size_t>(v)] = true;
  return out;
}

// The part of a type at a path through tuples; no type when there is none.
Type part_at(Type type, const ShapeIndex& index);

// The declared types of operands that share buffers with results: paths exist and shapes agree.
Problem check_aliases(const Site& s, std::span<const OperandAlias> aliases);

// The size of a dimension that a window slides over.
Result<Dim> window_result(const Site& s, size_t i, Dim input, const WindowDim& window);

}  // namespace hloc::ir::shapes
