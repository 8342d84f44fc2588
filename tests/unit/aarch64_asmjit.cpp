// Every form of the A64 table over random operands beside what asmjit makes of the same instruction. asmjit reads no text, so
// the text is taken apart into its operands here. Its table has several instructions of one name (general, vector); the one
// that takes the operands counts. Built only where asmjit is (Debian's libasmjit-dev).
#include <catch2/catch.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <asmjit/arm/a64assembler.h>
#include <asmjit/core.h>
#include <fmt/format.h>

#include "tests/unit/aarch64_samples.h"

namespace hloc::test {
namespace {

namespace a64 = asmjit::a64;
namespace arm = asmjit::arm;
using asmjit::Imm;
using asmjit::Operand;

// What asmjit (of December 2022, as Debian has it) writes otherwise or not at all, and why: samples of the form whose text
// has `with` in it.
struct Exception {
  aarch64::Form form;
  std::string_view with, reason;
};
constexpr Exception exceptions[] = {
    {aarch64::Form::Adrp, "", "its text takes a symbol"},
    {aarch64::Form::Ret, "", "has its register as an operand, see below"},
    {aarch64::Form::StpBefore, "#0]!", "writes no base back that stays the same"},
    {aarch64::Form::LdpAfter, "], #0", "writes no base back that stays the same"},
    {aarch64::Form::Prfm, "", "takes no prefetch with an address of this kind"},
    {aarch64::Form::VFmovWord, "", "sets the lowest bit of the destination's number, whatever it is"},
    {aarch64::Form::VMoviHalf, "#0,", "writes zeros as bytes"},
    {aarch64::Form::VMoviWord, "#0,", "writes zeros as bytes"},
    {aarch64::Form::VMvniHalf, "#0,", "writes ones as bytes"},
    {aarch64::Form::VMvniWord, "#0,", "writes ones as bytes"},
    {aarch64::Form::VSshr, "2d, #64", "takes no shift by the whole width"},
    {aarch64::Form::VUshr, "2d, #64", "takes no shift by the whole width"},
};

const Exception* exception_for(const A64Sample& s) {
  auto found = std::find_if(std::begin(exceptions), std::end(exceptions),
                            [&](const Exception& e) { return e.form == s.form && s.text.find(e.with) != std::string::npos; });
  return found == std::end(exceptions) ? nullptr : found;
}

constexpr uint64_t base_address = uint64_t{1} << 40;  // of the code: distances become addresses

int64_t number_in(std::string_view text) {
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  return static_cast<int64_t>(negative ? 0 - value : value);
}

std::optional<uint32_t> condition_in(std::string_view text) {
  constexpr std::string_view names[] = {"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"};
  auto found = std::find(std::begin(names), std::end(names), text);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<uint32_t>(found - std::begin(names)) + 2;  // asmjit's numbers begin with "always" and "never"
}

// v3.4s, v3.s[1]; with braces around what stands before the lane, too.
Operand vector_in(std::string text) {
  std::erase_if(text, [](char c) { return c == '{' || c == '}'; });
  size_t dot = text.find('.'), bracket = text.find('[');
  a64::Vec v = arm::v(static_cast<uint32_t>(number_in(std::string_view(text).substr(1, dot - 1))));
  std::string_view shape = std::string_view(text).substr(dot + 1, bracket == std::string::npos ? bracket : bracket - dot - 1);
  if (bracket != std::string::npos) {
    auto lane = static_cast<uint32_t>(number_in(std::string_view(text).substr(bracket + 1)));
    return shape == "b" ? v.b(lane) : shape == "h" ? v.h(lane) : shape == "s" ? v.s(lane) : v.d(lane);
  }
  if (shape == "8b") return v.b8();
  if (shape == "4h") return v.h4();
  if (shape == "2s") return v.s2();
  if (shape == "1d") return v.d();
  return shape == "16b" ? v.b16() : shape == "8h" ? v.h8() : shape == "4s" ? v.s4() : v.d2();
}

Operand general_in(std::string_view text) {
  if (text == "sp") return a64::regs::sp;
  if (text == "xzr") return a64::regs::xzr;
  if (text == "wzr") return a64::regs::wzr;
  auto n = static_cast<uint32_t>(number_in(text.substr(1)));
  if (text[0] == 'x') return arm::x(n);
  return arm::w(n);
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (char c : text) {
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (c == separator && depth == 0) out.emplace_back();
    else if (c != ' ' || !out.back().empty()) out.back() += c;
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

// [x1, #8], [x1, #8]!, [x1, x2, lsl #3]
Operand memory_in(std::string_view text) {
  bool before = text.ends_with('!');
  text = text.substr(1, text.size() - (before ? 3 : 2));
  std::vector<std::string> parts = parts_of(text, ',');
  Operand base = general_in(parts[0]);
  if (parts.size() == 1) return a64::Mem(base.as<asmjit::BaseReg>());
  if (parts[1][0] != '#') {
    uint32_t shift = parts.size() > 2 ? static_cast<uint32_t>(number_in(parts[2].substr(5))) : 0;
    return a64::Mem(base.as<asmjit::BaseReg>(), general_in(parts[1]).as<asmjit::BaseReg>(), arm::Shift(arm::ShiftOp::kLSL, shift));
  }
  a64::Mem memory(base.as<asmjit::BaseReg>(), static_cast<int32_t>(number_in(parts[1].substr(1))));
  if (before) memory.makePreIndex();
  return memory;
}

Operand operand_in(const std::string& text, uint64_t at) {
  if (auto condition = condition_in(text)) return Imm(*condition);
  if (text == "fpcr") return Imm(a64::Predicate::SysReg::kFPCR);
  if (text.starts_with("lsl #")) return Imm(arm::Shift(arm::ShiftOp::kLSL, static_cast<uint32_t>(number_in(text.substr(5)))));
  std::string_view rest(text);
  switch (text[0]) {
    case '#': rest.remove_prefix(1);
      return rest.find('.') == rest.npos ? Imm(number_in(rest)) : Imm(std::stod(std::string(rest)));
    case '.': return Imm(base_address + at + static_cast<uint64_t>(number_in(rest.substr(1))));
    case '[': return memory_in(rest);
    case '{': return vector_in(text);
    case 'v': return vector_in(text);
    case 'x': case 'w': return general_in(rest);
  }
  if (text == "sp") return a64::regs::sp;
  a64::Vec v = arm::v(static_cast<uint32_t>(number_in(rest.substr(1))));
  switch (text[0]) {
    case 'b': return v.b();
    case 'h': return v.h();
    case 's': return v.s();
    case 'd': return v.d();
    default: return v.q();
  }
}

class AsmjitOracle {
 public:
  AsmjitOracle() {
    asmjit::Environment environment(asmjit::Arch::kAArch64);
    code_.init(environment, base_address);
    code_.attach(&assembler_);
    for (uint32_t id = 1; id < a64::Inst::_kIdCount; id++) {
      asmjit::String name;
      if (asmjit::InstAPI::instIdToString(asmjit::Arch::kAArch64, id, name) == asmjit::kErrorOk) ids_[name.data()].push_back(id);
    }
  }

  // The word, if one of the instructions of that name takes the operands.
  std::optional<uint32_t> word_of(const std::string& text) {
    size_t space = std::min(text.find(' '), text.size());
    std::string_view mnemonic = std::string_view(text).substr(0, space);
    std::optional<uint32_t> condition;
    if (mnemonic.starts_with("b.")) condition = condition_in(mnemonic.substr(2));
    if (condition) mnemonic = "b";
    std::vector<Operand> operands;
    size_t at = assembler_.offset();
    for (const std::string& part : parts_of(std::string_view(text).substr(space), ',')) {
      if (!operands.empty() && operands.back().isMem() && part[0] == '#') {  // written back after the access
        auto& memory = operands.back().as<a64::Mem>();
        memory.setOffset(number_in(part.substr(1)));
        memory.makePostIndex();
        continue;
      }
      operands.push_back(operand_in(part, at));
    }
    for (uint32_t id : ids_[std::string(mnemonic)]) {
      if (condition) id = asmjit::BaseInst::composeARMInstId(id, static_cast<arm::CondCode>(*condition));
      if (assembler_.emitOpArray(id, operands.data(), operands.size()) != asmjit::kErrorOk || assembler_.offset() == at) continue;
      uint32_t word;
      std::memcpy(&word, assembler_.bufferData() + at, sizeof word);
      return word;
    }
    return std::nullopt;
  }

 private:
  asmjit::CodeHolder code_;
  a64::Assembler assembler_;
  std::map<std::string, std::vector<uint32_t>> ids_;
};

}  // namespace

TEST_CASE("every A64 form equals what asmjit makes of it") {
  AsmjitOracle oracle;
  std::mt19937 random(2);
  std::set<const Exception*> needed;
  int wrong = 0;
  for (size_t n = 0; n < aarch64::form_count; n++) {
    bool good = true;
    for (int round = 0; round < 20 * a64_rounds && good; round++) {
      A64Sample s = a64_sample(static_cast<aarch64::Form>(n), random);
      std::optional<uint32_t> word = oracle.word_of(s.text);
      if (word == s.word) continue;
      const Exception* exception = exception_for(s);
      needed.insert(exception);
      good = exception != nullptr;
      if (!good) UNSCOPED_INFO(fmt::format("{}: {:08x}, asmjit {}", s.text, s.word, word ? fmt::format("has {:08x}", *word) : "refuses it"));
    }
    wrong += !good;
  }
  for (const Exception& e : exceptions) {
    if (needed.contains(&e)) continue;
    wrong++;
    UNSCOPED_INFO(fmt::format("the exception for '{}' is not needed: {}", aarch64::form_table[static_cast<size_t>(e.form)].syntax, e.reason));
  }
  CHECK(wrong == 0);
  CHECK(oracle.word_of("ret x30") == aarch64::encode(aarch64::Form::Ret, {}));
}

}  // namespace hloc::test
