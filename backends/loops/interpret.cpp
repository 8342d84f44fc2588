// The plain interpreter. A vector loop runs its iterations in runs of lanes: every name then holds one element per lane,
// and each statement is one pass over them, so that even large kernels can be checked.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/loops/scalar.h"
#include "backends/loops/walk.h"

namespace hloc::loops {
namespace {

constexpr size_t most_lanes = 128;

size_t width_of(ElementType t) { return static_cast<size_t>(byte_width(t)); }

// One element for each lane, eight bytes of room each; `wide`: all lanes are filled, else only the first is.
struct LaneTable {
  std::vector<std::byte> bytes;
  std::vector<bool> wide;
  size_t lanes;

  LaneTable(size_t names, size_t most) : bytes(names * most * 8), wide(names), lanes(most) {}
  std::byte* at(uint32_t id) { return bytes.data() + id * lanes * 8; }

  // The lanes of a name: filled with the first one where all were equal so far.
  std::byte* spread(uint32_t id, size_t width, bool all) {
    std::byte* p = at(id);
    if (all && !wide[id]) {
      for (size_t i = 1; i < lanes; ++i) std::memcpy(p + i * width, p, width);
      wide[id] = true;
    }
    return p;
  }
};

class LoopInterpreter {
 public:
  LoopInterpreter(const Kernel& kernel, std::span<const std::span<std::byte>> memory)
      : kernel_(kernel), most_(has_lanes(kernel) ? most_lanes : 1), values_(kernel.values.size(), most_),
        indices_(kernel.indices.size(), most_), accumulators_(kernel.accumulators.size(), most_),
        declared_wide_(kernel.accumulators.size()) {
    runs_.fill(true);
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      const Buffer& buffer = kernel.buffers[b];
      if (buffer.role != BufferRole::local) {
        memory_.push_back(memory[b].data());
      } else {
        locals_.emplace_back(static_cast<size_t>(buffer.count) * width_of(buffer.element));
        memory_.push_back(locals_.back().data());
      }
    }
    for (ValueId v = 0; v < kernel.values.size(); ++v)
      if (kernel.is_constant(v)) std::memcpy(values_.at(v), &kernel.values[v].bits, 8);
  }

  void run() { block(kernel_.body); }

 private:
  static bool has_lanes(const Kernel& kernel) {
    bool found = false;
    for_each_statement(kernel.body, [&](const Statement& s) {
      auto* loop = s.as<Loop>();
      found |= (loop && loop->kind == LoopKind::vector) || s.as<Contract>();
    });
    return found;
  }

  // ---- Lanes ----

  const std::byte* read(ValueId v) { return values_.spread(v, width_of(kernel_.type(v)), in_lanes_); }
  std::byte* write(ValueId v) {
    values_.wide[v] = in_lanes_;
    return values_.at(v);
  }
  const int64_t* read_index(IndexId i) { return reinterpret_cast<int64_t*>(indices_.spread(i, 8, in_lanes_)); }
  int64_t* write_index(IndexId i) {
    indices_.wide[i] = in_lanes_;
    return reinterpret_cast<int64_t*>(indices_.at(i));
  }

  void evaluate(const Affine& a, int64_t* out) {
    std::fill_n(out, lanes_, a.base);
    for (const Term& t : a.terms) {
      const int64_t* index = read_index(t.index);
      for (size_t i = 0; i < lanes_; ++i) out[i] += t.coefficient * index[i];
    }
  }

  void evaluate(const std::vector<Guard>& guards, bool* out) {
    std::fill_n(out, lanes_, true);
    int64_t x[most_lanes];
    for (const Guard& g : guards) {
      evaluate(g.affine, x);
      for (size_t i = 0; i < lanes_; ++i) out[i] = out[i] && g.lo <= x[i] && x[i] < g.hi;
    }
  }

  int64_t integer_at(ElementType type, const std::byte* p) const {
    int64_t x = 0;
    std::memcpy(&x, p, width_of(type));
    int unused = 64 - bit_width(type);
    if (is_signed_integer(type)) return static_cast<int64_t>(static_cast<uint64_t>(x) << unused) >> unused;
    return type == ElementType::u64 && x < 0 ? INT64_MAX : x;
  }

  // ---- Statements ----

  void compute(const Compute& c) {
    const void* args[3] = {};
    ElementType operand = ElementType::invalid;
    for (size_t i = 0; i < facts(c.op).operands; ++i) {
      args[i] = read(c.args[i]);
      operand = kernel_.type(c.args[i]);
    }
    apply(c, operand, kernel_.type(c.result), args, write(c.result), lanes_);
  }

  void load(const Load& l) {
    size_t width = width_of(kernel_.type(l.result));
    const std::byte* otherwise = l.otherwise == no_id ? nullptr : read(l.otherwise);
    bool inside[most_lanes];
    int64_t offset[most_lanes];
    evaluate(l.access.guards, inside);
    evaluate(l.access.offset, offset);
    std::byte* out = write(l.result);
    for (size_t i = 0; i < lanes_; ++i)
      std::memcpy(out + i * width, inside[i] ? memory_[l.access.buffer] + offset[i] * static_cast<int64_t>(width) : otherwise + i * width, width);
  }

  void store(const Store& s) {
    size_t width = width_of(kernel_.type(s.value));
    const std::byte* value = read(s.value);
    bool inside[most_lanes];
    int64_t offset[most_lanes];
    evaluate(s.access.guards, inside);
    evaluate(s.access.offset, offset);
    for (size_t i = 0; i < lanes_; ++i)
      if (inside[i]) std::memcpy(memory_[s.access.buffer] + offset[i] * static_cast<int64_t>(width), value + i * width, width);
  }

  void index_value(const IndexValue& v) {
    int64_t x[most_lanes];
    evaluate(v.affine, x);
    size_t width = width_of(kernel_.type(v.result));
    std::byte* out = write(v.result);
    for (size_t i = 0; i < lanes_; ++i) std::memcpy(out + i * width, &x[i], width);  // the low bytes: wraps
  }

  void derive(IndexId id) {
    const Index& index = kernel_.indices[id];
    int64_t x[most_lanes];
    if (index.kind == IndexKind::from_value) {
      ElementType type = kernel_.type(index.value);
      const std::byte* value = read(index.value);
      for (size_t i = 0; i < lanes_; ++i)
        x[i] = std::clamp(integer_at(type, value + i * width_of(type)), index.range.lo, index.range.hi);
    } else {
      evaluate(index.of, x);
      for (size_t i = 0; i < lanes_; ++i) {
        int64_t quotient = x[i] / index.divisor - (x[i] % index.divisor < 0);
        x[i] = index.kind == IndexKind::mod ? x[i] - quotient * index.divisor : quotient;
      }
    }
    std::copy_n(x, lanes_, write_index(id));
  }

  void declare(AccId acc, ValueId v) {
    const std::byte* value = read(v);
    accumulators_.wide[acc] = in_lanes_;
    std::memcpy(accumulators_.at(acc), value, lanes_ * width_of(kernel_.type(v)));
    declared_wide_[acc] = in_lanes_;
  }

  // Lanes that have left a loop keep what they have.
  void set(AccId acc, ValueId v) {
    const std::byte* value = read(v);
    size_t width = width_of(kernel_.type(v));
    std::byte* to = accumulators_.spread(acc, width, in_lanes_);
    for (size_t i = 0; i < lanes_; ++i)
      if (runs_[i]) std::memcpy(to + i * width, value + i * width, width);
  }

  void accumulate(const Accumulate& a) {
    ElementType type = kernel_.accumulators[a.acc].type;
    const std::byte* value = read(a.value);
    if (in_lanes_ && !declared_wide_[a.acc]) return fold(a.op, type, accumulators_.at(a.acc), value, lanes_);
    std::byte result[most_lanes * 8];
    std::byte* acc = accumulators_.spread(a.acc, width_of(type), in_lanes_);
    const void* args[] = {acc, value, nullptr};
    apply({no_id, a.op, Predicate::eq, {no_id, no_id, no_id}}, type, type, args, result, lanes_);
    std::memcpy(acc, result, lanes_ * width_of(type));
  }

  void get(const Get& g) {
    size_t width = width_of(kernel_.type(g.result));
    const std::byte* acc = accumulators_.spread(g.acc, width, in_lanes_);
    std::memcpy(write(g.result), acc, lanes_ * width);
  }

  void loop(const Loop& l) {
    if (l.kind == LoopKind::vector && !in_lanes_) return in_runs(l.index, l.extent, [&](size_t) { block(l.body); });
    if (l.go_on != no_id) return loop_while(l);
    for (int64_t i = 0; i < l.extent; ++i) {
      std::fill_n(write_index(l.index), lanes_, i);
      block(l.body);
    }
  }

  // Until no lane goes on.
  void loop_while(const Loop& l) {
    std::array<bool, most_lanes> outer = runs_;
    for (int64_t i = 0; i < l.extent; ++i) {
      const std::byte* go_on = accumulators_.spread(l.go_on, 1, in_lanes_);
      bool any = false;
      for (size_t k = 0; k < lanes_; ++k) {
        runs_[k] = runs_[k] && go_on[k] != std::byte{0};
        any |= runs_[k];
      }
      if (!any) break;
      std::fill_n(write_index(l.index), lanes_, i);
      block(l.body);
    }
    runs_ = outer;
  }

  // Runs `body` with `index` spread over lanes, most_ at a time.
  template <class F>
  void in_runs(IndexId index, int64_t extent, F&& body) {
    in_lanes_ = true;
    for (int64_t from = 0; from < extent; from += static_cast<int64_t>(most_)) {
      lanes_ = static_cast<size_t>(std::min<int64_t>(extent - from, static_cast<int64_t>(most_)));
      int64_t* out = write_index(index);
      for (size_t i = 0; i < lanes_; ++i) out[i] = from + static_cast<int64_t>(i);
      body(lanes_);
    }
    in_lanes_ = false;
    lanes_ = 1;
  }

  // Calls `body` for every combination of the dimensions, the last one innermost.
  template <class F>
  void odometer(std::span<const ContractDim> dims, F&& body) {
    std::vector<int64_t> at(dims.size());
    for (const ContractDim& d : dims) *write_index(d.index) = 0;
    for (;;) {
      body();
      size_t d = dims.size();
      while (d > 0 && ++at[d - 1] == dims[d - 1].extent) at[d - 1] = 0, --d;
      for (size_t i = d == 0 ? 0 : d - 1; i < dims.size(); ++i) *write_index(dims[i].index) = at[i];
      if (d == 0) return;
    }
  }

  void operand(const Block& body, ValueId v, ElementType type, std::byte* out) {
    block(body);
    const void* args[] = {read(v), nullptr, nullptr};
    if (kernel_.type(v) == type) std::memcpy(out, args[0], lanes_ * width_of(type));
    else apply({no_id, ScalarOp::Convert, Predicate::eq, {no_id, no_id, no_id}}, kernel_.type(v), type, args, out, lanes_);
  }

  void contract(const Contract& c) {
    std::vector<ContractDim> outer, k;
    for (const ContractDim& d : c.dims) (d.role == DimRole::k ? k : outer).push_back(d);
    ContractDim last{DimRole::k, no_id, 1};
    if (!k.empty()) last = k.back(), k.pop_back();
    odometer(outer, [&] {
      std::byte sum[8] = {};
      auto run = [&](size_t n) {
        std::byte a[most_lanes * 8], b[most_lanes * 8];
        operand(c.lhs, c.lhs_value, c.accumulate, a);
        operand(c.rhs, c.rhs_value, c.accumulate, b);
        multiply_add(c.accumulate, sum, a, b, n);
      };
      odometer(k, [&] {
        if (last.index == no_id) run(1);
        else in_runs(last.index, last.extent, run);
      });
      std::memcpy(write(c.result), sum, width_of(c.accumulate));
      block(c.epilogue);
    });
  }

  void block(const Block& statements) {
    for (const Statement& s : statements) {
      std::visit(Overload{[&](const Compute& c) { compute(c); }, [&](const Load& l) { load(l); },
                          [&](const Store& x) { store(x); }, [&](const IndexValue& v) { index_value(v); },
                          [&](const Test& t) { evaluate(t.guards, reinterpret_cast<bool*>(write(t.result))); },
                          [&](const Derive& d) { derive(d.index); },
                          [&](const Declare& d) { declare(d.acc, d.init); },
                          [&](const Accumulate& a) { accumulate(a); }, [&](const Set& x) { set(x.acc, x.value); },
                          [&](const Get& g) { get(g); }, [&](const Loop& l) { loop(l); },
                          [&](const Contract& c) { contract(c); }},
                 s.what);
    }
  }

  const Kernel& kernel_;
  size_t most_, lanes_ = 1;
  bool in_lanes_ = false;
  std::array<bool, most_lanes> runs_;  // lanes that have not left a loop around
  LaneTable values_, indices_, accumulators_;
  std::vector<bool> declared_wide_;
  std::vector<std::byte*> memory_;
  std::vector<std::vector<std::byte>> locals_;
};

}  // namespace

Result<void> interpret(const Kernel& kernel, std::span<const std::span<std::byte>> memory) {
  if (auto checked = verify(kernel); !checked) return checked;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const Buffer& buffer = kernel.buffers[b];
    if (buffer.role == BufferRole::local) continue;
    size_t bytes = static_cast<size_t>(buffer.count) * width_of(buffer.element);
    if (b >= memory.size() || memory[b].size() < bytes)
      return error(ErrorKind::usage, fmt::format("buffer '{}' of kernel '{}' needs {} bytes", buffer.name, kernel.name, bytes));
  }
  LoopInterpreter(kernel, memory).run();
  return {};
}

}  // namespace hloc::loops
