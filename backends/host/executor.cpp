// The thread pool behind make_thread_pool: one parallel loop at a time; pieces are handed out by an atomic counter (which
// thread runs a piece never changes a result). Who waits looks for a moment before it sleeps on a condition variable: waking
// up costs some ten microseconds, and programs run loop after loop.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "include/hloc/program.h"

namespace hloc {
namespace {

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(unsigned threads) : threads_(threads) {
    for (unsigned i = 1; i < threads_; ++i) workers_.emplace_back([this] { work(); });
  }

  ~ThreadPool() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : workers_) t.join();
  }

  unsigned threads() const override { return threads_; }

  void parallel_for(int64_t count, void (*body)(void*, int64_t), void* state) override {
    if (threads_ == 1 || count <= 1) {
      for (int64_t i = 0; i < count; ++i) body(state, i);
      return;
    }
    std::lock_guard one_loop(loop_mutex_);  // calls from several threads take turns
    auto job = std::make_shared<Job>(count, body, state);
    {
      std::lock_guard lock(mutex_);
      job_ = job;
      ++generation_;
    }
    wake_.notify_all();
    job->run();
    watch([&] { return job->finished.load() == count; });
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return job->finished.load() == count; });
    job_.reset();
  }

 private:
  struct Job {
    Job(int64_t n, void (*b)(void*, int64_t), void* s) : count(n), body(b), state(s) {}
    int64_t count;
    void (*body)(void*, int64_t);
    void* state;
    std::atomic<int64_t> next{0}, finished{0};

    // True when this call finished the last piece.
    bool run() {
      bool last = false;
      for (int64_t i; (i = next.fetch_add(1)) < count;) {
        body(state, i);
        last = finished.fetch_add(1) + 1 == count;
      }
      return last;
    }
  };

  // Until `ready`, but not for long; other threads that want the core get it.
  template <class Ready>
  void watch(Ready ready) const {
    if (!has_core_each_) return;
    constexpr std::chrono::microseconds patience(100);
    auto end = std::chrono::steady_clock::now() + patience;
    while (!ready() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }

  void work() {
    uint64_t seen = 0;
    for (;;) {
      std::shared_ptr<Job> job;
      watch([&] { return stopping_.load() || generation_.load() != seen; });
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
        if (stopping_) return;
        seen = generation_;
        job = job_;
      }
      if (job && job->run()) {
        std::lock_guard lock(mutex_);
        done_.notify_all();
      }
    }
  }

  unsigned threads_;
  bool has_core_each_ = threads_ <= std::thread::hardware_concurrency();
  std::vector<std::thread> workers_;
  std::mutex loop_mutex_, mutex_;
  std::condition_variable wake_, done_;
  std::shared_ptr<Job> job_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace

std::unique_ptr<Executor> make_thread_pool(unsigned threads) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  return std::make_unique<ThreadPool>(threads);
}

}  // namespace hloc
