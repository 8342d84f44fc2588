#include "backends/cpu/jit.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "backends/host/guarded_call.h"
#include "backends/host/host_step.h"
#include "ir/support/check.h"
#include "ir/support/source.h"

namespace hloc::cpu {
namespace {

using Entry = int(const void* const* in, void* const* out, void* scratch, const hloc_context* context);

// Scratch blocks of finished calls, kept for the next ones: a call allocates only when more calls than before run at once.
class ScratchPool {
 public:
  explicit ScratchPool(size_t bytes) : bytes_((bytes + 63) / 64 * 64) {}
  ~ScratchPool() {
    for (void* p : free_) std::free(p);
  }
  void* take() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        void* p = free_.back();
        free_.pop_back();
        return p;
      }
    }
    void* p = std::aligned_alloc(64, bytes_ == 0 ? 64 : bytes_);
    if (p == nullptr) throw std::bad_alloc();
    return p;
  }
  void give(void* p) {
    std::lock_guard lock(mutex_);
    free_.push_back(p);
  }

 private:
  size_t bytes_;
  std::mutex mutex_;
  std::vector<void*> free_;
};

class JitExecutable final : public backends::Executable {
 public:
  JitExecutable(std::shared_ptr<const plan::Program> plan, DrivenProgram program, machine::CodeMemory code, int64_t code_bytes)
      : plan_(std::move(plan)), host_steps_(std::move(program.host_steps)), code_(std::move(code)), code_bytes_(code_bytes),
        scratch_bytes_(static_cast<size_t>(program.scratch_bytes)), pool_(scratch_bytes_),
        entry_(code_.function<Entry>(program.entry)) {}

  int64_t code_bytes() const override { return code_bytes_; }

  Result<void> call(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                    const CallOptions& options) const override {
    if (options.guard_pages)
      return host::guarded_call(*plan_, inputs, outputs, scratch_bytes_, [&](const std::byte* const* in, std::byte* const* out, std::byte* scratch) {
        return enter(in, out, scratch, options);
      });
    struct Lease {
      ScratchPool& pool;
      void* memory;
      ~Lease() { pool.give(memory); }
    } lease{pool_, pool_.take()};
    return enter(inputs.data(), outputs.data(), lease.memory, options);
  }

 private:
  // What this call's code sees as its context.
  struct CallContext : JitContext {
    const JitExecutable* self = nullptr;
    Executor* executor = nullptr;
    Diagnostic failure;
  };

  static void run_parallel(const hloc_context* context, int64_t count, void (*body)(void*, int64_t), void* state) {
    static_cast<const CallContext*>(reinterpret_cast<const JitContext*>(context))->executor->parallel_for(count, body, state);
  }

  // Nothing may unwind through compiled code: errors are kept and reported by a status.
  static int32_t run_step(JitContext* context, int64_t number, void* const* buffers) {
    auto* c = static_cast<CallContext*>(context);
    try {
      auto ok = host::run_host_step(*c->self->host_steps_[static_cast<size_t>(number)], buffers);
      if (ok) return 0;
      c->failure = ok.error();
    } catch (const BugError& e) {
      c->failure = error(ErrorKind::bug, e.what());
    } catch (const std::exception&) {
      c->failure.kind = ErrorKind::memory;
      c->failure.message = "there is not enough memory";
    }
    return 1;
  }

  Result<void> enter(const std::byte* const* in, std::byte* const* out, void* scratch, const CallOptions& options) const {
    CallContext context;
    bool parallel = options.executor && options.executor->threads() > 1;  // several pieces in one call share what they pack
    context.base = {1, sizeof(JitContext), nullptr, nullptr, parallel ? run_parallel : nullptr};
    context.host_step = run_step;
    context.self = this;
    context.executor = options.executor;
    int status = entry_(reinterpret_cast<const void* const*>(in), reinterpret_cast<void* const*>(out), scratch, &context.base);
    if (status != 0) return std::move(context.failure);
    return {};
  }

  std::shared_ptr<const plan::Program> plan_;
  std::vector<const plan::HostStep*> host_steps_;
  machine::CodeMemory code_;
  int64_t code_bytes_;
  size_t scratch_bytes_;
  mutable ScratchPool pool_;
  Entry* entry_;
};

}  // namespace

Result<std::unique_ptr<backends::Executable>> compile_in_process(const backends::Job& job, const CodeGenerator& cpu) {
  auto assembled = assemble_plan(*job.plan, *job.target, cpu, "hloc_entry");
  if (!assembled) return assembled.error();
  auto memory = machine::load(assembled->code);
  if (!memory) return memory.error();
  auto bytes = static_cast<int64_t>(assembled->code.text.size() + assembled->code.rodata.size());
  return std::unique_ptr<backends::Executable>(
      std::make_unique<JitExecutable>(job.plan, std::move(assembled->program), std::move(*memory), bytes));
}

}  // namespace hloc::cpu
