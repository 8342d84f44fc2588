#include "passes/buffers/exchanges.h"

namespace hloc::passes {
namespace {

constexpr int64_t least_exchanged_bytes = 2048;  // smaller ones are copied in a few instructions, at fixed addresses

// Positions of a loop: its first copies are at `begin`, those that renew its carries at `renewal`, its results at the next.
struct LoopSpan {
  uint32_t begin = 0, renewal = 0;
  uint32_t end() const { return renewal + 1; }
};

class Exchanger {
 public:
  explicit Exchanger(Cells& cells) : cells_(cells) {}

  void block(plan::Block& steps) {
    for (plan::Step& step : steps) {
      if (auto* loop = std::get_if<plan::WhileStep>(&step.what)) {
        block(loop->condition);
        block(loop->body);
        renew(*loop, step.position);
      } else if (auto* branch = std::get_if<plan::BranchStep>(&step.what)) {
        for (plan::Block& b : branch->branches) block(b);
      }
    }
  }

 private:
  void renew(plan::WhileStep& loop, uint32_t begin) {
    if (loop.body.empty()) return;
    LoopSpan span{begin, loop.body.back().position};
    auto first = loop.body.end();
    while (first != loop.body.begin() && std::holds_alternative<plan::CopyStep>(std::prev(first)->what) && std::prev(first)->position == span.renewal) --first;
    loop.body.erase(std::remove_if(first, loop.body.end(), [&](const plan::Step& step) { return exchange(std::get<plan::CopyStep>(step.what), loop, span); }),
                    loop.body.end());
  }

  bool exchange(const plan::CopyStep& copy, plan::WhileStep& loop, LoopSpan span) {
    CellId next = cells_.of(copy.from), carry = cells_.of(copy.to);
    if (next == carry || cells_.at(next).bytes < least_exchanged_bytes || taken_.contains(next) || taken_.contains(carry)) return false;
    if (cells_.at(next).home != Home::free || !means_nothing_between_turns(cells_.at(next), span)) return false;
    cells_.keep(next, span.begin, span.end());
    cells_.keep(carry, span.begin, span.end());
    taken_.insert({next, carry});
    loop.exchanges.push_back({{copy.to}, {copy.from}});
    return true;
  }

  // Whatever the cell holds is made and read for the last time within one turn, or before or after the loop.
  static bool means_nothing_between_turns(const Cell& cell, LoopSpan span) {
    return std::ranges::all_of(cell.ranges, [&](const LiveRange& r) {
      return (r.begin > span.begin && r.end <= span.renewal) || r.end <= span.begin || r.begin > span.end();
    });
  }

  Cells& cells_;
  std::unordered_set<CellId> taken_;
};

}  // namespace

void exchange_carries(Draft& draft, Cells& cells) { Exchanger(cells).block(draft.steps); }

}  // namespace hloc::passes
