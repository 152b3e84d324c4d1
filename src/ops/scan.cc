#include <cmath>
#include <limits>

#include "ops/dims.h"
#include "ops/lines.h"
#include "ops/reduce.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

using OptionalDType = std::optional<DType>;

// What running results are carried in.
template <class C>
struct Running {
  using Type = double;
};
template <>
struct Running<int64_t> {
  using Type = uint64_t;  // wraps
};
template <class T>
struct Running<std::complex<T>> {
  using Type = std::complex<double>;
};

Status shape_scan(Call& call, const Tensor& self, int64_t dim, Tensor& out) {
  ET_TRY(wrap_dim(call, dim, self.rank()).status());
  return call.resize(out, self.sizes());
}
Status shape_scan_dtype(Call& call, const Tensor& self, int64_t dim, OptionalDType /*dtype*/, Tensor& out) {
  return shape_scan(call, self, dim, out);
}

// Replaces every element by op(result before it, element), from `start` on.
template <class C, class Op>
Status scan_lines(Call& call, const Tensor& self, int64_t dim, DType as, Tensor& out, typename Running<C>::Type start,
                  const Op& op) {
  using Acc = typename Running<C>::Type;
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  ET_TRY(check_sizes(call, out, self.sizes()));
  ET_ASSIGN(const Lines lines, Lines::along(call, d, {&self, &out}));
  const Reader<C> reader(self.dtype, as);
  const Writer<C> writer(out);
  if (!reader.ok() || !writer.ok()) {
    return refuse_dtype(call, reader.ok() ? out : self);
  }
  const int64_t n = lines.length();
  const int64_t line_bytes = tile_bytes<C>(lines, n);
  for_each_tile(call, lines, line_bytes + tile_bytes<Acc>(lines, 1), [&](const Lines::Tile& tile, std::byte* buffer) {
    C* const x = reinterpret_cast<C*>(buffer);
    Acc* const accs = reinterpret_cast<Acc*>(buffer + line_bytes);
    lines.load(tile, 0, reader, self.bytes(), n, x);
    std::fill_n(accs, tile.lanes, start);
    for (int64_t i = 0; i < n; ++i) {
      C* row = x + i * tile.lanes;
      for (int64_t j = 0; j < tile.lanes; ++j) {
        accs[j] = op(accs[j], static_cast<Acc>(row[j]));
        row[j] = static_cast<C>(accs[j]);
      }
    }
    lines.store(tile, 1, writer, n, x);
  });
  return Status::Ok;
}

Status cumsum(Call& call, const Tensor& self, int64_t dim, OptionalDType dtype, Tensor& out) {
  const DType as = dtype.value_or(out.dtype);
  return with_number_type(
      as, [&]<class C>() { return scan_lines<C>(call, self, dim, as, out, {}, [](auto a, auto x) { return a + x; }); });
}
Status cumprod(Call& call, const Tensor& self, int64_t dim, OptionalDType dtype, Tensor& out) {
  const DType as = dtype.value_or(out.dtype);
  return with_number_type(
      as, [&]<class C>() { return scan_lines<C>(call, self, dim, as, out, 1, [](auto a, auto x) { return a * x; }); });
}

// log(exp(a) + exp(b)), exact at the infinities.
double log_add_exp(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double less = std::min(a, b);
  const double more = std::max(a, b);
  return std::isinf(more) ? more : more + std::log1p(std::exp(less - more));
}
std::complex<double> log_add_exp(std::complex<double> a, std::complex<double> b) {
  if (a != a || b != b) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  const bool ordered = a.real() < b.real();
  const std::complex<double> less = ordered ? a : b;
  const std::complex<double> more = ordered ? b : a;
  if (std::isinf(more.real())) {
    return {more.real(), 0.0};
  }
  return std::isinf(less.real()) ? more : more + std::log(1.0 + std::exp(less - more));
}

Status logcumsumexp(Call& call, const Tensor& self, int64_t dim, Tensor& out) {
  if (!is_float(self.dtype) && !is_complex(self.dtype)) {
    return refuse_dtype(call, self);
  }
  const double start = -std::numeric_limits<double>::infinity();
  const auto op = [](auto a, auto x) { return log_add_exp(a, x); };
  return with_number_type(self.dtype, [&]<class C>() {
    if constexpr (std::is_same_v<C, int64_t>) {
      return refuse_dtype(call, self);
    } else {
      return scan_lines<C>(call, self, dim, self.dtype, out, start, op);
    }
  });
}

Status shape_scan_pair(Call& call, const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  ET_TRY(wrap_dim(call, dim, self.rank()).status());
  ET_TRY(call.resize(values, self.sizes()));
  return call.resize(indices, self.sizes());
}

// The running maximum (minimum) and where it is: the last of equal values, the last NaN.
template <bool kMax>
Status running_extreme(Call& call, const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  if (!is_real(self.dtype) || self.dtype == DType::UInt64) {
    return refuse_dtype(call, self);
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  ET_TRY(check_sizes(call, values, self.sizes()));
  ET_TRY(check_sizes(call, indices, self.sizes()));
  ET_ASSIGN(const Lines lines, Lines::along(call, d, {&self, &values, &indices}));
  const Writer<int64_t> to_indices(indices);
  return with_real_type(self.dtype, [&]<class C>() {
    const Reader<C> reader(self.dtype);
    const Writer<C> to_values(values);
    if (!to_values.ok() || !to_indices.ok()) {
      return refuse_dtype(call, to_values.ok() ? indices : values);
    }
    const int64_t n = lines.length();
    const int64_t line_bytes = tile_bytes<C>(lines, n);
    const int64_t index_bytes = tile_bytes<int64_t>(lines, n);
    for_each_tile(call, lines, line_bytes + index_bytes, [&](const Lines::Tile& tile, std::byte* buffer) {
      C* const x = reinterpret_cast<C*>(buffer);
      int64_t* const where = reinterpret_cast<int64_t*>(buffer + line_bytes);
      lines.load(tile, 0, reader, self.bytes(), n, x);
      std::fill_n(where, tile.lanes, 0);
      for (int64_t i = 1; i < n; ++i) {
        for (int64_t at = i * tile.lanes; at < (i + 1) * tile.lanes; ++at) {
          const int64_t before = at - tile.lanes;
          const bool better = (kMax ? x[at] >= x[before] : x[at] <= x[before]) || x[at] != x[at];
          x[at] = better ? x[at] : x[before];
          where[at] = better ? i : where[before];
        }
      }
      lines.store(tile, 1, to_values, n, x);
      lines.store(tile, 2, to_indices, n, where);
    });
    return Status::Ok;
  });
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

const Op kTable[] = {
    {"aten::cumsum.out", "(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_scan_dtype>, bind<cumsum>, kFacts},
    {"aten::cumprod.out", "(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_scan_dtype>, bind<cumprod>, kFacts},
    {"aten::logcumsumexp.out", "(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_scan>,
     bind<logcumsumexp>, kFacts},
    {"aten::cummax.out",
     "(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
     bind<shape_scan_pair>, bind<running_extreme<true>>, kFacts},
    {"aten::cummin.out",
     "(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
     bind<shape_scan_pair>, bind<running_extreme<false>>, kFacts},
};

}  // namespace

Table scan_ops() { return kTable; }

}  // namespace etrt::ops
