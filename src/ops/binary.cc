// Arithmetic of two tensors, or of a tensor and a number. A plain operator is a row: its name and formula.
#include <atomic>
#include <cmath>
#include <numeric>

#include "core/half.h"
#include "ops/binary_rows.h"
#include "ops/elementwise.h"
#include "ops/formulas.h"
#include "ops/special.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// ---- sums and products

// a + alpha * b.
Status add_scaled(Call& call, const Operand& a, const Operand& b, Scalar alpha, bool subtract, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, a, b));
  if (alpha.is_float() && (is_int(common) || is_bool(common))) {
    return call.fail(Status::InvalidArgument, "alpha is {}, expected a whole number for inputs of dtype {}", alpha.d,
                     dtype_name(common));
  }
  if (subtract && is_bool(common)) {
    return call.fail(Status::InvalidArgument, "isn't defined for bool; use logical_xor");
  }
  const int64_t whole = subtract ? negative(alpha.as_int()) : alpha.as_int();
  const double scale = subtract ? -alpha.as_double() : alpha.as_double();
  return map<kAllNumbers>(
      call, common, out,
      [whole, scale](auto x, auto y) {
        using C = decltype(x);
        if constexpr (kIsInt<C>) {
          return plus(x, times(static_cast<C>(whole), y));
        } else {
          return x + times(C(static_cast<RealOf<C>>(scale)), y);
        }
      },
      a, b);
}
Status add(Call& call, const Tensor& self, const Tensor& other, Scalar alpha, Tensor& out) {
  return add_scaled(call, self, other, alpha, false, out);
}
Status add_number(Call& call, const Tensor& self, Scalar other, Scalar alpha, Tensor& out) {
  return add_scaled(call, self, other, alpha, false, out);
}
Status sub(Call& call, const Tensor& self, const Tensor& other, Scalar alpha, Tensor& out) {
  return add_scaled(call, self, other, alpha, true, out);
}
Status sub_number(Call& call, const Tensor& self, Scalar other, Scalar alpha, Tensor& out) {
  return add_scaled(call, self, other, alpha, true, out);
}
Status rsub(Call& call, const Tensor& self, const Tensor& other, Scalar alpha, Tensor& out) {
  return add_scaled(call, other, self, alpha, true, out);
}
Status rsub_number(Call& call, const Tensor& self, Scalar other, Scalar alpha, Tensor& out) {
  return add_scaled(call, other, self, alpha, true, out);
}

template <class B>
Status mul(Call& call, const Tensor& self, B other, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, other));
  return map<kAllNumbers>(
      call, common, out, [](auto x, auto y) { return times(x, y); }, self, exact_number(other));
}

// ---- quotients

// Integer formulas that divide note a zero divisor here; eager refuses it.
class ZeroDivisor {
 public:
  template <class C>
  C seen(C divisor) {
    if (divisor == 0) {
      seen_.store(true, std::memory_order_relaxed);
    }
    return divisor;
  }
  Status check(const Call& call) const {
    return seen_ ? call.fail(Status::InvalidArgument, "other holds a zero: integers can't be divided by it")
                 : Status::Ok;
  }

 private:
  std::atomic<bool> seen_{false};
};

// map() for a formula of numbers whose integer form divides by y.
template <class F>
Status divide_numbers(Call& call, DType common, Tensor& out, const Operand& a, const Operand& b, const F& f) {
  ZeroDivisor zero;
  ET_TRY(map<kNumbers>(
      call, common, out,
      [&zero, &f](auto x, auto y) {
        if constexpr (kIsInt<decltype(x)>) {
          return f(x, zero.seen(y));
        } else {
          return f(x, y);
        }
      },
      a, b));
  return zero.check(call);
}

Status true_divide(Call& call, const Operand& a, const Operand& b, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, a, b));
  return map<kFloats | kComplexes>(
      call, float_result(common, out), out, [](auto x, auto y) { return quotient(x, y); }, a, exact_number(b));
}

bool is_one_number(const Operand& operand) { return operand.tensor == nullptr || operand.tensor->numel() == 1; }

template <class HalfType>
constexpr auto kRoundToHalf =
    [](auto x) { return static_cast<decltype(x)>(static_cast<float>(HalfType::from(static_cast<float>(x)))); };
constexpr auto kUnrounded = [](auto x) { return x; };

// A quotient that becomes whole. Dividing half numbers by a tensor eager rounds each step to their dtype, which
// decides where the quotient is near a whole number; dividing them by one number it doesn't.
template <class F>
Status whole_divide(Call& call, const Operand& a, const Operand& b, Tensor& out, const F& f) {
  ET_ASSIGN(const DType common, result_type(call, a, b));
  if (common == DType::Float16 && !is_one_number(b)) {
    return map<kFloats>(
        call, common, out, [&f](auto x, auto y) { return f(x, y, kRoundToHalf<Half>); }, a, b);
  }
  if (common == DType::BFloat16 && !is_one_number(b)) {
    return map<kFloats>(
        call, common, out, [&f](auto x, auto y) { return f(x, y, kRoundToHalf<BFloat16>); }, a, b);
  }
  return divide_numbers(call, common, out, a, exact_number(b), [&f](auto x, auto y) { return f(x, y, kUnrounded); });
}
Status floor_divide(Call& call, const Operand& a, const Operand& b, Tensor& out) {
  return whole_divide(call, a, b, out, [](auto x, auto y, auto round) { return floor_quotient(x, y, round); });
}
Status trunc_divide(Call& call, const Operand& a, const Operand& b, Tensor& out) {
  return whole_divide(call, a, b, out, [](auto x, auto y, auto round) {
    if constexpr (kIsInt<decltype(x)>) {
      return truncated_quotient(x, y);
    } else {
      return std::trunc(round(x / y));
    }
  });
}

template <class B>
Status div(Call& call, const Tensor& self, B other, Tensor& out) {
  return true_divide(call, self, other, out);
}
template <class B>
Status div_mode(Call& call, const Tensor& self, B other, std::optional<std::string_view> rounding_mode, Tensor& out) {
  if (!rounding_mode) {
    return true_divide(call, self, other, out);
  }
  if (*rounding_mode == "floor") {
    return floor_divide(call, self, other, out);
  }
  if (*rounding_mode == "trunc") {
    return trunc_divide(call, self, other, out);
  }
  return call.fail(Status::InvalidArgument, "rounding_mode is '{}', expected 'floor', 'trunc' or None", *rounding_mode);
}
template <class B>
Status floor_div(Call& call, const Tensor& self, B other, Tensor& out) {
  return floor_divide(call, self, other, out);
}

template <class A, class B>
Status remainder(Call& call, A self, B other, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, other));
  return divide_numbers(call, common, out, Operand(self), Operand(other),
                        [](auto x, auto y) { return floor_remainder(x, y); });
}
template <class B>
Status fmod(Call& call, const Tensor& self, B other, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, other));
  return divide_numbers(call, common, out, Operand(self), Operand(other), [](auto x, auto y) {
    if constexpr (kIsInt<decltype(x)>) {
      return truncated_remainder(x, y);
    } else {
      return std::fmod(x, y);
    }
  });
}

// ---- powers

template <class C>
C power(C x, C y) {
  if constexpr (kIsInt<C>) {
    return integer_power(x, y);
  } else {
    return std::pow(x, y);
  }
}

// Eager's short cuts for floating numbers, which differ from pow for some arguments. `round` is to the dtype:
// eager keeps the square of a bfloat16 number as one.
template <class Round, class Map>
std::optional<Status> pow_short_cut(double exponent, Round round, const Map& with) {
  if (exponent == 0.5) {
    return with([](auto x) { return std::sqrt(x); });
  }
  if (exponent == -0.5) {
    return with([](auto x) { return reciprocal(std::sqrt(x)); });
  }
  if (exponent == 3) {
    return with([round](auto x) { return times(round(times(x, x)), x); });
  }
  if (exponent == -1) {
    return with([](auto x) { return reciprocal(x); });
  }
  if (exponent == -2) {
    return with([round](auto x) { return reciprocal(round(times(x, x))); });
  }
  return std::nullopt;
}

Status pow_by_number(Call& call, const Tensor& self, Scalar exponent, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, exponent));
  const bool whole = is_int(common) || is_bool(common);
  if (whole && exponent.as_int() < 0) {
    return call.fail(Status::InvalidArgument, "exponent is {}: integers have no negative powers in their dtype",
                     exponent.as_int());
  }
  const double e = exponent.as_double();
  if (e == 0 || e == 1) {  // whatever else the base is
    return map<kAllNumbers>(
        call, common, out, [e](auto x) { return e == 0 ? decltype(x)(1) : x; }, self);
  }
  if (e == 2) {
    return map<kAllNumbers>(
        call, common, out, [](auto x) { return times(x, x); }, self);
  }
  std::optional<Status> done;
  if (common == DType::BFloat16) {
    const auto with = [&](auto f) { return map<kFloats>(call, common, out, f, self); };
    done = pow_short_cut(e, kRoundToHalf<BFloat16>, with);
  } else if (!whole && common != DType::Float16) {
    const auto with = [&](auto f) { return map<kFloats | kComplexes>(call, common, out, f, self); };
    done = pow_short_cut(e, kUnrounded, with);
  }
  return done ? *done
              : map<kAllNumbers, kCostlyGrain>(
                    call, common, out, [](auto x, auto y) { return power(x, y); }, self, exponent);
}

// Any power of 1 is 1, whatever pow says of infinite complex exponents.
Status pow_of_number(Call& call, Scalar self, const Tensor& exponent, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, exponent));
  if (self.as_double() == 1) {
    return map<kAllNumbers>(
        call, common, out, [](auto x) { return decltype(x)(1); }, exponent);
  }
  return map<kAllNumbers, kCostlyGrain>(
      call, common, out, [](auto x, auto y) { return power(x, y); }, self, exponent);
}

// self * 2^other. The power is a half number where `other` is.
Status ldexp(Call& call, const Tensor& self, const Tensor& other, Tensor& out) {
  ET_ASSIGN(DType common, result_type(call, self, other));
  common = float_result(common, out);
  const auto with = [&]<unsigned kTypes>(auto round) {
    return map<kTypes>(
        call, common, out, [round](auto x, auto y) { return times(x, round(exp2(y))); }, self, other);
  };
  switch (is_complex(common) ? common : other.dtype) {
    case DType::Float16:
      return with.template operator()<kFloats>(kRoundToHalf<Half>);
    case DType::BFloat16:
      return with.template operator()<kFloats>(kRoundToHalf<BFloat16>);
    default:
      return with.template operator()<kFloats | kComplexes>(kUnrounded);
  }
}

// ---- others

template <class C>
C log_add_exp(C a, C b) {
  if constexpr (kIsComplexType<C>) {
    const bool first = a.real() >= b.real();
    const C larger = first ? a : b;
    const C smaller = first ? b : a;
    if (a == b && std::isinf(a.real())) {
      return a;
    }
    return larger + log1p(std::exp(smaller - larger));
  } else {
    if (std::isinf(a) && a == b) {
      return a;
    }
    return max_nan(a, b) + std::log1p(std::exp(-std::abs(a - b)));
  }
}
template <class C>
C log_add_exp2(C a, C b) {
  constexpr RealOf<C> kLn2 = static_cast<RealOf<C>>(0.693147180559945309417232121458176568L);
  if constexpr (kIsComplexType<C>) {
    return log_add_exp(a * kLn2, b * kLn2) / kLn2;
  } else {
    if (std::isinf(a) && a == b) {
      return a;
    }
    return max_nan(a, b) + std::log1p(std::exp2(-std::abs(a - b))) / kLn2;
  }
}

template <class C>
uint64_t magnitude(C x) {
  return static_cast<uint64_t>(std::is_signed_v<C> && x < C{0} ? negative(x) : x);
}
template <class C>
C greatest_divisor(C a, C b) {
  return static_cast<C>(std::gcd(magnitude(a), magnitude(b)));
}
template <class C>
C least_multiple(C a, C b) {
  const auto divisor = static_cast<uint64_t>(greatest_divisor(a, b));
  return divisor == 0 ? 0 : static_cast<C>(magnitude(static_cast<C>(magnitude(a) / divisor * magnitude(b))));
}

// The neighbour of `a` on the way to `b` among 16-bit numbers given as float.
template <class Half>
float next_half(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) {
    return a + b;
  }
  if (a == b) {
    return b;
  }
  if (a == 0) {
    return static_cast<float>(Half{static_cast<uint16_t>(b < 0 ? 0x8001U : 0x0001U)});
  }
  const uint16_t bits = Half::from(a).bits;
  return static_cast<float>(Half{static_cast<uint16_t>((b > a) == (a > 0) ? bits + 1 : bits - 1)});
}
Status nextafter(Call& call, const Tensor& self, const Tensor& other, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, other));
  if (common == DType::Float16) {
    return map<kFloats>(
        call, common, out, [](auto x, auto y) { return decltype(x)(next_half<Half>(float(x), float(y))); }, self,
        other);
  }
  if (common == DType::BFloat16) {
    return map<kFloats>(
        call, common, out, [](auto x, auto y) { return decltype(x)(next_half<BFloat16>(float(x), float(y))); }, self,
        other);
  }
  return map<kFloats>(
      call, common, out, [](auto x, auto y) { return std::nextafter(x, y); }, self, other);
}

constexpr std::string_view kScaled = "(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kScaledNumber =
    "(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)";

}  // namespace

Table binary_ops() {
  constexpr auto kFloating = Result::Floating;
  const auto atan2_of = formula<kFloats, kFloating>([](auto x, auto y) { return std::atan2(x, y); });
  const auto copysign_of = formula<kFloats, kFloating>([](auto x, auto y) { return std::copysign(x, y); });
  const auto power_of = formula<kAllNumbers>([](auto x, auto y) { return power(x, y); });
  const auto xlogy_of = formula<kFloats, kFloating>([](auto x, auto y) {
    return is_nan(y) ? y : x == 0 ? decltype(x)(0) : x * std::log(y);
  });
  const auto xlog1py_of = formula<kFloats, kFloating>([](auto x, auto y) {
    return is_nan(y) ? y : x == 0 ? decltype(x)(0) : x * std::log1p(y);
  });
  const auto max_of = formula<kNumbers>([](auto x, auto y) { return max_nan(x, y); });
  const auto min_of = formula<kNumbers>([](auto x, auto y) { return min_nan(x, y); });

  static const Op kOps[] = {
      {"aten::add.out", kScaled, broadcast_shape<3>, bind<add>, kElementwiseFacts},
      {"aten::add.Scalar_out", kScaledNumber, broadcast_shape<3>, bind<add_number>, kElementwiseFacts},
      {"aten::sub.out", kScaled, broadcast_shape<3>, bind<sub>, kElementwiseFacts},
      {"aten::sub.Scalar_out", kScaledNumber, broadcast_shape<3>, bind<sub_number>, kElementwiseFacts},
      {"aten::rsub.Tensor_out", kScaled, broadcast_shape<3>, bind<rsub>, kElementwiseFacts},
      {"aten::rsub.Scalar_out", kScaledNumber, broadcast_shape<3>, bind<rsub_number>, kElementwiseFacts},
      {"aten::mul.out", kTensors, broadcast_shape<2>, bind<mul<const Tensor&>>, kElementwiseFacts},
      {"aten::mul.Scalar_out", kTensorNumber, broadcast_shape<2>, bind<mul<Scalar>>, kElementwiseFacts},

      {"aten::div.out", kTensors, broadcast_shape<2>, bind<div<const Tensor&>>, kElementwiseFacts},
      {"aten::div.Scalar_out", kTensorNumber, broadcast_shape<2>, bind<div<Scalar>>, kElementwiseFacts},
      {"aten::div.out_mode", "(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<div_mode<const Tensor&>>, kElementwiseFacts},
      {"aten::div.Scalar_mode_out", "(Tensor self, Scalar other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<div_mode<Scalar>>, kElementwiseFacts},
      {"aten::true_divide.out", kTensors, broadcast_shape<2>, bind<div<const Tensor&>>, kElementwiseFacts},
      {"aten::floor_divide.out", kTensors, broadcast_shape<2>, bind<floor_div<const Tensor&>>, kElementwiseFacts},
      {"aten::floor_divide.Scalar_out", kTensorNumber, broadcast_shape<2>, bind<floor_div<Scalar>>, kElementwiseFacts},
      {"aten::remainder.Tensor_out", kTensors, broadcast_shape<2>, bind<remainder<const Tensor&, const Tensor&>>,
       kElementwiseFacts},
      {"aten::remainder.Scalar_out", kTensorNumber, broadcast_shape<2>, bind<remainder<const Tensor&, Scalar>>,
       kElementwiseFacts},
      {"aten::remainder.Scalar_Tensor_out", kNumberTensor, broadcast_shape<2>, bind<remainder<Scalar, const Tensor&>>,
       kElementwiseFacts},
      {"aten::fmod.Tensor_out", kTensors, broadcast_shape<2>, bind<fmod<const Tensor&>>, kElementwiseFacts},
      {"aten::fmod.Scalar_out", kTensorNumber, broadcast_shape<2>, bind<fmod<Scalar>>, kElementwiseFacts},

      tensors("aten::pow.Tensor_Tensor_out", power_of,
              "(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)"),
      {"aten::pow.Scalar_out", "(Scalar self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<pow_of_number>, kElementwiseFacts},
      {"aten::pow.Tensor_Scalar_out", "(Tensor self, Scalar exponent, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<2>, bind<pow_by_number>, kElementwiseFacts},

      tensors("aten::atan2.out", atan2_of),
      tensors("aten::arctan2.out", atan2_of),
      tensors("aten::copysign.out", copysign_of),
      tensor_number("aten::copysign.Scalar_out", copysign_of),
      tensors("aten::hypot.out", formula<kFloats>([](auto x, auto y) { return std::hypot(x, y); })),
      {"aten::ldexp.out", kTensors, broadcast_shape<2>, bind<ldexp>, kElementwiseFacts},
      tensors("aten::logaddexp.out", formula<kFloats | kComplexes>([](auto x, auto y) { return log_add_exp(x, y); })),
      tensors("aten::logaddexp2.out", formula<kFloats | kComplexes>([](auto x, auto y) { return log_add_exp2(x, y); })),
      tensors("aten::xlogy.OutTensor", xlogy_of),
      tensor_number("aten::xlogy.OutScalar_Other", xlogy_of),
      number_tensor("aten::xlogy.OutScalar_Self", xlogy_of),
      tensors("aten::special_xlog1py.out", xlog1py_of),
      tensor_number("aten::special_xlog1py.other_scalar_out", xlog1py_of),
      number_tensor("aten::special_xlog1py.self_scalar_out", xlog1py_of),

      tensors("aten::maximum.out", max_of),
      tensors("aten::max.out", max_of),
      tensors("aten::minimum.out", min_of),
      tensors("aten::min.out", min_of),
      tensors("aten::fmax.out", formula<kNumbers>([](auto x, auto y) { return x > y || is_nan(y) ? x : y; })),
      tensors("aten::fmin.out", formula<kNumbers>([](auto x, auto y) { return x < y || is_nan(y) ? x : y; })),
      tensors("aten::heaviside.out",
              formula<kNumbers>([](auto x, auto y) { return x == 0 ? y : static_cast<decltype(x)>(x > 0); }),
              "(Tensor self, Tensor values, *, Tensor(a!) out) -> Tensor(a!)"),
      tensors("aten::gcd.out", formula<kInts>([](auto x, auto y) { return greatest_divisor(x, y); })),
      tensors("aten::lcm.out", formula<kInts>([](auto x, auto y) { return least_multiple(x, y); })),
      {"aten::nextafter.out", kTensors, broadcast_shape<2>, bind<nextafter>, kElementwiseFacts},
  };
  return kOps;
}

}  // namespace etrt::ops
