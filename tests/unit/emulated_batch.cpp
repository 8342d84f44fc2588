#include "tests/unit/emulated_batch.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "backends/cpu/aarch64/aarch64.h"
#include "backends/cpu/aarch64/system_call.h"
#include "backends/cpu/aot/emulated.h"
#include "backends/cpu/machine/element.h"

namespace hloc::test {

namespace {

using namespace hloc::machine;

constexpr aot::Emulator batch_emulator{"qemu-aarch64", "qemu-user"};

// A record of the output: the buffers as the call left them, and its result.
struct Record {
  Buffers buffers;
  uint64_t result, unused[7];
};
static_assert(sizeof(Record) == 320);

Result<std::vector<Record>> run_in_emulator(const std::vector<Function>& functions, const std::vector<std::pair<size_t, uint64_t>>& calls,
                                            const std::vector<Buffers>& inputs) {
  Function entry;
  Builder b(entry, "entry", aarch64::vector_bytes);
  Reg in = b.load(ElementType::s64, {b.param()}), out = b.load(ElementType::s64, {b.param()});
  for (auto [function, n] : calls) {
    VType bytes{ElementType::u8, 16};
    Reg at = b.mov(0);
    b.counted_loop(at, sizeof(Buffers), 16, [&] { b.vstore(bytes, {out, at, 1}, b.vload(bytes, {in, at, 1})); });
    Reg result = b.call(functions[function].name, {out, b.lea({out, 64}), b.lea({out, 128}), b.lea({out, 192}), b.mov(static_cast<int64_t>(n))});
    b.store(ElementType::u64, {out, sizeof(Buffers)}, result);
    b.add(in, sizeof(Buffers), in);
    b.add(out, sizeof(Record), out);
  }
  b.ret(b.mov(0));
  aot::CallSizes sizes{{static_cast<int64_t>(inputs.size() * sizeof(Buffers))}, {static_cast<int64_t>(inputs.size() * sizeof(Record))}, 0};
  aot::Standalone standalone("entry", sizes);
  std::vector<Function> all = functions;
  all.push_back(std::move(entry));
  all.push_back(standalone.start(aarch64::system_calls, aarch64::vector_bytes));
  AssembleOptions options;
  options.data = standalone.data();
  auto code = aarch64::assemble(std::move(all), options);
  if (!code) return code.error();
  define_function(*code, aot::Standalone::system_symbol, aarch64::system_call_code());
  auto program = aot::write_executable(std::move(*code), aot::Standalone::start_symbol, standalone.memory());
  if (!program) return program.error();
  auto executable = aot::make_emulated(sizes, *program, batch_emulator, 0);
  if (!executable) return executable.error();
  std::vector<Record> records(inputs.size());
  const auto* from = reinterpret_cast<const std::byte*>(inputs.data());
  auto* to = reinterpret_cast<std::byte*>(records.data());
  if (auto ok = (*executable)->call({&from, 1}, {&to, 1}, {}); !ok) return ok.error();
  return records;
}

}  // namespace

bool EmulatedBatch::possible() {
  static const bool found = aot::find_emulator(batch_emulator).ok();
  static const bool said = (found || std::puts("skipped: AArch64 code is not run, qemu-aarch64 is missing (Debian: qemu-user)") != 0);
  return found && said;
}

bool same_elements(ElementType t, const std::array<std::byte, 64>& x, const std::array<std::byte, 64>& y, std::string& difference) {
  auto width = static_cast<size_t>(byte_width(t));
  for (size_t at = 0; at < 64; at += width) {
    uint64_t p = 0, q = 0;
    std::memcpy(&p, x.data() + at, width);
    std::memcpy(&q, y.data() + at, width);
    if (p == q) continue;
    if (is_float(t) && std::isnan(element_value(t, p)) && std::isnan(element_value(t, q))) continue;
    difference = fmt::format("lane {}: got {} ({:#x}), want {} ({:#x})", at / width, element_text(t, p), p, element_text(t, q), q);
    return false;
  }
  return true;
}

void EmulatedBatch::function(const Function& f) {
  if (calls_.size() >= most) run();
  functions_.push_back(f);
}

void EmulatedBatch::call(ElementType t, const Buffers& buffers, uint64_t n, const std::array<std::byte, 64>& out, std::optional<uint64_t> result) {
  calls_.push_back({functions_.size() - 1, t, buffers, n, out, result});
}

void EmulatedBatch::run() {
  std::vector<std::string> texts;
  std::vector<std::pair<size_t, uint64_t>> calls;
  std::vector<Buffers> inputs;
  for (size_t n = 0; n < functions_.size(); n++) {
    texts.push_back(print(functions_[n]));
    functions_[n].name = fmt::format("f{}", n);
  }
  for (const Call& c : calls_) calls.push_back({c.function, c.n}), inputs.push_back(c.buffers);
  auto records = run_in_emulator(functions_, calls, inputs);
  std::vector<Call> checked = std::move(calls_);
  functions_.clear(), calls_.clear();
  if (!records) FAIL(records.error().message);
  for (size_t n = 0; n < checked.size(); n++) {
    const Call& c = checked[n];
    INFO("aarch64\n" << texts[c.function]);
    std::string difference;
    if (!same_elements(c.type, (*records)[n].buffers.out, c.out, difference)) FAIL(difference);
    if (c.result) REQUIRE((*records)[n].result == *c.result);
  }
}

}  // namespace hloc::test
