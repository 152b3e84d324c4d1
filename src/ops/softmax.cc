#include <cmath>
#include <limits>

#include "ops/dims.h"
#include "ops/lines.h"
#include "ops/reduce.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

enum class Kind : uint8_t {
  Plain,
  Log,
  Safe,  // a line of nothing but -inf gives zeros instead of NaN
};

// What is subtracted before exp(): the maximum, but for a safe softmax of -inf only.
template <class C>
C shift_of(Kind kind, C max) {
  return kind == Kind::Safe && max == -std::numeric_limits<C>::infinity() ? C{0} : max;
}

template <class C>
void softmax_line(Kind kind, C* x, int64_t n) {
  // NaN is left out here and shows in the sum.
  C max = -std::numeric_limits<C>::infinity();
  for (int64_t i = 0; i < n; ++i) {
    max = x[i] > max ? x[i] : max;
  }
  const C shift = shift_of(kind, max);
  double sum = 0;
  if (kind == Kind::Log) {
    for (int64_t i = 0; i < n; ++i) {
      x[i] -= shift;
      sum += static_cast<double>(std::exp(x[i]));
    }
    const C log_sum = static_cast<C>(std::log(sum));
    for (int64_t i = 0; i < n; ++i) {
      x[i] -= log_sum;
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    x[i] = std::exp(x[i] - shift);
    sum += static_cast<double>(x[i]);
  }
  const C divisor = kind == Kind::Safe && sum == 0 ? C{1} : static_cast<C>(sum);
  for (int64_t i = 0; i < n; ++i) {
    x[i] /= divisor;
  }
}

// The same for neighbouring lines side by side, so that inner loops are contiguous.
template <class C>
void softmax_lanes(Kind kind, C* x, int64_t n, int64_t lanes, C* shift, double* sum) {
  std::fill_n(shift, lanes, -std::numeric_limits<C>::infinity());
  std::fill_n(sum, lanes, 0.0);
  for (int64_t i = 0; i < n; ++i) {
    const C* row = x + i * lanes;
    for (int64_t j = 0; j < lanes; ++j) {
      shift[j] = row[j] > shift[j] ? row[j] : shift[j];
    }
  }
  for (int64_t j = 0; j < lanes; ++j) {
    shift[j] = shift_of(kind, shift[j]);
  }
  const bool log = kind == Kind::Log;
  for (int64_t i = 0; i < n; ++i) {
    C* row = x + i * lanes;
    for (int64_t j = 0; j < lanes; ++j) {
      const C relative = row[j] - shift[j];
      const C power = std::exp(relative);
      sum[j] += static_cast<double>(power);
      row[j] = log ? relative : power;
    }
  }
  // From here on `shift` is what finishes a line: the logarithm of the sum, or the divisor.
  for (int64_t j = 0; j < lanes; ++j) {
    shift[j] = static_cast<C>(log ? std::log(sum[j]) : kind == Kind::Safe && sum[j] == 0 ? 1.0 : sum[j]);
  }
  for (int64_t i = 0; i < n; ++i) {
    C* row = x + i * lanes;
    for (int64_t j = 0; j < lanes; ++j) {
      row[j] = log ? row[j] - shift[j] : row[j] / shift[j];
    }
  }
}

Status softmax_as(Call& call, Kind kind, const Tensor& self, int64_t dim, DType as, Tensor& out) {
  if (!is_float(as)) {
    return refuse_dtype(call, self);
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  ET_TRY(check_sizes(call, out, self.sizes()));
  ET_ASSIGN(const Lines lines, Lines::along(call, d, {&self, &out}));
  return with_float_type(as, [&]<class C>() {
    const Reader<C> reader(self.dtype, as);
    const Writer<C> writer(out);
    if (!reader.ok() || !writer.ok()) {
      return refuse_dtype(call, reader.ok() ? out : self);
    }
    const int64_t n = lines.length();
    const int64_t line_bytes = tile_bytes<C>(lines, n);
    const int64_t shift_bytes = tile_bytes<C>(lines, 1);
    const int64_t sum_bytes = tile_bytes<double>(lines, 1);
    for_each_tile(call, lines, line_bytes + shift_bytes + sum_bytes, [&](const Lines::Tile& tile, std::byte* buffer) {
      C* const x = reinterpret_cast<C*>(buffer);
      lines.load(tile, 0, reader, self.bytes(), n, x);
      if (tile.lanes == 1) {
        softmax_line(kind, x, n);
      } else {
        softmax_lanes(kind, x, n, tile.lanes, reinterpret_cast<C*>(buffer + line_bytes),
                      reinterpret_cast<double*>(buffer + line_bytes + shift_bytes));
      }
      lines.store(tile, 1, writer, n, x);
    });
    return Status::Ok;
  });
}

// half_to_float only says what dtype `out` has.
Status shape_half(Call& call, const Tensor& self, int64_t dim, bool /*half_to_float*/, Tensor& out) {
  ET_TRY(wrap_dim(call, dim, self.rank()).status());
  return call.resize(out, self.sizes());
}
template <Kind kKind>
Status softmax_half(Call& call, const Tensor& self, int64_t dim, bool /*half_to_float*/, Tensor& out) {
  return softmax_as(call, kKind, self, dim, self.dtype, out);
}
Status shape_dtype(Call& call, const Tensor& self, int64_t dim, std::optional<DType> /*dtype*/, Tensor& out) {
  return shape_half(call, self, dim, false, out);
}
template <Kind kKind>
Status softmax_dtype(Call& call, const Tensor& self, int64_t dim, std::optional<DType> dtype, Tensor& out) {
  return softmax_as(call, kKind, self, dim, dtype.value_or(is_float(self.dtype) ? self.dtype : out.dtype), out);
}

// ---- Gradients ----

Status shape_backward(Call& call, const Tensor& grad_output, const Tensor& output, int64_t dim, DType /*input_dtype*/,
                      Tensor& grad_input) {
  ET_TRY(wrap_dim(call, dim, output.rank()).status());
  ET_TRY(check_sizes(call, grad_output, output.sizes()));
  return call.resize(grad_input, output.sizes());
}

// softmax: y * (g - sum(g * y)); its logarithm: g - exp(y) * sum(g).
template <bool kLog>
Status softmax_backward(Call& call, const Tensor& grad_output, const Tensor& output, int64_t dim, DType /*input_dtype*/,
                        Tensor& grad_input) {
  if (!is_float(output.dtype)) {
    return refuse_dtype(call, output);
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, output.rank()));
  ET_TRY(check_sizes(call, grad_output, output.sizes()));
  ET_TRY(check_sizes(call, grad_input, output.sizes()));
  ET_ASSIGN(const Lines lines, Lines::along(call, d, {&output, &grad_output, &grad_input}));
  return with_float_type(output.dtype, [&]<class C>() {
    const Reader<C> outputs(output.dtype);
    const Reader<C> grads(grad_output.dtype);
    const Writer<C> writer(grad_input);
    if (!outputs.ok() || !grads.ok() || !writer.ok()) {
      return refuse_dtype(call, !outputs.ok() ? output : !grads.ok() ? grad_output : grad_input);
    }
    const int64_t n = lines.length();
    const int64_t line_bytes = tile_bytes<C>(lines, n);
    for_each_tile(call, lines, 2 * line_bytes, [&](const Lines::Tile& tile, std::byte* buffer) {
      C* const y = reinterpret_cast<C*>(buffer);
      C* const g = reinterpret_cast<C*>(buffer + line_bytes);
      lines.load(tile, 0, outputs, output.bytes(), n, y);
      lines.load(tile, 1, grads, grad_output.bytes(), n, g);
      for (int64_t j = 0; j < tile.lanes; ++j) {
        double wide_sum = 0;
        for (int64_t i = j; i < n * tile.lanes; i += tile.lanes) {
          wide_sum += static_cast<double>(kLog ? g[i] : g[i] * y[i]);
        }
        const C sum = static_cast<C>(wide_sum);
        for (int64_t i = j; i < n * tile.lanes; i += tile.lanes) {
          y[i] = kLog ? g[i] - std::exp(y[i]) * sum : y[i] * (g[i] - sum);
        }
      }
      lines.store(tile, 2, writer, n, y);
    });
    return Status::Ok;
  });
}

// ---- Masked softmax: true in the mask leaves an element out ----

// What the mask covers.
enum MaskType : int64_t {
  kSource = 0,   // [L, L], for self [B, H, L, L]
  kPadding = 1,  // [B, L]
  kGeneric = 2,  // self's sizes
};

// The mask as a view with self's sizes and strides of zero where it repeats.
Result<Tensor> expanded_mask(const Call& call, const Tensor& self, const Tensor& mask, int64_t type) {
  Tensor view = mask;
  if (type == kGeneric) {
    ET_TRY(check_sizes(call, mask, self.sizes()));
    return view;
  }
  if ((type != kSource && type != kPadding) || self.rank() != 4 || mask.rank() != 2) {
    return call.fail(Status::InvalidArgument, "mask_type {} with self of rank {} and mask of rank {}", type,
                     self.rank(), mask.rank());
  }
  const int rows = type == kSource ? 2 : 0;  // the dimension of self that the mask's first one stands for
  if (mask.size(0) != self.size(rows) || mask.size(1) != self.size(3)) {
    return call.fail(Status::InvalidArgument, "mask has sizes {}, which do not fit self's {}", sizes_text(mask.sizes()),
                     sizes_text(self.sizes()));
  }
  view.rank_ = 4;
  view.sizes_ = self.sizes_;
  view.numel_ = self.numel_;
  view.strides_ = {};
  view.strides_[static_cast<size_t>(rows)] = mask.stride(0);
  view.strides_[3] = mask.stride(1);
  return view;
}

Status shape_masked(Call& call, const Tensor& self, const Tensor& /*mask*/, std::optional<int64_t> dim,
                    std::optional<int64_t> /*mask_type*/, Tensor& out) {
  ET_TRY(wrap_dim(call, dim.value_or(-1), self.rank()).status());
  return call.resize(out, self.sizes());
}
Status masked_softmax(Call& call, const Tensor& self, const Tensor& mask, std::optional<int64_t> dim,
                      std::optional<int64_t> mask_type, Tensor& out) {
  if (!is_float(self.dtype)) {
    return refuse_dtype(call, self);
  }
  if (!is_bool(mask.dtype)) {
    return refuse_dtype(call, mask);
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim.value_or(-1), self.rank()));
  ET_TRY(check_sizes(call, out, self.sizes()));
  ET_ASSIGN(const Tensor full_mask, expanded_mask(call, self, mask, mask_type.value_or(kGeneric)));
  ET_ASSIGN(const Lines lines, Lines::along(call, d, {&self, &out, &full_mask}));
  return with_float_type(self.dtype, [&]<class C>() {
    const Reader<C> reader(self.dtype);
    const Reader<uint8_t> masks(mask.dtype);
    const Writer<C> writer(out);
    if (!writer.ok()) {
      return refuse_dtype(call, out);
    }
    const int64_t n = lines.length();
    const int64_t line_bytes = tile_bytes<C>(lines, n);
    const int64_t kept_bytes = tile_bytes<C>(lines, n);
    const int64_t mask_bytes = tile_bytes<uint8_t>(lines, n);
    for_each_tile(call, lines, line_bytes + kept_bytes + mask_bytes, [&](const Lines::Tile& tile, std::byte* buffer) {
      C* const x = reinterpret_cast<C*>(buffer);
      C* const kept = reinterpret_cast<C*>(buffer + line_bytes);
      uint8_t* const left_out = reinterpret_cast<uint8_t*>(buffer + line_bytes + kept_bytes);
      lines.load(tile, 0, reader, self.bytes(), n, x);
      lines.load(tile, 2, masks, full_mask.bytes(), n, left_out);
      for (int64_t j = 0; j < tile.lanes; ++j) {
        int64_t count = 0;
        for (int64_t i = j; i < n * tile.lanes; i += tile.lanes) {
          if (left_out[i] == 0) {
            kept[count++] = x[i];
          }
        }
        softmax_line(Kind::Plain, kept, count);
        // A line with nothing left has no answer.
        const C absent = count == 0 ? std::numeric_limits<C>::quiet_NaN() : C{0};
        int64_t next = 0;
        for (int64_t i = j; i < n * tile.lanes; i += tile.lanes) {
          x[i] = left_out[i] == 0 ? kept[next++] : absent;
        }
      }
      lines.store(tile, 1, writer, n, x);
    });
    return Status::Ok;
  });
}

constexpr uint32_t kFacts = kPure | kAnyLayout;
constexpr uint32_t kInPlaceFacts = kFacts | kInPlaceOk;  // a line is read before it is written

const Op kTable[] = {
    {"aten::_softmax.out", "(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_half>, bind<softmax_half<Kind::Plain>>, kInPlaceFacts},
    {"aten::_log_softmax.out", "(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_half>, bind<softmax_half<Kind::Log>>, kInPlaceFacts},
    {"aten::_safe_softmax.out", "(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_dtype>, bind<softmax_dtype<Kind::Safe>>, kInPlaceFacts},
    {"aten::softmax.int_out", "(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_dtype>, bind<softmax_dtype<Kind::Plain>>, kInPlaceFacts},
    {"aten::log_softmax.int_out", "(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_dtype>, bind<softmax_dtype<Kind::Log>>, kInPlaceFacts},
    {"aten::_masked_softmax.out",
     "(Tensor self, Tensor mask, int? dim=None, int? mask_type=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_masked>, bind<masked_softmax>, kFacts},
    {"aten::_softmax_backward_data.out",
     "(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<shape_backward>, bind<softmax_backward<false>>, kFacts},
    {"aten::_log_softmax_backward_data.out",
     "(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_backward>, bind<softmax_backward<true>>, kFacts},
};

}  // namespace

Table softmax_ops() { return kTable; }

}  // namespace etrt::ops
