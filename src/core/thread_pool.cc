#include "core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/platform.h"

namespace etrt {
namespace {

constexpr size_t kMaxThreads = 1024;
constexpr size_t kPiecesPerThread = 4;  // so that a thread that is held up doesn't hold up all
// Longer than the time between two operators of a model, short enough not to matter to anyone else.
constexpr std::chrono::microseconds kSpin{30};

// Is this thread running a piece? Then what it asks for runs inline.
thread_local bool t_in_piece = false;

// Waits until `ready()` or until the spinning time is up; returns ready().
template <class Ready>
bool spin_until(Ready ready) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) {
        return true;
      }
      platform::spin_pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

// Where a thread sleeps. Whoever lies down looks for work once more before sleep(), so no wake is lost.
class Sleeper {
 public:
  void lie_down() { asleep_.store(true); }
  void get_up() { asleep_.store(false); }
  void sleep() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return !asleep_.load(); });
  }
  void wake() {
    if (asleep_.load()) {
      {
        const std::lock_guard lock(mutex_);
        asleep_.store(false);
      }
      wake_.notify_one();
    }
  }

 private:
  std::atomic<bool> asleep_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

// One job at a time. A thread that took a piece keeps the job alive until it has counted the piece as
// finished, and touches the job in between only; so the job's fields need no lock and the pool's memory
// is never given back.
class Pool {
 public:
  // Takes the pool for the caller; false when another thread has it.
  bool try_take() { return !taken_.exchange(true, std::memory_order_acquire); }
  void give_back() { taken_.store(false, std::memory_order_release); }

  void run(int64_t count, uint32_t pieces, size_t helpers, FunctionRef<void(int64_t, int64_t)> body);

 private:
  struct Job {
    const FunctionRef<void(int64_t, int64_t)>* body = nullptr;
    int64_t count = 0;
    uint32_t pieces = 0;
    ErrorLines* lines = nullptr;
  };

  // Starts threads up to `wanted`; returns how many there are.
  size_t start_helpers(size_t wanted);
  // Takes and runs one piece; false when none is left.
  bool run_piece();
  bool work_for(size_t index) const { return left_.load() != 0 && index < helpers_wanted_.load(); }

  std::atomic<bool> taken_{false};
  Job job_;
  std::atomic<uint32_t> left_{0};        // pieces nobody has taken yet
  std::atomic<uint32_t> unfinished_{0};  // pieces not done yet
  std::atomic<size_t> helpers_wanted_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr exception_;  // of the piece that set failed_
  Sleeper caller_;
  std::vector<std::unique_ptr<Sleeper>> helpers_;  // changed by the thread that has the pool only
};

size_t Pool::start_helpers(size_t wanted) {
  if (helpers_.size() >= wanted) {
    return wanted;
  }
  const platform::SignalsBlocked blocked;
  helpers_.reserve(wanted);
  while (helpers_.size() < wanted) {
    const size_t index = helpers_.size();
    helpers_.push_back(std::make_unique<Sleeper>());
    try {
      std::thread([this, index, self = helpers_.back().get()] {
        platform::name_this_thread("etrt-worker");
        t_in_piece = true;
        for (;;) {
          if (spin_until([&] { return work_for(index); })) {
            while (work_for(index) && run_piece()) {
            }
            continue;
          }
          self->lie_down();
          if (work_for(index)) {
            self->get_up();
          } else {
            self->sleep();
          }
        }
      }).detach();
    } catch (const std::exception&) {  // no more threads to be had: the work gets done by fewer
      helpers_.pop_back();
      break;
    }
  }
  log_line(LogLevel::Debug, "thread pool: {} threads started, {} with the caller", helpers_.size(),
           helpers_.size() + 1);
  return helpers_.size();
}

bool Pool::run_piece() {
  uint32_t left = left_.load(std::memory_order_relaxed);
  do {
    if (left == 0) {
      return false;
    }
  } while (!left_.compare_exchange_weak(left, left - 1));
  const auto index = static_cast<int64_t>(job_.pieces - left);
  const int64_t size = job_.count / job_.pieces;
  const int64_t larger = job_.count % job_.pieces;  // the first ones are one longer
  const int64_t begin = index * size + std::min(index, larger);
  const int64_t end = begin + size + (index < larger ? 1 : 0);
  if (!failed_.load(std::memory_order_relaxed)) {
    const ErrorLinesOnThisThread lines(job_.lines);
    try {
      (*job_.body)(begin, end);
    } catch (...) {
      if (!failed_.exchange(true)) {
        exception_ = std::current_exception();
      }
    }
  }
  if (unfinished_.fetch_sub(1) == 1) {
    caller_.wake();
  }
  return true;
}

void Pool::run(int64_t count, uint32_t pieces, size_t helpers, FunctionRef<void(int64_t, int64_t)> body) {
  helpers = start_helpers(helpers);
  job_ = {&body, count, pieces, current_error_lines()};
  failed_.store(false, std::memory_order_relaxed);
  unfinished_.store(pieces, std::memory_order_relaxed);
  helpers_wanted_.store(helpers);
  left_.store(pieces);
  for (size_t i = 0; i < helpers; ++i) {
    helpers_[i]->wake();
  }
  t_in_piece = true;
  while (run_piece()) {
  }
  t_in_piece = false;
  const auto finished = [this] { return unfinished_.load() == 0; };
  while (!spin_until(finished)) {
    caller_.lie_down();
    if (finished()) {
      caller_.get_up();
    } else {
      caller_.sleep();
    }
  }
  if (failed_.load()) {
    std::rethrow_exception(std::exchange(exception_, nullptr));
  }
}

// Never destroyed: its threads outlive main. A forked child has none of them and makes itself a new one.
std::atomic<Pool*> g_pool{nullptr};
std::atomic<Pool*> g_parents_pool{nullptr};  // keeps it reachable for leak checkers

Pool& pool() {
  Pool* existing = g_pool.load(std::memory_order_acquire);
  if (existing != nullptr) {
    return *existing;
  }
  static const bool registered = [] {
    platform::at_fork_in_child([] { g_parents_pool.store(g_pool.exchange(nullptr)); });
    return true;
  }();
  static_cast<void>(registered);
  auto fresh = std::make_unique<Pool>();
  if (g_pool.compare_exchange_strong(existing, fresh.get())) {
    return *fresh.release();
  }
  return *existing;
}

// 0: not asked for yet.
std::atomic<size_t> g_thread_count{0};

// What ETRT_NUM_THREADS asks for; nothing when it isn't set, 0 when it is no number of threads.
std::optional<size_t> threads_from_environment(const char* text) {
  if (text == nullptr || *text == '\0') {
    return std::nullopt;
  }
  const std::string_view digits(text);
  size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() && number <= kMaxThreads ? number : 0;
}

void first_thread_count() {
  const char* text = std::getenv("ETRT_NUM_THREADS");
  const std::optional<size_t> asked = threads_from_environment(text);
  const bool wrong = asked.has_value() && *asked == 0;
  const size_t cores = std::min(platform::usable_cores(), kMaxThreads);
  size_t unset = 0;
  // Whoever set a count meanwhile wins.
  if (!g_thread_count.compare_exchange_strong(unset, asked.has_value() && !wrong ? *asked : cores)) {
    return;
  }
  if (wrong) {
    log_line(LogLevel::Error,
             "ETRT_NUM_THREADS is \"{}\", expected a number from 1 to {}; {} is used, the cores this process may use",
             text, kMaxThreads, cores);
  }
}

}  // namespace

void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) {
    return;
  }
  const int64_t most = count / std::max<int64_t>(grain, 1);
  if (most <= 1 || t_in_piece) {
    body(0, count);
    return;
  }
  const size_t threads = thread_count();
  if (threads == 1) {
    body(0, count);
    return;
  }
  Pool& shared = pool();
  if (!shared.try_take()) {
    body(0, count);
    return;
  }
  struct GiveBack {
    Pool& pool;
    ~GiveBack() { pool.give_back(); }
  } give_back{shared};
  const auto pieces = static_cast<uint32_t>(std::min<int64_t>(most, static_cast<int64_t>(threads * kPiecesPerThread)));
  shared.run(count, pieces, std::min<size_t>(threads, pieces) - 1, body);
}

void set_thread_count(size_t n) { g_thread_count.store(std::clamp<size_t>(n, 1, kMaxThreads)); }

size_t thread_count() {
  if (g_thread_count.load(std::memory_order_relaxed) == 0) {
    first_thread_count();
  }
  return g_thread_count.load(std::memory_order_relaxed);
}

}  // namespace etrt
