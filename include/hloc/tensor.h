// Element types, shapes and views over bytes: the vocabulary of the public interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hloc {

// All element types of HLO and StableHLO. X(enumerator and HLO text, bits, StableHLO text or "", numpy descriptor or "").
// Sub-byte types take one byte an element in memory unless a layout says otherwise.
#define HLOC_ELEMENT_TYPES(X)                    \
  X(pred, 8, "i1", "|b1")                        \
  X(s1, 1, "", "")                               \
  X(s2, 2, "i2", "")                             \
  X(s4, 4, "i4", "")                             \
  X(s8, 8, "i8", "|i1")                          \
  X(s16, 16, "i16", "<i2")                       \
  X(s32, 32, "i32", "<i4")                       \
  X(s64, 64, "i64", "<i8")                       \
  X(u1, 1, "ui1", "")                            \
  X(u2, 2, "ui2", "")                            \
  X(u4, 4, "ui4", "")                            \
  X(u8, 8, "ui8", "|u1")                         \
  X(u16, 16, "ui16", "<u2")                      \
  X(u32, 32, "ui32", "<u4")                      \
  X(u64, 64, "ui64", "<u8")                      \
  X(f4e2m1fn, 4, "f4E2M1FN", "")                 \
  X(f6e2m3fn, 6, "f6E2M3FN", "")                 \
  X(f6e3m2fn, 6, "f6E3M2FN", "")                 \
  X(f8e3m4, 8, "f8E3M4", "")                     \
  X(f8e4m3, 8, "f8E4M3", "")                     \
  X(f8e4m3fn, 8, "f8E4M3FN", "")                 \
  X(f8e4m3fnuz, 8, "f8E4M3FNUZ", "")             \
  X(f8e4m3b11fnuz, 8, "f8E4M3B11FNUZ", "")       \
  X(f8e5m2, 8, "f8E5M2", "")                     \
  X(f8e5m2fnuz, 8, "f8E5M2FNUZ", "")             \
  X(f8e8m0fnu, 8, "f8E8M0FNU", "")               \
  X(bf16, 16, "bf16", "")                        \
  X(f16, 16, "f16", "<f2")                       \
  X(f32, 32, "f32", "<f4")                       \
  X(f64, 64, "f64", "<f8")                       \
  X(c64, 64, "complex<f32>", "<c8")              \
  X(c128, 128, "complex<f64>", "<c16")

enum class ElementType : uint8_t {
  invalid,
#define HLOC_X(name, bits, mlir, npy) name,
  HLOC_ELEMENT_TYPES(HLOC_X)
#undef HLOC_X
};

// "f32", "pred", …; "invalid" for the invalid one.
constexpr std::string_view name_of(ElementType t) {
  constexpr std::string_view names[] = {"invalid",
#define HLOC_X(name, bits, mlir, npy) #name,
                                        HLOC_ELEMENT_TYPES(HLOC_X)
#undef HLOC_X
  };
  return names[static_cast<size_t>(t)];
}

// The StableHLO spelling ("i32", "complex<f32>"); "" for s1, which it does not have.
constexpr std::string_view mlir_name_of(ElementType t) {
  constexpr std::string_view names[] = {"invalid",
#define HLOC_X(name, bits, mlir, npy) mlir,
                                        HLOC_ELEMENT_TYPES(HLOC_X)
#undef HLOC_X
  };
  return names[static_cast<size_t>(t)];
}

// Bits of information in one element (s4: 4, pred: 8, c64: 64).
constexpr int bit_width(ElementType t) {
  constexpr uint8_t bits[] = {0,
#define HLOC_X(name, bits, mlir, npy) bits,
                              HLOC_ELEMENT_TYPES(HLOC_X)
#undef HLOC_X
  };
  return bits[static_cast<size_t>(t)];
}

// Bytes that one element takes in a literal or buffer (sub-byte types: 1).
constexpr int byte_width(ElementType t) { return (bit_width(t) + 7) / 8; }

constexpr bool is_signed_integer(ElementType t) { return t >= ElementType::s1 && t <= ElementType::s64; }
constexpr bool is_unsigned_integer(ElementType t) { return t >= ElementType::u1 && t <= ElementType::u64; }
constexpr bool is_integer(ElementType t) { return t >= ElementType::s1 && t <= ElementType::u64; }
constexpr bool is_float(ElementType t) { return t >= ElementType::f4e2m1fn && t <= ElementType::f64; }
constexpr bool is_complex(ElementType t) { return t == ElementType::c64 || t == ElementType::c128; }

// A dense row-major array: element type and sizes.
struct Shape {
  ElementType element = ElementType::invalid;
  std::vector<int64_t> dims;

  bool operator==(const Shape&) const = default;

  // Elements, and bytes of a dense buffer. Shapes that the library hands out have products that fit.
  int64_t count() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
  size_t bytes() const { return static_cast<size_t>(count()) * static_cast<size_t>(byte_width(element)); }
};

// "f32[2,3]".
std::string to_string(const Shape& shape);

// One element at `bytes` as text: the shortest decimal that reads back to the same bits.
std::string element_text(ElementType type, const std::byte* bytes);
// One element as a double (the real part of a complex one; 64-bit integers round).
double element_to_double(ElementType type, const std::byte* bytes);
// Stores `value` as an element, rounded to nearest even (integers: truncated and wrapped; complex: the real part, 0 imaginary).
void element_from_double(ElementType type, double value, std::byte* bytes);

}  // namespace hloc
