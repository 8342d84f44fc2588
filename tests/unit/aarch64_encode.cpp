// Every form of the A64 table over random operands beside what GNU as makes of its text. Without the cross assembler
// (Debian's binutils-aarch64-linux-gnu) this cannot run, and says so.
#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include <fmt/format.h>
#include <unistd.h>

#include "tests/unit/aarch64_samples.h"

namespace hloc::test {
namespace {

using namespace hloc::aarch64;

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
  std::mt19937 random(1);
  std::vector<A64Sample> samples;
  std::string text;
  for (size_t n = 0; n < form_count; n++) {
    if (static_cast<Form>(n) == Form::Adrp) continue;  // its text takes a symbol; see below
    for (int round = 0; round < a64_rounds; round++) {
      samples.push_back(a64_sample(static_cast<Form>(n), random));
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
