#include "ir/read/hlo_literal.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "ir/literal_text.h"
#include "ir/print/print.h"

namespace hloc::ir {
namespace {

// Tuples of literals nest as deep as types do; their destructors recurse, so the bound matters.
struct OpenTuple {
  Type type;
  std::vector<Literal> parts;
};

bool is_separator(char c) { return HloLexer::is_blank(c) || c == ',' || c == '}' || c == ')' || c == '/' || c == '{'; }

// Reads the elements of one array, one at a time, into a buffer. When the text left is too short to hold them all the
// buffer is null: nothing is stored, only the mistake is looked for.
class DenseLiteral {
 public:
  DenseLiteral(HloLexer& lexer, Type type, std::byte* out)
      : lex_(lexer), type_(type), element_(type.element()), width_(static_cast<size_t>(byte_width(element_))), out_(out) {}

  bool read() {
    size_t rank = static_cast<size_t>(type_.rank());
    if (rank == 0) return element();
    seen_.assign(rank, 0);
    size_t depth = 0;  // braces open
    do {
      if (depth > 0 && lex_.peek() == '}') {
        if (!close(depth)) return false;
      } else if (depth < rank) {
        if (!open(depth)) return false;
        continue;
      } else if (!count(depth - 1) || !element()) {
        return false;
      }
      if (depth > 0) lex_.accept(',');
    } while (depth > 0);
    return true;
  }

 private:
  bool open(size_t& depth) {
    if (lex_.peek() != '{')
      return lex_.expected(fmt::format("'{{' (the values of {} are written in {} nested braces)", to_string(type_), seen_.size()));
    if (depth > 0 && !count(depth - 1)) return false;
    lex_.accept('{');
    seen_[depth++] = 0;
    return true;
  }

  bool count(size_t dim) {
    int64_t size = type_.dim(static_cast<int64_t>(dim));
    if (++seen_[dim] <= size) return true;
    return lex_.fail_here(fmt::format("the literal is too long: expected {} in dimension {} of {}", things(size, dim), dim, to_string(type_)));
  }

  bool close(size_t& depth) {
    int64_t size = type_.dim(static_cast<int64_t>(depth) - 1);
    if (seen_[depth - 1] != size)
      return lex_.fail_here(fmt::format("the literal is too short: expected {} in dimension {} of {}, found {}",
                                        things(size, depth - 1), depth - 1, to_string(type_), seen_[depth - 1]));
    lex_.accept('}');
    --depth;
    return true;
  }

  std::string things(int64_t size, size_t dim) const {
    bool values = dim + 1 == seen_.size();
    return fmt::format("{} {}{}", size, values ? "element" : "group", size == 1 ? "" : "s");
  }

  bool element() {
    std::byte scratch[16];
    std::byte* at = out_ ? out_ : scratch;
    bool ok = is_complex(element_) ? complex(at) : number(element_, at);
    if (out_) out_ += width_;
    return ok;
  }

  bool complex(std::byte* at) {
    ElementType part = element_ == ElementType::c64 ? ElementType::f32 : ElementType::f64;
    return lex_.expect('(', "'(' and a complex number such as (1, -2.5)") && number(part, at) &&
           (lex_.accept(',') || true) && number(part, at + width_ / 2) && lex_.expect(')', "')' after a complex number");
  }

  bool number(ElementType element, std::byte* at) {
    lex_.peek();
    const char* p = lex_.cursor();
    if (quick(element, p, at)) return true;
    const char* q = p;
    while (q < lex_.end() && (HloLexer::in_word(*q) || *q == '+')) ++q;
    if (q < lex_.end() && *q == '(' && q > p) {  // nan(0x1)
      while (q < lex_.end() && *q != ')' && *q != '\n') ++q;
      if (q < lex_.end() && *q == ')') ++q;
    }
    std::string_view text(p, static_cast<size_t>(q - p));
    if (text.empty()) return lex_.expected(fmt::format("a number of type {}", name_of(element)));
    switch (parse_element(text, element, at)) {
      case ElementError::none: lex_.seek(q); return true;
      case ElementError::not_a_number:
        return lex_.fail_at(text, fmt::format("'{}' is not a number of type {}", text, name_of(element)));
      case ElementError::out_of_range:
        return lex_.fail_at(text, fmt::format("{} is out of range for {}", text, name_of(element)));
    }
    HLOC_UNREACHABLE();
  }

  // The common types without a look at what else a number might be; false leaves the rest to the slow way.
  bool quick(ElementType element, const char* p, std::byte* at) {
    switch (element) {
      case ElementType::f32: return quick_as<float>(p, at);
      case ElementType::f64: return quick_as<double>(p, at);
      case ElementType::s32: return quick_as<int32_t>(p, at);
      case ElementType::s64: return quick_as<int64_t>(p, at);
      case ElementType::u8: return quick_as<uint8_t>(p, at);
      default: return false;
    }
  }
  template <class T>
  bool quick_as(const char* p, std::byte* at) {
    if (p == lex_.end() || (!HloLexer::is_digit(*p) && (*p != '-' || p + 1 == lex_.end() || !HloLexer::is_digit(p[1])))) return false;
    T value;
    auto r = std::from_chars(p, lex_.end(), value);
    if (r.ec != std::errc() || r.ptr == lex_.end() || !is_separator(*r.ptr)) return false;
    if constexpr (std::is_floating_point_v<T>)
      if (!std::isfinite(value)) return false;
    std::memcpy(at, &value, sizeof value);
    lex_.seek(r.ptr);
    return true;
  }

  HloLexer& lex_;
  Type type_;
  ElementType element_;
  size_t width_;
  std::byte* out_;
  Ints seen_;  // elements or groups so far, by dimension
};

bool accept_elided(HloLexer& lex) {
  if (lex.peek() != '{') return false;
  const char* before = lex.cursor();
  lex.accept('{');
  if (lex.accept("...") && lex.accept('}')) return true;
  lex.seek(before);
  return false;
}

// Anything but a tuple.
bool read_leaf(HloLexer& lex, Type type, Literal& out) {
  if (accept_elided(lex)) {
    out = Literal::elided(type);
    return true;
  }
  if (type.is_token()) {
    out = Literal::token(type);
    return true;
  }
  if (!type.is_array()) return lex.fail_here(fmt::format("a value of type {} cannot be written", to_string(type)));
  if (!type.is_static()) {
    for (const Dim& d : type.dims())
      if (d.kind == Dim::unknown) return lex.fail_here(fmt::format("a literal needs known sizes, but its type is {}", to_string(type)));
  }
  // Each element takes a byte of text at least, and a separator follows all but the last.
  auto left = static_cast<int64_t>(lex.end() - lex.cursor());
  bool possible = type.count() <= left / 2 + 1;
  if (possible) {
    out = Literal::uninitialized(type);
    return DenseLiteral(lex, type, out.mutable_bytes().data()).read();
  }
  Loc at = lex.next_loc();
  if (DenseLiteral(lex, type, nullptr).read() || !lex.failed())
    lex.fail(at, fmt::format("the literal is too short for {}", to_string(type)));
  return false;
}

}  // namespace

bool read_literal(HloLexer& lex, Type type, Literal& out) {
  std::vector<OpenTuple> open;
  for (;;) {
    Literal value;
    Type wanted = open.empty() ? type : open.back().type.element_type(open.back().parts.size());
    if (wanted.is_tuple() && !accept_elided(lex)) {
      if (!lex.expect('(', "'(' and the parts of a tuple")) return false;
      open.push_back({wanted, {}});
      if (wanted.tuple_size() > 0) continue;
    } else if (wanted.is_tuple()) {
      value = Literal::elided(wanted);
    } else if (!read_leaf(lex, wanted, value)) {
      return false;
    }
    bool complete = !wanted.is_tuple() || wanted.tuple_size() > 0;  // else an empty tuple waits for its ')'
    while (!open.empty()) {
      OpenTuple& top = open.back();
      if (complete) {
        top.parts.push_back(std::move(value));
        if (top.parts.size() < top.type.tuple_size()) {
          lex.accept(',');
          break;
        }
      }
      lex.accept(',');
      if (!lex.expect(')', fmt::format("')' after the {} parts of a tuple", top.type.tuple_size()))) return false;
      value = Literal::tuple(top.type, std::move(top.parts));
      complete = true;
      open.pop_back();
    }
    if (open.empty()) {
      out = std::move(value);
      return true;
    }
  }
}

bool read_scalar(HloLexer& lex, Type type, std::byte* out) { return DenseLiteral(lex, type, out).read(); }

bool read_typed_literal(HloLexer& lex, HloTypeReader& types, Context& context, Literal& out) {
  struct Open {
    std::vector<Literal> parts;
  };
  std::vector<Open> open;
  for (;;) {
    Literal value;
    bool complete = true;
    if (lex.peek() == '(') {
      lex.accept('(');
      open.emplace_back();
      if (lex.peek() != ')') continue;
      complete = false;
    } else {
      Type type;
      if (!types.read(type) || !read_literal(lex, type, value)) return false;
    }
    while (!open.empty()) {
      if (complete) open.back().parts.push_back(std::move(value));
      complete = true;
      if (lex.accept(',')) break;
      if (!lex.expect(')', "',' or ')' in a tuple")) return false;
      std::vector<Type> elements;
      for (const Literal& part : open.back().parts) elements.push_back(part.type());
      value = Literal::tuple(context.tuple(elements), std::move(open.back().parts));
      open.pop_back();
    }
    if (open.empty()) {
      out = std::move(value);
      return true;
    }
  }
}

}  // namespace hloc::ir
