// Random numbers: a counter-based generator (Philox 4x32-10), so that streams are independent and cheap to start.
#pragma once

#include <array>
#include <cstdint>

namespace etrt {

// Restarts the process's sequence: the same seed and the same calls give the same numbers. Until it is called the
// seed comes from the system.
void set_seed(uint64_t seed);

// The numbers of one operator call. Each stream made takes the next place in the process's sequence.
class RandomStream {
 public:
  RandomStream();
  RandomStream(uint64_t seed, uint64_t stream);

  uint32_t next32();
  uint64_t next64();
  // In [0, 1), every multiple of 2^-24 (2^-53) equally likely.
  float uniform_float() { return static_cast<float>(next32() >> 8) * 0x1p-24F; }
  double uniform_double() { return static_cast<double>(next64() >> 11) * 0x1p-53; }
  // In [0, bound), without bias. bound > 0.
  uint64_t below(uint64_t bound);
  // Standard normal.
  double normal();

 private:
  void refill();

  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_{};
  std::array<uint32_t, 4> block_{};
  unsigned used_ = 4;
  double spare_normal_ = 0;
  bool has_spare_ = false;
};

}  // namespace etrt
