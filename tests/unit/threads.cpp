// One program, and one module, used by eight threads at once: meant to be run by a thread sanitizer too.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include <catch2/catch.hpp>

#include "include/hloc/hloc.h"

namespace hloc {
namespace {

// Products with packed panels, rows, a loop, a sort and (cholesky) a host step.
constexpr const char* graph = R"(HloModule threads
sum { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
less { p = f32[] parameter(0) q = f32[] parameter(1) ROOT c = pred[] compare(p, q), direction=LT }
body {
  t = (s32[], f32[96,96]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[96,96] get-tuple-element(t), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[96,96] tanh(x)
  z = f32[96,96] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  w = f32[96,96] sine(z)
  ROOT r = (s32[], f32[96,96]) tuple(j, w)
}
more {
  t = (s32[], f32[96,96]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[96,96] parameter(0)
  big = f32[64,4096] parameter(1)
  zero = s32[] constant(0)
  start = (s32[], f32[96,96]) tuple(zero, x)
  loop = (s32[], f32[96,96]) while(start), condition=more, body=body
  looped = f32[96,96] get-tuple-element(loop), index=1
  sorted = f32[96,96] sort(looped), dimensions={1}, is_stable=true, to_apply=less
  square = f32[96,96] dot(looped, looped), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  scale = f32[] constant(200)
  scales = f32[96] broadcast(scale), dimensions={}
  iota0 = s32[96,96] iota(), iota_dimension=0
  iota1 = s32[96,96] iota(), iota_dimension=1
  diagonal = pred[96,96] compare(iota0, iota1), direction=EQ
  wide = f32[96,96] broadcast(scales), dimensions={0}
  none = f32[96,96] subtract(wide, wide)
  ridge = f32[96,96] select(diagonal, wide, none)
  positive = f32[96,96] add(square, ridge)
  factor = f32[96,96] cholesky(positive), lower=true
  e = f32[64,4096] exponential(big)
  nothing = f32[] constant(0)
  sums = f32[64] reduce(e, nothing), dimensions={1}, to_apply=sum
  ROOT r = (f32[96,96], f32[96,96], f32[64]) tuple(sorted, factor, sums)
}
)";

using Arrays = std::vector<std::vector<std::byte>>;

Arrays arrays_for(const std::vector<Shape>& shapes) {
  Arrays out;
  for (const Shape& shape : shapes) {
    out.emplace_back(shape.bytes());
    for (size_t i = 0; i < shape.bytes() / sizeof(float); ++i) {
      auto value = static_cast<float>(std::sin(static_cast<double>(i) * 0.37));
      std::memcpy(out.back().data() + i * sizeof value, &value, sizeof value);
    }
  }
  return out;
}

bool calls_agree(const Program& program, const Arrays& inputs, const Arrays& wanted, const CallOptions& options, int times) {
  Arrays outputs;
  for (const Shape& shape : program.results()) outputs.emplace_back(shape.bytes());
  std::vector<std::span<const std::byte>> in(inputs.begin(), inputs.end());
  std::vector<std::span<std::byte>> out(outputs.begin(), outputs.end());
  for (int i = 0; i < times; ++i)
    if (!program.call(in, out, options) || outputs != wanted) return false;
  return true;
}

TEST_CASE("eight threads compile one module and call one program", "[threads]") {
  auto module = read(graph, "threads.hlo");
  REQUIRE(module);
  auto program = compile(*module);
  REQUIRE(program);
  Arrays inputs = arrays_for(program->parameters()), wanted;
  for (const Shape& shape : program->results()) wanted.emplace_back(shape.bytes());
  std::vector<std::span<const std::byte>> in(inputs.begin(), inputs.end());
  std::vector<std::span<std::byte>> out(wanted.begin(), wanted.end());
  REQUIRE(program->call(in, out));

  std::unique_ptr<Executor> shared = make_thread_pool(3);
  std::array<bool, 8> good{};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      std::unique_ptr<Executor> own = t % 4 == 1 ? make_thread_pool(2) : nullptr;
      CallOptions options;
      options.executor = t % 2 == 0 ? shared.get() : own.get();
      good[t] = calls_agree(*program, inputs, wanted, options, 4);
      auto again = compile(*module);  // interns in the module's context, as the other threads do
      auto afresh = read(graph, "threads.hlo");
      auto other = afresh ? compile(*afresh) : again;
      good[t] = good[t] && again && other && calls_agree(*again, inputs, wanted, options, 1) && calls_agree(*other, inputs, wanted, options, 1);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(std::ranges::all_of(good, [](bool g) { return g; }));
}

// Loops that follow at once find the workers awake; after a pause they sleep.
TEST_CASE("a pool does every piece once, awake or asleep", "[threads]") {
  for (unsigned threads : {1u, 2u, 5u}) {
    std::unique_ptr<Executor> pool = make_thread_pool(threads);
    std::array<std::atomic<int>, 13> done{};
    int loops = 0;
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < 200; ++i, ++loops)
        pool->parallel_for(13, [](void* state, int64_t n) { ++(*static_cast<std::array<std::atomic<int>, 13>*>(state))[static_cast<size_t>(n)]; }, &done);
      std::this_thread::sleep_for(std::chrono::milliseconds(round % 2 == 0 ? 2 : 0));
    }
    CHECK(std::ranges::all_of(done, [&](const std::atomic<int>& n) { return n == loops; }));
  }
}

}  // namespace
}  // namespace hloc
