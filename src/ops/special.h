// Special functions of real numbers, accurate to a few units in the last place of double in the usual
// ranges. Each is written for double; the float form computes in double.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>

namespace etrt::ops {

// Error function and normal distribution.
double erfinv(double x);    // the inverse of the error function, for x in [-1, 1]
double erfcx(double x);     // exp(x²) erfc(x)
double ndtri(double p);     // the quantile of the normal distribution
double log_ndtr(double x);  // the logarithm of the normal distribution function

// Gamma function.
double lgamma(double x);                 // log|gamma(x)|; unlike std::lgamma it writes no global variable
double digamma(double x);                // the derivative of log(gamma(x))
double polygamma(int64_t n, double x);   // its n-th derivative
double zeta(double s, double q);         // the sum of (q + k)^-s over k = 0, 1, …
double gamma_lower(double a, double x);  // the regularised incomplete gamma functions; they add up to 1
double gamma_upper(double a, double x);

// Bessel functions of the first (j) and second (y) kind, the modified ones (i, k) and those times exp(-|x|) or exp(x).
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
double bessel_i0(double x);
double bessel_i1(double x);
double bessel_i0_scaled(double x);
double bessel_i1_scaled(double x);
double bessel_k0(double x);
double bessel_k1(double x);
double bessel_k0_scaled(double x);
double bessel_k1_scaled(double x);
double spherical_bessel_j0(double x);
double airy_ai(double x);

double entropy_term(double x);  // -x log(x), 0 at 0, -infinity below

// Orthogonal polynomials of degree `n` (cut to a whole number); 0 for a negative degree. Computed in T as eager does
// it, which shows where they overflow.
#define ETRT_POLYNOMIAL(name) \
  template <class T>          \
  T name(T x, T n);
ETRT_POLYNOMIAL(chebyshev_t)
ETRT_POLYNOMIAL(chebyshev_u)
ETRT_POLYNOMIAL(chebyshev_v)
ETRT_POLYNOMIAL(chebyshev_w)
ETRT_POLYNOMIAL(hermite_h)   // the physicists'
ETRT_POLYNOMIAL(hermite_he)  // the probabilists'
ETRT_POLYNOMIAL(laguerre_l)
ETRT_POLYNOMIAL(legendre_p)
#undef ETRT_POLYNOMIAL

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
