// Elements of dense<…> attributes.
#include "ir/read/stablehlo_dense.h"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "ir/literal_text.h"
#include "ir/print/print.h"

namespace hloc::ir::mlir {
namespace {

bool dense_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
int dense_hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Integers narrower than a byte fill the byte by their sign; floats keep their bits.
uint8_t widened(uint8_t byte, ElementType type) {
  int bits = bit_width(type);
  if (bits >= 8) return byte;
  uint8_t mask = static_cast<uint8_t>((1u << bits) - 1);
  byte &= mask;
  if (is_signed_integer(type) && (byte >> (bits - 1)) != 0) byte |= static_cast<uint8_t>(~mask);
  return byte;
}

class DenseReader {
 public:
  DenseReader(Context& context, Type type, std::string_view text, DenseError& error)
      : context_(context), type_(type), element_(type.element()), text_(text), error_(error) {}

  bool read(DenseValue& out) {
    skip_blanks();
    if (done()) return empty(out);
    char c = text_[at_];
    if (c == '"') return blob_string(out);
    if (c == '[') return list(out);
    return splat(out);
  }

  // Hexadecimal digits: all elements, or one.
  bool blob(std::string_view digits, DenseValue& out) {
    uint64_t bytes = digits.size() / 2;
    uint64_t width = static_cast<uint64_t>(byte_width(element_));
    uint64_t count = static_cast<uint64_t>(type_.count());
    if (digits.size() % 2 != 0) return fail(digits, "the digits of a constant must come in pairs, two for each byte");
    bool packed = element_ == ElementType::pred && bytes != count && (bytes == (count + 7) / 8 || bytes == 1);
    if (packed && bytes == (count + 7) / 8 && count > 8) return packed_blob(digits, out);
    if (packed && bytes == (count + 7) / 8 && count > 1) {  // one byte: eight booleans, or a splat of 00, 01 or FF
      int value = dense_hex(digits[0]) * 16 + dense_hex(digits[1]);
      if (value != 0 && value != 1 && value != 0xff) return packed_blob(digits, out);
    }
    bool is_splat = bytes == width && count != 1;
    if (bytes != width * count && !is_splat)
      return fail(digits, fmt::format("the constant has {} bytes, but {} needs {}", bytes, mlir_type(type_), width * count));
    out.is_splat = is_splat;
    out.literal = Literal::uninitialized(is_splat ? context_.scalar(element_) : type_);
    std::span<std::byte> to = out.literal.mutable_bytes();
    for (size_t i = 0; i < bytes; ++i) {
      int high = dense_hex(digits[2 * i]), low = dense_hex(digits[2 * i + 1]);
      if (high < 0 || low < 0) return fail(digits.substr(2 * i, 2), "this is no hexadecimal digit");
      to[i] = static_cast<std::byte>(widened(static_cast<uint8_t>(high * 16 + low), element_));
      if (element_ == ElementType::pred) to[i] = static_cast<std::byte>(to[i] != std::byte{0});
    }
    return true;
  }

 private:
  bool done() const { return at_ >= text_.size(); }
  bool fail(std::string_view place, std::string message) {
    error_ = {place.data(), std::max<size_t>(1, std::min<size_t>(place.size(), 40)), std::move(message)};
    return false;
  }
  bool fail_here(std::string message) { return fail(text_.substr(std::min(at_, text_.size()), 1), std::move(message)); }

  void skip_blanks() {
    while (!done()) {
      if (dense_blank(text_[at_])) ++at_;
      else if (text_.substr(at_).starts_with("//")) at_ = std::min(text_.find('\n', at_), text_.size());
      else break;
    }
  }

  bool empty(DenseValue& out) {
    if (type_.count() != 0) return fail_here(fmt::format("dense<> has no elements, but {} has {}", mlir_type(type_), type_.count()));
    out.literal = Literal::zeros(type_);
    return true;
  }

  bool blob_string(DenseValue& out) {
    size_t end = text_.find('"', at_ + 1);
    std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (end == std::string_view::npos || !inside.starts_with("0x")) return fail_here("expected hexadecimal digits, as in dense<\"0x0000803F\">");
    inside.remove_prefix(2);
    return blob(inside, out);
  }

  // Eight booleans to a byte, the first in the lowest bit.
  bool packed_blob(std::string_view digits, DenseValue& out) {
    out.literal = Literal::uninitialized(type_);
    std::span<std::byte> to = out.literal.mutable_bytes();
    for (size_t i = 0; i < digits.size() / 2; ++i) {
      int high = dense_hex(digits[2 * i]), low = dense_hex(digits[2 * i + 1]);
      if (high < 0 || low < 0) return fail(digits.substr(2 * i, 2), "this is no hexadecimal digit");
      int byte = high * 16 + low;
      for (size_t bit = 0; bit < 8 && 8 * i + bit < to.size(); ++bit) to[8 * i + bit] = static_cast<std::byte>((byte >> bit) & 1);
    }
    return true;
  }

  bool splat(DenseValue& out) {
    out.is_splat = type_.count() != 1;
    out.literal = Literal::uninitialized(out.is_splat ? context_.scalar(element_) : type_);
    if (!one(out.literal.mutable_bytes().data())) return false;
    skip_blanks();
    return done() || fail_here("expected '>' after the one value of the constant");
  }

  // Nested lists, without recursion: `at[d]` counts the entries of the open list at depth d.
  bool list(DenseValue& out) {
    std::span<const Dim> dims = type_.dims();
    uint64_t count = static_cast<uint64_t>(type_.count());
    if (count > text_.size()) return fail_here(fmt::format("the list has fewer elements than {}", mlir_type(type_)));
    out.literal = Literal::uninitialized(type_);
    std::byte* to = count == 0 ? nullptr : out.literal.mutable_bytes().data();
    size_t width = static_cast<size_t>(byte_width(element_));
    std::vector<int64_t> entries;
    bool wants_entry = true;
    while (true) {
      skip_blanks();
      if (done()) return fail_here("expected ']' at the end of a list of elements");
      char c = text_[at_];
      if (c == ']') {
        if (entries.empty()) return fail_here("this ']' closes no list");
        if (count != 0 || entries.size() == dims.size()) {
          int64_t expected = dims[entries.size() - 1].size;
          if (entries.back() != expected) return fail_here(length_message(entries.back(), entries.size() - 1));
        }
        ++at_;
        entries.pop_back();
        if (entries.empty()) break;
        ++entries.back();
        wants_entry = false;
      } else if (c == ',') {
        if (wants_entry || entries.empty()) return fail_here("expected an element before ','");
        wants_entry = true;
        ++at_;
      } else if (!wants_entry) {
        return fail_here("expected ',' or ']' after an element");
      } else if (c == '[') {
        if (entries.size() == dims.size()) return fail_here(fmt::format("the lists are nested deeper than {} has dimensions", mlir_type(type_)));
        entries.push_back(0);
        ++at_;
      } else {
        if (entries.size() != dims.size())
          return fail_here(fmt::format("expected '[': elements of {} stand in {} nested lists", mlir_type(type_), dims.size()));
        if (entries.back() >= dims[entries.size() - 1].size) return fail_here(length_message(entries.back() + 1, entries.size() - 1));
        if (!one(to)) return false;
        to += width;
        ++entries.back();
        wants_entry = false;
      }
      // Too many lists would write past the end.
      if (!entries.empty() && entries.back() > dims[entries.size() - 1].size) return fail_here(length_message(entries.back(), entries.size() - 1));
      if (c == '[' && entries.size() > 1 && entries[entries.size() - 2] >= dims[entries.size() - 2].size)
        return fail_here(length_message(entries[entries.size() - 2] + 1, entries.size() - 2));
    }
    skip_blanks();
    return done() || fail_here("expected '>' after the list of elements");
  }

  std::string length_message(int64_t found, size_t dim) const {
    return fmt::format("dimension {} of {} has size {}, but this list has {}{} {}", dim, mlir_type(type_), type_.dim(static_cast<int64_t>(dim)),
                       found > type_.dim(static_cast<int64_t>(dim)) ? "at least " : "", found, found == 1 ? "entry" : "entries");
  }

  bool one(std::byte* out) {
    if (!is_complex(element_)) return real(element_, out);
    ElementType part = element_ == ElementType::c64 ? ElementType::f32 : ElementType::f64;
    if (text_[at_] != '(') {  // a real number
      std::memset(out, 0, static_cast<size_t>(byte_width(element_)));
      return real(part, out);
    }
    ++at_;
    if (!real(part, out)) return false;
    skip_blanks();
    if (done() || text_[at_] != ',') return fail_here("expected ',' between the parts of a complex number");
    ++at_;
    if (!real(part, out + byte_width(part))) return false;
    skip_blanks();
    if (done() || text_[at_] != ')') return fail_here("expected ')' after a complex number");
    ++at_;
    return true;
  }

  bool real(ElementType type, std::byte* out) {
    skip_blanks();
    size_t begin = at_;
    while (!done() && !dense_blank(text_[at_]) && std::string_view(",()[]").find(text_[at_]) == std::string_view::npos) ++at_;
    std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return fail_here("expected an element");
    if (word.starts_with("0x")) return bits(word, type, out);
    if (is_integer(type)) return integer(word, type, out);
    switch (parse_element(word, type, out)) {
      case ElementError::none: return true;
      case ElementError::out_of_range: return fail(word, fmt::format("{} does not fit into {}", word, mlir_name_of(type)));
      case ElementError::not_a_number: break;
    }
    return fail(word, fmt::format("'{}' is no element of type {}", word, mlir_name_of(type)));
  }

  // A signless type takes what fits as signed or as unsigned.
  bool integer(std::string_view word, ElementType type, std::byte* out) {
    bool negative = word.starts_with('-');
    std::string_view digits = negative ? word.substr(1) : word;
    if (word == "true" || word == "false") digits = word == "true" ? "1" : "0";
    uint64_t value = 0;
    auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || end != digits.data() + digits.size()) return fail(word, fmt::format("'{}' is no element of type {}", word, mlir_name_of(type)));
    int width = bit_width(type);
    uint64_t largest = width == 64 ? UINT64_MAX : (uint64_t{1} << width) - 1;
    bool fits = code == std::errc() && (negative ? is_signed_integer(type) && value <= uint64_t{1} << (width - 1) : value <= largest);
    if (negative && value == 0) fits = true;
    if (!fits) return fail(word, fmt::format("{} does not fit into {}", word, mlir_name_of(type)));
    store(negative ? 0 - value : value, type, out);
    return true;
  }

  // 0x7F800000: the bits of a float, the value of an integer.
  bool bits(std::string_view word, ElementType type, std::byte* out) {
    uint64_t value = 0;
    auto [end, code] = std::from_chars(word.data() + 2, word.data() + word.size(), value, 16);
    int width = bit_width(type);
    if (end != word.data() + word.size()) return fail(word, fmt::format("'{}' is no hexadecimal number", word));
    if (code != std::errc() || (width < 64 && value >> width != 0)) return fail(word, fmt::format("{} has more than the {} bits of {}", word, width, mlir_name_of(type)));
    if (type == ElementType::pred) value = value != 0;
    store(value, type, out);
    return true;
  }

  void store(uint64_t value, ElementType type, std::byte* out) {
    if (bit_width(type) < 8) value = widened(static_cast<uint8_t>(value), type);
    std::memcpy(out, &value, static_cast<size_t>(byte_width(type)));
  }

  Context& context_;
  Type type_;
  ElementType element_;
  std::string_view text_;
  DenseError& error_;
  size_t at_ = 0;
};

}  // namespace

bool decode_dense(Context& context, const Attribute& attribute, const Piece& piece, DenseValue& out, DenseError& error) {
  if (attribute.literal.type()) {
    out.literal = attribute.literal;
    return true;
  }
  DenseReader reader(context, attribute.type, attribute.content, error);
  if (attribute.kind == Attribute::dense) return reader.read(out);
  std::string_view key = attribute.content;
  while (!key.empty() && dense_blank(key.front())) key.remove_prefix(1);
  while (!key.empty() && dense_blank(key.back())) key.remove_suffix(1);
  if (key.size() > 1 && key.front() == '"') key = key.substr(1, key.size() - 2);
  if (key == "__elided__") {  // how MLIR writes a constant that it leaves out
    out.literal = Literal::elided(attribute.type);
    return true;
  }
  auto it = piece.resources.find(key);
  if (it == piece.resources.end()) {
    error = {attribute.content.data(), attribute.content.size(),
             fmt::format("the resource '{}' is not in the file; expected '{{-# dialect_resources: {{ builtin: {{ {}: \"0x…\" }} }} #-}}' at its end", key, key)};
    return false;
  }
  std::string_view digits = it->second;
  if (digits.size() < 8) {
    error = {digits.data(), 1, "a resource begins with four bytes that say its alignment"};
    return false;
  }
  return reader.blob(digits.substr(8), out);
}

}  // namespace hloc::ir::mlir
