#include "ir/eval/body.h"

#include <algorithm>

#include "ir/eval/evaluator.h"

namespace hloc::ir::eval {
namespace {

constexpr int64_t body_batch = 128;  // elements that a register holds
constexpr size_t register_bytes = body_batch * 16;
constexpr size_t max_registers = 4096;  // a longer body is run by the evaluator
constexpr int max_inlined_calls = 64;

bool is_plain_scalar(Type t) { return t.is_array() && t.is_static() && t.count() == 1 && t->quant == nullptr; }

bool forwards_scalar(Op op) {
  static constexpr Op forwards[] = {Op::Reshape, Op::Broadcast, Op::Copy, Op::Transpose};
  return std::ranges::find(forwards, op) != std::end(forwards);
}

// Leaves of the elements of tuple type `t` before `index`.
size_t leaves_before(Type t, int64_t index) {
  size_t count = 0;
  for (int64_t i = 0; i < index; ++i) count += leaves(t.element_type(static_cast<size_t>(i))).size();
  return count;
}

void copy_elements(std::byte* out, const std::byte* in, int width, int64_t n) {
  if (n != 1) {
    std::memmove(out, in, static_cast<size_t>(n * width));
  } else if (width == 4) {
    store<uint32_t>(out, 0, load<uint32_t>(in));
  } else if (width == 1) {
    *out = *in;
  } else {
    std::memmove(out, in, static_cast<size_t>(width));
  }
}

std::vector<bool> needed_values(const Computation& c) {
  std::vector<bool> needed(c.size());
  needed[c.root()->id] = true;
  auto all = c.instructions();
  for (size_t i = all.size(); i-- > 0;)
    if (needed[all[i]->id])
      for (Value operand : all[i]->operands()) needed[operand->id] = true;
  return needed;
}

}  // namespace

Body::Body(const Computation& computation, Evaluator& evaluator) : computation_(computation), evaluator_(evaluator) {
  std::vector<Registers> arguments;
  bool plain = computation.effects().empty();
  for (Value p : computation.parameters()) {
    parameters_.push_back(p->type.is_array() ? p->type.element() : ElementType::invalid);
    arguments.push_back({new_register(parameters_.back())});
    plain &= is_plain_scalar(p->type);
  }
  for (Type leaf : leaves(computation.result_type())) {
    results_.push_back(leaf.is_array() ? leaf.element() : ElementType::invalid);
    plain &= is_plain_scalar(leaf);
  }
  flattened_ = plain && flatten(computation, arguments, root_, 0);
  if (!flattened_) return;
  find_fold();
  for (uint32_t& r : root_) {  // a parameter among the results is copied first: outputs may be inputs
    if (r >= parameters_.size()) continue;
    uint32_t copy = new_register(register_types_[r]);
    steps_.push_back({converter(register_types_[r], register_types_[r]), Op::Convert, {r}, copy});
    r = copy;
  }
  storage_.resize(register_types_.size() * register_bytes);
  for (size_t r = 0; r < register_types_.size(); ++r) registers_.push_back(storage_.data() + r * register_bytes);
  for (const auto& [r, value] : constants_) {
    auto width = value.bytes().size();
    for (int64_t i = 0; i < body_batch; ++i)
      std::memcpy(registers_[r] + static_cast<size_t>(i) * width, value.bytes().data(), width);
  }
}

uint32_t Body::new_register(ElementType type) {
  register_types_.push_back(type);
  return static_cast<uint32_t>(register_types_.size() - 1);
}

bool Body::flatten(const Computation& computation, std::span<const Registers> arguments, Registers& root, int depth) {
  if (depth > max_inlined_calls) return false;
  std::vector<Registers> values(computation.size());
  std::vector<bool> needed = needed_values(computation);
  for (Value v : computation.instructions()) {
    if (!needed[v->id]) continue;
    if (register_types_.size() > max_registers || !flatten(v, values, arguments, depth)) return false;
  }
  root = std::move(values[computation.root()->id]);
  return true;
}

bool Body::flatten(Value v, std::vector<Registers>& values, std::span<const Registers> arguments, int depth) {
  Registers& out = values[v->id];
  std::vector<Registers> operands;
  for (Value operand : v->operands()) operands.push_back(values[operand->id]);
  if (v->op == Op::Parameter) {
    out = arguments[static_cast<size_t>(v->as<ParameterAttr>().number)];
    return true;
  }
  if (v->op == Op::Tuple) {
    for (const Registers& part : operands) out.insert(out.end(), part.begin(), part.end());
    return true;
  }
  if (v->op == Op::GetTupleElement) {
    int64_t index = v->as<TupleIndexAttr>().index;
    auto first = operands[0].begin() + static_cast<ptrdiff_t>(leaves_before(v->operand(0)->type, index));
    out.assign(first, first + static_cast<ptrdiff_t>(leaves(v->type).size()));
    return true;
  }
  if (v->op == Op::Call || v->op == Op::Fusion) return flatten(v->callee(0), operands, out, depth + 1);
  return is_plain_scalar(v->type) && flatten_kernel(v, operands, out);
}

bool Body::flatten_kernel(Value v, std::span<const Registers> operands, Registers& out) {
  for (Value operand : v->operands())
    if (!is_plain_scalar(operand->type)) return false;
  if (v->op == Op::Constant) {
    const Literal& value = v->as<ConstantAttr>().value;
    if (value.is_elided()) return false;  // the evaluator says why
    out = {new_register(v->type.element())};
    constants_.emplace_back(out[0], value);
    return true;
  }
  if (forwards_scalar(v->op)) return out = operands[0], true;
  if (operands.empty() || operands.size() > 3) return false;
  std::vector<ElementType> types;
  for (Value operand : v->operands()) types.push_back(operand->type.element());
  auto kernel = elementwise_kernel({v->op, *v->attr, types, v->type.element()});
  if (!kernel) return false;
  Step step{*kernel, v->op, {}, new_register(v->type.element())};
  for (size_t k = 0; k < operands.size(); ++k) step.in[k] = operands[k][0];
  out = {step.out};
  steps_.push_back(step);
  return true;
}

void Body::find_fold() {
  if (steps_.size() != 1 || root_.size() != 1 || parameters_.size() != 2 || root_[0] != steps_[0].out) return;
  const Step& s = steps_[0];
  bool in_order = s.in[0] == 0 && s.in[1] == 1;
  bool swapped = s.in[0] == 1 && s.in[1] == 0;
  if (!s.kernel.fold || !(in_order || (swapped && has(s.op, commutative)))) return;
  fold_ = s.kernel;
  fold_op_ = s.op;
}

Result<void> Body::run(std::span<const std::byte* const> in, std::span<std::byte* const> out, int64_t n) {
  return flattened_ ? run_steps(in, out, n) : run_evaluator(in, out, n);
}

Result<void> Body::run_steps(std::span<const std::byte* const> in, std::span<std::byte* const> out, int64_t n) {
  for (int64_t at = 0; at < n; at += body_batch) {
    int64_t m = std::min(body_batch, n - at);
    for (size_t k = 0; k < parameters_.size(); ++k)
      registers_[k] = const_cast<std::byte*>(in[k]) + at * byte_width(parameters_[k]);
    for (const Step& s : steps_) {
      const std::byte* operands[] = {registers_[s.in[0]], registers_[s.in[1]], registers_[s.in[2]]};
      s.kernel.run(s.kernel, operands, registers_[s.out], m);
    }
    for (size_t j = 0; j < root_.size(); ++j) {
      int width = byte_width(results_[j]);
      copy_elements(out[j] + at * width, registers_[root_[j]], width, m);
    }
  }
  return {};
}

Result<void> Body::run_evaluator(std::span<const std::byte* const> in, std::span<std::byte* const> out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    std::vector<Literal> arguments;
    for (Value p : computation_.parameters()) {
      if (!p->type.is_array() || p->type.count() != 1) return evaluator_.fail("the body takes scalars here");
      Literal argument = Literal::uninitialized(p->type);
      auto bytes = argument.mutable_bytes();
      std::memcpy(bytes.data(), in[arguments.size()] + i * static_cast<int64_t>(bytes.size()), bytes.size());
      arguments.push_back(std::move(argument));
    }
    auto result = evaluator_.run(computation_, std::move(arguments));
    if (!result) return std::move(result).error();
    std::span<const Literal> parts = result->is_tuple() ? std::span(result->parts()) : std::span(&*result, 1);
    if (parts.size() != out.size()) return evaluator_.fail("the body gives another number of results than expected");
    for (size_t j = 0; j < parts.size(); ++j) {
      auto bytes = parts[j].bytes();
      std::memcpy(out[j] + i * static_cast<int64_t>(bytes.size()), bytes.data(), bytes.size());
    }
  }
  return {};
}

}  // namespace hloc::ir::eval
