// The verifier: what targets may rely on.
#include "backends/loops/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

bool is_buffer_name(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; });
}

// Walks the tree with the set of names visible; the first broken rule is thrown as its text and caught below.
class LoopVerifier {
 public:
  explicit LoopVerifier(const Kernel& kernel)
      : kernel_(kernel), values_(kernel.values.size()), indices_(kernel.indices.size()),
        accumulators_(kernel.accumulators.size()) {}

  std::optional<Fault> run() {
    try {
      tables();
      block(kernel_.body, Where::top);
      return std::nullopt;
    } catch (const Broken& b) {
      return Fault{at_, b.message};
    }
  }

 private:
  struct Broken {
    std::string message;
  };
  template <class... A>
  static void require(bool holds, fmt::format_string<A...> format, A&&... args) {
    if (!holds) throw Broken{fmt::format(format, std::forward<A>(args)...)};
  }

  // What kind of block a statement stands in.
  enum class Where : uint8_t { top, loop, operand, epilogue };

  // Level 0: not visible. Else the number of blocks open where it was made; `plain`: made from plain statements only.
  struct Seen {
    uint32_t level = 0;
    bool made = false;
    bool plain = false;
  };

  void tables() {
    std::vector<std::string_view> names;
    require(is_buffer_name(kernel_.name), "the kernel's name is a word of letters, digits, '_', '.' and '-'");
    for (const Buffer& b : kernel_.buffers) {
      require(is_buffer_name(b.name), "buffer '{}' is not named by a word of letters, digits, '_', '.' and '-'", b.name);
      require(is_scalar_type(b.element), "buffer '{}' has elements that the loop IR does not know", b.name);
      require(b.count >= 0, "buffer '{}' has a negative size", b.name);
      names.push_back(b.name);
    }
    std::sort(names.begin(), names.end());
    auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) require(false, "two buffers are named '{}'", *twice);
    for (const Value& v : kernel_.values) {
      require(is_scalar_type(v.type), "a value has a type that the loop IR does not know");
      int bits = v.type == ElementType::pred ? 1 : bit_width(v.type);
      require(!v.is_constant || bits == 64 || v.bits >> bits == 0, "a constant has bits beyond its type");
    }
    for (const Accumulator& a : kernel_.accumulators)
      require(is_scalar_type(a.type), "an accumulator has a type that the loop IR does not know");
  }

  // ---- Names ----

  ElementType use(ValueId v) const {
    require(v < kernel_.values.size(), "a value that is not in the table is used");
    if (kernel_.is_constant(v)) return kernel_.type(v);
    require(values_[v].level != 0, "a value is used where it is not visible: its block is closed, or it is made later");
    require(parallel_level_ == 0 || values_[v].level >= parallel_level_ || values_[v].plain,
            "a value that a loop or an accumulator made is used inside a parallel loop");
    plain_ &= values_[v].plain;
    return kernel_.type(v);
  }

  void use(const Affine& a) const {
    IndexId last = 0;
    bool first = true;
    for (const Term& t : a.terms) {
      require(t.index < kernel_.indices.size(), "an index that is not in the table is used");
      require(first || t.index > last, "terms of an address are not in increasing order of index");
      require(t.coefficient != 0, "a term of an address has coefficient 0");
      require(indices_[t.index].level != 0, "an index is used where it is not visible");
      require(parallel_level_ == 0 || indices_[t.index].level >= parallel_level_ || indices_[t.index].plain,
              "an index that a loop or an accumulator made is used inside a parallel loop");
      plain_ &= indices_[t.index].plain;
      last = t.index, first = false;
    }
  }

  void use(const std::vector<Guard>& guards) const {
    for (const Guard& g : guards) use(g.affine);
  }

  // `plain`: as far as the statement itself goes; its operands have been used before.
  void define(ValueId v, ElementType type, bool plain) {
    require(v < kernel_.values.size(), "a value that is not in the table is made");
    require(!kernel_.is_constant(v), "a constant is made by a statement");
    require(!values_[v].made, "a value is made twice");
    require(kernel_.type(v) == type, "a value of type {} is made as {}", name_of(kernel_.type(v)), name_of(type));
    values_[v] = {level(), true, plain && plain_};
    scopes_.back().values.push_back(v);
  }

  void define_index(IndexId i, IndexKind kind) {
    require(i < kernel_.indices.size(), "an index that is not in the table is made");
    require((kernel_.indices[i].kind == IndexKind::loop) == (kind == IndexKind::loop), "an index is made as another kind than the table says");
    require(!indices_[i].made, "an index is made twice");
    indices_[i] = {level(), true, plain_};
    scopes_.back().indices.push_back(i);
  }

  ElementType live(AccId a) const {
    require(a < kernel_.accumulators.size(), "an accumulator that is not in the table is used");
    require(accumulators_[a].level != 0, "an accumulator is used where it is not declared");
    require(accumulators_[a].level >= parallel_level_, "an accumulator is used inside a parallel loop and declared outside it");
    return kernel_.accumulators[a].type;
  }
  void in_order(AccId a) const {
    require(accumulators_[a].level >= vector_level_, "'set' and 'get' of an accumulator declared outside a vector loop");
  }

  uint32_t level() const { return static_cast<uint32_t>(scopes_.size()); }

  // ---- Statements ----

  void access(const Access& a) const {
    require(a.buffer < kernel_.buffers.size(), "a buffer that is not in the table is used");
    use(a.offset);
    use(a.guards);
    const Buffer& b = kernel_.buffers[a.buffer];
    if (!stays_within(kernel_, a.offset, a.guards, {0, b.count - 1})) {
      Range r = range_of(kernel_, a.offset);
      require(false, "the address may leave '{}', which has {} elements: it reaches from {} to {}{}", b.name, b.count,
              r.lo, r.hi, a.guards.empty() ? "" : ", and the guards do not keep it inside");
    }
  }

  static void same(ElementType a, ElementType b) {
    require(a == b, "types {} and {} where one is expected", name_of(a), name_of(b));
  }

  void compute(const Compute& c) {
    const ScalarOpFacts& f = facts(c.op);
    ElementType operand = ElementType::invalid;
    for (size_t i = 0; i < 3; ++i) {
      require((i < f.operands) == (c.args[i] != no_id), "'{}' takes {} operands", f.text, f.operands);
      if (i >= f.operands) continue;
      ElementType t = use(c.args[i]);
      if (c.op == ScalarOp::Select && i == 0) {
        same(t, ElementType::pred);
        continue;
      }
      if (operand != ElementType::invalid) same(t, operand);
      operand = t;
    }
    require(allows(c.op, operand), "'{}' is not defined on {}", f.text, name_of(operand));
    ElementType result = kernel_.type(c.result);
    if (f.result == ResultRule::same) result = operand;
    if (f.result == ResultRule::pred) result = ElementType::pred;
    if (c.op == ScalarOp::Convert) require(result != operand, "a conversion of {} to itself", name_of(operand));
    if (c.op == ScalarOp::Bitcast)
      require(result != operand && result != ElementType::pred && bit_width(result) == bit_width(operand), "a bitcast is between two types of one width, not pred");
    if (c.op == ScalarOp::TotalOrder)
      require(is_signed_integer(result) && bit_width(result) == bit_width(operand), "'total_order' gives the signed integer of its operand's width");
    define(c.result, result, true);
  }

  void load(const Load& l) {
    access(l.access);
    const Buffer& b = kernel_.buffers[l.access.buffer];
    require(l.access.guards.empty() == (l.otherwise == no_id), "a load has guards and a value for outside them, or neither");
    if (l.otherwise != no_id) same(use(l.otherwise), b.element);
    define(l.result, b.element, b.role == BufferRole::input);
  }

  void store(const Store& s, Where where) {
    require(where != Where::operand, "a store in an operand of a contraction");
    require(!pure_loop_, "a store in a loop that ends early inside a vector loop");
    access(s.access);
    const Buffer& b = kernel_.buffers[s.access.buffer];
    require(b.role != BufferRole::input, "a store into the input '{}'", b.name);
    same(use(s.value), b.element);
  }

  void derive(const Derive& d) {
    require(d.index < kernel_.indices.size(), "an index that is not in the table is made");
    const Index& i = kernel_.indices[d.index];
    if (i.kind == IndexKind::from_value) {
      require(is_integer(use(i.value)), "an index is made from a value that is no integer");
      require(i.range.lo <= i.range.hi, "an index is clamped to an empty range");
    } else if (i.kind != IndexKind::loop) {
      use(i.of);
      require(i.divisor > 0, "a divisor is at least 1");
      Range r = range_of(kernel_, i.of);
      auto floor = [&i](int64_t x) { return x / i.divisor - (x % i.divisor < 0); };
      Range exact = i.kind == IndexKind::mod ? Range{0, i.divisor - 1} : Range{floor(r.lo), floor(r.hi)};
      require(i.range == exact, "the table's range of a derived index is not what its operand gives");
    }
    define_index(d.index, i.kind == IndexKind::loop ? IndexKind::mod : i.kind);
  }

  void accumulate(const Accumulate& a) {
    constexpr ScalarOp allowed[] = {ScalarOp::Add, ScalarOp::Mul, ScalarOp::Min, ScalarOp::Max, ScalarOp::And, ScalarOp::Or, ScalarOp::Xor};
    ElementType t = live(a.acc);
    require(!pure_loop_, "'accumulate' in a loop that ends early inside a vector loop");
    require(std::find(std::begin(allowed), std::end(allowed), a.op) != std::end(allowed), "'{}' does not accumulate: add, mul, min, max, and, or, xor do", facts(a.op).text);
    require(loops::allows(a.op, t), "'{}' is not defined on {}", facts(a.op).text, name_of(t));
    same(use(a.value), t);
  }

  void extent(IndexId i, int64_t n) const {
    require(n >= 1, "a loop runs at least once");
    require(i < kernel_.indices.size() && kernel_.indices[i].range == Range{0, n - 1}, "the table's range of a loop variable is not its loop's");
  }

  void loop(const Loop& l, Where where) {
    extent(l.index, l.extent);
    require(where == Where::top || where == Where::loop, "a loop in an operand or the epilogue of a contraction");
    require(l.grain >= 0, "a grain is at least 1");
    require(l.grain == 0 || where == Where::top, "a parallel loop inside another loop");
    uint32_t old_parallel = parallel_level_, old_vector = vector_level_;
    bool old_pure = pure_loop_;
    if (l.go_on != no_id) {
      require(l.kind == LoopKind::serial && l.grain == 0, "a loop that may end early is serial");
      same(live(l.go_on), ElementType::pred);
      in_order(l.go_on);
      pure_loop_ |= vector_level_ != 0;
    }
    if (l.grain != 0) parallel_level_ = level() + 1;
    if (l.kind == LoopKind::vector) vector_level_ = level() + 1;
    block(l.body, Where::loop, {&l.index, 1});
    parallel_level_ = old_parallel, vector_level_ = old_vector, pure_loop_ = old_pure;
  }

  void contract(const Contract& c, Where where) {
    require(where == Where::top || where == Where::loop, "a contraction inside a contraction");
    require(vector_level_ == 0, "a contraction inside a vector loop");
    uint32_t old_parallel = parallel_level_;
    if (where == Where::top) parallel_level_ = level() + 1;
    require(c.accumulate != ElementType::pred && !is_half(c.accumulate), "a contraction adds up in f32, f64 or integers");
    std::vector<IndexId> lhs, rhs, result;
    for (const ContractDim& d : c.dims) {
      extent(d.index, d.extent);
      if (d.role != DimRole::n) lhs.push_back(d.index);
      if (d.role != DimRole::m) rhs.push_back(d.index);
      if (d.role != DimRole::k) result.push_back(d.index);
    }
    operand(c.lhs, c.lhs_value, lhs, c.accumulate);
    operand(c.rhs, c.rhs_value, rhs, c.accumulate);
    scopes_.emplace_back();
    plain_ = true;
    define(c.result, c.accumulate, true);
    block(c.epilogue, Where::epilogue, result);
    close();
    parallel_level_ = old_parallel;
  }

  void operand(const Block& body, ValueId v, const std::vector<IndexId>& indices, ElementType accumulate) {
    scopes_.emplace_back();
    open(indices);
    statements(body, Where::operand);
    ElementType t = use(v);
    bool exact = t == accumulate || (is_float(t) && is_float(accumulate) && bit_width(t) < bit_width(accumulate)) ||
                 (is_integer(t) && is_integer(accumulate) && bit_width(t) < bit_width(accumulate) &&
                  (is_unsigned_integer(t) || is_signed_integer(accumulate)));
    require(exact, "an operand of type {} does not convert exactly to {}", name_of(t), name_of(accumulate));
    close();
  }

  void open(std::span<const IndexId> indices) {
    for (IndexId i : indices) {
      indices_[i] = {};  // the indices of a contraction are made anew in each of its blocks
      define_index(i, IndexKind::loop);
    }
  }

  struct Scope {
    std::vector<ValueId> values;
    std::vector<IndexId> indices;
    std::vector<AccId> accumulators;
  };
  void close() {
    for (ValueId v : scopes_.back().values) values_[v].level = 0;
    for (IndexId i : scopes_.back().indices) indices_[i].level = 0;
    for (AccId a : scopes_.back().accumulators) accumulators_[a].level = 0;
    scopes_.pop_back();
  }

  void block(const Block& body, Where where, std::span<const IndexId> indices = {}) {
    require(scopes_.size() < max_loop_depth, "blocks nest deeper than {}", max_loop_depth);
    scopes_.emplace_back();
    if (where == Where::epilogue) open(indices);
    else for (IndexId i : indices) define_index(i, IndexKind::loop);
    statements(body, where);
    close();
  }

  void statements(const Block& body, Where where) {
    for (const Statement& s : body) {
      at_ = next_++;
      statement(s, where);
    }
  }

  void statement(const Statement& s, Where where) {
    plain_ = true;
    bool pure = !(s.as<Declare>() || s.as<Accumulate>() || s.as<Set>() || s.as<Get>());
    require(pure || where != Where::operand, "an accumulator in an operand of a contraction");
    require(pure || where != Where::epilogue, "an accumulator in the epilogue of a contraction");
    std::visit(Overload{[&](const Compute& c) { compute(c); }, [&](const Load& l) { load(l); },
                        [&](const Store& st) { store(st, where); },
                        [&](const IndexValue& i) {
                          use(i.affine);
                          require(is_integer(kernel_.type(i.result)), "the value of an index is an integer");
                          define(i.result, kernel_.type(i.result), true);
                        },
                        [&](const Test& t) {
                          use(t.guards);
                          define(t.result, ElementType::pred, true);
                        },
                        [&](const Derive& d) { derive(d); }, [&](const Declare& d) { declare(d); },
                        [&](const Accumulate& a) { accumulate(a); },
                        [&](const Set& x) {
                          same(use(x.value), live(x.acc));
                          in_order(x.acc);
                        },
                        [&](const Get& g) {
                          ElementType t = live(g.acc);
                          in_order(g.acc);
                          define(g.result, t, false);
                        },
                        [&](const Loop& l) { loop(l, where); }, [&](const Contract& c) { contract(c, where); }},
               s.what);
  }

  void declare(const Declare& d) {
    require(d.acc < kernel_.accumulators.size(), "an accumulator that is not in the table is declared");
    require(!accumulators_[d.acc].made, "an accumulator is declared twice");
    same(use(d.init), kernel_.accumulators[d.acc].type);
    accumulators_[d.acc] = {level(), true, false};
    scopes_.back().accumulators.push_back(d.acc);
  }

  const Kernel& kernel_;
  std::vector<Seen> values_, indices_, accumulators_;
  std::vector<Scope> scopes_;
  uint32_t parallel_level_ = 0, vector_level_ = 0;  // level of the body of the parallel (vector) loop around; 0: none
  bool pure_loop_ = false;  // in a loop that ends early for some lanes
  mutable bool plain_ = true;  // all that the statement has used so far is plain
  size_t at_ = SIZE_MAX, next_ = 0;
};

}  // namespace

std::optional<Fault> find_fault(const Kernel& kernel) { return LoopVerifier(kernel).run(); }

Result<void> verify(const Kernel& kernel) {
  auto fault = find_fault(kernel);
  if (!fault) return {};
  std::string text;
  size_t n = 0;
  if (fault->statement != SIZE_MAX)
    for_each_statement(kernel.body, [&](const Statement& s) {
      if (n++ == fault->statement) text = describe(kernel, s);
    });
  Diagnostic d = error(ErrorKind::bug, fmt::format("kernel '{}': {}{}", kernel.name, fault->message, text.empty() ? "" : fmt::format(": `{}`", text)));
  return d;
}

}  // namespace hloc::loops
