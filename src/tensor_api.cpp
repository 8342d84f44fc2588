// Elements as text and numbers, for the public interface.
#include <cstring>

#include <fmt/format.h>

#include "include/hloc/tensor.h"
#include "ir/literal_text.h"
#include "ir/support/float_formats.h"

namespace hloc {

std::string to_string(const Shape& shape) { return fmt::format("{}[{}]", name_of(shape.element), fmt::join(shape.dims, ",")); }

std::string element_text(ElementType type, const std::byte* bytes) {
  std::string out;
  ir::append_element(out, type, bytes);
  return out;
}

double element_to_double(ElementType type, const std::byte* bytes) {
  return visit_element(type, [&](auto tag) -> double {
    using T = decltype(tag);
    T value;
    std::memcpy(&value, bytes, sizeof value);
    if constexpr (is_complex_type<T>) return static_cast<double>(value.real());
    else if constexpr (is_narrow_int<T>) return static_cast<double>(static_cast<int64_t>(value));
    else return static_cast<double>(value);
  });
}

void element_from_double(ElementType type, double value, std::byte* bytes) {
  visit_element(type, [&](auto tag) {
    using T = decltype(tag);
    T out{};
    if constexpr (std::is_same_v<T, bool>) out = value != 0;
    else if constexpr (is_complex_type<T>) out = T(static_cast<typename T::value_type>(value));
    else if constexpr (is_narrow_int<T>) out = T(static_cast<int64_t>(value));
    else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) out = static_cast<T>(static_cast<uint64_t>(value));
    else if constexpr (std::is_integral_v<T>) out = static_cast<T>(static_cast<int64_t>(value));
    else out = T(value);
    std::memcpy(bytes, &out, sizeof out);
  });
}

}  // namespace hloc
