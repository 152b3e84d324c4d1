// Arithmetic on sizes that come from a file or a caller.
#pragma once

#include <concepts>

namespace etrt {

// Each returns false, and leaves `out` unspecified, when the exact result does not fit T.
template <std::integral T>
[[nodiscard]] inline bool checked_add(T a, T b, T& out) {
  return !__builtin_add_overflow(a, b, &out);
}
template <std::integral T>
[[nodiscard]] inline bool checked_sub(T a, T b, T& out) {
  return !__builtin_sub_overflow(a, b, &out);
}
template <std::integral T>
[[nodiscard]] inline bool checked_mul(T a, T b, T& out) {
  return !__builtin_mul_overflow(a, b, &out);
}

// Does [offset, offset + size) lie within [0, limit)?
template <std::unsigned_integral T>
[[nodiscard]] inline bool range_within(T offset, T size, T limit) {
  return offset <= limit && size <= limit - offset;
}

}  // namespace etrt
