// Tensors made from numbers: constants, ranges, identity, triangles, windows.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/checked.h"
#include "core/convert.h"
#include "ops/arguments.h"
#include "ops/dims.h"
#include "ops/elementwise.h"
#include "ops/special.h"
#include "ops/strided_copy.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// ---- constants

// Every element of `out` becomes `value`.
Status fill_with(Call& call, Tensor& out, Scalar value) {
  ET_TRY(check_memory(call, out));
  alignas(16) std::byte element[16];
  const bool ok = value.is_float() ? convert_run(DType::Float64, &value.d, 1, out.dtype, element, 1, 1)
                                   : convert_run(DType::Int64, &value.i, 1, out.dtype, element, 1, 1);
  if (!ok) {
    return detail::unsupported(call, out.dtype);
  }
  const int64_t numel = out.numel();
  const int64_t stride = 1;
  strided_fill(out.element_size(), {&numel, 1}, element, out.data, {&stride, 1});
  return Status::Ok;
}

template <size_t kOut>
Status zeros(Call& call) {
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  ET_TRY(check_memory(call, *out));
  if (out->numel() > 0) {
    std::memset(out->data, 0, out->nbytes());
  }
  return Status::Ok;
}
template <size_t kOut>
Status ones(Call& call) {
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  return fill_with(call, *out, Scalar::of(int64_t{1}));
}
template <size_t kValue, size_t kOut>
Status full(Call& call) {
  ET_ASSIGN(const Scalar value, argument<Scalar>(call, kValue));
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  return fill_with(call, *out, value);
}
// The memory as it is.
template <size_t kOut>
Status empty(Call& call) {
  return argument<Tensor&>(call, kOut).status();
}

Result<Scalar> number_in(const Call& call, const Tensor& tensor) {
  if (tensor.numel() != 1 || tensor.data == nullptr) {
    return call.fail(Status::InvalidArgument, "{} has {} elements, expected 1", call.arg_name(tensor), tensor.numel());
  }
  const Compute compute = compute_type(tensor.dtype);
  if (compute == Compute::Int || compute == Compute::UInt) {
    return Scalar::of(load_one<int64_t>(tensor.dtype, tensor.data));
  }
  if (compute == Compute::Float || compute == Compute::Double) {
    return Scalar::of(load_one<double>(tensor.dtype, tensor.data));
  }
  return detail::unsupported(call, tensor.dtype);
}
Result<Scalar> number_in(const Call& /*call*/, Scalar scalar) { return scalar; }

Status fill_from_tensor(Call& call, const Tensor& /*self*/, const Tensor& value, Tensor& out) {
  if (value.numel() != 1) {
    return call.fail(Status::InvalidArgument, "value has {} elements, expected 1", value.numel());
  }
  return map<kAllNumbers>(
      call, out.dtype, out, [](auto x) { return x; }, value);
}

// ---- ranges

// Writes f(i) for each index of the one dimension of `out`, in the type in which eager makes a range of its dtype.
template <class F>
Status fill_range(Call& call, Tensor& out, const F& f) {
  ET_TRY(check_memory(call, out));
  if (out.rank() != 1) {
    return call.fail(Status::InvalidArgument, "out has rank {}, expected 1", out.rank());
  }
  const auto run = [&]<class C>(C /*type*/) {
    const StoreRun<C> store = store_run<C>(out.dtype);
    if (store == nullptr) {
      return detail::unsupported(call, out.dtype);
    }
    parallel_for(out.numel(), kCheapGrain, [&](int64_t begin, int64_t end) {
      constexpr int64_t kChunk = 256;
      std::array<C, kChunk> values;
      for (int64_t i = begin; i < end; i += kChunk) {
        const int64_t n = std::min(kChunk, end - i);
        for (int64_t j = 0; j < n; ++j) {
          values[static_cast<size_t>(j)] = f(i + j, C{});
        }
        store(values.data(), out.bytes() + static_cast<size_t>(i) * out.element_size(), 1, n);
      }
    });
    return Status::Ok;
  };
  if (is_complex(out.dtype)) {
    return run(std::complex<double>{});
  }
  return is_int(out.dtype) || is_bool(out.dtype) ? run(int64_t{}) : run(double{});
}

// A double in the type of fill_range's elements; cut off towards zero if that is whole.
template <class C>
C number_as(double value) {
  if constexpr (std::is_integral_v<C>) {
    return Scalar::of(value).as_int();
  } else {
    return value;
  }
}

// The number of elements of start, start + step, … before `end` (up to and with `end` if `closed`).
Result<int64_t> range_length(const Call& call, Scalar start, Scalar end, Scalar step, bool closed) {
  const bool whole = !start.is_float() && !end.is_float() && !step.is_float();
  const double from = start.as_double();
  const double to = end.as_double();
  const double by = step.as_double();
  if (!std::isfinite(from) || !std::isfinite(to) || std::isnan(by)) {
    return call.fail(Status::InvalidArgument, "the range from {} to {} by {} isn't finite", from, to, by);
  }
  if (by == 0) {
    return call.fail(Status::InvalidArgument, "step is 0");
  }
  if ((by > 0 && from > to) || (by < 0 && from < to)) {
    return call.fail(Status::InvalidArgument, "the range from {} to {} doesn't go the way of its step {}", from, to,
                     by);
  }
  double length = (to - from) / by;
  if (whole) {
    int64_t distance = 0;
    if (!checked_sub(end.as_int(), start.as_int(), distance)) {
      return call.fail(Status::InvalidArgument, "the range from {} to {} is too long", start.as_int(), end.as_int());
    }
    length = static_cast<double>(distance) / static_cast<double>(step.as_int());
  }
  length = closed ? std::floor(length) + 1 : std::ceil(length);
  if (!(length >= 0 && length < 0x1p62)) {
    return call.fail(Status::InvalidArgument, "the range from {} to {} by {} is too long", from, to, by);
  }
  return static_cast<int64_t>(length);
}

Status resize_to_line(const Call& call, Tensor& out, int64_t length) {
  return call.resize(out, std::span<const int64_t>(&length, 1));
}

Status arange_shape(Call& call, Scalar start, Scalar end, Scalar step, Tensor& out) {
  ET_ASSIGN(const int64_t length, range_length(call, start, end, step, false));
  return resize_to_line(call, out, length);
}
Status arange(Call& call, Scalar start, Scalar /*end*/, Scalar step, Tensor& out) {
  return fill_range(call, out, [=](int64_t i, auto type) {
    using C = decltype(type);
    if constexpr (std::is_integral_v<C>) {
      return static_cast<C>(static_cast<uint64_t>(start.as_int()) +
                            static_cast<uint64_t>(step.as_int()) * static_cast<uint64_t>(i));
    } else {
      return C(start.as_double() + step.as_double() * static_cast<double>(i));
    }
  });
}
Status arange_end_shape(Call& call, Scalar end, Tensor& out) {
  return arange_shape(call, Scalar::of(int64_t{0}), end, Scalar::of(int64_t{1}), out);
}
Status arange_end(Call& call, Scalar end, Tensor& out) {
  return arange(call, Scalar::of(int64_t{0}), end, Scalar::of(int64_t{1}), out);
}
Status range_shape(Call& call, Scalar start, Scalar end, Scalar step, Tensor& out) {
  ET_ASSIGN(const int64_t length, range_length(call, start, end, step, true));
  return resize_to_line(call, out, length);
}
Status range_by_one_shape(Call& call, Scalar start, Scalar end, Tensor& out) {
  return range_shape(call, start, end, Scalar::of(int64_t{1}), out);
}
Status range_by_one(Call& call, Scalar start, Scalar end, Tensor& out) {
  return arange(call, start, end, Scalar::of(int64_t{1}), out);
}

// Point i of `steps` evenly spaced ones, counted from the nearer end.
class EvenPoints {
 public:
  EvenPoints(Scalar start, Scalar end, int64_t steps)
      : start_(start.as_double()),
        end_(end.as_double()),
        steps_(steps),
        step_(steps > 1 ? (end_ - start_) / static_cast<double>(steps - 1) : 0) {}
  double at(int64_t i) const {
    return i < steps_ / 2 || steps_ == 1 ? start_ + step_ * static_cast<double>(i)
                                         : end_ - step_ * static_cast<double>(steps_ - 1 - i);
  }

 private:
  double start_;
  double end_;
  int64_t steps_;
  double step_;
};

Status line_shape(const Call& call, int64_t steps, Tensor& out) {
  if (steps < 0) {
    return call.fail(Status::InvalidArgument, "steps is {}, expected at least 0", steps);
  }
  return resize_to_line(call, out, steps);
}
template <class A, class B>
Status linspace_shape(Call& call, A /*start*/, B /*end*/, int64_t steps, Tensor& out) {
  return line_shape(call, steps, out);
}
template <class A, class B>
Status linspace(Call& call, A start, B end, int64_t /*steps*/, Tensor& out) {
  ET_ASSIGN(const Scalar from, number_in(call, start));
  ET_ASSIGN(const Scalar to, number_in(call, end));
  const EvenPoints points(from, to, out.numel());
  return fill_range(call, out, [&](int64_t i, auto type) { return number_as<decltype(type)>(points.at(i)); });
}
template <class A, class B>
Status logspace_shape(Call& call, A /*start*/, B /*end*/, int64_t steps, double /*base*/, Tensor& out) {
  return line_shape(call, steps, out);
}
template <class A, class B>
Status logspace(Call& call, A start, B end, int64_t /*steps*/, double base, Tensor& out) {
  ET_ASSIGN(const Scalar from, number_in(call, start));
  ET_ASSIGN(const Scalar to, number_in(call, end));
  const EvenPoints points(from, to, out.numel());
  return fill_range(call, out,
                    [&](int64_t i, auto type) { return number_as<decltype(type)>(std::pow(base, points.at(i))); });
}

// ---- identity and triangles

Status eye_m_shape(Call& call, int64_t n, int64_t m, Tensor& out) {
  const std::array<int64_t, 2> sizes{n, m};
  return call.resize(out, sizes);
}
Status eye_m(Call& call, int64_t /*n*/, int64_t /*m*/, Tensor& out) {
  if (out.rank() != 2) {
    return call.fail(Status::InvalidArgument, "out has rank {}, expected 2", out.rank());
  }
  ET_TRY(fill_with(call, out, Scalar::of(int64_t{0})));
  Tensor diagonal = out;
  diagonal.rank_ = 1;
  diagonal.dim_order_[0] = 0;
  diagonal.numel_ = diagonal.sizes_[0] = std::min(out.size(0), out.size(1));
  diagonal.strides_[0] = out.stride(0) + out.stride(1);
  return map<kAllNumbers>(
      call, out.dtype, diagonal, [](auto x) { return x; }, Scalar::of(int64_t{1}));
}
Status eye_shape(Call& call, int64_t n, Tensor& out) { return eye_m_shape(call, n, n, out); }
Status eye(Call& call, int64_t n, Tensor& out) { return eye_m(call, n, n, out); }

// self with zeros above the diagonal (below it, if kUpper).
template <bool kUpper>
Status triangle(Call& call, const Tensor& self, int64_t diagonal, Tensor& out) {
  if (self.rank() < 2) {
    return call.fail(Status::InvalidArgument, "self has rank {}, expected at least 2", self.rank());
  }
  if (!out.same_sizes(self) || out.dtype != self.dtype) {
    return call.fail(Status::InvalidArgument, "out is {}, expected the dtype and sizes of self, {}", tensor_text(out),
                     tensor_text(self));
  }
  ET_TRY(check_memory(call, self));
  ET_TRY(check_memory(call, out));
  strided_copy(out.element_size(), out.sizes(), self.data, self.strides(), out.data, out.strides());
  const int rows_dim = out.rank() - 2;
  const int64_t rows = out.size(rows_dim);
  const int64_t columns = out.size(rows_dim + 1);
  const std::array<std::byte, 16> zero{};
  Dims sizes(out.sizes());
  Dims strides(out.strides());
  sizes.erase(rows_dim);
  strides.erase(rows_dim);
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  for (int64_t row = 0; row < rows && out.numel() > 0; ++row) {
    // Column row + diagonal is on the diagonal.
    const int64_t begin = kUpper ? 0 : std::clamp<int64_t>(row + diagonal + 1, 0, columns);
    const int64_t end = kUpper ? std::clamp<int64_t>(row + diagonal, 0, columns) : columns;
    if (begin >= end) {
      continue;
    }
    sizes[rows_dim] = end - begin;
    const int64_t offset = row * out.stride(rows_dim) + begin * out.stride(rows_dim + 1);
    strided_fill(out.element_size(), sizes, zero.data(), out.bytes() + static_cast<size_t>(offset) * out.element_size(),
                 strides);
  }
  return Status::Ok;
}

// ---- windows: f(x) for x = i / (n - 1), or i / n if periodic

template <class F>
Status window(Call& call, bool periodic, Tensor& out, const F& f) {
  const int64_t n = out.numel();
  const auto last = static_cast<double>(periodic ? n : n - 1);
  return fill_range(call, out, [&](int64_t i, auto type) {
    return number_as<decltype(type)>(n == 1 ? 1.0 : f(static_cast<double>(i) / last));
  });
}
// a - b cos(2 pi x) + c cos(4 pi x).
Status cosine_window(Call& call, bool periodic, double a, double b, double c, Tensor& out) {
  constexpr double kTurn = 6.28318530717958647693;
  return window(call, periodic, out,
                [=](double x) { return a - b * std::cos(kTurn * x) + c * std::cos(2 * kTurn * x); });
}
Status hann(Call& call, int64_t /*length*/, bool periodic, Tensor& out) {
  return cosine_window(call, periodic, 0.5, 0.5, 0, out);
}
Status hamming_with(Call& call, int64_t /*length*/, bool periodic, double alpha, double beta, Tensor& out) {
  return cosine_window(call, periodic, alpha, beta, 0, out);
}
Status hamming_alpha(Call& call, int64_t /*length*/, bool periodic, double alpha, Tensor& out) {
  return cosine_window(call, periodic, alpha, 0.46, 0, out);
}
Status hamming(Call& call, int64_t /*length*/, bool periodic, Tensor& out) {
  return cosine_window(call, periodic, 0.54, 0.46, 0, out);
}
Status blackman(Call& call, int64_t /*length*/, bool periodic, Tensor& out) {
  return cosine_window(call, periodic, 0.42, 0.5, 0.08, out);
}
Status bartlett(Call& call, int64_t /*length*/, bool periodic, Tensor& out) {
  return window(call, periodic, out, [](double x) { return 1 - std::abs(2 * x - 1); });
}
Status kaiser_with(Call& call, int64_t /*length*/, bool periodic, double beta, Tensor& out) {
  return window(call, periodic, out, [beta](double x) {
    const double y = 2 * x - 1;
    return bessel_i0(beta * std::sqrt(std::max(0.0, 1 - y * y))) / bessel_i0(beta);
  });
}
Status kaiser(Call& call, int64_t length, bool periodic, Tensor& out) {
  return kaiser_with(call, length, periodic, 12.0, out);
}
template <auto kWindow>
Status periodic_window(Call& call, int64_t length, Tensor& out) {
  return kWindow(call, length, true, out);
}
template <size_t kOut>
Status window_shape(Call& call) {
  ET_ASSIGN(const int64_t length, argument<int64_t>(call, 0));
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  return resize_to_line(call, *out, length);
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

Op constant_row(std::string_view name, std::string_view schema, Invoke shape, Invoke kernel) {
  return {name, schema, shape, kernel, kFacts};
}
template <auto kShape, auto kKernel>
Op made(std::string_view name, std::string_view schema) {
  return {name, schema, bind<kShape>, bind<kKernel>, kFacts};
}
template <class A, class B>
Op linspace_row(std::string_view name, std::string_view schema) {
  return made<linspace_shape<A, B>, linspace<A, B>>(name, schema);
}
template <class A, class B>
Op logspace_row(std::string_view name, std::string_view schema) {
  return made<logspace_shape<A, B>, logspace<A, B>>(name, schema);
}
template <size_t kOut, auto kKernel>
Op window_row(std::string_view name, std::string_view schema) {
  return {name, schema, window_shape<kOut>, bind<kKernel>, kFacts};
}

constexpr std::string_view kSized = "(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kLike = "(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kNew = "(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kTriangle = "(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kWindow = "(int window_length, *, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kPeriodicWindow = "(int window_length, bool periodic, *, Tensor(a!) out) -> Tensor(a!)";

}  // namespace

Table creation_ops() {
  using T = const Tensor&;
  static const Op kOps[] = {
      constant_row("aten::full.out", "(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)",
                   listed_shape<0, 2>, full<1, 2>),
      constant_row("aten::full_like.out",
                   "(Tensor self, Scalar fill_value, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> "
                   "Tensor(a!)",
                   shape_like<0, 3>, full<1, 3>),
      constant_row("aten::new_full.out",
                   "(Tensor self, SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)",
                   listed_shape<1, 3>, full<2, 3>),
      constant_row("aten::fill.Scalar_out", "(Tensor self, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
                   shape_like<0, 2>, full<1, 2>),
      constant_row("aten::fill.Tensor_out", "(Tensor self, Tensor value, *, Tensor(a!) out) -> Tensor(a!)",
                   shape_like<0, 2>, bind<fill_from_tensor>),
      constant_row("aten::scalar_tensor.out", "(Scalar s, *, Tensor(a!) out) -> Tensor(a!)", nullptr, full<0, 1>),

      constant_row("aten::zeros.out", kSized, listed_shape<0, 1>, zeros<1>),
      constant_row("aten::_efficientzerotensor.out", kSized, listed_shape<0, 1>, zeros<1>),
      constant_row("aten::zeros_like.out", kLike, shape_like<0, 2>, zeros<2>),
      constant_row("aten::new_zeros.out", kNew, listed_shape<1, 2>, zeros<2>),
      constant_row("aten::zero.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", shape_like<0, 1>, zeros<1>),
      constant_row("aten::ones.out", kSized, listed_shape<0, 1>, ones<1>),
      constant_row("aten::ones_like.out", kLike, shape_like<0, 2>, ones<2>),
      constant_row("aten::new_ones.out", kNew, listed_shape<1, 2>, ones<2>),

      constant_row("aten::empty.out",
                   "(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
                   listed_shape<0, 2>, empty<2>),
      constant_row("aten::empty_like.out", kLike, shape_like<0, 2>, empty<2>),
      constant_row("aten::new_empty.out", kNew, listed_shape<1, 2>, empty<2>),
      constant_row("aten::empty_strided.out", "(SymInt[] size, SymInt[] stride, *, Tensor(a!) out) -> Tensor(a!)",
                   listed_shape<0, 2>, empty<2>),
      constant_row("aten::new_empty_strided.out",
                   "(Tensor self, SymInt[] size, SymInt[] stride, *, Tensor(a!) out) -> Tensor(a!)", listed_shape<1, 3>,
                   empty<3>),
      constant_row("aten::empty_permuted.out",
                   "(SymInt[] size, int[] physical_layout, *, Tensor(a!) out) -> Tensor(a!)", listed_shape<0, 2>,
                   empty<2>),
      constant_row("dim_order_ops::_empty_dim_order.out",
                   "(int[] size, *, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)", listed_shape<0, 2>,
                   empty<2>),

      made<arange_end_shape, arange_end>("aten::arange.out", "(Scalar end, *, Tensor(a!) out) -> Tensor(a!)"),
      made<arange_shape, arange>("aten::arange.start_out",
                                 "(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)"),
      made<range_shape, arange>("aten::range.out",
                                "(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)"),
      made<range_by_one_shape, range_by_one>("aten::range.out_",
                                             "(Scalar start, Scalar end, *, Tensor(a!) out) -> Tensor(a!)"),
      linspace_row<Scalar, Scalar>("aten::linspace.out",
                                   "(Scalar start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)"),
      linspace_row<T, T>("aten::linspace.Tensor_Tensor_out",
                         "(Tensor start, Tensor end, int steps, *, Tensor(a!) out) -> Tensor(a!)"),
      linspace_row<T, Scalar>("aten::linspace.Tensor_Scalar_out",
                              "(Tensor start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)"),
      linspace_row<Scalar, T>("aten::linspace.Scalar_Tensor_out",
                              "(Scalar start, Tensor end, int steps, *, Tensor(a!) out) -> Tensor(a!)"),
      logspace_row<Scalar, Scalar>(
          "aten::logspace.out",
          "(Scalar start, Scalar end, int steps, float base=10., *, Tensor(a!) out) -> Tensor(a!)"),
      logspace_row<T, T>("aten::logspace.Tensor_Tensor_out",
                         "(Tensor start, Tensor end, int steps, float base=10., *, Tensor(a!) out) -> Tensor(a!)"),
      logspace_row<T, Scalar>("aten::logspace.Tensor_Scalar_out",
                              "(Tensor start, Scalar end, int steps, float base=10., *, Tensor(a!) out) -> Tensor(a!)"),
      logspace_row<Scalar, T>("aten::logspace.Scalar_Tensor_out",
                              "(Scalar start, Tensor end, int steps, float base=10., *, Tensor(a!) out) -> Tensor(a!)"),

      made<eye_shape, eye>("aten::eye.out", "(SymInt n, *, Tensor(a!) out) -> Tensor(a!)"),
      made<eye_m_shape, eye_m>("aten::eye.m_out", "(SymInt n, SymInt m, *, Tensor(a!) out) -> Tensor(a!)"),
      {"aten::tril.out", kTriangle, shape_like<0, 2>, bind<triangle<false>>, kFacts | kInPlaceOk},
      {"aten::triu.out", kTriangle, shape_like<0, 2>, bind<triangle<true>>, kFacts | kInPlaceOk},

      window_row<1, periodic_window<hann>>("aten::hann_window.out", kWindow),
      window_row<2, hann>("aten::hann_window.periodic_out", kPeriodicWindow),
      window_row<1, periodic_window<bartlett>>("aten::bartlett_window.out", kWindow),
      window_row<2, bartlett>("aten::bartlett_window.periodic_out", kPeriodicWindow),
      window_row<1, periodic_window<blackman>>("aten::blackman_window.out", kWindow),
      window_row<2, blackman>("aten::blackman_window.periodic_out", kPeriodicWindow),
      window_row<1, periodic_window<hamming>>("aten::hamming_window.out", kWindow),
      window_row<2, hamming>("aten::hamming_window.periodic_out", kPeriodicWindow),
      window_row<3, hamming_alpha>("aten::hamming_window.periodic_alpha_out",
                                   "(int window_length, bool periodic, float alpha, *, Tensor(a!) out) -> "
                                   "Tensor(a!)"),
      window_row<4, hamming_with>("aten::hamming_window.periodic_alpha_beta_out",
                                  "(int window_length, bool periodic, float alpha, float beta, *, Tensor(a!) out) -> "
                                  "Tensor(a!)"),
      window_row<1, periodic_window<kaiser>>("aten::kaiser_window.out", kWindow),
      window_row<2, kaiser>("aten::kaiser_window.periodic_out", kPeriodicWindow),
      window_row<3, kaiser_with>("aten::kaiser_window.beta_out",
                                 "(int window_length, bool periodic, float beta, *, Tensor(a!) out) -> Tensor(a!)"),
  };
  return kOps;
}

}  // namespace etrt::ops
