#include "backends/cpu/machine/assembly.h"

#include "backends/cpu/machine/regalloc.h"

namespace hloc::machine {

void drop_unreachable_blocks(Function& f) {
  std::vector<bool> seen(f.blocks.size());
  std::vector<BlockId> work{0};
  seen[0] = true;
  while (!work.empty()) {
    BlockId b = work.back();
    work.pop_back();
    for (BlockId to : successors(f.blocks[b].insts.back())) {
      if (!seen[to]) seen[to] = true, work.push_back(to);
    }
  }
  std::erase_if(f.order, [&](BlockId b) { return !seen[b]; });
}

uint32_t ConstantPool::add(std::span<const std::byte> constant) {
  std::string key(reinterpret_cast<const char*>(constant.data()), constant.size());
  auto [it, fresh] = offsets_.try_emplace(std::move(key), 0);
  if (fresh) {
    size_t alignment = constant.size();  // a power of two up to 64
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    it->second = static_cast<uint32_t>(bytes_.size());
    bytes_.insert(bytes_.end(), constant.begin(), constant.end());
  }
  return it->second;
}

void define_function(ObjectCode& code, std::string_view name, std::span<const uint32_t> words) {
  code.functions.push_back({std::string(name), code.text.size(), words.size_bytes()});
  auto bytes = std::as_bytes(words);
  code.text.insert(code.text.end(), bytes.begin(), bytes.end());
  auto external = std::find(code.externals.begin(), code.externals.end(), name);
  if (external == code.externals.end()) return;
  auto number = static_cast<uint32_t>(external - code.externals.begin());
  for (Relocation& r : code.relocations) {
    if (r.target != Relocation::Target::external || r.index < number) continue;
    if (r.index > number) r.index--;
    else r.target = Relocation::Target::function, r.index = static_cast<uint32_t>(code.functions.size() - 1);
  }
  code.externals.erase(external);
}

}  // namespace hloc::machine
