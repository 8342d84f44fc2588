// Arithmetic of vectors. Sequences work in v29 to v31, so results may lie where sources do.
#include <algorithm>

#include "backends/cpu/aarch64/emitter.h"

namespace hloc::aarch64 {

namespace {

int64_t precision_of(ElementType t) { return t == ElementType::f64; }

// The forms of an operation: on vectors of floats, on one float, on signed and on unsigned integers.
struct Forms {
  Op op;
  Form floats, scalar, with_sign, without_sign;
};
constexpr Forms arithmetic_forms[] = {
    {Op::VAdd, Form::VFadd, Form::Fadd, Form::VAdd, Form::VAdd},
    {Op::VSub, Form::VFsub, Form::Fsub, Form::VSub, Form::VSub},
    {Op::VMul, Form::VFmul, Form::Fmul, Form::VMul, Form::VMul},
    {Op::VDiv, Form::VFdiv, Form::Fdiv, Form::Nop, Form::Nop},
    {Op::VMin, Form::VFmin, Form::Fmin, Form::VSmin, Form::VUmin},
    {Op::VMax, Form::VFmax, Form::Fmax, Form::VSmax, Form::VUmax},
    {Op::VMinRaw, Form::Nop, Form::Nop, Form::VSmin, Form::VUmin},
    {Op::VMaxRaw, Form::Nop, Form::Nop, Form::VSmax, Form::VUmax},
};

const Forms& forms_of(Op op) {
  for (const Forms& f : arithmetic_forms) {
    if (f.op == op) return f;
  }
  HLOC_UNREACHABLE();
}

}  // namespace

void Emitter::emit_arithmetic(const Inst& i) {
  const Forms& forms = forms_of(i.op);
  int64_t d = phys(i.dst), a = phys(i.a), b = phys(i.b);
  if (is_float(i.type)) {
    if (i.lanes == 1) return put(forms.scalar, {precision_of(i.type), d, a, b});
    return put(forms.floats, {d, whole(i), a, b});
  }
  if (i.op == Op::VDiv) return emit_integer_division(i);
  if (i.op == Op::VMul && byte_width(i.type) == 8) return emit_multiply_64(i);
  put(is_signed_integer(i.type) ? forms.with_sign : forms.without_sign, {d, whole(i), a, b});
}

// From 32-bit halves: lo * lo + ((lo * hi + hi * lo) << 32).
void Emitter::emit_multiply_64(const Inst& i) {
  constexpr int64_t words = arrangement(2, 16), doubles = arrangement(3, 16), half = arrangement(2, 8);
  int64_t a = phys(i.a), b = phys(i.b);
  put(Form::VRev64, {v30, words, b});
  put(Form::VMul, {v30, words, v30, a});
  put(Form::VUaddlp, {v30, v30, words});
  put(Form::VShl, {v30, doubles, v30, 32});
  put(Form::VXtn, {v31, half, a});
  put(Form::VXtn, {v29, half, b});
  put(Form::VUmlal, {v30, v31, half, v29});
  vmove(phys(i.dst), v30);
}

void Emitter::emit_multiply_low(const Inst& i) {
  constexpr int64_t half = arrangement(2, 8);
  put(Form::VXtn, {v31, half, phys(i.a)});
  put(Form::VXtn, {v30, half, phys(i.b)});
  put(Form::VUmull, {phys(i.dst), v31, half, v30});
}

// Lane by lane. The machine's x / 0 is 0 and must become all ones; least / -1 is the least as it should be.
void Emitter::emit_integer_division(const Inst& i) {
  int width = byte_width(i.type);
  bool is_signed = is_signed_integer(i.type);
  int64_t a = phys(i.a), b = phys(i.b);
  Form form = width == 8 ? (is_signed ? Form::Sdiv : Form::Udiv) : is_signed ? Form::SdivWord : Form::UdivWord;
  put(Form::VCmeqZero, {v30, whole(i), b});
  for (int lane = 0; lane < i.lanes; lane++) {
    extract_lane(x16, a, width, lane, is_signed);
    extract_lane(x17, b, width, lane, is_signed);
    put(form, {x16, x16, x17});
    insert_lane(v31, x16, width, lane);
  }
  put(Form::VOrr, {phys(i.dst), bytes_16, v31, v30});
}

void Emitter::emit_min_max(const Inst& i) {
  bool min = i.op == Op::VMin || i.op == Op::VMinRaw, raw = i.op == Op::VMinRaw || i.op == Op::VMaxRaw;
  int64_t a = phys(i.a), b = phys(i.b);
  bool choice = is_float(i.type) ? raw : byte_width(i.type) == 8;
  if (!choice) return emit_arithmetic(i);
  // min: b > a ? a : b; max: a > b ? a : b. On floats the second one also where either is NaN.
  Form greater = is_float(i.type) ? Form::VFcmgt : is_signed_integer(i.type) ? Form::VCmgt : Form::VCmhi;
  put(greater, {v31, whole(i), min ? b : a, min ? a : b});
  choose(phys(i.dst), v31, a, b);
}

// The vector forms add to their destination; one float has a form with four registers.
void Emitter::emit_fma(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a), b = phys(i.b), c = phys(i.c);
  if (i.lanes == 1) {
    Form form = i.op == Op::VFma ? Form::Fmadd : i.op == Op::VFms ? Form::Fnmsub : i.op == Op::VFnma ? Form::Fmsub : Form::Fnmadd;
    return put(form, {precision_of(i.type), d, a, b, c});
  }
  bool negated_addend = i.op == Op::VFms || i.op == Op::VFnms;
  int64_t sum = d == a || d == b ? v31 : d;
  if (negated_addend) put(Form::VFneg, {sum, whole(i), c});
  else vmove(sum, c);
  put(i.op == Op::VFma || i.op == Op::VFms ? Form::VFmla : Form::VFmls, {sum, whole(i), a, b});
  vmove(d, sum);
}

void Emitter::emit_unary(const Inst& i) {
  struct Pair {
    Form floats, scalar;
  };
  static constexpr Pair roundings[] = {{Form::VFrintn, Form::Frintn}, {Form::VFrintm, Form::Frintm}, {Form::VFrintp, Form::Frintp},
                                       {Form::VFrintz, Form::Frintz}, {Form::VFrinta, Form::Frinta}};
  Pair forms = i.op == Op::VSqrt ? Pair{Form::VFsqrt, Form::Fsqrt} : roundings[static_cast<size_t>(i.round)];
  if (i.lanes == 1) put(forms.scalar, {precision_of(i.type), phys(i.dst), phys(i.a)});
  else put(forms.floats, {phys(i.dst), whole(i), phys(i.a)});
}

// Negation and absolute value; floats of 16 bits by their sign bit.
void Emitter::emit_sign(const Inst& i) {
  bool negate = i.op == Op::VNeg;
  int64_t d = phys(i.dst), a = phys(i.a);
  if (is_float(i.type) && byte_width(i.type) == 2) {
    put(Form::VMoviHalf, {v31, arrangement(1, 16), 0x80, 8});
    return put(negate ? Form::VEor : Form::VBic, {d, bytes_16, a, v31});
  }
  if (is_float(i.type)) return put(negate ? Form::VFneg : Form::VFabs, {d, whole(i), a});
  if (!negate && !is_signed_integer(i.type)) return vmove(d, a);
  put(negate ? Form::VNeg : Form::VAbs, {d, whole(i), a});
}

void Emitter::emit_bits(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a), b = phys(i.b);
  if (i.op == Op::VAndNot) return put(Form::VBic, {d, bytes_16, b, a});
  put(i.op == Op::VAnd ? Form::VAnd : i.op == Op::VOr ? Form::VOrr : Form::VEor, {d, bytes_16, a, b});
}

// ---- shifts and counts -------------------------------------------------------------------------------------------

void Emitter::emit_vector_shift(const Inst& i) {
  if (i.b) return emit_variable_shift(i);
  int64_t d = phys(i.dst), a = phys(i.a), bits = 8 * byte_width(i.type);
  if (i.imm == 0) return vmove(d, a);
  if (i.op == Op::VSar) return put(Form::VSshr, {d, whole(i), a, std::min(i.imm, bits)});
  if (i.imm >= bits) return put(Form::VMoviMask, {d, 0});
  put(i.op == Op::VShl ? Form::VShl : Form::VUshr, {d, whole(i), a, i.imm});
}

// The machine takes the low byte of each lane as the amount, to the right where it is negative; so large ones come down to
// the width of a lane first.
void Emitter::emit_variable_shift(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a), b = phys(i.b), t = whole(i);
  int width = byte_width(i.type);
  vector_constant(v31, static_cast<uint64_t>(8 * width), width);
  if (width == 8) {
    put(Form::VCmhi, {v30, t, v31, b});
    put(Form::VBsl, {v30, bytes_16, b, v31});
  } else {
    put(Form::VUmin, {v30, t, v31, b});
  }
  if (i.op != Op::VShl) put(Form::VNeg, {v30, t, v30});
  put(i.op == Op::VSar ? Form::VSshl : Form::VUshl, {d, t, a, v30});
}

void Emitter::emit_vector_count(const Inst& i) {
  int64_t d = phys(i.dst), a = phys(i.a);
  int width = byte_width(i.type);
  if (i.op == Op::VPopCount) {
    put(Form::VCnt, {d, bytes_16, a});
    for (int n = 0; 1 << n < width; n++) put(Form::VUaddlp, {d, d, arrangement(n, 16)});
    return;
  }
  if (width < 8) return put(Form::VClz, {d, whole(i), a});
  for (int lane = 0; lane < i.lanes; lane++) {
    extract_lane(x16, a, 8, lane, false);
    put(Form::Clz, {x16, x16});
    insert_lane(v31, x16, 8, lane);
  }
  vmove(d, v31);
}

}  // namespace hloc::aarch64
