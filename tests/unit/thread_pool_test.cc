#include "core/thread_pool.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/error.h"

using namespace etrt;

namespace {

struct ThreadCount {
  explicit ThreadCount(size_t n) { set_thread_count(n); }
  ~ThreadCount() { set_thread_count(before); }
  size_t before = thread_count();
};

bool covers_all(int64_t count, int64_t grain) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ++seen[static_cast<size_t>(i)];
    }
  });
  for (const auto& n : seen) {
    if (n != 1) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("parallel_for covers every index once") {
  const ThreadCount four(4);
  for (const int64_t count : {0, 1, 2, 3, 7, 64, 1000, 12345}) {
    for (const int64_t grain : {0, 1, 3, 64, 100000}) {
      CHECK(covers_all(count, grain));
    }
  }
}

TEST_CASE("parallel_for keeps its pieces at least as long as the grain") {
  const ThreadCount four(4);
  std::atomic<int64_t> least{1000};
  parallel_for(1000, 300, [&](int64_t begin, int64_t end) {
    int64_t now = least;
    while (end - begin < now && !least.compare_exchange_weak(now, end - begin)) {
    }
  });
  CHECK(least >= 300);
}

TEST_CASE("parallel_for many times, with changing thread counts") {
  const ThreadCount restore(2);
  for (int i = 0; i < 2000; ++i) {
    set_thread_count(static_cast<size_t>(1 + i % 5));
    std::atomic<int64_t> sum{0};
    parallel_for(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    REQUIRE(sum == 100);
    if (i % 500 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // until the helpers sleep
    }
  }
}

TEST_CASE("nested parallel_for runs inline") {
  const ThreadCount four(4);
  std::atomic<int64_t> sum{0};
  parallel_for(8, 1, [&](int64_t begin, int64_t end) {
    const auto outer = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i) {
      parallel_for(100, 1, [&](int64_t b, int64_t e) {
        CHECK(std::this_thread::get_id() == outer);
        sum += e - b;
      });
    }
  });
  CHECK(sum == 800);
}

TEST_CASE("parallel_for from several threads at once") {
  const ThreadCount four(4);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        parallel_for(64, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (auto& caller : callers) {
    caller.join();
  }
  CHECK(sum == 4 * 200 * 64);
}

TEST_CASE("an exception in a piece reaches the caller, and the pool stays usable") {
  const ThreadCount four(4);
  CHECK_THROWS_AS(parallel_for(100, 1,
                               [](int64_t begin, int64_t) {
                                 if (begin > 50) {
                                   throw std::runtime_error("piece");
                                 }
                               }),
                  std::runtime_error);
  CHECK(covers_all(1000, 1));
}

TEST_CASE("what fails on a helper thread is captured for the caller") {
  const ThreadCount four(4);
  ErrorScope scope;
  std::atomic<int> failures{0};
  parallel_for(16, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (fail(Status::InvalidArgument, "piece {}.", i) != Status::Ok) {
        ++failures;
      }
    }
  });
  CHECK(failures == 16);
  const std::string text = scope.lines().text();
  for (int i = 0; i < 16; ++i) {
    CHECK(text.find("piece " + std::to_string(i) + ".") != std::string::npos);
  }
}

#if !defined(__SANITIZE_THREAD__)  // which doesn't follow forks of threaded processes
TEST_CASE("a forked child gets a pool of its own") {
  const ThreadCount four(4);
  REQUIRE(covers_all(1000, 1));
  const pid_t child = fork();
  if (child == 0) {
    _exit(covers_all(1000, 1) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif
