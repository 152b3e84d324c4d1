#include <cmath>
#include <limits>
#include <utility>

#include "ops/elementwise.h"
#include "ops/moments.h"
#include "ops/reduce.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

using OptionalDims = std::optional<IntList>;
using OptionalDType = std::optional<DType>;

// ---- var, std, var_mean, std_mean ----

// `mean` may be null.
Status moments(Call& call, const Tensor& self, OptionalDims dim, double correction, bool keepdim, bool root,
               Tensor& variance, Tensor* mean) {
  if (!is_float(self.dtype) && !is_complex(self.dtype)) {
    return refuse_dtype(call, self);
  }
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  ET_ASSIGN(const ReduceSpace space, mean != nullptr ? reduce_space(call, self, mask, keepdim, {&variance, mean})
                                                     : reduce_space(call, self, mask, keepdim, {&variance}));
  return with_number_type(self.dtype, [&]<class C>() {
    if constexpr (std::is_same_v<C, int64_t>) {
      return refuse_dtype(call, self);
    } else {
      using R = RealOf<C>;
      const Writer<R> to_variance(variance);
      const Writer<C> to_mean(mean != nullptr ? *mean : variance);
      if (!to_variance.ok() || (mean != nullptr && !to_mean.ok())) {
        return refuse_dtype(call, to_variance.ok() ? *mean : variance);
      }
      const double nan = std::numeric_limits<double>::quiet_NaN();
      const double divisor = std::max(0.0, static_cast<double>(space.count) - correction);
      const Reader<C> reader(self.dtype);
      reduce(space, MomentsFold<C>{}, reader, self.bytes(), [&](const auto& acc, const Walk& at) {
        const double v = space.count == 0 ? nan : acc.m2 / divisor;
        to_variance.put(at.offset(1), static_cast<R>(root ? std::sqrt(v) : v));
        if (mean != nullptr) {
          to_mean.put(at.offset(2), space.count == 0 ? static_cast<C>(nan) : static_cast<C>(acc.mean));
        }
      });
      return Status::Ok;
    }
  });
}

double correction_of(const std::optional<Scalar>& correction) {
  return correction.has_value() ? correction->as_double() : 1.0;
}

Status shape_var(Call& call, const Tensor& self, OptionalDims dim, bool /*unbiased*/, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&out});
}
template <bool kRoot>
Status var(Call& call, const Tensor& self, OptionalDims dim, bool unbiased, bool keepdim, Tensor& out) {
  return moments(call, self, dim, unbiased ? 1.0 : 0.0, keepdim, kRoot, out, nullptr);
}
Status shape_var_correction(Call& call, const Tensor& self, OptionalDims dim, std::optional<Scalar> /*correction*/,
                            bool keepdim, Tensor& out) {
  return shape_var(call, self, dim, true, keepdim, out);
}
template <bool kRoot>
Status var_correction(Call& call, const Tensor& self, OptionalDims dim, std::optional<Scalar> correction, bool keepdim,
                      Tensor& out) {
  return moments(call, self, dim, correction_of(correction), keepdim, kRoot, out, nullptr);
}
Status shape_var_mean(Call& call, const Tensor& self, OptionalDims dim, std::optional<Scalar> /*correction*/,
                      bool keepdim, Tensor& variance, Tensor& mean) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&variance, &mean});
}
template <bool kRoot>
Status var_mean(Call& call, const Tensor& self, OptionalDims dim, std::optional<Scalar> correction, bool keepdim,
                Tensor& variance, Tensor& mean) {
  return moments(call, self, dim, correction_of(correction), keepdim, kRoot, variance, &mean);
}

// ---- Norms ----

enum class NormKind : uint8_t { Count, Sum, Squares, Max, Min, Powers };

NormKind norm_kind(double p) {
  if (p == 0) {
    return NormKind::Count;
  }
  if (p == 1) {
    return NormKind::Sum;
  }
  if (p == 2) {
    return NormKind::Squares;
  }
  if (std::isinf(p)) {
    return p > 0 ? NormKind::Max : NormKind::Min;
  }
  return NormKind::Powers;
}

// Powers of magnitudes are taken in the elements' type, as eager does, and summed in double.
template <class C>
struct NormFold {
  using In = C;
  using Acc = double;
  using R = RealOf<C>;
  NormKind kind;
  R p;

  Acc start() const { return kind == NormKind::Min ? std::numeric_limits<double>::infinity() : 0.0; }
  void run(Acc& acc, const In* x, int64_t n, int64_t /*at*/) const {
    with_kind([&](auto step, auto merge) {
      // Parts keep the chain of additions short.
      Acc parts[4] = {start(), start(), start(), start()};
      for (int64_t i = 0; i < n; ++i) {
        step(parts[i % 4], std::abs(x[i]));
      }
      for (const Acc part : parts) {
        merge(acc, part);
      }
    });
  }
  void lanes(Acc* accs, const In* x, int64_t n, int64_t /*at*/) const {
    with_kind([&](auto step, auto /*merge*/) {
      for (int64_t j = 0; j < n; ++j) {
        step(accs[j], std::abs(x[j]));
      }
    });
  }
  R finish(Acc acc) const {
    const R sum = static_cast<R>(acc);
    switch (kind) {
      case NormKind::Squares:
        return std::sqrt(sum);
      case NormKind::Powers:
        return std::pow(sum, R{1} / p);
      default:
        return sum;
    }
  }

 private:
  // Calls body(step, merge) with the functions of this kind, so that loops don't ask for it.
  template <class Body>
  void with_kind(const Body& body) const {
    const auto add = [](Acc& acc, Acc x) { acc += x; };
    // NaN wins, and stays.
    const auto greater = [](Acc& acc, Acc x) { acc = x > acc || x != x ? x : acc; };
    const auto less = [](Acc& acc, Acc x) { acc = x < acc || x != x ? x : acc; };
    switch (kind) {
      case NormKind::Count:
        return body([](Acc& acc, R x) { acc += x != 0 ? 1.0 : 0.0; }, add);
      case NormKind::Sum:
        return body(add, add);
      case NormKind::Squares:
        return body([](Acc& acc, R x) { acc += static_cast<double>(x * x); }, add);
      case NormKind::Max:
        return body(greater, greater);
      case NormKind::Min:
        return body(less, less);
      case NormKind::Powers:
        return body([power = p](Acc& acc, R x) { acc += static_cast<double>(std::pow(x, power)); }, add);
    }
  }
};

Status norm_over(Call& call, const Tensor& self, double p, uint32_t mask, bool keepdim, OptionalDType dtype,
                 Tensor& out) {
  DType as = dtype.value_or(self.dtype);
  if (!is_float(as) && !is_complex(as)) {
    as = float_type_of(out.dtype);
  }
  if (p < 0 || std::isinf(p)) {
    ET_TRY(check_not_empty(call, self, mask));
  }
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&out}));
  // The norm of one element is its magnitude; squares could overflow on the way.
  const NormKind kind = space.count == 1 && p != 0 ? NormKind::Sum : norm_kind(p);
  return with_number_type(as, [&]<class C>() {
    if constexpr (std::is_same_v<C, int64_t>) {
      return refuse_dtype(call, self);
    } else {
      using R = RealOf<C>;
      const NormFold<C> fold{kind, static_cast<R>(p)};
      return reduce_into<R>(call, space, fold, self, as, out, [&](double acc) { return fold.finish(acc); });
    }
  });
}

Status shape_vector_norm(Call& call, const Tensor& self, Scalar /*ord*/, OptionalDims dim, bool keepdim,
                         OptionalDType /*dtype*/, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&out});
}
Status vector_norm(Call& call, const Tensor& self, Scalar ord, OptionalDims dim, bool keepdim, OptionalDType dtype,
                   Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return norm_over(call, self, ord.as_double(), mask, keepdim, dtype, out);
}

double order_of(const std::optional<Scalar>& p) { return p.has_value() ? p->as_double() : 2.0; }

Status shape_norm(Call& call, const Tensor& self, std::optional<Scalar> /*p*/, IntList dim, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&out});
}
Status norm(Call& call, const Tensor& self, std::optional<Scalar> p, IntList dim, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return norm_over(call, self, order_of(p), mask, keepdim, {}, out);
}
Status shape_norm_dtype(Call& call, const Tensor& self, std::optional<Scalar> p, IntList dim, bool keepdim,
                        OptionalDType /*dtype*/, Tensor& out) {
  return shape_norm(call, self, p, dim, keepdim, out);
}
Status norm_dtype(Call& call, const Tensor& self, std::optional<Scalar> p, IntList dim, bool keepdim,
                  OptionalDType dtype, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return norm_over(call, self, order_of(p), mask, keepdim, dtype, out);
}
Status shape_norm_all(Call& call, const Tensor& self, std::optional<Scalar> /*p*/, Tensor& out) {
  return resize_reduced(call, self, all_dims(self), false, {&out});
}
Status norm_all(Call& call, const Tensor& self, std::optional<Scalar> p, Tensor& out) {
  return norm_over(call, self, order_of(p), all_dims(self), false, {}, out);
}
Status shape_norm_all_dtype(Call& call, const Tensor& self, std::optional<Scalar> p, DType /*dtype*/, Tensor& out) {
  return shape_norm_all(call, self, p, out);
}
Status norm_all_dtype(Call& call, const Tensor& self, std::optional<Scalar> p, DType dtype, Tensor& out) {
  return norm_over(call, self, order_of(p), all_dims(self), false, dtype, out);
}

Status shape_frobenius(Call& call, const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  return shape_norm(call, self, {}, dim, keepdim, out);
}
Status frobenius(Call& call, const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  return norm(call, self, {}, dim, keepdim, out);
}

Result<Dims> broadcast_sizes(const Call& call, const Tensor& a, const Tensor& b) {
  Dims sizes;
  for (int i = std::max(a.rank(), b.rank()); i > 0; --i) {
    const int64_t from_a = a.rank() < i ? 1 : a.size(a.rank() - i);
    const int64_t from_b = b.rank() < i ? 1 : b.size(b.rank() - i);
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return call.fail(Status::InvalidArgument, "{} has sizes {}, which don't broadcast with {} of {}",
                       call.arg_name(b), sizes_text(b.sizes()), sizes_text(a.sizes()), call.arg_name(a));
    }
    sizes.push_back(from_a == 1 ? from_b : from_a);
  }
  return sizes;
}

// The p-norm of a difference.
Status shape_dist(Call& call, const Tensor& /*self*/, const Tensor& /*other*/, Scalar /*p*/, Tensor& out) {
  return call.resize(out, {});
}
Status dist(Call& call, const Tensor& self, const Tensor& other, Scalar p, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, other));
  ET_ASSIGN(const Dims sizes, broadcast_sizes(call, self, other));
  ET_TRY(checked_nbytes(sizes, common).status());
  Tensor difference = call.scratch_tensor(common, sizes);
  ET_TRY((map<kAllNumbers>(
      call, common, difference, [](auto a, auto b) { return a - b; }, self, other)));
  return norm_over(call, difference, p.as_double(), all_dims(difference), false, {}, out);
}

// ---- renorm: slices of a dimension scaled down to a greatest norm ----

Status shape_renorm(Call& call, const Tensor& self, Scalar /*p*/, int64_t dim, Scalar /*maxnorm*/, Tensor& out) {
  if (self.rank() < 2) {
    return call.fail(Status::InvalidArgument, "self has rank {}, expected 2 or more", self.rank());
  }
  ET_TRY(wrap_dim(call, dim, self.rank()).status());
  return call.resize(out, self.sizes());
}
Status renorm(Call& call, const Tensor& self, Scalar p, int64_t dim, Scalar maxnorm, Tensor& out) {
  ET_TRY(shape_renorm(call, self, p, dim, maxnorm, out));
  if (!(p.as_double() > 0) || !(maxnorm.as_double() >= 0)) {
    return call.fail(Status::InvalidArgument, "p {} must be above 0 and maxnorm {} not below 0", p.as_double(),
                     maxnorm.as_double());
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  Dims norm_sizes;
  for (int i = 0; i < self.rank(); ++i) {
    norm_sizes.push_back(i == d ? self.size(i) : 1);
  }
  // The factors in the type that they are computed in, kept as a tensor that broadcasts to self.
  const DType real = self.dtype == DType::Float64 || self.dtype == DType::Complex128 ? DType::Float64 : DType::Float32;
  Tensor factors = call.scratch_tensor(real, norm_sizes);
  ET_TRY(norm_over(call, self, p.as_double(), all_dims(self) & ~(1U << d), true, {}, factors));
  const double limit = maxnorm.as_double();
  ET_TRY((map<kFloats>(
      call, real, factors,
      [limit](auto norm_value) {
        using T = decltype(norm_value);
        return norm_value > static_cast<T>(limit) ? static_cast<T>(limit) / (norm_value + T{1e-7}) : T{1};
      },
      factors)));
  // Half factors would be rounded.
  return map<kFloats | kComplexes>(
      call, is_complex(self.dtype) ? self.dtype : real, out, [](auto a, auto b) { return a * b; }, self, factors);
}

// ---- logsumexp ----

// The running maximum (of real parts) and the sum of exponentials relative to it.
template <class C>
struct LogSumExpFold {
  using In = C;
  using R = RealOf<C>;
  using Wide = std::conditional_t<kIsComplexType<C>, std::complex<double>, double>;
  static constexpr R kInf = std::numeric_limits<R>::infinity();
  struct Acc {
    R max;
    Wide sum;
  };
  Acc start() const { return {-kInf, Wide{}}; }
  void step(Acc& acc, In x) const {
    const R key = std::real(x);
    if (x != x) {
      acc.sum += static_cast<Wide>(x);
    } else if (key > acc.max) {
      // Relative to itself the element's magnitude is 1.
      Wide one{1};
      if constexpr (kIsComplexType<C>) {
        one = std::polar(1.0, static_cast<double>(x.imag()));
      }
      acc.sum = acc.sum * static_cast<double>(std::exp(acc.max - key)) + one;
      acc.max = key;
    } else if (std::isfinite(acc.max)) {  // nothing adds to an infinite sum, nor to no sum
      acc.sum += static_cast<Wide>(std::exp(x - acc.max));
    }
  }
  void merge(Acc& acc, const Acc& part) const {
    if (part.sum != part.sum || acc.sum != acc.sum) {
      acc.sum += part.sum;
      return;
    }
    Acc less = part;
    if (less.max > acc.max) {
      std::swap(less, acc);
    }
    if (std::isfinite(less.max) && std::isfinite(acc.max)) {
      acc.sum += less.sum * static_cast<double>(std::exp(less.max - acc.max));
    }
  }
  In finish(const Acc& acc) const { return static_cast<In>(std::log(acc.sum)) + acc.max; }
};

Status shape_logsumexp(Call& call, const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&out});
}
Status logsumexp(Call& call, const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&out}));
  const DType as = is_float(self.dtype) || is_complex(self.dtype) ? self.dtype : float_type_of(out.dtype);
  return with_number_type(as, [&]<class C>() {
    if constexpr (std::is_same_v<C, int64_t>) {
      return refuse_dtype(call, self);
    } else {
      const LogSumExpFold<C> fold;
      return reduce_into<C>(call, space, fold, self, as, out, [&](const auto& acc) { return fold.finish(acc); });
    }
  });
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

const Op kTable[] = {
    {"aten::var.out",
     "(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_var>, bind<var<false>>, kFacts},
    {"aten::std.out",
     "(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_var>, bind<var<true>>, kFacts},
    {"aten::var.correction_out",
     "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_var_correction>, bind<var_correction<false>>, kFacts},
    {"aten::std.correction_out",
     "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_var_correction>, bind<var_correction<true>>, kFacts},
    {"aten::var_mean.correction_out",
     "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False, Tensor(a!) out0, Tensor(b!) "
     "out1) -> (Tensor(a!), Tensor(b!))",
     bind<shape_var_mean>, bind<var_mean<false>>, kFacts},
    {"aten::std_mean.correction_out",
     "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False, Tensor(a!) out0, Tensor(b!) "
     "out1) -> (Tensor(a!), Tensor(b!))",
     bind<shape_var_mean>, bind<var_mean<true>>, kFacts},
    {"aten::linalg_vector_norm.out",
     "(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<shape_vector_norm>, bind<vector_norm>, kFacts},
    {"aten::norm.out", "(Tensor self, Scalar? p, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_norm>, bind<norm>, kFacts},
    {"aten::norm.dtype_out",
     "(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_norm_dtype>, bind<norm_dtype>, kFacts},
    {"aten::norm.Scalar_out", "(Tensor self, Scalar p=2, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_norm_all>,
     bind<norm_all>, kFacts},
    {"aten::norm.ScalarOpt_dtype_out", "(Tensor self, Scalar? p, *, ScalarType dtype, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_norm_all_dtype>, bind<norm_all_dtype>, kFacts},
    {"aten::native_norm.out", "(Tensor self, Scalar p=2, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_norm_all>,
     bind<norm_all>, kFacts},
    {"aten::native_norm.ScalarOpt_dim_dtype_out",
     "(Tensor self, Scalar? p, int[1] dim, bool keepdim, ScalarType? dtype, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_norm_dtype>, bind<norm_dtype>, kFacts},
    {"aten::frobenius_norm.out", "(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_frobenius>, bind<frobenius>, kFacts},
    {"aten::dist.out", "(Tensor self, Tensor other, Scalar p=2, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_dist>,
     bind<dist>, kFacts},
    {"aten::renorm.out", "(Tensor self, Scalar p, int dim, Scalar maxnorm, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_renorm>, bind<renorm>, kFacts},
    {"aten::logsumexp.out", "(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_logsumexp>, bind<logsumexp>, kFacts},
    {"aten::special_logsumexp.out", "(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_logsumexp>, bind<logsumexp>, kFacts},
};

}  // namespace

Table statistics_ops() { return kTable; }

}  // namespace etrt::ops
