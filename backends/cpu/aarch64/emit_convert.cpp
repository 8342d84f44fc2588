// Conversions. The machine's from floats to integers are HLO's: towards zero, clamped, NaN to 0.
//
// `legalise` leaves: integers among each other; f16 to and from f32; f32 to and from f64; f64 to f16; bf16 to f32; integers
// to and from f32 and f64; integers of up to 16 bits to f16.
#include "backends/cpu/aarch64/emitter.h"

namespace hloc::aarch64 {

// Lanes from the low end, doubling; the result fits into 16 bytes.
void Emitter::widen(int64_t to, int64_t from, int from_width, int to_width, bool is_signed) {
  if (from_width == to_width) return vmove(to, from);
  for (int width = from_width; width < to_width; width *= 2) {
    put(is_signed ? Form::VSshll : Form::VUshll, {to, from, arrangement(size_of(width), 8), 0});
    from = to;
  }
}

// `form` is one of those that halve: dropping upper bits, or clamping.
void Emitter::narrow(int64_t to, int64_t from, int from_width, int to_width, Form form) {
  if (from_width == to_width) return vmove(to, from);
  for (int width = from_width / 2; width >= to_width; width /= 2) {
    put(form, {to, arrangement(size_of(width), 8), from});
    from = to;
  }
}

void Emitter::emit_convert(const Inst& i) {
  bool to_float = is_float(i.type), from_float = is_float(i.from);
  if (to_float && from_float) return convert_float(i);
  if (to_float) return integer_to_float(i);
  if (from_float) return float_to_integer(i);
  int from = byte_width(i.from), to = byte_width(i.type);
  if (to > from) widen(phys(i.dst), phys(i.a), from, to, is_signed_integer(i.from));
  else narrow(phys(i.dst), phys(i.a), from, to, Form::VXtn);
}

void Emitter::convert_float(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a);
  ElementType to = i.type, from = i.from;
  if (from == ElementType::bf16) {
    put(Form::VUshll, {d, a, arrangement(1, 8), 0});
    return put(Form::VShl, {d, arrangement(2, 16), d, 16});
  }
  if (from == ElementType::f16) return put(Form::VFcvtlHalf, {d, a});
  if (from == ElementType::f32) return put(to == ElementType::f64 ? Form::VFcvtl : Form::VFcvtnHalf, {d, a});
  if (to == ElementType::f32) return put(Form::VFcvtn, {d, a});
  put(Form::VFcvtxn, {v31, a});  // to odd, so that the second step rounds right
  put(Form::VFcvtnHalf, {d, v31});
}

void Emitter::integer_to_float(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a);
  int from = byte_width(i.from), to = i.type == ElementType::f64 ? 8 : 4;
  bool is_signed = is_signed_integer(i.from);
  if (from > to) return wide_to_f32(i);
  if (from < to) widen(d, a, from, to, is_signed), a = d;
  put(is_signed ? Form::VScvtf : Form::VUcvtf, {d, whole(to, 16), a});
  if (i.type == ElementType::f16) put(Form::VFcvtnHalf, {d, d});
}

// 64-bit integers, one by one.
void Emitter::wide_to_f32(const Inst& i) {
  for (int lane = 0; lane < i.lanes; lane++) {
    extract_lane(x16, phys(i.a), 8, lane, false);
    put(is_signed_integer(i.from) ? Form::Scvtf : Form::Ucvtf, {0, v30, x16});
    put(Form::VInsLane, {v31, 2, lane, v30, 0});
  }
  vmove(phys(i.dst), v31);
}

void Emitter::float_to_integer(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a);
  int from = byte_width(i.from), to = byte_width(i.type);
  bool is_signed = is_signed_integer(i.type);
  if (from == 4 && to == 8) put(Form::VFcvtl, {d, a}), a = d, from = 8;
  put(is_signed ? Form::VFcvtzs : Form::VFcvtzu, {d, whole(from, 16), a});
  narrow(d, d, from, to, is_signed ? Form::VSqxtn : Form::VUqxtn);
}

void Emitter::emit_mask_convert(const Inst& i) {
  int from = byte_width(i.from), to = byte_width(i.type);
  if (to >= from) widen(phys(i.dst), phys(i.a), from, to, true);
  else narrow(phys(i.dst), phys(i.a), from, to, Form::VXtn);
}

}  // namespace hloc::aarch64
