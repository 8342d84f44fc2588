// Comparisons and choices, moving lanes, masks.
#include <array>
#include <cstring>

#include "backends/cpu/aarch64/emitter.h"

namespace hloc::aarch64 {

// ---- single lanes ------------------------------------------------------------------------------------------------

void Emitter::extract_lane(int64_t to, int64_t from, int width, int lane, bool is_signed) {
  if (width == 8) return put(Form::VUmovDouble, {to, from, lane});
  put(is_signed ? Form::VSmov : Form::VUmov, {to, from, size_of(width), lane});
}

void Emitter::insert_lane(int64_t to, int64_t from, int width, int lane) { put(Form::VIns, {to, size_of(width), lane, from}); }

void Emitter::emit_extract(const Inst& i) {
  extract_lane(phys(i.dst), phys(i.a), byte_width(i.type), static_cast<int>(i.imm), is_signed_integer(i.type));
}

void Emitter::emit_insert(const Inst& i) {
  vmove(phys(i.dst), phys(i.a));
  insert_lane(phys(i.dst), phys(i.b), byte_width(i.type), static_cast<int>(i.imm));
}

// ---- moving lanes ------------------------------------------------------------------------------------------------

void Emitter::emit_part(const Inst& i) {
  int64_t offset = i.imm * i.vtype().bytes();
  if (offset == 0) return vmove(phys(i.dst), phys(i.a));
  put(Form::VExt, {phys(i.dst), phys(i.a), phys(i.a), offset});
}

void Emitter::emit_concat(const Inst& i) {
  int half = i.vtype().bytes() / 2;
  int64_t t = half == 8 ? arrangement(3, 16) : arrangement(size_of(half), 8);
  put(Form::VZip1, {phys(i.dst), t, phys(i.a), phys(i.b)});
}

// By bytes: each lane's index times its width, and the bytes of a lane from there.
void Emitter::emit_permute(const Inst& i) {
  int width = byte_width(i.type);
  int64_t index = phys(i.b);
  if (width > 1) {
    std::array<std::byte, 16> repeat, count;
    for (int n = 0; n < 16; n++) {
      repeat[static_cast<size_t>(n)] = static_cast<std::byte>(n / width * width);
      count[static_cast<size_t>(n)] = static_cast<std::byte>(n % width);
    }
    load_constant(v30, repeat);
    put(Form::VTbl, {v30, bytes_16, index, v30});
    put(Form::VShl, {v30, arrangement(0, 16), v30, size_of(width)});
    load_constant(v31, count);
    put(Form::VAdd, {v30, arrangement(0, 16), v30, v31});
    index = v30;
  }
  put(Form::VTbl, {phys(i.dst), bytes_16, phys(i.a), index});
}

// ---- comparisons -------------------------------------------------------------------------------------------------

void Emitter::emit_vector_compare(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a), b = phys(i.b), t = whole(i);
  if (is_float(i.type)) return float_compare(d, i);
  bool is_signed = is_signed_integer(i.type);
  Form greater = is_signed ? Form::VCmgt : Form::VCmhi, at_least = is_signed ? Form::VCmge : Form::VCmhs;
  switch (i.cond) {
    case Cond::eq: return put(Form::VCmeq, {d, t, a, b});
    case Cond::ne: return put(Form::VCmeq, {d, t, a, b}), put(Form::VNot, {d, bytes_16, d});
    case Cond::lt: return put(greater, {d, t, b, a});
    case Cond::gt: return put(greater, {d, t, a, b});
    case Cond::le: return put(at_least, {d, t, b, a});
    case Cond::ge: return put(at_least, {d, t, a, b});
    case Cond::none: case Cond::ult: case Cond::ule: case Cond::ugt: case Cond::uge: case Cond::ord: case Cond::uno: case Cond::one:
    case Cond::ueq: case Cond::nlt: case Cond::nle: case Cond::ngt: case Cond::nge: break;
  }
  HLOC_UNREACHABLE();
}

// What is false for NaN has a form; the rest is the opposite of one of those.
void Emitter::float_compare(int64_t to, const Inst& i) {
  int64_t a = phys(i.a), b = phys(i.b), t = whole(i);
  auto either = [&](Form form, int64_t p, int64_t q, int64_t r, int64_t s, Form combine) {
    put(form, {v30, t, p, q});
    put(form, {v31, t, r, s});
    put(combine, {to, bytes_16, v30, v31});
  };
  bool inverted = false;
  switch (i.cond) {
    case Cond::ne: inverted = true; [[fallthrough]];
    case Cond::eq: put(Form::VFcmeq, {to, t, a, b}); break;
    case Cond::nlt: inverted = true; [[fallthrough]];
    case Cond::lt: put(Form::VFcmgt, {to, t, b, a}); break;
    case Cond::ngt: inverted = true; [[fallthrough]];
    case Cond::gt: put(Form::VFcmgt, {to, t, a, b}); break;
    case Cond::nle: inverted = true; [[fallthrough]];
    case Cond::le: put(Form::VFcmge, {to, t, b, a}); break;
    case Cond::nge: inverted = true; [[fallthrough]];
    case Cond::ge: put(Form::VFcmge, {to, t, a, b}); break;
    case Cond::uno: inverted = true; [[fallthrough]];
    case Cond::ord: either(Form::VFcmeq, a, a, b, b, Form::VAnd); break;
    case Cond::ueq: inverted = true; [[fallthrough]];
    case Cond::one: either(Form::VFcmgt, a, b, b, a, Form::VOrr); break;
    case Cond::none: case Cond::ult: case Cond::ule: case Cond::ugt: case Cond::uge: HLOC_UNREACHABLE();
  }
  if (inverted) put(Form::VNot, {to, bytes_16, to});
}

// Whichever source is in the result's place already is what the others are put into.
void Emitter::choose(int64_t to, int64_t mask, int64_t yes, int64_t no) {
  if (to == no) return put(Form::VBit, {to, bytes_16, yes, mask});
  if (to == yes) return put(Form::VBif, {to, bytes_16, no, mask});
  vmove(to, mask);
  put(Form::VBsl, {to, bytes_16, yes, no});
}

// ---- masks -------------------------------------------------------------------------------------------------------

void Emitter::emit_mask_const(const Inst& i) { put(Form::VMoviMask, {phys(i.dst), i.imm == 0 ? 0 : 255}); }

void Emitter::emit_mask_logic(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a), b = phys(i.b);
  if (i.op == Op::MAndNot) return put(Form::VBic, {d, bytes_16, b, a});
  put(i.op == Op::MAnd ? Form::VAnd : i.op == Op::MOr ? Form::VOrr : Form::VEor, {d, bytes_16, a, b});
}

// Each lane's number, or the bit of that number (of the number modulo 8 in bytes); 0 beyond the lanes.
void Emitter::lane_numbers(int64_t to, int width, int lanes, bool as_bits) {
  std::array<std::byte, 16> bytes{};
  for (int lane = 0; lane < lanes; lane++) {
    uint64_t value = as_bits ? uint64_t{1} << (width == 1 ? lane % 8 : lane) : static_cast<uint64_t>(lane);
    std::memcpy(bytes.data() + lane * width, &value, static_cast<size_t>(width));
  }
  load_constant(to, bytes);
}

// Counts are clamped to the lanes: they need not fit into one.
void Emitter::emit_mask_tail(const Inst& i) {
  constexpr int64_t lower = 3;  // unsigned
  int width = byte_width(i.type);
  lane_numbers(v31, width, i.lanes, false);
  constant(x16, i.lanes);
  put(Form::Subs, {zero, phys(i.a), x16, 0});
  put(Form::Csel, {x16, phys(i.a), x16, lower});
  put(Form::VDup, {v30, whole(width, 16), x16});
  put(Form::VCmgt, {phys(i.dst), whole(width, 16), v30, v31});
}

void Emitter::emit_mask_bits(const Inst& i) {
  int width = byte_width(i.type);
  int64_t t = whole(width, 16);
  lane_numbers(v31, width, i.lanes, true);
  put(Form::VAnd, {v31, bytes_16, v31, phys(i.a)});
  if (width == 8) {
    put(Form::VAddp, {v31, t, v31, v31});
    return put(Form::FmovToDouble, {phys(i.dst), v31});
  }
  if (width > 1) {
    put(Form::VAddv, {v31, v31, t});
    return put(Form::VUmov, {phys(i.dst), v31, size_of(width), 0});
  }
  for (int n = 0; n < 3; n++) put(Form::VAddp, {v31, t, v31, v31});  // the sums of 8 bytes each in the lowest two
  put(Form::VUmov, {phys(i.dst), v31, 1, 0});
}

// Each lane looks at its bit; bytes first get the byte that holds it.
void Emitter::emit_mask_from_bits(const Inst& i) {
  int width = byte_width(i.type);
  int64_t t = whole(width, 16);
  if (width == 1) {
    std::array<std::byte, 16> pick{};
    for (size_t n = 8; n < 16; n++) pick[n] = std::byte{1};
    load_constant(v31, pick);
    put(Form::FmovFromDouble, {v30, phys(i.a)});
    put(Form::VTbl, {v30, bytes_16, v30, v31});
  } else {
    put(Form::VDup, {v30, t, phys(i.a)});
  }
  lane_numbers(v31, width, i.lanes, true);
  put(Form::VCmtst, {phys(i.dst), t, v30, v31});
}

// Lanes are all ones or zeros: the least number is 0 or, as a signed one, -1, and so is the largest.
void Emitter::emit_mask_test(const Inst& i) {
  bool any = i.op == Op::MAny;
  int bytes = i.vtype().bytes();
  int64_t a = phys(i.a);
  if (bytes >= 8) {
    put(any ? Form::VUmaxp : Form::VUminp, {v31, arrangement(2, 16), a, a});
    if (bytes == 16) put(any ? Form::VUmaxp : Form::VUminp, {v31, arrangement(2, 16), v31, v31});
    a = v31, bytes = 4;
  }
  extract_lane(x16, a, bytes, 0, true);
  put(any ? Form::SubsImmediate : Form::AddsImmediate, {zero, x16, any ? 0 : 1, 0});
  constexpr int64_t equal = 0, not_equal = 1;
  put(Form::Csinc, {phys(i.dst), zero, zero, any ? equal : not_equal});
}

}  // namespace hloc::aarch64
