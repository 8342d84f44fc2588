// The loop IR: building, lowering of random fusions against the evaluator, and what legalising leaves.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>

#include "backends/loops/builder.h"
#include "backends/loops/legalise.h"
#include "backends/loops/lower.h"
#include "backends/loops/walk.h"
#include "ir/print/print.h"
#include "tests/unit/random_fusion.h"

namespace {

using namespace hloc;

void check_seeds(uint64_t from, uint64_t to, int ops) {
  for (uint64_t seed = from; seed < to; ++seed) {
    test::RandomFusion random(seed);
    ir::ComputationRef fused = random.make(ops);
    std::vector<ir::Literal> inputs = random.inputs(*fused);
    ir::ComputationRef caller = test::calling(random.context(), *fused);
    std::optional<std::string> wrong = test::check_lowering(caller->root(), inputs);
    std::string text;
    if (wrong)
      for (ir::Value v : fused->instructions()) text += ir::to_string(*fused, v) + "\n";
    INFO("seed " << seed << ", " << ops << " ops:\n" << text);
    REQUIRE(wrong.value_or("") == "");
  }
}

constexpr ElementType value_types[] = {ElementType::pred, ElementType::s8,  ElementType::s16, ElementType::s32, ElementType::s64,
                                       ElementType::u8,   ElementType::u16, ElementType::u32, ElementType::u64, ElementType::f16,
                                       ElementType::bf16, ElementType::f32, ElementType::f64};

ElementType result_type(loops::ScalarOp op, ElementType type) {
  if (loops::facts(op).result == loops::ResultRule::pred) return ElementType::pred;
  if (op != loops::ScalarOp::TotalOrder) return type;
  return bit_width(type) == 16 ? ElementType::s16 : bit_width(type) == 32 ? ElementType::s32 : ElementType::s64;
}

// for i in n { y[i] = op(x0[i], x1[i], x2[i]) }; Convert to `result`.
loops::Kernel kernel_of(loops::ScalarOp op, ElementType type, ElementType result, loops::Predicate predicate, int64_t n) {
  loops::KernelBuilder b("one");
  std::vector<loops::BufferId> in;
  size_t count = loops::facts(op).operands;
  for (size_t i = 0; i < count; ++i) {
    bool is_choice = op == loops::ScalarOp::Select && i == 0;
    in.push_back(b.buffer("x", loops::BufferRole::input, is_choice ? ElementType::pred : type, n));
  }
  loops::BufferId y = b.buffer("y", loops::BufferRole::output, result, n);
  loops::IndexId i = b.begin_loop(n, loops::LoopKind::vector);
  std::vector<loops::ValueId> args;
  for (loops::BufferId x : in) args.push_back(b.load(x, loops::Affine::of(i)));
  loops::ValueId v = loops::no_id;
  if (op == loops::ScalarOp::Compare) v = b.compare(predicate, args[0], args[1]);
  else if (op == loops::ScalarOp::Convert) v = b.convert(result, args[0]);
  else if (op == loops::ScalarOp::Bitcast) v = b.bitcast(result, args[0]);
  else v = b.make(op, args);
  b.store(y, loops::Affine::of(i), v);
  b.end_loop();
  return b.finish();
}

// Bit patterns with many edges: small numbers, ends of ranges, powers of two, and random ones.
std::vector<std::byte> edgy_inputs(ElementType type, int64_t n, uint64_t seed) {
  std::vector<std::byte> out(static_cast<size_t>(n * byte_width(type)));
  std::mt19937_64 random(seed);
  int bits = type == ElementType::pred ? 1 : bit_width(type);
  for (int64_t i = 0; i < n; ++i) {
    uint64_t x = random();
    switch (random() % 6) {
      case 0: x = x % 7 - 3; break;
      case 1: x = (uint64_t{1} << x % 64) + (x >> 20) % 3 - 1; break;
      case 2: x = loops::constant_bits(type, static_cast<double>(static_cast<int64_t>(x % 4000) - 2000) / 16); break;
      case 3: x = loops::constant_bits(type, std::ldexp(static_cast<double>(x % 1000) - 500, static_cast<int>(x >> 32) % 70 - 10)); break;
      default: break;
    }
    if (bits < 64) x &= (uint64_t{1} << bits) - 1;
    std::memcpy(out.data() + i * byte_width(type), &x, static_cast<size_t>(byte_width(type)));
  }
  return out;
}

std::vector<std::byte> run_kernel(const loops::Kernel& k, uint64_t seed) {
  std::vector<std::vector<std::byte>> memory;
  for (const loops::Buffer& b : k.buffers) memory.push_back(edgy_inputs(b.element, b.count, seed + memory.size()));
  std::vector<std::span<std::byte>> views(memory.begin(), memory.end());
  auto ok = loops::interpret(k, views);
  if (!ok) FAIL(ok.error().message);
  return memory.back();
}

// NaNs are equal whatever their bits.
std::string first_difference(ElementType type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  auto width = static_cast<size_t>(byte_width(type));
  for (size_t at = 0; at < a.size(); at += width) {
    if (std::memcmp(&a[at], &b[at], width) == 0) continue;
    uint64_t x = 0, y = 0;
    std::memcpy(&x, &a[at], width);
    std::memcpy(&y, &b[at], width);
    uint64_t sign = uint64_t{1} << (bit_width(type) - 1);
    if (is_float(type)) {
      uint64_t infinity = loops::constant_bits(type, std::numeric_limits<double>::infinity());
      if ((x & ~sign) > infinity && (y & ~sign) > infinity) continue;
    }
    std::ostringstream text;
    text << "element " << at / width << ": 0x" << std::hex << x << " and 0x" << y;
    return text.str();
  }
  return "";
}

bool is_function(loops::ScalarOp op) {
  using O = loops::ScalarOp;
  constexpr O exact[] = {O::Sign, O::IsFinite, O::RoundAfz, O::Clamp, O::TotalOrder, O::MulHi};
  return loops::facts(op).level == loops::Level::composite && std::find(std::begin(exact), std::end(exact), op) == std::end(exact);
}

void check_legal(const loops::Kernel& k, const std::string& what) {
  loops::for_each_statement(k.body, [&](const loops::Statement& s) {
    auto* c = s.as<loops::Compute>();
    if (!c) return;
    ElementType operand = k.type(c->args[loops::facts(c->op).operands - 1u]);
    INFO(what << ": " << loops::facts(c->op).text << " of " << name_of(operand) << " gives " << name_of(k.type(c->result)));
    CHECK(loops::is_legal(c->op, operand, k.type(c->result)));
  });
}

void check_legalising(loops::ScalarOp op, ElementType type, ElementType result, loops::Predicate predicate) {
  std::string what = std::string(loops::facts(op).text) + "." + std::string(name_of(result)) + "." + std::string(name_of(type));
  constexpr int64_t n = 3000;
  loops::Kernel before = kernel_of(op, type, result, predicate, n), after = loops::legalise(before);
  check_legal(after, what);
  INFO(what);
  if (is_function(op) && is_float(type)) return;  // compared by ulps elsewhere
  CHECK(first_difference(result, run_kernel(before, 17), run_kernel(after, 17)) == "");
}

}  // namespace

TEST_CASE("random fusions lower to the evaluator's values") {
  check_seeds(0, 400, 3);
  check_seeds(1000, 1300, 8);
  check_seeds(2000, 2100, 20);
}

TEST_CASE("legalised operations are basic and give the same values") {
  for (size_t i = 0; i < loops::all_scalar_ops().size(); ++i) {
    auto op = static_cast<loops::ScalarOp>(i);
    if (op == loops::ScalarOp::Convert || op == loops::ScalarOp::Bitcast || op == loops::ScalarOp::Compare) continue;
    for (ElementType type : value_types)
      if (loops::allows(op, type)) check_legalising(op, type, result_type(op, type), loops::Predicate::eq);
  }
}

TEST_CASE("legalised conversions and comparisons are basic and give the same values") {
  for (ElementType from : value_types) {
    for (int p = 0; p < 6; ++p) check_legalising(loops::ScalarOp::Compare, from, ElementType::pred, static_cast<loops::Predicate>(p));
    for (ElementType to : value_types)
      if (from != to) check_legalising(loops::ScalarOp::Convert, from, to, loops::Predicate::eq);
  }
}

TEST_CASE("a builder shares pure statements and moves them out of loops") {
  using namespace loops;
  KernelBuilder b("shared");
  BufferId x = b.buffer("x", BufferRole::input, ElementType::f32, 8), y = b.buffer("y", BufferRole::output, ElementType::f32, 8);
  IndexId i = b.begin_loop(8);
  ValueId first = b.load(x, 0), twice = b.make(ScalarOp::Add, {first, first});
  CHECK(b.make(ScalarOp::Add, {b.load(x, 0), first}) == twice);
  b.store(y, Affine::of(i), twice);
  b.end_loop();
  Kernel k = b.finish();
  REQUIRE(k.body.size() == 3);
  CHECK(k.body[0].as<Load>() != nullptr);
  CHECK(k.body[1].as<Compute>() != nullptr);
  CHECK(k.body[2].as<Loop>()->body.size() == 1);
  CHECK(verify(k).ok());
}

TEST_CASE("division of indices disappears where ranges allow it") {
  using namespace loops;
  KernelBuilder b("division");
  IndexId i = b.begin_loop(4), j = b.begin_loop(5);
  Affine flat = Affine::of(i, 5) + Affine::of(j);
  CHECK(b.floor_div(flat, 5) == Affine::of(i));
  CHECK(b.mod(flat, 5) == Affine::of(j));
  CHECK(b.floor_div(Affine::of(j) + Affine(-5), 5) == Affine(-1));
  CHECK(b.mod(Affine::of(i, 10) + Affine(13), 5) == Affine(3));
  Affine q = b.floor_div(flat, 3);
  REQUIRE(q.terms.size() == 1);
  CHECK(b.kernel().indices[q.terms[0].index].kind == IndexKind::floor_div);
  CHECK(b.range(q) == Range{0, 6});
}

TEST_CASE("how addresses move with a loop") {
  using namespace loops;
  KernelBuilder b("steps");
  BufferId at = b.buffer("at", BufferRole::input, ElementType::s32, 64);
  IndexId i = b.begin_loop(8), j = b.begin_loop(8);
  Affine cut = b.floor_div(Affine::of(j), 3), gathered = b.index_of(b.load(at, Affine::of(i)), {0, 7});
  b.end_loop();
  b.end_loop();
  Kernel k = b.finish();
  const Loop& outer = *k.body[0].as<Loop>();
  Varying by_i = varying_in(k, outer), by_j = varying_in(k, *outer.body.back().as<Loop>());
  CHECK(by_i.step(Affine::of(i, 8) + Affine::of(j), i).stride == 8);
  CHECK(by_j.step(Affine::of(i, 8), j).step == Step::uniform);
  CHECK(by_j.step(cut, j).step == Step::varying);
  CHECK(by_j.step(gathered, j).step == Step::uniform);
  CHECK(by_i.step(gathered, i).step == Step::varying);
}
