// The builder: each method appends one instruction or a short sequence of them.
#include <cstring>

#include <fmt/format.h>

#include "backends/cpu/machine/element.h"
#include "backends/cpu/machine/machine.h"

namespace hloc::machine {

Builder::Builder(Function& f, std::string name, int vector_bytes) : f_(f) {
  f_.name = std::move(name);
  f_.vector_bytes = static_cast<uint8_t>(vector_bytes);
  start(block("entry"));
}

// ---- registers, blocks, control flow -----------------------------------------------------------------------------

Reg Builder::fresh(RegClass c) {
  if (c == RegClass::mask) f_.mask_bytes.push_back(0);
  return {c, f_.counts[static_cast<size_t>(c)]++};
}

Reg Builder::param() {
  Reg r = fresh(RegClass::general);
  f_.params.push_back(r);
  HLOC_CHECK(f_.params.size() <= 6, "a machine function has at most 6 parameters");
  return r;
}

Reg Builder::mask(VType t) {
  Reg r = fresh(RegClass::mask);
  f_.mask_bytes[r.index()] = static_cast<uint8_t>(byte_width(t.element));
  return r;
}

BlockId Builder::block(std::string_view name) {
  auto id = static_cast<BlockId>(f_.blocks.size());
  f_.blocks.push_back({id == 0 ? std::string(name) : fmt::format("{}{}", name, id), {}});
  return id;
}

void Builder::start(BlockId b) {
  HLOC_CHECK(f_.order.empty() || ended(), "the block before must be ended");
  HLOC_CHECK(f_.blocks[b].insts.empty(), "a block is started once");
  f_.order.push_back(b);
  current_ = b;
}

bool Builder::ended() const {
  const std::vector<Inst>& insts = f_.blocks[current_].insts;
  return !insts.empty() && is_terminator(insts.back().op);
}

void Builder::emit(const Inst& i) {
  if (sink_) {
    sink_->push_back(i);
    return;
  }
  HLOC_CHECK(!ended(), "the block is ended");
  f_.blocks[current_].insts.push_back(i);
}

void Builder::jump(BlockId b) { emit({.op = Op::Jump, .targets = {b, no_block}}); }

void Builder::branch(Cond c, Reg a, Reg b, BlockId then_block, BlockId else_block) {
  emit({.op = Op::Branch, .cond = c, .a = a, .b = b, .targets = {then_block, else_block}});
}

void Builder::branch(Cond c, Reg a, int64_t b, BlockId then_block, BlockId else_block) {
  emit({.op = Op::Branch, .cond = c, .a = a, .imm = b, .targets = {then_block, else_block}});
}

void Builder::ret(Reg a) { emit({.op = Op::Ret, .a = a}); }

// ---- general registers -------------------------------------------------------------------------------------------

Reg Builder::g1(Op op, ElementType t, Reg a, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = op, .type = t, .dst = dst, .a = a});
  return dst;
}

Reg Builder::g2(Op op, Reg a, Reg b, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = op, .dst = dst, .a = a, .b = b});
  return dst;
}

Reg Builder::g2(Op op, Reg a, int64_t b, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = op, .dst = dst, .a = a, .imm = b});
  return dst;
}

Reg Builder::mov(int64_t value, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::Mov, .dst = dst, .imm = value});
  return dst;
}

Reg Builder::mov(Reg a, Reg dst) { return g1(Op::Mov, {}, a, dst); }

namespace {

Inst with_address(Inst i, const Address& at) {
  i.mem = MemKind::memory;
  i.base = at.base;
  i.index = at.index;
  i.scale = at.scale;
  i.disp = at.disp;
  return i;
}

}  // namespace

Reg Builder::lea(Address at, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit(with_address({.op = Op::Lea, .dst = dst}, at));
  return dst;
}

static uint32_t symbol_number(Function& f, std::string_view name) {
  for (uint32_t i = 0; i < f.symbols.size(); i++) {
    if (f.symbols[i] == name) return i;
  }
  f.symbols.emplace_back(name);
  return static_cast<uint32_t>(f.symbols.size() - 1);
}

Reg Builder::address_of(std::string_view symbol, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::AddressOf, .dst = dst, .symbol = symbol_number(f_, symbol)});
  return dst;
}

Reg Builder::mul_high(ElementType t, Reg a, Reg b, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::MulHigh, .type = t, .dst = dst, .a = a, .b = b});
  return dst;
}

Reg Builder::div(ElementType t, Reg a, Reg b, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::Div, .type = t, .dst = dst, .a = a, .b = b});
  return dst;
}

Reg Builder::rem(ElementType t, Reg a, Reg b, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::Rem, .type = t, .dst = dst, .a = a, .b = b});
  return dst;
}

Reg Builder::div_total(ElementType t, Reg a, Reg b, Reg dst) {
  Reg x = extend(t, a), y = extend(t, b), one = mov(1), ones = mov(-1);
  if (byte_width(t) == 4 && is_unsigned_integer(t)) ones = mov(0xffffffff);
  Reg safe = select(Cond::eq, y, 0, one, y);
  if (is_unsigned_integer(t)) return select(Cond::eq, y, 0, ones, div(t, x, safe), dst);
  // A divisor of -1 is a negation (which wraps), so that the least value cannot trap.
  safe = select(Cond::eq, y, -1, one, safe);
  Reg quotient = div(t, x, safe);
  quotient = select(Cond::eq, y, -1, extend(t, neg(x)), quotient);
  return select(Cond::eq, y, 0, ones, quotient, dst);
}

Reg Builder::rem_total(ElementType t, Reg a, Reg b, Reg dst) {
  Reg x = extend(t, a), y = extend(t, b);
  Reg quotient = div_total(t, x, y);
  Reg r = sub(x, mul(quotient, y));
  return byte_width(t) == 8 ? mov(r, dst) : extend(t, r, dst);
}

Reg Builder::set(Cond c, Reg a, Reg b, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::Set, .cond = c, .dst = dst, .a = a, .b = b});
  return dst;
}

Reg Builder::set(Cond c, Reg a, int64_t b, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::Set, .cond = c, .dst = dst, .a = a, .imm = b});
  return dst;
}

Reg Builder::select(Cond c, Reg a, Reg b, Reg x, Reg y, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::Select, .cond = c, .dst = dst, .a = a, .b = b, .c = x, .d = y});
  return dst;
}

Reg Builder::select(Cond c, Reg a, int64_t b, Reg x, Reg y, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::Select, .cond = c, .dst = dst, .a = a, .c = x, .d = y, .imm = b});
  return dst;
}

Reg Builder::load(ElementType t, Address at, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit(with_address({.op = Op::Load, .type = t, .dst = dst}, at));
  return dst;
}

void Builder::store(ElementType t, Address at, Reg a) { emit(with_address({.op = Op::Store, .type = t, .a = a}, at)); }

void Builder::store(ElementType t, Address at, int64_t a) {
  emit(with_address({.op = Op::Store, .type = t, .imm = a}, at));
}

void Builder::prefetch(Address at, int level) { emit(with_address({.op = Op::Prefetch, .imm = level}, at)); }

static void set_arguments(Inst& i, std::initializer_list<Reg> args, size_t first) {
  Reg* const fields[] = {&i.a, &i.b, &i.c, &i.d, &i.base, &i.index};
  HLOC_CHECK(args.size() + first <= 6, "too many arguments of a call");
  for (Reg r : args) *fields[first++] = r;
}

Reg Builder::call(std::string_view symbol, std::initializer_list<Reg> args, bool has_result) {
  Inst i{.op = Op::Call, .symbol = symbol_number(f_, symbol)};
  if (has_result) i.dst = general();
  set_arguments(i, args, 0);
  emit(i);
  return i.dst;
}

Reg Builder::call(Reg callee, std::initializer_list<Reg> args, bool has_result) {
  Inst i{.op = Op::CallReg, .a = callee};
  if (has_result) i.dst = general();
  set_arguments(i, args, 1);
  emit(i);
  return i.dst;
}

// ---- vectors -----------------------------------------------------------------------------------------------------

Reg Builder::v1(Op op, VType t, Reg a, Reg dst) {
  dst = or_fresh(dst, RegClass::vector);
  emit({.op = op, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a});
  return dst;
}

Reg Builder::v2(Op op, VType t, Reg a, Reg b, Reg dst) {
  dst = or_fresh(dst, RegClass::vector);
  emit({.op = op, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a, .b = b});
  return dst;
}

Reg Builder::v2i(Op op, VType t, Reg a, int b, Reg dst) {
  dst = or_fresh(dst, RegClass::vector);
  emit({.op = op, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a, .imm = b});
  return dst;
}

Reg Builder::v3(Op op, VType t, Reg a, Reg b, Reg c, Reg dst) {
  dst = or_fresh(dst, RegClass::vector);
  emit({.op = op, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a, .b = b, .c = c});
  return dst;
}

Reg Builder::vmem(Op op, VType t, Address at, Reg mask, Reg dst) {
  dst = or_fresh(dst, RegClass::vector);
  emit(with_address({.op = op, .type = t.element, .lanes = t.lanes, .dst = dst, .c = mask}, at));
  return dst;
}

Reg Builder::vconst_bits(VType t, uint64_t bits, Reg dst) {
  dst = or_fresh(dst, RegClass::vector);
  bits &= low_mask(bit_width(t.element));
  emit({.op = Op::VConst, .type = t.element, .lanes = t.lanes, .dst = dst, .imm = static_cast<int64_t>(bits)});
  return dst;
}

Reg Builder::vconst(VType t, double value, Reg dst) { return vconst_bits(t, element_bits(t.element, value), dst); }

uint32_t data_constant(Function& f, VType t, std::span<const std::byte> bytes) {
  for (uint32_t i = 0; i < f.data.size(); i++) {
    if (f.data[i].type == t && f.data[i].bytes.size() == bytes.size() &&
        std::memcmp(f.data[i].bytes.data(), bytes.data(), bytes.size()) == 0) {
      return i;
    }
  }
  f.data.push_back({t, {bytes.begin(), bytes.end()}});
  return static_cast<uint32_t>(f.data.size() - 1);
}

Reg Builder::vdata(VType t, std::span<const std::byte> lanes, Reg dst) {
  HLOC_CHECK(static_cast<int>(lanes.size()) == t.bytes(), "a data constant has as many bytes as its type");
  dst = or_fresh(dst, RegClass::vector);
  emit({.op = Op::VData, .type = t.element, .lanes = t.lanes, .dst = dst, .imm = data_constant(f_, t, lanes)});
  return dst;
}

Reg Builder::viota(VType t, int64_t start, int64_t step, Reg dst) {
  std::vector<std::byte> bytes(static_cast<size_t>(t.bytes()));
  auto width = static_cast<size_t>(byte_width(t.element));
  for (size_t l = 0; l < t.lanes; l++) {
    int64_t value = start + static_cast<int64_t>(l) * step;
    uint64_t bits = is_float(t.element) ? element_bits(t.element, static_cast<double>(value)) : static_cast<uint64_t>(value);
    std::memcpy(bytes.data() + l * width, &bits, width);
  }
  return vdata(t, bytes, dst);
}

void Builder::vstore(VType t, Address at, Reg a) {
  emit(with_address({.op = Op::VStore, .type = t.element, .lanes = t.lanes, .a = a}, at));
}

void Builder::vstore_masked(VType t, Address at, Reg a, Reg mask) {
  emit(with_address({.op = Op::VStoreMasked, .type = t.element, .lanes = t.lanes, .a = a, .c = mask}, at));
}

void Builder::vstore_stream(VType t, Address at, Reg a) {
  emit(with_address({.op = Op::VStoreStream, .type = t.element, .lanes = t.lanes, .a = a}, at));
}

Reg Builder::vgather(VType t, ElementType index, Reg base, Reg indices, int scale, int32_t disp, Reg mask) {
  Reg dst = vzero(t), used = mmov(t, mask);  // the instruction destroys its mask
  Inst i{.op = Op::VGather, .type = t.element, .from = index, .lanes = t.lanes, .mem = MemKind::memory};
  i.scale = static_cast<uint8_t>(scale);
  i.dst = dst, i.a = indices, i.c = used, i.base = base, i.disp = disp;
  emit(i);
  return dst;
}

Reg Builder::vextract(VType t, Reg a, int lane, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::VExtract, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a, .imm = lane});
  return dst;
}

Reg Builder::vinsert(VType t, Reg a, Reg g, int lane, Reg dst) {
  dst = or_fresh(dst, RegClass::vector);
  emit({.op = Op::VInsert, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a, .b = g, .imm = lane});
  return dst;
}

Reg Builder::vround(VType t, Round r, Reg a, Reg dst) {
  dst = or_fresh(dst, RegClass::vector);
  emit({.op = Op::VRound, .type = t.element, .lanes = t.lanes, .round = r, .dst = dst, .a = a});
  return dst;
}

Reg Builder::cvt(Op op, VType t, ElementType from, Reg a, Reg dst) {
  dst = or_fresh(dst, RegClass::vector);
  emit({.op = op, .type = t.element, .from = from, .lanes = t.lanes, .dst = dst, .a = a});
  return dst;
}

Reg Builder::vcmp(VType t, Cond c, Reg a, Reg b, Reg dst) {
  if (!dst) dst = mask(t);
  emit({.op = Op::VCompare, .type = t.element, .lanes = t.lanes, .cond = c, .dst = dst, .a = a, .b = b});
  return dst;
}

Reg Builder::vselect(VType t, Reg mask, Reg a, Reg b, Reg dst) { return v3(Op::VSelect, t, a, b, mask, dst); }

Reg Builder::vpart(VType t, Reg a, int part, Reg dst) { return v2i(Op::VPart, t, a, part, dst); }

Reg Builder::vreverse(VType t, Reg a, Reg dst) {
  if (t.lanes == 1) return vmov(t, a, dst);
  VType index{unsigned_of(byte_width(t.element)), t.lanes};
  return vpermute(t, a, viota(index, t.lanes - 1, -1), dst);
}

Reg Builder::vblocks(VType t, Reg a, Reg b, std::initializer_list<int> selectors, Reg dst) {
  dst = or_fresh(dst, RegClass::vector);
  int64_t imm = 0;
  int shift = 0;
  for (int s : selectors) imm |= int64_t{s} << shift, shift += 4;  // one hexadecimal digit a block
  emit({.op = Op::VBlocks, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a, .b = b, .imm = imm});
  return dst;
}

// Squares of 32- or 64-bit elements within each 16-byte block: two rounds of zips (one for 64-bit).
static void transpose_blocks(Builder& b, VType t, std::span<Reg> rows) {
  VType pairs{ElementType::u64, static_cast<uint8_t>(t.bytes() / 8)};
  if (byte_width(t.element) == 8) {
    for (size_t i = 0; i < rows.size(); i += 2) {
      Reg low = b.vzip_low(t, rows[i], rows[i + 1]), high = b.vzip_high(t, rows[i], rows[i + 1]);
      rows[i] = low, rows[i + 1] = high;
    }
    return;
  }
  for (size_t i = 0; i < rows.size(); i += 4) {
    Reg ab0 = b.vzip_low(t, rows[i], rows[i + 1]), ab1 = b.vzip_high(t, rows[i], rows[i + 1]);
    Reg cd0 = b.vzip_low(t, rows[i + 2], rows[i + 3]), cd1 = b.vzip_high(t, rows[i + 2], rows[i + 3]);
    rows[i] = b.vzip_low(pairs, ab0, cd0), rows[i + 1] = b.vzip_high(pairs, ab0, cd0);
    rows[i + 2] = b.vzip_low(pairs, ab1, cd1), rows[i + 3] = b.vzip_high(pairs, ab1, cd1);
  }
}

void Builder::transpose(VType t, std::span<Reg> rows) {
  HLOC_CHECK(rows.size() == t.lanes && byte_width(t.element) >= 4 && t.bytes() >= 16, "not a square of vectors");
  transpose_blocks(*this, t, rows);
  // Now block c of row g * n + j holds column c * n + j of rows g * n … of the source: transpose the grid of blocks.
  size_t blocks = static_cast<size_t>(t.bytes()) / 16, n = rows.size() / blocks;
  if (blocks == 1) return;
  for (size_t j = 0; j < n; j++) {
    if (blocks == 2) {
      Reg x = rows[j], y = rows[n + j];
      rows[j] = vblocks(t, x, y, {0, 2}), rows[n + j] = vblocks(t, x, y, {1, 3});
      continue;
    }
    Reg x = rows[j], y = rows[n + j], z = rows[2 * n + j], w = rows[3 * n + j];
    Reg xy0 = vblocks(t, x, y, {0, 2, 0, 2}), xy1 = vblocks(t, x, y, {1, 3, 1, 3});  // x0 x2 y0 y2 and x1 x3 y1 y3
    Reg zw0 = vblocks(t, z, w, {0, 2, 0, 2}), zw1 = vblocks(t, z, w, {1, 3, 1, 3});
    rows[j] = vblocks(t, xy0, zw0, {0, 2, 0, 2}), rows[2 * n + j] = vblocks(t, xy0, zw0, {1, 3, 1, 3});
    rows[n + j] = vblocks(t, xy1, zw1, {0, 2, 0, 2}), rows[3 * n + j] = vblocks(t, xy1, zw1, {1, 3, 1, 3});
  }
}

Reg Builder::reduce(Op op, VType t, Reg a) {
  return reduce_with(t, a, [&](VType half, Reg x, Reg y) { return v2(op, half, x, y, {}); });
}

// ---- masks -------------------------------------------------------------------------------------------------------

Reg Builder::m1(Op op, VType t, Reg a, Reg dst) {
  if (!dst) dst = mask(t);
  emit({.op = op, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a});
  return dst;
}

Reg Builder::m2(Op op, VType t, Reg a, Reg b, Reg dst) {
  if (!dst) dst = mask(t);
  emit({.op = op, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a, .b = b});
  return dst;
}

Reg Builder::mconst(VType t, bool on, Reg dst) {
  if (!dst) dst = mask(t);
  emit({.op = Op::MConst, .type = t.element, .lanes = t.lanes, .dst = dst, .imm = on});
  return dst;
}

Reg Builder::mconvert(VType t, ElementType from, Reg a, Reg dst) {
  if (byte_width(t.element) == byte_width(from)) return dst ? mmov(t, a, dst) : a;
  if (!dst) dst = mask(t);
  emit({.op = Op::MConvert, .type = t.element, .from = from, .lanes = t.lanes, .dst = dst, .a = a});
  return dst;
}

Reg Builder::mbits(VType t, Reg a, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::MBits, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a});
  return dst;
}

Reg Builder::many(VType t, Reg a, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::MAny, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a});
  return dst;
}

Reg Builder::mall(VType t, Reg a, Reg dst) {
  dst = or_fresh(dst, RegClass::general);
  emit({.op = Op::MAll, .type = t.element, .lanes = t.lanes, .dst = dst, .a = a});
  return dst;
}

Reg Builder::mask_from_pred(VType t, Reg a, Reg dst) {
  VType bytes{ElementType::u8, t.lanes};
  Reg narrow = vcmp(bytes, Cond::ne, a, vzero(bytes), byte_width(t.element) == 1 ? dst : Reg{});
  return byte_width(t.element) == 1 ? narrow : mconvert(t, ElementType::u8, narrow, dst);
}

Reg Builder::pred_from_mask(VType t, Reg a, Reg dst) {
  VType bytes{ElementType::u8, t.lanes};
  return vselect(bytes, mconvert(bytes, t.element, a), vconst_bits(bytes, 1), vzero(bytes), dst);
}

}  // namespace hloc::machine
