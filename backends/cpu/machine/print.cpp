// The text form of the machine IR.
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "backends/cpu/machine/element.h"
#include "backends/cpu/machine/machine.h"
#include "backends/cpu/machine/operands.h"

namespace hloc::machine {
namespace {

using MachineText = std::string;

template <class... Args>
void put(MachineText& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

void put_reg(MachineText& out, Reg r) {
  if (r) put(out, "{}{}", letter_of(r.reg_class()), r.index());
  else out += "none";
}

void put_symbol(MachineText& out, std::string_view name) {
  out += '@';
  bool plain = !name.empty();
  for (char c : name) {
    plain &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$';
  }
  if (plain) {
    out += name;
    return;
  }
  out += '"';
  for (char c : name) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 32) put(out, "\\{:02x}", static_cast<unsigned char>(c));
    else out += c;
  }
  out += '"';
}

void put_address(MachineText& out, const Inst& i) {
  out += '[';
  bool first = true;
  if (i.base) put_reg(out, i.base), first = false;
  if (i.index) {
    if (!first) out += " + ";
    put_reg(out, i.index);
    put(out, "*{}", i.scale);
    first = false;
  }
  if (first) put(out, "{}", i.disp);
  else if (i.disp > 0) put(out, " + {}", i.disp);
  else if (i.disp < 0) put(out, " - {}", -static_cast<int64_t>(i.disp));
  out += ']';
}

void put_memory(MachineText& out, const Inst& i) {
  switch (i.mem) {
    case MemKind::none: out += "none"; break;
    case MemKind::memory: put_address(out, i); break;
    case MemKind::broadcast: out += "bcast ", put_address(out, i); break;
    case MemKind::data: put(out, "data {}", i.disp); break;
    case MemKind::splat: put(out, "splat {}", element_text(i.type, static_cast<uint64_t>(i.imm))); break;
    case MemKind::slot: put(out, "slot {}", i.disp); break;
  }
}

// Gathers scale their vector of indices, which stands apart from the address.
void put_gather_address(MachineText& out, const Inst& i) {
  out += '[';
  put_reg(out, i.base);
  if (i.scale != 1) put(out, " * {}", i.scale);
  if (i.disp) put(out, " {} {}", i.disp < 0 ? '-' : '+', i.disp < 0 ? -static_cast<int64_t>(i.disp) : i.disp);
  out += ']';
}

void put_operand(MachineText& out, const Inst& i, const Function& f, OperandSpec spec) {
  switch (spec.field) {
    case 'M': i.op == Op::VGather ? put_gather_address(out, i) : put_memory(out, i); return;
    case 'I': i.op == Op::VBlocks ? put(out, "{:#x}", i.imm) : put(out, "{}", i.imm); return;
    case 'W': out += element_text(i.type, static_cast<uint64_t>(i.imm)); return;
    case 'N': put(out, "{}", i.imm); return;
    case 'S':
      if (i.symbol < f.symbols.size()) put_symbol(out, f.symbols[i.symbol]);
      else out += "@\"\"";
      return;
    case 'T':
    case 'F': {
      BlockId b = i.targets[spec.field == 'F'];
      out += b < f.blocks.size() ? std::string_view(f.blocks[b].name) : std::string_view("none");
      return;
    }
    case 'P': {
      out += '(';
      bool first = true;
      auto sources = i.sources();
      for (size_t n = i.op == Op::CallReg; n < sources.size() && sources[n]; n++) {
        if (!first) out += ", ";
        put_reg(out, sources[n]);
        first = false;
      }
      out += ')';
      return;
    }
    default: break;
  }
  Reg r = register_field(i, spec.field);
  if (!r && spec.takes('m')) put_memory(out, i);
  else if (!r && spec.takes('i')) put(out, "{}", i.imm);
  else put_reg(out, r);
}

void put_inst(MachineText& out, const Inst& i, const Function& f) {
  out += row(i.op).text;
  for (char s : row(i.op).suffix) {
    if (s == 't') put(out, ".{}", name_of(i.type));
    if (s == 'v') put(out, ".{}x{}", name_of(i.type), i.lanes);
    if (s == 'f') put(out, ".{}", name_of(i.from));
    if (s == 'c') put(out, ".{}", cond_names[static_cast<size_t>(i.cond)]);
    if (s == 'r') put(out, ".{}", round_names[static_cast<size_t>(i.round)]);
  }
  bool first = true;
  for_each_operand(i.op, [&](OperandSpec spec) {
    if (spec.takes('?') && !register_field(i, spec.field)) return;
    if (spec.field != 'P') out += first ? " " : ", ";  // arguments follow the callee at once
    first = false;
    put_operand(out, i, f, spec);
  });
}

void put_data(MachineText& out, const DataConstant& d, size_t number) {
  put(out, "  data {}: {}x{} {{", number, name_of(d.type.element), d.type.lanes);
  auto width = static_cast<size_t>(byte_width(d.type.element));
  for (size_t l = 0; l * width < d.bytes.size(); l++) {
    uint64_t bits = 0;
    std::memcpy(&bits, d.bytes.data() + l * width, width);
    put(out, "{}{}", l ? ", " : "", element_text(d.type.element, bits));
  }
  out += "}\n";
}

}  // namespace

std::string print(const Inst& i, const Function& f) {
  std::string out;
  put_inst(out, i, f);
  return out;
}

std::string print(const Function& f) {
  std::string out = "func ";
  put_symbol(out, f.name);
  out += '(';
  for (size_t n = 0; n < f.params.size(); n++) {
    if (n) out += ", ";
    put_reg(out, f.params[n]);
  }
  put(out, ") width {} {{\n", f.vector_bytes);
  for (size_t n = 0; n < f.data.size(); n++) put_data(out, f.data[n], n);
  for (BlockId b : f.order) {
    put(out, "{}:\n", f.blocks[b].name);
    for (const Inst& i : f.blocks[b].insts) {
      out += "  ";
      put_inst(out, i, f);
      out += '\n';
    }
  }
  out += "}\n";
  return out;
}

}  // namespace hloc::machine
