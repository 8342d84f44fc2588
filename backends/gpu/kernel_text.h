// Writes the function of one launch.
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backends/gpu/launch.h"

namespace hloc::gpu {

class KernelText {
 public:
  KernelText(const GpuKernel& kernel, const Launch& launch);

  std::string run();

 private:
  using Statements = std::vector<const loops::Statement*>;

  // ---- Lines and names ----
  template <class... A>
  void line(fmt::format_string<A...> format, A&&... args) {
    out_ += std::string(indent_ * 2, ' ') + fmt::format(format, std::forward<A>(args)...) + "\n";
  }
  void open(const std::string& head) { line("{} {{", head), ++indent_; }
  void close() { --indent_, line("}}"); }
  std::string unique(const std::string& wanted);
  void name_everything();
  const std::string& value(loops::ValueId v) const { return values_[v]; }
  void define(loops::ValueId v, const std::string& wanted, const std::string& expression);
  std::string affine(const loops::Affine& a) const;
  std::string condition(const std::vector<loops::Guard>& guards) const;
  std::string element(const loops::Access& a) const;
  // One of the indices that the number `all` counts through, the last one fastest: it takes `extent` values, all behind it
  // together `inner`.
  static std::string digit(const std::string& all, bool is_first, int64_t extent, int64_t inner);

  // ---- The function ----
  void head();
  void local_buffers();
  void grid();
  void lanes();

  // ---- Statements ----
  void each(const Statements& statements);
  void block(const loops::Block& statements);
  void statement(const loops::Statement& s);
  void compute(const loops::Compute& c);
  void load(const loops::Load& l);
  void store(const loops::Store& s);
  void derive(loops::IndexId id);
  void accumulate(const loops::Accumulate& a);
  void loop(const loops::Loop& l);
  void loop_of_one(const loops::Loop& l, const std::string& head);
  void shared_loop(const loops::Loop& l);
  void part_of_loop(const Spread& spread);
  // What a loop that a block's threads share adds to: an accumulator of each thread's own, under whose name the loop's body is
  // printed until sum_of_block has combined them.
  struct Own {
    Collected collected;
    ElementType type;
    std::string name, own;
  };
  std::vector<Own> own_sums(const loops::Loop& l);
  std::string sum_of_block(const Own& own);
  void shared_contract(const loops::Contract& c);

  // ---- Squares (square_text.cpp) ----
  void take_words_of_squares();
  Statements square_indices(std::vector<std::string>& from);
  int open_step(const std::vector<std::string>& from, const char* outer, const char* inner);
  void squares();

  // ---- Contractions (contract_text.cpp) ----
  void tiles(const loops::Contract& c);
  void tile_operand(const loops::Contract& c, bool is_left, const std::string& tile);
  void tile_sums(const loops::Contract& c);
  void tile_epilogue(const loops::Contract& c);
  void dims(const loops::Contract& c, loops::DimRole role, const std::string& all);
  void product(const loops::Contract& c, const std::string& sum, const std::string& a, const std::string& b);
  std::string converted(const loops::Contract& c, loops::ValueId v) const;

  // ---- Who must wait for whom ----
  // Before a statement that touches these: a barrier where another thread may not be done with one of them.
  void wait_for(const std::set<loops::BufferId>& reads, const std::set<loops::BufferId>& writes);
  // What the statements of these blocks touch, but for inputs that nothing writes.
  struct Touched {
    std::set<loops::BufferId> reads, writes;
  };
  Touched touched_by(std::initializer_list<const loops::Block*> blocks) const;
  void barrier();
  loops::BufferId memory(loops::BufferId b) const { return memories_[b]; }

  const GpuKernel& gpu_kernel_;
  const loops::Kernel& kernel_;
  const Launch& launch_;
  std::string out_;
  size_t indent_ = 0;
  std::string index_type_;
  std::set<std::string> taken_;
  std::map<std::string, int> last_number_;  // by name without one: how many further ones were tried
  std::vector<std::string> buffers_, values_, indices_, accumulators_;
  std::vector<loops::BufferId> memories_;  // by buffer: one number for an input and the output that overwrites it
  std::vector<bool> is_written_;           // by memory: by this kernel
  std::set<loops::BufferId> read_, dirty_; // since the last barrier
  bool together_ = false;                  // all threads of the block are here, with the same values
};

}  // namespace hloc::gpu
