// The allocator: random programs under high register pressure give what the interpreter gives, no two live registers
// share a place, and what an instruction says that it reads and writes is what its code does.
#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <random>

#include "backends/cpu/aot/elf.h"
#include "backends/cpu/x86/x86.h"
#include "tests/unit/machine_interpreter.h"

namespace hloc::test {
namespace {

constexpr VType f32x8{ElementType::f32, 8}, s32x8{ElementType::s32, 8};

// Random straight-line work, branches and loops over many registers that stay alive.
class RandomProgram {
 public:
  RandomProgram(uint64_t seed, int vector_bytes, int pressure) : random_(seed) {
    b_.emplace(f_, "random", vector_bytes);
    in_ = b_->param(), out_ = b_->param(), n_ = b_->param();
    for (int i = 0; i < pressure; i++) {
      general_.push_back(i % 3 == 0 ? b_->mov(i * 77) : b_->load(ElementType::s32, {in_, 4 * (i % 64)}));
      vector_.push_back(i % 4 == 0 ? b_->vconst(s32x8, i) : b_->vload(s32x8, {in_, 4 * (i % 40)}));
      if (i % 3 == 0) mask_.push_back(b_->vcmp(s32x8, Cond::gt, vector_.back(), b_->vconst(s32x8, i)));
    }
    body(3);
    finish();
  }

  const Function& function() const { return f_; }

 private:
  size_t below(size_t n) { return random_() % n; }
  Reg& g() { return general_[below(general_.size())]; }
  Reg& v() { return vector_[below(vector_.size())]; }
  Reg& k() { return mask_[below(mask_.size())]; }

  void step() {
    Builder& b = *b_;
    switch (below(16)) {
      case 0: b.add(g(), g(), g()); break;
      case 1: b.sub(g(), g(), g()); break;
      case 2: b.mul(g(), static_cast<int64_t>(below(100)), g()); break;
      case 3: b.select(Cond::lt, g(), g(), g(), g(), g()); break;
      case 4: b.shl(g(), g(), g()); break;
      case 5: b.vadd(s32x8, v(), v(), v()); break;
      case 6: b.vmul(s32x8, v(), v(), v()); break;
      case 7: b.vselect(s32x8, k(), v(), v(), v()); break;
      case 8: b.vcmp(s32x8, Cond::lt, v(), v(), k()); break;
      case 9: b.mand_not(s32x8, k(), k(), k()); break;
      case 10: b.vsplat(s32x8, g(), v()); break;
      case 11: b.mbits(s32x8, k(), g()); break;
      case 12: g() = b.div_total(ElementType::s32, g(), g()); break;
      case 13: v() = b.vxor(s32x8, v(), b.vconst_bits(s32x8, below(1000))); break;
      case 14: b.vextract(s32x8, v(), static_cast<int>(below(8)), g()); break;
      case 15: v() = b.vmin(s32x8, b.vload(s32x8, {in_, 4 * static_cast<int32_t>(below(40))}), v()); break;
    }
  }

  void body(int depth) {
    for (size_t n = 5 + below(20); n-- > 0;) {
      size_t what = depth > 0 ? below(12) : 2;
      if (what == 0) b_->counted_loop(static_cast<int64_t>(1 + below(4)), 1, [&](Reg i) { b_->add(g(), i, g()), protect(depth); });
      else if (what == 1) b_->if_else(Cond::lt, g(), g(), [&] { protect(depth); }, [&] { protect(depth); });
      else step();
    }
  }

  // What a branch makes new is not there on the other way: the pools go back after it.
  void protect(int depth) {
    auto general = general_, vector = vector_;
    body(depth - 1);
    general_ = general, vector_ = vector;
  }

  void finish() {
    Reg sum = b_->mov(0);
    for (Reg r : general_) b_->add(b_->mul(sum, 31), r, sum);
    int at = 0;
    for (Reg r : vector_) b_->vstore(s32x8, {out_, 32 * at++}, r);
    for (Reg r : mask_) b_->add(b_->mul(sum, 31), b_->mbits(s32x8, r), sum);
    b_->ret(sum);
  }

  std::mt19937_64 random_;
  Function f_;
  std::optional<Builder> b_;
  Reg in_, out_, n_;
  std::vector<Reg> general_, vector_, mask_;
};

std::vector<std::pair<x86::Features, int>> targets() {
  std::vector<std::pair<x86::Features, int>> out;
  if (x86::detect().v3) out.push_back({*x86::features_of("x86-64-v3"), 32});
  if (x86::detect().v4) out.push_back({*x86::features_of("x86-64-v4"), 64});
  return out;
}

// No two registers that are live at once share a physical one, and none lies where the target destroys it.
void check_disjoint(const Function& f, const Allocation& a, const TargetRegs& target) {
  Liveness live = liveness(f);
  struct Taken {
    uint32_t begin, end, reg;
  };
  std::map<std::pair<int, int>, std::vector<Taken>> by_place;
  for (int c = 1; c < reg_classes; c++) {
    for (uint32_t n = 0; n < f.counts[static_cast<size_t>(c)]; n++) {
      uint32_t at = f.flat({static_cast<RegClass>(c), n});
      for (Range r : live.ranges[at]) {
        REQUIRE(a.phys[at] != 255);
        by_place[{target.file_of[static_cast<size_t>(c)], a.phys[at]}].push_back({r.begin, r.end, at});
      }
    }
  }
  for (auto& [place, taken] : by_place) {
    std::sort(taken.begin(), taken.end(), [](const Taken& x, const Taken& y) { return x.begin < y.begin; });
    for (size_t n = 1; n < taken.size(); n++) REQUIRE(taken[n - 1].end <= taken[n].begin);
  }
}

}  // namespace

TEST_CASE("regalloc: random programs under pressure", "[regalloc]") {
  alignas(64) static std::array<int32_t, 64> in;
  alignas(64) static std::array<int32_t, 8 * 64> got, want;
  for (uint64_t seed = 0; seed < 120; seed++) {
    std::mt19937_64 random(seed + 1000);
    for (int32_t& x : in) x = static_cast<int32_t>(random());
    for (auto [features, bytes] : targets()) {
      RandomProgram program(seed, bytes, 4 + static_cast<int>(seed % 6) * 9);
      const Function& f = program.function();
      INFO("seed " << seed);
      if (auto ok = verify(f); !ok) FAIL(ok.error().message);
      auto code = x86::assemble({f}, features);
      if (!code) FAIL(code.error().message);
      auto memory = load(*code);
      REQUIRE(memory);
      got.fill(1), want.fill(1);
      uint64_t result = memory->function<uint64_t(void*, void*, uint64_t)>("random")(in.data(), got.data(), 5);
      uint64_t expected = MachineInterpreter(f).run({reinterpret_cast<uint64_t>(in.data()), reinterpret_cast<uint64_t>(want.data()), 5});
      REQUIRE(result == expected);
      bool same = got == want;
      REQUIRE(same);
    }
  }
}

TEST_CASE("regalloc: places are disjoint", "[regalloc]") {
  for (auto [features, bytes] : targets()) {
    for (int pressure : {4, 12, 30, 50}) {
      RandomProgram program(7, bytes, pressure);
      Function f = program.function();
      REQUIRE(x86::legalise(f, features));
      x86::fold_operands(f, features);
      auto a = allocate(f, x86::target_regs(features));
      if (!a) FAIL(a.error().message);
      check_disjoint(f, *a, x86::target_regs(features));
      if (pressure == 50) CHECK(a->spill_bytes > 0);
    }
  }
}

TEST_CASE("regalloc: a micro-kernel fits without spills", "[regalloc]") {
  for (const auto& [features, width] : targets()) {
    int bytes = width;  // clang 14 does not capture bindings
    bool v4 = features.v4;
    int rows = v4 ? 14 : 6, columns = 2;
    Function f;
    Builder b(f, "kernel", bytes);
    Reg pa = b.param(), pb = b.param(), pc = b.param(), n = b.param();
    VType t = b.full(ElementType::f32);
    std::vector<Reg> acc;
    for (int i = 0; i < rows * columns; i++) acc.push_back(b.vzero(t));
    b.counted_loop(n, 1, [&](Reg) {
      Reg b0 = b.vload(t, pb), b1 = b.vload(t, {pb, bytes});
      for (int r = 0; r < rows; r++) {
        Reg a = b.vload_broadcast(t, {pa, 4 * r});
        b.fma_into(t, acc[static_cast<size_t>(2 * r)], a, b0);
        b.fma_into(t, acc[static_cast<size_t>(2 * r + 1)], a, b1);
      }
      b.add(pa, 4 * rows, pa), b.add(pb, 2 * bytes, pb);
    });
    for (int i = 0; i < rows * columns; i++) b.vstore(t, {pc, i * bytes}, acc[static_cast<size_t>(i)]);
    b.ret();
    REQUIRE(x86::legalise(f, features));
    x86::fold_operands(f, features);
    auto a = allocate(f, x86::target_regs(features));
    REQUIRE(a);
    CHECK(a->spilled == 0);
  }
}

TEST_CASE("regalloc: constants are computed anew instead of stored", "[regalloc]") {
  for (auto [features, bytes] : targets()) {
    Function f;
    Builder b(f, "constants", bytes);
    Reg p = b.param();
    std::vector<Reg> constants;
    for (int i = 0; i < 60; i++) constants.push_back(b.vconst(f32x8, i + 0.5));
    Reg x = b.vload(f32x8, p);
    b.counted_loop(10, 1, [&](Reg) {
      for (Reg c : constants) b.vadd(f32x8, b.vmul(f32x8, x, c), c, x);
    });
    b.vstore(f32x8, p, x);
    b.ret();
    REQUIRE(x86::legalise(f, features));
    auto a = allocate(f, x86::target_regs(features));
    REQUIRE(a);
    CHECK(a->spill_bytes == 0);
    CHECK(a->spilled > 0);
  }
}

TEST_CASE("regalloc: a frame beyond 4 KiB is refused", "[regalloc]") {
  for (auto [features, bytes] : targets()) {
    Function f;
    Builder b(f, "wide", bytes);
    Reg p = b.param();
    std::vector<Reg> all;
    for (int i = 0; i < 300; i++) all.push_back(b.vload(f32x8, {p, 32 * i}));
    for (size_t i = 0; i < all.size(); i++) b.vstore(f32x8, {p, static_cast<int32_t>(32 * i)}, all[all.size() - 1 - i]);
    b.ret();
    auto code = x86::assemble({f}, features);
    REQUIRE(!code);
    CHECK(code.error().kind == ErrorKind::target);
    CHECK(code.error().message.find("frame") != std::string::npos);
  }
}

namespace {

// An instruction with a register of the right class in each field that its row names, all different.
Inst sample_inst(Function& f, Builder& b, Op op) {
  Inst i{.op = op};
  const OpRow& r = row(op);
  for (char s : r.suffix) {
    if (s == 't') i.type = ElementType::u64;
    if (s == 'v') i.type = op == Op::VMulLow ? ElementType::u64 : op == Op::VTable ? ElementType::u8 : ElementType::s32, i.lanes = op == Op::VTable ? 32 : op == Op::VMulLow ? 4 : 8;
    if (s == 'f') i.from = ElementType::s16;
    if (s == 'c') i.cond = Cond::lt;
  }
  if (op == Op::VFma || op == Op::VFms || op == Op::VFnma || op == Op::VFnms || op == Op::VScale || op == Op::VSqrt || op == Op::VRound || op == Op::VDiv) i.type = ElementType::f32;
  if (op == Op::VGather) i.from = ElementType::s32;
  if (op == Op::VPart) i.lanes = 4, i.imm = 1;
  (void)f;
  std::string_view rest = r.operands;
  auto fresh = [&](char kind) { return kind == 'v' ? b.vector() : kind == 'k' ? b.mask({op == Op::MConvert ? i.from : i.type, i.lanes}) : b.general(); };
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    char kind = word.size() > 1 ? word[1] : 0;
    if (word[0] == 'O') i.dst = kind == 'k' ? b.mask(i.vtype()) : fresh(kind);
    if (word[0] == 'A') i.a = fresh(kind);
    if (word[0] == 'B') i.b = fresh(kind);
    if (word[0] == 'C') i.c = kind == 'k' ? b.mask(i.vtype()) : fresh(kind);
    if (word[0] == 'D') i.d = fresh(kind);
    if (word[0] == 'M') {
      i.mem = MemKind::memory, i.base = b.general();
      if (op != Op::VGather) i.index = b.general(), i.scale = 4;
    }
  }
  return i;
}

}  // namespace

TEST_CASE("machine: use() agrees with the operand table", "[regalloc]") {
  for (int n = 0; n < op_count; n++) {
    auto op = static_cast<Op>(n);
    if (is_call(op) || op == Op::Spill || op == Op::Reload) continue;
    INFO(row(op).text);
    Function f;
    Builder b(f, "sample", 32);
    Inst i = sample_inst(f, b, op);
    Use u = use(i);
    std::vector<uint32_t> reads, want;
    for (Reg r : u.reads) {
      if (r) reads.push_back(r.bits);
    }
    for (Reg r : {i.a, i.b, i.c, i.d, i.base, i.index}) {
      if (r) want.push_back(r.bits);
    }
    if (op == Op::VGather) want.push_back(i.dst.bits);
    std::sort(reads.begin(), reads.end()), std::sort(want.begin(), want.end());
    CHECK(reads == want);
    CHECK(u.writes[0] == i.dst);
  }
}

// Every register of the machine is given a value by hand-made code, the instruction runs with each operand in its own
// place, and all that is not written must be as it was: the emitter touches nothing that use() does not say.
TEST_CASE("x86: emitted code writes only what use() says", "[regalloc]") {
  for (auto [features, bytes] : targets()) {
    for (int n = 0; n < op_count; n++) {
      auto op = static_cast<Op>(n);
      if (is_terminator(op) || is_call(op) || op == Op::Spill || op == Op::Reload || op == Op::AddressOf || op == Op::FpRestore) continue;
      if (op == Op::FpDefault || op == Op::Div || op == Op::Rem || op == Op::VData) continue;
      Function f;
      Builder b(f, "probe", bytes);
      Reg p = b.param();
      Inst i = sample_inst(f, b, op);
      if (op == Op::VZipLow || op == Op::VZipHigh) i.lanes = 8;
      // Bystanders that live across the instruction: as many as fit.
      std::vector<Reg> general, vectors;
      std::vector<Reg> masks;
      for (int r = 0; r < 7; r++) general.push_back(b.load(ElementType::u64, {p, 8 * r}));
      for (int r = 0; r < 8; r++) vectors.push_back(b.vload(s32x8, {p, 16 * r}));
      for (int r = 0; r < 2; r++) masks.push_back(b.vcmp(s32x8, Cond::lt, vectors[0], vectors[1 + static_cast<size_t>(r)]));
      Use u = use(i);
      std::vector<Reg> sources;
      for (Reg r : u.reads) {
        if (!r || std::find(sources.begin(), sources.end(), r) != sources.end()) continue;
        sources.push_back(r);
        if (r == i.base) b.mov(p, r);
        else if (r == i.index && r) b.mov(16, r);
        else if (r.reg_class() == RegClass::general) b.mov(5, r);
        else if (r.reg_class() == RegClass::vector) b.vload(s32x8, {p, 64}, r);
        else b.mconst({op == Op::MConvert ? i.from : i.type, i.lanes}, false, r);
      }
      if (op == Op::VGather) b.vzero(s32x8, i.a);
      if (op == Op::VPermute) b.vzero(s32x8, i.b);
      b.emit(i);
      // Sources are unchanged too, but for what is written.
      Reg out = b.lea({p, 256});
      int at = 0;
      auto keep = [&](Reg r) {
        if (r == u.writes[0] || r == u.writes[1]) return;
        if (r.reg_class() == RegClass::general) b.store(ElementType::u64, {out, 32 * at++}, r == i.base ? b.sub(r, p) : r);
        else if (r.reg_class() == RegClass::vector) b.vstore(s32x8, {out, 32 * at++}, r);
        else b.store(ElementType::u64, {out, 32 * at++}, b.mbits({op == Op::MConvert ? i.from : i.type, i.lanes}, r));
      };
      for (Reg r : sources) keep(r);
      for (Reg r : general) keep(r);
      for (Reg r : vectors) keep(r);
      for (Reg r : masks) b.store(ElementType::u64, {out, 32 * at++}, b.mbits(s32x8, r));
      b.ret();
      INFO(print(f));
      if (auto ok = verify(f); !ok) FAIL(ok.error().message);
      auto code = x86::assemble({f}, features);
      if (!code) FAIL(code.error().message);
      auto memory = load(*code);
      alignas(64) std::array<int32_t, 512> got, want;
      for (size_t k = 0; k < got.size(); k++) got[k] = static_cast<int32_t>(k * 2654435761u);
      want = got;
      memory->function<void(void*)>("probe")(got.data());
      MachineInterpreter(f).run({reinterpret_cast<uint64_t>(want.data())});
      bool same = got == want;
      CHECK(same);
    }
  }
}

TEST_CASE("machine: text of built programs round-trips", "[regalloc]") {
  for (uint64_t seed = 0; seed < 20; seed++) {
    RandomProgram program(seed, 32, 10);
    Source source{"random.machine", print(program.function())};
    auto again = parse(source);
    if (!again) FAIL(again.error().render());
    REQUIRE(again->size() == 1);
    CHECK(print((*again)[0]) == source.text);
  }
}

TEST_CASE("elf: an object has what readers expect", "[regalloc]") {
  Function f;
  Builder b(f, "entry", 32);
  Reg p = b.param();
  Reg w = b.address_of("weights");
  b.vstore(f32x8, p, b.vadd(f32x8, b.vload(f32x8, w), b.viota(f32x8)));
  b.ret(b.mov(0));
  std::array<float, 8> weights{1, 2, 3, 4, 5, 6, 7, 8};
  x86::AssembleOptions options;
  options.data.push_back({"weights", 64, std::as_bytes(std::span(weights))});
  options.exported = {"entry"};
  auto code = x86::assemble({f}, *x86::features_of("x86-64-v3"), options);
  REQUIRE(code);
  auto object = aot::write_elf(*code);
  REQUIRE(object);
  CHECK(object->size() % 8 == 0);
  CHECK((*object)[0] == std::byte{0x7f});
  code->externals.push_back("malloc");
  auto refused = aot::write_elf(*code);
  REQUIRE(!refused);
  CHECK(refused.error().kind == ErrorKind::target);
}

}  // namespace hloc::test
