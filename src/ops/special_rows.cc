// The operators of special functions: aten::special_* and the functions of the gamma family.
#include <cmath>

#include "ops/binary_rows.h"
#include "ops/elementwise.h"
#include "ops/formulas.h"
#include "ops/special.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

using Function = double (*)(double);
using Function2 = double (*)(double, double);

// A row for a function of one or two numbers that is computed in double whatever the dtype.
template <Function kFunction>
Status one_argument(Call& call, const Tensor& self, Tensor& out) {
  return map<kFloats, kCostlyGrain>(
      call, float_result(self.dtype, out), out,
      [](auto x) { return static_cast<decltype(x)>(kFunction(static_cast<double>(x))); }, self);
}
template <Function kFunction>
Op function(std::string_view name, std::string_view schema = "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)") {
  return {name, schema, broadcast_shape<1>, bind<one_argument<kFunction>>, kElementwiseFacts};
}

template <Function2 kFunction, class A, class B>
Status two_arguments(Call& call, A a, B b, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, a, b));
  return map<kFloats, kCostlyGrain>(
      call, float_result(common, out), out,
      [](auto x, auto y) {
        return static_cast<decltype(x)>(kFunction(static_cast<double>(x), static_cast<double>(y)));
      },
      Operand(a), Operand(b));
}
template <Function2 kFunction, class A, class B>
Op function2(std::string_view name, std::string_view schema) {
  return {name, schema, broadcast_shape<2>, bind<two_arguments<kFunction, A, B>>, kElementwiseFacts};
}

// A row for a polynomial of degree n, computed in the dtype's compute type.
template <auto kPolynomial, class A, class B>
Status polynomial_of(Call& call, A a, B b, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, a, b));
  return map<kFloats, kCostlyGrain>(call, float_result(common, out), out, kPolynomial, Operand(a), Operand(b));
}
template <auto kPolynomial, class A, class B>
Op polynomial(std::string_view name, std::string_view schema) {
  return {name, schema, broadcast_shape<2>, bind<polynomial_of<kPolynomial, A, B>>, kElementwiseFacts};
}

double ndtr(double x) { return std::erfc(-x * kSqrtHalf<double>) / 2; }

Status polygamma_of(Call& call, int64_t n, const Tensor& self, Tensor& out) {
  if (n < 0) {
    return call.fail(Status::InvalidArgument, "n is {}, expected at least 0", n);
  }
  return map<kFloats, kCostlyGrain>(
      call, float_result(self.dtype, out), out,
      [n](auto x) {
        using T = decltype(x);
        if (n == 1 && x < T(0.5)) {
          // Eager's reflection formula, in the compute type: it misses the poles by the rounding error of pi times x.
          const T sine = std::sin(kPi<T> * x);
          return kPi<T> * kPi<T> / (sine * sine) - static_cast<T>(polygamma(1, 1 - static_cast<double>(x)));
        }
        return static_cast<T>(polygamma(n, static_cast<double>(x)));
      },
      self);
}
// The logarithm of the multivariate gamma function of dimension p.
Status mvlgamma(Call& call, const Tensor& self, int64_t p, Tensor& out) {
  if (p < 1 || p > (1 << 20)) {
    return call.fail(Status::InvalidArgument, "p is {}, expected at least 1", p);
  }
  return map<kFloats, kCostlyGrain>(
      call, float_result(self.dtype, out), out,
      [p](auto x) {
        double sum = static_cast<double>(p * (p - 1)) * std::log(kPi<double>) / 4;
        for (int64_t i = 0; i < p; ++i) {
          sum += lgamma(static_cast<double>(x) - static_cast<double>(i) / 2);
        }
        return static_cast<decltype(x)>(sum);
      },
      self);
}

constexpr std::string_view kOfX = "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kPolynomial = "(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kPolynomialX = "(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kPolynomialN = "(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)";

#define ETRT_POLYNOMIAL_ROWS(name, formula)                                                                            \
  polynomial<[](auto x, auto n) { return formula; }, const Tensor&, const Tensor&>("aten::special_" name ".out",       \
                                                                                   kPolynomial),                       \
      polynomial<[](auto x, auto n) { return formula; }, Scalar, const Tensor&>("aten::special_" name ".x_scalar_out", \
                                                                                kPolynomialX),                         \
      polynomial<[](auto x, auto n) { return formula; }, const Tensor&, Scalar>("aten::special_" name ".n_scalar_out", \
                                                                                kPolynomialN)

}  // namespace

Table special_ops() {
  static const Op kOps[] = {
      function<bessel_i0>("aten::i0.out"),
      function<bessel_i0>("aten::special_i0.out"),
      function<bessel_i0_scaled>("aten::special_i0e.out"),
      function<bessel_i1>("aten::special_i1.out"),
      function<bessel_i1_scaled>("aten::special_i1e.out"),
      function<entropy_term>("aten::special_entr.out"),
      function<erfcx>("aten::special_erfcx.out"),
      function<ndtr>("aten::special_ndtr.out"),
      function<ndtri>("aten::special_ndtri.out"),
      function<log_ndtr>("aten::special_log_ndtr.out"),
      function<bessel_j0>("aten::special_bessel_j0.out"),
      function<bessel_j1>("aten::special_bessel_j1.out"),
      function<bessel_y0>("aten::special_bessel_y0.out"),
      function<bessel_y1>("aten::special_bessel_y1.out"),
      function<bessel_i0>("aten::special_modified_bessel_i0.out"),
      function<bessel_i1>("aten::special_modified_bessel_i1.out"),
      function<bessel_k0>("aten::special_modified_bessel_k0.out"),
      function<bessel_k1>("aten::special_modified_bessel_k1.out"),
      function<bessel_k0_scaled>("aten::special_scaled_modified_bessel_k0.out", kOfX),
      function<bessel_k1_scaled>("aten::special_scaled_modified_bessel_k1.out", kOfX),
      function<spherical_bessel_j0>("aten::special_spherical_bessel_j0.out", kOfX),
      function<airy_ai>("aten::special_airy_ai.out", kOfX),

      {"aten::polygamma.out", "(int n, Tensor self, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<polygamma_of>, kPure | kElementwise | kAnyLayout},
      {"aten::mvlgamma.out", "(Tensor self, int p, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<mvlgamma>, kElementwiseFacts},
      function2<gamma_lower, const Tensor&, const Tensor&>("aten::igamma.out", kTensors),
      function2<gamma_upper, const Tensor&, const Tensor&>("aten::igammac.out", kTensors),
      function2<zeta, const Tensor&, const Tensor&>("aten::special_zeta.out", kTensors),
      function2<zeta, Scalar, const Tensor&>("aten::special_zeta.self_scalar_out", kNumberTensor),
      function2<zeta, const Tensor&, Scalar>("aten::special_zeta.other_scalar_out", kTensorNumber),

      ETRT_POLYNOMIAL_ROWS("chebyshev_polynomial_t", chebyshev_t(x, n)),
      ETRT_POLYNOMIAL_ROWS("chebyshev_polynomial_u", chebyshev_u(x, n)),
      ETRT_POLYNOMIAL_ROWS("chebyshev_polynomial_v", chebyshev_v(x, n)),
      ETRT_POLYNOMIAL_ROWS("chebyshev_polynomial_w", chebyshev_w(x, n)),
      ETRT_POLYNOMIAL_ROWS("shifted_chebyshev_polynomial_t", chebyshev_t(x + x - 1, n)),
      ETRT_POLYNOMIAL_ROWS("shifted_chebyshev_polynomial_u", chebyshev_u(x + x - 1, n)),
      ETRT_POLYNOMIAL_ROWS("shifted_chebyshev_polynomial_v", chebyshev_v(x + x - 1, n)),
      ETRT_POLYNOMIAL_ROWS("shifted_chebyshev_polynomial_w", chebyshev_w(x + x - 1, n)),
      ETRT_POLYNOMIAL_ROWS("hermite_polynomial_h", hermite_h(x, n)),
      ETRT_POLYNOMIAL_ROWS("hermite_polynomial_he", hermite_he(x, n)),
      ETRT_POLYNOMIAL_ROWS("laguerre_polynomial_l", laguerre_l(x, n)),
      ETRT_POLYNOMIAL_ROWS("legendre_polynomial_p", legendre_p(x, n)),
  };
  return kOps;
}

}  // namespace etrt::ops
