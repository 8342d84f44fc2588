// The emulator of device source: barriers and guards taken out of generated source one by one, and processes that end before their time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cuda/dialect.h"
#include "backends/gpu/emulator.h"
#include "backends/gpu/source.h"
#include "backends/hip/dialect.h"
#include "include/hloc/hloc.h"
#include "src/program.h"

namespace hloc::test {
namespace {

using namespace gpu;

// A softmax whose rows are reduced in turn, and a product of matrices with ragged edges.
constexpr const char* rows = R"(HloModule rows
sum { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
largest { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] maximum(p, q) }
ENTRY e {
  x = f32[4,200] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  most = f32[4] reduce(x, low), dimensions={1}, to_apply=largest
  wide = f32[4,200] broadcast(most), dimensions={0}
  d = f32[4,200] subtract(x, wide)
  t = f32[4,200] exponential(d)
  total = f32[4] reduce(t, zero), dimensions={1}, to_apply=sum
  wider = f32[4,200] broadcast(total), dimensions={0}
  ROOT y = f32[4,200] divide(t, wider)
})";
constexpr const char* product = R"(HloModule product
ENTRY e {
  x = f32[40,50] parameter(0)
  y = f32[50,70] parameter(1)
  ROOT z = f32[40,70] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";

struct Compiled {
  Module module;
  Lowered lowered;
  GpuProgram program;
};

Compiled compiled(const char* text, const char* target) {
  auto module = read(text, "test");
  REQUIRE(module);
  auto lowered = lower(*module, {.target = target});
  REQUIRE(lowered);
  auto program = gpu_program(lowered->plan);
  REQUIRE(program);
  return {*module, *std::move(lowered), *std::move(program)};
}

// Numbers that differ, and what the executable makes of them.
Result<std::vector<std::byte>> call(const plan::Program& plan, const backends::Executable& executable) {
  std::vector<std::vector<float>> inputs;
  std::vector<const std::byte*> in;
  for (plan::BufferId id : plan.parameters) {
    auto& values = inputs.emplace_back(static_cast<size_t>(plan.buffers[id].bytes()) / sizeof(float));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1009) / 512;
    in.push_back(reinterpret_cast<const std::byte*>(values.data()));
  }
  std::vector<std::byte> result(static_cast<size_t>(plan.buffers[plan.results[0]].bytes()));
  std::byte* out = result.data();
  if (auto ok = executable.call(in, {&out, 1}, {}); !ok) return ok.error();
  return result;
}

Result<std::vector<std::byte>> run_source(const char* text, const char* target, std::string source, const Dialect& dialect) {
  Compiled c = compiled(text, target);
  auto device = make_emulator(std::move(source), emulated_launches(c.program), dialect);
  if (!device) return device.error();
  auto executable = make_executable(std::move(c.program), *std::move(device));
  if (!executable) return executable.error();
  return call(*c.lowered.plan, **executable);
}

// Kernels of a hand-written source; arguments are one array of ints.
std::unique_ptr<Device> device_for(std::string source, const std::vector<std::string>& kernels) {
  std::vector<EmulatedLaunch> launches;
  for (const std::string& k : kernels) launches.push_back({k, 1, 32, true, {{"words", 128, 4, true}}});
  auto device = make_emulator(source_head(source, cuda::dialect) + source, {launches}, cuda::dialect);
  if (!device) FAIL(device.error().message);
  return *std::move(device);
}

TEST_CASE("emulator: a barrier that is taken out is noticed", "[emulator]") {
  constexpr std::string_view barrier = "__syncthreads();", nothing = "/* no barrier*/;";
  static_assert(barrier.size() == nothing.size());
  constexpr std::pair<const char*, const Dialect*> targets[] = {{"cuda:host", &cuda::dialect}, {"hip:host", &hip::dialect}};
  for (const char* text : {rows, product}) {
    for (auto [target, dialect] : targets) {
      std::string source = kernel_source(compiled(text, target).program, *dialect);
      auto right = run_source(text, target, source, *dialect);
      if (!right) FAIL(right.error().render());
      int found = 0;
      for (size_t at = source.find(barrier); at != source.npos; at = source.find(barrier, at + 1)) {
        std::string changed = source;
        changed.replace(at, barrier.size(), nothing);
        INFO(target << ", line " << 1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
        auto got = run_source(text, target, changed, *dialect);
        if (got) {
          CHECK(*got == *right);  // it was there for loops around it that this graph has not
          continue;
        }
        ++found;
        CHECK(got.error().kind == ErrorKind::bug);
        CHECK(got.error().line != 0);
        CHECK_THAT(got.error().message,
                   Catch::Contains("no barrier between them") || Catch::Contains("no thread of the block has written"));
      }
      CHECK(found >= 1);
      if (text == product) CHECK(found == 2);
    }
  }
}

// One condition at ragged edges after the other is made always true, or never.
TEST_CASE("emulator: a guard that is taken out is noticed", "[emulator]") {
  std::string source = kernel_source(compiled(product, "cuda:host").program, cuda::dialect);
  constexpr std::pair<std::string_view, std::string_view> guards[] = {
      {"if (m < 40 && k < 50)", "reads element"},
      {"if (n < 70 && k < 50)", "reads element"},
      {"if (m >= 40 || n >= 70) continue;", "writes element"}};
  for (auto [guard, finding] : guards) {
    size_t at = source.find(guard);
    INFO(source << "\n" << guard);
    REQUIRE(at != source.npos);
    std::string changed = source;
    changed.replace(at, guard.size(), guard.ends_with("continue;") ? "" : "if (true)");
    auto got = run_source(product, "cuda:host", changed, cuda::dialect);
    REQUIRE(!got);
    CHECK(got.error().kind == ErrorKind::bug);
    CHECK(got.error().line != 0);
    CHECK_THAT(got.error().message, Catch::Contains(std::string(finding)));
  }
}

TEST_CASE("emulator: a process that ends is an error, for good", "[emulator]") {
  auto device = device_for(R"(extern "C" int getpid(); extern "C" int kill(int, int);
extern "C" __global__ void good(int* words) { words[threadIdx.x] = 7; }
extern "C" __global__ void bad(int* words) { kill(getpid(), 9); })", {"good", "bad"});
  auto words = device->allocate(128);
  REQUIRE(words);
  CHECK(device->launch(0, 0, {&*words, 1}));
  auto killed = device->launch(0, 1, {&*words, 1});
  REQUIRE(!killed);
  CHECK(killed.error().kind == ErrorKind::bug);
  CHECK(killed.error().message == "bad: the process that runs emulated kernels has ended by signal 9");
  CHECK(!device->launch(0, 0, {&*words, 1}));
  int first = 0;
  CHECK(device->read(reinterpret_cast<std::byte*>(&first), *words, sizeof first));
  CHECK(first == 7);
}

TEST_CASE("emulator: a finding does not end it", "[emulator]") {
  auto device = device_for(R"(
extern "C" __global__ void good(int* words) { __syncthreads(); words[threadIdx.x] = 7; }
extern "C" __global__ void wrong(int* words) { if (threadIdx.x == 5) __syncthreads(); }
extern "C" __global__ void deep(int* words) { volatile char all[1 << 17]; all[0] = 1; words[0] = all[0]; })", {"good", "wrong", "deep"});
  auto words = device->allocate(128);
  REQUIRE(words);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(device->launch(0, 0, {&*words, 1}));
    CHECK(!device->launch(0, 1, {&*words, 1}));
    CHECK(!device->launch(0, 2, {&*words, 1}));
  }
  CHECK(device->launch(0, 0, {&*words, 1}));
}

// A process of its own starts a kernel without end and is killed; the process that runs the kernel must follow.
TEST_CASE("emulator: its process ends with the one that started it", "[emulator]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  pid_t owner = ::fork();
  if (owner == 0) {
    auto device = device_for(R"(extern "C" int getpid();
extern "C" __global__ void number(int* words) { words[threadIdx.x] = getpid(); }
extern "C" __global__ void endless(int* words) { for (volatile int i = 0;; i = i + 1) {} })", {"number", "endless"});
    auto words = device->allocate(128);
    int process = 0;
    bool good = words && device->launch(0, 0, {&*words, 1}) &&
                device->read(reinterpret_cast<std::byte*>(&process), *words, sizeof process) &&
                ::write(ends[1], &process, sizeof process) == sizeof process &&
                device->launch(0, 1, {&*words, 1});
    ::_exit(good);
  }
  int process = 0;
  REQUIRE(::read(ends[0], &process, sizeof process) == sizeof process);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(::kill(process, 0) == 0);
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  bool is_there = true;
  for (int i = 0; i < 500 && is_there; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    is_there = ::kill(process, 0) == 0;
  }
  CHECK(!is_there);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("emulator: several programs at once", "[emulator]") {
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&good, i] {
      auto module = read(i % 2 == 0 ? rows : product, "test");
      auto program = module ? hloc::compile(*module, {.target = i < 2 ? "cuda:host" : "hip:host"}) : Result<Program>(module.error());
      if (!program) return;
      std::vector<std::vector<std::byte>> inputs, outputs;
      for (const Shape& s : program->parameters()) inputs.emplace_back(s.bytes());
      for (const Shape& s : program->results()) outputs.emplace_back(s.bytes());
      std::vector<std::span<const std::byte>> in(inputs.begin(), inputs.end());
      std::vector<std::span<std::byte>> out(outputs.begin(), outputs.end());
      for (int k = 0; k < 5; ++k)
        if (!program->call(in, out)) return;
      ++good;
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(good == 4);
}

}  // namespace
}  // namespace hloc::test
