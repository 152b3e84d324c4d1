// Elementwise functions of one tensor. A plain one is a row of the table: its name and its formula.
#include <cmath>
#include <limits>

#include "ops/elementwise.h"
#include "ops/formulas.h"
#include "ops/special.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

constexpr std::string_view kSchema = "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";

// ---- the kinds of rows

// A function of floating numbers; integers become the default dtype first.
template <unsigned kTypes, class F>
Status floating_kernel(Call& call, const Tensor& self, Tensor& out) {
  return map<kTypes, kCostlyGrain>(call, float_result(self.dtype, out), out, F{}, self);
}
// A function whose result has the dtype of its argument (or that dtype's real part).
template <unsigned kTypes, class F>
Status same_dtype_kernel(Call& call, const Tensor& self, Tensor& out) {
  return map<kTypes>(call, self.dtype, out, F{}, self);
}
// The same for functions that leave whole numbers as they are.
template <class F>
struct WholeNumbersUnchanged {
  template <class C>
  C operator()(C x) const {
    if constexpr (kIsInt<C>) {
      return x;
    } else {
      return F{}(x);
    }
  }
};

template <class F>
Op row(std::string_view name, Invoke kernel, F /*formula*/) {
  return {name, kSchema, broadcast_shape<1>, kernel, kElementwiseFacts};
}
template <class F>
Op real(std::string_view name, F f) {
  return row(name, bind<floating_kernel<kFloats, F>>, f);
}
template <class F>
Op real_or_complex(std::string_view name, F f) {
  return row(name, bind<floating_kernel<kFloats | kComplexes, F>>, f);
}
template <class F>
Op rounding(std::string_view name, F f) {
  return row(name, bind<same_dtype_kernel<kNumbers, WholeNumbersUnchanged<F>>>, f);
}
template <unsigned kTypes, class F>
Op same_dtype(std::string_view name, F f) {
  return row(name, bind<same_dtype_kernel<kTypes, F>>, f);
}

// ---- functions with parameters, or with more to say than a line

Status abs(Call& call, const Tensor& self, Tensor& out) {
  return map<kAllNumbers>(
      call, self.dtype, out,
      [](auto x) {
        using C = decltype(x);
        if constexpr (std::is_unsigned_v<C>) {
          return x;
        } else if constexpr (kIsInt<C>) {
          return x < 0 ? negative(x) : x;
        } else {
          return std::abs(x);
        }
      },
      self);
}

Status angle(Call& call, const Tensor& self, Tensor& out) {
  return map<kFloats | kComplexes, kCostlyGrain>(
      call, float_result(self.dtype, out), out,
      [](auto x) {
        using C = decltype(x);
        if constexpr (kIsComplexType<C>) {
          return std::arg(x);
        } else {
          return is_nan(x) ? x : x < 0 ? kPi<C> : C(0);
        }
      },
      self);
}

Status bitwise_not(Call& call, const Tensor& self, Tensor& out) {
  if (is_bool(self.dtype)) {
    return map<kInts>(
        call, self.dtype, out, [](auto x) { return decltype(x)(x == 0); }, self);
  }
  return map<kInts>(
      call, self.dtype, out, [](auto x) { return ~x; }, self);
}

Status neg(Call& call, const Tensor& self, Tensor& out) {
  if (is_bool(self.dtype)) {
    return call.fail(Status::InvalidArgument, "isn't defined for bool; use logical_not");
  }
  return map<kAllNumbers>(
      call, self.dtype, out, [](auto x) { return negative(x); }, self);
}

template <class C>
C sign_of(C x) {
  return static_cast<C>(static_cast<int>(C(0) < x) - static_cast<int>(x < C(0)));
}

Status sgn(Call& call, const Tensor& self, Tensor& out) {
  return map<kAllNumbers>(
      call, self.dtype, out,
      [](auto x) {
        using C = decltype(x);
        if constexpr (kIsComplexType<C>) {
          const auto length = std::abs(x);
          return length == 0 ? C(0) : x / length;
        } else {
          return sign_of(x);
        }
      },
      self);
}

Status round_decimals(Call& call, const Tensor& self, int64_t decimals, Tensor& out) {
  if (decimals == 0 || is_int(self.dtype)) {
    return map<kNumbers>(call, self.dtype, out,
                         WholeNumbersUnchanged<decltype([](auto x) { return std::nearbyint(x); })>{}, self);
  }
  const double power = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  return map<kFloats>(
      call, self.dtype, out,
      [power, decimals](auto x) {
        const auto scale = static_cast<decltype(x)>(power);
        return decimals < 0 ? std::nearbyint(x / scale) * scale : std::nearbyint(x * scale) / scale;
      },
      self);
}

Status logit(Call& call, const Tensor& self, std::optional<double> eps, Tensor& out) {
  const double margin = eps.value_or(-1.0);
  return map<kFloats, kCostlyGrain>(
      call, float_result(self.dtype, out), out,
      [margin](auto x) {
        using C = decltype(x);
        if (margin >= 0) {
          const auto low = static_cast<C>(margin);
          const C high = C(1) - low;
          x = x < low ? low : x > high ? high : x;
        }
        return std::log(x / (C(1) - x));
      },
      self);
}

Status nan_to_num(Call& call, const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf, Tensor& out) {
  const auto largest = [&self]() -> double {
    switch (self.dtype) {
      case DType::Float16:
        return 65504.0;
      case DType::BFloat16:
        return 0x1.FEp127;
      case DType::Float64:
      case DType::Complex128:
        return std::numeric_limits<double>::max();
      default:
        return static_cast<double>(std::numeric_limits<float>::max());
    }
  }();
  const double for_nan = nan.value_or(0.0);
  const double for_posinf = posinf.value_or(largest);
  const double for_neginf = neginf.value_or(-largest);
  return map<kAllNumbers>(
      call, self.dtype, out,
      [=](auto x) {
        using C = decltype(x);
        const auto number = [=](auto v) {
          using R = decltype(v);
          constexpr R kInfinity = std::numeric_limits<R>::infinity();
          return std::isnan(v)     ? static_cast<R>(for_nan)
                 : v == kInfinity  ? static_cast<R>(for_posinf)
                 : v == -kInfinity ? static_cast<R>(for_neginf)
                                   : v;
        };
        if constexpr (kIsInt<C>) {
          return x;
        } else if constexpr (kIsComplexType<C>) {
          return C(number(x.real()), number(x.imag()));
        } else {
          return number(x);
        }
      },
      self);
}

// ---- activations

// Bounds in the dtype's own type; NaN stays.
Status clip_to(Call& call, const Tensor& self, Scalar low, Scalar high, Tensor& out) {
  return map<kNumbers>(
      call, self.dtype, out,
      [=](auto x) {
        using C = decltype(x);
        const C from = kIsInt<C> ? static_cast<C>(low.as_int()) : static_cast<C>(low.as_double());
        const C to = kIsInt<C> ? static_cast<C>(high.as_int()) : static_cast<C>(high.as_double());
        return x < from ? from : x > to ? to : x;
      },
      self);
}

Status hardtanh(Call& call, const Tensor& self, Scalar min_val, Scalar max_val, Tensor& out) {
  return clip_to(call, self, min_val, max_val, out);
}
Status relu(Call& call, const Tensor& self, Tensor& out) {
  return map<kNumbers>(
      call, self.dtype, out, [](auto x) { return x < decltype(x)(0) ? decltype(x)(0) : x; }, self);
}
Status relu6(Call& call, const Tensor& self, Tensor& out) {
  return clip_to(call, self, Scalar::of(int64_t{0}), Scalar::of(int64_t{6}), out);
}

Status leaky_relu(Call& call, const Tensor& self, Scalar negative_slope, Tensor& out) {
  const double slope = negative_slope.as_double();
  return map<kFloats>(
      call, self.dtype, out, [slope](auto x) { return x > 0 ? x : x * static_cast<decltype(x)>(slope); }, self);
}

// scale * (x > 0 ? x : alpha * (exp(input_scale * x) - 1)).
Status exponential_unit(Call& call, const Tensor& self, double alpha, double scale, double input_scale, Tensor& out) {
  return map<kFloats, kCostlyGrain>(
      call, self.dtype, out,
      [=](auto x) {
        using C = decltype(x);
        return x < 0 ? std::expm1(x * static_cast<C>(input_scale)) * static_cast<C>(alpha * scale)
                     : x * static_cast<C>(scale);
      },
      self);
}
Status elu(Call& call, const Tensor& self, Scalar alpha, Scalar scale, Scalar input_scale, Tensor& out) {
  return exponential_unit(call, self, alpha.as_double(), scale.as_double(), input_scale.as_double(), out);
}
Status celu(Call& call, const Tensor& self, Scalar alpha, Tensor& out) {
  const double a = alpha.as_double();
  if (a == 0) {
    return call.fail(Status::InvalidArgument, "alpha is 0");
  }
  return exponential_unit(call, self, a, 1.0, 1.0 / a, out);
}

Status gelu(Call& call, const Tensor& self, std::string_view approximate, Tensor& out) {
  if (approximate == "tanh") {
    return map<kFloats, kCostlyGrain>(
        call, self.dtype, out,
        [](auto x) {
          using C = decltype(x);
          constexpr C kSqrt2OverPi = static_cast<C>(0.797884560802865355879892119868763737L);
          const C inner = kSqrt2OverPi * (x + C(0.044715) * x * x * x);
          return C(0.5) * x * (C(1) + std::tanh(inner));
        },
        self);
  }
  if (approximate != "none") {
    return call.fail(Status::InvalidArgument, "approximate is '{}', expected 'none' or 'tanh'", approximate);
  }
  return map<kFloats, kCostlyGrain>(
      call, self.dtype, out,
      [](auto x) {
        using C = decltype(x);
        return C(0.5) * x * (C(1) + std::erf(x * kSqrtHalf<C>));
      },
      self);
}

Status softplus(Call& call, const Tensor& self, Scalar beta, Scalar threshold, Tensor& out) {
  const double b = beta.as_double();
  const double limit = threshold.as_double();
  return map<kFloats, kCostlyGrain>(
      call, self.dtype, out,
      [b, limit](auto x) {
        using C = decltype(x);
        const C scaled = x * static_cast<C>(b);
        return scaled > static_cast<C>(limit) ? x : std::log1p(std::exp(scaled)) / static_cast<C>(b);
      },
      self);
}

// -log(1 + exp(-x)); the buffer is what eager keeps for the gradient.
Status log_sigmoid_shape(Call& call, const Tensor& self, Tensor& output, Tensor& buffer) {
  ET_TRY(call.resize(output, self.sizes()));
  return call.resize(buffer, self.sizes());
}
Status log_sigmoid_forward(Call& call, const Tensor& self, Tensor& output, Tensor& buffer) {
  ET_TRY((map<kFloats, kCostlyGrain>(
      call, self.dtype, buffer, [](auto x) { return std::exp(-std::abs(x)); }, self)));
  return map<kFloats, kCostlyGrain>(
      call, self.dtype, output,
      [](auto x) {
        using C = decltype(x);
        return (x < 0 ? x : is_nan(x) ? x : C(0)) - std::log1p(std::exp(-std::abs(x)));
      },
      self);
}
Status log_sigmoid(Call& call, const Tensor& self, Tensor& out) {
  return map<kFloats, kCostlyGrain>(
      call, self.dtype, out, [](auto x) { return -log1p_exp(-x); }, self);
}

Status hardshrink(Call& call, const Tensor& self, Scalar lambd, Tensor& out) {
  const double limit = lambd.as_double();
  return map<kFloats>(
      call, self.dtype, out,
      [limit](auto x) {
        using C = decltype(x);
        return x >= static_cast<C>(-limit) && x <= static_cast<C>(limit) ? C(0) : x;
      },
      self);
}
Status softshrink(Call& call, const Tensor& self, Scalar lambd, Tensor& out) {
  const double limit = lambd.as_double();
  if (!(limit >= 0)) {
    return call.fail(Status::InvalidArgument, "lambd is {}, expected at least 0", limit);
  }
  return map<kFloats>(
      call, self.dtype, out,
      [limit](auto x) {
        using C = decltype(x);
        const auto l = static_cast<C>(limit);
        return x > l ? x - l : x < -l ? x + l : x * C(0);
      },
      self);
}
Status threshold(Call& call, const Tensor& self, Scalar limit, Scalar value, Tensor& out) {
  return map<kNumbers>(
      call, self.dtype, out,
      [=](auto x) {
        using C = decltype(x);
        const C t = kIsInt<C> ? static_cast<C>(limit.as_int()) : static_cast<C>(limit.as_double());
        const C v = kIsInt<C> ? static_cast<C>(value.as_int()) : static_cast<C>(value.as_double());
        return x <= t ? v : x;
      },
      self);
}

// x = mantissa * 2^exponent with the mantissa in [0.5, 1).
Status frexp_shape(Call& call, const Tensor& self, Tensor& mantissa, Tensor& exponent) {
  ET_TRY(call.resize(mantissa, self.sizes()));
  return call.resize(exponent, self.sizes());
}
Status frexp(Call& call, const Tensor& self, Tensor& mantissa, Tensor& exponent) {
  if (exponent.dtype != DType::Int32) {
    return call.fail(Status::InvalidArgument, "exponent has dtype {}, expected int32", dtype_name(exponent.dtype));
  }
  // The exponent first: the mantissa may lie in self's memory.
  Tensor exponents = call.scratch_tensor(DType::Float64, self.sizes());
  ET_TRY(map<kFloats>(
      call, DType::Float64, exponents,
      [](auto x) {
        int power = 0;
        std::frexp(x, &power);
        return static_cast<decltype(x)>(std::isfinite(x) ? power : 0);
      },
      self));
  ET_TRY(map<kFloats>(
      call, self.dtype, mantissa,
      [](auto x) {
        int power = 0;
        return std::frexp(x, &power);
      },
      self));
  return map<kInts>(
      call, DType::Int32, exponent, [](auto x) { return x; }, exponents);
}

}  // namespace

Table unary_ops() {
  static const Op kOps[] = {
      // Functions of floating numbers.
      real_or_complex("aten::acos.out", [](auto x) { return std::acos(x); }),
      real_or_complex("aten::acosh.out", [](auto x) { return std::acosh(x); }),
      real_or_complex("aten::asin.out", [](auto x) { return std::asin(x); }),
      real_or_complex("aten::asinh.out", [](auto x) { return std::asinh(x); }),
      real_or_complex("aten::atan.out", [](auto x) { return std::atan(x); }),
      real_or_complex("aten::atanh.out", [](auto x) { return std::atanh(x); }),
      real_or_complex("aten::cos.out", [](auto x) { return std::cos(x); }),
      real_or_complex("aten::cosh.out", [](auto x) { return std::cosh(x); }),
      real("aten::deg2rad.out", [](auto x) { return x * (kPi<decltype(x)> / 180); }),
      real("aten::digamma.out", [](auto x) { return digamma(x); }),
      real("aten::erf.out", [](auto x) { return std::erf(x); }),
      real("aten::erfc.out", [](auto x) { return std::erfc(x); }),
      real("aten::erfinv.out", [](auto x) { return erfinv(x); }),
      real_or_complex("aten::exp.out", [](auto x) { return std::exp(x); }),
      real_or_complex("aten::exp2.out", [](auto x) { return exp2(x); }),
      real_or_complex("aten::expm1.out", [](auto x) { return expm1(x); }),
      real("aten::hardsigmoid.out",
           [](auto x) {
             using C = decltype(x);
             return min_nan(max_nan(x + C(3), C(0)), C(6)) / C(6);
           }),
      real("aten::hardswish.out",
           [](auto x) {
             using C = decltype(x);
             return x * min_nan(max_nan(x + C(3), C(0)), C(6)) / C(6);
           }),
      real("aten::lgamma.out", [](auto x) { return lgamma(x); }),
      real_or_complex("aten::log.out", [](auto x) { return std::log(x); }),
      real_or_complex("aten::log10.out", [](auto x) { return std::log10(x); }),
      real_or_complex("aten::log1p.out", [](auto x) { return log1p(x); }),
      real_or_complex("aten::log2.out", [](auto x) { return log2(x); }),
      real("aten::mish.out", [](auto x) { return x * std::tanh(log1p_exp(x)); }),
      real("aten::rad2deg.out", [](auto x) { return x * (180 / kPi<decltype(x)>); }),
      real_or_complex("aten::reciprocal.out", [](auto x) { return reciprocal(x); }),
      real_or_complex("aten::rsqrt.out", [](auto x) { return reciprocal(std::sqrt(x)); }),
      real_or_complex("aten::sigmoid.out", [](auto x) { return sigmoid(x); }),
      real_or_complex("aten::silu.out", [](auto x) { return quotient(x, decltype(x)(1) + std::exp(-x)); }),
      real_or_complex("aten::sin.out", [](auto x) { return std::sin(x); }),
      real_or_complex("aten::sinc.out",
                      [](auto x) {
                        using C = decltype(x);
                        const C y = x * C(kPi<RealOf<C>>);
                        return x == C(0) ? C(1) : std::sin(y) / y;
                      }),
      real_or_complex("aten::sinh.out", [](auto x) { return std::sinh(x); }),
      real_or_complex("aten::sqrt.out", [](auto x) { return std::sqrt(x); }),
      real_or_complex("aten::tan.out", [](auto x) { return std::tan(x); }),
      real_or_complex("aten::tanh.out", [](auto x) { return std::tanh(x); }),

      // Functions that keep the dtype.
      rounding("aten::ceil.out", [](auto x) { return std::ceil(x); }),
      rounding("aten::fix.out", [](auto x) { return std::trunc(x); }),
      rounding("aten::floor.out", [](auto x) { return std::floor(x); }),
      rounding("aten::round.out", [](auto x) { return std::nearbyint(x); }),
      rounding("aten::trunc.out", [](auto x) { return std::trunc(x); }),
      same_dtype<kFloats>("aten::frac.out", [](auto x) { return x - std::trunc(x); }),
      same_dtype<kNumbers>("aten::sign.out", [](auto x) { return sign_of(x); }),
      same_dtype<kAllNumbers>("aten::square.out", [](auto x) { return times(x, x); }),

      {"aten::abs.out", kSchema, broadcast_shape<1>, bind<abs>, kElementwiseFacts},
      {"aten::angle.out", kSchema, broadcast_shape<1>, bind<angle>, kElementwiseFacts},
      {"aten::bitwise_not.out", kSchema, broadcast_shape<1>, bind<bitwise_not>, kElementwiseFacts},
      {"aten::celu.out", "(Tensor self, Scalar alpha=1.0, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<celu>, kElementwiseFacts},
      {"aten::elu.out",
       "(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<4>, bind<elu>, kElementwiseFacts},
      {"aten::frexp.Tensor_out",
       "(Tensor self, *, Tensor(a!) mantissa, Tensor(b!) exponent) -> (Tensor(a!) mantissa, Tensor(b!) exponent)",
       bind<frexp_shape>, bind<frexp>, kPure | kElementwise | kAnyLayout},
      {"aten::gelu.out", "(Tensor self, *, str approximate='none', Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<gelu>, kElementwiseFacts},
      {"aten::hardshrink.out", "(Tensor self, Scalar lambd=0.5, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<hardshrink>, kElementwiseFacts},
      {"aten::hardtanh.out", "(Tensor self, Scalar min_val=-1, Scalar max_val=1, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<hardtanh>, kElementwiseFacts},
      {"aten::leaky_relu.out", "(Tensor self, Scalar negative_slope=0.01, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<2>, bind<leaky_relu>, kElementwiseFacts},
      {"aten::log_sigmoid.out", kSchema, broadcast_shape<1>, bind<log_sigmoid>, kElementwiseFacts},
      {"aten::log_sigmoid_forward.output",
       "(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer) -> (Tensor(a!), Tensor(b!))", bind<log_sigmoid_shape>,
       bind<log_sigmoid_forward>, kPure | kElementwise | kAnyLayout},
      {"aten::logit.out", "(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<logit>, kElementwiseFacts},
      {"aten::nan_to_num.out",
       "(Tensor self, float? nan=None, float? posinf=None, float? neginf=None, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<4>, bind<nan_to_num>, kElementwiseFacts},
      {"aten::neg.out", kSchema, broadcast_shape<1>, bind<neg>, kElementwiseFacts},
      {"aten::relu.out", kSchema, broadcast_shape<1>, bind<relu>, kElementwiseFacts},
      {"aten::relu6.out", kSchema, broadcast_shape<1>, bind<relu6>, kElementwiseFacts},
      {"aten::round.decimals_out", "(Tensor self, *, int decimals, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<round_decimals>, kElementwiseFacts},
      {"aten::sgn.out", kSchema, broadcast_shape<1>, bind<sgn>, kElementwiseFacts},
      {"aten::softplus.out", "(Tensor self, Scalar beta=1, Scalar threshold=20, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<softplus>, kElementwiseFacts},
      {"aten::softshrink.out", "(Tensor self, Scalar lambd=0.5, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<softshrink>, kElementwiseFacts},
      {"aten::threshold.out", "(Tensor self, Scalar threshold, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<threshold>, kElementwiseFacts},
  };
  return kOps;
}

}  // namespace etrt::ops
