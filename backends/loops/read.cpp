// Text to Kernel. The grammar is what print.cpp writes; names of values, indices and accumulators are free.
#include <fmt/format.h>

#include <charconv>
#include <string>
#include <unordered_map>

#include "backends/loops/loops.h"
#include "backends/loops/verify.h"
#include "ir/literal_text.h"
#include "ir/support/check.h"

namespace hloc::loops {
namespace {

// Numbers in addresses are kept far from the ends of int64_t, so that sums of a few of them cannot overflow.
constexpr int64_t largest_number = int64_t{1} << 52;

struct LoopSyntaxError {
  Loc at;
  std::string message;
};

constexpr bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_word(char c) { return is_word_start(c) || (c >= '0' && c <= '9'); }

// Characters to words, numbers and punctuation; every expectation says what it wanted.
class LoopScanner {
 public:
  explicit LoopScanner(const Source& source) : text_(source.text) { skip_blanks(); }

  uint32_t at() const { return static_cast<uint32_t>(pos_); }
  bool at_end() const { return pos_ == text_.size(); }

  [[noreturn]] void fail(const std::string& message, Loc where) const { throw LoopSyntaxError{where, message}; }
  [[noreturn]] void fail(const std::string& message) const { fail(message, {at(), at() + 1}); }

  bool accept(std::string_view token) {
    if (text_.substr(pos_, token.size()) != token) return false;
    size_t end = pos_ + token.size();
    if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
    pos_ = end;
    skip_blanks();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("expected '{}' here, found {}", token, found()));
  }
  bool peek(std::string_view token) const { return text_.substr(pos_, token.size()) == token; }

  std::string_view word(std::string_view what) {
    if (at_end() || !is_word_start(text_[pos_])) fail(fmt::format("expected {} here, found {}", what, found()));
    return take([](char c) { return is_word(c); });
  }
  // A word with '.' and '-' inside: mnemonics and the names of kernels and buffers.
  std::string_view dotted(std::string_view what) {
    if (at_end() || !is_word_start(text_[pos_])) fail(fmt::format("expected {} here, found {}", what, found()));
    return take([](char c) { return is_word(c) || c == '.' || c == '-'; });
  }
  std::string_view value_name() {
    if (at_end() || text_[pos_] != '%') fail(fmt::format("expected a value like %0 here, found {}", found()));
    size_t begin = pos_++;
    while (pos_ < text_.size() && is_word(text_[pos_])) ++pos_;
    std::string_view name = text_.substr(begin, pos_ - begin);
    if (name.size() == 1) fail("a value's name follows '%'", {static_cast<uint32_t>(begin), at()});
    skip_blanks();
    return name;
  }
  // A constant as literal_text writes it: nan(0x400001), -inf, 1.5e-3, true.
  std::string_view constant() {
    size_t begin = pos_;
    while (pos_ < text_.size() && (is_word(text_[pos_]) || text_[pos_] == '.' || text_[pos_] == '+' || text_[pos_] == '-')) ++pos_;
    if (pos_ < text_.size() && text_[pos_] == '(' && pos_ > begin)
      while (pos_ < text_.size() && text_[pos_ - 1] != ')' && text_[pos_] != '\n') ++pos_;
    std::string_view token = text_.substr(begin, pos_ - begin);
    if (token.empty()) fail(fmt::format("expected a value or a constant here, found {}", found()));
    skip_blanks();
    return token;
  }
  int64_t number() {
    size_t begin = pos_;
    if (pos_ < text_.size() && text_[pos_] == '-') ++pos_;
    int64_t n = 0;
    auto [end, error] = std::from_chars(text_.data() + begin, text_.data() + text_.size(), n);
    if (error == std::errc::invalid_argument) {
      pos_ = begin;
      fail(fmt::format("expected an integer here, found {}", found()));
    }
    pos_ = static_cast<size_t>(end - text_.data());
    Loc where{static_cast<uint32_t>(begin), at()};
    if (error != std::errc()) fail("the number does not fit into 64 bits", where);
    skip_blanks();
    return n;
  }
  int64_t small_number() {
    uint32_t begin = at();
    int64_t n = number();
    if (n > largest_number || n < -largest_number) fail("numbers in addresses are at most 2^52", {begin, begin + 1});
    return n;
  }

 private:
  template <class F>
  std::string_view take(F&& belongs) {
    size_t begin = pos_;
    while (pos_ < text_.size() && belongs(text_[pos_])) ++pos_;
    std::string_view taken = text_.substr(begin, pos_ - begin);
    skip_blanks();
    return taken;
  }

  std::string found() const {
    if (at_end()) return "the end of the text";
    size_t end = pos_;
    while (end < text_.size() && end < pos_ + 20 && is_word(text_[end])) ++end;
    return fmt::format("'{}'", text_.substr(pos_, std::max<size_t>(end - pos_, 1)));
  }

  void skip_blanks() {
    while (pos_ < text_.size()) {
      char c = text_[pos_];
      if (c == '/' && pos_ + 1 < text_.size() && text_[pos_ + 1] == '/') {
        while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++pos_;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  size_t pos_ = 0;
};

class LoopReader {
 public:
  explicit LoopReader(const Source& source) : in_(source) {}

  Kernel run() {
    in_.expect("kernel");
    kernel_.name = in_.dotted("the kernel's name");
    in_.expect("(");
    if (!in_.accept(")")) {
      do buffer();
      while (in_.accept(","));
      in_.expect(")");
    }
    kernel_.body = braced_block();
    if (!in_.at_end()) in_.fail("the text goes on after the kernel's closing '}'; one file holds one kernel");
    return std::move(kernel_);
  }

  Loc place(size_t statement) const { return statement < places_.size() ? places_[statement] : Loc{0, 6}; }

 private:
  using Names = std::unordered_map<std::string_view, uint32_t>;

  uint32_t define(Names& names, std::string_view name, uint32_t begin, uint32_t id, std::string_view kind) {
    if (!names.try_emplace(name, id).second)
      in_.fail(fmt::format("{} '{}' is already defined", kind, name), here(begin, name));
    return id;
  }
  static Loc here(uint32_t begin, std::string_view name) { return {begin, begin + static_cast<uint32_t>(name.size())}; }

  uint32_t find(const Names& names, std::string_view name, uint32_t begin, std::string_view kind) {
    if (auto it = names.find(name); it != names.end()) return it->second;
    std::vector<std::string_view> known;
    for (const auto& entry : names) known.push_back(entry.first);
    std::string_view near = nearest(name, known);
    in_.fail(fmt::format("there is no {} '{}' above{}", kind, name, suggestion(near)),
             here(begin, name));
  }

  ElementType type_named(std::string_view name, uint32_t begin) {
    for (int t = 1; t <= static_cast<int>(ElementType::c128); ++t)
      if (auto type = static_cast<ElementType>(t); is_scalar_type(type) && name_of(type) == name) return type;
    in_.fail(fmt::format("'{}' is not an element type of the loop IR: pred, s8…s64, u8…u64, f16, bf16, f32, f64", name),
             here(begin, name));
  }
  ElementType type() {
    uint32_t begin = in_.at();
    return type_named(in_.word("an element type"), begin);
  }

  void buffer() {
    Buffer b;
    if (in_.accept("in")) b.role = BufferRole::input;
    else if (in_.accept("out")) b.role = BufferRole::output;
    else if (in_.accept("local")) b.role = BufferRole::local;
    else in_.fail("expected a buffer here: 'in', 'out' or 'local', its name, its type");
    uint32_t begin = in_.at();
    std::string_view name = in_.dotted("the buffer's name");
    define(buffers_, name, begin, static_cast<uint32_t>(kernel_.buffers.size()), "buffer");
    b.name = name;
    in_.expect(":");
    b.element = type();
    in_.expect("[");
    b.count = in_.small_number();
    in_.expect("]");
    kernel_.buffers.push_back(std::move(b));
  }

  // ---- Operands ----

  ValueId value(ElementType type) {
    uint32_t begin = in_.at();
    if (in_.peek("%")) return find(values_, in_.value_name(), begin, "value");
    std::string_view text = in_.constant();
    uint64_t bits = 0;
    switch (ir::parse_element(text, type, reinterpret_cast<std::byte*>(&bits))) {
      case ir::ElementError::none: break;
      case ir::ElementError::not_a_number:
        in_.fail(fmt::format("'{}' is neither a value like %0 nor a constant of type {}", text, name_of(type)), here(begin, text));
      case ir::ElementError::out_of_range:
        in_.fail(fmt::format("{} is out of the range of {}", text, name_of(type)), here(begin, text));
    }
    auto key = fmt::format("{} {}", name_of(type), bits);
    auto [it, is_new] = constants_.try_emplace(std::move(key), static_cast<ValueId>(kernel_.values.size()));
    if (is_new) kernel_.values.push_back({type, true, bits});
    return it->second;
  }

  IndexId index() {
    uint32_t begin = in_.at();
    return find(indices_, in_.word("an index"), begin, "index");
  }

  // [-] term (± term)*, a term being N, N*i or i.
  Affine affine() {
    Affine sum;
    bool minus = in_.accept("-");
    for (;;) {
      int64_t factor = minus ? -1 : 1;
      bool is_number = in_.peek("0") || in_.peek("1") || in_.peek("2") || in_.peek("3") || in_.peek("4") ||
                       in_.peek("5") || in_.peek("6") || in_.peek("7") || in_.peek("8") || in_.peek("9");
      if (is_number) {
        factor *= in_.small_number();
        sum += in_.accept("*") ? Affine::of(index(), factor) : Affine(factor);
      } else {
        sum += Affine::of(index(), factor);
      }
      bool too_large = sum.base > largest_number || sum.base < -largest_number;
      for (const Term& t : sum.terms) too_large |= t.coefficient > largest_number || t.coefficient < -largest_number;
      if (too_large) in_.fail("numbers in addresses are at most 2^52");
      if (in_.accept("+")) minus = false;
      else if (in_.accept("-")) minus = true;
      else return sum;
    }
  }

  std::vector<Guard> guards() {
    std::vector<Guard> list;
    do {
      Guard g;
      g.lo = in_.small_number();
      in_.expect("<=");
      g.affine = affine();
      in_.expect("<");
      g.hi = in_.small_number();
      list.push_back(std::move(g));
    } while (in_.accept(","));
    return list;
  }

  Access access() {
    uint32_t begin = in_.at();
    Access a;
    a.buffer = find(buffers_, in_.dotted("a buffer"), begin, "buffer");
    in_.expect("[");
    a.offset = affine();
    in_.expect("]");
    return a;
  }

  AccId accumulator() {
    uint32_t begin = in_.at();
    return find(accumulators_, in_.word("an accumulator"), begin, "accumulator");
  }

  // ---- Statements ----

  Block braced_block() {
    in_.expect("{");
    Block b = statements();
    in_.expect("}");
    return b;
  }

  Block statements() {
    if (++depth_ > max_loop_depth) in_.fail(fmt::format("blocks nest deeper than {}", max_loop_depth));
    Block b;
    while (!in_.peek("}") && !in_.peek("yield")) {
      if (in_.at_end()) in_.fail("the text ends inside a block; expected '}'");
      statement(b);
    }
    --depth_;
    return b;
  }

  void statement(Block& block) {
    uint32_t begin = in_.at();
    size_t place = places_.size();
    places_.push_back({begin, begin + 1});
    Statement s = statement_of(begin);
    if (!s.as<Loop>() && !s.as<Contract>()) places_[place].end = in_.at();
    block.push_back(std::move(s));
  }

  Statement statement_of(uint32_t begin) {
    if (in_.peek("%")) {
      std::string_view name = in_.value_name();
      in_.expect("=");
      ElementType result = ElementType::invalid;
      Statement s = definition(result);
      return with_result(std::move(s), define_value(name, begin, result));
    }
    if (in_.accept("for")) return {loop()};
    if (in_.accept("contract")) return {contract()};
    if (in_.accept("store")) return {store()};
    if (in_.accept("declare")) return {declare()};
    if (in_.accept("accumulate")) return {accumulate()};
    if (in_.accept("set")) {
      Set s;
      s.acc = accumulator();
      s.value = value(kernel_.accumulators[s.acc].type);
      return {s};
    }
    return {derive()};
  }

  ValueId define_value(std::string_view name, uint32_t begin, ElementType type) {
    auto id = static_cast<ValueId>(kernel_.values.size());
    kernel_.values.push_back({type, false, 0});
    return define(values_, name, begin, id, "value");
  }

  static Statement with_result(Statement s, ValueId v) {
    if (auto* x = s.as<Compute>()) x->result = v;
    if (auto* x = s.as<Load>()) x->result = v;
    if (auto* x = s.as<IndexValue>()) x->result = v;
    if (auto* x = s.as<Test>()) x->result = v;
    if (auto* x = s.as<Get>()) x->result = v;
    return s;
  }

  Statement definition(ElementType& result) {
    if (in_.accept("load")) return {load(result)};
    if (in_.accept("test")) {
      result = ElementType::pred;
      return {Test{no_id, guards()}};
    }
    if (in_.accept("get")) {
      AccId acc = accumulator();
      result = kernel_.accumulators[acc].type;
      return {Get{no_id, acc}};
    }
    uint32_t begin = in_.at();
    std::string_view mnemonic = in_.dotted("an operation");
    if (mnemonic.substr(0, 6) == "index.") {
      result = type_named(mnemonic.substr(6), begin + 6);
      return {IndexValue{no_id, affine()}};
    }
    return {compute(mnemonic, begin, result)};
  }

  // OP[.PREDICATE][.RESULT TYPE].OPERAND TYPE a, b, c
  Compute compute(std::string_view mnemonic, uint32_t begin, ElementType& result) {
    std::vector<std::string_view> parts;
    for (size_t from = 0; from <= mnemonic.size();) {
      size_t dot = std::min(mnemonic.find('.', from), mnemonic.size());
      parts.push_back(mnemonic.substr(from, dot - from));
      from = dot + 1;
    }
    const ScalarOp* op = find_scalar_op(parts[0]);
    if (!op) in_.fail(unknown_operation(parts[0]), here(begin, parts[0]));
    const ScalarOpFacts& f = facts(*op);
    Compute c;
    c.op = *op;
    bool says_result = f.result == ResultRule::other && *op != ScalarOp::TotalOrder;
    size_t expected = 2 + (*op == ScalarOp::Compare) + says_result;
    if (parts.size() != expected) in_.fail(fmt::format("'{}' has {} parts after dots; '{}' takes {}", mnemonic, parts.size() - 1, f.text, expected - 1), here(begin, mnemonic));
    if (*op == ScalarOp::Compare) c.predicate = predicate(parts[1], begin);
    ElementType operand = type_named(parts.back(), begin);
    result = f.result == ResultRule::pred ? ElementType::pred : says_result ? type_named(parts[1], begin) : operand;
    if (*op == ScalarOp::TotalOrder)
      result = bit_width(operand) == 16 ? ElementType::s16 : bit_width(operand) == 32 ? ElementType::s32 : ElementType::s64;
    for (size_t i = 0; i < f.operands; ++i) {
      if (i != 0) in_.expect(",");
      c.args[i] = value(*op == ScalarOp::Select && i == 0 ? ElementType::pred : operand);
    }
    return c;
  }

  static std::string unknown_operation(std::string_view name) {
    std::vector<std::string_view> names{"load", "test", "get", "index"};
    for (const ScalarOpFacts& f : all_scalar_ops()) names.push_back(f.text);
    std::string_view near = nearest(name, names);
    return fmt::format("'{}' is not an operation{}", name, suggestion(near));
  }

  Predicate predicate(std::string_view name, uint32_t begin) {
    for (int p = 0; p <= static_cast<int>(Predicate::ge); ++p)
      if (name_of(static_cast<Predicate>(p)) == name) return static_cast<Predicate>(p);
    in_.fail(fmt::format("'{}' is not a predicate: eq, ne, lt, le, gt, ge", name), here(begin, name));
  }

  Load load(ElementType& result) {
    Load l;
    l.access = access();
    result = kernel_.buffers[l.access.buffer].element;
    if (in_.accept("if")) {
      l.access.guards = guards();
      in_.expect("else");
      l.otherwise = value(result);
    }
    return l;
  }

  Store store() {
    Store s;
    s.access = access();
    in_.expect(",");
    s.value = value(kernel_.buffers[s.access.buffer].element);
    if (in_.accept("if")) s.access.guards = guards();
    return s;
  }

  Declare declare() {
    uint32_t begin = in_.at();
    std::string_view name = in_.word("an accumulator");
    Declare d;
    d.acc = define(accumulators_, name, begin, static_cast<AccId>(kernel_.accumulators.size()), "accumulator");
    in_.expect(":");
    ElementType t = type();
    kernel_.accumulators.push_back({t});
    in_.expect("=");
    d.init = value(t);
    return d;
  }

  Accumulate accumulate() {
    Accumulate a;
    a.acc = accumulator();
    uint32_t begin = in_.at();
    std::string_view name = in_.word("an operation");
    const ScalarOp* op = find_scalar_op(name);
    if (!op) in_.fail(unknown_operation(name), here(begin, name));
    a.op = *op;
    a.value = value(kernel_.accumulators[a.acc].type);
    return a;
  }

  // NAME = (affine) div N | (affine) mod N | clamp(%v, LO, HI)
  Derive derive() {
    uint32_t begin = in_.at();
    std::string_view name = in_.word("a statement");
    if (!in_.accept("=")) in_.fail(fmt::format("'{}' begins no statement: expected for, contract, store, declare, accumulate, set, or NAME = …", name), here(begin, name));
    Index i;
    if (in_.accept("clamp")) {
      i.kind = IndexKind::from_value;
      in_.expect("(");
      i.value = value(ElementType::s64);
      in_.expect(",");
      i.range.lo = in_.number();
      in_.expect(",");
      i.range.hi = in_.number();
      in_.expect(")");
    } else {
      in_.expect("(");
      i.of = affine();
      in_.expect(")");
      i.kind = in_.accept("mod") ? IndexKind::mod : (in_.expect("div"), IndexKind::floor_div);
      i.divisor = in_.small_number();
      if (i.divisor <= 0) in_.fail("a divisor is at least 1");
      i.range = derived_range(i);
    }
    return {define_index(name, begin, std::move(i))};
  }

  Range derived_range(const Index& i) const {
    if (i.kind == IndexKind::mod) return {0, i.divisor - 1};
    Range r = range_of(kernel_, i.of);
    auto floor = [&i](int64_t x) { return x / i.divisor - (x % i.divisor < 0); };
    return {floor(r.lo), floor(r.hi)};
  }

  IndexId define_index(std::string_view name, uint32_t begin, Index i) {
    auto id = static_cast<IndexId>(kernel_.indices.size());
    kernel_.indices.push_back(std::move(i));
    return define(indices_, name, begin, id, "index");
  }

  IndexId loop_variable(int64_t& extent) {
    uint32_t begin = in_.at();
    std::string_view name = in_.word("a loop variable");
    in_.expect("in");
    extent = in_.small_number();
    return define_index(name, begin, {IndexKind::loop, {0, extent - 1}, {}, 1, no_id});
  }

  Loop loop() {
    Loop l;
    l.index = loop_variable(l.extent);
    if (in_.accept("vector")) l.kind = LoopKind::vector;
    else if (in_.accept("unrolled")) l.kind = LoopKind::unrolled;
    if (in_.accept("parallel")) {
      l.grain = in_.small_number();
      if (l.grain < 1) in_.fail("a grain is at least 1");
    }
    if (in_.accept("while")) l.go_on = accumulator();
    l.body = braced_block();
    return l;
  }

  void operand(std::string_view name, Block& body, ValueId& v, ElementType accumulate) {
    in_.expect(name);
    in_.expect("{");
    body = statements();
    in_.expect("yield");
    v = value(accumulate);
    in_.expect("}");
  }

  Contract contract() {
    Contract c;
    c.accumulate = type();
    while (!in_.peek("{")) {
      if (!c.dims.empty()) in_.expect(",");
      ContractDim d;
      if (in_.accept("batch")) d.role = DimRole::batch;
      else if (in_.accept("m")) d.role = DimRole::m;
      else if (in_.accept("n")) d.role = DimRole::n;
      else if (in_.accept("k")) d.role = DimRole::k;
      else in_.fail("expected a dimension of the contraction here: 'batch', 'm', 'n' or 'k', its index, 'in', its extent");
      d.index = loop_variable(d.extent);
      c.dims.push_back(d);
    }
    in_.expect("{");
    operand("lhs", c.lhs, c.lhs_value, c.accumulate);
    operand("rhs", c.rhs, c.rhs_value, c.accumulate);
    in_.expect("result");
    uint32_t begin = in_.at();
    c.result = define_value(in_.value_name(), begin, c.accumulate);
    c.epilogue = braced_block();
    in_.expect("}");
    return c;
  }

  LoopScanner in_;
  Kernel kernel_;
  Names buffers_, values_, indices_, accumulators_;
  std::unordered_map<std::string, ValueId> constants_;
  std::vector<Loc> places_;  // of statements, outer before inner
  size_t depth_ = 0;
};

}  // namespace

Result<Kernel> read_kernel(SourceRef source) {
  LoopReader reader(*source);
  try {
    Kernel kernel = reader.run();
    if (auto fault = find_fault(kernel)) return error_at(*source, reader.place(fault->statement), fault->message);
    return kernel;
  } catch (const LoopSyntaxError& e) {
    return error_at(*source, e.at, e.message);
  }
}

}  // namespace hloc::loops
