#include <bit>
#include <cmath>
#include <limits>

#include "ops/reduce.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

using OptionalDims = std::optional<IntList>;
using OptionalDim = std::optional<int64_t>;
using OptionalDType = std::optional<DType>;

Result<uint32_t> mask_of(const Call& call, const Tensor& self, int64_t dim) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  return 1U << d;
}
Result<uint32_t> mask_of(const Call& call, const Tensor& self, OptionalDim dim) {
  return dim.has_value() ? mask_of(call, self, *dim) : Result<uint32_t>(all_dims(self));
}

// ---- Shapes: one for each form of argument list ----

Status shape_all_dtype(Call& call, const Tensor& self, OptionalDType /*dtype*/, Tensor& out) {
  return resize_reduced(call, self, all_dims(self), false, {&out});
}
Status shape_dims_dtype(Call& call, const Tensor& self, OptionalDims dim, bool keepdim, OptionalDType /*dtype*/,
                        Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&out});
}
Status shape_dim_dtype(Call& call, const Tensor& self, int64_t dim, bool keepdim, OptionalDType /*dtype*/,
                       Tensor& out) {
  ET_ASSIGN(const uint32_t mask, mask_of(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&out});
}
Status shape_all(Call& call, const Tensor& self, Tensor& out) {
  return resize_reduced(call, self, all_dims(self), false, {&out});
}
Status shape_dims(Call& call, const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&out});
}
Status shape_dim(Call& call, const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, mask_of(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&out});
}
Status shape_optional_dim(Call& call, const Tensor& self, OptionalDim dim, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, mask_of(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&out});
}
Status shape_dim_pair(Call& call, const Tensor& self, int64_t dim, bool keepdim, Tensor& first, Tensor& second) {
  ET_ASSIGN(const uint32_t mask, mask_of(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&first, &second});
}
Status shape_optional_dim_pair(Call& call, const Tensor& self, OptionalDim dim, bool keepdim, Tensor& first,
                               Tensor& second) {
  ET_ASSIGN(const uint32_t mask, mask_of(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&first, &second});
}
Status shape_all_pair(Call& call, const Tensor& self, Tensor& first, Tensor& second) {
  return resize_reduced(call, self, all_dims(self), false, {&first, &second});
}

// ---- sum, mean, prod ----

// What sums are carried in: exact enough that order doesn't matter, and wrapping for integers.
template <class C>
struct WideSum {
  using Type = C;
};
template <>
struct WideSum<float> {
  using Type = double;
};
template <>
struct WideSum<std::complex<float>> {
  using Type = std::complex<double>;
};
template <>
struct WideSum<int64_t> {
  using Type = uint64_t;
};

template <class C>
struct SumFold {
  using In = C;
  using Acc = typename WideSum<C>::Type;
  Acc start() const { return Acc{}; }
  void step(Acc& acc, In x) const { acc += static_cast<Acc>(x); }
  void merge(Acc& acc, const Acc& part) const { acc += part; }
};

// Leaves NaN out; counts what it takes in.
template <class C>
struct NanSumFold {
  using In = C;
  struct Acc {
    double sum;
    double count;
  };
  Acc start() const { return {0, 0}; }
  void step(Acc& acc, In x) const {
    const bool counts = x == x;
    acc.sum += counts ? static_cast<double>(x) : 0;
    acc.count += counts ? 1 : 0;
  }
  void merge(Acc& acc, const Acc& part) const {
    acc.sum += part.sum;
    acc.count += part.count;
  }
};

template <class C>
struct ProdFold {
  using In = C;
  using Acc = std::conditional_t<std::is_same_v<C, int64_t>, uint64_t, C>;
  Acc start() const { return Acc{1}; }
  void step(Acc& acc, In x) const { acc *= static_cast<Acc>(x); }
  void merge(Acc& acc, const Acc& part) const { acc *= part; }
};

Status sum_over(Call& call, const Tensor& self, uint32_t mask, bool keepdim, OptionalDType dtype, Tensor& out) {
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&out}));
  const DType as = dtype.value_or(out.dtype);
  return with_number_type(as, [&]<class C>() {
    return reduce_into<C>(call, space, SumFold<C>{}, self, as, out,
                          [](const auto& acc) { return static_cast<C>(acc); });
  });
}
Status sum(Call& call, const Tensor& self, OptionalDType dtype, Tensor& out) {
  return sum_over(call, self, all_dims(self), false, dtype, out);
}
Status sum_dims(Call& call, const Tensor& self, OptionalDims dim, bool keepdim, OptionalDType dtype, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return sum_over(call, self, mask, keepdim, dtype, out);
}

Status nansum(Call& call, const Tensor& self, OptionalDims dim, bool keepdim, OptionalDType dtype, Tensor& out) {
  const DType as = dtype.value_or(out.dtype);
  if (!is_float(self.dtype) || !is_float(as)) {  // no NaN in sight
    return sum_dims(call, self, dim, keepdim, dtype, out);
  }
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&out}));
  return with_float_type(as, [&]<class C>() {
    return reduce_into<C>(call, space, NanSumFold<C>{}, self, as, out,
                          [](const auto& acc) { return static_cast<C>(acc.sum); });
  });
}

// A mean is of floating or complex dtype.
Status check_mean_dtype(const Call& call, DType as) {
  if (!is_float(as) && !is_complex(as)) {
    return call.fail(Status::InvalidArgument, "dtype {} is neither floating nor complex", dtype_name(as));
  }
  return Status::Ok;
}

Status mean_over(Call& call, const Tensor& self, uint32_t mask, bool keepdim, OptionalDType dtype, Tensor& out) {
  const DType as = dtype.value_or(out.dtype);
  ET_TRY(check_mean_dtype(call, as));
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&out}));
  const auto count = static_cast<double>(space.count);
  return with_number_type(as, [&]<class C>() {
    return reduce_into<C>(call, space, SumFold<C>{}, self, as, out,
                          [count](const auto& acc) { return static_cast<C>(acc / count); });
  });
}
Status mean(Call& call, const Tensor& self, OptionalDType dtype, Tensor& out) {
  return mean_over(call, self, all_dims(self), false, dtype, out);
}
Status mean_dims(Call& call, const Tensor& self, OptionalDims dim, bool keepdim, OptionalDType dtype, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return mean_over(call, self, mask, keepdim, dtype, out);
}
Status nanmean(Call& call, const Tensor& self, OptionalDims dim, bool keepdim, OptionalDType dtype, Tensor& out) {
  if (is_complex(self.dtype) || is_complex(out.dtype)) {
    return mean_dims(call, self, dim, keepdim, dtype, out);
  }
  const DType as = dtype.value_or(out.dtype);
  ET_TRY(check_mean_dtype(call, as));
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&out}));
  return with_float_type(as, [&]<class C>() {
    return reduce_into<C>(call, space, NanSumFold<C>{}, self, as, out,
                          [](const auto& acc) { return static_cast<C>(acc.sum / acc.count); });
  });
}

Status prod_over(Call& call, const Tensor& self, uint32_t mask, bool keepdim, OptionalDType dtype, Tensor& out) {
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&out}));
  const DType as = dtype.value_or(out.dtype);
  return with_number_type(as, [&]<class C>() {
    return reduce_into<C>(call, space, ProdFold<C>{}, self, as, out,
                          [](const auto& acc) { return static_cast<C>(acc); });
  });
}
Status prod(Call& call, const Tensor& self, OptionalDType dtype, Tensor& out) {
  return prod_over(call, self, all_dims(self), false, dtype, out);
}
Status prod_dim(Call& call, const Tensor& self, int64_t dim, bool keepdim, OptionalDType dtype, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, mask_of(call, self, dim));
  return prod_over(call, self, mask, keepdim, dtype, out);
}

Status shape_trace(Call& call, const Tensor& self, Tensor& out) {
  if (self.rank() != 2) {
    return call.fail(Status::InvalidArgument, "self has rank {}, expected 2", self.rank());
  }
  return call.resize(out, {});
}
Status trace(Call& call, const Tensor& self, Tensor& out) {
  ET_TRY(shape_trace(call, self, out));
  ReduceSpace space;
  space.outputs = 1;
  space.count = std::min(self.size(0), self.size(1));
  space.reduced.push_back({space.count, {self.stride(0) + self.stride(1)}});
  return with_number_type(out.dtype, [&]<class C>() {
    return reduce_into<C>(call, space, SumFold<C>{}, self, out.dtype, out,
                          [](const auto& acc) { return static_cast<C>(acc); });
  });
}

// ---- any, all, count_nonzero ----

struct AnyFold {
  using In = uint8_t;
  using Acc = uint8_t;
  Acc start() const { return 0; }
  void step(Acc& acc, In x) const { acc |= static_cast<uint8_t>(x != 0); }
  void merge(Acc& acc, const Acc& part) const { acc |= part; }
};
struct AllFold {
  using In = uint8_t;
  using Acc = uint8_t;
  Acc start() const { return 1; }
  void step(Acc& acc, In x) const { acc &= static_cast<uint8_t>(x != 0); }
  void merge(Acc& acc, const Acc& part) const { acc &= part; }
};
struct CountFold {
  using In = uint8_t;
  using Acc = int64_t;
  Acc start() const { return 0; }
  void step(Acc& acc, In x) const { acc += x != 0 ? 1 : 0; }
  void merge(Acc& acc, const Acc& part) const { acc += part; }
};

template <class Fold>
Status truth_over(Call& call, const Tensor& self, uint32_t mask, bool keepdim, Tensor& out) {
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&out}));
  const DType as = self.dtype == DType::UInt8 ? DType::UInt8 : DType::Bool;
  return reduce_into<int64_t>(call, space, Fold{}, self, as, out, [](auto acc) { return static_cast<int64_t>(acc); });
}
template <class Fold>
Status truth_all(Call& call, const Tensor& self, Tensor& out) {
  return truth_over<Fold>(call, self, all_dims(self), false, out);
}
template <class Fold>
Status truth_dim(Call& call, const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, mask_of(call, self, dim));
  return truth_over<Fold>(call, self, mask, keepdim, out);
}

// Unlike elsewhere, an empty list reduces nothing here.
Result<uint32_t> truth_mask(const Call& call, const Tensor& self, OptionalDims dim) {
  return dim.has_value() ? wrap_dims(call, *dim, self.rank(), "dim") : Result<uint32_t>(all_dims(self));
}
Status shape_truth_dims(Call& call, const Tensor& self, OptionalDims dim, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, truth_mask(call, self, dim));
  return resize_reduced(call, self, mask, keepdim, {&out});
}
template <class Fold>
Status truth_dims(Call& call, const Tensor& self, OptionalDims dim, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, truth_mask(call, self, dim));
  return truth_over<Fold>(call, self, mask, keepdim, out);
}

Status shape_count_nonzero_dims(Call& call, const Tensor& self, IntList dim, Tensor& out) {
  return shape_dims(call, self, dim, false, out);
}
Status count_nonzero_dims(Call& call, const Tensor& self, IntList dim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return truth_over<CountFold>(call, self, mask, false, out);
}
Status shape_count_nonzero(Call& call, const Tensor& self, OptionalDim dim, Tensor& out) {
  return shape_optional_dim(call, self, dim, false, out);
}
Status count_nonzero(Call& call, const Tensor& self, OptionalDim dim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, mask_of(call, self, dim));
  return truth_over<CountFold>(call, self, mask, false, out);
}

// ---- Least and greatest ----

template <class C>
bool is_nan(C x) {
  return x != x;
}
template <class C>
C lowest_value() {
  return std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::min();
}
template <class C>
C greatest_value() {
  return std::numeric_limits<C>::has_infinity ? std::numeric_limits<C>::infinity() : std::numeric_limits<C>::max();
}

// NaN wins, and stays.
template <class C, bool kMax>
struct ExtremeFold {
  using In = C;
  using Acc = C;
  Acc start() const { return kMax ? lowest_value<C>() : greatest_value<C>(); }
  void step(Acc& acc, In x) const {
    const bool better = kMax ? x > acc : x < acc;
    acc = better || is_nan(x) ? x : acc;
  }
  void merge(Acc& acc, const Acc& part) const { step(acc, part); }
};

template <class C>
struct MinMaxFold {
  using In = C;
  struct Acc {
    C min;
    C max;
  };
  Acc start() const { return {greatest_value<C>(), lowest_value<C>()}; }
  void step(Acc& acc, In x) const {
    ExtremeFold<C, false>{}.step(acc.min, x);
    ExtremeFold<C, true>{}.step(acc.max, x);
  }
  void merge(Acc& acc, const Acc& part) const {
    ExtremeFold<C, false>{}.step(acc.min, part.min);
    ExtremeFold<C, true>{}.step(acc.max, part.max);
  }
};

// Also where: the first of equal values, the first NaN.
template <class C, bool kMax>
struct ArgFold {
  using In = C;
  struct Acc {
    C best;
    int64_t index;
  };
  Acc start() const { return {C{}, -1}; }
  void run(Acc& acc, const In* x, int64_t n, int64_t at) const {
    for (int64_t i = 0; i < n; ++i) {
      consider(acc, x[i], at + i);
    }
  }
  void lanes(Acc* accs, const In* x, int64_t n, int64_t at) const {
    for (int64_t j = 0; j < n; ++j) {
      consider(accs[j], x[j], at);
    }
  }

 private:
  static void consider(Acc& acc, In x, int64_t index) {
    const bool better = kMax ? x > acc.best : x < acc.best;
    if (better || acc.index < 0 || (is_nan(x) && !is_nan(acc.best))) {
      // Nothing replaces a NaN: no comparison with it is true.
      acc = {x, index};
    }
  }
};

// Values that compare as int64_t, float or double do.
Status check_ordered(const Call& call, const Tensor& self) {
  return is_real(self.dtype) && self.dtype != DType::UInt64 ? Status::Ok : refuse_dtype(call, self);
}

template <bool kMax>
Status extreme_over(Call& call, const Tensor& self, uint32_t mask, bool keepdim, Tensor& out) {
  ET_TRY(check_ordered(call, self));
  ET_TRY(check_not_empty(call, self, mask));
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&out}));
  return with_real_type(self.dtype, [&]<class C>() {
    return reduce_into<C>(call, space, ExtremeFold<C, kMax>{}, self, self.dtype, out, [](C acc) { return acc; });
  });
}
template <bool kMax>
Status extreme(Call& call, const Tensor& self, Tensor& out) {
  return extreme_over<kMax>(call, self, all_dims(self), false, out);
}
template <bool kMax>
Status extreme_dims(Call& call, const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  return extreme_over<kMax>(call, self, mask, keepdim, out);
}

Status aminmax(Call& call, const Tensor& self, OptionalDim dim, bool keepdim, Tensor& min, Tensor& max) {
  ET_TRY(check_ordered(call, self));
  ET_ASSIGN(const uint32_t mask, mask_of(call, self, dim));
  ET_TRY(check_not_empty(call, self, mask));
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&min, &max}));
  return with_real_type(self.dtype, [&]<class C>() {
    const Writer<C> to_min(min);
    const Writer<C> to_max(max);
    if (!to_min.ok() || !to_max.ok()) {
      return refuse_dtype(call, to_min.ok() ? max : min);
    }
    reduce(space, MinMaxFold<C>{}, Reader<C>(self.dtype), self.bytes(), [&](const auto& acc, const Walk& at) {
      to_min.put(at.offset(1), acc.min);
      to_max.put(at.offset(2), acc.max);
    });
    return Status::Ok;
  });
}
Status aminmax_dim(Call& call, const Tensor& self, int64_t dim, bool keepdim, Tensor& min, Tensor& max) {
  return aminmax(call, self, OptionalDim(dim), keepdim, min, max);
}
Status aminmax_all(Call& call, const Tensor& self, Tensor& min, Tensor& max) {
  return aminmax(call, self, OptionalDim(), false, min, max);
}

template <bool kMax>
Status extreme_dim(Call& call, const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  ET_TRY(check_ordered(call, self));
  ET_ASSIGN(const uint32_t mask, mask_of(call, self, dim));
  ET_TRY(check_not_empty(call, self, mask));
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&values, &indices}));
  const Writer<int64_t> to_indices(indices);
  return with_real_type(self.dtype, [&]<class C>() {
    const Writer<C> to_values(values);
    if (!to_values.ok() || !to_indices.ok()) {
      return refuse_dtype(call, to_values.ok() ? indices : values);
    }
    reduce(space, ArgFold<C, kMax>{}, Reader<C>(self.dtype), self.bytes(), [&](const auto& acc, const Walk& at) {
      to_values.put(at.offset(1), acc.best);
      to_indices.put(at.offset(2), acc.index);
    });
    return Status::Ok;
  });
}

template <bool kMax>
Status arg_extreme(Call& call, const Tensor& self, OptionalDim dim, bool keepdim, Tensor& out) {
  ET_TRY(check_ordered(call, self));
  ET_ASSIGN(const uint32_t mask, mask_of(call, self, dim));
  ET_TRY(check_not_empty(call, self, mask));
  // Without a dimension the index counts elements in row-major order.
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&out}, FoldOrder::RowMajor));
  return with_real_type(self.dtype, [&]<class C>() {
    return reduce_into<int64_t>(call, space, ArgFold<C, kMax>{}, self, self.dtype, out,
                                [](const auto& acc) { return acc.index; });
  });
}

// ---- hash_tensor: exclusive or of the elements' 64 bits, as double or int64 ----

template <class C>
struct XorFold {
  using In = C;
  using Acc = uint64_t;
  Acc start() const { return 0; }
  void step(Acc& acc, In x) const { acc ^= std::bit_cast<uint64_t>(x); }
  void merge(Acc& acc, const Acc& part) const { acc ^= part; }
};

Status shape_hash(Call& call, const Tensor& self, IntList dim, bool keepdim, int64_t /*mode*/, Tensor& out) {
  return shape_dims(call, self, dim, keepdim, out);
}
Status hash(Call& call, const Tensor& self, IntList dim, bool keepdim, int64_t mode, Tensor& out) {
  if (mode != 0) {
    return call.fail(Status::NotSupported, "mode is {}, expected 0", mode);
  }
  ET_ASSIGN(const uint32_t mask, reduced_dims(call, self, dim));
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, self, mask, keepdim, {&out}));
  const auto bits = [](uint64_t acc) { return static_cast<int64_t>(acc); };
  return is_float(self.dtype) ? reduce_into<int64_t>(call, space, XorFold<double>{}, self, DType::Float64, out, bits)
                              : reduce_into<int64_t>(call, space, XorFold<int64_t>{}, self, DType::Int64, out, bits);
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

const Op kTable[] = {
    {"aten::sum.IntList_out",
     "(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_dims_dtype>, bind<sum_dims>, kFacts},
    {"aten::sum.out", "(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", bind<shape_all_dtype>,
     bind<sum>, kFacts},
    {"aten::nansum.out",
     "(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_dims_dtype>, bind<nansum>, kFacts},
    {"aten::mean.out",
     "(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_dims_dtype>, bind<mean_dims>, kFacts},
    {"aten::mean.dtype_out", "(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_all_dtype>, bind<mean>, kFacts},
    {"aten::nanmean.out",
     "(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_dims_dtype>, bind<nanmean>, kFacts},
    {"aten::prod.int_out",
     "(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_dim_dtype>, bind<prod_dim>, kFacts},
    {"aten::prod.out", "(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", bind<shape_all_dtype>,
     bind<prod>, kFacts},
    {"aten::trace.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_trace>, bind<trace>, kFacts},

    {"aten::any.out", "(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_dim>,
     bind<truth_dim<AnyFold>>, kFacts},
    {"aten::any.dims_out", "(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_truth_dims>, bind<truth_dims<AnyFold>>, kFacts},
    {"aten::any.all_out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_all>, bind<truth_all<AnyFold>>,
     kFacts},
    {"aten::all.out", "(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_dim>,
     bind<truth_dim<AllFold>>, kFacts},
    {"aten::all.dims_out", "(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_truth_dims>, bind<truth_dims<AllFold>>, kFacts},
    {"aten::all.all_out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_all>, bind<truth_all<AllFold>>,
     kFacts},
    {"aten::count_nonzero.dim_IntList_out", "(Tensor self, int[] dim, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_count_nonzero_dims>, bind<count_nonzero_dims>, kFacts},
    {"aten::count_nonzero.out", "(Tensor self, int? dim=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_count_nonzero>, bind<count_nonzero>, kFacts},

    {"aten::amax.out", "(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_dims>, bind<extreme_dims<true>>, kFacts},
    {"aten::amin.out", "(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_dims>, bind<extreme_dims<false>>, kFacts},
    {"aten::max.unary_out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_all>, bind<extreme<true>>,
     kFacts},
    {"aten::min.unary_out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_all>, bind<extreme<false>>,
     kFacts},
    {"aten::max.dim_max",
     "(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> "
     "(Tensor(a!) values, Tensor(b!) indices)",
     bind<shape_dim_pair>, bind<extreme_dim<true>>, kFacts},
    {"aten::min.dim_min",
     "(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) min, Tensor(b!) min_indices) -> "
     "(Tensor(a!) values, Tensor(b!) indices)",
     bind<shape_dim_pair>, bind<extreme_dim<false>>, kFacts},
    {"aten::argmax.out", "(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_optional_dim>, bind<arg_extreme<true>>, kFacts},
    {"aten::argmin.out", "(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_optional_dim>, bind<arg_extreme<false>>, kFacts},
    {"aten::aminmax.out",
     "(Tensor self, *, int? dim=None, bool keepdim=False, Tensor(a!) min, Tensor(b!) max) -> "
     "(Tensor(a!) min, Tensor(b!) max)",
     bind<shape_optional_dim_pair>, bind<aminmax>, kFacts},
    {"aten::_aminmax.out", "(Tensor self, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
     bind<shape_all_pair>, bind<aminmax_all>, kFacts},
    {"aten::_aminmax.dim_out",
     "(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
     bind<shape_dim_pair>, bind<aminmax_dim>, kFacts},

    {"aten::hash_tensor.out",
     "(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0, Tensor(a!) out) -> Tensor(a!)", bind<shape_hash>,
     bind<hash>, kFacts},
};

}  // namespace

Table reduction_ops() { return kTable; }

}  // namespace etrt::ops
