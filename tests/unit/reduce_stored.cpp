// Reductions where their array is stored: the same results, and no move where some element would be met twice or not at all.
#include "backends/loops/forward.h"
#include "backends/loops/walk.h"
#include "tests/unit/native_kernel.h"

namespace {

using namespace hloc;
using namespace hloc::test;

// A 20 x 33 array stored in three parts, and a reduction of it with another one.
std::string parts(const std::string& middle = "33*i1 + i2 + 34", const std::string& loaded = "x[i5]", const std::string& after = "") {
  return R"(kernel k(in x: f32[660], in z: f32[660], out y: f32[660], out r: f32[1], out w: f32[660]) {
  for i0 in 33 vector {
    %0 = load x[i0]
    store y[i0], %0
  }
  for i1 in 19 {
    for i9 in 1 unrolled {
      %9 = load x[33*i1 + i9 + 40]
      store y[33*i1 + i9 + 33], %9
    }
    for i2 in 32 vector {
      %1 = load x[33*i1 + i2 + 1]
      %2 = load x[33*i1 + i2 + 32]
      %3 = sub.f32 %1, %2
      store y[)" + middle + R"(], %3
    }
  }
  declare a0: f32 = -inf
  for i5 in 660 vector {
    %5 = load y[i5]
    %6 = load )" + loaded + R"(
    %7 = sub.f32 %5, %6
    accumulate a0 max %7
  }
  %8 = get a0
  store r[0], %8
)" + after + "}\n";
}

// Whether the reduction moved; if so, the kernel has one loop less and gives the same results.
bool moves(const std::string& text, const loops::Overlaps& overlaps = {}) {
  loops::Kernel kernel = kernel_of(text), moved = kernel;
  if (!loops::reduce_as_stored(moved, overlaps)) return false;
  auto loops_in = [](const loops::Kernel& k) {
    int n = 0;
    loops::for_each_statement(k.body, [&](const loops::Statement& s) { n += s.as<loops::Loop>() != nullptr; });
    return n;
  };
  CHECK(loops_in(moved) == loops_in(kernel) - 1);
  check_interpreted_alike(kernel, moved);
  check_native(moved);
  return true;
}

}  // namespace

TEST_CASE("a reduction moves to the stores of what it reduces") {
  CHECK(moves(parts()));
  CHECK(moves(parts("33*i1 + i2 + 34", "z[i5]")));
  CHECK(moves(parts("33*i1 + i2 + 34", "x[i5]", "  for i6 in 660 vector {\n    %10 = load x[i6]\n    store w[i6], %10\n  }\n")));
  CHECK(moves(R"(kernel k(in x: f32[1000], out y: f32[1000], out r: f32[1], out s: s32[1]) {
  for i0 in 1000 vector {
    %0 = load x[i0]
    %1 = mul.f32 %0, 0.5
    store y[i0], %1
  }
  declare a0: f32 = inf
  declare a1: s32 = 0
  for i1 in 1000 vector {
    %2 = load y[i1]
    %3 = convert.s32.f32 %2
    accumulate a0 min %2
    accumulate a1 add %3
  }
  %4 = get a0
  %5 = get a1
  store r[0], %4
  store s[0], %5
}
)"));
}

TEST_CASE("a reduction stays where elements are stored twice or not, or change") {
  CHECK_FALSE(moves(parts("33*i1 + i2 + 33")));                  // the middle's first column meets another store
  std::string fewer = parts(), guarded = fewer;
  fewer.replace(fewer.find("i2 in 32"), 8, "i2 in 31");
  CHECK_FALSE(moves(fewer));                                     // some are not stored
  guarded.insert(guarded.find(", %3\n    }") + 4, " if 0 <= i2 < 30");
  CHECK_FALSE(moves(guarded));
  CHECK_FALSE(moves(parts("32*i1 + i2 + 34")));                  // rows that overlap
  CHECK_FALSE(moves(parts("33*i1 + i2 + 34", "y[659 - i5]")));   // another order
  CHECK_FALSE(moves(parts("33*i1 + i2 + 34", "x[i5]", "  store y[3], 1\n")));
  std::string apart = parts();
  apart.replace(apart.find("i1 in 19 {"), 10, "i1 in 19 parallel 1 {");
  CHECK_FALSE(moves(apart));                                     // iterations that are apart have no accumulator in common
  CHECK_FALSE(moves(parts(), {{}, {}, {0}, {}, {}}));            // the array stored shares bytes with another
  std::string other = parts("33*i1 + i2 + 34", "w[i5]");
  CHECK(moves(other));
  other.insert(other.find("      store y[33*i1 + i2"), "      store w[33*i1 + i2], %3\n");
  CHECK_FALSE(moves(other));                                     // what is read beside it changes meanwhile
}

TEST_CASE("lanes of a reduction are combined once, behind the loops around it") {
  for (const char* text : {
           R"(kernel k(in x: f32[5000], out r: f32[1], out s: f32[1]) {
  declare a0: f32 = -inf
  declare a1: f32 = 0
  for i0 in 10 {
    for i1 in 400 vector {
      %0 = load x[500*i0 + i1]
      %1 = floor.f32 %0
      accumulate a0 max %0
      accumulate a1 add %1
    }
    for i2 in 100 vector {
      %2 = load x[500*i0 + i2 + 400]
      %3 = floor.f32 %2
      accumulate a1 add %3
    }
  }
  %4 = get a0
  %5 = get a1
  store r[0], %4
  store s[0], %5
}
)",
           R"(kernel k(in x: f32[5000], in d: f64[5000], out r: f64[1], out s: f32[1]) {
  declare a0: f64 = 0
  declare a1: f32 = inf
  for i0 in 10 {
    for i1 in 5 {
      for i2 in 100 vector {
        %0 = load x[500*i0 + 100*i1 + i2]
        accumulate a1 min %0
      }
    }
    for i3 in 500 vector {
      %1 = load d[500*i0 + i3]
      %2 = load x[500*i0 + i3]
      %3 = floor.f64 %1
      accumulate a0 add %3
      accumulate a1 min %2
    }
  }
  %4 = get a0
  %5 = get a1
  store r[0], %4
  store s[0], %5
}
)"})
    check_native(kernel_of(text));
}

TEST_CASE("loops begin with part of a vector where most accesses are then aligned") {
  for (int first : {1, 4, 5, 13, 16, 31})
    check_native(kernel_of(with_numbers(R"(kernel k(in x: f32[8192], out y: f32[8192], out r: f32[1]) {
  declare a0: f32 = -inf
  for i0 in 60 {
    for i1 in 120 vector {
      %0 = load x[128*i0 + i1 + FIRST]
      %1 = load x[128*i0 + i1 + 130]
      %2 = sub.f32 %0, %1
      store y[128*i0 + i1 + FIRST], %2
      accumulate a0 max %2
    }
  }
  %3 = get a0
  store r[0], %3
}
)", {{"FIRST", first}})));
}
