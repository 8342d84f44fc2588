// Reads the text form of the machine IR: line by line, directed by ops.def.
#include <charconv>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "backends/cpu/machine/element.h"
#include "backends/cpu/machine/machine.h"
#include "backends/cpu/machine/operands.h"

namespace hloc::machine {
namespace {

constexpr ElementType machine_elements[] = {
    ElementType::pred, ElementType::s8,  ElementType::s16, ElementType::s32,  ElementType::s64, ElementType::u8,
    ElementType::u16,  ElementType::u32, ElementType::u64, ElementType::bf16, ElementType::f16, ElementType::f32,
    ElementType::f64};

class MachineParser {
 public:
  explicit MachineParser(const Source& source) : source_(source), text_(source.text) {}

  Result<std::vector<Function>> run() {
    std::vector<Function> all;
    for (skip(true); !error_ && at_ < text_.size(); skip(true)) {
      f_ = {};
      places_ = {&source_, {}, {}};
      block_ids_.clear();
      placed_.clear();
      function();
      if (!names_.insert(f_.name).second) {
        fail(places_.function.begin, places_.function.end, fmt::format("there are two functions @{}", f_.name));
      }
      if (error_) break;
      if (Result<void> ok = verify(f_, &places_); !ok) return std::move(ok).error();
      all.push_back(std::move(f_));
    }
    if (error_) return *std::move(error_);
    return all;
  }

 private:
  // ---- characters and words ----
  void fail(size_t begin, size_t end, std::string message) {
    if (!error_) error_ = error_at(source_, {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, std::move(message));
  }
  void fail(std::string message) { fail(at_, std::min(at_ + 1, text_.size()), std::move(message)); }

  void skip(bool lines = false) {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) at_++;
      else if (text_.substr(at_, 2) == "//") at_ = std::min(text_.find('\n', at_), text_.size());
      else break;
    }
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!error_ && !accept(c)) fail(fmt::format("expected '{}'", c));
  }
  static bool word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$';
  }
  std::string_view word() {
    skip();
    size_t begin = at_;
    while (at_ < text_.size() && word_char(text_[at_])) at_++;
    return text_.substr(begin, at_ - begin);
  }
  // A number's characters: also signs and exponents.
  std::string_view number_text() {
    skip();
    size_t begin = at_;
    auto sign_may_follow = [&] {
      if (at_ == begin) return true;
      return (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') && text_.substr(begin, 2) != "0x";
    };
    while (at_ < text_.size()) {
      bool sign = text_[at_] == '-' || text_[at_] == '+';
      if (sign ? !sign_may_follow() : !word_char(text_[at_])) break;
      at_++;
    }
    return text_.substr(begin, at_ - begin);
  }
  int64_t integer(int64_t lowest, int64_t highest) {
    std::string_view t = number_text();
    size_t begin = at_ - t.size();
    bool negative = !t.empty() && t[0] == '-';
    std::string_view digits = t.substr(negative);
    int base = digits.substr(0, 2) == "0x" ? 16 : 10;
    if (base == 16) digits.remove_prefix(2);
    uint64_t magnitude = 0;
    auto r = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
    uint64_t limit = negative ? uint64_t{1} << 63 : ~uint64_t{0} >> 1;
    if (r.ec != std::errc{} || r.ptr != digits.data() + digits.size() || magnitude > limit) {
      fail(begin, at_, "expected an integer");
      return 0;
    }
    auto value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
    if (value < lowest || value > highest) {
      fail(begin, at_, fmt::format("{} is out of range: expected {} to {}", t, lowest, highest));
      return 0;
    }
    return value;
  }

  // ---- names ----
  std::string symbol() {
    skip();
    if (at_ >= text_.size() || text_[at_] != '@') {
      fail("expected a symbol: '@' and a name");
      return {};
    }
    at_++;
    if (at_ >= text_.size() || text_[at_] != '"') return std::string(word());
    std::string name;
    for (at_++; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; at_++) {
      unsigned value = 0;
      if (text_[at_] == '\\' && at_ + 2 < text_.size() &&
          std::from_chars(text_.data() + at_ + 1, text_.data() + at_ + 3, value, 16).ptr == text_.data() + at_ + 3) {
        name += static_cast<char>(value);
        at_ += 2;
      } else {
        name += text_[at_];
      }
    }
    expect('"');
    return name;
  }

  Reg reg() {
    skip();
    size_t begin = at_;
    std::string_view w = word();
    RegClass c = w.empty() ? RegClass::none : w[0] == 'r' ? RegClass::general : w[0] == 'v' ? RegClass::vector
               : w[0] == 'k' ? RegClass::mask : w[0] == 't' ? RegClass::tile : RegClass::none;
    uint32_t index = 0;
    auto r = w.empty() ? std::from_chars_result{} : std::from_chars(w.data() + 1, w.data() + w.size(), index);
    if (c == RegClass::none || w.size() < 2 || r.ec != std::errc{} || r.ptr != w.data() + w.size()) {
      fail(begin, std::max(at_, begin + 1), "expected a register: r0, v0 or k0");
      return {};
    }
    // Register numbers size the tables of all later steps; text that uses n registers has more than n characters.
    if (index >= std::max<size_t>(text_.size(), 65536)) {
      fail(begin, at_, "register numbers must be dense");
      return {};
    }
    uint32_t& count = f_.counts[static_cast<size_t>(c)];
    count = std::max(count, index + 1);
    if (c == RegClass::mask && f_.mask_bytes.size() < count) f_.mask_bytes.resize(count);
    return {c, index};
  }

  ElementType element(std::string_view name, size_t begin) {
    for (ElementType t : machine_elements) {
      if (name_of(t) == name) return t;
    }
    fail(begin, begin + std::max<size_t>(name.size(), 1),
         fmt::format("'{}' is no element type of the machine: expected pred, s8 to s64, u8 to u64, f16, bf16, f32 or f64", name));
    return ElementType::invalid;
  }

  VType vector_type(std::string_view w, size_t begin) {
    size_t x = w.rfind('x');
    int lanes = 0;
    if (x == std::string_view::npos || std::from_chars(w.data() + x + 1, w.data() + w.size(), lanes).ptr != w.data() + w.size() ||
        lanes < 1 || lanes > 64) {
      fail(begin, begin + std::max<size_t>(w.size(), 1), "expected a vector type such as f32x8");
      return {};
    }
    return {element(w.substr(0, x), begin), static_cast<uint8_t>(lanes)};
  }

  BlockId block_id(std::string_view name, size_t begin) {
    if (name.empty()) {
      fail("expected the name of a block");
      return 0;
    }
    auto [it, fresh] = block_ids_.try_emplace(std::string(name), static_cast<BlockId>(f_.blocks.size()));
    if (fresh) {
      f_.blocks.push_back({std::string(name), {}});
      placed_.push_back({false, begin, begin + name.size()});
    }
    return it->second;
  }

  // ---- functions ----
  void end_of_line() {
    if (error_) return;
    if (peek() == '\n') at_++;
    else if (at_ < text_.size() && text_[at_] != '}') fail("expected the end of the line");
  }

  void function() {
    size_t begin = at_;
    if (word() != "func") return fail(begin, std::max(at_, begin + 1), "expected 'func @name(…) width N {'");
    f_.name = symbol();
    places_.function = {static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)};
    expect('(');
    while (!error_ && peek() != ')') {
      f_.params.push_back(reg());
      if (!accept(',')) break;
    }
    expect(')');
    if (!error_ && word() != "width") fail("expected 'width' and the bytes of a vector");
    if (!error_) f_.vector_bytes = static_cast<uint8_t>(integer(16, 64));
    expect('{');
    BlockId current = no_block;
    for (skip(true); !error_ && peek() != '}'; skip(true)) {
      if (at_ >= text_.size()) return fail("the function is not closed: expected '}'");
      line(current);
    }
    expect('}');
    for (const Placed& p : placed_) {
      if (!p.placed) fail(p.begin, p.end, fmt::format("there is no block '{}'", text_.substr(p.begin, p.end - p.begin)));
    }
  }

  void line(BlockId& current) {
    size_t begin = at_;
    std::string_view w = word();
    if (w == "data" && current == no_block) return data_constant_line();
    if (accept(':')) {
      current = block_id(w, begin);
      if (error_) return;
      if (placed_[current].placed) return fail(begin, begin + w.size(), fmt::format("the block '{}' stands here twice", w));
      placed_[current].placed = true;
      f_.order.push_back(current);
      places_.insts.resize(f_.blocks.size());
      return end_of_line();
    }
    if (current == no_block) return fail(begin, std::max(at_, begin + 1), "expected a block's name and ':'");
    Inst i = instruction(w, begin);
    if (error_) return;
    places_.insts.resize(f_.blocks.size());
    f_.blocks[current].insts.push_back(i);
    places_.insts[current].push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + w.size())});
    end_of_line();
  }

  void data_constant_line() {
    int64_t number = integer(0, static_cast<int64_t>(f_.data.size()));
    if (!error_ && number != static_cast<int64_t>(f_.data.size())) fail("data constants are numbered in order");
    expect(':');
    skip();
    size_t begin = at_;
    VType t = vector_type(word(), begin);
    expect('{');
    DataConstant d{t, {}};
    auto width = static_cast<size_t>(byte_width(t.element));
    for (int l = 0; l < t.lanes && !error_; l++) {
      if (l) expect(',');
      uint64_t bits = element_value_text(t.element);
      const auto* bytes = reinterpret_cast<const std::byte*>(&bits);
      d.bytes.insert(d.bytes.end(), bytes, bytes + width);
    }
    expect('}');
    f_.data.push_back(std::move(d));
    end_of_line();
  }

  uint64_t element_value_text(ElementType t) {
    uint64_t bits = 0;
    std::string_view text = number_text();
    if (!error_ && !parse_element(t, text, bits)) {
      fail(at_ - text.size(), std::max(at_, at_ - text.size() + 1), fmt::format("expected a value of type {}", name_of(t)));
    }
    return bits;
  }

  // ---- instructions ----
  Inst instruction(std::string_view mnemonic, size_t begin) {
    Inst i;
    size_t end = std::min(mnemonic.find('.'), mnemonic.size());
    std::string_view name = mnemonic.substr(0, end);
    int op = 0;
    while (op < op_count && op_table[op].text != name) op++;
    if (op == op_count) {
      std::vector<std::string_view> names;
      for (const OpRow& r : op_table) names.push_back(r.text);
      std::string_view near = nearest(name, names);
      fail(begin, std::max(begin + name.size(), begin + 1),
           fmt::format("'{}' is no machine instruction{}", name, suggestion(near)));
      return i;
    }
    i.op = static_cast<Op>(op);
    for (char s : row(i.op).suffix) {
      size_t from = std::min(end + 1, mnemonic.size());
      end = std::min(mnemonic.find('.', from), mnemonic.size());
      suffix(i, s, mnemonic.substr(from, end - from), begin + from);
    }
    if (!error_ && end != mnemonic.size()) fail(begin + end, begin + mnemonic.size(), "nothing more was expected here");
    bool first = true;
    for_each_operand(i.op, [&](OperandSpec spec) {
      if (error_) return;
      if (spec.takes('?') && !optional_operand(i.op)) return;
      if (!first && spec.field != 'P') expect(',');
      first = false;
      if (!error_) operand(i, spec);
    });
    if (!error_ && i.dst.reg_class() == RegClass::mask && i.type != ElementType::invalid && f_.mask_bytes[i.dst.index()] == 0) {
      f_.mask_bytes[i.dst.index()] = static_cast<uint8_t>(byte_width(i.type));
    }
    return i;
  }

  // Is the optional operand there: the value of ret, the result of a call?
  bool optional_operand(Op op) {
    if (!is_register_next()) return false;
    if (op != Op::CallReg) return true;
    size_t end = at_;  // `callreg r1(…)` has none, `callreg r0, r1(…)` one
    while (end < text_.size() && word_char(text_[end])) end++;
    return end < text_.size() && text_[end] == ',';
  }

  void suffix(Inst& i, char s, std::string_view w, size_t begin) {
    auto choose = [&](const auto& names, std::string_view what) -> size_t {
      for (size_t n = 0; n < std::size(names); n++) {
        if (!names[n].empty() && names[n] == w) return n;
      }
      fail(begin, begin + std::max<size_t>(w.size(), 1), fmt::format("'{}' is no {}", w, what));
      return 0;
    };
    if (error_) return;
    if (s == 't') i.type = element(w, begin);
    if (s == 'f') i.from = element(w, begin);
    if (s == 'c') i.cond = static_cast<Cond>(choose(cond_names, "condition"));
    if (s == 'r') i.round = static_cast<Round>(choose(round_names, "rounding mode"));
    if (s == 'v') {
      VType t = vector_type(w, begin);
      i.type = t.element, i.lanes = t.lanes;
    }
  }

  void operand(Inst& i, OperandSpec spec) {
    switch (spec.field) {
      case 'M': return i.op == Op::VGather ? gather_address(i) : memory(i);
      case 'I': i.imm = integer(INT64_MIN, INT64_MAX); return;
      case 'W': i.imm = static_cast<int64_t>(element_value_text(i.type)); return;
      case 'N': i.imm = integer(0, INT32_MAX); return;
      case 'S': i.symbol = symbol_number_of(symbol()); return;
      case 'P': return arguments(i);
      case 'T':
      case 'F': {
        skip();
        size_t begin = at_;
        i.targets[spec.field == 'F'] = block_id(word(), begin);
        return;
      }
      default: break;
    }
    char c = peek();
    bool digit = (c >= '0' && c <= '9') || c == '-';
    if (spec.takes('i') && digit) {
      i.imm = integer(INT64_MIN, INT64_MAX);
    } else if (spec.takes('m') && !is_register_next()) {
      memory(i);
    } else {
      register_field(i, spec.field) = reg();
    }
  }

  bool is_register_next() {
    skip();
    return at_ + 1 < text_.size() && std::strchr("rvkt", text_[at_]) && text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9';
  }

  uint32_t symbol_number_of(std::string name) {
    auto n = static_cast<uint32_t>(std::find(f_.symbols.begin(), f_.symbols.end(), name) - f_.symbols.begin());
    if (n == f_.symbols.size()) f_.symbols.push_back(std::move(name));
    return n;
  }

  void arguments(Inst& i) {
    Reg* const fields[] = {&i.a, &i.b, &i.c, &i.d, &i.base, &i.index};
    size_t n = i.op == Op::CallReg;
    expect('(');
    while (!error_ && peek() != ')') {
      if (n == 6) return fail("too many arguments: a call takes 6, one through a register 5");
      *fields[n++] = reg();
      if (!accept(',')) break;
    }
    expect(')');
  }

  void memory(Inst& i) {
    skip();
    if (peek() == '[') {
      i.mem = MemKind::memory;
      return address(i);
    }
    size_t begin = at_;
    std::string_view w = word();
    if (w == "bcast") {
      i.mem = MemKind::broadcast;
      return address(i);
    }
    if (w == "data") {
      i.mem = MemKind::data;
      i.disp = static_cast<int32_t>(integer(0, INT32_MAX));
    } else if (w == "slot") {
      i.mem = MemKind::slot;
      i.disp = static_cast<int32_t>(integer(0, INT32_MAX));
    } else if (w == "splat") {
      i.mem = MemKind::splat;
      i.imm = static_cast<int64_t>(element_value_text(i.type));
    } else {
      fail(begin, std::max(at_, begin + 1), "expected an operand: a register or an address such as [r0 + r1*4 + 16]");
    }
  }

  // [base + index*scale + disp], parts in this order, at least one of them.
  void address(Inst& i) {
    expect('[');
    bool negative = false;
    for (int part = 0; !error_; part++) {
      if (is_register_next()) {
        Reg r = reg();
        if (accept('*')) {
          if (i.index) return fail("an address has one index");
          i.index = r;
          i.scale = static_cast<uint8_t>(integer(1, 8));
        } else if (i.base) {
          return fail("an address has one base; write an index as r1*1");
        } else {
          i.base = r;
        }
      } else {
        int64_t d = integer(INT32_MIN, int64_t{INT32_MAX} + negative);
        i.disp = static_cast<int32_t>(negative ? -d : d);
      }
      if (peek() == ']') break;
      negative = peek() == '-';
      if (!accept('-')) expect('+');
    }
    expect(']');
  }

  // [base * scale + disp]: the scale belongs to the vector of indices.
  void gather_address(Inst& i) {
    i.mem = MemKind::memory;
    expect('[');
    if (!error_) i.base = reg();
    if (accept('*')) i.scale = static_cast<uint8_t>(integer(1, 8));
    bool negative = peek() == '-';
    if (negative || peek() == '+') {
      at_++;
      int64_t d = integer(0, int64_t{INT32_MAX} + negative);
      i.disp = static_cast<int32_t>(negative ? -d : d);
    }
    expect(']');
  }

  struct Placed {
    bool placed;
    size_t begin, end;  // where it was first named
  };

  const Source& source_;
  std::string_view text_;
  size_t at_ = 0;
  std::optional<Diagnostic> error_;
  std::unordered_set<std::string> names_;  // of the functions so far
  Function f_;
  Places places_;
  std::unordered_map<std::string, BlockId> block_ids_;
  std::vector<Placed> placed_;
};

}  // namespace

Result<std::vector<Function>> parse(const Source& source) { return MachineParser(source).run(); }

}  // namespace hloc::machine
