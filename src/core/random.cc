#include "core/random.h"

#include <cmath>
#include <mutex>
#include <random>

namespace etrt {
namespace {

// Philox 4x32 with 10 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint64_t key) {
  auto low = static_cast<uint32_t>(key);
  auto high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53U} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ low, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ high, static_cast<uint32_t>(a)};
    low += 0x9E3779B9U;
    high += 0xBB67AE85U;
  }
  return counter;
}

// The seed and the number of draws since it was set.
class Generator {
 public:
  Generator() {
    std::random_device device;
    seed_ = static_cast<uint64_t>(device()) << 32 | device();
  }
  void seed(uint64_t seed) {
    const std::lock_guard lock(mutex_);
    seed_ = seed;
    draws_ = 0;
  }
  void next(uint64_t& key, uint32_t& draw) {
    const std::lock_guard lock(mutex_);
    draw = static_cast<uint32_t>(draws_);
    // The draws beyond 2^32 go on under another key.
    key = seed_ + (draws_ >> 32);
    ++draws_;
  }

 private:
  std::mutex mutex_;
  uint64_t seed_ = 0;
  uint64_t draws_ = 0;
};

Generator& generator() {
  static Generator instance;
  return instance;
}

}  // namespace

void set_seed(uint64_t seed) { generator().seed(seed); }

RandomDraw::RandomDraw() { generator().next(key_, draw_); }

void RandomSequence::refill() {
  words_ = philox(counter_, key_);
  ++counter_[2];
  used_ = 0;
}

double RandomSequence::normal() {
  // Box and Muller's transform of two uniform numbers.
  constexpr double kTurn = 6.28318530717958647693;
  const double radius = std::sqrt(-2.0 * std::log(uniform_above_zero()));
  return radius * std::cos(kTurn * uniform());
}

}  // namespace etrt
