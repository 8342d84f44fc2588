#include "backends/cpu/lower/pipeline_rows.h"

#include <algorithm>
#include <map>

#include "backends/loops/rename.h"
#include "backends/loops/walk.h"

namespace hloc::cpu {
namespace {

using loops::Affine;
using loops::Block;
using loops::BufferRole;
using loops::Kernel;
using loops::Loop;
using loops::Statement;
using loops::ValueId;

// Of rows in a block: each has a turn or two more than rows, and there are enough blocks for the threads.
constexpr int64_t least_block = 32, most_block = 128, least_blocks = 16;
constexpr size_t most_stages = 4, no_stage = SIZE_MAX;

// The largest divisor of `rows` that is a good block; 0: none.
int64_t block_of(int64_t rows) {
  for (int64_t b = std::min(most_block, rows / least_blocks); b >= least_block; --b)
    if (rows % b == 0) return b;
  return 0;
}

class Pipeliner {
 public:
  Pipeliner(Kernel& kernel, const Loop& rows, const Machine& machine, const std::vector<bool>& worth_streaming)
      : kernel_(kernel), rows_(rows), machine_(machine), worth_streaming_(worth_streaming), block_(block_of(rows.extent)) {}

  std::optional<RowPipeline> run() {
    if (block_ == 0 || rows_.grain == 0 || rows_.kind != loops::LoopKind::serial) return std::nullopt;
    if (!divide_into_stages() || !rows_are_apart() || !accumulators_are_apart() || !fits_caches() || !find_streamed()) return std::nullopt;
    return RowPipeline{joined(), block_, streamed_};
  }

 private:
  struct Stage {
    Loop loop;    // over the row
    Block after;  // what follows it up to the next
  };

  // Statements between two loops belong to the first of them, but for declarations: all accumulators begin anew in each turn.
  bool divide_into_stages() {
    for (const Statement& s : rows_.body) {
      if (auto* loop = s.as<Loop>()) {
        if (loop->kind != loops::LoopKind::vector || !loops::is_straight_line(loop->body)) return false;
        if (!stages_.empty() && stages_[0].loop.extent != loop->extent) return false;
        stages_.push_back({*loop, {}});
      } else if (auto* declare = s.as<loops::Declare>()) {
        if (!kernel_.is_constant(declare->init)) return false;
        declares_.push_back(s);
      } else if (s.as<loops::Compute>() || s.as<loops::Get>() || (s.as<loops::Load>() && loops::access_of(s)->guards.empty())) {
        (stages_.empty() ? before_ : stages_.back().after).push_back(s);
      } else {
        return false;
      }
    }
    return stages_.size() >= 2 && stages_.size() <= most_stages;
  }

  // Whether stages meet in scratch of the row only, where one reads what the one before wrote, element by element.
  bool rows_are_apart() const {
    std::map<loops::BufferId, std::pair<size_t, const loops::Access*>> written;
    for (size_t k = 0; k < stages_.size(); ++k)
      for (const Statement& s : stages_[k].loop.body)
        if (auto* store = s.as<loops::Store>())
          if (!written.emplace(store->access.buffer, std::pair{k, &store->access}).second) return false;
    auto is_free = [&](const Statement& s) {
      auto* load = s.as<loops::Load>();
      return !load || !written.contains(load->access.buffer);
    };
    if (!std::ranges::all_of(before_, is_free)) return false;
    for (size_t k = 0; k < stages_.size(); ++k) {
      if (!std::ranges::all_of(stages_[k].after, is_free)) return false;
      for (const Statement& s : stages_[k].loop.body) {
        if (is_free(s)) continue;
        const loops::Access& loaded = s.as<loops::Load>()->access;
        auto [by, stored] = written.at(loaded.buffer);
        if (kernel_.buffers[loaded.buffer].role != BufferRole::local || by + 1 != k) return false;
        if (stored->offset != loops::replaced(loaded.offset, stages_[k].loop.index, Affine::of(stages_[by].loop.index))) return false;
        if (loaded.offset.coefficient(rows_.index) != 0) return false;
      }
    }
    return true;
  }

  // Whether each accumulator is the row's, and one stage alone combines into it and reads it: the loops of other stages are at
  // other rows.
  bool accumulators_are_apart() const {
    std::map<loops::AccId, size_t> stage_of;
    for (const Statement& s : declares_) stage_of[s.as<loops::Declare>()->acc] = no_stage;
    for (size_t k = 0; k < stages_.size(); ++k)
      for (const Statement& s : stages_[k].loop.body) {
        auto* a = s.as<loops::Accumulate>();
        if (!a) continue;
        auto it = stage_of.find(a->acc);
        if (it == stage_of.end() || (it->second != no_stage && it->second != k)) return false;
        it->second = k;
      }
    auto reads_only = [&](const Block& block, size_t k) {
      return std::ranges::all_of(block, [&](const Statement& s) {
        auto* get = s.as<loops::Get>();
        auto it = get ? stage_of.find(get->acc) : stage_of.end();
        return !get || (it != stage_of.end() && it->second == k);
      });
    };
    if (std::ranges::any_of(before_, [](const Statement& s) { return s.as<loops::Get>(); })) return false;
    for (size_t k = 0; k < stages_.size(); ++k)
      if (!reads_only(stages_[k].after, k)) return false;
    return true;
  }

  // Rows of all stages are in use at once.
  bool fits_caches() const {
    int64_t bytes = 0;
    for (const Stage& stage : stages_)
      for (const Statement& s : stage.loop.body)
        if (const loops::Access* access = loops::access_of(s)) bytes += stage.loop.extent * byte_width(kernel_.buffers[access->buffer].element);
    return bytes <= machine_.l2_bytes / 2;
  }

  // False where rows would not all begin at whole vectors if the first does.
  bool find_streamed() {
    for (const Stage& stage : stages_)
      for (const Statement& s : stage.loop.body) {
        auto* store = s.as<loops::Store>();
        if (!store || !worth_streaming_[store->access.buffer]) continue;
        const Affine& offset = store->access.offset;
        const int64_t width = byte_width(kernel_.buffers[store->access.buffer].element);
        auto is_whole = [&](int64_t elements) { return elements * width % machine_.vector_bytes == 0; };
        if (!is_whole(offset.base)) return false;
        for (const loops::Term& t : offset.terms)
          if (t.index != stage.loop.index && !is_whole(t.coefficient)) return false;
        streamed_.push_back(store->access.buffer);
      }
    return true;
  }

  // ---- the change ----

  template <class T>
  static uint32_t added(std::vector<T>& table, T entry) {
    table.push_back(std::move(entry));
    return static_cast<uint32_t>(table.size() - 1);
  }

  Loop joined() {
    const int64_t count = rows_.extent / block_;
    const loops::IndexId blocks = added(kernel_.indices, loops::Index{loops::IndexKind::loop, {0, count - 1}, {}, 1, loops::no_id});
    const auto stages = static_cast<int64_t>(stages_.size());
    const loops::IndexId turn = added(kernel_.indices, loops::Index{loops::IndexKind::loop, {0, block_ + stages - 2}, {}, 1, loops::no_id});
    Block head, tail;
    for (size_t k = 0; k < stages_.size(); ++k) {
      loops::IndexId row = row_of_stage(turn, static_cast<int64_t>(k), head);
      Affine at = Affine::of(row) + Affine::of(blocks, block_);
      loops::replace_index(kernel_, stages_[k].loop.body, rows_.index, at);
      loops::replace_index(kernel_, stages_[k].after, rows_.index, at);
      if (k == 0) loops::replace_index(kernel_, before_, rows_.index, at);
    }
    Block whole = carry(head, tail);
    Loop all = joined_loops();

    Block each = std::move(head);
    std::ranges::move(before_, std::back_inserter(each));
    std::ranges::move(declares_, std::back_inserter(each));
    each.push_back({std::move(all)});
    for (Stage& stage : stages_) std::ranges::move(stage.after, std::back_inserter(each));
    std::ranges::move(tail, std::back_inserter(each));
    whole.push_back({Loop{turn, block_ + stages - 1, loops::LoopKind::serial, 0, std::move(each), loops::no_id}});
    return {blocks, count, loops::LoopKind::serial, (rows_.grain + block_ - 1) / block_, std::move(whole), loops::no_id};
  }

  // turn - stage, clamped to the block
  loops::IndexId row_of_stage(loops::IndexId turn, int64_t stage, Block& head) {
    ValueId number = added(kernel_.values, loops::Value{ElementType::s64, false, 0});
    head.push_back({loops::IndexValue{number, Affine::of(turn) + Affine(-stage)}});
    loops::IndexId row = added(kernel_.indices, loops::Index{loops::IndexKind::from_value, {0, block_ - 1}, {}, 1, number});
    head.push_back({loops::Derive{row}});
    return row;
  }

  // Scalars of a row go with it from stage to stage, through an accumulator for each turn on the way. Returns their
  // declarations.
  Block carry(Block& head, Block& tail) {
    std::map<ValueId, size_t> made_in;
    for (size_t k = 0; k < stages_.size(); ++k) {
      for (const Block* block : {&before_, &stages_[k].after}) {
        if (block == &before_ && k > 0) continue;
        for (const Statement& s : *block) made_in[loops::result_of(s)] = k;
      }
    }
    Block declares;
    std::map<ValueId, std::vector<ValueId>> late;  // by value: it one turn later, two turns later, …
    auto later = [&](ValueId v, size_t turns) {
      std::vector<ValueId>& known = late[v];
      while (known.size() < turns) {
        ElementType type = kernel_.type(v);
        ValueId from = known.empty() ? v : known.back(), zero = added(kernel_.values, loops::Value{type, true, 0});
        loops::AccId acc = added(kernel_.accumulators, loops::Accumulator{type});
        ValueId now = added(kernel_.values, loops::Value{type, false, 0});
        declares.push_back({loops::Declare{acc, zero}});
        head.push_back({loops::Get{now, acc}});
        tail.push_back({loops::Set{acc, from}});
        known.push_back(now);
      }
      return known[turns - 1];
    };
    for (size_t k = 0; k < stages_.size(); ++k)
      for (Block* block : {&stages_[k].loop.body, &stages_[k].after}) {
        loops::ValueMap now;
        for (const Statement& s : *block)
          loops::for_each_value(s, [&](ValueId v) {
            auto it = made_in.find(v);
            if (it != made_in.end() && it->second < k) now[v] = later(v, k - it->second);
          });
        loops::replace_values(kernel_, *block, now);
      }
    return declares;
  }

  // What stages load from scratch comes first: it is about to be overwritten.
  Loop joined_loops() {
    Loop all{stages_[0].loop.index, stages_[0].loop.extent, loops::LoopKind::vector, 0, {}, loops::no_id};
    Block rest;
    for (Stage& stage : stages_) {
      loops::replace_index(kernel_, stage.loop.body, stage.loop.index, Affine::of(all.index));
      for (Statement& s : stage.loop.body) {
        auto* load = s.as<loops::Load>();
        bool from_scratch = load && kernel_.buffers[load->access.buffer].role == BufferRole::local;
        (from_scratch ? all.body : rest).push_back(std::move(s));
      }
    }
    std::ranges::move(rest, std::back_inserter(all.body));
    return all;
  }

  Kernel& kernel_;
  const Loop& rows_;
  const Machine& machine_;
  const std::vector<bool>& worth_streaming_;
  int64_t block_;
  std::vector<Stage> stages_;
  Block before_, declares_;  // what precedes the first loop
  std::vector<loops::BufferId> streamed_;
};

}  // namespace

const Loop& RowPipeline::row_loop() const {
  const Loop* found = nullptr;
  loops::for_each_statement(loop.body, [&](const Statement& s) {
    if (auto* inner = s.as<Loop>(); inner && inner->kind == loops::LoopKind::vector) found = inner;
  });
  HLOC_CHECK(found, "a pipeline of rows has a loop over them");
  return *found;
}

std::optional<RowPipeline> pipeline_rows(Kernel& kernel, const Loop& rows, const Machine& machine, const std::vector<loops::BufferId>& in_place,
                                         const std::vector<bool>& worth_streaming) {
  if (!in_place.empty()) return std::nullopt;  // the first turns would overwrite what later ones read
  return Pipeliner(kernel, rows, machine, worth_streaming).run();
}

}  // namespace hloc::cpu
