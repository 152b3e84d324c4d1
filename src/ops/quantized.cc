// quantized_decomposed::quantize_* and dequantize_*: affine quantization with parameters per tensor, channel, token
// and group. The arithmetic is in affine.cc; here the arguments are checked and laid out for it, with the types in
// which eager's reference computes.
#include <algorithm>
#include <vector>

#include "core/convert.h"
#include "ops/affine.h"
#include "ops/dims.h"
#include "ops/quantized_rows.h"
#include "ops/shape_of_first.h"
#include "ops/strided_copy.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

struct QuantRange {
  int64_t low;
  int64_t high;
};

std::optional<QuantRange> quant_range(DType dtype) {
  switch (storage_dtype(dtype)) {
    case DType::UInt8:
      return QuantRange{0, 255};
    case DType::Int8:
      return QuantRange{-128, 127};
    case DType::UInt16:
      return QuantRange{0, 65535};
    case DType::Int16:
      return QuantRange{-32768, 32767};
    case DType::Int32:
      return QuantRange{-2147483648LL, 2147483647LL};
    case DType::Float8E5M2:
      return QuantRange{-57344, 57344};
    case DType::Float8E4M3FN:
      return QuantRange{-448, 448};
    default:
      return std::nullopt;
  }
}

Status check_quantize(Call& call, const Tensor& input, int64_t low, int64_t high, DType dtype, const Tensor& out) {
  if (!is_float(input.dtype)) {
    return call.fail(Status::InvalidArgument, "input has dtype {}, expected a floating dtype", dtype_name(input.dtype));
  }
  if (storage_dtype(dtype) != storage_dtype(out.dtype)) {
    return call.fail(Status::InvalidArgument, "out has dtype {}, but the argument dtype is {}", dtype_name(out.dtype),
                     dtype_name(dtype));
  }
  const auto range = quant_range(dtype);
  if (!range) {
    return call.fail(Status::InvalidArgument, "dtype {} can't hold quantized values", dtype_name(dtype));
  }
  if (low < range->low || high > range->high) {
    return call.fail(Status::InvalidArgument, "quant_min {} and quant_max {} don't lie in {}'s range [{}, {}]", low,
                     high, dtype_name(dtype), range->low, range->high);
  }
  return Status::Ok;
}

Status check_dequantize(Call& call, const Tensor& input, DType dtype, DType out_dtype) {
  if (storage_dtype(input.dtype) != storage_dtype(dtype)) {
    return call.fail(Status::InvalidArgument, "input has dtype {}, but the argument dtype is {}",
                     dtype_name(input.dtype), dtype_name(dtype));
  }
  if (!is_float(out_dtype)) {
    return call.fail(Status::InvalidArgument, "out_dtype {} isn't a floating dtype", dtype_name(out_dtype));
  }
  return Status::Ok;
}

// One value for all elements.
BlockValues single_value(Call& call, double value) {
  auto* v = call.scratch<double>(1);
  *v = value;
  return {{v, 1}, {}};
}

// 1 / values, each rounded to `dtype`, in which eager takes the reciprocal.
void invert(DType dtype, std::span<double> values) {
  for (double& v : values) {
    v = 1.0 / v;
  }
  round_values(dtype, values.data(), std::ssize(values));
}

struct Parameters {
  DType dtype;
  int rank;
  std::span<double> values;
};

Result<Parameters> load_parameters(Call& call, const Tensor& tensor, const char* name) {
  ET_ASSIGN(const auto values, load_values(call, tensor, name));
  return Parameters{tensor.dtype, tensor.rank(), values};
}

// ---- per tensor

// Halves are quantized as float32.
DType quantize_type(DType input) { return input == DType::Float64 ? DType::Float64 : DType::Float32; }

Status quantize_with(Call& call, const Tensor& input, double scale, double zero_point, int64_t low, int64_t high,
                     DType dtype, Tensor& out) {
  ET_TRY(check_quantize(call, input, low, high, dtype, out));
  const DType type = quantize_type(input.dtype);
  Blocks blocks = whole_tensor_block(input);
  blocks.scale = single_value(call, rounded(type, 1.0 / scale));
  blocks.zero_point = single_value(call, rounded(type, zero_point));
  return quantize(call, input, blocks, {type, type, true, static_cast<double>(low), static_cast<double>(high)}, out);
}

Status quantize_per_tensor(Call& call, const Tensor& input, double scale, int64_t zero_point, int64_t quant_min,
                           int64_t quant_max, DType dtype, Tensor& out) {
  return quantize_with(call, input, scale, static_cast<double>(zero_point), quant_min, quant_max, dtype, out);
}

Status quantize_per_tensor_tensor(Call& call, const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                  int64_t quant_min, int64_t quant_max, DType dtype, Tensor& out) {
  ET_ASSIGN(const double s, load_single(call, scale, "scale"));
  ET_ASSIGN(const double z, load_single(call, zero_point, "zero_point"));
  return quantize_with(call, input, s, z, quant_min, quant_max, dtype, out);
}

// An integer argument that comes as a tensor of one element.
Result<int64_t> load_bound(Call& call, const Tensor& tensor, const char* name) {
  ET_ASSIGN(const double value, load_single(call, tensor, name));
  return Scalar::of(value).as_int();
}

Status quantize_per_tensor_tensor2(Call& call, const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                   const Tensor& quant_min, const Tensor& quant_max, DType dtype, Tensor& out) {
  ET_ASSIGN(const int64_t low, load_bound(call, quant_min, "quant_min"));
  ET_ASSIGN(const int64_t high, load_bound(call, quant_max, "quant_max"));
  return quantize_per_tensor_tensor(call, input, scale, zero_point, low, high, dtype, out);
}

// A number takes part in half arithmetic as a float.
DType scalar_type(DType dtype) { return dtype == DType::Float64 ? DType::Float64 : DType::Float32; }

Status dequantize_with(Call& call, const Tensor& input, double scale, double zero_point, DType dtype,
                       std::optional<DType> out_dtype, Tensor& out) {
  const DType type = out_dtype.value_or(DType::Float32);
  ET_TRY(check_dequantize(call, input, dtype, type));
  Blocks blocks = whole_tensor_block(input);
  blocks.scale = single_value(call, rounded(scalar_type(type), scale));
  blocks.zero_point = single_value(call, rounded(scalar_type(type), zero_point));
  return dequantize(call, input, blocks, {type, type, type}, out);
}

Status dequantize_per_tensor(Call& call, const Tensor& input, double scale, int64_t zero_point, int64_t /*quant_min*/,
                             int64_t /*quant_max*/, DType dtype, std::optional<DType> out_dtype, Tensor& out) {
  return dequantize_with(call, input, scale, static_cast<double>(zero_point), dtype, out_dtype, out);
}

Status dequantize_per_tensor_tensor(Call& call, const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                    int64_t /*quant_min*/, int64_t /*quant_max*/, DType dtype,
                                    std::optional<DType> out_dtype, Tensor& out) {
  ET_ASSIGN(const double s, load_single(call, scale, "scale"));
  ET_ASSIGN(const double z, load_single(call, zero_point, "zero_point"));
  return dequantize_with(call, input, s, z, dtype, out_dtype, out);
}

Status dequantize_per_tensor_tensor2(Call& call, const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                     const Tensor& /*quant_min*/, const Tensor& /*quant_max*/, DType dtype,
                                     std::optional<DType> out_dtype, Tensor& out) {
  return dequantize_per_tensor_tensor(call, input, scale, zero_point, 0, 0, dtype, out_dtype, out);
}

// ---- per channel

// One parameter an index of `axis`, or one for all.
Status per_channel(Call& call, const Tensor& input, int axis, const Parameters& params, const char* name,
                   std::array<int64_t, kMaxRank>& stride) {
  const int64_t channels = input.size(axis);
  if (params.rank != 1 || (std::ssize(params.values) != channels && params.values.size() != 1)) {
    return call.fail(Status::InvalidArgument, "{} has {} elements in {} dimensions, expected {} in 1 for axis {} of {}",
                     name, params.values.size(), params.rank, channels, axis, tensor_text(input));
  }
  stride[static_cast<size_t>(axis)] = params.values.size() == 1 ? 0 : 1;
  return Status::Ok;
}

Result<int> channel_axis(Call& call, const Tensor& input, int64_t axis) {
  if (input.rank() == 0) {
    return call.fail(Status::InvalidArgument, "input is a scalar; axis {} needs a dimension", axis);
  }
  return wrap_dim(call, axis, input.rank(), "axis");
}

Result<Blocks> channel_blocks(Call& call, const Tensor& input, int axis, const Parameters& scale,
                              const Parameters& zero_point) {
  Blocks blocks = whole_tensor_block(input);
  blocks.size[static_cast<size_t>(axis)] = 1;
  ET_TRY(per_channel(call, input, axis, scale, "scales", blocks.scale.stride));
  ET_TRY(per_channel(call, input, axis, zero_point, "zero_points", blocks.zero_point.stride));
  blocks.scale.values = scale.values;
  blocks.zero_point.values = zero_point.values;
  return blocks;
}

// No zero points: one that changes nothing.
Parameters no_zero_point(Call& call) {
  auto* zero = call.scratch<double>(1);
  *zero = 0;
  return {DType::Int64, 1, {zero, 1}};
}

Status quantize_per_channel(Call& call, const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                            int64_t axis, int64_t quant_min, int64_t quant_max, DType dtype, Tensor& out) {
  ET_TRY(check_quantize(call, input, quant_min, quant_max, dtype, out));
  ET_ASSIGN(const int dim, channel_axis(call, input, axis));
  ET_ASSIGN(const Parameters scale, load_parameters(call, scales, "scales"));
  ET_ASSIGN(const Parameters zero, load_parameters(call, zero_points, "zero_points"));
  ET_ASSIGN(const Blocks blocks, channel_blocks(call, input, dim, scale, zero));
  QuantizeSteps steps{
      .round_first = true, .low = static_cast<double>(quant_min), .high = static_cast<double>(quant_max)};
  steps.product = promote_tensors(quantize_type(input.dtype), 1, scale.dtype, 1);
  steps.sum = promote_tensors(steps.product, 1, zero.dtype, 1);
  invert(scale.dtype, scale.values);
  round_values(steps.sum, zero.values.data(), std::ssize(zero.values));
  return quantize(call, input, blocks, steps, out);
}

Status dequantize_per_channel(Call& call, const Tensor& input, const Tensor& scales, const Tensor* zero_points,
                              int64_t axis, int64_t /*quant_min*/, int64_t /*quant_max*/, DType dtype,
                              std::optional<DType> out_dtype, Tensor& out) {
  ET_TRY(check_dequantize(call, input, dtype, out_dtype.value_or(DType::Float32)));
  ET_ASSIGN(const int dim, channel_axis(call, input, axis));
  ET_ASSIGN(const Parameters scale, load_parameters(call, scales, "scales"));
  Parameters zero = no_zero_point(call);
  if (zero_points != nullptr) {
    ET_ASSIGN(zero, load_parameters(call, *zero_points, "zero_points"));
  }
  ET_ASSIGN(const Blocks blocks, channel_blocks(call, input, dim, scale, zero));
  DequantizeSteps steps;
  steps.input = storage_dtype(input.dtype);
  steps.difference = zero_points == nullptr ? steps.input : promote_tensors(steps.input, 1, zero.dtype, 1);
  steps.product = promote_tensors(steps.difference, 1, scale.dtype, 1);
  round_values(steps.difference, zero.values.data(), std::ssize(zero.values));
  round_values(steps.product, scale.values.data(), std::ssize(scale.values));
  return dequantize(call, input, blocks, steps, out);
}

// ---- per token

// Parameters that broadcast with the input, or else one for each row of its last dimension.
Status per_token(Call& call, const Tensor& input, const Tensor& params, const char* name, Blocks& blocks,
                 std::array<int64_t, kMaxRank>& stride) {
  const int rank = input.rank();
  const int64_t tokens = rank == 0 ? 1 : input.size(rank - 1) == 0 ? 0 : input.numel() / input.size(rank - 1);
  blocks.size.fill(1);
  stride.fill(0);
  bool broadcasts = params.rank() <= rank;
  int64_t step = 1;
  for (int i = 1; broadcasts && i <= params.rank(); ++i) {
    const int64_t n = params.size(params.rank() - i);
    broadcasts = n == 1 || n == input.size(rank - i);
    stride[static_cast<size_t>(rank - i)] = n == 1 ? 0 : step;
    step *= n;
  }
  if (broadcasts) {
    return Status::Ok;
  }
  if (params.numel() != tokens) {
    return call.fail(Status::InvalidArgument, "{} has sizes {}, expected one for each of the {} rows of {}", name,
                     sizes_text(params.sizes()), tokens, tensor_text(input));
  }
  stride.fill(0);
  step = 1;
  for (int d = rank - 2; d >= 0; --d) {
    stride[static_cast<size_t>(d)] = step;
    step *= input.size(d);
  }
  return Status::Ok;
}

Status quantize_per_token(Call& call, const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                          int64_t quant_min, int64_t quant_max, DType dtype, Tensor& out) {
  ET_TRY(check_quantize(call, input, quant_min, quant_max, dtype, out));
  ET_ASSIGN(const Parameters scale, load_parameters(call, scales, "scales"));
  ET_ASSIGN(const Parameters zero, load_parameters(call, zero_points, "zero_points"));
  Blocks blocks;
  ET_TRY(per_token(call, input, scales, "scales", blocks, blocks.scale.stride));
  ET_TRY(per_token(call, input, zero_points, "zero_points", blocks, blocks.zero_point.stride));
  blocks.scale.values = scale.values;
  blocks.zero_point.values = zero.values;
  QuantizeSteps steps{
      .round_first = false, .low = static_cast<double>(quant_min), .high = static_cast<double>(quant_max)};
  steps.product = promote_tensors(input.dtype, input.rank(), scale.dtype, scale.rank);
  steps.sum = promote_tensors(steps.product, std::max(input.rank(), scale.rank), zero.dtype, zero.rank);
  invert(scale.dtype, scale.values);
  round_values(steps.product, scale.values.data(), std::ssize(scale.values));
  round_values(steps.sum, zero.values.data(), std::ssize(zero.values));
  return quantize(call, input, blocks, steps, out);
}

Status dequantize_per_token(Call& call, const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                            int64_t /*quant_min*/, int64_t /*quant_max*/, DType dtype, DType output_dtype,
                            Tensor& out) {
  ET_TRY(check_dequantize(call, input, dtype, output_dtype));
  ET_ASSIGN(const Parameters scale, load_parameters(call, scales, "scales"));
  ET_ASSIGN(const Parameters zero, load_parameters(call, zero_points, "zero_points"));
  Blocks blocks;
  ET_TRY(per_token(call, input, scales, "scales", blocks, blocks.scale.stride));
  ET_TRY(per_token(call, input, zero_points, "zero_points", blocks, blocks.zero_point.stride));
  blocks.scale.values = scale.values;
  blocks.zero_point.values = zero.values;
  DequantizeSteps steps;
  steps.input = storage_dtype(input.dtype);
  steps.difference = promote_tensors(steps.input, input.rank(), zero.dtype, zero.rank);
  steps.product = promote_tensors(steps.difference, std::max(input.rank(), zero.rank), scale.dtype, scale.rank);
  round_values(steps.difference, zero.values.data(), std::ssize(zero.values));
  round_values(steps.product, scale.values.data(), std::ssize(scale.values));
  return dequantize(call, input, blocks, steps, out);
}

// ---- per channel group

// The parameters of rows of groups, however shaped, count row by row.
Result<Blocks> group_blocks(Call& call, const Tensor& input, const Tensor& scales, int64_t group_size) {
  if (input.rank() != 2) {
    return call.fail(Status::InvalidArgument, "input is {}, expected 2 dimensions", tensor_text(input));
  }
  const int64_t columns = input.size(1);
  if (group_size > columns && scales.rank() > 0 && scales.size(scales.rank() - 1) == 1) {
    group_size = columns;
  }
  if (group_size < 1 || columns % group_size != 0) {
    return call.fail(Status::InvalidArgument, "group_size {} doesn't divide the {} columns of input", group_size,
                     columns);
  }
  Blocks blocks;
  blocks.size = {1, group_size};
  blocks.scale.stride = {columns / group_size, 1};
  return blocks;
}

Status group_values(Call& call, const Tensor& input, const Blocks& blocks, const Parameters& params, const char* name,
                    BlockValues& target) {
  const int64_t groups = input.size(0) * blocks.scale.stride[0];
  if (std::ssize(params.values) != groups && params.values.size() != 1) {
    return call.fail(Status::InvalidArgument, "{} has {} elements, expected one for each of {} groups", name,
                     params.values.size(), groups);
  }
  target.values = params.values;
  if (params.values.size() == 1) {
    target.stride = {0, 0};
  } else {
    target.stride = {groups / std::max<int64_t>(input.size(0), 1), 1};
  }
  return Status::Ok;
}

Status quantize_per_channel_group(Call& call, const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                                  int64_t quant_min, int64_t quant_max, DType dtype, int64_t group_size, Tensor& out) {
  ET_TRY(check_quantize(call, input, quant_min, quant_max, dtype, out));
  ET_ASSIGN(const Parameters scale, load_parameters(call, scales, "scales"));
  ET_ASSIGN(const Parameters zero, load_parameters(call, zero_points, "zero_points"));
  ET_ASSIGN(Blocks blocks, group_blocks(call, input, scales, group_size));
  ET_TRY(group_values(call, input, blocks, zero, "zero_points", blocks.zero_point));
  ET_TRY(group_values(call, input, blocks, scale, "scales", blocks.scale));
  QuantizeSteps steps{
      .round_first = false, .low = static_cast<double>(quant_min), .high = static_cast<double>(quant_max)};
  steps.product = promote_tensors(input.dtype, 2, scale.dtype, 2);
  steps.sum = promote_tensors(steps.product, 2, zero.dtype, 2);
  invert(scale.dtype, scale.values);
  round_values(steps.product, scale.values.data(), std::ssize(scale.values));
  round_values(steps.sum, zero.values.data(), std::ssize(zero.values));
  return quantize(call, input, blocks, steps, out);
}

Status dequantize_per_channel_group(Call& call, const Tensor& input, const Tensor& scales, const Tensor* zero_points,
                                    int64_t /*quant_min*/, int64_t /*quant_max*/, DType /*dtype*/, int64_t group_size,
                                    DType output_dtype, Tensor& out) {
  ET_TRY(check_dequantize(call, input, input.dtype, output_dtype));
  ET_ASSIGN(const Parameters scale, load_parameters(call, scales, "scales"));
  Parameters zero = no_zero_point(call);
  if (zero_points != nullptr) {
    ET_ASSIGN(zero, load_parameters(call, *zero_points, "zero_points"));
  }
  ET_ASSIGN(Blocks blocks, group_blocks(call, input, scales, group_size));
  ET_TRY(group_values(call, input, blocks, zero, "zero_points", blocks.zero_point));
  ET_TRY(group_values(call, input, blocks, scale, "scales", blocks.scale));
  DequantizeSteps steps;
  steps.input = storage_dtype(input.dtype);
  steps.difference = zero_points == nullptr ? steps.input : promote_tensors(steps.input, 2, zero.dtype, 2);
  steps.product = promote_tensors(steps.difference, 2, scale.dtype, 2);
  round_values(steps.difference, zero.values.data(), std::ssize(zero.values));
  round_values(steps.product, scale.values.data(), std::ssize(scale.values));
  return dequantize(call, input, blocks, steps, out);
}

// ---- fake quantization and casts

// (clamp(round(x * (1 / scale)) + zero_point) - zero_point) * scale, all in float32.
Status fake_quant_per_channel(Call& call, const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                              int64_t axis, int64_t quant_min, int64_t quant_max, Tensor& out) {
  if (input.dtype != DType::Float32) {
    return call.fail(Status::InvalidArgument, "input has dtype {}, expected float32", dtype_name(input.dtype));
  }
  ET_ASSIGN(const int dim, channel_axis(call, input, axis));
  ET_ASSIGN(Parameters scale, load_parameters(call, scales, "scales"));
  ET_ASSIGN(Parameters zero, load_parameters(call, zero_points, "zero_points"));
  round_values(DType::Float32, scale.values.data(), std::ssize(scale.values));
  round_values(DType::Int32, zero.values.data(), std::ssize(zero.values));
  ET_ASSIGN(Blocks blocks, channel_blocks(call, input, dim, scale, zero));
  auto* inverse = call.scratch<double>(std::max<int64_t>(std::ssize(scale.values), 1));
  std::copy(scale.values.begin(), scale.values.end(), inverse);
  invert(DType::Float32, {inverse, scale.values.size()});
  round_values(DType::Float32, zero.values.data(), std::ssize(zero.values));
  blocks.scale.values = {inverse, scale.values.size()};
  // The quantized values stay floats: a float32 tensor between the two steps.
  Tensor quantized = call.scratch_tensor(DType::Float32, input.sizes());
  ET_TRY(quantize(call, input, blocks, {.low = static_cast<double>(quant_min), .high = static_cast<double>(quant_max)},
                  quantized));
  blocks.scale.values = scale.values;
  return dequantize(call, quantized, blocks, {}, out);
}

Status convert_element_type(Call& call, const Tensor& input, DType /*dtype*/, Tensor& out) {
  if (!input.same_sizes(out) ||
      !strided_convert(input.sizes(), input.dtype, input.data, input.strides(), out.dtype, out.data, out.strides())) {
    return call.fail(Status::InvalidArgument, "input {} can't be converted to out {}", tensor_text(input),
                     tensor_text(out));
  }
  return Status::Ok;
}

#define ETRT_OUT "Tensor(a!) out) -> Tensor(a!)"
#define ETRT_BOUNDS "int quant_min, int quant_max, ScalarType dtype"
constexpr std::string_view kQuantizeTensors =
    "(Tensor input, Tensor scale, Tensor zero_point, " ETRT_BOUNDS ", *, " ETRT_OUT;
constexpr std::string_view kDequantizeTensors =
    "(Tensor input, Tensor scale, Tensor zero_point, " ETRT_BOUNDS ", *, ScalarType? out_dtype=None, " ETRT_OUT;
constexpr uint32_t kFacts = kPure | kAnyLayout;

}  // namespace

Table affine_rows() {
  static const Op rows[] = {
      {"quantized_decomposed::quantize_per_tensor.out",
       "(Tensor input, float scale, int zero_point, " ETRT_BOUNDS ", *, " ETRT_OUT, shape_of_first<6>,
       bind<quantize_per_tensor>, kFacts | kElementwise},
      {"quantized_decomposed::quantize_per_tensor.Tensor_out", kQuantizeTensors, shape_of_first<6>,
       bind<quantize_per_tensor_tensor>, kFacts},
      {"quantized_decomposed::quantize_per_tensor.tensor_out", kQuantizeTensors, shape_of_first<6>,
       bind<quantize_per_tensor_tensor>, kFacts},
      {"quantized_decomposed::quantize_per_tensor.tensor2_out",
       "(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, "
       "*, " ETRT_OUT,
       shape_of_first<6>, bind<quantize_per_tensor_tensor2>, kFacts},
      {"quantized_decomposed::dequantize_per_tensor.out",
       "(Tensor input, float scale, int zero_point, " ETRT_BOUNDS ", *, ScalarType? out_dtype=None, " ETRT_OUT,
       shape_of_first<7>, bind<dequantize_per_tensor>, kFacts | kElementwise},
      {"quantized_decomposed::dequantize_per_tensor.Tensor_out", kDequantizeTensors, shape_of_first<7>,
       bind<dequantize_per_tensor_tensor>, kFacts},
      {"quantized_decomposed::dequantize_per_tensor.tensor_out", kDequantizeTensors, shape_of_first<7>,
       bind<dequantize_per_tensor_tensor>, kFacts},
      {"quantized_decomposed::dequantize_per_tensor.tensor2_out",
       "(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, "
       "ScalarType? out_dtype=None, " ETRT_OUT,
       shape_of_first<7>, bind<dequantize_per_tensor_tensor2>, kFacts},
      {"quantized_decomposed::quantize_per_channel.out",
       "(Tensor input, Tensor scales, Tensor zero_points, int axis, " ETRT_BOUNDS ", *, " ETRT_OUT, shape_of_first<7>,
       bind<quantize_per_channel>, kFacts},
      {"quantized_decomposed::dequantize_per_channel.out",
       "(Tensor input, Tensor scales, Tensor? zero_points, int axis, " ETRT_BOUNDS
       ", *, ScalarType? out_dtype=None, " ETRT_OUT,
       shape_of_first<8>, bind<dequantize_per_channel>, kFacts},
      {"quantized_decomposed::quantize_per_token.out",
       "(Tensor input, Tensor scales, Tensor zero_points, " ETRT_BOUNDS ", *, " ETRT_OUT, shape_of_first<6>,
       bind<quantize_per_token>, kFacts},
      {"quantized_decomposed::dequantize_per_token.out",
       "(Tensor input, Tensor scales, Tensor zero_points, " ETRT_BOUNDS ", ScalarType output_dtype, *, " ETRT_OUT,
       shape_of_first<7>, bind<dequantize_per_token>, kFacts},
      {"quantized_decomposed::quantize_per_channel_group.out",
       "(Tensor input, Tensor scales, Tensor zero_points, " ETRT_BOUNDS ", int group_size, *, " ETRT_OUT,
       shape_of_first<7>, bind<quantize_per_channel_group>, kFacts},
      {"quantized_decomposed::dequantize_per_channel_group.out",
       "(Tensor input, Tensor scales, Tensor? zero_points, " ETRT_BOUNDS
       ", int group_size, ScalarType output_dtype, *, " ETRT_OUT,
       shape_of_first<8>, bind<dequantize_per_channel_group>, kFacts},
      {"quantized_decomposed::fake_quant_per_channel.out",
       "(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, *, " ETRT_OUT,
       shape_of_first<6>, bind<fake_quant_per_channel>, kFacts},
      {"quantized_decomposed::convert_element_type.no_fuse_out", "(Tensor input, ScalarType dtype, *, " ETRT_OUT,
       shape_of_first<2>, bind<convert_element_type>, kFacts | kElementwise},
  };
  return rows;
}

Table quantized_ops() {
  static const std::vector<Op> rows = [] {
    std::vector<Op> all;
    for (const Table part :
         {affine_rows(), choose_qparams_rows(), quantized_arithmetic_rows(), quantized_embedding_rows()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return rows;
}

}  // namespace etrt::ops
