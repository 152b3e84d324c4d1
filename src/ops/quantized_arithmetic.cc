// quantized_decomposed::add* on quantized tensors, and products with quantized weights.
#include <algorithm>
#include <cmath>

#include "core/convert.h"
#include "core/thread_pool.h"
#include "ops/affine.h"
#include "ops/compute.h"
#include "ops/dims.h"
#include "ops/gemm.h"
#include "ops/quantized_rows.h"
#include "ops/shape_of_first.h"

namespace etrt::ops {
namespace {

// ---- add

struct QuantParams {
  double scale;
  int64_t zero_point;
};

// x = (q - zero_point) * scale as a float32 tensor in row-major order, whole.
Result<Tensor> dequantized(Call& call, const Tensor& q, const QuantParams& params) {
  Tensor x = call.scratch_tensor(DType::Float32, q.sizes());
  auto* values = call.scratch<double>(2);
  values[0] = rounded(DType::Float32, params.scale);
  values[1] = rounded(DType::Float32, static_cast<double>(params.zero_point));
  Blocks blocks = whole_tensor_block(q);
  blocks.scale.values = {values, 1};
  blocks.zero_point.values = {values + 1, 1};
  ET_TRY(dequantize(call, q, blocks, {}, x));
  return x;
}

Result<Dims> broadcast_sizes(Call& call, const Tensor& a, const Tensor& b) {
  Dims sizes;
  const int rank = std::max(a.rank(), b.rank());
  for (int d = 0; d < rank; ++d) {
    const int da = d - (rank - a.rank());
    const int db = d - (rank - b.rank());
    const int64_t na = da < 0 ? 1 : a.size(da);
    const int64_t nb = db < 0 ? 1 : b.size(db);
    if (na != nb && na != 1 && nb != 1) {
      return call.fail(Status::InvalidArgument, "b {} doesn't broadcast with a {}", tensor_text(b), tensor_text(a));
    }
    sizes.push_back(na == 1 ? nb : na);
  }
  return sizes;
}

// Strides of `t` over the dimensions of `sizes`, 0 where it is repeated.
Dims broadcast_strides(const Tensor& t, const Dims& sizes) {
  Dims strides;
  for (int d = 0; d < sizes.size(); ++d) {
    const int own = d - (sizes.size() - t.rank());
    strides.push_back(own < 0 || t.size(own) == 1 ? 0 : t.stride(own));
  }
  return strides;
}

// sum[i] = a[i] + b[i], not less than `least`; sum is row-major.
void add_floats(const Tensor& a, const Tensor& b, float least, const Dims& sizes, float* sum) {
  const Dims step_a = broadcast_strides(a, sizes);
  const Dims step_b = broadcast_strides(b, sizes);
  const int last = sizes.size() - 1;
  const int64_t row = last < 0 ? 1 : sizes[last];
  int64_t rows = 1;
  for (int d = 0; d < last; ++d) {
    rows *= sizes[d];
  }
  for (int64_t r = 0; r < rows; ++r) {
    const auto* x = a.as<const float>();
    const auto* y = b.as<const float>();
    int64_t rest = r;
    for (int d = last - 1; d >= 0; --d) {
      x += rest % sizes[d] * step_a[d];
      y += rest % sizes[d] * step_b[d];
      rest /= sizes[d];
    }
    const int64_t sx = last < 0 ? 0 : step_a[last];
    const int64_t sy = last < 0 ? 0 : step_b[last];
    for (int64_t i = 0; i < row; ++i) {
      const float v = x[i * sx] + y[i * sy];
      sum[r * row + i] = v < least ? least : v;
    }
  }
}

Status quantize_sum(Call& call, const Tensor& sum, const QuantParams& params, int64_t low, int64_t high, Tensor& out) {
  auto* values = call.scratch<double>(2);
  values[0] = rounded(DType::Float32, 1.0 / params.scale);
  values[1] = rounded(DType::Float32, static_cast<double>(params.zero_point));
  Blocks blocks = whole_tensor_block(sum);
  blocks.scale.values = {values, 1};
  blocks.zero_point.values = {values + 1, 1};
  return quantize(call, sum, blocks, {.low = static_cast<double>(low), .high = static_cast<double>(high)}, out);
}

Status add_quantized(Call& call, const Tensor& a, const QuantParams& a_params, const Tensor& b,
                     const QuantParams& b_params, float least, const QuantParams& out_params, int64_t low, int64_t high,
                     Tensor& out) {
  if (!is_int(storage_dtype(a.dtype)) || !is_int(storage_dtype(b.dtype)) || !is_int(storage_dtype(out.dtype))) {
    return call.fail(Status::InvalidArgument, "a is {}, b is {}, out is {}, expected integers", dtype_name(a.dtype),
                     dtype_name(b.dtype), dtype_name(out.dtype));
  }
  ET_ASSIGN(const Dims sizes, broadcast_sizes(call, a, b));
  ET_TRY(check_sizes(call, out, sizes));
  ET_ASSIGN(const Tensor x, dequantized(call, a, a_params));
  ET_ASSIGN(const Tensor y, dequantized(call, b, b_params));
  const Tensor sum = call.scratch_tensor(DType::Float32, sizes);
  add_floats(x, y, least, sizes, sum.as<float>());
  return quantize_sum(call, sum, out_params, low, high, out);
}

constexpr float kNoLeast = -std::numeric_limits<float>::infinity();

Status shape_of_add(Call& call, const Tensor& a, double /*a_scale*/, int64_t /*a_zero_point*/, int64_t /*a_low*/,
                    int64_t /*a_high*/, const Tensor& b, double /*b_scale*/, int64_t /*b_zero_point*/,
                    int64_t /*b_low*/, int64_t /*b_high*/, double /*scale*/, int64_t /*zero_point*/, int64_t /*low*/,
                    int64_t /*high*/, Tensor& out) {
  ET_ASSIGN(const Dims sizes, broadcast_sizes(call, a, b));
  return call.resize(out, sizes);
}

Status add(Call& call, const Tensor& a, double a_scale, int64_t a_zero_point, int64_t /*a_low*/, int64_t /*a_high*/,
           const Tensor& b, double b_scale, int64_t b_zero_point, int64_t /*b_low*/, int64_t /*b_high*/, double scale,
           int64_t zero_point, int64_t low, int64_t high, Tensor& out) {
  return add_quantized(call, a, {a_scale, a_zero_point}, b, {b_scale, b_zero_point}, kNoLeast, {scale, zero_point}, low,
                       high, out);
}

Status add_relu(Call& call, const Tensor& a, double a_scale, int64_t a_zero_point, int64_t /*a_low*/,
                int64_t /*a_high*/, const Tensor& b, double b_scale, int64_t b_zero_point, int64_t /*b_low*/,
                int64_t /*b_high*/, double scale, int64_t zero_point, int64_t low, int64_t high, Tensor& out) {
  return add_quantized(call, a, {a_scale, a_zero_point}, b, {b_scale, b_zero_point}, 0.0F, {scale, zero_point}, low,
                       high, out);
}

Status add_scalar(Call& call, const Tensor& a, double a_scale, int64_t a_zero_point, int64_t /*a_low*/,
                  int64_t /*a_high*/, DType /*a_dtype*/, Scalar b, double scale, int64_t zero_point, int64_t low,
                  int64_t high, DType /*out_dtype*/, Tensor& out) {
  ET_ASSIGN(const Tensor x, dequantized(call, a, {a_scale, a_zero_point}));
  auto* values = x.as<float>();
  const auto addend = static_cast<float>(b.as_double());
  for (int64_t i = 0; i < x.numel(); ++i) {
    values[i] += addend;
  }
  return quantize_sum(call, x, {scale, zero_point}, low, high, out);
}

// ---- products with an int8 weight

// One matrix row by row, as floats.
class FloatRows {
 public:
  static Result<FloatRows> of(Call& call, const Tensor& t, const char* name) {
    FloatRows rows;
    rows.load_ = load_run<float>(storage_dtype(t.dtype));
    if (t.rank() != 2 || rows.load_ == nullptr) {
      return call.fail(Status::InvalidArgument, "{} is {}, expected 2 dimensions of numbers", name, tensor_text(t));
    }
    rows.data_ = t.bytes();
    rows.columns_ = t.size(1);
    rows.stride_ = t.stride(1);
    rows.row_bytes_ = t.stride(0) * static_cast<int64_t>(t.element_size());
    return rows;
  }
  void read(int64_t row, float* to) const { load_(data_ + row * row_bytes_, stride_, columns_, to); }

 private:
  FloatRows() = default;
  LoadRun<float> load_ = nullptr;
  const std::byte* data_ = nullptr;
  int64_t columns_ = 0;
  int64_t stride_ = 0;
  int64_t row_bytes_ = 0;
  friend class Result<FloatRows>;
};

// Scale and zero point of each weight: row r, column c uses values[r * groups + c / group_size].
struct WeightParams {
  std::span<double> scale;
  std::span<double> zero_point;  // may be empty
  int64_t groups = 1;
  int64_t group_size = 1;

  void apply(int64_t row, float* weights, int64_t columns) const {
    for (int64_t c = 0; c < columns; ++c) {
      const auto at = static_cast<size_t>(row * groups + c / group_size);
      const float zero = zero_point.empty() ? 0.0F : static_cast<float>(zero_point[at]);
      weights[c] = (weights[c] - zero) * static_cast<float>(scale[at]);
    }
  }
};

Result<WeightParams> weight_params(Call& call, const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
                                   bool grouped) {
  if (scales.rank() != 1 && !(grouped && scales.rank() == 2)) {
    return call.fail(Status::InvalidArgument, "weight_scales is {}, expected 1{} dimensions", tensor_text(scales),
                     grouped ? " or 2" : "");
  }
  if (scales.size(0) != weight.size(0) || scales.numel() == 0) {
    return call.fail(Status::InvalidArgument, "weight_scales is {}, expected one row for each of the {} of weight",
                     tensor_text(scales), weight.size(0));
  }
  if (zero_points != nullptr && !zero_points->same_sizes(scales)) {
    return call.fail(Status::InvalidArgument, "weight_zero_points is {}, but weight_scales is {}",
                     tensor_text(*zero_points), tensor_text(scales));
  }
  WeightParams params;
  ET_ASSIGN(params.scale, load_values(call, scales, "weight_scales"));
  if (zero_points != nullptr) {
    ET_ASSIGN(params.zero_point, load_values(call, *zero_points, "weight_zero_points"));
  }
  params.groups = scales.rank() == 2 ? scales.size(1) : 1;
  params.group_size = std::max<int64_t>((weight.size(1) + params.groups - 1) / params.groups, 1);
  return params;
}

Status check_product(Call& call, const Tensor& input, const Tensor& weight, int weight_dim, const Tensor& out) {
  if (input.rank() != 2 || weight.rank() != 2 || input.size(1) != weight.size(weight_dim)) {
    return call.fail(Status::InvalidArgument, "input {} can't be multiplied with weight {}", tensor_text(input),
                     tensor_text(weight));
  }
  if (weight.dtype != DType::Int8 && weight.dtype != DType::UInt8) {
    return call.fail(Status::InvalidArgument, "weight has dtype {}, expected int8", dtype_name(weight.dtype));
  }
  if (!is_float(input.dtype) || !is_float(out.dtype)) {
    return call.fail(Status::InvalidArgument, "input is {} and out is {}, expected floating dtypes",
                     dtype_name(input.dtype), dtype_name(out.dtype));
  }
  return Status::Ok;
}

void store_row(const Tensor& out, int64_t row, const float* values) {
  const int64_t at = row * out.stride(0) * static_cast<int64_t>(out.element_size());
  store_run<float>(out.dtype)(values, out.bytes() + at, out.stride(1), out.size(1));
}

// input [m, n], weight [n, p] with a scale a row: out[i, j] = sum over k of input[i, k] * weight[k, j] * scale[k].
Status mixed_mm(Call& call, const Tensor& input, const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
                Tensor& out) {
  ET_TRY(check_product(call, input, weight, 0, out));
  ET_ASSIGN(const WeightParams params, weight_params(call, weight, scales, zero_points, false));
  ET_ASSIGN(const FloatRows inputs, FloatRows::of(call, input, "input"));
  ET_ASSIGN(const FloatRows weights, FloatRows::of(call, weight, "weight"));
  const int64_t n = input.size(1);
  const int64_t p = weight.size(1);
  ET_TRY(check_sizes(call, out, std::array{input.size(0), p}));
  if (out.numel() == 0) {
    return Status::Ok;
  }
  float* matrix = call.scratch<float>(std::max<int64_t>(n * p, 1));
  for (int64_t k = 0; k < n; ++k) {
    weights.read(k, matrix + k * p);
    params.apply(k, matrix + k * p, p);
  }
  float* x = call.scratch<float>(n);
  float* sums = call.scratch<float>(p);
  for (int64_t i = 0; i < input.size(0); ++i) {
    inputs.read(i, x);
    std::fill_n(sums, p, 0.0F);
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t j = 0; j < p; ++j) {
        sums[j] += x[k] * matrix[k * p + j];
      }
    }
    store_row(out, i, sums);
  }
  return Status::Ok;
}

Status shape_of_mixed_mm(Call& call, const Tensor& input, const Tensor& weight, const Tensor& /*scales*/,
                         const Tensor* /*zero_points*/, Tensor& out) {
  ET_TRY(check_product(call, input, weight, 0, out));
  const int64_t sizes[] = {input.size(0), weight.size(1)};
  return call.resize(out, sizes);
}

// input [m, n], weight [p, n] with scales [p] or [p, groups].
Status mixed_linear(Call& call, const Tensor& input, const Tensor& weight, const Tensor& scales,
                    const Tensor* zero_points, std::optional<DType> /*dtype*/, Tensor& out) {
  ET_TRY(check_product(call, input, weight, 1, out));
  ET_ASSIGN(const WeightParams params, weight_params(call, weight, scales, zero_points, true));
  ET_ASSIGN(const FloatRows inputs, FloatRows::of(call, input, "input"));
  ET_ASSIGN(const FloatRows weights, FloatRows::of(call, weight, "weight"));
  const int64_t m = input.size(0);
  const int64_t n = input.size(1);
  const int64_t p = weight.size(0);
  ET_TRY(check_sizes(call, out, std::array{m, p}));
  if (out.numel() == 0) {
    return Status::Ok;
  }
  float* x = call.scratch<float>(std::max<int64_t>(m * n, 1));
  float* sums = call.scratch<float>(std::max<int64_t>(m * p, 1));
  float* w = call.scratch<float>(n);
  for (int64_t i = 0; i < m; ++i) {
    inputs.read(i, x + i * n);
  }
  for (int64_t j = 0; j < p; ++j) {
    weights.read(j, w);
    params.apply(j, w, n);
    for (int64_t i = 0; i < m; ++i) {
      sums[i * p + j] = dot(x + i * n, w, n);
    }
  }
  for (int64_t i = 0; i < m; ++i) {
    store_row(out, i, sums + i * p);
  }
  return Status::Ok;
}

Status shape_of_mixed_linear(Call& call, const Tensor& input, const Tensor& weight, const Tensor& /*scales*/,
                             const Tensor* /*zero_points*/, std::optional<DType> /*dtype*/, Tensor& out) {
  ET_TRY(check_product(call, input, weight, 1, out));
  const int64_t sizes[] = {input.size(0), weight.size(0)};
  return call.resize(out, sizes);
}

constexpr std::string_view kAdd =
    "(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor b, float b_scale, "
    "int b_zero_point, int b_quant_min, int b_quant_max, float out_scale, int out_zero_point, int out_quant_min, "
    "int out_quant_max, *, Tensor(a!) out) -> Tensor(a!)";
constexpr uint32_t kFacts = kPure | kAnyLayout;

}  // namespace

Table quantized_arithmetic_rows() {
  static const Op rows[] = {
      {"quantized_decomposed::add.out", kAdd, bind<shape_of_add>, bind<add>, kFacts},
      {"quantized_decomposed::add_relu.out", kAdd, bind<shape_of_add>, bind<add_relu>, kFacts},
      {"quantized_decomposed::add.scalar_out",
       "(Tensor qa, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, ScalarType a_dtype, Scalar b, "
       "float out_scale, int out_zero_point, int out_quant_min, int out_quant_max, ScalarType out_dtype, *, "
       "Tensor(a!) out) -> Tensor(a!)",
       shape_of_first<12>, bind<add_scalar>, kFacts},
      {"quantized_decomposed::mixed_mm.out",
       "(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, *, Tensor(a!) out) -> "
       "Tensor(a!)",
       bind<shape_of_mixed_mm>, bind<mixed_mm>, kFacts},
      {"quantized_decomposed::mixed_linear.out",
       "(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, ScalarType? dtype=None, *, "
       "Tensor(a!) out) -> Tensor(a!)",
       bind<shape_of_mixed_linear>, bind<mixed_linear>, kFacts},
  };
  return rows;
}

}  // namespace etrt::ops
