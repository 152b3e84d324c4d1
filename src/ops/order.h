// Elements as unsigned keys that order like the elements, so that one sort serves all dtypes.
#pragma once

#include <bit>
#include <cstdint>

#include "core/dtype.h"
#include "ops/element_io.h"

namespace etrt::ops {

// An element and its place in a line.
struct Ranked {
  uint64_t key;
  int64_t index;
};

// NaN above everything, all NaNs alike, -0 like 0.
inline uint64_t order_key(double x) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  if (x != x) {
    return ~uint64_t{0};
  }
  const auto bits = std::bit_cast<uint64_t>(x + 0.0);  // -0 + 0 is 0
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
inline uint64_t order_key(float x) { return order_key(static_cast<double>(x)); }
inline uint64_t order_key(int64_t x) { return static_cast<uint64_t>(x) ^ (uint64_t{1} << 63); }

// The key of a NaN, whatever its sign.
inline constexpr uint64_t kNanKey = ~uint64_t{0};

// Keys of elements that were loaded as C from a tensor of `dtype`: `n` of them, `stride` apart.
template <class C>
void rank_elements(const C* x, int64_t stride, int64_t n, DType dtype, Ranked* to) {
  const uint64_t flip = dtype == DType::UInt64 ? uint64_t{1} << 63 : 0;  // int64_t holds its bits
  for (int64_t i = 0; i < n; ++i) {
    to[i] = {order_key(x[i * stride]) ^ flip, i};
  }
}

// Orders, as objects so that algorithms can inline them. These see values only.
inline constexpr auto key_below = [](const Ranked& a, const Ranked& b) { return a.key < b.key; };
inline constexpr auto key_above = [](const Ranked& a, const Ranked& b) { return a.key > b.key; };
// With equal keys by place: the orders of a stable sort.
inline constexpr auto ranks_before = [](const Ranked& a, const Ranked& b) {
  return a.key < b.key || (a.key == b.key && a.index < b.index);
};
inline constexpr auto ranks_above = [](const Ranked& a, const Ranked& b) {
  return a.key > b.key || (a.key == b.key && a.index < b.index);
};

}  // namespace etrt::ops
