// The process-wide source of random numbers.
//
// It is counter-based (Philox 4x32-10): number `k` of element `i` of draw `d` is a function of the seed, d, i and k
// alone, so that results don't depend on how many threads made them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace etrt {

// Makes the draws that follow a function of `seed`. Without a call the seed differs from process to process.
// Any thread; draws that other threads begin meanwhile belong to the old seed or to the new one.
void set_seed(uint64_t seed);

// The numbers of one element of a draw, in order. Cheap to make.
class RandomSequence {
 public:
  uint32_t next32() {
    if (used_ == 4) {
      refill();
    }
    return words_[used_++];
  }
  uint64_t next64() {
    const uint64_t high = next32();
    return high << 32 | next32();
  }
  // Uniform in [0, 1), a multiple of 2^-bits (at most 53).
  double uniform(int bits = 53) { return static_cast<double>(next64() >> (64 - bits)) * power_of_half(bits); }
  // Uniform in (0, 1].
  double uniform_above_zero() { return 1.0 - uniform(); }
  // Of mean 0 and variance 1.
  double normal();

 private:
  friend class RandomDraw;
  RandomSequence(uint64_t key, uint32_t draw, uint64_t element)
      : key_(key), counter_{static_cast<uint32_t>(element), static_cast<uint32_t>(element >> 32), 0, draw} {}
  void refill();
  static double power_of_half(int n) { return 1.0 / static_cast<double>(uint64_t{1} << n); }

  uint64_t key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> words_{};
  size_t used_ = 4;
};

// One use of the generator, as an operator makes it: a place of its own in the sequence of all draws.
class RandomDraw {
 public:
  // Takes the next place.
  RandomDraw();
  RandomSequence sequence(uint64_t element) const { return {key_, draw_, element}; }

 private:
  uint64_t key_;
  uint32_t draw_;
};

}  // namespace etrt
