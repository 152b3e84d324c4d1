// Special functions of real numbers, accurate to a few units in the last place of double in the usual
// ranges. Each is written for double; the float form computes in double.
#pragma once

#include <cmath>
#include <complex>

namespace etrt::ops {

double erfinv(double x);     // the inverse of the error function, for x in [-1, 1]
double digamma(double x);    // the derivative of log(gamma(x))
double bessel_i0(double x);  // the modified Bessel function of the first kind, order 0
double lgamma(double x);     // log|gamma(x)|; unlike std::lgamma it writes no global variable

#define ETRT_FLOAT_FORM(name) \
  inline float name(float x) { return static_cast<float>(name(static_cast<double>(x))); }
ETRT_FLOAT_FORM(erfinv)
ETRT_FLOAT_FORM(digamma)
ETRT_FLOAT_FORM(lgamma)
#undef ETRT_FLOAT_FORM

// The functions of <cmath> that <complex> lacks.
template <class C>
C exp2(C x) {
  return std::exp2(x);
}
template <class C>
C expm1(C x) {
  return std::expm1(x);
}
template <class C>
C log1p(C x) {
  return std::log1p(x);
}
template <class C>
C log2(C x) {
  return std::log2(x);
}
template <class R>
std::complex<R> exp2(std::complex<R> x) {
  return std::exp(x * static_cast<R>(0.693147180559945309417232121458176568L));
}
// exp(a + bi) - 1 without cancellation near zero: (expm1(a) cos b - 2 sin²(b/2)) + i exp(a) sin b.
template <class R>
std::complex<R> expm1(std::complex<R> x) {
  const R half = std::sin(x.imag() / 2);
  return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half, std::exp(x.real()) * std::sin(x.imag())};
}
// log|1 + z| from |1 + z|² - 1 = a (2 + a) + b².
template <class R>
std::complex<R> log1p(std::complex<R> x) {
  const R a = x.real();
  const R b = x.imag();
  if (std::abs(a) > R(0.5) || std::abs(b) > R(0.5)) {
    return std::log(std::complex<R>(1 + a, b));
  }
  return {std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a)};
}
template <class R>
std::complex<R> log2(std::complex<R> x) {
  return std::log(x) / static_cast<R>(0.693147180559945309417232121458176568L);
}

}  // namespace etrt::ops
