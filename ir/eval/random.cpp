// Random bits: ThreeFry-2x32 and Philox-4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), laid out as
// XLA lays them out, so that a JAX program gives the same numbers here and there.
#include <numbers>

#include <fmt/format.h>

#include "ir/eval/copy.h"
#include "ir/eval/ops.h"

namespace hloc::ir::eval {
namespace {

using Words2 = std::array<uint32_t, 2>;
using Words4 = std::array<uint32_t, 4>;

Words2 words_of(uint64_t x) { return {static_cast<uint32_t>(x), static_cast<uint32_t>(x >> 32)}; }
uint64_t joined(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

Words2 three_fry(Words2 x, Words2 key) {
  constexpr int rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
  uint32_t keys[] = {key[0], key[1], 0x1bd11bdau ^ key[0] ^ key[1]};
  x[0] += keys[0];
  x[1] += keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (uint32_t round = 0; round < 4; ++round) {
      x[0] += x[1];
      x[1] = std::rotl(x[1], rotations[group % 2 * 4 + round]) ^ x[0];
    }
    x[0] += keys[(group + 1) % 3];
    x[1] += keys[(group + 2) % 3] + group + 1;
  }
  return x;
}

Words4 philox(Words4 x, Words2 key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t{0xd2511f53u} * x[0], b = uint64_t{0xcd9e8d57u} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  return x;
}

// A 128-bit counter.
struct Counter {
  uint64_t low, high;
  Counter plus(uint64_t n) const { return {low + n, high + (low + n < low)}; }
};

Words4 philox_block(Counter at, uint64_t key) {
  Words2 low = words_of(at.low), high = words_of(at.high);
  return philox({low[0], low[1], high[0], high[1]}, words_of(key));
}

// The dimension that a 32-bit ThreeFry result is split along: the first even one, else the first longest.
size_t split_dimension(const Ints& sizes) {
  size_t best = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] % 2 == 0) return d;
    if (sizes[d] > sizes[best]) best = d;
  }
  return best;
}

// One counter gives two neighbours along the split dimension. Returns how far the counter went.
template <class Put>
uint64_t three_fry_words(uint64_t key, uint64_t counter, Ints sizes, Put put) {
  if (sizes.empty()) sizes.push_back(1);
  size_t split = split_dimension(sizes);
  Ints half = sizes, strides = strides_of(sizes);
  half[split] = (sizes[split] + 1) / 2;
  uint64_t n = 0;
  for (Odometer at(half); at.valid(); at.next(), ++n) {
    Words2 words = three_fry(words_of(counter + n), words_of(key));
    int64_t place = at.dot(strides) + at[split] * strides[split];
    put(place, words[0]);
    if (2 * at[split] + 1 < sizes[split]) put(place + strides[split], words[1]);
  }
  return n;
}

struct Bits {
  std::byte* out;
  int64_t count;
  int width;  // bytes of an element; narrow ones keep the low bits
  void put(int64_t i, uint64_t bits) const { std::memcpy(out + i * width, &bits, static_cast<size_t>(width)); }
};

// state: {key, counter}.
void three_fry_bits(std::vector<uint64_t>& state, const Ints& sizes, const Bits& bits) {
  if (bits.width != 8) {
    state[1] += three_fry_words(state[0], state[1], sizes, [&](int64_t i, uint32_t word) { bits.put(i, word); });
    return;
  }
  for (int64_t i = 0; i < bits.count; ++i) {
    Words2 words = three_fry(words_of(state[1] + static_cast<uint64_t>(i)), words_of(state[0]));
    bits.put(i, joined(words[0], words[1]));
  }
  state[1] += static_cast<uint64_t>(bits.count);
}

// state: {key, counter low, counter high}, or {key, counter low} with the key as the high half.
void philox_bits(std::vector<uint64_t>& state, const Bits& bits) {
  Counter counter{state[1], state.size() > 2 ? state[2] : state[0]};
  int64_t per_block = bits.width == 8 ? 2 : 4;
  for (int64_t i = 0; i < bits.count; ++i) {
    auto block = static_cast<uint64_t>(i / per_block);
    Words4 words = philox_block(counter.plus(block), state[0]);
    auto lane = static_cast<size_t>(i % per_block);
    bits.put(i, bits.width == 8 ? joined(words[2 * lane], words[2 * lane + 1]) : words[lane]);
  }
  counter = counter.plus(static_cast<uint64_t>((bits.count + per_block - 1) / per_block));
  state[1] = counter.low;
  if (state.size() > 2) state[2] = counter.high;
}

// Uniform in [0, 1) with 53 bits, from the evaluator's own generator.
double uniform_number(uint64_t use, uint64_t i) {
  Words4 words = philox_block({i, use}, 0x3ec8f72002461e29u);
  return std::ldexp(static_cast<double>(joined(words[0], words[1]) >> 11), -53);
}

}  // namespace

Result<Literal> eval_rng_bit_generator(Call& c) {
  const Literal& in = c.in[0];
  if (in.bytes().size() % 8 != 0 || in.bytes().size() < 16)
    return c.eval.fail("the state of a random bit generator has at least two 64-bit words");
  std::vector<uint64_t> state(in.bytes().size() / 8);
  std::memcpy(state.data(), in.bytes().data(), in.bytes().size());
  Type type = c.type.element_type(1);
  Literal out = c.eval.allocate(type), new_state = c.eval.allocate(c.type.element_type(0));
  Bits bits{out.mutable_bytes().data(), type.count(), byte_width(type.element())};
  if (c.attr<RngBitGeneratorAttr>().algorithm == RngAlgorithm::three_fry) three_fry_bits(state, type.sizes(), bits);
  else philox_bits(state, bits);
  int width = bit_width(type.element());
  if (width < 8)  // as the type keeps them in a byte
    for (int64_t i = 0; i < type.count(); ++i) {
      auto low = static_cast<int>(bits.out[i]) & ((1 << width) - 1);
      bool negative = is_signed_integer(type.element()) && (low >> (width - 1)) != 0;
      bits.out[i] = static_cast<std::byte>(negative ? low - (1 << width) : low);
    }
  std::memcpy(new_state.mutable_bytes().data(), state.data(), in.bytes().size());
  return Literal::tuple(c.type, {std::move(new_state), std::move(out)});
}

Result<Literal> eval_rng_get_and_update_state(Call& c) {
  Literal out = c.eval.zeros(c.type);
  auto bytes = out.mutable_bytes();
  std::memcpy(bytes.data(), c.eval.rng_state, std::min(bytes.size(), sizeof c.eval.rng_state));
  Counter next = Counter{c.eval.rng_state[0], c.eval.rng_state[1]}.plus(static_cast<uint64_t>(c.attr<RngStateAttr>().delta));
  c.eval.rng_state[0] = next.low;
  c.eval.rng_state[1] = next.high;
  return out;
}

// What numbers `rng` gives is the implementation's choice: a counter-based generator, the same in every run.
Result<Literal> eval_rng(Call& c) {
  ElementType t = c.type.element();
  double a = 0, b = 0;
  Kernel to_double = converter(c.in[0].type().element(), ElementType::f64);
  const std::byte* from[] = {c.in[0].bytes().data(), c.in[1].bytes().data()};
  to_double.run(to_double, &from[0], reinterpret_cast<std::byte*>(&a), 1);
  to_double.run(to_double, &from[1], reinterpret_cast<std::byte*>(&b), 1);
  bool normal = c.attr<RngAttr>().distribution == RngDistribution::normal;
  uint64_t use = c.eval.rng_uses++;
  Literal out = c.eval.allocate(c.type);
  Kernel store_double = converter(ElementType::f64, t);
  for (int64_t i = 0; i < c.type.count(); ++i) {
    double u = uniform_number(use, static_cast<uint64_t>(2 * i)), x = a + u * (b - a);
    if (is_integer(t)) x = std::floor(x);
    if (normal) {
      double v = uniform_number(use, static_cast<uint64_t>(2 * i + 1));
      x = a + b * std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
    }
    const auto* value = reinterpret_cast<const std::byte*>(&x);
    store_double.run(store_double, &value, out.mutable_bytes().data() + i * store_double.width, 1);
  }
  return out;
}

}  // namespace hloc::ir::eval
