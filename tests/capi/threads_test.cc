// Programs are shared by threads, a method is one thread's at a time; thread sanitizer watches these.
#include <et/method.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "support.h"

using namespace etrt::test;
using et::Status;
using et::Tensor;

namespace {

constexpr int kThreads = 8;
#if defined(__SANITIZE_THREAD__)
constexpr int kRounds = 100;
#else
constexpr int kRounds = 300;
#endif

void in_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&work, i] { work(i); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

struct Matrix {
  explicit Matrix(float value) : numbers(6, value) {}
  std::vector<float> numbers;
  Tensor tensor() { return Tensor::borrow(numbers.data(), {2, 3}); }
};

bool all_are(const et::Value& value, float expected) {
  for (const float found : values<float>(value)) {
    if (found != expected) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("eight threads load, run and free methods of one program") {
  const et::Program program = load("python/mul_add_planned_reuse.pte");
  std::atomic<int> wrong{0};
  in_threads(kThreads, [&](int t) {
    std::vector<et::Value> held;
    for (int k = 0; k < kRounds / 5; ++k) {
      et::Method method = et::Method::load(program, "forward").value();
      Matrix x(static_cast<float>(t + k));
      const float expected = x.numbers[0] * x.numbers[0] + 1;
      for (int i = 0; i < 5; ++i) {
        auto outputs = method.run({x.tensor(), x.tensor()});
        wrong += outputs.ok() && all_are((*outputs)[0], expected) ? 0 : 1;
        held.push_back((*outputs)[0]);  // outlives its method
        wrong += all_are(held.front(), values<float>(held.front())[0]) ? 0 : 1;
      }
      if (k % 3 == 0) {
        held.clear();
      }
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("whatever threads do to one method, each call is right or refused") {
  et::Method method = load_method("python/mul_add_planned_reuse.pte");
  Matrix x(3);  // every call gives the same numbers, so every answer is the same
  REQUIRE(method.run({x.tensor(), x.tensor()}).ok());
  std::atomic<int> wrong{0};
  std::atomic<int> refused{0};
  std::atomic<int> unnamed{0};
  const auto judge = [&](const et::Error& error) {
    ++refused;
    wrong += error.status == Status::InvalidState ? 0 : 1;
    unnamed += contains(error.text, "'forward'") ? 0 : 1;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  do {  // on a busy machine it may take a while until two meet
    in_threads(kThreads, [&](int t) {
      std::mt19937 random(static_cast<unsigned>(t));
      Matrix mine(3);
      for (int i = 0; i < kRounds; ++i) {
        et::Result<void> done;
        switch (random() % 6) {
          case 0:
            done = method.set_inputs({x.tensor(), x.tensor()});
            break;
          case 1:
            done = method.set_input(random() % 2, x.tensor());
            break;
          case 2:
            done = method.reset_output(0);
            break;
          case 3:
            method.cancel();
            break;
          case 4: {
            const auto output = method.output(0);
            if (output) {
              wrong += all_are(*output, 10) ? 0 : 1;
            } else {
              done = output.error();
            }
            break;
          }
          default:
            done = method.execute();
        }
        if (!done) {
          judge(done.error());
        }
      }
    });
  } while (refused == 0 && std::chrono::steady_clock::now() < until);
  CHECK(wrong == 0);
  CHECK(refused > 0);
  CHECK(unnamed == 0);
  const auto outputs = method.run({x.tensor(), x.tensor()});
  REQUIRE(outputs.ok());
  CHECK(all_are((*outputs)[0], 10));
}

TEST_CASE("programs, methods and results go in any order while other threads run") {
  std::atomic<int> wrong{0};
  in_threads(kThreads, [&](int t) {
    std::mt19937 random(static_cast<unsigned>(t));
    for (int k = 0; k < kRounds / 5; ++k) {
      std::optional<et::Program> program = load("python/two_methods.pte");
      std::optional<et::Method> first = et::Method::load(*program, "forward").value();
      std::optional<et::Method> second = et::Method::load(*program, "other").value();
      Matrix x(2);
      std::optional<et::Value> a = first->run({x.tensor(), x.tensor()}).value()[0];
      std::optional<et::Value> b = second->run({*a, x.tensor()}).value()[0];
      std::vector<int> order = {0, 1, 2, 3};
      std::shuffle(order.begin(), order.end(), random);
      for (const int what : order) {
        what == 0 ? program.reset() : what == 1 ? first.reset() : what == 2 ? second.reset() : a.reset();
        wrong += all_are(*b, 7) ? 0 : 1;
      }
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("a result that another thread lets go frees its memory for the next run") {
  et::Method method = load_method("python/mul_add_planned_reuse.pte");
  std::atomic<int> wrong{0};
  std::atomic<et::Value*> handed{nullptr};
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over || handed.load() != nullptr) {
      const std::unique_ptr<et::Value> value(handed.exchange(nullptr));
      if (value != nullptr) {
        const std::vector<float> numbers = values<float>(*value);
        wrong += all_are(*value, numbers[0]) ? 0 : 1;
      }
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    Matrix x(static_cast<float>(i));
    auto fresh = std::make_unique<et::Value>(method.run({x.tensor(), x.tensor()}).value()[0]);
    et::Value* empty = nullptr;
    while (!handed.compare_exchange_weak(empty, fresh.get())) {
      empty = nullptr;
      std::this_thread::yield();
    }
    static_cast<void>(fresh.release());
  }
  over = true;
  reader.join();
  CHECK(wrong == 0);
}

TEST_CASE("an output value of an earlier run can't be held") {
  et::Method method = load_method("python/mul_add_planned_reuse.pte");
  Matrix x(1);
  REQUIRE(method.run({x.tensor(), x.tensor()}).ok());
  et_value value{};
  REQUIRE(et_method_get_output(method.raw(), 0, &value) == ET_OK);
  et_value late = value;
  REQUIRE(et_value_hold(method.raw(), &value) == ET_OK);
  et_value_release(&value);
  REQUIRE(method.execute().ok());
  CHECK(et_value_hold(method.raw(), &late) == ET_INVALID_STATE);
  CHECK(contains(et_last_error_text(), "has run again"));
  CHECK(late.hold == nullptr);
}
