// A code object has a note of owner AMDGPU with a map: "amdhsa.kernels" is a list of maps, one for each kernel (LLVM: User
// Guide for AMDGPU Backend, "Code Object V4 Metadata"; V3 and V5 have the same keys).
#include "backends/hip/code_object.h"

#include <elf.h>
#include <optional>

#include <fmt/format.h>

#include "backends/gpu/elf.h"
#include "backends/hip/message_pack.h"

namespace hloc::hip {
namespace {

constexpr uint32_t note_of_metadata = 32;  // NT_AMDGPU_METADATA

void set(int64_t& to, uint64_t value) { to = static_cast<int64_t>(value); }
void set(std::optional<int64_t>& to, uint64_t value) { to = static_cast<int64_t>(value); }

// Reads a number; false when it is none.
template <class T>
bool take(MessagePack& in, T& to) {
  uint64_t value = 0;
  if (!in.number(value)) return false;
  set(to, value);
  return true;
}

bool read_kernel(MessagePack& in, KernelResources& k) {
  uint32_t pairs = 0;
  if (!in.map(pairs)) return false;
  for (; pairs > 0; --pairs) {
    std::string_view key, name;
    if (!in.text(key)) return false;
    bool ok = true;
    if (key == ".name") ok = in.text(name), k.name = name;
    else if (key == ".vgpr_count") ok = take(in, k.registers);
    else if (key == ".sgpr_count") ok = take(in, k.scalar_registers);
    else if (key == ".agpr_count") ok = take(in, k.accumulation_registers);
    else if (key == ".group_segment_fixed_size") ok = take(in, k.shared_bytes);
    else if (key == ".private_segment_fixed_size") ok = take(in, k.stack_bytes);
    else if (key == ".vgpr_spill_count") ok = take(in, k.spilled_registers);
    else if (key == ".sgpr_spill_count") ok = take(in, k.spilled_scalar_registers);
    else ok = in.skip();
    if (!ok) return false;
  }
  return true;
}

bool read_metadata(std::string_view bytes, std::vector<KernelResources>& out) {
  MessagePack in(bytes);
  uint32_t pairs = 0;
  if (!in.map(pairs)) return false;
  for (; pairs > 0; --pairs) {
    std::string_view key;
    if (!in.text(key)) return false;
    if (key != "amdhsa.kernels") {
      if (!in.skip()) return false;
      continue;
    }
    uint32_t kernels = 0;
    if (!in.array(kernels)) return false;
    for (; kernels > 0; --kernels)
      if (!read_kernel(in, out.emplace_back())) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<KernelResources>> kernel_resources(std::string_view code_object) {
  auto file = gpu::ElfFile::read(code_object, EM_AMDGPU);
  if (!file) return file.error();
  auto notes = file->notes();
  if (!notes) return notes.error();
  std::vector<KernelResources> out;
  for (const gpu::ElfNote& note : *notes) {
    if (note.owner != "AMDGPU" || note.type != note_of_metadata) continue;
    if (!read_metadata(note.content, out)) return gpu::damaged_code("the notes about its kernels can't be read");
    return out;
  }
  return gpu::damaged_code("it has no notes about its kernels");
}

}  // namespace hloc::hip
