// Constants as dense<…>.
#include <cstring>

#include <fmt/format.h>

#include "ir/literal_text.h"
#include "ir/print/stablehlo_printer.h"

namespace hloc::ir {
namespace {

constexpr int64_t longest_list = 64;  // elements; longer constants are hexadecimal digits

// The bits of one element as 0x7F800000.
std::string bits_text(ElementType type, const std::byte* bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, static_cast<size_t>(byte_width(type)));
  return fmt::format("0x{:0{}X}", bits, 2 * byte_width(type));
}

void append_real(std::string& out, ElementType type, const std::byte* bytes) {
  if (!is_float(type)) {
    append_element(out, type, bytes);
    return;
  }
  std::string text;
  append_element(text, type, bytes);
  if (text.find_first_of("in") != std::string::npos) {  // inf, nan
    out += bits_text(type, bytes);
    return;
  }
  if (text.find('.') == std::string::npos) {  // MLIR's floats have a point
    size_t exponent = text.find('e');
    text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  }
  out += text;
}

void append_mlir_element(std::string& out, ElementType type, const std::byte* bytes) {
  if (!is_complex(type)) return append_real(out, type, bytes);
  ElementType part = type == ElementType::c64 ? ElementType::f32 : ElementType::f64;
  out += '(';
  append_real(out, part, bytes);
  out += ", ";
  append_real(out, part, bytes + byte_width(part));
  out += ')';
}

bool all_equal(std::span<const std::byte> bytes, size_t width) {
  return bytes.size() > width && std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

// Nested lists of a short literal, row-major.
std::string list_text(const Literal& literal) {
  Type type = literal.type();
  size_t width = static_cast<size_t>(byte_width(type.element()));
  std::string out;
  int64_t count = type.count();
  for (int64_t i = 0; i < count; ++i) {
    if (i != 0) out += ", ";
    int64_t block = 1;
    std::string opens;
    for (int64_t d = type.rank() - 1; d >= 0; --d) {
      block *= type.dim(d);
      if (i % block == 0) opens += '[';
    }
    out += opens;
    append_mlir_element(out, type.element(), literal.bytes().data() + static_cast<size_t>(i) * width);
    block = 1;
    for (int64_t d = type.rank() - 1; d >= 0; --d) {
      block *= type.dim(d);
      if ((i + 1) % block == 0) out += ']';
    }
  }
  return out;
}

std::string hex_text(const Literal& literal) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out = "\"0x";
  out.reserve(2 * literal.size() + 4);
  for (std::byte b : literal.bytes()) {
    out += digits[static_cast<unsigned>(b) >> 4];
    out += digits[static_cast<unsigned>(b) & 15];
  }
  return out + '"';
}

}  // namespace

std::string StableHloPrinter::dense(const Literal& literal) const {
  Type type = literal.type();
  if (literal.is_elided() || (!options_.large_constants && type.count() > options_.elide_above)) return "dense_resource<__elided__>";
  size_t width = static_cast<size_t>(byte_width(type.element()));
  if (type.count() == 0) return "dense<>";
  if (type.rank() == 0 || (type.count() > longest_list && all_equal(literal.bytes(), width))) {
    std::string out = "dense<";
    append_mlir_element(out, type.element(), literal.bytes().data());
    return out + ">";
  }
  if (type.count() <= longest_list || bit_width(type.element()) < 8) return "dense<" + list_text(literal) + ">";
  return "dense<" + hex_text(literal) + ">";
}

std::string StableHloPrinter::constant(const Literal& literal) const { return dense(literal) + " : " + type(literal.type()); }

// A broadcast of a scalar constant prints as a constant with one value.
bool StableHloPrinter::is_splat(Value v) const {
  return v->op == Op::Broadcast && v->operand(0)->op == Op::Constant && v->operand(0)->type.is_scalar() && v->type.is_static() && v->type.count() != 1 &&
         !v->type->quant;
}

void StableHloPrinter::constant_value(const Literal& literal, Written& w, std::string_view wanted, const std::string& tail) {
  if (literal.type().is_tuple()) {
    std::vector<const Literal*> values = leaves(literal);
    size_t next = 0;
    w.has_parts = true;
    build_up<std::string>(literal.type(), [&](Type) {
      Written inner;
      constant_value(*values[next++], inner, wanted, tail);
      return inner.name;
    }, [&](Type tuple, std::vector<std::string> parts) -> std::string {
      if (tuple == literal.type()) return w.parts = std::move(parts), std::string();
      std::string name = fresh("tuple");
      line(fmt::format("{} = stablehlo.tuple{}{} : {}", name, parts.empty() ? "" : " ", fmt::join(parts, ", "), type(tuple)));
      return name;
    });
    return;
  }
  w.name = fresh(wanted);
  if (literal.type().is_token()) {
    line(fmt::format("{} = stablehlo.create_token : !stablehlo.token{}", w.name, tail));
    return;
  }
  line(fmt::format("{} = stablehlo.constant {}{}", w.name, constant(literal), tail));
}

void StableHloPrinter::op_constant(Value v) {
  Written& w = written(v);
  if (is_splat(v)) {
    const Literal& scalar = v->operand(0)->as<ConstantAttr>().value;
    w.name = fresh(v);
    std::string extra = dictionary(v);
    line(fmt::format("{} = stablehlo.constant{} {} : {}{}", w.name, extra, dense(scalar), type(v->type), location(v)));
    return;
  }
  const Literal& literal = v->as<ConstantAttr>().value;
  if (literal.is_elided() && literal.type().is_tuple()) return fail(v, "an elided constant of a tuple type has no form in StableHLO");
  if (v->type.is_array() && v->type->quant) {
    w.name = fresh(v);
    Type storage = literal.type();
    std::string text = dense(literal) + " : ";
    std::string plain = "tensor<";
    for (const Dim& d : storage.dims()) plain += fmt::format("{}x", d.size);
    plain += std::string(mlir_name_of(storage.element())) + ">";
    line(fmt::format("{} = \"stablehlo.constant\"() <{{value = {}{}}}> : () -> {}{}", w.name, text, plain, type(v->type), location(v)));
    return;
  }
  std::string extra = dictionary(v);
  if (extra.empty() || !v->type.is_array()) return constant_value(literal, w, frame_->computation->name(v), location(v));
  w.name = fresh(v);
  line(fmt::format("{} = stablehlo.constant{} {}{}", w.name, extra, constant(literal), location(v)));
}

}  // namespace hloc::ir
