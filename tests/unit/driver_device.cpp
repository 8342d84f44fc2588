// A program's memory and launches over a driver that only writes down what it is asked for.
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "backends/cuda/driver.h"
#include "backends/gpu/driver_device.h"

namespace hloc {
namespace {

struct Script {
  std::vector<std::string> calls;
  std::string failing;  // the call that fails, and after it `synchronize` where the device is lost
  int status = 0;
  bool is_lost = false;
};

class ScriptedDriver final : public gpu::Driver {
 public:
  explicit ScriptedDriver(Script& script) : script_(script) {}
  std::string device() const override { return "the device"; }
  std::string words(int status) const override { return "status " + std::to_string(status); }
  int enter(int& before) override { return before = 7, 0; }
  void leave(int before) override { CHECK(before == 7); }
  int load(void*& module, const void*) override { return module = this, call("load"); }
  int unload(void*) override { return call("unload"); }
  int find(void*& function, void*, const char* name) override { return function = this, call(std::string("find ") + name); }
  int allocate(std::byte*& memory, size_t bytes) override {
    memory = reinterpret_cast<std::byte*>(next_);
    next_ += 4096;
    return call("allocate " + std::to_string(bytes));
  }
  int free(std::byte*) override { return call("free"); }
  int write(std::byte*, const std::byte*, size_t) override { return call("write"); }
  int read(std::byte*, const std::byte*, size_t) override { return call("read"); }
  int copy(std::byte* to, const std::byte* from, size_t bytes) override {
    return call(fmt::format("copy {} {} {}", reinterpret_cast<uintptr_t>(to), reinterpret_cast<uintptr_t>(from), bytes));
  }
  int launch(void*, unsigned blocks, unsigned threads, void**) override {
    return call(fmt::format("launch {} {}", blocks, threads));
  }
  int synchronize() override { return script_.is_lost ? script_.status : 0; }

 private:
  int call(const std::string& what) {
    script_.calls.push_back(what);
    return what.starts_with(script_.failing) && !script_.failing.empty() ? script_.status : 0;
  }
  Script& script_;
  uintptr_t next_ = 4096;
};

gpu::GpuProgram two_launches() {
  gpu::GpuProgram out;
  gpu::GpuKernel& k = out.kernels.emplace_back();
  for (const char* name : {"first", "second"}) {
    gpu::Launch& l = k.launches.emplace_back();
    l.name = name, l.blocks = 3, l.threads = 64;
  }
  return out;
}

std::byte* at(uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

TEST_CASE("a device's memory goes back to the driver, and its module") {
  Script script;
  {
    auto device = *gpu::make_driver_device(two_launches(), "code", std::make_unique<ScriptedDriver>(script));
    REQUIRE(device->allocate(100));
    REQUIRE(device->allocate(0));
    std::byte* arguments[] = {at(4096)};
    REQUIRE(device->launch(0, 1, arguments));
    REQUIRE(device->write(nullptr, nullptr, 0));
    REQUIRE(device->read(nullptr, nullptr, 0));
  }
  CHECK(script.calls == std::vector<std::string>{"load", "find first", "find second", "allocate 100", "allocate 1", "launch 3 64", "free",
                                                 "free", "unload"});
}

TEST_CASE("a copy that overlaps itself goes by other memory") {
  Script script;
  auto device = *gpu::make_driver_device(two_launches(), "code", std::make_unique<ScriptedDriver>(script));
  script.calls.clear();
  REQUIRE(device->copy(at(100), at(200), 100));
  REQUIRE(device->copy(at(200), at(100), 100));
  REQUIRE(device->copy(at(200), at(200), 100));
  CHECK(script.calls == std::vector<std::string>{"copy 100 200 100", "copy 200 100 100"});
  script.calls.clear();
  REQUIRE(device->copy(at(101), at(200), 100));
  CHECK(script.calls == std::vector<std::string>{"allocate 100", "copy 4096 200 100", "copy 101 4096 100", "free"});
}

TEST_CASE("a fault is told with the launches that it may be of, and stays") {
  Script script;
  auto device = *gpu::make_driver_device(two_launches(), "code", std::make_unique<ScriptedDriver>(script));
  REQUIRE(device->launch(0, 0, {}));
  script.failing = "read", script.status = 700, script.is_lost = true;
  auto one = device->read(nullptr, at(1), 4);
  REQUIRE(!one);
  CHECK(one.error().kind == ErrorKind::bug);
  CHECK(one.error().message == "reading from the device failed on the device: status 700; the kernel that did it is first");
  auto later = device->launch(0, 1, {});
  REQUIRE(!later);
  CHECK(later.error().message == one.error().message);
}

TEST_CASE("of launches that were waited for, none is to blame for a fault") {
  Script script;
  auto device = *gpu::make_driver_device(two_launches(), "code", std::make_unique<ScriptedDriver>(script));
  REQUIRE(device->launch(0, 0, {}));
  REQUIRE(device->read(nullptr, at(1), 4));
  for (int i = 0; i < 2; ++i) REQUIRE(device->launch(0, static_cast<size_t>(i), {}));
  script.failing = "write", script.status = 719;
  auto fault = device->write(at(1), nullptr, 4);
  REQUIRE(!fault);
  CHECK(fault.error().message == "writing to the device failed on the device: status 719; the kernel that did it is one of the last 2, "
                                 "from first to second");
}

TEST_CASE("an error after which the device still works does not stay") {
  Script script;
  auto device = *gpu::make_driver_device(two_launches(), "code", std::make_unique<ScriptedDriver>(script));
  script.failing = "allocate", script.status = 2;
  auto full = device->allocate(1000);
  REQUIRE(!full);
  CHECK(full.error().kind == ErrorKind::memory);
  CHECK(device->launch(0, 0, {}));
}

TEST_CASE("code runs on its generation from its version on, or on one device alone") {
  CHECK(cuda::runs_code("sm_80", "sm_80"));
  CHECK(cuda::runs_code("sm_86", "sm_80"));
  CHECK(!cuda::runs_code("sm_80", "sm_86"));
  CHECK(!cuda::runs_code("sm_90", "sm_80"));
  CHECK(cuda::runs_code("sm_90", "sm_90a"));
  CHECK(!cuda::runs_code("sm_103", "sm_100a"));
  CHECK(cuda::runs_code("sm_103", "sm_100"));
  CHECK(cuda::runs_code("sm_121", "sm_120"));
}

}  // namespace
}  // namespace hloc
