#include "backends/cpu/aot/standalone.h"

#include <algorithm>
#include <span>

namespace hloc::aot {

using machine::Builder;
using machine::Cond;
using machine::Reg;

Standalone::Standalone(std::string entry, const CallSizes& sizes) : entry_(std::move(entry)) {
  auto buffers = [&](const std::vector<int64_t>& all, std::vector<uint64_t>& addresses, std::vector<uint64_t>& pairs) {
    for (int64_t bytes : all) {
      addresses.push_back(region(bytes, 1));
      pairs.push_back(addresses.back());
      pairs.push_back(static_cast<uint64_t>(bytes));
    }
  };
  buffers(sizes.inputs, in_, to_read_);
  buffers(sizes.outputs, out_, to_write_);
  scratch_ = region(sizes.scratch, 64);
}

uint64_t Standalone::region(int64_t bytes, uint64_t alignment) {
  auto size = (static_cast<uint64_t>(bytes) + alignment - 1) / alignment * alignment;
  uint64_t guard = memory_end_ + (size + page - 1) / page * page;
  guards_.push_back(guard);
  memory_end_ = guard + page;
  return guard - size;
}

std::vector<machine::NamedData> Standalone::data() const {
  auto view = [](const char* name, const std::vector<uint64_t>& words) {
    return machine::NamedData{name, 8, std::as_bytes(std::span(words))};
  };
  return {view("hloc_in", in_), view("hloc_out", out_), view("hloc_to_read", to_read_), view("hloc_to_write", to_write_),
          view("hloc_guards", guards_)};
}

namespace {

// Emits the start function.
class StartBuilder {
 public:
  StartBuilder(machine::Function& f, const SystemCalls& calls, int vector_bytes)
      : b_(f, Standalone::start_symbol, vector_bytes), calls_(calls) {}

  Builder& builder() { return b_; }

  void exit_with(Reg status) { system(calls_.exit, {status}); }

  // All of `count` buffers from or to a file.
  void transfer(int64_t number, int64_t file, const char* table, size_t count, machine::BlockId failed) {
    Reg at = b_.address_of(table), turn = b_.mov(0);
    b_.counted_loop(turn, static_cast<int64_t>(count), 1, [&] {
      Reg place = b_.load(ElementType::s64, {at}), left = b_.load(ElementType::s64, {at, 8});
      machine::BlockId more = b_.block("more"), moved = b_.block("moved"), done = b_.block("all");
      b_.branch(Cond::ne, left, 0, more, done);
      b_.start(more);
      Reg n = system(number, {b_.mov(file), place, left});
      b_.branch(Cond::le, n, 0, failed, moved);
      b_.start(moved);
      b_.add(place, n, place);
      b_.sub(left, n, left);
      b_.branch(Cond::ne, left, 0, more, done);
      b_.start(done);
      b_.add(at, 16, at);
    });
  }

  void protect(size_t count, int64_t page) {
    Reg at = b_.address_of("hloc_guards");
    b_.counted_loop(b_.mov(0), static_cast<int64_t>(count), 1, [&] {
      system(calls_.protect, {b_.load(ElementType::s64, {at}), b_.mov(page), b_.mov(0)});
      b_.add(at, 8, at);
    });
  }

 private:
  Reg system(int64_t number, std::initializer_list<Reg> arguments) {
    Reg unused = b_.mov(0), a[5] = {unused, unused, unused, unused, unused};
    std::copy(arguments.begin(), arguments.end(), a);
    return b_.call(Standalone::system_symbol, {b_.mov(number), a[0], a[1], a[2], a[3], a[4]});
  }

  Builder b_;
  const SystemCalls& calls_;
};

}  // namespace

machine::Function Standalone::start(const SystemCalls& calls, int vector_bytes) const {
  machine::Function f;
  StartBuilder s(f, calls, vector_bytes);
  Builder& b = s.builder();
  machine::BlockId failed = b.block("failed"), finish = b.block("finish"), write = b.block("write");
  Reg status = b.mov(3);  // what a short file ends with
  s.transfer(calls.read, 0, "hloc_to_read", in_.size(), failed);
  s.protect(guards_.size(), page);
  Reg result = b.call(entry_, {b.address_of("hloc_in"), b.address_of("hloc_out"), b.mov(static_cast<int64_t>(scratch_)), b.mov(0)});
  b.extend(ElementType::s32, result, status);
  b.branch(Cond::eq, status, 0, write, finish);
  b.start(write);
  b.mov(3, status);
  s.transfer(calls.write, 1, "hloc_to_write", out_.size(), failed);
  b.mov(0, status);
  b.jump(finish);
  b.start(failed);
  b.jump(finish);
  b.start(finish);
  s.exit_with(status);
  b.ret();
  return f;
}

}  // namespace hloc::aot
