#include "core/random.h"

#include <cmath>
#include <mutex>
#include <random>

namespace etrt {
namespace {

struct Sequence {
  std::mutex mutex;
  uint64_t seed = (static_cast<uint64_t>(std::random_device{}()) << 32) | std::random_device{}();
  uint64_t next_stream = 0;
};

Sequence& sequence() {
  static auto* s = new Sequence;
  return *s;
}

// One of the ten rounds of Philox 4x32 (Salmon et al., 2011).
void philox_round(std::array<uint32_t, 4>& c, const std::array<uint32_t, 2>& key) {
  const uint64_t a = uint64_t{0xD2511F53} * c[0];
  const uint64_t b = uint64_t{0xCD9E8D57} * c[2];
  c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
       static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
}

}  // namespace

void set_seed(uint64_t seed) {
  Sequence& s = sequence();
  const std::lock_guard lock(s.mutex);
  s.seed = seed;
  s.next_stream = 0;
}

RandomStream::RandomStream(uint64_t seed, uint64_t stream)
    : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {
  counter_[2] = static_cast<uint32_t>(stream);
  counter_[3] = static_cast<uint32_t>(stream >> 32);
}

RandomStream::RandomStream() : key_{} {
  Sequence& s = sequence();
  const std::lock_guard lock(s.mutex);
  *this = RandomStream(s.seed, s.next_stream++);
}

void RandomStream::refill() {
  block_ = counter_;
  std::array<uint32_t, 2> key = key_;
  for (int round = 0; round < 10; ++round) {
    philox_round(block_, key);
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  if (++counter_[0] == 0) {
    ++counter_[1];
  }
  used_ = 0;
}

uint32_t RandomStream::next32() {
  if (used_ == 4) {
    refill();
  }
  return block_[used_++];
}

uint64_t RandomStream::next64() {
  const uint64_t low = next32();
  return (static_cast<uint64_t>(next32()) << 32) | low;
}

uint64_t RandomStream::below(uint64_t bound) {
  // Numbers under 2^64 mod bound would make the small remainders likelier.
  const uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const uint64_t x = next64();
    if (x >= threshold) {
      return x % bound;
    }
  }
}

double RandomStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  constexpr double kTwoPi = 6.283185307179586;
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform_double()));
  const double angle = kTwoPi * uniform_double();
  spare_normal_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace etrt
