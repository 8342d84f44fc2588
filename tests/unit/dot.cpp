// Contractions of many shapes, layouts and types on native code, against the evaluator.
#include <catch2/catch.hpp>

#include <cmath>
#include <fmt/format.h>

#include "backends/cpu/contract/contract.h"
#include "include/hloc/hloc.h"
#include "tests/harness/cpu_targets.h"
#include "tests/unit/native_kernel.h"

namespace {

using namespace hloc;

std::vector<double> run_dot(const std::string& text, const std::string& target, unsigned threads) {
  auto module = read(text);
  REQUIRE(module.ok());
  auto program = compile(*module, {.target = target});
  if (!program) FAIL(program.error().render() + text);
  if (target != "reference") CHECK(program->stats().fallback_kernels == 0);
  std::vector<std::vector<std::byte>> inputs, outputs;
  uint64_t state = 1;
  for (const Shape& s : program->parameters()) {
    inputs.emplace_back(s.bytes());
    auto width = static_cast<size_t>(byte_width(s.element));
    for (size_t at = 0; at < s.bytes(); at += width) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      element_from_double(s.element, static_cast<double>(static_cast<int64_t>(state >> 60) - 8) / (is_float(s.element) ? 8.0 : 1.0), inputs.back().data() + at);
    }
  }
  for (const Shape& s : program->results()) outputs.emplace_back(s.bytes());
  std::vector<std::span<const std::byte>> in(inputs.begin(), inputs.end());
  std::vector<std::span<std::byte>> out(outputs.begin(), outputs.end());
  auto pool = make_thread_pool(threads);
  auto done = program->call(in, out, {.executor = pool.get(), .guard_pages = true});
  if (!done) FAIL(done.error().render());
  std::vector<double> values;
  const Shape& s = program->results()[0];
  for (size_t at = 0; at < s.bytes(); at += static_cast<size_t>(byte_width(s.element))) values.push_back(element_to_double(s.element, outputs[0].data() + at));
  return values;
}

void check_dot(const std::string& text) {
  INFO(text);
  std::vector<double> want = run_dot(text, "reference", 1);
  for (const char* target : test::cpu_targets()) {
    std::vector<double> one = run_dot(text, target, 1), three = run_dot(text, target, 3);
    CHECK(one == three);
    REQUIRE(one.size() == want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      INFO(target << " element " << i << ": " << one[i] << ", " << want[i] << " was expected");
      REQUIRE(std::fabs(one[i] - want[i]) <= 1e-4 * (1 + std::fabs(want[i])));
    }
  }
}

}  // namespace

TEST_CASE("matrix products of many sizes") {
  for (const char* type : {"f32", "f64", "s32"})
    for (auto [m, n, k] : {std::array{1, 1, 1}, {1, 17, 5}, {17, 1, 33}, {3, 5, 7}, {16, 16, 16}, {31, 33, 17}, {6, 100, 64}, {100, 7, 3}, {65, 130, 40}, {2, 3, 300}, {129, 257, 65}})
      check_dot(fmt::format("HloModule d\nENTRY e {{ a = {0}[{1},{3}] parameter(0) b = {0}[{3},{2}] parameter(1) ROOT r = {0}[{1},{2}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}", type, m, n, k));
}

TEST_CASE("transposed operands and batches") {
  for (auto [l, r] : {std::array{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
    std::string a = l == 1 ? "f32[3,19,33]" : "f32[3,33,19]", b = r == 1 ? "f32[3,21,33]" : "f32[3,33,21]";
    check_dot(fmt::format("HloModule d\nENTRY e {{ a = {} parameter(0) b = {} parameter(1) ROOT r = f32[3,19,21] dot(a, b), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}} }}", a, b, l == 1 ? 2 : 1, r == 1 ? 2 : 1));
  }
}

TEST_CASE("several dimensions of a kind, narrow inputs, epilogues") {
  check_dot("HloModule d\nENTRY e { a = f32[4,5,6,7] parameter(0) b = f32[7,6,9] parameter(1) ROOT r = f32[4,5,9] dot(a, b), lhs_contracting_dims={2,3}, rhs_contracting_dims={1,0} }");
  check_dot("HloModule d\nENTRY e { a = f32[8,5] parameter(0) b = f32[5,3,4] parameter(1) ROOT r = f32[8,3,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }");
  check_dot("HloModule d\nENTRY e { a = bf16[20,40] parameter(0) b = bf16[40,24] parameter(1) ROOT r = f32[20,24] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }");
  check_dot("HloModule d\nENTRY e { a = f32[40,30] parameter(0) b = f32[30,50] parameter(1) c = f32[50] parameter(2) d = f32[40,50] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} "
            "e = f32[40,50] broadcast(c), dimensions={1} f = f32[40,50] add(d, e) z = f32[] constant(0) y = f32[40,50] broadcast(z), dimensions={} ROOT r = f32[40,50] maximum(f, y) }");
}

// Half of the tiles are left out; the epilogue, which is not symmetric, meets each element once all the same.
TEST_CASE("a matrix times its own transpose") {
  auto gram = [](const char* type, int n, int k, bool by_columns, std::string_view epilogue) {
    std::string text = "HloModule d\nENTRY e {{ a = {0}[{1}] parameter(0) ROW = f32[{2}] parameter(1) COL = f32[{2}] parameter(2) ";
    return fmt::format(fmt::runtime(text + "d = {0}[{2},{2}] dot(a, a), lhs_contracting_dims={{{3}}}, rhs_contracting_dims={{{3}}} {4} }}"), type,
                       by_columns ? fmt::format("{},{}", k, n) : fmt::format("{},{}", n, k), n, by_columns ? 0 : 1, fmt::format(fmt::runtime(epilogue), type, n));
  };
  constexpr std::string_view plain = "ROOT r = {0}[{1},{1}] copy(d)";
  for (const char* type : {"f32", "f64", "s32", "bf16"})
    for (auto [n, k] : {std::array{128, 3}, {131, 17}, {160, 40}, {259, 20}})
      for (bool by_columns : {false, true}) check_dot(gram(type, n, k, by_columns, plain));
  for (int n : {128, 137, 300}) {
    check_dot(gram("f32", n, 11, false, "x = f32[{1},{1}] broadcast(ROW), dimensions={{0}} y = f32[{1},{1}] broadcast(COL), dimensions={{1}} z = f32[{1},{1}] subtract(d, x) ROOT r = f32[{1},{1}] multiply(z, y)"));
    check_dot(gram("f32", n, 11, false, "i = s32[{1},{1}] iota(), iota_dimension=0 j = s32[{1},{1}] iota(), iota_dimension=1 c = pred[{1},{1}] compare(i, j), direction=LT n = f32[{1},{1}] negate(d) ROOT r = f32[{1},{1}] select(c, d, n)"));
    check_dot(gram("f32", n, 11, false, "ROOT r = s8[{1},{1}] convert(d)"));
    check_dot(gram("f32", n, 11, false, "x = f32[{1},{1}] broadcast(ROW), dimensions={{0}} ROOT r = pred[{1},{1}] compare(d, x), direction=GT"));
  }
  check_dot("HloModule d\nENTRY e { a = f32[3,140,19] parameter(0) ROOT r = f32[3,140,140] dot(a, a), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2} }");
  check_dot("HloModule d\nENTRY e { a = f32[2,140,19] parameter(0) b = f32[140,140] parameter(1) i = f32[1,140,19] slice(a), slice={[0:1], [0:140], [0:19]} j = f32[1,140,19] slice(a), slice={[1:2], [0:140], [0:19]} "
            "x = f32[140,19] reshape(i) y = f32[140,19] reshape(j) ROOT r = f32[140,140] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1} }");
}

TEST_CASE("a product is symmetric if both sides are the same rows") {
  auto symmetric = [](int64_t n, const char* rhs) {
    loops::Kernel kernel = test::kernel_of(fmt::format(R"(kernel k(in a: f32[100000], in b: f32[100000], out r: f32[{0}]) {{
  contract f32 m i0 in {1}, n i1 in {1}, k i2 in 16 {{
    lhs {{
      %0 = load a[16*i0 + i2]
      yield %0
    }}
    rhs {{
      %1 = load {2}
      yield %1
    }}
    result %2 {{
      store r[{1}*i0 + i1], %2
    }}
  }}
}}
)", n * n, n, rhs));
    auto plan = cpu::plan_contract(kernel, *kernel.body[0].as<loops::Contract>(), {});
    REQUIRE(plan);
    return plan->symmetric;
  };
  CHECK(symmetric(256, "a[16*i1 + i2]"));
  CHECK_FALSE(symmetric(256, "b[16*i1 + i2]"));
  CHECK_FALSE(symmetric(256, "a[16*i1 + i2 + 1]"));
  CHECK_FALSE(symmetric(256, "a[256*i2 + i1]"));
  CHECK_FALSE(symmetric(24, "a[16*i1 + i2]"));  // nearly all tiles are on the diagonal
}

// A call that does all pieces packs what they share once; threads do each by itself.
TEST_CASE("pieces in one call give what they give one by one") {
  for (auto [batch, m, n, k] : {std::array{1, 300, 200, 300}, {1, 40, 1000, 130}, {1, 1000, 40, 130}, {3, 150, 161, 129}, {1, 129, 130, 3000}}) {
    std::string text = fmt::format(
        "HloModule m\nENTRY e {{\n a = f32[{0},{1},{3}] parameter(0)\n b = f32[{0},{3},{2}] parameter(1)\n ROOT c = f32[{0},{1},{2}] dot(a, b), "
        "lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}\n}}\n",
        batch, m, n, k);
    INFO(text);
    for (const char* target : test::cpu_targets()) CHECK(run_dot(text, target, 1) == run_dot(text, target, 3));
  }
}

TEST_CASE("tiles fit into the registers") {
  for (int registers : {16, 29, 32})
    for (int64_t m = 1; m < 40; ++m)
      for (int64_t n = 1; n < 70; n += 3) {
        hloc::cpu::Machine machine;
        machine.vector_registers = registers;
        hloc::cpu::Tile t = hloc::cpu::choose_tile(machine, m, n, registers == 32 ? 16 : 8);
        CHECK(t.rows * t.vectors + t.vectors + 1 <= registers);
      }
}

TEST_CASE("a large product has a tile of nearly all registers") {
  struct Row {
    int registers, lanes, least;  // accumulators
  };
  for (Row r : {Row{16, 8, 12}, Row{29, 4, 24}, Row{32, 16, 28}}) {
    hloc::cpu::Machine machine;
    machine.vector_registers = r.registers;
    hloc::cpu::Tile t = hloc::cpu::choose_tile(machine, 512, 512, r.lanes);
    CHECK(t.rows * t.vectors >= r.least);
  }
}
