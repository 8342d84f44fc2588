// reduce, map and scan.
#include "ir/eval/reduce.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/eval/copy.h"
#include "ir/eval/ops.h"

namespace hloc::ir::eval {

ReducerInput::ReducerInput(const Literal& literal, ElementType wanted) : literal_(literal) {
  bytes_ = literal.bytes().data();
  width_ = byte_width(wanted);
  ElementType element = literal.type().element();
  if (element == wanted) return;
  converted_.resize(static_cast<size_t>(literal.type().count() * width_));
  Kernel k = converter(element, wanted);
  k.run(k, &bytes_, converted_.data(), literal.type().count());
  bytes_ = converted_.data();
}

Result<Reducer> Reducer::make(Call& c, const Computation& computation, size_t count, bool wide) {
  Body& body = c.eval.body(computation);
  std::vector<Type> types = leaves(c.type);
  if (computation.parameters().size() != 2 * count || body.result_count() != count || types.size() != count)
    return c.eval.fail(fmt::format("a body with {} parameters and {} results combines {} arrays",
                                   computation.parameters().size(), body.result_count(), count));
  Reducer r;
  r.body_ = &body;
  bool accumulates = body.fold_op() == Op::Add || body.fold_op() == Op::Multiply;
  if (wide && accumulates && is_float(body.result(0)) && bit_width(body.result(0)) < 32) {
    static constexpr ElementType both[] = {ElementType::f32, ElementType::f32};
    r.wide_ = elementwise_kernel({*body.fold_op(), NoAttr(), both, ElementType::f32});
  }
  for (size_t k = 0; k < count; ++k) {
    if (types[k].element() != body.result(k) || body.result(k) != body.parameter(k))
      return c.eval.fail(fmt::format("the body gives {} where the result has {}", name_of(body.result(k)),
                                     name_of(types[k].element())));
    ElementType accumulator = r.wide_ ? ElementType::f32 : body.parameter(k);
    r.inputs_.emplace_back(c.in[k], r.wide_ ? accumulator : body.parameter(count + k));
    r.outputs_.push_back(c.eval.allocate(r.wide_ ? c.eval.scratch_type(types[k], accumulator) : types[k]));
    ReducerInput init(c.in[count + k], accumulator);
    fill_elements(r.accumulators(k), types[k].count(), init.at(0), init.width());
  }
  return r;
}

Literal Reducer::result(Call& c) {
  if (!wide_) return c.type.is_tuple() ? Literal::tuple(c.type, std::move(outputs_)) : std::move(outputs_[0]);
  Type type = leaves(c.type)[0];
  Literal rounded = c.eval.allocate(type);
  Kernel k = converter(ElementType::f32, type.element());
  const std::byte* from = outputs_[0].bytes().data();
  k.run(k, &from, rounded.mutable_bytes().data(), type.count());
  return c.type.is_tuple() ? Literal::tuple(c.type, {std::move(rounded)}) : rounded;
}

Result<Literal> eval_reduce(Call& c) {
  size_t count = c.in.size() / 2;
  auto made = Reducer::make(c, c.v->callee(0), count, true);
  if (!made) return made.error();
  Reducer& r = *made;
  Ints sizes = c.in[0].type().sizes(), kept;
  const Ints& dims = c.attr<DimsAttr>().dims;
  auto is_kept = [&](size_t d) { return std::ranges::find(dims, static_cast<int64_t>(d)) == dims.end(); };
  for (size_t d = 0; d < sizes.size(); ++d)
    if (is_kept(d)) kept.push_back(sizes[d]);
  Ints kept_strides = strides_of(kept);
  Block walk{sizes, Ints(sizes.size(), 0), strides_of(sizes)};
  for (size_t d = 0, k = 0; d < sizes.size(); ++d)
    if (is_kept(d)) walk.to_strides[d] = kept_strides[k++];
  walk = merged(walk);
  if (product(sizes) == 0) return r.result(c);

  // Row by row in row-major order. A row is folded into one element, or combined element by element with a row of results.
  int64_t n = walk.sizes.empty() ? 1 : walk.sizes.back();
  bool into_one = walk.sizes.empty() || walk.to_strides.back() == 0;
  std::vector<const std::byte*> in(2 * count);
  std::vector<std::byte*> acc(count);
  Ints outer_sizes(walk.sizes.begin(), walk.sizes.end() - (walk.sizes.empty() ? 0 : 1));
  for (Odometer i(outer_sizes); i.valid(); i.next()) {
    int64_t to = i.dot(walk.to_strides), from = i.dot(walk.from_strides);
    for (size_t k = 0; k < count; ++k) in[k] = acc[k] = r.accumulators(k) + to * r.input(k).width();
    for (size_t k = 0; k < count; ++k) in[count + k] = r.input(k).at(from);
    if (into_one && r.is_fold()) {
      r.fold(acc[0], in[1], n);
      continue;
    }
    int64_t runs = into_one ? n : 1, length = into_one ? 1 : n;
    for (int64_t run = 0; run < runs; ++run) {
      if (auto ok = r.combine(in, acc, length); !ok) return ok.error();
      for (size_t k = 0; k < count; ++k) in[count + k] += r.input(k).width();
    }
  }
  return r.result(c);
}

Result<Literal> eval_map(Call& c) {
  Body& body = c.eval.body(c.v->callee(0));
  Literal out = c.eval.allocate(c.type);
  std::vector<const std::byte*> in;
  for (const Literal& operand : c.in) in.push_back(operand.bytes().data());
  std::byte* to = out.mutable_bytes().data();
  if (auto ok = body.run(in, std::span(&to, 1), c.type.count()); !ok) return ok.error();
  return out;
}

// Position by position along one dimension: (slices of the inputs, carries) -> (slices of the outputs, carries).
Result<Literal> eval_scan(Call& c) {
  const auto& attr = c.attr<ScanAttr>();
  const Computation& body = c.v->callee(0);
  auto dim = static_cast<size_t>(attr.dims[0]);
  auto carry_count = static_cast<size_t>(attr.num_carries);
  size_t input_count = c.in.size() - carry_count;
  std::vector<Type> types = leaves(c.type);
  std::vector<Literal> outputs, carries(c.in.begin() + static_cast<ptrdiff_t>(input_count), c.in.end());
  for (size_t k = 0; k + carry_count < types.size(); ++k) outputs.push_back(c.eval.allocate(types[k]));

  // The elements at one position of `array`, which has the dimension `dim`, as a dense block.
  auto slice_block = [dim](Type array, int64_t position, int64_t& offset) {
    Ints sizes = array.sizes(), strides = strides_of(sizes);
    offset = position * strides[dim];
    sizes[dim] = 1;
    return Block{sizes, strides_of(sizes), strides};
  };
  Type scanned = input_count > 0 ? c.in[0].type() : types[0];
  int64_t length = scanned.dim(attr.dims[0]), offset = 0;
  for (int64_t step = 0; step < length; ++step) {
    int64_t position = attr.is_reverse ? length - 1 - step : step;
    std::vector<Literal> arguments;
    for (size_t k = 0; k < input_count; ++k) {
      Literal slice = c.eval.allocate(body.parameters()[k]->type);
      Block block = slice_block(c.in[k].type(), position, offset);
      if (product(block.sizes) != slice.type().count()) return c.eval.fail("the body takes another slice than scan cuts");
      copy_block(block, slice.mutable_bytes().data(), 0, c.in[k].bytes().data(), offset,
                 byte_width(slice.type().element()));
      arguments.push_back(std::move(slice));
    }
    for (Literal& carry : carries) arguments.push_back(std::move(carry));
    auto result = c.eval.run(body, std::move(arguments));
    if (!result) return result;
    std::vector<Literal> parts = result->is_tuple() ? result->parts() : std::vector<Literal>{*result};
    if (parts.size() != types.size()) return c.eval.fail("the body gives another number of results than scan has");
    for (size_t k = 0; k < outputs.size(); ++k) {
      Block block = slice_block(types[k], position, offset);
      if (product(block.sizes) != parts[k].type().count()) return c.eval.fail("the body gives another slice than scan needs");
      std::swap(block.to_strides, block.from_strides);
      copy_block(block, outputs[k].mutable_bytes().data(), offset, parts[k].bytes().data(), 0,
                 byte_width(types[k].element()));
    }
    for (size_t k = 0; k < carries.size(); ++k) carries[k] = std::move(parts[outputs.size() + k]);
  }
  for (size_t k = 0; k < carries.size(); ++k) outputs.push_back(carries[k].with_type(types[outputs.size()]));
  return c.type.is_tuple() ? Literal::tuple(c.type, std::move(outputs)) : std::move(outputs[0]);
}

}  // namespace hloc::ir::eval
