#include "ir/attr.h"

#include <bit>
#include <type_traits>

#include "ir/support/hash.h"

namespace hloc::ir {
namespace {

// One hash over whatever an attribute struct is made of: numbers, strings, lists, options, nested structs.
struct AttrHasher {
  uint64_t h = 0;

  void add(uint64_t v) { h = combine(h, v); }
  void operator()(double v) { add(std::bit_cast<uint64_t>(v)); }
  void operator()(const std::string& s) { add(hash_string(s)); }
  void operator()(const Literal& l) { add(l.hash()); }
  void operator()(Type t) { add(t ? t->hash : 0); }

  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void operator()(T v) {
    add(static_cast<uint64_t>(v));
  }
  template <class T>
  void operator()(const std::vector<T>& list) {
    add(list.size());
    for (const T& item : list) (*this)(item);
  }
  template <class T>
  void operator()(const std::optional<T>& value) {
    add(value.has_value());
    if (value) (*this)(*value);
  }
  template <class T>
    requires requires(const T& t) { t.fields(); }
  void operator()(const T& fields_of) {
    std::apply([this](const auto&... field) { ((*this)(field), ...); }, fields_of.fields());
  }
};

}  // namespace

uint64_t hash(const Attr& attr) {
  AttrHasher hasher;
  hasher(attr.index());
  visit([&](const auto& a) { hasher(a); }, attr);
  return hasher.h;
}

}  // namespace hloc::ir
