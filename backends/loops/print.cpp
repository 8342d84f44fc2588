// Kernel to text. Values, indices and accumulators are numbered in the order in which they are made.
#include <fmt/format.h>

#include <algorithm>

#include "backends/loops/verify.h"
#include "backends/loops/walk.h"
#include "ir/literal_text.h"

namespace hloc::loops {
namespace {

class LoopPrinter {
 public:
  explicit LoopPrinter(const Kernel& kernel)
      : kernel_(kernel), values_(kernel.values.size(), no_id), indices_(kernel.indices.size(), no_id),
        accumulators_(kernel.accumulators.size(), no_id) {}

  // One statement under the tables' own numbers.
  std::string run(const Statement& s) {
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<uint32_t>(i);
    for (size_t i = 0; i < indices_.size(); ++i) indices_[i] = static_cast<uint32_t>(i);
    for (size_t i = 0; i < accumulators_.size(); ++i) accumulators_[i] = static_cast<uint32_t>(i);
    statement(s, 0);
    return out_.substr(0, out_.find('\n'));
  }

  std::string run() {
    out_ = "kernel " + kernel_.name + "(";
    constexpr std::string_view roles[] = {"in", "out", "local"};
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const Buffer& buffer = kernel_.buffers[b];
      out_ += fmt::format("{}{} {}: {}[{}]", b == 0 ? "" : ", ", roles[static_cast<size_t>(buffer.role)], buffer.name,
                          name_of(buffer.element), buffer.count);
    }
    out_ += ") {\n";
    block(kernel_.body, 1);
    return out_ + "}\n";
  }

 private:
  static uint32_t number(std::vector<uint32_t>& table, uint32_t& next, uint32_t id) {
    if (id >= table.size()) return id;  // a broken kernel, being described
    if (table[id] == no_id) table[id] = next++;
    return table[id];
  }

  std::string value(ValueId v) {
    if (v >= kernel_.values.size() || !kernel_.is_constant(v)) return fmt::format("%{}", number(values_, next_value_, v));
    std::string text;
    ir::append_element(text, kernel_.type(v), reinterpret_cast<const std::byte*>(&kernel_.values[v].bits));
    return text;
  }
  std::string index(IndexId i) { return fmt::format("i{}", number(indices_, next_index_, i)); }
  std::string accumulator(AccId a) { return fmt::format("a{}", number(accumulators_, next_accumulator_, a)); }

  // Terms stand in the order of the printed numbers, which may differ from that of the tables.
  std::vector<Term> printed_order(const Affine& a) {
    std::vector<Term> terms = a.terms;
    for (const Term& t : terms) number(indices_, next_index_, t.index);
    auto printed = [this](const Term& t) { return t.index < indices_.size() ? indices_[t.index] : t.index; };
    std::sort(terms.begin(), terms.end(), [&](const Term& x, const Term& y) { return printed(x) < printed(y); });
    return terms;
  }

  std::string affine(const Affine& a) {
    std::string text;
    for (const Term& t : printed_order(a)) {
      bool minus = t.coefficient < 0;
      text += text.empty() ? (minus ? "-" : "") : (minus ? " - " : " + ");
      uint64_t c = minus ? 0 - static_cast<uint64_t>(t.coefficient) : static_cast<uint64_t>(t.coefficient);
      text += c == 1 ? index(t.index) : fmt::format("{}*{}", c, index(t.index));
    }
    if (text.empty()) return std::to_string(a.base);
    if (a.base > 0) text += fmt::format(" + {}", a.base);
    if (a.base < 0) text += fmt::format(" - {}", 0 - static_cast<uint64_t>(a.base));
    return text;
  }

  std::string guards(const std::vector<Guard>& list) {
    std::string text;
    for (const Guard& g : list)
      text += fmt::format("{}{} <= {} < {}", text.empty() ? "" : ", ", g.lo, affine(g.affine), g.hi);
    return text;
  }
  std::string when(const std::vector<Guard>& list) { return list.empty() ? "" : " if " + guards(list); }
  std::string place(const Access& a) {
    return fmt::format("{}[{}]", a.buffer < kernel_.buffers.size() ? kernel_.buffers[a.buffer].name : "?", affine(a.offset));
  }

  // The mnemonic says all operand types, so constants need none.
  std::string compute(const Compute& c) {
    std::string text(facts(c.op).text);
    if (c.op == ScalarOp::Compare) text += fmt::format(".{}", name_of(c.predicate));
    if (facts(c.op).result == ResultRule::other && c.op != ScalarOp::TotalOrder)
      text += fmt::format(".{}", name_of(kernel_.type(c.result)));
    size_t last = facts(c.op).operands - 1u;
    text += fmt::format(".{}", name_of(kernel_.type(c.args[last])));
    for (size_t i = 0; i <= last; ++i) text += (i == 0 ? " " : ", ") + value(c.args[i]);
    return text;
  }

  std::string define(ValueId v, std::string made_from) {  // numbers operands first
    return value(v) + " = " + made_from;
  }

  std::string derive(IndexId id) {
    const Index& i = kernel_.indices[id];
    std::string from;
    if (i.kind == IndexKind::from_value) from = fmt::format("clamp({}, {}, {})", value(i.value), i.range.lo, i.range.hi);
    else from = fmt::format("({}) {} {}", affine(i.of), i.kind == IndexKind::mod ? "mod" : "div", i.divisor);
    return index(id) + " = " + from;
  }

  void line(int depth, const std::string& text) {
    out_.append(static_cast<size_t>(depth) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  void loop(const Loop& l, int depth) {
    std::string head = fmt::format("for {} in {}", index(l.index), l.extent);
    if (l.kind == LoopKind::vector) head += " vector";
    if (l.kind == LoopKind::unrolled) head += " unrolled";
    if (l.grain != 0) head += fmt::format(" parallel {}", l.grain);
    if (l.go_on != no_id) head += " while " + accumulator(l.go_on);
    line(depth, head + " {");
    block(l.body, depth + 1);
    line(depth, "}");
  }

  void part(std::string_view name, ValueId v, const Block& body, int depth) {
    line(depth, fmt::format("{} {{", name));
    block(body, depth + 1);
    if (v != no_id) line(depth + 1, "yield " + value(v));
    line(depth, "}");
  }

  void contract(const Contract& c, int depth) {
    constexpr std::string_view roles[] = {"batch", "m", "n", "k"};
    std::string head = fmt::format("contract {}", name_of(c.accumulate));
    for (const ContractDim& d : c.dims)
      head += fmt::format("{}{} {} in {}", &d == &c.dims.front() ? " " : ", ", roles[static_cast<size_t>(d.role)],
                          index(d.index), d.extent);
    line(depth, head + " {");
    part("lhs", c.lhs_value, c.lhs, depth + 1);
    part("rhs", c.rhs_value, c.rhs, depth + 1);
    part("result " + value(c.result), no_id, c.epilogue, depth + 1);
    line(depth, "}");
  }

  void statement(const Statement& s, int depth) {
    std::visit(
        Overload{
            [&](const Compute& c) { line(depth, define(c.result, compute(c))); },
            [&](const Load& l) {
              std::string text = "load " + place(l.access) + when(l.access.guards);
              if (l.otherwise != no_id) text += " else " + value(l.otherwise);
              line(depth, define(l.result, text));
            },
            [&](const Store& st) {
              line(depth, fmt::format("store {}, {}{}", place(st.access), value(st.value), when(st.access.guards)));
            },
            [&](const IndexValue& i) {
              line(depth, define(i.result, fmt::format("index.{} {}", name_of(kernel_.type(i.result)), affine(i.affine))));
            },
            [&](const Test& t) { line(depth, define(t.result, "test " + guards(t.guards))); },
            [&](const Derive& d) { line(depth, derive(d.index)); },
            [&](const Declare& d) {
              std::string init = value(d.init);
              line(depth, fmt::format("declare {}: {} = {}", accumulator(d.acc),
                                      name_of(kernel_.accumulators[d.acc].type), init));
            },
            [&](const Accumulate& a) {
              line(depth, fmt::format("accumulate {} {} {}", accumulator(a.acc), facts(a.op).text, value(a.value)));
            },
            [&](const Set& a) { line(depth, fmt::format("set {} {}", accumulator(a.acc), value(a.value))); },
            [&](const Get& g) { line(depth, define(g.result, "get " + accumulator(g.acc))); },
            [&](const Loop& l) { loop(l, depth); }, [&](const Contract& c) { contract(c, depth); }},
        s.what);
  }

  void block(const Block& body, int depth) {
    for (const Statement& s : body) statement(s, depth);
  }

  const Kernel& kernel_;
  std::string out_;
  std::vector<uint32_t> values_, indices_, accumulators_;
  uint32_t next_value_ = 0, next_index_ = 0, next_accumulator_ = 0;
};

}  // namespace

std::string describe(const Kernel& kernel, const Statement& statement) { return LoopPrinter(kernel).run(statement); }

std::string print(const Kernel& kernel) { return LoopPrinter(kernel).run(); }

}  // namespace hloc::loops
