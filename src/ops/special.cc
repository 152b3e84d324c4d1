#include "ops/special.h"

#include <algorithm>
#include <array>
#include <limits>

namespace etrt::ops {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kEuler = 0.57721566490153286061;
constexpr double kSqrt2 = 1.41421356237309504880;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kTiny = 1e-17;  // a term this small beside the sum changes nothing

}  // namespace

// ---- error function and normal distribution

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

double erfcx(double x) {
  if (x < 0) {
    return x < -27 ? kInfinity : 2 * std::exp(x * x) - erfcx(-x);
  }
  if (x < 2) {
    return std::exp(x * x) * std::erfc(x);
  }
  // The continued fraction 1 / (x + (1/2) / (x + (2/2) / (x + (3/2) / …))), from its end.
  double tail = x;
  for (int k = 200; k > 0; --k) {
    tail = x + 0.5 * k / tail;
  }
  return 1 / (std::sqrt(kPi) * tail);
}

double log_ndtr(double x) {
  return x < -1 ? std::log(erfcx(-x / kSqrt2) / 2) - x * x / 2 : std::log1p(-std::erfc(x / kSqrt2) / 2);
}

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) {
    return kNaN;
  }
  if (p == 0 || p == 1) {
    return p == 0 ? -kInfinity : kInfinity;
  }
  if (p > 0.5) {
    return -ndtri(1 - p);
  }
  if (p > 0.01) {
    return -kSqrt2 * erfinv(1 - 2 * p);
  }
  // Newton's method on the logarithm, which is nearly a parabola in the tail.
  const double target = std::log(p);
  double x = -std::sqrt(-2 * target);
  for (int i = 0; i < 20; ++i) {
    const double value = log_ndtr(x);
    // The slope is the density divided by the distribution function.
    const double slope = std::exp(-x * x / 2 - value) / std::sqrt(2 * kPi);
    const double step = (value - target) / slope;
    x -= step;
    if (std::abs(step) <= 1e-15 * std::abs(x)) {
      break;
    }
  }
  return x;
}

// ---- gamma function

double lgamma(double x) {
#if defined(__GLIBC__) || defined(__APPLE__)
  int sign = 0;
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
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

namespace {

// zeta for q > 0, by the formula of Euler and Maclaurin.
double zeta_of_positive(double s, double q) {
  double sum = 0;
  for (; q < 10; ++q) {
    sum += std::pow(q, -s);
  }
  const double power = std::pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  // B(2k) / (2k)! for k = 1, 2, …
  constexpr std::array<double, 10> kCoefficients = {
      1.0 / 12,
      -1.0 / 720,
      1.0 / 30240,
      -1.0 / 1209600,
      1.0 / 47900160,
      -691.0 / 1307674368000.0,
      1.0 / 74724249600.0,
      -3617.0 / 10670622842880000.0,
      43867.0 / 5109094217170944000.0,
      -174611.0 / 802857662698291200000.0,
  };
  double factor = s * power / q;
  double k = 1;
  for (const double c : kCoefficients) {
    sum += c * factor;
    factor *= (s + k) * (s + k + 1) / (q * q);
    k += 2;
  }
  return sum;
}

}  // namespace

double zeta(double s, double q) {
  if (s == 1) {
    return kInfinity;
  }
  if (s < 1) {
    return kNaN;
  }
  if (q <= 0 && q == std::floor(q)) {
    return kInfinity;  // a pole, also for an s that is NaN
  }
  if (std::isnan(s) || std::isnan(q) || std::isinf(q)) {
    return kNaN;
  }
  if (std::isinf(s)) {
    return q < 1 ? kInfinity : q == 1 ? 1 : kNaN;
  }
  if (q > 0) {
    return zeta_of_positive(s, q);
  }
  if (s != std::floor(s)) {
    return kNaN;
  }
  // The terms with a negative base are those of two positive sums.
  const double fraction = q - std::floor(q);
  const double below = zeta_of_positive(s, 1 - fraction) - zeta_of_positive(s, 1 - fraction - std::floor(q));
  return zeta_of_positive(s, fraction) + (std::fmod(s, 2) == 0 ? below : -below);
}

double polygamma(int64_t n, double x) {
  if (n == 0) {
    return digamma(x);
  }
  const auto order = static_cast<double>(n);
  const double size = std::exp(lgamma(order + 1)) * zeta(order + 1, x);
  return n % 2 == 0 ? -size : size;
}

namespace {

// log(1 + x) - x.
double log1p_minus(double x) {
  if (std::abs(x) > 0.3) {
    return std::log1p(x) - x;
  }
  double power = -x * x;
  double sum = power / 2;
  for (int k = 3; k < 60 && std::abs(power) > kTiny * std::abs(sum); ++k) {
    power *= -x;
    sum += power / k;
  }
  return sum;
}

// x^a exp(-x) / gamma(a + 1), a > 0, x > 0.
double gamma_prefactor(double a, double x) {
  if (a < 20) {
    return std::exp(a * std::log(x) - x - lgamma(a + 1));
  }
  // By Stirling's formula, which leaves small numbers in the exponent only.
  const double z = 1 / a;
  const double correction = z * (1.0 / 12 - z * z * (1.0 / 360 - z * z * (1.0 / 1260 - z * z / 1680)));
  return std::exp(a * log1p_minus((x - a) / a) - correction) / std::sqrt(2 * kPi * a);
}

constexpr int kMostTerms = 100000;

// The lower function by its power series, for x below a + 1 or so.
double gamma_series(double a, double x) {
  double term = 1;
  double sum = 1;
  for (int k = 1; k < kMostTerms && term > kTiny * sum; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return gamma_prefactor(a, x) * sum;
}

// The upper function by its continued fraction (evaluated forwards, as Lentz does), for larger x.
double gamma_fraction(double a, double x) {
  double b = x + 1 - a;
  double c = 1e300;
  double d = 1 / b;
  double value = d;
  for (int k = 1; k < kMostTerms; ++k) {
    const double numerator = -k * (k - a);
    b += 2;
    d = numerator * d + b;
    d = 1 / (d == 0 ? 1e-300 : d);
    c = b + numerator / c;
    c = c == 0 ? 1e-300 : c;
    value *= c * d;
    if (std::abs(c * d - 1) < 1e-16) {
      break;
    }
  }
  return gamma_prefactor(a, x) * a * value;
}

// For an `a` so large that the distribution is normal to within its square root.
double gamma_upper_normal(double a, double x) {
  const double eta_squared = -2 * log1p_minus((x - a) / a);
  const double eta = std::copysign(std::sqrt(std::max(0.0, eta_squared)), x - a);
  return std::erfc(eta * std::sqrt(a / 2)) / 2 + std::exp(-a * eta_squared / 2) / (3 * std::sqrt(2 * kPi * a));
}
constexpr double kLargeGamma = 1e8;

// The values at the edges of the domain, as the upper function; -1 inside it.
double gamma_upper_at_edges(double a, double x) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) {
    return kNaN;
  }
  if (x == 0 || std::isinf(a)) {
    return 1;
  }
  return a == 0 || std::isinf(x) ? 0 : -1;
}

}  // namespace

double gamma_lower(double a, double x) {
  const double edge = gamma_upper_at_edges(a, x);
  if (edge != -1) {
    return 1 - edge;
  }
  if (a > kLargeGamma) {
    return 1 - gamma_upper_normal(a, x);
  }
  return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}

double gamma_upper(double a, double x) {
  const double edge = gamma_upper_at_edges(a, x);
  if (edge != -1) {
    return edge;
  }
  if (a > kLargeGamma) {
    return gamma_upper_normal(a, x);
  }
  return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

// ---- Bessel functions

namespace {

// Above this argument the asymptotic expansions reach the precision of double.
constexpr double kAsymptotic = 25;

struct JAndY {
  double j0, j1, y0, y1;
};

// For 0 < x < kAsymptotic: Miller's downward recurrence gives all J(n), from which Neumann's series give Y.
JAndY by_recurrence(double x) {
  double sum = 0;        // J(0) + 2 J(2) + 2 J(4) + … = 1
  double series0 = 0;    // of (-1)^k J(2k) / k
  double series1 = 0;    // of (-1)^k (2k + 1) J(2k + 1) / (k (k + 1))
  double next = 0;       // J(n + 1)
  double here = 1e-300;  // J(n), up to a factor
  for (int n = 2 * (static_cast<int>(x) / 2 + 35); n > 0; --n) {
    const int k = n / 2;
    const double sign = k % 2 == 0 ? 1 : -1;
    if (n % 2 == 0) {
      sum += 2 * here;
      series0 += sign * here / k;
    } else if (k > 0) {
      series1 += sign * n * here / (static_cast<double>(k) * (k + 1));
    }
    const double before = 2 * n / x * here - next;
    next = here;
    here = before;
    if (std::abs(here) > 1e200) {
      for (double* value : {&sum, &series0, &series1, &next, &here}) {
        *value *= 1e-250;
      }
    }
  }
  sum += here;
  const double j0 = here / sum;
  const double j1 = next / sum;
  const double log_half = std::log(x / 2) + kEuler;
  return {j0, j1, 2 / kPi * (log_half * j0 - 2 * series0 / sum),
          2 / kPi * ((log_half - 1) * j1 - j0 / x - series1 / sum)};
}

// The two sums of Hankel's expansion of order 0 or 1.
struct Hankel {
  double p = 0;
  double q = 0;
  Hankel(double x, double order) {
    const double mu = 4 * order * order;
    double term = 1;
    for (int k = 0; k < 60; ++k) {
      const double signed_term = k % 4 < 2 ? term : -term;
      (k % 2 == 0 ? p : q) += signed_term;
      const double odd = 2 * k + 1;
      const double following = term * (mu - odd * odd) / ((k + 1) * 8 * x);
      if (std::abs(following) < kTiny || std::abs(following) > std::abs(term)) {
        break;
      }
      term = following;
    }
  }
};

JAndY by_expansion(double x) {
  const Hankel zero(x, 0);
  const Hankel one(x, 1);
  const double scale = std::sqrt(1 / (kPi * x));
  // cos(x - pi/4) and sin(x - pi/4) times the root of 2; order 1 is a quarter turn behind.
  const double plus = std::cos(x) + std::sin(x);
  const double minus = std::sin(x) - std::cos(x);
  return {scale * (zero.p * plus - zero.q * minus), scale * (one.p * minus + one.q * plus),
          scale * (zero.p * minus + zero.q * plus), scale * (one.q * minus - one.p * plus)};
}

JAndY j_and_y(double x) { return x < kAsymptotic ? by_recurrence(x) : by_expansion(x); }

double j0_of_positive(double x) { return x < 1e-8 ? 1 : j_and_y(x).j0; }
double j1_of_positive(double x) { return x < 1e-8 ? x / 2 : j_and_y(x).j1; }

}  // namespace

// Eager's give NaN at infinity, where the functions tend to 0.
double bessel_j0(double x) { return std::isfinite(x) ? j0_of_positive(std::abs(x)) : kNaN; }
double bessel_j1(double x) { return std::isfinite(x) ? std::copysign(1.0, x) * j1_of_positive(std::abs(x)) : kNaN; }
double bessel_y0(double x) {
  if (!(x > 0)) {
    return x == 0 ? -kInfinity : kNaN;
  }
  if (x < 1e-8) {
    return 2 / kPi * (std::log(x / 2) + kEuler);
  }
  return std::isinf(x) ? kNaN : j_and_y(x).y0;
}
double bessel_y1(double x) {
  if (!(x > 0)) {
    return x == 0 ? -kInfinity : kNaN;
  }
  if (x < 1e-8) {
    return -2 / (kPi * x);
  }
  return std::isinf(x) ? kNaN : j_and_y(x).y1;
}

namespace {

// exp(-x) I(order, x) or, with alternating signs, exp(x) K(order, x) pi-free: the sum of the asymptotic expansion.
double modified_expansion(double x, double order, double sign) {
  const double mu = 4 * order * order;
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 60 && std::abs(term) > kTiny; ++k) {
    const double odd = 2 * k - 1;
    term *= sign * (mu - odd * odd) / (k * 8 * x);
    sum += term;
  }
  return sum;
}

constexpr double kModifiedAsymptotic = 50;

// The power series of I(order, x) for order 0 or 1: every term is positive, so nothing cancels.
double modified_series(double x, int order) {
  const double q = x * x / 4;
  double term = order == 0 ? 1 : x / 2;
  double sum = term;
  for (int k = 1; k < 1000 && term > kTiny * sum; ++k) {
    term *= q / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

// exp(-|x|) I(order, |x|).
double modified_scaled(double x, int order) {
  x = std::abs(x);
  if (x < kModifiedAsymptotic) {
    return std::exp(-x) * modified_series(x, order);
  }
  return modified_expansion(x, order, -1) / std::sqrt(2 * kPi * x);
}
double modified(double x, int order) {
  x = std::abs(x);
  return x < kModifiedAsymptotic ? modified_series(x, order) : std::exp(x) * modified_scaled(x, order);
}

// exp(x) K(order, x), the integral of exp(-x (cosh t - 1)) cosh(order t) over t > 0. The trapezoidal rule gains
// digits exponentially with finer steps on such functions.
double second_kind_scaled(double x, double order) {
  if (!(x > 0)) {
    return x == 0 ? kInfinity : kNaN;
  }
  if (x > kModifiedAsymptotic) {
    return std::sqrt(kPi / (2 * x)) * modified_expansion(x, order, 1);
  }
  const double step = std::min(0.125, 0.5 / std::sqrt(x));
  double sum = 0.5;
  for (int k = 1; k < kMostTerms; ++k) {
    const double t = k * step;
    const double half = std::sinh(t / 2);  // cosh(t) - 1 = 2 sinh²(t / 2)
    const double exponent = order * t - 2 * x * half * half;
    const double term = std::exp(exponent) * (1 + std::exp(-2 * order * t)) / 2;
    sum += term;
    if (term < kTiny * sum) {
      break;
    }
  }
  return sum * step;
}

}  // namespace

double bessel_i0(double x) { return std::isnan(x) ? x : modified(x, 0); }
double bessel_i1(double x) { return std::isnan(x) ? x : std::copysign(modified(x, 1), x); }
double bessel_i0_scaled(double x) { return std::isnan(x) ? x : std::isinf(x) ? 0 : modified_scaled(x, 0); }
double bessel_i1_scaled(double x) {
  return std::isnan(x) ? x : std::isinf(x) ? 0 : std::copysign(modified_scaled(x, 1), x);
}
double bessel_k0_scaled(double x) { return second_kind_scaled(x, 0); }
double bessel_k1_scaled(double x) { return second_kind_scaled(x, 1); }
double bessel_k0(double x) { return x > 0 ? std::exp(-x) * second_kind_scaled(x, 0) : second_kind_scaled(x, 0); }
double bessel_k1(double x) { return x > 0 ? std::exp(-x) * second_kind_scaled(x, 1) : second_kind_scaled(x, 1); }

double spherical_bessel_j0(double x) {
  return std::isinf(x) ? 0 : std::abs(x) < 1e-4 ? 1 - x * x / 6 : std::sin(x) / x;
}

namespace {

// The power series around 0: two solutions of y'' = x y.
double airy_series(double x) {
  const long double cube = static_cast<long double>(x) * x * x;
  long double f = 1;
  long double g = x;
  long double f_sum = f;
  long double g_sum = g;
  for (int k = 1; k < 200; ++k) {
    f *= cube / ((3 * k - 1) * (3.0L * k));
    g *= cube / ((3.0L * k) * (3 * k + 1));
    f_sum += f;
    g_sum += g;
    if (std::abs(f) + std::abs(g) < 1e-25L) {
      break;
    }
  }
  return static_cast<double>(0.355028053887817239260063L * f_sum - 0.258819403792806798405183L * g_sum);
}

// For large negative arguments: a wave.
double airy_wave(double x) {
  const double zeta = 2.0 / 3.0 * x * std::sqrt(x);
  double p = 0;
  double q = 0;
  double term = 1;
  for (int k = 0; k < 40; ++k) {
    (k % 2 == 0 ? p : q) += k % 4 < 2 ? term : -term;
    const double n = k + 1;
    const double following = term * (6 * n - 5) * (6 * n - 3) * (6 * n - 1) / (216 * n * (2 * n - 1) * zeta);
    if (following < kTiny || following > term) {
      break;
    }
    term = following;
  }
  const double angle = zeta + kPi / 4;
  return (std::sin(angle) * p - std::cos(angle) * q) / (std::sqrt(kPi) * std::sqrt(std::sqrt(x)));
}

}  // namespace

double airy_ai(double x) {
  if (!std::isfinite(x)) {
    return kNaN;
  }
  if (x > 1) {
    const double zeta = 2.0 / 3.0 * x * std::sqrt(x);
    return std::sqrt(x / 3) / kPi * std::exp(-zeta) * second_kind_scaled(zeta, 1.0 / 3.0);
  }
  return x > -7 ? airy_series(x) : airy_wave(-x);
}

double entropy_term(double x) { return x > 0 ? -x * std::log(x) : x == 0 ? 0 : std::isnan(x) ? x : -kInfinity; }

// ---- orthogonal polynomials

namespace {

// The degree as a whole number; -1, which makes the result 0, for one that int64 can't hold.
template <class T>
int64_t degree(T n) {
  return n > T(-1) && n < T(0x1p63) ? static_cast<int64_t>(n) : -1;
}

// The last value of `steps` steps of r = next(k, q, p), k = 1, 2, …, from p, q.
template <class T, class Next>
T recur(T p, T q, int64_t n, Next next) {
  if (n == 0) {
    return p;
  }
  for (int64_t k = 1; k < n && !std::isnan(q); ++k) {
    const T r = next(static_cast<T>(k), q, p);
    p = q;
    q = r;
  }
  return q;
}

// The four kinds of Chebyshev polynomials share a recurrence.
template <class T>
T chebyshev(T x, int64_t n, T first) {
  return recur(T(1), first, n, [x](T /*k*/, T q, T p) { return (x + x) * q - p; });
}
template <class T>
T sign_of_degree(int64_t n) {
  return n % 2 == 0 ? T(1) : T(-1);
}

// Eager gives up on Hermite polynomials of higher degrees.
template <class T>
constexpr int64_t kMostHermite = sizeof(T) == sizeof(float) ? 128 : 512;
template <class T>
constexpr T kNotANumber = std::numeric_limits<T>::quiet_NaN();

}  // namespace

template <class T>
T chebyshev_t(T x, T n) {
  const int64_t k = degree(n);
  if (k < 0) {
    return 0;
  }
  if (std::abs(x) == 1) {
    return x > 0 ? T(1) : sign_of_degree<T>(k);
  }
  return k > 6 && std::abs(x) < 1 ? std::cos(static_cast<T>(k) * std::acos(x)) : chebyshev(x, k, x);
}
template <class T>
T chebyshev_u(T x, T n) {
  const int64_t k = degree(n);
  if (k < 0) {
    return 0;
  }
  const T next = static_cast<T>(k) + 1;
  if (std::abs(x) == 1) {
    return x > 0 ? next : sign_of_degree<T>(k) * next;
  }
  return k > 8 && std::abs(x) < 1 ? std::sin(next * std::acos(x)) / std::sin(std::acos(x)) : chebyshev(x, k, x + x);
}
template <class T>
T chebyshev_v(T x, T n) {
  const int64_t k = degree(n);
  if (k < 0) {
    return 0;
  }
  const T half = static_cast<T>(k) + T(0.5);
  if (std::abs(x) == 1) {
    return x > 0 ? T(1) : sign_of_degree<T>(k) * 2 * half;
  }
  return k > 8 && std::abs(x) < 1 ? std::cos(half * std::acos(x)) / std::cos(std::acos(x) / 2)
                                  : chebyshev(x, k, x + x - 1);
}
template <class T>
T chebyshev_w(T x, T n) {
  const int64_t k = degree(n);
  if (k < 0) {
    return 0;
  }
  const T half = static_cast<T>(k) + T(0.5);
  if (std::abs(x) == 1) {
    return x > 0 ? 2 * half : sign_of_degree<T>(k);
  }
  return k > 8 && std::abs(x) < 1 ? std::sin(half * std::acos(x)) / std::sin(std::acos(x) / 2)
                                  : chebyshev(x, k, x + x + 1);
}

template <class T>
T hermite_h(T x, T n) {
  const int64_t k = degree(n);
  if (k > kMostHermite<T>) {
    return kNotANumber<T>;
  }
  return k < 0 ? T(0) : recur(T(1), x + x, k, [x](T i, T q, T p) { return (x + x) * q - 2 * i * p; });
}
template <class T>
T hermite_he(T x, T n) {
  const int64_t k = degree(n);
  if (k > kMostHermite<T>) {
    return kNotANumber<T>;
  }
  return k < 0 ? T(0) : recur(T(1), x, k, [x](T i, T q, T p) { return x * q - i * p; });
}
template <class T>
T laguerre_l(T x, T n) {
  const int64_t k = degree(n);
  if (k < 0) {
    return 0;
  }
  if (x == 0) {
    return 1;
  }
  return recur(T(1), 1 - x, k, [x](T i, T q, T p) { return ((2 * i + (1 - x)) * q - i * p) / (i + 1); });
}
template <class T>
T legendre_p(T x, T n) {
  const int64_t k = degree(n);
  if (k < 0) {
    return 0;
  }
  if (std::abs(x) == 1) {
    return x > 0 ? T(1) : sign_of_degree<T>(k);
  }
  return recur(T(1), x, k, [x](T i, T q, T p) { return ((2 * i + 1) * x * q - i * p) / (i + 1); });
}

#define ETRT_POLYNOMIAL(name)        \
  template float name(float, float); \
  template double name(double, double);
ETRT_POLYNOMIAL(chebyshev_t)
ETRT_POLYNOMIAL(chebyshev_u)
ETRT_POLYNOMIAL(chebyshev_v)
ETRT_POLYNOMIAL(chebyshev_w)
ETRT_POLYNOMIAL(hermite_h)
ETRT_POLYNOMIAL(hermite_he)
ETRT_POLYNOMIAL(laguerre_l)
ETRT_POLYNOMIAL(legendre_p)
#undef ETRT_POLYNOMIAL

}  // namespace etrt::ops
