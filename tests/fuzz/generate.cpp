#include "tests/fuzz/generate.h"

#include <algorithm>

#include <fmt/format.h>

namespace hloc::fuzz {
namespace {

struct Operand {
  std::string name, type;
  std::vector<int64_t> dims;

  int64_t count() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
};

std::string shape_text(const std::string& type, const std::vector<int64_t>& dims) { return fmt::format("{}[{}]", type, fmt::join(dims, ",")); }
std::string shape_text(const Operand& o) { return shape_text(o.type, o.dims); }
std::string list_text(const std::vector<int64_t>& list) { return fmt::format("{{{}}}", fmt::join(list, ",")); }

bool is_float_name(const std::string& t) { return t[0] == 'f' || t[0] == 'b'; }
bool is_integer_name(const std::string& t) { return t[0] == 's' || t[0] == 'u'; }

constexpr int64_t many = 16384;  // elements, from which on reductions are dealt out to many blocks of threads

class Generator {
 public:
  Generator(Random& r, const GeneratorOptions& o) : r_(r), o_(o) {}

  std::string module() {
    for (int i = 0; i < 2 + static_cast<int>(r_.below(3)); ++i) {
      Operand p{fmt::format("p{}", i), type(), shape_of_parameter()};
      body_ += fmt::format("  {} = {} parameter({})\n", p.name, shape_text(p), i);
      pool_.push_back(p);
    }
    parameters_ = pool_;
    for (const Operand& p : parameters_)
      if (p.count() > many) some_of_all(p);
    for (int i = 0; i < o_.instructions; ++i) step();
    std::vector<Operand> results;
    for (int i = 0; i < 1 + static_cast<int>(r_.below(3)); ++i) results.push_back(pool_[pool_.size() - 1 - r_.below(std::min<size_t>(pool_.size(), 6))]);
    std::string names, types;
    for (const Operand& o : results) {
      names += (names.empty() ? "" : ", ") + o.name;
      types += (types.empty() ? "" : ", ") + shape_text(o);
    }
    body_ += fmt::format("  ROOT result = ({}) tuple({})\n", types, names);
    return fmt::format("HloModule random{}\n\n{}ENTRY main {{\n{}}}\n", donations(results), computations_, body_);
  }

 private:
  // Parameters that give their memory to a result of their shape.
  std::string donations(const std::vector<Operand>& results) {
    std::string list;
    std::vector<bool> taken(parameters_.size());
    for (size_t k = 0; k < results.size(); ++k)
      for (size_t p = 0; p < parameters_.size(); ++p) {
        if (taken[p] || shape_text(parameters_[p]) != shape_text(results[k]) || r_.chance(30)) continue;
        taken[p] = true;
        list += fmt::format("{}{{{}}}: ({}, {{}}, may-alias)", list.empty() ? " " : ", ", k, p);
        break;
      }
    return list.empty() ? "" : fmt::format(", input_output_alias={{{} }}", list);
  }
  std::string type() {
    static const std::vector<std::string> exact{"f32", "f32", "f64", "s32", "s32", "pred", "f16", "bf16", "s8", "u8", "s16", "u16", "s64", "u32", "u64"};
    static const std::vector<std::string> smooth{"f32", "f32", "f32", "f64"};
    return r_.pick(o_.exact ? exact : smooth);
  }
  int64_t size() {
    static const std::vector<int64_t> sizes{1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
    return r_.chance(2) ? 0 : r_.pick(sizes);
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> dims(r_.below(4));
    for (int64_t& d : dims) d = size();
    return dims;
  }

  // Now and then one with two long sides, or with so many elements that a reduction of them is dealt out.
  std::vector<int64_t> shape_of_parameter() {
    static const std::vector<int64_t> sides{16, 17, 31, 32, 33, 48, 63, 64, 65};
    static const std::vector<std::vector<int64_t>> large{{16411}, {17408}, {2, 8704}, {131, 127}, {8704, 2}, {3, 5, 1111}};
    uint64_t kind = r_.below(100);
    if (kind < 3) return r_.pick(large);
    if (kind >= 12) return shape();
    std::vector<int64_t> dims{r_.pick(sides), r_.pick(sides)};
    if (r_.chance(40)) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(r_.below(3)), 1 + static_cast<int64_t>(r_.below(4)));
    return dims;
  }

  const Operand& any() { return pool_[r_.below(pool_.size())]; }
  const Operand* find(auto&& wanted) {
    size_t start = r_.below(pool_.size());
    for (size_t i = 0; i < pool_.size(); ++i)
      if (const Operand& o = pool_[(start + i) % pool_.size()]; wanted(o)) return &o;
    return nullptr;
  }

  Operand emit(const std::string& type, const std::vector<int64_t>& dims, const std::string& rest) {
    Operand o{fmt::format("v{}", next_++), type, dims};
    body_ += fmt::format("  {} = {} {}\n", o.name, shape_text(o), rest);
    if (o.count() <= 20000) pool_.push_back(o);
    return o;
  }

  void step() {
    switch (r_.below(18)) {
      case 0: case 1: return unary();
      case 2: case 3: case 4: return binary();
      case 5: return broadcast();
      case 6: return reshape();
      case 7: return transpose();
      case 8: return slice();
      case 9: return pad();
      case 10: reduce(Operand(any()), 50); return;
      case 11: return o_.exact ? select() : dot();
      case 12: return o_.exact ? convert() : unary();
      case 13: return concatenate();
      case 14: return r_.chance(50) ? dynamic() : reverse();
      case 15: return r_.chance(50) ? loop() : conditional();
      case 16: return o_.exact ? sort() : unary();
      default: return iota();
    }
  }

  void unary() {
    Operand x = any();
    std::vector<std::string> ops{"negate", "abs"};
    if (x.type == "pred") ops = {"not"};
    else if (is_integer_name(x.type)) ops = {"not", "negate", "sign", "popcnt", "count-leading-zeros"};
    else if (o_.exact) ops = {"negate", "abs", "sign", "ceil", "floor", "round-nearest-even", "round-nearest-afz"};
    else ops = {"tanh", "logistic", "sine", "cosine", "negate", "abs", "exponential-minus-one"};
    if (x.type[0] == 'u') ops.erase(std::remove(ops.begin(), ops.end(), "sign"), ops.end());
    std::string op = r_.pick(ops);
    // Of a large number a difference in the last places is a large one.
    if (op == "sine" || op == "cosine") x = emit(x.type, x.dims, fmt::format("tanh({})", x.name));
    emit(x.type, x.dims, fmt::format("{}({})", op, x.name));
  }

  // Another operand of the same type: one from the pool, or a constant of that shape.
  std::string like(const Operand& x) {
    if (const Operand* y = find([&](const Operand& o) { return o.type == x.type && o.dims == x.dims && o.name != x.name; }); y && r_.chance(80)) return y->name;
    Operand c = constant(x.type);
    return emit(x.type, x.dims, fmt::format("broadcast({}), dimensions={{}}", c.name)).name;
  }

  Operand constant(const std::string& t) {
    std::string text = t == "pred" ? (r_.chance(50) ? "true" : "false") : t[0] == 'u' ? std::to_string(r_.below(9)) : std::to_string(static_cast<int64_t>(r_.below(9)) - 4);
    if (is_float_name(t) && r_.chance(50)) text += ".5";
    return emit(t, {}, fmt::format("constant({})", text));
  }

  void binary() {
    Operand x = any();
    std::string y = like(x);
    std::vector<std::string> ops{"add", "multiply", "subtract", "maximum", "minimum"};
    if (x.type == "pred") ops = {"and", "or", "xor"};
    else if (is_integer_name(x.type)) ops = {"add", "multiply", "subtract", "maximum", "minimum", "divide", "remainder", "and", "or", "xor", "shift-left", "shift-right-logical", "shift-right-arithmetic"};
    else if (o_.exact) ops.insert(ops.end(), {"divide", "remainder"});
    if (o_.exact && r_.chance(20)) {
      static const std::vector<std::string> directions{"EQ", "NE", "LT", "LE", "GT", "GE"};
      emit("pred", x.dims, fmt::format("compare({}, {}), direction={}", x.name, y, r_.pick(directions)));
      return;
    }
    emit(x.type, x.dims, fmt::format("{}({}, {})", r_.pick(ops), x.name, y));
  }

  void broadcast() {
    Operand x = any();
    if (x.dims.size() >= 3 || x.count() > many) return;
    std::vector<int64_t> dims, map;
    for (int64_t d : x.dims) {
      if (r_.chance(40)) dims.push_back(size());
      map.push_back(static_cast<int64_t>(dims.size()));
      dims.push_back(d);
    }
    if (dims.size() < 3 && r_.chance(60)) dims.push_back(size());
    emit(x.type, dims, fmt::format("broadcast({}), dimensions={}", x.name, list_text(map)));
  }

  void reshape() {
    Operand x = any();
    std::vector<int64_t> dims;
    if (x.count() == 0) dims = {0};
    for (int64_t n = x.count(); n > 1;) {
      int64_t part = n;
      for (int64_t d : {2, 3, 5, 7, 11, 17})
        if (n % d == 0 && r_.chance(60)) part = r_.chance(50) ? d : n;
      dims.push_back(part);
      n /= part;
      if (dims.size() == 3) {
        dims.back() *= n;
        break;
      }
    }
    if (dims.size() < 3 && r_.chance(30)) dims.insert(dims.begin(), 1);
    emit(x.type, dims, fmt::format("reshape({})", x.name));
  }

  void transpose() {
    const Operand* square = find([](const Operand& o) { return std::ranges::count_if(o.dims, [](int64_t d) { return d >= 16; }) >= 2; });
    Operand x = square && r_.chance(70) ? *square : any();
    std::vector<int64_t> order(x.dims.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[r_.below(i)]);
    std::vector<int64_t> dims;
    for (int64_t p : order) dims.push_back(x.dims[static_cast<size_t>(p)]);
    emit(x.type, dims, fmt::format("transpose({}), dimensions={}", x.name, list_text(order)));
  }

  void slice() {
    Operand x = any();
    std::vector<int64_t> dims;
    std::string text;
    for (int64_t d : x.dims) {
      int64_t start = static_cast<int64_t>(r_.below(static_cast<uint64_t>(d + 1))), limit = start + static_cast<int64_t>(r_.below(static_cast<uint64_t>(d - start + 1)));
      if (limit == start && limit < d) ++limit;
      int64_t stride = 1 + static_cast<int64_t>(r_.below(3));
      dims.push_back((limit - start + stride - 1) / stride);
      text += fmt::format("{}[{}:{}:{}]", text.empty() ? "" : ", ", start, limit, stride);
    }
    emit(x.type, dims, fmt::format("slice({}), slice={{{}}}", x.name, text));
  }

  void pad() {
    Operand x = any();
    Operand value = constant(x.type);
    std::vector<int64_t> dims;
    std::string text;
    for (int64_t d : x.dims) {
      int64_t low = static_cast<int64_t>(r_.below(5)) - 1, high = static_cast<int64_t>(r_.below(4)) - 1, interior = static_cast<int64_t>(r_.below(3));
      int64_t n = low + high + d + std::max<int64_t>(d - 1, 0) * interior;
      if (n < 0) low = high = 1, n = 2 + d + std::max<int64_t>(d - 1, 0) * interior;
      dims.push_back(n);
      text += fmt::format("{}{}_{}_{}", text.empty() ? "" : "x", low, high, interior);
    }
    if (x.dims.empty()) return;
    emit(x.type, dims, fmt::format("pad({}, {}), padding={}", x.name, value.name, text));
  }

  void reverse() {
    Operand x = any();
    std::vector<int64_t> list;
    for (size_t i = 0; i < x.dims.size(); ++i)
      if (r_.chance(50)) list.push_back(static_cast<int64_t>(i));
    emit(x.type, x.dims, fmt::format("reverse({}), dimensions={}", x.name, list_text(list)));
  }

  void concatenate() {
    Operand x = any();
    if (x.dims.empty()) return;
    size_t d = r_.below(x.dims.size());
    const Operand* y = find([&](const Operand& o) {
      if (o.type != x.type || o.dims.size() != x.dims.size()) return false;
      for (size_t i = 0; i < o.dims.size(); ++i)
        if (i != d && o.dims[i] != x.dims[i]) return false;
      return true;
    });
    Operand other = *y;  // x itself at least
    std::vector<int64_t> dims = x.dims;
    dims[d] += other.dims[d];
    emit(x.type, dims, fmt::format("concatenate({}, {}), dimensions={{{}}}", x.name, other.name, d));
  }

  void iota() {
    std::vector<int64_t> dims = shape();
    std::string t = type();
    if (dims.empty() || t == "pred") return;
    emit(t, dims, fmt::format("iota(), iota_dimension={}", r_.below(dims.size())));
  }

  void select() {
    const Operand* p = find([](const Operand& o) { return o.type == "pred"; });
    if (!p) return;
    Operand pred = *p;
    const Operand* x = find([&](const Operand& o) { return o.dims == pred.dims && o.type != "pred"; });
    if (!x) return;
    Operand a = *x;
    std::string b = like(a);
    emit(a.type, a.dims, fmt::format("select({}, {}, {})", pred.name, a.name, b));
  }

  void convert() {
    Operand x = any();
    std::string t = type();
    emit(t, x.dims, fmt::format("convert({})", x.name));
  }

  std::string reducer(const std::string& t, const std::string& op) {
    std::string name = fmt::format("reducer_{}_{}", op, t);
    if (std::find(reducers_.begin(), reducers_.end(), name) == reducers_.end()) {
      reducers_.push_back(name);
      computations_ += fmt::format("{0} {{\n  a = {1}[] parameter(0)\n  b = {1}[] parameter(1)\n  ROOT r = {1}[] {2}(a, b)\n}}\n\n", name, t, op);
    }
    return name;
  }

  // One or two reductions of many elements; sometimes what they give is used with all of them again.
  void some_of_all(const Operand& x) {
    for (uint64_t i = 1 + r_.below(2); i-- > 0;) {
      Operand all = reduce(x, 90);
      if (!all.dims.empty() || r_.chance(50)) continue;
      Operand wide = emit(x.type, x.dims, fmt::format("broadcast({}), dimensions={{}}", all.name));
      emit(x.type, x.dims, fmt::format("{}({}, {})", x.type == "pred" ? "xor" : "maximum", x.name, wide.name));
    }
  }

  // Over each dimension with a chance of so many percent.
  Operand reduce(const Operand& x, unsigned chance) {
    std::vector<int64_t> over, dims;
    for (size_t i = 0; i < x.dims.size(); ++i) (r_.chance(chance) ? over.push_back(static_cast<int64_t>(i)) : dims.push_back(x.dims[i]));
    std::vector<std::string> ops{"maximum", "minimum"};
    if (x.type == "pred") ops = {"and", "or"};
    else if (is_integer_name(x.type) || !o_.exact) ops = {"add", "maximum", "minimum"};
    std::string op = r_.pick(ops);
    Operand init = constant(x.type);
    return emit(x.type, dims, fmt::format("reduce({}, {}), dimensions={}, to_apply={}", x.name, init.name, list_text(over), reducer(x.type, op)));
  }

  void topk(const Operand& x) {
    std::vector<int64_t> dims = x.dims;
    dims.back() = static_cast<int64_t>(r_.below(static_cast<uint64_t>(dims.back() + 1)));
    int id = next_++;
    body_ += fmt::format("  top{} = ({}, {}) topk({}), k={}, largest={}\n", id, shape_text(x.type, dims), shape_text("s32", dims), x.name, dims.back(), r_.chance(50));
    emit(x.type, dims, fmt::format("get-tuple-element(top{}), index=0", id));
    emit("s32", dims, fmt::format("get-tuple-element(top{}), index=1", id));
  }

  // By one key or two, by orders that are none as well (LE; LT where there is a NaN): the result is the same permutation.
  std::string comparator(const std::vector<Operand>& operands) {
    static const std::vector<std::string> directions{"LT", "GT", "LT", "GT", "LE", "GE", "NE"};
    std::string name = fmt::format("comparator{}", next_++), parameters, key = operands[0].type;
    for (size_t i = 0; i < operands.size(); ++i)
      for (size_t side = 0; side < 2; ++side)
        parameters += fmt::format("  {}{} = {}[] parameter({})\n", side == 0 ? "a" : "b", i, operands[i].type, 2 * i + side);
    // The total order sees signs of NaNs, which arithmetic does not promise.
    std::string type = is_float_name(key) && operands[0].name[0] == 'p' && r_.chance(40) ? ", type=TOTALORDER" : "";
    std::string first = fmt::format("pred[] compare(a0, b0), direction={}{}\n", r_.pick(directions), type);
    if (operands.size() == 1 || r_.chance(50)) {
      computations_ += fmt::format("{} {{\n{}  ROOT r = {}}}\n\n", name, parameters, first);
    } else {
      computations_ += fmt::format(
          "{} {{\n{}  first = {}  same = pred[] compare(a0, b0), direction=EQ\n  then = pred[] compare(a1, b1), direction={}\n"
          "  both = pred[] and(same, then)\n  ROOT r = pred[] or(first, both)\n}}\n\n",
          name, parameters, first, r_.pick(directions));
    }
    return name;
  }

  void sort() {
    Operand x = r_.chance(40) ? pool_[0] : any();
    if (x.dims.empty()) return;
    if ((!is_float_name(x.type) || x.name[0] == 'p') && r_.chance(20)) return topk(x);
    std::vector<Operand> operands{x};
    while (operands.size() < 4 && r_.chance(50)) {
      const Operand* y = find([&](const Operand& o) { return o.dims == x.dims; });
      operands.push_back(*y);  // x itself at least
    }
    std::string names, types;
    for (const Operand& o : operands) {
      names += (names.empty() ? "" : ", ") + o.name;
      types += (types.empty() ? "" : ", ") + shape_text(o);
    }
    size_t dim = r_.below(x.dims.size());
    std::string rest = fmt::format("sort({}), dimensions={{{}}}, is_stable=true, to_apply={}", names, dim, comparator(operands));
    if (operands.size() == 1) {
      emit(x.type, x.dims, rest);
      return;
    }
    int id = next_++;
    body_ += fmt::format("  sorted{} = ({}) {}\n", id, types, rest);
    for (size_t i = 0; i < operands.size(); ++i)
      if (i == 0 || r_.chance(60)) emit(operands[i].type, x.dims, fmt::format("get-tuple-element(sorted{}), index={}", id, i));
  }

  void dot() {
    const Operand* x = find([](const Operand& o) { return !o.dims.empty(); });
    if (!x) return;
    Operand a = *x;
    size_t k = r_.below(a.dims.size());
    const Operand* y = find([&](const Operand& o) { return o.type == a.type && !o.dims.empty() && std::find(o.dims.begin(), o.dims.end(), a.dims[k]) != o.dims.end(); });
    if (!y) return;
    Operand b = *y;
    auto kb = static_cast<size_t>(std::find(b.dims.begin(), b.dims.end(), a.dims[k]) - b.dims.begin());
    std::vector<int64_t> dims;
    for (size_t i = 0; i < a.dims.size(); ++i)
      if (i != k) dims.push_back(a.dims[i]);
    for (size_t i = 0; i < b.dims.size(); ++i)
      if (i != kb) dims.push_back(b.dims[i]);
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    if (n > 20000 || dims.size() > 4) return;
    emit(a.type, dims, fmt::format("dot({}, {}), lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}", a.name, b.name, k, kb));
  }

  void dynamic() {
    Operand x = any();
    if (x.dims.empty() || x.count() == 0) return;
    std::vector<int64_t> sizes;
    std::string starts;
    for (int64_t d : x.dims) {
      sizes.push_back(1 + static_cast<int64_t>(r_.below(static_cast<uint64_t>(d))));
      const Operand* known = find([](const Operand& o) { return o.type == "s32" && o.dims.empty(); });
      Operand s = known && r_.chance(40) ? *known : emit("s32", {}, fmt::format("constant({})", static_cast<int64_t>(r_.below(12)) - 3));
      starts += ", " + s.name;
    }
    Operand part = emit(x.type, sizes, fmt::format("dynamic-slice({}{}), dynamic_slice_sizes={}", x.name, starts, list_text(sizes)));
    if (r_.chance(50)) emit(x.type, x.dims, fmt::format("dynamic-update-slice({}, {}{})", x.name, part.name, starts));
  }

  // A computation of its own, with what has been named so far.
  Generator child() {
    Generator c(r_, o_);
    c.depth_ = depth_ + 1;
    c.next_ = next_;
    c.reducers_ = reducers_;
    return c;
  }
  void take_over(Generator& c, const std::string& computation) {
    next_ = c.next_;
    reducers_ = c.reducers_;
    computations_ += c.computations_ + computation;
  }
  // A value of the same type and shape: the newest of some tries, at worst `x`.
  std::string same_type(const Operand& x) {
    const Operand* y = find([&](const Operand& o) { return o.type == x.type && o.dims == x.dims && o.name != x.name; });
    return y ? y->name : x.name;
  }

  // Where results are compared bit by bit, bodies are anything; else only what does not let errors grow.
  void some_steps() {
    if (o_.exact) {
      for (uint64_t i = 1 + r_.below(6); i-- > 0;) step();
    } else {
      Operand x = any();
      emit(x.type, x.dims, fmt::format("{}({}, {})", x.type == "pred" ? "xor" : "maximum", x.name, like(x)));
    }
  }

  // What frontends make of an index into `size` elements, negative ones counting from the end; and its neighbour, kept inside.
  void use_index(const std::string& i, int64_t size) {
    Operand zero = emit("s32", {}, "constant(0)"), n = emit("s32", {}, fmt::format("constant({})", size));
    Operand negative = emit("pred", {}, fmt::format("compare({}, {}), direction={}", i, zero.name, r_.chance(80) ? "LT" : "LE"));
    Operand wrapped = emit("s32", {}, fmt::format("add({}, {})", i, n.name));
    Operand at = emit("s32", {}, fmt::format("select({}, {}, {})", negative.name, wrapped.name, i));
    emit("s32", {}, fmt::format("{}({}, {})", r_.chance(50) ? "minimum" : "remainder", at.name, n.name));
  }

  // for (i = 0; i < n; ++i), up or down, over some carries: changing, unchanging, constant, never read.
  void loop() {
    if (depth_ >= 2) return;
    int id = next_++;
    bool down = r_.chance(30);
    Operand start = emit("s32", {}, fmt::format("constant({})", static_cast<int64_t>(r_.below(5)) - (down ? 0 : 2)));
    std::vector<Operand> carries{start};
    for (uint64_t i = 1 + r_.below(4); i-- > 0;) carries.push_back(r_.chance(20) ? constant(type()) : any());
    std::string types, initial;
    for (const Operand& c : carries) {
      types += (types.empty() ? "" : ", ") + shape_text(c);
      initial += (initial.empty() ? "" : ", ") + c.name;
    }
    Generator body = child();
    std::string elements;
    for (size_t i = 0; i < carries.size(); ++i) {
      Operand element{fmt::format("e{}", i), carries[i].type, carries[i].dims};
      body.body_ += fmt::format("  {} = {} get-tuple-element(t), index={}\n", element.name, shape_text(element), i);
      body.pool_.push_back(element);
    }
    body.body_ += fmt::format("  one = s32[] constant({})\n  i = s32[] {}(e0, one)\n", 1 + r_.below(2), down ? "subtract" : "add");
    if (r_.chance(40)) body.use_index(r_.chance(80) ? "e0" : "i", 3 + static_cast<int64_t>(r_.below(4)));
    body.some_steps();
    std::string next = "i";
    for (size_t i = 1; i < carries.size(); ++i)
      next += ", " + (r_.chance(30) ? fmt::format("e{}", i) : body.same_type({fmt::format("e{}", i), carries[i].type, carries[i].dims}));
    take_over(body, fmt::format("body{0} {{\n  t = ({1}) parameter(0)\n{2}  ROOT r = ({1}) tuple({3})\n}}\n\n"
                                "cond{0} {{\n  t = ({1}) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n  n = s32[] constant({4})\n"
                                "  ROOT c = pred[] compare(i, n), direction={5}\n}}\n\n",
                                id, types, body.body_, next, static_cast<int64_t>(r_.below(6)) - (down ? 3 : 0),
                                r_.chance(80) ? (down ? "GT" : "LT") : (down ? "GE" : "LE")));
    body_ += fmt::format("  init{0} = ({1}) tuple({2})\n  loop{0} = ({1}) while(init{0}), condition=cond{0}, body=body{0}\n", id, types, initial);
    for (size_t i = 0; i < carries.size(); ++i)
      if (r_.chance(60)) emit(carries[i].type, carries[i].dims, fmt::format("get-tuple-element(loop{}), index={}", id, i));
  }

  void conditional() {
    if (depth_ >= 2) return;
    const Operand* p = find([](const Operand& o) { return o.type == "pred" && o.dims.empty(); });
    Operand which = p && r_.chance(80) ? *p : constant("pred"), x = any(), other = any();
    int id = next_++;
    std::string types = fmt::format("{}, {}", shape_text(x), shape_text(other));
    for (const char* side : {"then", "else"}) {
      Generator branch = child();
      branch.body_ = fmt::format("  a = {} get-tuple-element(t), index=0\n  b = {} get-tuple-element(t), index=1\n", shape_text(x), shape_text(other));
      branch.pool_ = {{"a", x.type, x.dims}, {"b", other.type, other.dims}};
      branch.some_steps();
      std::string result = branch.same_type({"a", x.type, x.dims});
      take_over(branch, fmt::format("{}{} {{\n  t = ({}) parameter(0)\n{}  ROOT r = ({}) tuple({})\n}}\n\n", side, id, types, branch.body_, shape_text(x), result));
    }
    body_ += fmt::format("  both{0} = ({1}) tuple({2}, {3})\n  cond{0} = ({4}) conditional({5}, both{0}, both{0}), true_computation=then{0}, false_computation=else{0}\n",
                         id, types, x.name, other.name, shape_text(x), which.name);
    emit(x.type, x.dims, fmt::format("get-tuple-element(cond{}), index=0", id));
  }

  Random& r_;
  const GeneratorOptions& o_;
  std::string computations_, body_;
  std::vector<std::string> reducers_;
  std::vector<Operand> pool_, parameters_;
  int next_ = 0, depth_ = 0;  // depth: of computations
};

}  // namespace

std::string generate_module(Random& random, const GeneratorOptions& options) { return Generator(random, options).module(); }

}  // namespace hloc::fuzz
