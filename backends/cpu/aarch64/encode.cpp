#include "backends/cpu/aarch64/encode.h"

#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "ir/support/check.h"

namespace hloc::aarch64 {
namespace {

// No field follows a letter or digit directly, but those after a precision or a register prefix; so the longest word counts.
size_t longest_word(std::string_view text, Field& out) {
  size_t best = 0;
  for (size_t n = 0; n < std::size(field_table); n++) {
    std::string_view word = field_table[n].word;
    if (word.size() > best && text.substr(0, word.size()) == word) best = word.size(), out = static_cast<Field>(n);
  }
  return best;
}

constexpr bool is_written_only(Coding c) { return c == Coding::wide || c == Coding::pairs || c == Coding::one_element; }

Operands parse_syntax(std::string_view syntax) {
  Operands out;
  for (size_t at = 0; at < syntax.size(); at++) {
    if (syntax[at] != '%') continue;
    Field field{};
    longest_word(syntax.substr(at + 1), field);
    if (is_written_only(row(field).coding)) continue;
    bool known = false;
    for (size_t n = 0; n < out.count; n++) known |= out.fields[n] == field;
    if (!known) out.fields[out.count++] = field;
  }
  return out;
}

// N, immr and imms as 13 bits. The smallest period of the bits is the element; in it the ones must be in one row.
std::optional<uint32_t> bit_mask_code(uint64_t value) {
  if (value == 0 || value == ~uint64_t{0}) return std::nullopt;
  int size = 64;
  while (size > 2) {
    int half = size / 2;
    uint64_t low = (uint64_t{1} << half) - 1;
    if ((value & low) != (value >> half & low)) break;
    size = half;
  }
  uint64_t all = size == 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1, element = value & all;
  for (int rotation = 0; rotation < size; rotation++) {
    uint64_t turned = rotation == 0 ? element : (element << rotation | element >> (size - rotation)) & all;
    if ((turned & (turned + 1)) != 0 || turned == all) continue;
    int ones = std::popcount(turned);
    uint32_t imms = (static_cast<uint32_t>(~(size * 2 - 1)) & 0x3f) | static_cast<uint32_t>(ones - 1);
    return (size == 64 ? 0x1000u : 0u) | static_cast<uint32_t>(rotation) << 6 | imms;
  }
  return std::nullopt;
}

// The word under construction; what one operand says about others' places is kept here.
class Encoder {
 public:
  explicit Encoder(Form form) : word_(form_table[static_cast<size_t>(form)].bits) {}

  void add(const FieldRow& f, int64_t value) {
    check(f, value);
    auto bits = static_cast<uint32_t>(f.coding == Coding::bit_mask ? 0 : value / f.step);
    switch (f.coding) {
      case Coding::number: case Coding::general: case Coding::stack: case Coding::word: case Coding::precision:
      case Coding::condition: case Coding::distance: case Coding::scalar_float: case Coding::by_element:
        return place(f.at, f.bits, bits);
      case Coding::arrangement: return add_arrangement(f, bits);
      case Coding::copied:
        size_ = static_cast<int>(bits >> 1);
        return word_ |= (bits & 1) << 30, place(f.at, f.bits, 1u << size_);
      case Coding::wide: case Coding::pairs: case Coding::one_element: break;
      case Coding::element:
        size_ = static_cast<int>(bits);
        return place(f.at, f.bits, 1u << size_);
      case Coding::lane: return place(f.at, 5, bits << (size_ + 1));
      case Coding::second_lane: return place(f.at, f.bits, bits << size_);
      case Coding::multiplier_lane:
        if (size_ == 3) return place(11, 1, bits);
        return place(21, 1, bits & 1), place(11, 1, bits >> 1);
      case Coding::memory_lane: {
        uint32_t index = bits << f.at;  // Q, S and the size field as one number
        return word_ |= (index >> 3) << 30 | (index & 7) << 10, void();
      }
      case Coding::bit_mask: return place(f.at, f.bits, *bit_mask_code(static_cast<uint64_t>(value)));
      case Coding::bit_number: return place(31, 1, bits >> 5), place(f.at, 5, bits & 31);
      case Coding::shift_left: return place(f.at, f.bits, (8u << size_) + bits);
      case Coding::shift_right: return place(f.at, f.bits, (16u << size_) - bits);
      case Coding::split_byte: case Coding::split_mask: case Coding::split_float:
        return place(16, 3, bits >> 5), place(5, 5, bits & 31);
      case Coding::near_address: return place(29, 2, bits & 3), place(f.at, 19, bits >> 2);
    }
    HLOC_UNREACHABLE();
  }
  uint32_t word() const { return word_; }

 private:
  void check(const FieldRow& f, int64_t value) const {
    bool good = value >= f.low && value <= f.high && value % f.step == 0;
    if (f.coding == Coding::arrangement || f.coding == Coding::copied) good = value >= 0 && value < 8 && (f.low >> value & 1) != 0;
    if (f.coding == Coding::bit_mask) good = is_bit_mask(static_cast<uint64_t>(value));
    if (f.coding == Coding::precision) good &= value != 2;
    if (f.coding == Coding::lane || f.coding == Coding::second_lane) good &= value < 16 >> size_;
    if (f.coding == Coding::multiplier_lane) good &= value < 16 >> size_;
    if (f.coding == Coding::shift_left) good &= value < 8 << size_;
    if (f.coding == Coding::shift_right) good &= value <= 8 << size_;
    HLOC_CHECK(good, fmt::format("the operand '{}' of an instruction can't be {}", f.word, value));
  }

  void place(int at, int bits, uint32_t value) { word_ |= (value & ((uint64_t{1} << bits) - 1)) << at; }

  // The sizes of floats lie in the one bit that is 1 for 8 bytes.
  void add_arrangement(const FieldRow& f, uint32_t bits) {
    size_ = static_cast<int>(bits >> 1);
    word_ |= (bits & 1) << 30;
    place(f.at, f.bits, bits >> 1);
  }

  uint32_t word_;
  int size_ = 0;  // of the elements: log2 of their bytes
};

}  // namespace

const Operands& operands_of(Form f) {
  static const std::array<Operands, form_count> all = [] {  // read off the syntax once
    std::array<Operands, form_count> out;
    for (size_t n = 0; n < form_count; n++) out[n] = parse_syntax(form_table[n].syntax);
    return out;
  }();
  return all[static_cast<size_t>(f)];
}

Field field_at(std::string_view text) {
  Field field{};
  HLOC_CHECK(longest_word(text, field) > 0, "no field of an instruction is called so");
  return field;
}

bool is_bit_mask(uint64_t value) { return bit_mask_code(value).has_value(); }

double float_of_immediate(int immediate) {
  double mantissa = 1 + (immediate & 15) / 16.0;
  int exponent = (immediate >> 4 & 3) - ((immediate >> 6 & 1) != 0 ? 3 : -1);
  return std::ldexp((immediate & 128) != 0 ? -mantissa : mantissa, exponent);
}

int float_immediate(double value) {
  for (int n = 0; n < 256; n++) {
    if (float_of_immediate(n) == value) return n;
  }
  return -1;
}

uint32_t encode(Form form, std::initializer_list<int64_t> operands) {
  const Operands& fields = operands_of(form);
  std::string_view syntax = form_table[static_cast<size_t>(form)].syntax;
  HLOC_CHECK(operands.size() == fields.count, fmt::format("'{}' has {} operands", syntax, fields.count));
  Encoder encoder(form);
  size_t n = 0;
  for (int64_t value : operands) encoder.add(row(fields.fields[n++]), value);
  return encoder.word();
}

}  // namespace hloc::aarch64
