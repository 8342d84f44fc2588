// What the CPU has, read with cpuid and xgetbv.
#include <array>

#include <fmt/format.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "backends/cpu/x86/x86.h"

namespace hloc::x86 {

#if defined(__x86_64__)
namespace {

struct CpuidLeaf {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

CpuidLeaf cpuid_leaf(uint32_t leaf, uint32_t sub = 0) {
  CpuidLeaf r;
  __get_cpuid_count(leaf, sub, &r.a, &r.b, &r.c, &r.d);
  return r;
}

constexpr bool bit(uint32_t word, int n) { return word >> n & 1; }

uint64_t read_xcr0() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

}  // namespace

Features detect() {
  Features f;
  CpuidLeaf one = cpuid_leaf(1), seven = cpuid_leaf(7), seven_one = cpuid_leaf(7, 1), extended = cpuid_leaf(0x80000001u);
  if (!bit(one.c, 27)) return f;  // OSXSAVE
  uint64_t xcr0 = read_xcr0();
  bool os_avx = (xcr0 & 0x6) == 0x6, os_avx512 = (xcr0 & 0xe6) == 0xe6, os_amx = (xcr0 & 0x60000) == 0x60000;
  f.v3 = os_avx && bit(one.c, 28) && bit(one.c, 12) && bit(one.c, 29) && bit(one.c, 22) && bit(one.c, 23) &&
         bit(seven.b, 5) && bit(seven.b, 3) && bit(seven.b, 8) && bit(extended.c, 5);
  f.v4 = f.v3 && os_avx512 && bit(seven.b, 16) && bit(seven.b, 17) && bit(seven.b, 28) && bit(seven.b, 30) && bit(seven.b, 31);
  f.avx_vnni = f.v3 && bit(seven_one.a, 4);
  f.avx512_vbmi = f.v4 && bit(seven.c, 1);
  f.avx512_vnni = f.v4 && bit(seven.c, 11);
  f.avx512_bitalg = f.v4 && bit(seven.c, 12);
  f.avx512_vpopcntdq = f.v4 && bit(seven.c, 14);
  f.avx512_bf16 = f.v4 && bit(seven_one.a, 5);
  f.avx512_fp16 = f.v4 && bit(seven.d, 23);
  f.amx_tile = os_amx && bit(seven.d, 24);
  f.amx_bf16 = f.amx_tile && bit(seven.d, 22);
  f.amx_int8 = f.amx_tile && bit(seven.d, 25);
  return f;
}

#else

Features detect() { return {}; }

#endif

Result<Features> features_of(std::string_view target) {
  if (target == "native") {
    Features f = detect();
    if (!f.v3) return error(ErrorKind::target, "this CPU has no AVX2, FMA and BMI2 (x86-64-v3), which native code needs");
    return f;
  }
  Features f;
  f.v3 = target == "x86-64-v3" || target == "x86-64-v4";
  f.v4 = target == "x86-64-v4";
  if (!f.v3) {
    constexpr std::array<std::string_view, 3> names{"native", "x86-64-v3", "x86-64-v4"};
    std::string_view near = nearest(target, names);
    return error(ErrorKind::usage, fmt::format("'{}' is no x86 target: expected native, x86-64-v3 or x86-64-v4{}", target,
                                               suggestion(near)));
  }
  return f;
}

bool can_run(const Features& w) {
  Features h = detect();
  return (h.v3 || !w.v3) && (h.v4 || !w.v4) && (h.avx_vnni || !w.avx_vnni) && (h.avx512_vnni || !w.avx512_vnni) &&
         (h.avx512_bf16 || !w.avx512_bf16) && (h.avx512_fp16 || !w.avx512_fp16) && (h.avx512_vbmi || !w.avx512_vbmi) &&
         (h.avx512_vpopcntdq || !w.avx512_vpopcntdq) && (h.avx512_bitalg || !w.avx512_bitalg) &&
         (h.amx_tile || !w.amx_tile) && (h.amx_int8 || !w.amx_int8) && (h.amx_bf16 || !w.amx_bf16);
}

}  // namespace hloc::x86
