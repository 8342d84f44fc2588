// What the emitters of all CPUs share: constants, symbols, blocks that nothing reaches, moves that happen at once.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/cpu/machine/inst.h"
#include "backends/cpu/machine/object.h"

namespace hloc::machine {

struct AssembleOptions {
  std::vector<NamedData> data;        // what AddressOf may name besides functions
  std::vector<std::string> exported;  // functions that are visible from outside
  bool listing = false;               // fill ObjectCode::listing
};

// Takes out blocks that nothing reaches.
void drop_unreachable_blocks(Function& f);

// Constants that code loads, by bits: what is there already is shared.
class ConstantPool {
 public:
  explicit ConstantPool(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  uint32_t add(std::span<const std::byte> constant);

 private:
  std::vector<std::byte>& bytes_;
  std::unordered_map<std::string, uint32_t> offsets_;
};

// Names to functions and data of this object; what is neither is external.
class SymbolTable {
 public:
  SymbolTable(std::span<const Function> functions, const std::vector<NamedData>& data) {
    for (uint32_t n = 0; n < functions.size(); n++) table_.emplace(functions[n].name, std::pair{Relocation::Target::function, n});
    for (uint32_t n = 0; n < data.size(); n++) table_.emplace(data[n].name, std::pair{Relocation::Target::data, n});
  }
  // Fills in target and index; `name` is what the relocation refers to.
  void resolve(Relocation& r, const std::string& name, ObjectCode& out) {
    auto [it, fresh] = table_.try_emplace(name, Relocation::Target::external, static_cast<uint32_t>(out.externals.size()));
    if (fresh) out.externals.push_back(name);
    std::tie(r.target, r.index) = it->second;
  }

 private:
  std::unordered_map<std::string, std::pair<Relocation::Target, uint32_t>> table_;
};

// Adds a function that is there as code; what refers to it by its name as something external does so no more.
void define_function(ObjectCode& code, std::string_view name, std::span<const uint32_t> words);

using Move = std::pair<uint8_t, uint8_t>;  // to, from

// All at once, of general registers: first what nobody reads any more, then cycles by exchange.
template <class Copy, class Exchange>
void parallel_moves(std::vector<Move> moves, Copy copy, Exchange exchange) {
  std::erase_if(moves, [](const Move& m) { return m.first == m.second; });
  while (!moves.empty()) {
    auto free = std::find_if(moves.begin(), moves.end(), [&](const Move& m) {
      return std::none_of(moves.begin(), moves.end(), [&](const Move& other) { return other.second == m.first; });
    });
    if (free != moves.end()) {
      copy(free->first, free->second);
      moves.erase(free);
      continue;
    }
    Move m = moves.back();
    moves.pop_back();
    exchange(m.first, m.second);
    for (Move& other : moves) {
      if (other.second == m.first) other.second = m.second;
      else if (other.second == m.second) other.second = m.first;
    }
    std::erase_if(moves, [](const Move& left) { return left.first == left.second; });
  }
}

}  // namespace hloc::machine
