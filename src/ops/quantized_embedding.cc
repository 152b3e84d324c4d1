// quantized_decomposed::embedding_{byte,4bit,2bit}: rows of a quantized table, dequantized.
#include <algorithm>

#include "core/convert.h"
#include "core/thread_pool.h"
#include "ops/affine.h"
#include "ops/compute.h"
#include "ops/dims.h"
#include "ops/quantized_rows.h"
#include "ops/strided_copy.h"

namespace etrt::ops {
namespace {

// How values lie in a byte of the table.
struct Packing {
  int per_byte;
  int bits;
  bool high_first;  // the first value is the byte's highest bits
  int offset;       // added to the stored bits
};
constexpr Packing kByte{1, 8, false, 0};
constexpr Packing kNibbles{2, 4, true, -8};
constexpr Packing kPairs{4, 2, false, -2};

Result<Dims> lookup_sizes(Call& call, const Packing& packing, const Tensor& weight, const Tensor& indices) {
  if (weight.rank() != 2) {
    return call.fail(Status::InvalidArgument, "weight is {}, expected 2 dimensions", tensor_text(weight));
  }
  Dims sizes(indices.sizes());
  if (sizes.size() >= kMaxRank) {
    return call.fail(Status::InvalidArgument, "indices {} have too many dimensions", tensor_text(indices));
  }
  sizes.push_back(weight.size(1) * packing.per_byte);
  return sizes;
}

Status shape_of_lookup(Call& call, const Packing& packing, const Tensor& weight, const Tensor& indices, Tensor& out) {
  ET_ASSIGN(const Dims sizes, lookup_sizes(call, packing, weight, indices));
  return call.resize(out, sizes);
}

// Scales or zero points: [rows] or [rows, groups].
struct Groups {
  const std::byte* data = nullptr;
  LoadRun<float> load = nullptr;
  int64_t bytes_per_row = 0;
  int64_t stride = 0;
  int64_t count = 1;

  void read(int64_t row, float* to) const { load(data + row * bytes_per_row, stride, count, to); }
};

Result<Groups> groups_of(Call& call, const Tensor& t, const char* name, const Tensor& weight, int64_t columns) {
  if ((t.rank() != 1 && t.rank() != 2) || t.size(0) != weight.size(0)) {
    return call.fail(Status::InvalidArgument, "{} is {}, expected [{}] or [{}, groups] for weight {}", name,
                     tensor_text(t), weight.size(0), weight.size(0), tensor_text(weight));
  }
  Groups g;
  g.data = t.bytes();
  g.load = load_run<float>(t.dtype);
  g.bytes_per_row = t.stride(0) * static_cast<int64_t>(t.element_size());
  if (t.rank() == 2) {
    g.stride = t.stride(1);
    g.count = t.size(1);
  }
  if (g.load == nullptr) {
    return call.fail(Status::InvalidArgument, "{} has dtype {}, expected a number dtype", name, dtype_name(t.dtype));
  }
  if (g.count == 0 || columns % g.count != 0) {
    return call.fail(Status::InvalidArgument, "{} has {} groups, which don't divide the {} columns", name, g.count,
                     columns);
  }
  return g;
}

void round_floats(DType dtype, float* values, int64_t n) {
  if (!is_half(dtype)) {
    return;
  }
  constexpr int64_t kStep = 128;
  uint16_t stored[kStep];
  for (int64_t i = 0; i < n; i += kStep) {
    const int64_t count = std::min(kStep, n - i);
    store_run<float>(dtype)(values + i, stored, 1, count);
    load_run<float>(dtype)(stored, 1, count, values + i);
  }
}

class Lookup {
 public:
  Lookup(const Packing& packing, const Tensor& weight) : packing_(packing), weight_(weight) {
    columns_ = weight.size(1) * packing.per_byte;
  }

  Status prepare(Call& call, const Tensor& scales, const Tensor* zero_points) {
    const bool byte = packing_.per_byte == 1;
    if (weight_.dtype != DType::UInt8 && (!byte || weight_.dtype != DType::Int8)) {
      return call.fail(Status::InvalidArgument, "weight has dtype {}, expected uint8{}", dtype_name(weight_.dtype),
                       byte ? " or int8" : "");
    }
    if (!is_float(scales.dtype)) {
      return call.fail(Status::InvalidArgument, "weight_scales has dtype {}, expected a floating dtype",
                       dtype_name(scales.dtype));
    }
    ET_ASSIGN(scales_, groups_of(call, scales, "weight_scales", weight_, columns_));
    if (zero_points != nullptr) {
      ET_ASSIGN(zero_points_, groups_of(call, *zero_points, "weight_zero_points", weight_, columns_));
    }
    // Eager subtracts in the type of zero points and table, and multiplies in that of the difference and scales.
    const DType table = byte ? weight_.dtype : DType::Int8;
    difference_ = zero_points == nullptr ? table : promote_tensors(table, 1, zero_points->dtype, 1);
    product_ = promote_tensors(difference_, 1, scales.dtype, 1);
    return Status::Ok;
  }

  int64_t columns() const { return columns_; }
  // Floats that dequantize_row needs beside its result.
  int64_t scratch_size() const { return scales_.count + zero_points_.count; }

  void dequantize_row(int64_t row, float* values, float* scratch) const {
    unpack(row, values);
    float* scale = scratch;
    float* zero_point = scratch + scales_.count;
    scales_.read(row, scale);
    if (zero_points_.data != nullptr) {
      zero_points_.read(row, zero_point);
      const int64_t group = columns_ / zero_points_.count;
      for (int64_t i = 0; i < columns_; ++i) {
        values[i] -= zero_point[i / group];
      }
      round_floats(difference_, values, columns_);
    }
    const int64_t group = columns_ / scales_.count;
    for (int64_t g = 0; g < scales_.count; ++g) {
      for (int64_t i = g * group; i < (g + 1) * group; ++i) {
        values[i] *= scale[g];
      }
    }
    round_floats(product_, values, columns_);
  }

 private:
  void unpack(int64_t row, float* values) const {
    const std::byte* bytes = weight_.bytes() + row * weight_.stride(0);
    if (packing_.per_byte == 1) {
      load_run<float>(weight_.dtype)(bytes, weight_.stride(1), columns_, values);
      return;
    }
    const int mask = (1 << packing_.bits) - 1;
    for (int64_t i = 0; i < weight_.size(1); ++i) {
      const int byte = std::to_integer<int>(bytes[i * weight_.stride(1)]);
      for (int k = 0; k < packing_.per_byte; ++k) {
        const int place = packing_.high_first ? packing_.per_byte - 1 - k : k;
        const int stored = byte >> (place * packing_.bits) & mask;
        values[i * packing_.per_byte + k] = static_cast<float>(stored + packing_.offset);
      }
    }
  }

  const Packing& packing_;
  const Tensor& weight_;
  int64_t columns_ = 0;
  Groups scales_;
  Groups zero_points_;
  DType difference_ = DType::Float32;
  DType product_ = DType::Float32;
};

// The indices in row-major order, each checked against the number of rows.
Result<std::span<const int64_t>> checked_indices(Call& call, const Tensor& indices, int64_t rows) {
  if (indices.dtype != DType::Int64 && indices.dtype != DType::Int32) {
    return call.fail(Status::InvalidArgument, "indices have dtype {}, expected int64 or int32",
                     dtype_name(indices.dtype));
  }
  auto* copy = call.scratch<int64_t>(std::max<int64_t>(indices.numel(), 1));
  const Tensor target = Tensor::view(copy, DType::Int64, indices.sizes());
  if (!strided_convert(indices.sizes(), indices.dtype, indices.data, indices.strides(), DType::Int64, copy,
                       target.strides())) {
    return call.fail(Status::Internal, "indices can't be read");
  }
  const std::span<const int64_t> all(copy, static_cast<size_t>(indices.numel()));
  for (const int64_t i : all) {
    if (i < 0 || i >= rows) {
      return call.fail(Status::InvalidArgument, "index {} is out of range for a weight of {} rows", i, rows);
    }
  }
  return all;
}

// Where row `i`, counted in row-major order of the leading dimensions, starts in `out`.
int64_t row_offset(const Tensor& out, int64_t i) {
  int64_t at = 0;
  for (int d = out.rank() - 2; d >= 0; --d) {
    at += i % out.size(d) * out.stride(d);
    i /= out.size(d);
  }
  return at;
}

Status look_up(Call& call, const Packing& packing, const Tensor& weight, const Tensor& scales,
               const Tensor* zero_points, const Tensor& indices, Tensor& out) {
  ET_ASSIGN(const Dims sizes, lookup_sizes(call, packing, weight, indices));
  ET_TRY(check_sizes(call, out, sizes));
  const StoreRun<float> store = store_run<float>(out.dtype);
  if (store == nullptr || !is_float(out.dtype)) {
    return call.fail(Status::InvalidArgument, "out has dtype {}, expected a floating dtype", dtype_name(out.dtype));
  }
  Lookup table(packing, weight);
  ET_TRY(table.prepare(call, scales, zero_points));
  ET_ASSIGN(const auto rows, checked_indices(call, indices, weight.size(0)));
  const int64_t columns = table.columns();
  const int64_t per_thread = columns + table.scratch_size();
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(columns, 1));
  const int64_t pieces = std::min<int64_t>(static_cast<int64_t>(thread_count()), std::ssize(rows) / grain + 1);
  float* scratch = call.scratch<float>(per_thread * pieces);
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      float* values = scratch + piece * per_thread;
      const int64_t end = std::ssize(rows) * (piece + 1) / pieces;
      for (int64_t i = std::ssize(rows) * piece / pieces; i < end; ++i) {
        table.dequantize_row(rows[static_cast<size_t>(i)], values, values + columns);
        const int64_t at = row_offset(out, i) * static_cast<int64_t>(out.element_size());
        store(values, out.bytes() + at, out.stride(out.rank() - 1), columns);
      }
    }
  });
  return Status::Ok;
}

template <const Packing& P>
Status shape(Call& call, const Tensor& weight, const Tensor& /*scales*/, const Tensor* /*zero_points*/,
             int64_t /*quant_min*/, int64_t /*quant_max*/, const Tensor& indices, Tensor& out) {
  return shape_of_lookup(call, P, weight, indices, out);
}
template <const Packing& P>
Status embedding(Call& call, const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
                 int64_t /*quant_min*/, int64_t /*quant_max*/, const Tensor& indices, Tensor& out) {
  return look_up(call, P, weight, scales, zero_points, indices, out);
}
template <const Packing& P>
Status shape_dtype(Call& call, const Tensor& weight, const Tensor& /*scales*/, const Tensor* /*zero_points*/,
                   int64_t /*quant_min*/, int64_t /*quant_max*/, const Tensor& indices, std::optional<DType> /*dtype*/,
                   Tensor& out) {
  return shape_of_lookup(call, P, weight, indices, out);
}
template <const Packing& P>
Status embedding_dtype(Call& call, const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
                       int64_t /*quant_min*/, int64_t /*quant_max*/, const Tensor& indices, std::optional<DType> dtype,
                       Tensor& out) {
  if (dtype && *dtype != out.dtype) {
    return call.fail(Status::InvalidArgument, "out has dtype {}, but the argument dtype is {}", dtype_name(out.dtype),
                     dtype_name(*dtype));
  }
  return look_up(call, P, weight, scales, zero_points, indices, out);
}

#define ETRT_EMBEDDING                                                                                             \
  "(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, " \
  "Tensor indices, *, "
constexpr std::string_view kPlain = ETRT_EMBEDDING "Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kDtype = ETRT_EMBEDDING "ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)";
constexpr uint32_t kFacts = kPure | kAnyLayout;

}  // namespace

Table quantized_embedding_rows() {
  static const Op rows[] = {
      {"quantized_decomposed::embedding_byte.out", kPlain, bind<shape<kByte>>, bind<embedding<kByte>>, kFacts},
      {"quantized_decomposed::embedding_byte.dtype_out", kDtype, bind<shape_dtype<kByte>>, bind<embedding_dtype<kByte>>,
       kFacts},
      {"quantized_decomposed::embedding_4bit.out", kPlain, bind<shape<kNibbles>>, bind<embedding<kNibbles>>, kFacts},
      {"quantized_decomposed::embedding_4bit.dtype_out", kDtype, bind<shape_dtype<kNibbles>>,
       bind<embedding_dtype<kNibbles>>, kFacts},
      {"quantized_decomposed::embedding_2bit.out", kPlain, bind<shape<kPairs>>, bind<embedding<kPairs>>, kFacts},
      {"quantized_decomposed::embedding_2bit.dtype_out", kDtype, bind<shape_dtype<kPairs>>,
       bind<embedding_dtype<kPairs>>, kFacts},
  };
  return rows;
}

}  // namespace etrt::ops
