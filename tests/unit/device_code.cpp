// What is read from device code: hand-made files with known numbers; kernels that the makers' compilers made, where those are
// installed; and bytes that are damaged in every way, which must give an error or numbers and nothing else.
#include <catch2/catch.hpp>

#include <elf.h>

#include <cstring>
#include <random>

#include "backends/cuda/cubin.h"
#include "backends/cuda/nvrtc.h"
#include "backends/hip/code_object.h"
#include "backends/hip/comgr.h"
#include "backends/hip/message_pack.h"

namespace hloc::test {
namespace {

template <class... Numbers>
std::string words(Numbers... numbers) {
  std::string out;
  for (uint32_t n : {static_cast<uint32_t>(numbers)...}) out.append(reinterpret_cast<const char*>(&n), sizeof n);
  return out;
}

struct TestSection {
  std::string name;
  uint32_t type;
  std::string content;
  uint64_t size = 0;  // of sections without content
  uint32_t link = 0;
};

// An ELF file of these sections after an empty one and before the one of their names.
std::string elf_file(uint16_t machine, uint8_t abi, uint32_t flags, std::vector<TestSection> sections) {
  sections.insert(sections.begin(), {"", SHT_NULL, ""});
  sections.push_back({".shstrtab", SHT_STRTAB, ""});
  std::string names;
  std::vector<Elf64_Shdr> headers(sections.size());
  for (size_t i = 0; i < sections.size(); ++i) {
    headers[i].sh_name = static_cast<uint32_t>(names.size());
    names += sections[i].name + '\0';
  }
  sections.back().content = names;
  Elf64_Ehdr header{};
  std::string out(sizeof header, '\0');
  for (size_t i = 0; i < sections.size(); ++i) {
    headers[i].sh_type = sections[i].type;
    headers[i].sh_link = sections[i].link;
    headers[i].sh_offset = out.size();
    headers[i].sh_size = sections[i].size + sections[i].content.size();
    out += sections[i].content;
  }
  const unsigned char ident[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, abi};
  std::memcpy(header.e_ident, ident, sizeof ident);
  header.e_machine = machine, header.e_flags = flags, header.e_shoff = out.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections.size()), header.e_shstrndx = static_cast<uint16_t>(sections.size() - 1);
  std::memcpy(out.data(), &header, sizeof header);
  for (const Elf64_Shdr& h : headers) out.append(reinterpret_cast<const char*>(&h), sizeof h);
  return out;
}

// An attribute with content.
std::string attribute(uint8_t code, const std::string& content) {
  std::string out{4, static_cast<char>(code), static_cast<char>(content.size() & 0xff), static_cast<char>(content.size() >> 8)};
  return out + content;
}

// A cubin of one kernel "k" with 40 registers and 96 bytes of stack, 500 bytes of shared memory in its section's size; its
// instructions store 4 bytes and 16, and load 8, of which the last two are marked as spills.
std::string cubin_of_one(uint8_t abi, uint32_t flags, uint32_t version, uint64_t shared, uint32_t kind = 1) {
  auto instruction = [](uint32_t opcode, uint32_t width) { return words(opcode, 0, width << 9, 0); };
  Elf64_Sym symbols[2]{};
  symbols[1].st_name = 1;
  return elf_file(EM_CUDA, abi, flags,
                  {{".strtab", SHT_STRTAB, std::string("\0k\0", 3)},
                   {".symtab", SHT_SYMTAB, std::string(reinterpret_cast<const char*>(symbols), sizeof symbols), 0, 1},
                   {".nv.info", SHT_LOPROC, attribute(0x2f, words(1, 40)) + attribute(0x11, words(1, 96)) + attribute(0x12, words(1, 96))},
                   {".nv.info.k", SHT_LOPROC, attribute(0x37, words(version)) + words(0x00401903) +
                                                  attribute(0x55, words(kind, 16, 1, 32))},
                   {".text.k", SHT_PROGBITS, instruction(0x387, 4) + instruction(0x387, 6) + instruction(0x983, 5)},
                   {".nv.shared.k", SHT_NOBITS, "", shared}});
}

constexpr uint8_t abi_12 = 0x33, abi_13 = 0x41;

// Both kinds of memory, and so much at once that registers are spilled.
constexpr const char* kernels_text = R"(
GLOBAL void tables(const float* a, float* o, int n) {
  float r[40];
  SHARED float s[100];
  for (int i = 0; i < 40; ++i) r[i] = a[i];
  for (int i = 0; i < n; ++i) r[(i * i) % 40] += a[i];
  s[THREAD] = r[n];
  BARRIER;
  for (int i = 0; i < 40; ++i) o[i] = r[i] + s[i];
}
GLOBAL void BOUNDS crowded(const float* a, float* o, int n) {
  float r[160];
#pragma unroll
  for (int i = 0; i < 160; ++i) r[i] = a[i * n + THREAD];
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < 160; ++i) r[i] = r[i] * r[(i * 7 + 3) % 160] + a[k];
  }
#pragma unroll
  for (int i = 0; i < 160; ++i) o[i * n + THREAD] = r[i];
}
)";
const std::string cuda_words = R"(
#define GLOBAL extern "C" __global__
#define SHARED __shared__
#define THREAD threadIdx.x
#define BARRIER __syncthreads()
#define BOUNDS __launch_bounds__(1024)
)";
const std::string hip_words = R"(
#define GLOBAL extern "C" __attribute__((global))
#define SHARED __attribute__((shared))
#define THREAD __builtin_amdgcn_workitem_id_x()
#define BARRIER __builtin_amdgcn_s_barrier()
#define BOUNDS __attribute__((amdgpu_flat_work_group_size(1, 1024), amdgpu_num_vgpr(32)))
)";

const KernelResources& named(const std::vector<KernelResources>& kernels, std::string_view name) {
  for (const KernelResources& k : kernels)
    if (k.name == name) return k;
  FAIL("no kernel " << name);
  return kernels.front();
}

// Cuts and changes: `read` must come back each time. The bytes lie at the end of a block of their size, so that sanitizers see
// any read past them.
template <class Read>
void damage(const std::string& code, Read&& read) {
  std::mt19937_64 random(7);
  auto check = [&](const std::string& bytes) {
    std::vector<char> exact(bytes.begin(), bytes.end());
    exact.shrink_to_fit();
    if (auto kernels = read(std::string_view(exact.data(), exact.size())); !kernels) REQUIRE(kernels.error().kind == ErrorKind::input);
  };
  for (size_t size = 0; size < code.size(); size += size < 1024 ? 1 : 97) check(code.substr(0, size));
  for (int i = 0; i < 6000; ++i) {
    std::string changed = code;
    for (uint64_t n = 1 + random() % 4; n > 0; --n) {
      // Half of the changes in what says where things are: the header, and section headers at the end.
      size_t size = changed.size(), at = random() % size;
      if (random() % 4 == 0) at = random() % 64;
      else if (random() % 3 == 0) at = size - 1 - random() % std::min<size_t>(size, 2048);
      static constexpr unsigned char extremes[] = {0, 1, 0x7f, 0x80, 0xff, 0xdf, 0xdd, 0xdb};
      changed[at] = static_cast<char>(random() % 2 ? extremes[random() % 8] : random());
    }
    if (random() % 8 == 0) changed.resize(random() % changed.size());
    check(changed);
  }
}

}  // namespace

TEST_CASE("a cubin says what its kernels take") {
  auto kernels = cuda::kernel_resources(cubin_of_one(abi_13, 0x06005004, 130, 500));
  REQUIRE(kernels);
  REQUIRE(kernels->size() == 1);
  const KernelResources& k = kernels->front();
  CHECK(k.name == "k");
  CHECK(k.registers == 40);
  CHECK(k.stack_bytes == 96);
  CHECK(k.shared_bytes == 500);
  CHECK(k.spill_stored_bytes == 16);
  CHECK(k.spill_loaded_bytes == 8);
  CHECK(k.spills());
  CHECK(!k.scalar_registers);
}

TEST_CASE("the system's part of shared memory is not the kernel's") {
  for (auto [abi, flags] : {std::pair<uint8_t, uint32_t>{abi_13, 0x06005a04}, {abi_12, 0x005a0d5a}}) {
    auto kernels = cuda::kernel_resources(cubin_of_one(abi, flags, 129, 1424));
    REQUIRE(kernels);
    CHECK(kernels->front().shared_bytes == 400);
  }
  auto older = cuda::kernel_resources(cubin_of_one(abi_12, 0x004b054b, 129, 1424));
  REQUIRE(older);
  CHECK(older->front().shared_bytes == 1424);
}

TEST_CASE("spills are not known where a cubin does not say") {
  for (const std::string& cubin : {cubin_of_one(abi_12, 0x00500550, 124, 0), cubin_of_one(abi_13, 0x06005004, 130, 0, 2)}) {
    auto kernels = cuda::kernel_resources(cubin);
    REQUIRE(kernels);
    CHECK(!kernels->front().spill_stored_bytes);
    CHECK(!kernels->front().spills());
  }
}

TEST_CASE("files that are no device code are refused") {
  std::string cubin = cubin_of_one(abi_13, 0x06005004, 130, 0);
  auto error_of = [](const Result<std::vector<KernelResources>>& r) { return r ? "none" : r.error().message; };
  CHECK_THAT(error_of(cuda::kernel_resources("")), Catch::Contains("no ELF file"));
  CHECK_THAT(error_of(hip::kernel_resources(cubin)), Catch::Contains("it is for machine 190, not 224"));
  CHECK_THAT(error_of(hip::kernel_resources(elf_file(EM_AMDGPU, 0, 0, {}))), Catch::Contains("no notes"));
  std::string silent = elf_file(EM_CUDA, abi_13, 0, {{".nv.info.k", SHT_LOPROC, ""}});
  CHECK_THAT(error_of(cuda::kernel_resources(silent)), Catch::Contains("does not say what kernel k"));
  std::string note = words(7, 4, 32) + std::string("AMDGPU\0\0", 8) + "\xdf\xff\xff\xff";
  CHECK_THAT(error_of(hip::kernel_resources(elf_file(EM_AMDGPU, 0, 0, {{".note", SHT_NOTE, note}}))), Catch::Contains("can't be read"));
  damage(cubin, cuda::kernel_resources);
}

TEST_CASE("MessagePack values are passed over whole") {
  using namespace std::string_literals;
  // {"a": [1, -1, nil, 300, "b", {7: bytes}], "c": 70000}
  std::string bytes = "\x82\xa1"s + "a" + "\x96\x01\xff\xc0\xcd\x01\x2c\xa1"s + "b" + "\x81\x07\xc4\x02xy\xa1"s + "c" +
                      "\xce\x00\x01\x11\x70"s;
  hip::MessagePack in(bytes);
  uint32_t pairs = 0;
  std::string_view key;
  uint64_t number = 0;
  REQUIRE((in.map(pairs) && pairs == 2 && in.text(key) && key == "a" && in.skip() && in.text(key) && key == "c" && in.number(number)));
  CHECK(number == 70000);
  CHECK(!in.number(number));
  for (size_t size = 0; size < bytes.size(); ++size) CHECK(!hip::MessagePack(std::string_view(bytes).substr(0, size)).skip());
  // Four thousand million values, and arrays inside arrays without end.
  CHECK(!hip::MessagePack("\xdd\xff\xff\xff\xff\x01").skip());
  CHECK(!hip::MessagePack(std::string(1000000, '\x91')).skip());
}

TEST_CASE("cubins of NVRTC") {
  for (const char* architecture : {"sm_75", "sm_80", "sm_90a", "sm_120"}) {
    auto code = cuda::compile_source(cuda_words + kernels_text, architecture);
    if (!code && code.error().kind == ErrorKind::target) {
      WARN("skipped: " << code.error().message);
      return;
    }
    REQUIRE(code);
    auto kernels = cuda::kernel_resources(code->cubin);
    REQUIRE(kernels);
    REQUIRE(kernels->size() == 2);
    const KernelResources &tables = named(*kernels, "tables"), &crowded = named(*kernels, "crowded");
    INFO(architecture);
    CHECK(tables.shared_bytes == 400);
    CHECK(tables.stack_bytes == 160);
    CHECK(tables.registers >= 16);
    CHECK(!tables.spills());
    CHECK(crowded.shared_bytes == 0);
    CHECK(crowded.registers == 64);
    CHECK(crowded.stack_bytes > 0);
    CHECK(crowded.spills());
    damage(code->cubin, cuda::kernel_resources);
  }
}

TEST_CASE("code objects of comgr") {
  for (const char* processor : {"gfx906", "gfx90a", "gfx1030"}) {
    auto code = hip::compile_source(hip_words + kernels_text, processor);
    if (!code && code.error().kind == ErrorKind::target) {
      WARN("skipped: " << code.error().message);
      return;
    }
    if (!code) FAIL(code.error().message);
    auto kernels = hip::kernel_resources(*code);
    REQUIRE(kernels);
    REQUIRE(kernels->size() == 2);
    const KernelResources &tables = named(*kernels, "tables"), &crowded = named(*kernels, "crowded");
    INFO(processor);
    CHECK(tables.shared_bytes == 400);
    CHECK(tables.stack_bytes >= 160);
    CHECK(tables.registers > 0);
    CHECK(tables.scalar_registers.value_or(0) > 0);
    CHECK(tables.accumulation_registers.has_value() == (std::string_view(processor) == "gfx90a"));
    CHECK(!tables.spills());
    CHECK(crowded.shared_bytes == 0);
    CHECK(crowded.registers <= 64);
    CHECK(crowded.spilled_registers.value_or(0) > 0);
    CHECK(crowded.stack_bytes > 0);
    damage(*code, hip::kernel_resources);
  }
}

}  // namespace hloc::test
