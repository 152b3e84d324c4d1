#include "ops/special.h"

#include <array>
#include <limits>

namespace etrt::ops {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double lgamma(double x) {
#if defined(__GLIBC__) || defined(__APPLE__)
  int sign = 0;
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

double erfinv(double x) {
  if (!(x >= -1 && x <= 1)) {
    return kNaN;
  }
  if (x == 1 || x == -1) {
    return x * kInfinity;
  }
  const double a = std::abs(x);
  // A closed-form start good to 2e-3 (Winitzki's), then Halley's method, which triples the digits.
  const double log_term = std::log1p(-a * a) / 2;
  const double b = 2 / (kPi * 0.147) + log_term;
  double y = std::sqrt(std::sqrt(b * b - 2 * log_term / 0.147) - b);
  for (int i = 0; i < 3; ++i) {
    // In the tail the complement keeps the digits that 1 - erf loses.
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double step = error / (2 / std::sqrt(kPi) * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

double digamma(double x) {
  if (x == 0) {
    return std::copysign(kInfinity, -x);
  }
  double result = 0;
  if (x < 0) {
    if (x == std::floor(x)) {
      return kNaN;  // a pole
    }
    // psi(1 - x) - psi(x) = pi / tan(pi x), with the period taken out of the argument first.
    result = -kPi / std::tan(kPi * (x - std::floor(x)));
    x = 1 - x;
  }
  for (; x < 10; ++x) {
    result -= 1 / x;
  }
  // The asymptotic series: coefficients are B(2k) / 2k.
  constexpr std::array<double, 8> kCoefficients = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                                   1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
  const double z = 1 / (x * x);
  double power = z;
  double series = 0;
  for (const double c : kCoefficients) {
    series += c * power;
    power *= z;
  }
  return result + std::log(x) - 0.5 / x - series;
}

double bessel_i0(double x) {
  // The power series: every term is positive, so nothing cancels.
  const double q = x * x / 4;
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 1000 && term > sum * 1e-17; ++k) {
    term *= q / (static_cast<double>(k) * k);
    sum += term;
  }
  return sum;
}

}  // namespace etrt::ops
