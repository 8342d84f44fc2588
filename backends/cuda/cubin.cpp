// The form of a cubin is not published. What is read here was compared with `ptxas -v` for cubins of NVRTC 12.4, 12.9 and
// 13.0 and devices from sm_75 to sm_120:
//
//   .nv.info            attributes of functions by their symbols: registers, bytes of stack
//   .nv.info.KERNEL     attributes of one kernel
//   .nv.shared.KERNEL   no content; its size is the shared memory of a block
//   .text.KERNEL        instructions of 16 bytes
#include "backends/cuda/cubin.h"

#include <elf.h>
#include <map>

#include <fmt/format.h>

#include "backends/gpu/elf.h"

namespace hloc::cuda {
namespace {

// Of attributes: the names that cuobjdump prints.
enum Format : uint8_t { sval = 4 };  // a size of 16 bits and so many bytes; all others: a value in place of the size
enum AttributeCode : uint8_t {
  min_stack_size = 0x12,     // symbol, bytes of a thread with all functions that it calls
  regcount = 0x2f,           // symbol, registers of a thread
  cuda_api_version = 0x37,   // of the compiler: 130 for 13.0
  annotations = 0x55,        // pairs of a kind and an offset in .text.KERNEL; kind 1 is an instruction that spills
};
constexpr uint32_t spill_annotation = 1;
constexpr uint32_t annotates_since = 129;  // 12.4 does not, 12.9 does

// From sm_90 on, the system has the first bytes of a block's shared memory, which the section's size includes.
constexpr uint32_t reserves_shared_since = 90;
constexpr uint64_t reserved_shared_bytes = 1024;

constexpr uint8_t abi_of_13 = 0x41;  // EI_OSABI; 0x33 before

uint32_t architecture(const gpu::ElfFile& file) { return file.abi() == abi_of_13 ? (file.flags() >> 8) & 0xff : file.flags() & 0xff; }

// Calls take(code, content) for each attribute with content.
template <class Take>
Result<void> for_attributes(const gpu::ElfSection& section, Take&& take) {
  for (gpu::ByteReader in(section.content); !in.is_at_end();) {
    uint8_t format = 0, code = 0;
    uint16_t size = 0;
    std::string_view content;
    if (!in.number(format) || !in.number(code) || !in.number(size) || (format == sval && !in.run(size, content)))
      return gpu::damaged_code(fmt::format("an attribute of section {} is not all there", section.name));
    if (format == sval) take(code, content);
  }
  return {};
}

// The attributes of functions, by code and name.
using FunctionAttributes = std::map<std::pair<uint8_t, std::string_view>, uint32_t>;

Result<FunctionAttributes> function_attributes(const gpu::ElfFile& file) {
  FunctionAttributes out;
  const gpu::ElfSection* info = file.find(".nv.info");
  auto names = file.symbol_names();
  if (!names) return names.error();
  if (!info) return out;
  auto ok = for_attributes(*info, [&](uint8_t code, std::string_view content) {
    uint32_t symbol = 0, value = 0;
    gpu::ByteReader in(content);
    if (in.number(symbol) && in.number(value) && symbol < names->size()) out[{code, (*names)[symbol]}] = value;
  });
  if (!ok) return ok.error();
  return out;
}

struct Spills {
  int64_t stored = 0, loaded = 0;  // bytes
};

// Adds the instruction at `offset`, a store to or a load from a thread's own memory (STL, LDL); false when it is neither.
bool add_instruction(std::string_view text, uint32_t offset, Spills& spills) {
  constexpr uint64_t opcode_mask = 0xfff, store_local = 0x387, load_local = 0x983;
  constexpr int64_t bytes_of_width[] = {1, 1, 2, 2, 4, 8, 16, 0};
  uint64_t low = 0, high = 0;
  if (offset > text.size()) return false;
  gpu::ByteReader in(text.substr(offset));
  if (!in.number(low) || !in.number(high)) return false;
  int64_t bytes = bytes_of_width[(high >> 9) & 7];
  if ((low & opcode_mask) == store_local) return spills.stored += bytes, true;
  if ((low & opcode_mask) == load_local) return spills.loaded += bytes, true;
  return false;
}

// False where there is an annotation that is not understood.
bool add_annotated(std::string_view annotated, std::string_view text, Spills& spills) {
  for (gpu::ByteReader in(annotated); !in.is_at_end();) {
    uint32_t kind = 0, offset = 0;
    if (!in.number(kind) || !in.number(offset) || kind != spill_annotation || !add_instruction(text, offset, spills)) return false;
  }
  return true;
}

int64_t shared_bytes(const gpu::ElfFile& file, std::string_view kernel) {
  const gpu::ElfSection* shared = file.find(fmt::format(".nv.shared.{}", kernel));
  uint64_t size = shared ? shared->size : 0;
  if (architecture(file) >= reserves_shared_since && size >= reserved_shared_bytes) size -= reserved_shared_bytes;
  return static_cast<int64_t>(size);
}

}  // namespace

Result<std::vector<KernelResources>> kernel_resources(std::string_view cubin) {
  auto file = gpu::ElfFile::read(cubin, EM_CUDA);
  if (!file) return file.error();
  auto functions = function_attributes(*file);
  if (!functions) return functions.error();
  constexpr std::string_view prefix = ".nv.info.";
  std::vector<KernelResources> out;
  for (const gpu::ElfSection& info : file->sections()) {
    if (!info.name.starts_with(prefix)) continue;
    std::string_view name = info.name.substr(prefix.size());
    auto registers = functions->find({regcount, name}), stack = functions->find({min_stack_size, name});
    const gpu::ElfSection* text = file->find(fmt::format(".text.{}", name));
    if (registers == functions->end() || stack == functions->end() || !text)
      return gpu::damaged_code(fmt::format("it does not say what kernel {} takes", name));
    uint32_t version = 0;
    Spills spills;
    bool are_spills_known = true;
    auto ok = for_attributes(info, [&](uint8_t code, std::string_view content) {
      if (code == cuda_api_version) gpu::ByteReader(content).number(version);
      if (code == annotations) are_spills_known &= add_annotated(content, text->content, spills);
    });
    if (!ok) return ok.error();

    KernelResources k;
    k.name = name;
    k.registers = registers->second;
    k.shared_bytes = shared_bytes(*file, name);
    k.stack_bytes = stack->second;
    are_spills_known &= version >= annotates_since;
    if (k.stack_bytes == 0 || are_spills_known) k.spill_stored_bytes = spills.stored, k.spill_loaded_bytes = spills.loaded;
    out.push_back(std::move(k));
  }
  return out;
}

}  // namespace hloc::cuda
