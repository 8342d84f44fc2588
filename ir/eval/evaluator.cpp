#include "ir/eval/evaluator.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <fmt/format.h>

#include "ir/eval/quantize.h"

namespace hloc::ir::eval {
namespace {

// Bytes of all array leaves; INT64_MAX when they do not fit.
int64_t total_bytes(Type type, int bytes_per_element) {
  int64_t total = 0;
  auto add = [&total](int64_t count, int64_t width) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(count, width, &bytes) || __builtin_add_overflow(total, bytes, &total)) total = INT64_MAX;
  };
  if (type.is_array()) {
    add(type.count(), bytes_per_element ? bytes_per_element : byte_width(type.element()));
  } else if (type.is_tuple()) {
    for (Type leaf : leaves(type))
      if (leaf.is_array()) add(leaf.count(), bytes_per_element ? bytes_per_element : byte_width(leaf.element()));
  }
  return total;
}

int64_t saturating_add(int64_t a, int64_t b) { return __builtin_add_overflow(a, b, &a) ? INT64_MAX : a; }

// The value under the exact type of its instruction: ops that hand on bytes may have got another layout.
Literal under_type(Literal value, Type type) {
  if (value.type() == type || value.is_elided()) return value;
  if (type.is_array() && value.type().is_array()) return value.with_type(type);
  if (!type.is_tuple()) return value;
  std::vector<Literal> parts = value.parts();
  for (size_t i = 0; i < parts.size(); ++i) {
    Type part = type.element_type(i);
    if (part.is_array() && parts[i].type() != part) parts[i] = parts[i].with_type(part);
  }
  return Literal::tuple(type, std::move(parts));
}

}  // namespace

struct Evaluator::Frame {
  const Computation& computation;
  const Plan& plan;
  std::vector<Literal> values;
  std::vector<bool> defined;
  std::vector<uint32_t> uses;

  // The value for one use; the last one takes it.
  Literal take(Value v) {
    Literal& value = values[v->id];
    if (--uses[v->id] == 0) return std::move(value);
    return value;
  }
};

Evaluator::Evaluator(const EvalOptions& options, const Source* source)
    : options_(options), source_(source), live_bytes_(std::make_shared<std::atomic<int64_t>>(0)) {}

Body& Evaluator::body(const Computation& computation) {
  auto& body = bodies_[&computation];
  if (!body) body = std::make_unique<Body>(computation, *this);
  return *body;
}

Literal Evaluator::allocate(Type array) {
  HLOC_CHECK(array.is_array() && array.count() >= 0, "only arrays of known size are allocated");
  constexpr size_t line = 64;  // as Literal does: vector code reads these bytes
  auto size = static_cast<size_t>(array.byte_size());
  size_t rounded = (size + line - 1) / line * line;
  void* bytes = std::aligned_alloc(line, rounded == 0 ? line : rounded);
  if (bytes == nullptr) throw std::bad_alloc();
  live_bytes_->fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  std::shared_ptr<const void> owner(bytes, [live = live_bytes_, size](void* p) {
    std::free(p);
    live->fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
  });
  return Literal::view(array, std::move(owner), static_cast<std::byte*>(bytes));
}

Literal Evaluator::zeros(Type array) {
  Literal out = allocate(array);
  auto bytes = out.mutable_bytes();
  std::memset(bytes.data(), 0, bytes.size());
  return out;
}

Type Evaluator::scratch_type(Type array, ElementType element) {
  if (array.element() == element && array->quant == nullptr) return array;
  for (const TypeNode& node : scratch_types_)
    if (node.element == element && node.dims == array->dims) return Type(&node);
  TypeNode& node = scratch_types_.emplace_back(*array.node());
  node.element = element;
  node.quant = nullptr;
  return Type(&node);
}

Result<Literal> Evaluator::owned(Literal&& operand) {
  if (!operand.is_shared()) return std::move(operand);
  if (auto ok = reserve(operand.type().byte_size()); !ok) return ok.error();
  Literal copy = allocate(operand.type());
  std::ranges::copy(operand.bytes(), copy.mutable_bytes().begin());
  return copy;
}

Result<void> Evaluator::reserve(int64_t bytes) const {
  int64_t live = live_bytes_->load(std::memory_order_relaxed);
  if (bytes <= options_.max_bytes && live <= options_.max_bytes - bytes) return {};
  return fail(fmt::format("evaluating {} needs {} more bytes beside {} live ones; the limit is {}", current_name(), bytes,
                          live, options_.max_bytes),
              ErrorKind::memory);
}

std::string Evaluator::current_name() const {
  if (current_ == nullptr) return "the program";
  if (current_computation_ == nullptr) return fmt::format("'{}'", name_of(current_->op));
  return fmt::format("'{}'", current_computation_->name(current_));
}

Diagnostic Evaluator::fail(const std::string& message, ErrorKind kind) const {
  if (source_ && current_computation_ && current_) {
    Loc at = current_computation_->location(current_).text;
    if (at.end > at.begin && at.end <= source_->text.size()) {
      Diagnostic d = error_at(*source_, at, message);
      d.kind = kind;
      return d;
    }
  }
  if (!current_computation_ || !current_) return error(kind, message);
  return error(kind, fmt::format("instruction '{}' of computation '{}': {}", current_computation_->name(current_),
                                 current_computation_->name(), message));
}

const Evaluator::Plan& Evaluator::plan(const Computation& c) {
  auto [it, is_new] = plans_.try_emplace(&c);
  Plan& plan = it->second;
  if (!is_new) return plan;
  plan.uses.resize(c.size());
  plan.live.resize(c.size());
  plan.elements.resize(c.size());
  plan.live[c.root()->id] = true;
  for (Value v : c.effects()) plan.live[v->id] = true;
  std::vector<bool> only_elements(c.size(), true);
  only_elements[c.root()->id] = false;
  auto all = c.instructions();
  for (size_t i = all.size(); i-- > 0;) {
    Value v = all[i];
    if (!plan.live[v->id]) continue;
    for (Value operand : v->operands()) {
      plan.live[operand->id] = true;
      ++plan.uses[operand->id];
      if (v->op == Op::GetTupleElement) plan.elements[operand->id].push_back(v);
      else only_elements[operand->id] = false;
    }
  }
  for (size_t i = 0; i < c.size(); ++i)
    if (!only_elements[i]) plan.elements[i].clear();
  ++plan.uses[c.root()->id];
  return plan;
}

// Stores a value; a tuple that is only taken apart goes to its readers at once.
void Evaluator::define(Frame& frame, Value v, Literal value) {
  if (options_.trace) options_.trace(frame.computation, v, value);
  const auto& readers = frame.plan.elements[v->id];
  if (readers.empty()) {
    if (frame.uses[v->id] != 0) frame.values[v->id] = std::move(value);
    return;
  }
  for (Value reader : readers) {
    auto index = static_cast<size_t>(reader->as<TupleIndexAttr>().index);
    frame.values[reader->id] = under_type(value.parts()[index], reader->type);
    frame.defined[reader->id] = true;
  }
}

Result<void> Evaluator::check_static(Value v) const {
  bool is_static = v->type.is_static();
  for (Value operand : v->operands()) is_static &= operand->type.is_static();
  if (is_static) return {};
  return fail(fmt::format("{} has a dimension without a fixed size; dynamic shapes can't be evaluated yet: give the "
                          "program's parameters fixed sizes and try again",
                          current_name()));
}

Result<Literal> Evaluator::apply(Value v, std::span<Literal> operands) {
  if (++steps_ > options_.max_steps)
    return fail(fmt::format("evaluation takes more than {} steps", options_.max_steps));
  if (auto ok = check_static(v); !ok) return ok.error();
  const OpRow* row = find_op_row(v->op);
  if (row == nullptr) return fail(fmt::format("'{}' can't be evaluated", name_of(v->op)), ErrorKind::target);
  int64_t needed = row->bytes == OpRow::fresh ? total_bytes(v->type, 0) : 0;
  if (row->scratch != 0) {
    needed = saturating_add(needed, total_bytes(v->type, row->scratch));
    for (const Literal& operand : operands) needed = saturating_add(needed, total_bytes(operand.type(), row->scratch));
  }
  if (auto ok = reserve(needed); !ok) return ok.error();
  Call call{v, v->type, operands, *this};
  bool computes = is_elementwise(v->op) || v->op == Op::Dot || v->op == Op::Convolution || v->op == Op::DynamicConv;
  bool converts = v->op == Op::UniformQuantize || v->op == Op::UniformDequantize;
  auto result = computes && !converts && has_quantized_type(call) ? apply_dequantized(call, row->function)
                                                                   : row->function(call);
  if (!result) return result;
  return under_type(*std::move(result), v->type);
}

Result<void> Evaluator::step(Frame& frame, Value v) {
  if (v->op == Op::GetTupleElement) {
    if (frame.defined[v->id]) {
      if (options_.trace) options_.trace(frame.computation, v, frame.values[v->id]);
      return {};
    }
    // Reads one part without copying the list of all of them.
    const Literal& tuple = frame.values[v->operand(0)->id];
    Literal part = tuple.parts()[static_cast<size_t>(v->as<TupleIndexAttr>().index)];
    frame.take(v->operand(0));
    define(frame, v, under_type(std::move(part), v->type));
    return {};
  }
  std::vector<Literal> operands;
  operands.reserve(v->operands().size());
  for (Value operand : v->operands()) operands.push_back(frame.take(operand));
  auto result = apply(v, operands);
  if (!result) return std::move(result).error();
  define(frame, v, *std::move(result));
  return {};
}

Result<Literal> Evaluator::run(const Computation& c, std::vector<Literal> arguments) {
  if (depth_ >= max_depth)
    return fail(fmt::format("computations are nested deeper than {}", int{max_depth}));
  HLOC_CHECK(arguments.size() == c.parameters().size(), "a computation is called with as many values as it has parameters");
  const Plan& plan = this->plan(c);
  Frame frame{c, plan, std::vector<Literal>(c.size()), std::vector<bool>(c.size()), plan.uses};
  const Computation* outer_computation = current_computation_;
  Value outer = current_;
  ++depth_;
  current_computation_ = &c;
  Result<void> ok;
  for (Value v : c.instructions()) {
    if (!plan.live[v->id]) continue;
    current_ = v;
    if (v->op == Op::Parameter) {
      auto number = static_cast<size_t>(v->as<ParameterAttr>().number);
      define(frame, v, under_type(std::move(arguments[number]), v->type));
    } else if (ok = step(frame, v); !ok) {
      break;
    }
  }
  --depth_;
  current_computation_ = outer_computation;
  current_ = outer;
  if (!ok) return std::move(ok).error();
  return std::move(frame.values[c.root()->id]);
}

}  // namespace hloc::ir::eval
