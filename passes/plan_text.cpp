// Programs as text, for people and tests.
#include <fmt/format.h>

#include "passes/plan.h"

namespace hloc::plan {
namespace {

std::string type_text(ir::Type type) {
  std::string dims;
  for (int64_t size : type.sizes()) dims += fmt::format("{}{}", dims.empty() ? "" : ",", size);
  return fmt::format("{}[{}]", name_of(type.element()), dims);
}

std::string place_text(const Buffer& b) {
  switch (b.storage) {
    case Storage::parameter: return fmt::format("parameter {}", b.index);
    case Storage::result: return fmt::format("result {}", b.index);
    case Storage::constant: return fmt::format("constant {}", b.index);
    case Storage::arena: return fmt::format("arena {}", b.offset);
  }
  return "";
}

std::string_view kind_text(ir::FusionKind kind) {
  switch (kind) {
    case ir::FusionKind::kLoop: return "loop";
    case ir::FusionKind::kInput: return "reduction";
    case ir::FusionKind::kOutput: return "contraction";
    case ir::FusionKind::kCustom: return "custom";
  }
  return "";
}

// "1 kernel", "2 kernels".
std::string counted(int64_t n, std::string_view one, std::string_view many) { return fmt::format("{} {}", n, n == 1 ? one : many); }

class ProgramText {
 public:
  explicit ProgramText(const Program& program) : program_(program) {}

  std::string text() {
    Counts counts = count_steps(program_);
    out_ = fmt::format("program {}: {}, {}, {}, arena {} bytes (at least {})\n", program_.module->name(), counted(counts.kernels, "kernel", "kernels"),
                       counted(counts.host_steps, "host step", "host steps"), counted(counts.copies, "copy", "copies"), program_.arena_bytes, program_.arena_lower_bound);
    out_ += "buffers\n";
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& b = program_.buffers[i];
      out_ += fmt::format("  b{} {} {} {} at {}..{}\n", i, place_text(b), type_text(b.type), b.name, b.first, b.last);
    }
    for (const Alias& a : program_.aliases)
      out_ += fmt::format("alias parameter {} result {}{}\n", a.parameter, a.result, a.must ? " must" : "");
    out_ += "steps\n";
    block(program_.steps, 1);
    return std::move(out_);
  }

 private:
  static std::string list(const std::vector<BufferId>& ids) {
    std::string out;
    for (BufferId id : ids) out += fmt::format("{}b{}", out.empty() ? "" : ", ", id);
    return out;
  }

  static std::string arrow(const std::vector<BufferId>& outputs) { return outputs.empty() ? "" : " -> " + list(outputs); }

  void line(size_t indent, const std::string& text) { out_ += std::string(2 * indent, ' ') + text + "\n"; }

  void block(const Block& steps, size_t indent) {
    for (const Step& s : steps) step(s, indent);
  }

  void step(const Step& s, size_t indent) {
    std::string_view name = s.computation->name(s.origin);
    if (auto* kernel = std::get_if<KernelStep>(&s.what)) {
      std::string in_place;
      for (auto [i, o] : kernel->in_place)
        in_place += fmt::format("{}b{} over b{}", in_place.empty() ? " writes " : ", ", kernel->outputs[o], kernel->inputs[i]);
      line(indent, fmt::format("{}: kernel {} {} ({}){}{}", s.position, name, kind_text(kernel->fusion->as<ir::FusionAttr>().kind),
                               list(kernel->inputs), arrow(kernel->outputs), in_place));
    } else if (auto* host = std::get_if<HostStep>(&s.what)) {
      line(indent, fmt::format("{}: host {} {} ({}){}", s.position, name, ir::name_of(host->instruction->op), list(host->inputs),
                               arrow(host->outputs)));
    } else if (auto* copy = std::get_if<CopyStep>(&s.what)) {
      line(indent, fmt::format("{}: copy b{} -> b{}", s.position, copy->from, copy->to));
    } else if (auto* loop = std::get_if<WhileStep>(&s.what)) {
      line(indent, fmt::format("{}: while {}", s.position, name));
      line(indent + 1, "condition");
      block(loop->condition, indent + 2);
      line(indent + 1, fmt::format("body while b{}", loop->predicate));
      block(loop->body, indent + 2);
      for (const Exchange& e : loop->exchanges) line(indent + 2, fmt::format("exchange b{} with b{}", e.carry[0], e.next[0]));
    } else {
      const auto& branch = std::get<BranchStep>(s.what);
      line(indent, fmt::format("{}: branch {} by b{}", s.position, name, branch.selector));
      for (size_t i = 0; i < branch.branches.size(); ++i) {
        line(indent + 1, fmt::format("branch {}", i));
        block(branch.branches[i], indent + 2);
      }
    }
  }

  const Program& program_;
  std::string out_;
};

void count_block(const Block& block, Counts& counts) {
  for (const Step& step : block) {
    counts.kernels += std::holds_alternative<KernelStep>(step.what);
    counts.host_steps += std::holds_alternative<HostStep>(step.what);
    counts.copies += std::holds_alternative<CopyStep>(step.what);
    if (auto* loop = std::get_if<WhileStep>(&step.what)) {
      count_block(loop->condition, counts);
      count_block(loop->body, counts);
    } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
      for (const Block& b : branch->branches) count_block(b, counts);
    }
  }
}

}  // namespace

Counts count_steps(const Program& program) {
  Counts counts;
  count_block(program.steps, counts);
  return counts;
}

std::string to_string(const Program& program) { return ProgramText(program).text(); }

}  // namespace hloc::plan
