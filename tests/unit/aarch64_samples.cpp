#include "tests/unit/aarch64_samples.h"

#include <array>

#include <fmt/format.h>

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

bool is_access_pair(std::string_view syntax) { return syntax.starts_with("ld") && syntax[2] == 'p'; }

}  // namespace

A64Sample a64_sample(Form form, std::mt19937& random) {
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
  A64Sample out;
  out.form = form;
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

}  // namespace hloc::test
