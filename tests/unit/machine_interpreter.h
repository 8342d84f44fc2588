// A plain interpreter of machine IR, lane by lane in C++: what emitted code is compared with. Addresses are real ones.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "backends/cpu/machine/element.h"
#include "backends/cpu/machine/machine.h"
#include "ir/support/float_formats.h"

namespace hloc::test {

using namespace hloc::machine;

class MachineInterpreter {
 public:
  using Vector = std::array<std::byte, 64>;

  explicit MachineInterpreter(const Function& f) : f_(f), g_(f.counts[1]), v_(f.counts[2]), k_(f.counts[3]) {}

  uint64_t run(std::initializer_list<uint64_t> args) {
    size_t n = 0;
    for (uint64_t a : args) g_[f_.params[n++].index()] = a;
    for (BlockId b = 0;;) {
      for (const Inst& i : f_.blocks[b].insts) {
        if (i.op == Op::Ret) return i.a ? g(i.a) : 0;
        if (i.op == Op::Jump) b = i.targets[0];
        else if (i.op == Op::Branch) b = i.targets[holds(i.cond, g(i.a), i.b ? g(i.b) : static_cast<uint64_t>(i.imm)) ? 0 : 1];
        else step(i);
      }
    }
  }

 private:
  uint64_t& g(Reg r) { return g_[r.index()]; }
  Vector& v(Reg r) { return v_[r.index()]; }
  uint64_t& k(Reg r) { return k_[r.index()]; }

  static uint64_t lane(const Vector& x, ElementType t, int l) {
    uint64_t bits = 0;
    auto width = static_cast<size_t>(byte_width(t));
    std::memcpy(&bits, x.data() + static_cast<size_t>(l) * width, width);
    return bits;
  }
  static void set_lane(Vector& x, ElementType t, int l, uint64_t bits) {
    auto width = static_cast<size_t>(byte_width(t));
    std::memcpy(x.data() + static_cast<size_t>(l) * width, &bits, width);
  }
  static uint64_t load_bits(uint64_t at, int width) {
    uint64_t bits = 0;
    std::memcpy(&bits, reinterpret_cast<const void*>(at), static_cast<size_t>(width));
    return bits;
  }
  static void store_bits(uint64_t at, int width, uint64_t bits) {
    std::memcpy(reinterpret_cast<void*>(at), &bits, static_cast<size_t>(width));
  }
  static uint64_t extend(ElementType t, uint64_t bits) {
    int unused = 64 - bit_width(t);
    if (t == ElementType::pred) unused = 56;
    return is_signed_integer(t) ? static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused) : bits << unused >> unused;
  }
  uint64_t address(const Inst& i) {
    return (i.base ? g(i.base) : 0) + (i.index ? g(i.index) * i.scale : 0) + static_cast<uint64_t>(static_cast<int64_t>(i.disp));
  }

  static bool holds(Cond c, uint64_t a, uint64_t b) {
    auto s = static_cast<int64_t>(a), t = static_cast<int64_t>(b);
    switch (c) {
      case Cond::eq: return a == b;
      case Cond::ne: return a != b;
      case Cond::lt: return s < t;
      case Cond::le: return s <= t;
      case Cond::gt: return s > t;
      case Cond::ge: return s >= t;
      case Cond::ult: return a < b;
      case Cond::ule: return a <= b;
      case Cond::ugt: return a > b;
      case Cond::uge: return a >= b;
      default: return false;
    }
  }

 public:
  // ---- one lane ----
  // Calls f(a, b, c) with C++ values of type t and gives its result as bits.
  template <class F>
  static uint64_t typed(ElementType t, uint64_t a, uint64_t b, uint64_t c, F f) {
    uint64_t out = 0;
    visit_element(t, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_same_v<T, bool>) {
        out = static_cast<uint8_t>(f(static_cast<uint8_t>(a), static_cast<uint8_t>(b), static_cast<uint8_t>(c)));
      } else if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
        auto from = [](uint64_t x) { return static_cast<float>(T::from_bits(static_cast<uint16_t>(x))); };
        out = T(static_cast<double>(f(from(a), from(b), from(c)))).bits;
      } else if constexpr (std::is_same_v<T, float>) {
        auto from = [](uint64_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x)); };
        out = std::bit_cast<uint32_t>(static_cast<float>(f(from(a), from(b), from(c))));
      } else if constexpr (std::is_same_v<T, double>) {
        out = std::bit_cast<uint64_t>(static_cast<double>(f(std::bit_cast<double>(a), std::bit_cast<double>(b), std::bit_cast<double>(c))));
      } else if constexpr (std::is_integral_v<T>) {
        out = static_cast<std::make_unsigned_t<T>>(static_cast<T>(f(static_cast<T>(a), static_cast<T>(b), static_cast<T>(c))));
      }
    });
    return out;
  }

  static uint64_t lane_op(const Inst& i, uint64_t a, uint64_t b, uint64_t c) {
    ElementType t = i.type;
    int bits = bit_width(t);
    uint64_t sign = uint64_t{1} << (bits - 1), all = low_mask(bits);
    if (is_float(t)) {
      if (i.op == Op::VNeg) return a ^ sign;
      if (i.op == Op::VAbs) return a & ~sign;
    }
    switch (i.op) {
      case Op::VAnd: return a & b;
      case Op::VOr: return a | b;
      case Op::VXor: return a ^ b;
      case Op::VAndNot: return ~a & b & all;
      case Op::VMajority: return (a & b) | (c & (a | b));
      case Op::VNot: return ~a & all;
      case Op::VMulLow: return (a & 0xffffffff) * (b & 0xffffffff);
      case Op::VShl: return b >= static_cast<uint64_t>(bits) ? 0 : (a << b) & all;
      case Op::VShr: return b >= static_cast<uint64_t>(bits) ? 0 : a >> b;
      case Op::VSar: {
        auto wide = static_cast<int64_t>(a << (64 - bits)) >> (64 - bits);
        return static_cast<uint64_t>(wide >> std::min<uint64_t>(b, 63)) & all;
      }
      case Op::VLeadingZeros: return static_cast<uint64_t>(std::countl_zero(a)) - static_cast<uint64_t>(64 - bits);
      case Op::VPopCount: return static_cast<uint64_t>(std::popcount(a));
      default: break;
    }
    return typed(t, a, b, c, [&](auto x, auto y, auto z) { return arithmetic(i, x, y, z); });
  }

  template <class T>
  static T arithmetic(const Inst& i, T x, T y, T z) {
    if constexpr (std::is_floating_point_v<T>) {
      switch (i.op) {
        case Op::VAdd: return x + y;
        case Op::VSub: return x - y;
        case Op::VMul: return x * y;
        case Op::VDiv: return x / y;
        case Op::VSqrt: return std::sqrt(x);
        case Op::VScale: return std::scalbn(x, static_cast<int>(y));
        case Op::VFma: return std::fma(x, y, z);
        case Op::VFms: return std::fma(x, y, -z);
        case Op::VFnma: return std::fma(-x, y, z);
        case Op::VFnms: return std::fma(-x, y, -z);
        case Op::VMinRaw: return x < y ? x : y;
        case Op::VMaxRaw: return x > y ? x : y;
        case Op::VMin:
          if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
          return x == y ? (std::signbit(x) ? x : y) : std::min(x, y);
        case Op::VMax:
          if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
          return x == y ? (std::signbit(x) ? y : x) : std::max(x, y);
        case Op::VRound:
          switch (i.round) {
            case Round::nearest: return std::nearbyint(x);
            case Round::floor: return std::floor(x);
            case Round::ceil: return std::ceil(x);
            case Round::trunc: return std::trunc(x);
            case Round::away: return std::round(x);
          }
          return x;
        default: HLOC_UNREACHABLE();
      }
    } else {
      using U = std::make_unsigned_t<T>;
      auto ux = static_cast<uint64_t>(static_cast<U>(x)), uy = static_cast<uint64_t>(static_cast<U>(y));
      auto quotient = [&]() -> T {
        if (y == 0) return static_cast<T>(~U{0});
        if constexpr (std::is_signed_v<T>) {
          if (y == -1) return static_cast<T>(0 - ux);
        }
        return static_cast<T>(x / y);
      };
      switch (i.op) {
        case Op::VAdd: return static_cast<T>(ux + uy);
        case Op::VSub: return static_cast<T>(ux - uy);
        case Op::VMul: return static_cast<T>(ux * uy);
        case Op::VDiv: return quotient();
        case Op::VRem: return static_cast<T>(ux - static_cast<uint64_t>(static_cast<U>(quotient())) * uy);
        case Op::VNeg: return static_cast<T>(0 - ux);
        case Op::VAbs: return x < T{0} ? static_cast<T>(0 - ux) : x;
        case Op::VMin: case Op::VMinRaw: return std::min(x, y);
        case Op::VMax: case Op::VMaxRaw: return std::max(x, y);
        default: HLOC_UNREACHABLE();
      }
    }
  }

  static bool compare(const Inst& i, uint64_t a, uint64_t b) {
    bool out = false;
    typed(i.type, a, b, 0, [&](auto x, auto y, auto) {
      switch (i.cond) {
        case Cond::eq: out = x == y; break;
        case Cond::ne: out = x != y; break;
        case Cond::lt: out = x < y; break;
        case Cond::le: out = x <= y; break;
        case Cond::gt: out = x > y; break;
        case Cond::ge: out = x >= y; break;
        case Cond::ord: out = x == x && y == y; break;
        case Cond::uno: out = x != x || y != y; break;
        case Cond::one: out = x < y || x > y; break;
        case Cond::ueq: out = !(x < y || x > y); break;
        case Cond::nlt: out = !(x < y); break;
        case Cond::nle: out = !(x <= y); break;
        case Cond::ngt: out = !(x > y); break;
        case Cond::nge: out = !(x >= y); break;
        default: break;
      }
      return x;
    });
    return out;
  }

  static uint64_t convert(ElementType to, ElementType from, uint64_t bits) {
    bool from_float = is_float(from);
    uint64_t integer = extend(from, bits);
    double real = from_float ? element_value(from, bits) : 0;
    if (to == ElementType::pred) return from_float ? real != 0 : integer != 0;
    if (is_float(to)) {
      if (from_float) return element_bits(to, real);
      bool is_signed = is_signed_integer(from);
      if (to == ElementType::f32) {
        return std::bit_cast<uint32_t>(is_signed ? static_cast<float>(static_cast<int64_t>(integer)) : static_cast<float>(integer));
      }
      if (to != ElementType::f64 && (is_signed ? std::abs(static_cast<double>(static_cast<int64_t>(integer))) : static_cast<double>(integer)) >= 0x1p53) {
        integer = (integer & ~uint64_t{0x7ff}) | ((integer & 0x7ff) ? 0x800 : 0);
      }
      return element_bits(to, is_signed ? static_cast<double>(static_cast<int64_t>(integer)) : static_cast<double>(integer));
    }
    if (!from_float) return integer & low_mask(bit_width(to));
    if (std::isnan(real)) return 0;
    int width = bit_width(to);
    if (is_signed_integer(to)) {
      double limit = std::ldexp(1.0, width - 1);
      if (real >= limit) return low_mask(width - 1);
      if (real < -limit) return uint64_t{1} << (width - 1);
      return static_cast<uint64_t>(static_cast<int64_t>(real)) & low_mask(width);
    }
    if (real >= std::ldexp(1.0, width)) return low_mask(width);
    return real <= -1 ? 0 : static_cast<uint64_t>(real);
  }

 private:
  void general(const Inst& i);
  void memory(const Inst& i);
  void vector(const Inst& i);
  void mask(const Inst& i);

  void step(const Inst& i) {
    if (i.op <= Op::Ret) general(i);
    else if (i.op < Op::VMov || i.op >= Op::Spill) HLOC_UNREACHABLE();
    else if (i.op >= Op::MMov) mask(i);
    else if (i.op <= Op::VInsert) memory(i);
    else vector(i);
  }

  const Function& f_;
  std::vector<uint64_t> g_;
  std::vector<Vector> v_;
  std::vector<uint64_t> k_;
};

inline void MachineInterpreter::general(const Inst& i) {
  uint64_t a = i.a ? g(i.a) : 0, b = i.b ? g(i.b) : static_cast<uint64_t>(i.imm);
  auto divide = [&](bool remainder) -> uint64_t {
    uint64_t x = extend(i.type, a), y = extend(i.type, b);
    if (is_unsigned_integer(i.type)) return remainder ? x % y : x / y;
    auto s = static_cast<int64_t>(x), t = static_cast<int64_t>(y);
    return static_cast<uint64_t>(remainder ? s % t : s / t);
  };
  switch (i.op) {
    case Op::Mov: g(i.dst) = i.a ? a : static_cast<uint64_t>(i.imm); break;
    case Op::Lea: g(i.dst) = address(i); break;
    case Op::Add: g(i.dst) = a + b; break;
    case Op::Sub: g(i.dst) = a - b; break;
    case Op::Mul: g(i.dst) = a * b; break;
    case Op::MulHigh:
      g(i.dst) = is_signed_integer(i.type)
                     ? static_cast<uint64_t>(static_cast<__int128>(static_cast<int64_t>(a)) * static_cast<int64_t>(b) >> 64)
                     : static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
      break;
    case Op::Div: g(i.dst) = divide(false); break;
    case Op::Rem: g(i.dst) = divide(true); break;
    case Op::And: g(i.dst) = a & b; break;
    case Op::Or: g(i.dst) = a | b; break;
    case Op::Xor: g(i.dst) = a ^ b; break;
    case Op::Shl: g(i.dst) = a << (b & 63); break;
    case Op::Shr: g(i.dst) = a >> (b & 63); break;
    case Op::Sar: g(i.dst) = static_cast<uint64_t>(static_cast<int64_t>(a) >> (b & 63)); break;
    case Op::Neg: g(i.dst) = 0 - a; break;
    case Op::Not: g(i.dst) = ~a; break;
    case Op::Extend: g(i.dst) = extend(i.type, a); break;
    case Op::LeadingZeros:
      g(i.dst) = static_cast<uint64_t>(byte_width(i.type) == 4 ? std::countl_zero(static_cast<uint32_t>(a)) : std::countl_zero(a));
      break;
    case Op::TrailingZeros:
      g(i.dst) = static_cast<uint64_t>(byte_width(i.type) == 4 ? std::countr_zero(static_cast<uint32_t>(a)) : std::countr_zero(a));
      break;
    case Op::LowBits: g(i.dst) = low_mask(static_cast<int>(a)); break;
    case Op::PopCount: g(i.dst) = static_cast<uint64_t>(std::popcount(extend(i.type, a))); break;
    case Op::Set: g(i.dst) = holds(i.cond, a, b); break;
    case Op::Select: g(i.dst) = holds(i.cond, a, b) ? g(i.c) : g(i.d); break;
    case Op::Load: g(i.dst) = extend(i.type, load_bits(address(i), byte_width(i.type))); break;
    case Op::Store: store_bits(address(i), byte_width(i.type), i.a ? a : static_cast<uint64_t>(i.imm)); break;
    default: break;  // prefetches and control state: no effect here
  }
}

inline void MachineInterpreter::memory(const Inst& i) {
  int width = byte_width(i.type);
  ElementType t = i.type;
  auto all_lanes = [&](auto fn) {
    Vector out{};
    for (int l = 0; l < i.lanes; l++) set_lane(out, t, l, fn(l));
    v(i.dst) = out;
  };
  auto at = [&](int l) { return address(i) + static_cast<uint64_t>(l * width); };
  switch (i.op) {
    case Op::VMov: { Vector a = v(i.a); v(i.dst) = a; break; }
    case Op::VConst: all_lanes([&](int) { return static_cast<uint64_t>(i.imm); }); break;
    case Op::VData: std::memcpy(v(i.dst).data(), f_.data[static_cast<size_t>(i.imm)].bytes.data(), static_cast<size_t>(i.vtype().bytes())); break;
    case Op::VLoad: all_lanes([&](int l) { return load_bits(at(l), width); }); break;
    case Op::VLoadBroadcast: all_lanes([&](int) { return load_bits(at(0), width); }); break;
    case Op::VLoadMasked: all_lanes([&](int l) { return k(i.c) >> l & 1 ? load_bits(at(l), width) : 0; }); break;
    case Op::VStore: case Op::VStoreStream:
      for (int l = 0; l < i.lanes; l++) store_bits(at(l), width, lane(v(i.a), t, l));
      break;
    case Op::VStoreMasked:
      for (int l = 0; l < i.lanes; l++) if (k(i.c) >> l & 1) store_bits(at(l), width, lane(v(i.a), t, l));
      break;
    case Op::VGather:
      all_lanes([&](int l) {
        if (!(k(i.c) >> l & 1)) return lane(v(i.dst), t, l);
        uint64_t index = extend(i.from, lane(v(i.a), i.from, l));
        return load_bits(g(i.base) + index * i.scale + static_cast<uint64_t>(static_cast<int64_t>(i.disp)), width);
      });
      break;
    case Op::VBroadcast: all_lanes([&](int) { return lane(v(i.a), t, 0); }); break;
    case Op::VSplat: all_lanes([&](int) { return g(i.a); }); break;
    case Op::VExtract: g(i.dst) = extend(t, lane(v(i.a), t, static_cast<int>(i.imm))); break;
    case Op::VInsert: { Vector a = v(i.a); set_lane(a, t, static_cast<int>(i.imm), g(i.b)); v(i.dst) = a; break; }
    default: HLOC_UNREACHABLE();
  }
}

inline void MachineInterpreter::vector(const Inst& i) {
  ElementType t = i.type;
  Vector a = i.a ? v(i.a) : Vector{}, b = i.b ? v(i.b) : Vector{}, c = i.c && i.op != Op::VSelect ? v(i.c) : Vector{};
  auto all_lanes = [&](auto fn) {
    Vector out{};
    for (int l = 0; l < i.lanes; l++) set_lane(out, t, l, fn(l));
    v(i.dst) = out;
  };
  switch (i.op) {
    case Op::VConvert: case Op::VConvertRaw: all_lanes([&](int l) { return convert(t, i.from, lane(a, i.from, l)); }); return;
    case Op::VCompare:
      k(i.dst) = 0;
      for (int l = 0; l < i.lanes; l++) k(i.dst) |= uint64_t{compare(i, lane(a, t, l), lane(b, t, l))} << l;
      return;
    case Op::VSelect: all_lanes([&](int l) { return lane(k(i.c) >> l & 1 ? a : b, t, l); }); return;
    case Op::VPart: all_lanes([&](int l) { return lane(a, t, l + static_cast<int>(i.imm) * i.lanes); }); return;
    case Op::VConcat: all_lanes([&](int l) { return l < i.lanes / 2 ? lane(a, t, l) : lane(b, t, l - i.lanes / 2); }); return;
    case Op::VPermute: all_lanes([&](int l) { return lane(a, t, static_cast<int>(lane(b, t, l))); }); return;
    case Op::VTable:
      all_lanes([&](int l) {
        uint64_t index = lane(b, t, l);
        return index & 0x80 ? 0 : lane(a, t, (l & ~15) + static_cast<int>(index & 15));
      });
      return;
    case Op::VZipLow: case Op::VZipHigh: {
      int block = 16 / byte_width(t);
      all_lanes([&](int l) {
        int source = l / block * block + l % block / 2 + (i.op == Op::VZipHigh ? block / 2 : 0);
        return lane(l % 2 ? b : a, t, source);
      });
      return;
    }
    case Op::VBlocks: {
      int block = 16 / byte_width(t), blocks = i.lanes / block;
      all_lanes([&](int l) {
        int to = l / block, from = static_cast<int>(i.imm >> (4 * to) & 15);
        bool second = blocks == 2 ? from >= 2 : to >= 2;
        if (blocks == 2) from &= 1;
        return lane(second ? b : a, t, from * block + l % block);
      });
      return;
    }
    default: break;
  }
  bool shift_by_number = (i.op == Op::VShl || i.op == Op::VShr || i.op == Op::VSar) && !i.b;
  all_lanes([&](int l) {
    return lane_op(i, lane(a, t, l), shift_by_number ? static_cast<uint64_t>(i.imm) : lane(b, t, l), lane(c, t, l));
  });
}

inline void MachineInterpreter::mask(const Inst& i) {
  uint64_t all = low_mask(i.lanes);
  bool from_general = i.op == Op::MTail || i.op == Op::MFromBits;
  uint64_t a = i.a ? (from_general ? g(i.a) : k(i.a)) : 0, b = i.b ? k(i.b) : 0;
  switch (i.op) {
    case Op::MMov: case Op::MConvert: case Op::MFromBits: k(i.dst) = a & all; break;
    case Op::MConst: k(i.dst) = i.imm ? all : 0; break;
    case Op::MTail: k(i.dst) = low_mask(static_cast<int>(std::min<uint64_t>(a, 64))) & all; break;
    case Op::MAnd: k(i.dst) = a & b; break;
    case Op::MOr: k(i.dst) = a | b; break;
    case Op::MXor: k(i.dst) = a ^ b; break;
    case Op::MAndNot: k(i.dst) = ~a & b & all; break;
    case Op::MNot: k(i.dst) = ~a & all; break;
    case Op::MBits: g(i.dst) = a & all; break;
    case Op::MAny: g(i.dst) = (a & all) != 0; break;
    case Op::MAll: g(i.dst) = (a & all) == all; break;
    default: HLOC_UNREACHABLE();
  }
}

}  // namespace hloc::test
