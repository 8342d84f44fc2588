// Every form of the A64 table over random operands beside what GNU as makes of its text. Without the cross assembler
// (Debian's binutils-aarch64-linux-gnu) this cannot run, and says so.
#include <catch2/catch.hpp>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include <fmt/format.h>
#include <unistd.h>

#include "backends/cpu/aarch64/encode.h"

namespace hloc::test {
namespace {

using namespace hloc::aarch64;

constexpr std::string_view arrangement_names[] = {"8b", "16b", "4h", "8h", "2s", "4s", "1d", "2d"};
constexpr std::string_view condition_names[] = {"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"};

std::string register_name(char letter, int64_t n, std::string_view last) {
  return n == 31 ? std::string(last) : fmt::format("{}{}", letter, n);
}

// What else the operands say: the arrangement that the derived words follow.
struct Written {
  int size = 0;
  bool whole = false;  // 16 bytes
};

std::string text_of(const FieldRow& f, int64_t value, Written w) {
  switch (f.coding) {
    case Coding::general: return register_name('x', value, "xzr");
    case Coding::stack: return register_name('x', value, "sp");
    case Coding::word: return register_name('w', value, "wzr");
    case Coding::by_element: return register_name(w.size == 3 ? 'x' : 'w', value, w.size == 3 ? "xzr" : "wzr");
    case Coding::precision: return std::string(1, "sd?h"[value]);
    case Coding::arrangement: case Coding::copied: return std::string(arrangement_names[value]);
    case Coding::wide: return std::string(arrangement_names[(w.size + 1) * 2 + 1]);
    case Coding::pairs: return std::string(arrangement_names[(w.size + 1) * 2 + w.whole]);
    case Coding::one_element: return std::string(1, "bhsd"[w.size]);
    case Coding::element: return std::string(1, "bhsd"[value]);
    case Coding::condition: return std::string(condition_names[value]);
    case Coding::distance: case Coding::near_address: return fmt::format(".{:+}", value);
    case Coding::bit_mask: return fmt::format("{:#x}", static_cast<uint64_t>(value));
    case Coding::split_float: case Coding::scalar_float: return fmt::format("{:.8f}", float_of_immediate(static_cast<int>(value)));
    case Coding::split_mask: {
      uint64_t bytes = 0;
      for (int n = 0; n < 8; n++) bytes |= (value >> n & 1) != 0 ? uint64_t{0xff} << (8 * n) : 0;
      return fmt::format("{:#018x}", bytes);
    }
    case Coding::number: case Coding::lane: case Coding::second_lane: case Coding::multiplier_lane: case Coding::memory_lane:
    case Coding::bit_number: case Coding::shift_left: case Coding::shift_right: case Coding::split_byte:
      return fmt::format("{}", value);
  }
  return {};
}

// A row of ones, turned and repeated.
int64_t random_bit_mask(std::mt19937& random) {
  int size = 2 << random() % 6;
  int ones = 1 + static_cast<int>(random() % static_cast<unsigned>(size - 1));
  uint64_t all = size == 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1;
  uint64_t element = (uint64_t{1} << ones) - 1;
  auto turn = static_cast<int>(random() % static_cast<unsigned>(size));
  if (turn != 0) element = (element << turn | element >> (size - turn)) & all;
  for (; size < 64; size *= 2) element |= element << size;
  return static_cast<int64_t>(element);
}

int64_t random_operand(const FieldRow& f, Written w, std::mt19937& random) {
  int64_t high = f.high;
  if (f.coding == Coding::arrangement || f.coding == Coding::copied) {
    for (;;) {
      int64_t value = random() % 8;
      if ((f.low >> value & 1) != 0) return value;
    }
  }
  if (f.coding == Coding::bit_mask) return random_bit_mask(random);
  if (f.coding == Coding::precision && high == 3) return std::array<int64_t, 3>{0, 1, 3}[random() % 3];
  if (f.coding == Coding::lane || f.coding == Coding::second_lane) high = (16 >> w.size) - 1;
  if (f.coding == Coding::multiplier_lane) high = (16 >> w.size) - 1;
  if (f.coding == Coding::shift_left) high = (8 << w.size) - 1;
  if (f.coding == Coding::shift_right) high = 8 << w.size;
  if (random() % 8 == 0) return random() % 2 == 0 ? f.low : high;
  int64_t steps = (high - f.low) / f.step;
  return f.low + f.step * static_cast<int64_t>(random() % static_cast<uint64_t>(steps + 1));
}

struct Sample {
  std::string text;
  uint32_t word;
};

bool is_access_pair(std::string_view syntax) { return syntax.starts_with("ld") && syntax[2] == 'p'; }

Sample sample(Form form, std::mt19937& random) {
  const FormRow& form_row = form_table[static_cast<size_t>(form)];
  const Operands& operands = operands_of(form);
  std::array<int64_t, 8> values{};
  Written written;
  for (size_t n = 0; n < operands.count; n++) {
    const FieldRow& f = row(operands.fields[n]);
    // A register loaded twice, or a base that is written back, is no valid instruction.
    do values[n] = random_operand(f, written, random);
    while (f.coding != Coding::number && n > 0 && f.word.starts_with("x") && (values[n] == values[0] || (n > 1 && values[n] == values[1])) &&
           (form == Form::Ldp || form == Form::LdpAfter || form == Form::StpBefore));
    if (is_access_pair(form_row.syntax) && f.word == "ra" && values[n] == values[0]) values[n] ^= 1;
    if (f.coding == Coding::arrangement || f.coding == Coding::copied) written = {static_cast<int>(values[n] >> 1), (values[n] & 1) != 0};
    if (f.coding == Coding::element) written.size = static_cast<int>(values[n]);
    if (f.word == "ph" && values[n] == values[0]) values[n] = values[0] == 0 ? 1 : 0;  // fcvt to the same precision
  }
  Sample out;
  for (size_t at = 0; at < form_row.syntax.size(); at++) {
    if (form_row.syntax[at] != '%') {
      out.text += form_row.syntax[at];
      continue;
    }
    Field field = field_at(form_row.syntax.substr(at + 1));
    at += row(field).word.size();
    size_t n = 0;
    while (n < operands.count && operands.fields[n] != field) n++;
    out.text += text_of(row(field), n < operands.count ? values[n] : 0, written);
  }
  switch (operands.count) {
    case 0: out.word = encode(form, {}); break;
    case 1: out.word = encode(form, {values[0]}); break;
    case 2: out.word = encode(form, {values[0], values[1]}); break;
    case 3: out.word = encode(form, {values[0], values[1], values[2]}); break;
    case 4: out.word = encode(form, {values[0], values[1], values[2], values[3]}); break;
    default: out.word = encode(form, {values[0], values[1], values[2], values[3], values[4]}); break;
  }
  return out;
}

// The words that GNU as makes; empty if it refuses (its messages go to the test's output).
std::vector<uint32_t> assemble_text(const std::string& text) {
  char folder[] = "/tmp/hloc-a64-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  std::string base = folder;
  std::ofstream(base + "/t.s") << text;
  std::string command = fmt::format("aarch64-linux-gnu-as -o {0}/t.o {0}/t.s 2>&1 | head -40; "
                                    "aarch64-linux-gnu-objcopy -O binary -j .text {0}/t.o {0}/t.bin", base);
  std::vector<uint32_t> words;
  if (std::system(command.c_str()) == 0) {
    std::ifstream in(base + "/t.bin", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    words.resize(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
  }
  std::system(fmt::format("rm -r {}", base).c_str());
  return words;
}

}  // namespace

TEST_CASE("every A64 form equals what GNU as makes of its text") {
  if (std::system("command -v aarch64-linux-gnu-as >/dev/null && command -v aarch64-linux-gnu-objcopy >/dev/null") != 0) {
    std::puts("skipped: the A64 forms are not compared, aarch64-linux-gnu-as is missing (Debian: binutils-aarch64-linux-gnu)");
    return;
  }
  constexpr int rounds = 40;
  std::mt19937 random(1);
  std::vector<Sample> samples;
  std::string text;
  for (size_t n = 0; n < form_count; n++) {
    if (static_cast<Form>(n) == Form::Adrp) continue;  // its text takes a symbol; see below
    for (int round = 0; round < rounds; round++) {
      samples.push_back(sample(static_cast<Form>(n), random));
      text += samples.back().text + "\n";
    }
  }
  std::vector<uint32_t> words = assemble_text(text);
  REQUIRE(words.size() == samples.size());
  int wrong = 0;
  for (size_t n = 0; n < samples.size() && wrong < 20; n++) {
    if (words[n] == samples[n].word) continue;
    wrong++;
    UNSCOPED_INFO(fmt::format("{}: {:08x}, GNU as has {:08x}", samples[n].text, samples[n].word, words[n]));
  }
  CHECK(wrong == 0);
  CHECK(encode(Form::Adrp, {5, -3}) == (encode(Form::Adr, {5, -3}) | 0x80000000));
}

TEST_CASE("operands that A64 has no bits for are refused") {
  CHECK_THROWS(encode(Form::AddImmediate, {0, 1, 4096, 0}));
  CHECK_THROWS(encode(Form::Ldr, {0, 1, 12}));
  CHECK_THROWS(encode(Form::VMul, {0, arrangement(3, 16), 1, 2}));
  CHECK_THROWS(encode(Form::VFadd, {0, arrangement(1, 16), 1, 2}));
  CHECK_THROWS(encode(Form::VUshr, {0, arrangement(2, 16), 1, 33}));
  CHECK_THROWS(encode(Form::AndImmediate, {0, 1, 0}));
  CHECK_THROWS(encode(Form::AndImmediate, {0, 1, 0x5555000000005555}));
  CHECK_THROWS(encode(Form::B, {2}));
  CHECK_THROWS(encode(Form::Ret, {1}));
  CHECK(is_bit_mask(0xff));
  CHECK(is_bit_mask(0xffffffff00000000));
  CHECK(!is_bit_mask(0xff01));
  CHECK(float_immediate(1.0) == 0x70);
  CHECK(float_immediate(-31.0) == 0xbf);
  CHECK(float_immediate(0.0) == -1);
}

}  // namespace hloc::test
