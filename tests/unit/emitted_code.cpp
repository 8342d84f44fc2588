// Emitted code against the interpreter: each operation, element type and number of lanes, for AVX2 and AVX-512 encodings
// (the latter where this CPU has them), and for AArch64 by an emulator where there is one.
#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <random>

#include "backends/cpu/x86/x86.h"
#include "tests/unit/emulated_batch.h"
#include "tests/unit/machine_interpreter.h"

namespace hloc::test {
namespace {

constexpr ElementType elements[] = {ElementType::s8,  ElementType::u8,  ElementType::s16, ElementType::u16,
                                    ElementType::s32, ElementType::u32, ElementType::s64, ElementType::u64,
                                    ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64};

struct Setup {
  std::string name;
  x86::Features features;
  int vector_bytes;
  bool emulated = false;  // AArch64
};

// What this CPU runs itself.
std::vector<Setup> native_setups() {
  std::vector<Setup> out;
  if (x86::detect().v3) out.push_back({"v3", *x86::features_of("x86-64-v3"), 32});
  if (x86::detect().v4) {
    out.push_back({"v4", *x86::features_of("x86-64-v4"), 64});
    out.push_back({"v4 at 32 bytes", *x86::features_of("x86-64-v4"), 32});
    out.push_back({"native", x86::detect(), 64});
  }
  return out;
}

std::vector<Setup> setups() {
  std::vector<Setup> out = native_setups();
  if (EmulatedBatch::possible()) out.push_back({"aarch64", {}, 16, true});
  return out;
}

EmulatedBatch& emulated_batch() {
  static EmulatedBatch batch;
  return batch;
}

// Bits that are likely to break something: zeros, ones, limits, infinities, NaNs, subnormals, halfway cases.
uint64_t interesting_bits(ElementType t, std::mt19937_64& random) {
  int bits = bit_width(t);
  auto pick = random() % 16;
  if (is_float(t)) {
    static const double values[] = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 127.5, 255.5, -128.5, 32767.5, 65535.5, 65504,
                                    2147483647.0, -2147483648.0, 2147483648.0, 4294967295.0, 4294967296.0, 9.2233720368547758e18,
                                    -9.2233720368547758e18, 1.8446744073709552e19, 1e30, -1e30, 1e-40, 1e-310, 5e-324,
                                    0.49999999999999994, 0.49999997, 8388609.0, 1e300, 16777217.0, 65519.99999, 1.00048828126, 3.4028235e38,
                                    HUGE_VAL, -HUGE_VAL, NAN};
    if (pick < 8) return element_bits(t, values[random() % std::size(values)]);
    if (pick < 12) return element_bits(t, (static_cast<double>(random() % 2000001) - 1000000) / 64);
    return random() & low_mask(bits);
  }
  if (pick == 0) return 0;
  if (pick == 1) return low_mask(bits);
  if (pick == 2) return uint64_t{1} << (bits - 1);
  if (pick == 3) return low_mask(bits - 1);
  if (pick < 8) return random() % 8;
  if (pick < 10) return ~(random() % 8) & low_mask(bits);
  if (pick < 12) return (random() >> (random() % 64)) & low_mask(bits);
  return random() & low_mask(bits);
}

void fill(std::array<std::byte, 64>& bytes, ElementType t, std::mt19937_64& random) {
  auto width = static_cast<size_t>(byte_width(t));
  for (size_t at = 0; at < 64; at += width) {
    uint64_t bits = interesting_bits(t, random);
    std::memcpy(bytes.data() + at, &bits, width);
  }
}

using Kernel = uint64_t(void* a, void* b, void* c, void* out, uint64_t n);

// Runs f compiled and interpreted on `rounds` fillings of its buffers and compares what is in `out` as type t.
void check(const Setup& setup, const Function& f, ElementType in, ElementType t, std::mt19937_64& random, int rounds = 4) {
  INFO(setup.name << "\n" << print(f));
  std::optional<CodeMemory> memory;
  Kernel* run = nullptr;
  if (setup.emulated) {
    emulated_batch().function(f);
  } else {
    auto code = x86::assemble({f}, setup.features);
    if (!code) FAIL(code.error().message);
    auto loaded = load(*code);
    REQUIRE(loaded);
    memory = std::move(*loaded);
    run = memory->function<Kernel>(f.name);
    REQUIRE(run);
  }
  bool returns = static_cast<bool>(f.blocks[f.order.back()].insts.back().a);
  for (int round = 0; round < rounds; round++) {
    Buffers x;
    fill(x.a, in, random), fill(x.b, in, random), fill(x.c, in, random);
    x.out.fill(std::byte{0x5a});
    Buffers y = x;
    uint64_t n = random() % 70;
    auto address = [](std::array<std::byte, 64>& s) { return reinterpret_cast<uint64_t>(s.data()); };
    uint64_t want = MachineInterpreter(f).run({address(y.a), address(y.b), address(y.c), address(y.out), n});
    if (setup.emulated) {
      emulated_batch().call(t, x, n, y.out, returns ? std::optional(want) : std::nullopt);
      continue;
    }
    uint64_t got = run(x.a.data(), x.b.data(), x.c.data(), x.out.data(), n);
    std::string difference;
    bool same = same_elements(t, x.out, y.out, difference);
    if (!same) FAIL(difference);
    if (returns) REQUIRE(got == want);
  }
}

// A function that loads a, b and c, and stores what `body(builder, a, b, c)` gives.
struct Frame {
  Function f;
  std::optional<Builder> b;
  Reg pa, pb, pc, out, n;
  explicit Frame(int vector_bytes) {
    b.emplace(f, "kernel", vector_bytes);
    pa = b->param(), pb = b->param(), pc = b->param(), out = b->param(), n = b->param();
  }
};

template <class Body>
Function lanewise(int vector_bytes, VType in, VType result, Body body) {
  Frame k(vector_bytes);
  Builder& b = *k.b;
  Reg x = b.vload(in, k.pa), y = b.vload(in, k.pb), z = b.vload(in, k.pc);
  b.vstore(result, k.out, body(b, x, y, z));
  b.ret();
  return k.f;
}

template <class F>
void for_each_type(F fn) {
  for (const Setup& s : setups()) {
    for (ElementType e : elements) {
      for (int lanes = 1; lanes * byte_width(e) <= s.vector_bytes; lanes *= 2) fn(s, VType{e, static_cast<uint8_t>(lanes)});
    }
  }
}

Inst binary(Op op, VType t, Reg a, Reg b, Reg dst) { return {.op = op, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a, .b = b}; }

}  // namespace

TEST_CASE("emitted code: binary arithmetic of every type and width", "[emitted]") {
  std::mt19937_64 random(1);
  constexpr Op ops[] = {Op::VAdd, Op::VSub, Op::VMul, Op::VDiv, Op::VRem, Op::VMin, Op::VMax, Op::VMinRaw, Op::VMaxRaw,
                        Op::VAnd, Op::VOr, Op::VXor, Op::VAndNot, Op::VShl, Op::VShr, Op::VSar};
  for_each_type([&](const Setup& s, VType t) {
    for (Op op : ops) {
      bool integers_only = op == Op::VRem || op == Op::VShl || op == Op::VShr || op == Op::VSar;
      if (integers_only && is_float(t.element)) continue;
      check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg y, Reg) {
              Reg d = b.vector();
              b.emit(binary(op, t, x, y, d));
              return d;
            }), t.element, t.element, random);
      // The result in a source's register, and a source twice.
      check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg y, Reg z) {
              b.emit(binary(op, t, x, y, y));
              b.emit(binary(op, t, z, y, z));
              b.emit(binary(op, t, z, z, z));
              return b.vxor(t, y, z);
            }), t.element, ElementType::u8, random, is_float(t.element) ? 0 : 2);
    }
  });
  emulated_batch().run();
}

TEST_CASE("emitted code: majority and scale in every register form", "[emitted]") {
  std::mt19937_64 random(1);
  for_each_type([&](const Setup& s, VType t) {
    for (int form = 0; form < 4; form++) {
      check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg y, Reg z) {
              return b.vmajority(t, x, y, z, form == 0 ? b.vector() : form == 1 ? x : form == 2 ? y : z);
            }), t.element, t.element, random);
      if (t.element != ElementType::f32 && t.element != ElementType::f64) continue;
      // Factors from 1 to 2 with all exponents that it takes.
      double most = t.element == ElementType::f32 ? 250 : 2040;
      check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg y, Reg) {
              Reg digits = b.vand(t, x, b.vconst_bits(t, t.element == ElementType::f32 ? 0x7fffff : 0xfffffffffffff));
              Reg a = b.vor(t, digits, b.vconst(t, 1));
              Reg n = b.vmin_raw(t, b.vmax_raw(t, b.vround(t, machine::Round::floor, y), b.vconst(t, -most)), b.vconst(t, most));
              return b.vscale(t, a, n, form == 0 ? b.vector() : form == 1 ? a : n);
            }), t.element, t.element, random);
    }
  });
  emulated_batch().run();
}

TEST_CASE("emitted code: unary arithmetic of every type and width", "[emitted]") {
  std::mt19937_64 random(2);
  for_each_type([&](const Setup& s, VType t) {
    auto one = [&](auto body) { check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg, Reg) { return body(b, x); }), t.element, t.element, random); };
    one([&](Builder& b, Reg x) { return b.vneg(t, x); });
    one([&](Builder& b, Reg x) { return b.vabs(t, x); });
    one([&](Builder& b, Reg x) { return b.vnot(t, x); });
    one([&](Builder& b, Reg x) { return b.vmov(t, x); });
    if (is_float(t.element)) {
      one([&](Builder& b, Reg x) { return b.vsqrt(t, b.vabs(t, x)); });
      for (Round r : {Round::nearest, Round::floor, Round::ceil, Round::trunc, Round::away}) one([&](Builder& b, Reg x) { return b.vround(t, r, x); });
    } else {
      one([&](Builder& b, Reg x) { return b.vlzcnt(t, x); });
      one([&](Builder& b, Reg x) { return b.vpopcnt(t, x); });
      for (int n : {0, 1, 3, 7, 8, 15, 31, 40, 63, 64, 100}) {
        one([&](Builder& b, Reg x) { return b.vshl(t, x, n); });
        one([&](Builder& b, Reg x) { return b.vshr(t, x, n); });
        one([&](Builder& b, Reg x) { return b.vsar(t, x, n); });
      }
    }
    if (t.element == ElementType::u64) {
      check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg y, Reg) { return b.vmul_low(t, x, y); }), t.element, t.element, random);
    }
  });
  emulated_batch().run();
}

TEST_CASE("emitted code: fused multiply-add in every register form", "[emitted]") {
  std::mt19937_64 random(3);
  for_each_type([&](const Setup& s, VType t) {
    if (t.element != ElementType::f32 && t.element != ElementType::f64) return;
    for (Op op : {Op::VFma, Op::VFms, Op::VFnma, Op::VFnms}) {
      for (int form = 0; form < 4; form++) {
        check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg y, Reg z) {
                Reg d = form == 0 ? b.vector() : form == 1 ? x : form == 2 ? y : z;
                b.emit({.op = op, .type = t.element, .lanes = t.lanes, .dst = d, .a = x, .b = y, .c = z});
                return d;
              }), t.element, t.element, random);
        // Memory as a factor; x stays alive for the last form.
        check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg, Reg z) {
                Reg d = form == 0 ? b.vector() : form == 1 ? x : z;
                Reg m = form == 2 ? b.vload_broadcast(t, {b.function().params[1], 4}) : b.vload(t, {b.function().params[1], 0});
                b.emit({.op = op, .type = t.element, .lanes = t.lanes, .dst = d, .a = form == 3 ? m : x, .b = form == 3 ? x : m, .c = z});
                return form == 3 ? b.vmax_raw(t, d, x) : d;
              }), t.element, t.element, random);
        // Memory or a constant as the addend; x or y may stay alive.
        check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg y, Reg) {
                Reg d = form == 1 ? x : form == 2 ? y : b.vector();
                Reg m = form == 0 ? b.vconst(t, 1.5) : form == 1 ? b.vload_broadcast(t, {b.function().params[1], 4}) : b.vload(t, {b.function().params[1], 0});
                b.emit({.op = op, .type = t.element, .lanes = t.lanes, .dst = d, .a = x, .b = y, .c = m});
                return form == 3 ? b.vmax_raw(t, d, b.vmax_raw(t, x, y)) : d;
              }), t.element, t.element, random);
      }
    }
  });
  emulated_batch().run();
}

TEST_CASE("emitted code: folded memory operands", "[emitted]") {
  std::mt19937_64 random(4);
  for_each_type([&](const Setup& s, VType t) {
    for (Op op : {Op::VAdd, Op::VSub, Op::VMul, Op::VMin, Op::VMaxRaw, Op::VAnd, Op::VAndNot, Op::VXor}) {
      check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg, Reg) {
              Reg first = b.vector(), second = b.vector(), third = b.vector();
              Reg base = b.function().params[1];
              b.emit(binary(op, t, x, b.vload(t, {base, b.mov(0), 8}), first));
              b.emit(binary(op, t, first, b.vload_broadcast(t, {base, 16}), second));
              b.emit(binary(op, t, b.vconst(t, 3), second, third));
              return b.vadd(t, third, b.viota(t, 1, 2));
            }), t.element, t.element, random);
    }
  });
  emulated_batch().run();
}

TEST_CASE("emitted code: conversions between all element types", "[emitted]") {
  std::mt19937_64 random(5);
  std::vector<ElementType> all(std::begin(elements), std::end(elements));
  all.push_back(ElementType::pred);
  for (const Setup& s : setups()) {
    for (ElementType to : all) {
      for (ElementType from : all) {
        for (int lanes = 1; lanes * std::max(byte_width(to), byte_width(from)) <= s.vector_bytes; lanes *= 2) {
          VType t{to, static_cast<uint8_t>(lanes)}, source{from, t.lanes};
          check(s, lanewise(s.vector_bytes, source, t, [&](Builder& b, Reg x, Reg, Reg) {
                  if (from == ElementType::pred) x = b.vand(source, x, b.vconst_bits(source, 1));
                  return b.vconvert(t, from, x);
                }), from, to, random, 12);
        }
      }
    }
  }
  emulated_batch().run();
}

TEST_CASE("emitted code: raw conversions of values that fit", "[emitted]") {
  std::mt19937_64 random(6);
  for (const Setup& s : setups()) {
    for (ElementType to : elements) {
      if (is_float(to)) continue;
      for (ElementType from : {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64}) {
        for (int lanes = 1; lanes * std::max(byte_width(to), byte_width(from)) <= s.vector_bytes; lanes *= 2) {
          VType t{to, static_cast<uint8_t>(lanes)}, source{from, t.lanes};
          check(s, lanewise(s.vector_bytes, source, t, [&](Builder& b, Reg x, Reg, Reg) {
                  double high = is_signed_integer(to) ? 120 : 250, low = is_signed_integer(to) ? -120 : 0;
                  if (byte_width(to) >= 4 && from != ElementType::f16) high = 2139095040.0, low = is_signed_integer(to) ? -high : 0;
                  x = b.vmin_raw(source, b.vmax_raw(source, x, b.vconst(source, low)), b.vconst(source, high));
                  return b.vconvert_raw(t, from, x);
                }), from, to, random, 8);
        }
      }
    }
  }
  emulated_batch().run();
}

TEST_CASE("emitted code: comparisons, masks and selects", "[emitted]") {
  std::mt19937_64 random(7);
  for_each_type([&](const Setup& s, VType t) {
    for (int c = static_cast<int>(Cond::eq); c <= static_cast<int>(Cond::nge); c++) {
      auto cond = static_cast<Cond>(c);
      if ((cond >= Cond::ult && cond <= Cond::uge) || (cond >= Cond::ord && !is_float(t.element))) continue;
      check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg y, Reg z) { return b.vselect(t, b.vcmp(t, cond, x, y), z, x); }), t.element, t.element, random);
      check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg, Reg z) {
              return b.vselect(t, b.vcmp(t, cond, x, b.vload(t, b.function().params[1])), z, b.vconst(t, 2));
            }), t.element, t.element, random);
    }
    VType pred{ElementType::pred, t.lanes};
    check(s, lanewise(s.vector_bytes, t, pred, [&](Builder& b, Reg x, Reg y, Reg z) {
            Reg p = b.vcmp(t, Cond::lt, x, y), q = b.vcmp(t, Cond::le, y, z);
            Reg r = b.mor(t, b.mand(t, p, q), b.mand_not(t, p, b.mxor(t, q, b.mnot(t, p))));
            b.mnot(t, r, r);
            return b.pred_from_mask(t, r);
          }), t.element, ElementType::pred, random);
    check(s, lanewise(s.vector_bytes, pred, t, [&](Builder& b, Reg x, Reg, Reg) {
            x = b.vand(pred, x, b.vconst_bits(pred, 1));
            return b.vselect(t, b.mask_from_pred(t, x), b.vconst(t, 5), b.vconst(t, 7));
          }), ElementType::pred, t.element, random);
  });
  emulated_batch().run();
}

TEST_CASE("emitted code: mask bits, tests, tails and widths", "[emitted]") {
  std::mt19937_64 random(8);
  for_each_type([&](const Setup& s, VType t) {
    Frame k(s.vector_bytes);
    Builder& b = *k.b;
    Reg x = b.vload(t, k.pa), y = b.vload(t, k.pb);
    Reg m = b.vcmp(t, Cond::lt, x, y);
    Reg bits = b.mbits(t, m);
    Reg tail = b.mtail(t, k.n);
    bits = b.add(b.mul(bits, 31), b.mbits(t, tail));
    bits = b.add(b.mul(bits, 31), b.mbits(t, b.mfrom_bits(t, b.mul(k.n, 0x12345678))));
    for (bool on : {false, true}) {
      Reg c = b.mconst(t, on);
      for (Reg q : {c, tail, m}) bits = b.add(b.mul(bits, 3), b.add(b.many(t, q), b.mul(b.mall(t, q), 7)));
    }
    for (ElementType e : {ElementType::u8, ElementType::s16, ElementType::f32, ElementType::f64}) {
      if (byte_width(e) * t.lanes > s.vector_bytes) continue;
      VType other{e, t.lanes};
      bits = b.add(b.mul(bits, 31), b.mbits(other, b.mconvert(other, t.element, tail)));
    }
    b.ret(bits);
    check(s, k.f, t.element, ElementType::u8, random, 12);
  });
  emulated_batch().run();
}

TEST_CASE("emitted code: masked memory touches what is on only", "[emitted]") {
  std::mt19937_64 random(9);
  for_each_type([&](const Setup& s, VType t) {
    if (!s.features.v4 && !s.emulated && byte_width(t.element) < 4) return;
    Frame k(s.vector_bytes);
    Builder& b = *k.b;
    Reg tail = b.mtail(t, k.n);
    Reg x = b.vload_masked(t, k.pa, tail);
    b.vstore_masked(t, k.out, b.vadd(t, x, b.vconst(t, 1)), tail);
    b.ret();
    check(s, k.f, t.element, t.element, random, 12);
    // Bits above the lanes stay off.
    Frame j(s.vector_bytes);
    Builder& c = *j.b;
    Reg m = c.mnot(t, c.mconst(t, false));
    c.vstore_masked(t, j.out, c.vload_masked(t, j.pa, m), m);
    c.ret();
    check(s, j.f, t.element, t.element, random, 2);
  });
  emulated_batch().run();
}

TEST_CASE("emitted code: gathers", "[emitted]") {
  std::mt19937_64 random(10);
  for_each_type([&](const Setup& s, VType t) {
    if (byte_width(t.element) < 4) return;
    for (ElementType index : {ElementType::s32, ElementType::s64}) {
      if (byte_width(index) * t.lanes > s.vector_bytes) continue;
      VType it{index, t.lanes};
      Frame k(s.vector_bytes);
      Builder& b = *k.b;
      auto last = static_cast<uint64_t>(64 / byte_width(t.element) - 1);
      Reg indices = b.vand(it, b.vload(it, k.pb), b.vconst_bits(it, last));
      Reg m = b.vcmp(it, Cond::ne, indices, b.vconst_bits(it, 1));
      m = b.mconvert(t, index, m);
      Reg x = b.vgather(t, index, k.pa, indices, byte_width(t.element), 0, m);
      b.vstore(t, k.out, b.vselect(t, m, x, b.vconst(t, 9)));
      b.ret();
      check(s, k.f, t.element, t.element, random, 8);
    }
  });
  emulated_batch().run();
}

TEST_CASE("emitted code: moving lanes", "[emitted]") {
  std::mt19937_64 random(11);
  for_each_type([&](const Setup& s, VType t) {
    auto one = [&](VType result, auto body) { check(s, lanewise(s.vector_bytes, t, result, body), t.element, t.element, random, 2); };
    one(t, [&](Builder& b, Reg x, Reg, Reg) { return b.vbroadcast(t, x); });
    one(t, [&](Builder& b, Reg x, Reg, Reg) { return b.vreverse(t, x); });
    one(t, [&](Builder& b, Reg, Reg, Reg) { return b.vsplat(t, b.function().params[4]); });
    VType index{unsigned_of(byte_width(t.element)), t.lanes};
    one(t, [&](Builder& b, Reg x, Reg y, Reg) { return b.vpermute(t, x, b.vand(index, y, b.vconst_bits(index, t.lanes - 1u))); });
    for (int lane = 0; lane < t.lanes; lane++) {
      one(t, [&](Builder& b, Reg x, Reg y, Reg) { return b.vinsert(t, x, b.vextract(t, y, t.lanes - 1 - lane), lane); });
    }
    for (int lanes = 1; lanes <= t.lanes; lanes *= 2) {
      VType part{t.element, static_cast<uint8_t>(lanes)};
      for (int p = 0; p < t.lanes / lanes; p++) one(part, [&](Builder& b, Reg x, Reg, Reg) { return b.vpart(part, x, p); });
    }
    if (t.lanes > 1) one(t, [&](Builder& b, Reg x, Reg y, Reg) { return b.vconcat(t, x, y); });
    if (t.bytes() >= 16) {
      one(t, [&](Builder& b, Reg x, Reg y, Reg) { return b.vzip_low(t, x, y); });
      one(t, [&](Builder& b, Reg x, Reg y, Reg) { return b.vzip_high(t, x, y); });
    }
    if (t.bytes() == 32) {
      for (int p = 0; p < 16; p++) one(t, [&](Builder& b, Reg x, Reg y, Reg) { return b.vblocks(t, x, y, {p & 3, p >> 2}); });
    }
    if (t.bytes() == 64) {
      one(t, [&](Builder& b, Reg x, Reg y, Reg) { return b.vblocks(t, x, y, {1, 3, 0, 2}); });
      one(t, [&](Builder& b, Reg x, Reg y, Reg) { return b.vblocks(t, x, y, {2, 2, 3, 1}); });
    }
    if (byte_width(t.element) == 1) {
      one(t, [&](Builder& b, Reg x, Reg y, Reg) {
        Reg low = b.vand(t, y, b.vconst_bits(t, 15));
        return b.vtable(t, t.bytes() >= 16 ? x : b.vload({t.element, 16}, b.function().params[0]), low);
      });
    }
  });
  emulated_batch().run();
}

TEST_CASE("emitted code: reductions and transposes", "[emitted]") {
  std::mt19937_64 random(12);
  for_each_type([&](const Setup& s, VType t) {
    VType scalar{t.element, 1};
    for (Op op : {Op::VAdd, Op::VMul, Op::VMin, Op::VMax, Op::VAnd, Op::VOr, Op::VXor}) {
      check(s, lanewise(s.vector_bytes, t, scalar, [&](Builder& b, Reg x, Reg, Reg) { return b.reduce(op, t, x); }), t.element, t.element, random);
    }
    if (byte_width(t.element) < 4 || t.bytes() < 16) return;
    // Rows from the same buffer, shifted by a byte each; the result combined so that each place counts.
    check(s, lanewise(s.vector_bytes, t, t, [&](Builder& b, Reg x, Reg y, Reg z) {
            VType bits{unsigned_of(byte_width(t.element)), t.lanes};
            std::vector<Reg> rows;
            for (int r = 0; r < t.lanes; r++) rows.push_back(b.vadd(bits, r % 3 == 0 ? x : r % 3 == 1 ? y : z, b.vconst_bits(bits, static_cast<uint64_t>(r))));
            b.transpose(t, rows);
            Reg sum = rows[0];
            for (size_t r = 1; r < rows.size(); r++) sum = b.vadd(bits, b.vmul(bits, sum, b.vconst_bits(bits, 33)), rows[r]);
            return sum;
          }), t.element, ElementType::u8, random, 2);
  });
  emulated_batch().run();
}

TEST_CASE("x86: a transpose is one", "[x86]") {
  for (const Setup& s : native_setups()) {
    for (ElementType e : {ElementType::f32, ElementType::f64}) {
      for (int bytes = 16; bytes <= s.vector_bytes; bytes *= 2) {
        VType t{e, static_cast<uint8_t>(bytes / byte_width(e))};
        Function f;
        Builder b(f, "transpose", s.vector_bytes);
        Reg in = b.param(), out = b.param();
        std::vector<Reg> rows;
        for (int r = 0; r < t.lanes; r++) rows.push_back(b.vload(t, {in, r * bytes}));
        b.transpose(t, rows);
        for (int r = 0; r < t.lanes; r++) b.vstore(t, {out, r * bytes}, rows[static_cast<size_t>(r)]);
        b.ret();
        auto code = x86::assemble({f}, s.features);
        REQUIRE(code);
        auto memory = load(*code);
        std::vector<uint64_t> x(1024), y(1024);
        auto* bytes_in = reinterpret_cast<std::byte*>(x.data());
        auto* bytes_out = reinterpret_cast<std::byte*>(y.data());
        size_t n = t.lanes, w = static_cast<size_t>(byte_width(e));
        for (size_t i = 0; i < n * n; i++) std::memcpy(bytes_in + i * w, &i, w);
        memory->function<void(void*, void*)>("transpose")(x.data(), y.data());
        for (size_t i = 0; i < n; i++) {
          for (size_t j = 0; j < n; j++) {
            uint64_t got = 0;
            std::memcpy(&got, bytes_out + (i * n + j) * w, w);
            REQUIRE(got == j * n + i);
          }
        }
      }
    }
  }
}

TEST_CASE("emitted code: general registers", "[emitted]") {
  std::mt19937_64 random(13);
  for (const Setup& s : setups()) {
    for (int variant = 0; variant < 40; variant++) {
      Frame k(s.vector_bytes);
      Builder& b = *k.b;
      Reg x = b.load(ElementType::s64, k.pa), y = b.load(ElementType::u64, {k.pb, 8}), result = b.mov(variant);
      auto mix = [&](Reg r) { result = b.add(b.mul(result, 0x9e3779b97f4a7c15), r); };
      for (ElementType e : {ElementType::s8, ElementType::s16, ElementType::s32, ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64}) {
        mix(b.extend(e, x));
        mix(b.load(e, {k.pa, b.and_(y, 7), 2, variant % 3}));
      }
      int64_t immediate = variant % 2 ? variant * 3 - 50 : static_cast<int64_t>(0x123456789abcdef0 * static_cast<uint64_t>(variant));
      mix(b.add(x, y)), mix(b.sub(x, y)), mix(b.mul(x, y)), mix(b.and_(x, y)), mix(b.or_(x, y)), mix(b.xor_(x, y));
      mix(b.add(x, immediate)), mix(b.sub(x, immediate)), mix(b.mul(x, immediate)), mix(b.and_(x, immediate)), mix(b.or_(x, immediate)), mix(b.xor_(x, immediate));
      mix(b.shl(x, y)), mix(b.shr(x, y)), mix(b.sar(x, y)), mix(b.shl(x, variant)), mix(b.shr(x, variant)), mix(b.sar(x, variant));
      mix(b.mul(x, 8)), mix(b.neg(x)), mix(b.not_(y)), mix(b.lea({x, y, 4, 100})), mix(b.lea({x, -5})), mix(b.min(x, y)), mix(b.max(x, y));
      for (ElementType e : {ElementType::s64, ElementType::u64}) mix(b.mul_high(e, x, y));
      for (ElementType e : {ElementType::s32, ElementType::u32, ElementType::s64, ElementType::u64}) {
        mix(b.div_total(e, x, y)), mix(b.rem_total(e, x, y));
        mix(b.div_total(e, x, b.mov(0))), mix(b.rem_total(e, y, b.mov(0)));
        mix(b.div_total(e, b.mov(INT64_MIN), b.mov(-1))), mix(b.rem_total(e, b.mov(INT64_MIN), b.mov(-1)));
        mix(b.div_total(e, b.mov(INT32_MIN), b.mov(-1))), mix(b.rem_total(e, b.mov(INT32_MIN), b.mov(-1)));
      }
      for (ElementType e : {ElementType::u32, ElementType::u64}) mix(b.lzcnt(e, x)), mix(b.tzcnt(e, x)), mix(b.popcnt(e, x)), mix(b.lzcnt(e, b.mov(0)));
      mix(b.low_bits(b.and_(y, 63))), mix(b.low_bits(b.mov(64)));
      for (int c = static_cast<int>(Cond::eq); c <= static_cast<int>(Cond::uge); c++) {
        auto cond = static_cast<Cond>(c);
        mix(b.set(cond, x, y)), mix(b.set(cond, x, immediate)), mix(b.set(cond, y, 0));
        mix(b.select(cond, x, y, x, y)), mix(b.select(cond, x, int64_t{7}, y, x));
        b.if_then(cond, x, y, [&] { b.add(result, c + 1, result); });
        b.if_else(cond, y, 5, [&] { b.xor_(result, x, result); }, [&] { b.sub(result, y, result); });
      }
      // In place: the result where an operand is.
      b.sub(x, y, y), mix(y);
      b.select(Cond::lt, x, y, y, x, x), mix(x);
      b.shl(x, y, y), mix(y);
      b.counted_loop(k.n, 3, [&](Reg i) { b.add(result, i, result); });
      for (ElementType e : {ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64}) {
        b.store(e, {k.out, 4 * byte_width(e)}, x);
        b.store(e, {k.out, 2 * byte_width(e) - 2}, int64_t{-2});
      }
      b.store(ElementType::u64, {k.out, 40}, 0x123456789abcdef);
      b.prefetch({k.out, 64}, variant % 4);
      b.ret(result);
      check(s, k.f, variant % 4 == 3 ? ElementType::s8 : ElementType::s64, ElementType::u8, random, 6);
    }
  }
  emulated_batch().run();
}

TEST_CASE("emitted code: branches over long blocks", "[emitted]") {
  std::mt19937_64 random(14);
  for (const Setup& s : setups()) {
    Frame k(s.vector_bytes);
    Builder& b = *k.b;
    Reg x = b.load(ElementType::s64, k.pa), y = b.load(ElementType::s64, {k.pb, 8}), result = b.mov(1);
    auto much = [&] {
      for (int n = 0; n < 1000; n++) b.add(result, x, result), b.xor_(result, y, result);
    };
    b.counted_loop(k.n, 20, [&](Reg i) {
      b.if_then(Cond::ne, b.and_(i, 1), 0, much);
      b.if_else(Cond::eq, b.and_(i, 2), 0, much, [&] { b.sub(result, i, result); });
      b.if_else(Cond::ult, result, x, much, [&] { b.add(result, i, result); });
    });
    b.ret(result);
    check(s, k.f, ElementType::s64, ElementType::u8, random, 6);
  }
  emulated_batch().run();
}

TEST_CASE("x86: calls, symbols and control state", "[x86]") {
  static const auto outside = +[](uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) {
    return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f;
  };
  for (const Setup& s : native_setups()) {
    Function inner, outer;
    {
      Builder b(inner, "inner", s.vector_bytes);
      Reg x = b.param(), y = b.param();
      b.ret(b.sub(b.mul(x, 10), y));
    }
    std::array<uint64_t, 4> weights{3, 5, 7, 11};
    VType t{ElementType::f32, static_cast<uint8_t>(s.vector_bytes / 4)};
    {
      Builder b(outer, "outer", s.vector_bytes);
      Reg p = b.param(), x = b.param(), y = b.param();
      Reg state = b.fp_save();
      b.fp_default();
      Reg kept = b.vload(t, p);
      Reg one = b.call("inner", {x, y}), two = b.call("inner", {y, x});
      Reg three = b.call("outside", {one, two, x, y, b.mov(4), b.load(ElementType::u64, {b.address_of("weights"), 8})});
      Reg four = b.call(b.address_of("outside"), {y, x, two, one, x});
      b.call("inner", {x, y}, false);
      b.vstore(t, p, b.vadd(t, kept, kept));
      b.fp_restore(state);
      b.ret(b.add(three, b.mul(four, 13)));
    }
    x86::AssembleOptions options;
    options.data.push_back({"weights", 8, std::as_bytes(std::span(weights))});
    options.exported = {"outer"};
    auto code = x86::assemble({outer, inner}, s.features, options);
    REQUIRE(code);
    CHECK(code->externals == std::vector<std::string>{"outside"});
    CHECK(!load(*code));
    auto memory = load(*code, [&](std::string_view name) { return name == "outside" ? reinterpret_cast<const void*>(outside) : nullptr; });
    REQUIRE(memory);
    alignas(64) std::array<float, 16> values;
    values.fill(1.5f);
    uint64_t x = 1234, y = 77, one = x * 10 - y, two = y * 10 - x;
    uint64_t want = outside(one, two, x, y, 4, 5);
    uint64_t fifth = memory->function<uint64_t(void*, uint64_t, uint64_t)>("outer")(values.data(), x, y);
    // The call through a register passes five arguments; the sixth is whatever is there.
    CHECK((fifth - want) % 13 == 0);
    for (int l = 0; l < t.lanes; l++) CHECK(values[static_cast<size_t>(l)] == 3.0f);
  }
}

TEST_CASE("x86: targets by name", "[x86]") {
  CHECK(x86::features_of("x86-64-v3")->vector_bytes() == 32);
  CHECK(x86::features_of("x86-64-v4")->vector_bytes() == 64);
  auto wrong = x86::features_of("x86-64-v5");
  REQUIRE(!wrong);
  CHECK(wrong.error().kind == ErrorKind::usage);
  CHECK(wrong.error().message.find("x86-64-v") != std::string::npos);
  CHECK(x86::can_run(x86::detect()));
}

}  // namespace hloc::test
