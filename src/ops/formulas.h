// Formulas of one element that several families share, for the compute types int64_t, uint64_t, float,
// double and std::complex. Integer arithmetic wraps, as in eager.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace etrt::ops {

template <class C>
inline constexpr bool kIsInt = std::is_integral_v<C>;
template <class C>
inline constexpr bool kIsComplexType = !std::is_arithmetic_v<C>;

template <class C>
struct RealPart {
  using type = C;
};
template <class R>
struct RealPart<std::complex<R>> {
  using type = R;
};
template <class C>
using RealOf = typename RealPart<C>::type;

template <class C>
C plus(C a, C b) {
  if constexpr (kIsInt<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class C>
C minus(C a, C b) {
  if constexpr (kIsInt<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
}
template <class C>
C times(C a, C b) {
  if constexpr (kIsInt<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else if constexpr (kIsComplexType<C>) {
    // As in eager, without C's treatment of infinities.
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}
// a / b of floating numbers. Complex ones are divided by Smith's method, as in eager, without C's treatment of
// infinities.
template <class C>
C quotient(C a, C b) {
  if constexpr (kIsComplexType<C>) {
    using R = RealOf<C>;
    const R c = b.real();
    const R d = b.imag();
    if (std::abs(c) >= std::abs(d)) {
      if (c == 0 && d == 0) {
        return {a.real() / std::abs(c), a.imag() / std::abs(d)};
      }
      const R ratio = d / c;
      const R scale = R(1) / (c + d * ratio);
      return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
    }
    const R ratio = c / d;
    const R scale = R(1) / (c * ratio + d);
    return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
  } else {
    return a / b;
  }
}
template <class C>
C reciprocal(C x) {
  return quotient(C(1), x);
}
template <class C>
C negative(C x) {
  if constexpr (kIsInt<C>) {
    return minus(C{0}, x);
  } else {
    return -x;
  }
}

template <class C>
bool is_nan(C x) {
  if constexpr (kIsInt<C>) {
    return false;
  } else if constexpr (kIsComplexType<C>) {
    return std::isnan(x.real()) || std::isnan(x.imag());
  } else {
    return std::isnan(x);
  }
}

// The larger and the smaller one; NaN if either is.
template <class C>
C max_nan(C a, C b) {
  return a > b || is_nan(a) ? a : b;
}
template <class C>
C min_nan(C a, C b) {
  return a < b || is_nan(a) ? a : b;
}

template <class C>
C sigmoid(C x) {
  return reciprocal(C(1) + std::exp(-x));
}
// log(1 + exp(x)).
template <class C>
C log1p_exp(C x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// Integer division never traps here: a zero divisor gives 0 and must be refused by the caller.
template <class C>
C truncated_quotient(C a, C b) {
  if constexpr (std::is_signed_v<C>) {
    if (b == -1) {
      return negative(a);
    }
  }
  return b == 0 ? 0 : a / b;
}
template <class C>
C truncated_remainder(C a, C b) {
  return minus(a, times(truncated_quotient(a, b), b));
}

// The quotient rounded down. `round` says how each step of a floating computation is rounded.
template <class C, class Round>
C floor_quotient(C a, C b, Round round) {
  if constexpr (kIsInt<C>) {
    const C quotient = truncated_quotient(a, b);
    return truncated_remainder(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  } else {
    if (b == 0) {
      return a / b;
    }
    const C rest = round(std::fmod(a, b));
    C quotient = round(round(a - rest) / b);
    if (rest != 0 && (b < 0) != (rest < 0)) {
      quotient = round(quotient - 1);
    }
    if (quotient == 0) {
      return std::copysign(C(0), a / b);
    }
    // The division may have rounded to just below the next integer.
    const C whole = std::floor(quotient);
    return quotient - whole > C(0.5) ? whole + 1 : whole;
  }
}
// The remainder that has the divisor's sign.
template <class C>
C floor_remainder(C a, C b) {
  if constexpr (kIsInt<C>) {
    const C rest = truncated_remainder(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    const C rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
}

// x to an integer power by squaring; negative powers of other than 1 and -1 are 0.
template <class C>
C integer_power(C x, C power) {
  if constexpr (std::is_signed_v<C>) {
    if (power < 0) {
      return x == 1 ? 1 : x == -1 ? (power % 2 == 0 ? 1 : -1) : 0;
    }
  }
  C result = 1;
  for (; power != 0; power >>= 1) {
    if ((power & 1) != 0) {
      result = times(result, x);
    }
    x = times(x, x);
  }
  return result;
}

template <class C>
inline constexpr C kPi = static_cast<C>(3.14159265358979323846264338327950288L);
template <class C>
inline constexpr C kSqrtHalf = static_cast<C>(0.707106781186547524400844362104849039L);

}  // namespace etrt::ops
