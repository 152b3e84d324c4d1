// torchao::*: affine quantization in blocks of any shape, and float8.
//
// Names as the exporter gives them where a library defines out variants, and the functional names that it leaves where
// it was told to tolerate missing ones; the arguments are the same but for the mark of the outputs.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/convert.h"
#include "ops/affine.h"
#include "ops/compute.h"
#include "ops/dims.h"
#include "ops/gemm.h"
#include "ops/shape_of_first.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// PyTorch's numbers of dtypes that no tensor of a program has but that arguments may name.
constexpr int64_t kFirstSubByteUnsigned = 30;  // uint1 to uint7
constexpr int64_t kFirstSubByteSigned = 37;    // int1 to int7
constexpr int64_t kFloat8E8M0 = 44;

struct Bounds {
  double low;
  double high;
};

std::optional<double> float8_max(int64_t dtype) {
  switch (dtype) {
    case static_cast<int64_t>(DType::Float8E5M2):
    case static_cast<int64_t>(DType::Float8E5M2FNUZ):
      return 57344.0;
    case static_cast<int64_t>(DType::Float8E4M3FN):
      return 448.0;
    case static_cast<int64_t>(DType::Float8E4M3FNUZ):
      return 240.0;
    default:
      return std::nullopt;
  }
}

std::optional<Bounds> bounds_of(int64_t dtype) {
  if (const auto limit = float8_max(dtype)) {
    return Bounds{-*limit, *limit};
  }
  if (dtype >= kFirstSubByteSigned && dtype < kFloat8E8M0) {
    const double half = std::ldexp(1.0, static_cast<int>(dtype - kFirstSubByteSigned));
    return Bounds{-half, half - 1};
  }
  if (dtype >= kFirstSubByteUnsigned && dtype < kFirstSubByteSigned) {
    return Bounds{0, std::ldexp(1.0, static_cast<int>(dtype - kFirstSubByteUnsigned) + 1) - 1};
  }
  if (!dtype_valid(dtype)) {
    return std::nullopt;
  }
  switch (storage_dtype(static_cast<DType>(dtype))) {
    case DType::UInt8:
      return Bounds{0, 255};
    case DType::Int8:
      return Bounds{-128, 127};
    case DType::UInt16:
      return Bounds{0, 65535};
    case DType::Int16:
      return Bounds{-32768, 32767};
    case DType::Int32:
      return Bounds{-2147483648.0, 2147483647.0};
    default:
      return std::nullopt;
  }
}

// The bounds given, or else the dtype's.
Result<Bounds> checked_bounds(Call& call, int64_t dtype, std::optional<Scalar> low, std::optional<Scalar> high) {
  const auto limits = bounds_of(dtype);
  if (!limits) {
    return call.fail(Status::InvalidArgument, "dtype {} can't hold quantized values", dtype);
  }
  const Bounds bounds{low ? low->as_double() : limits->low, high ? high->as_double() : limits->high};
  if (bounds.low < limits->low || bounds.high > limits->high) {
    return call.fail(Status::InvalidArgument, "quant_min {} and quant_max {} don't lie in the dtype's range [{}, {}]",
                     bounds.low, bounds.high, limits->low, limits->high);
  }
  return bounds;
}

// How blocks of `block_size` divide a tensor: a size of 1 gives each index its own, the dimension's size (or less
// than 1) takes the whole.
struct BlockGrid {
  Blocks blocks;         // sizes filled in
  Dims grid;             // blocks in each dimension
  uint32_t reduced = 0;  // dimensions of one block only, unless blocks there have one element
  bool any = false;      // does any block hold more than one element?
  int64_t count = 1;
};

Result<BlockGrid> block_grid(Call& call, const Tensor& input, IntList block_size) {
  if (std::ssize(block_size) != input.rank()) {
    return call.fail(Status::InvalidArgument, "block_size {} doesn't fit input {}", sizes_text(block_size),
                     tensor_text(input));
  }
  BlockGrid g;
  g.blocks = whole_tensor_block(input);
  for (int d = 0; d < input.rank(); ++d) {
    const int64_t size = input.size(d);
    const int64_t block = block_size[static_cast<size_t>(d)];
    int64_t blocks = 1;
    if (block == 1) {
      blocks = size;
      g.blocks.size[static_cast<size_t>(d)] = 1;
    } else {
      g.any = true;
      if (block != size && block > 1) {
        if (size % block != 0) {
          return call.fail(Status::InvalidArgument, "block_size {} doesn't divide {} in dimension {}",
                           sizes_text(block_size), tensor_text(input), d);
        }
        blocks = size / block;
        g.blocks.size[static_cast<size_t>(d)] = block;
      } else {
        g.reduced |= 1U << d;
      }
    }
    g.grid.push_back(blocks);
    g.count *= blocks;
  }
  int64_t stride = 1;
  for (int d = input.rank() - 1; d >= 0; --d) {
    g.blocks.scale.stride[static_cast<size_t>(d)] = stride;
    g.blocks.zero_point.stride[static_cast<size_t>(d)] = stride;
    stride *= g.grid[d];
  }
  return g;
}

Result<std::span<double>> block_values(Call& call, const Tensor& t, const char* name, const BlockGrid& grid) {
  if (t.numel() != grid.count) {
    return call.fail(Status::InvalidArgument, "{} is {}, expected one element for each of {} blocks", name,
                     tensor_text(t), grid.count);
  }
  return load_values(call, t, name);
}

// A zero point that changes nothing.
void no_zero_point(Call& call, BlockValues& values) {
  auto* zero = call.scratch<double>(1);
  *zero = 0;
  values = {{zero, 1}, {}};
}

bool is_given(const Tensor* t) { return t != nullptr && t->numel() > 0; }

Status check_float_input(Call& call, const Tensor& input, const char* name) {
  if (!is_float(input.dtype) || dtype_size(input.dtype) < 2) {
    return call.fail(Status::InvalidArgument, "{} has dtype {}, expected float16, bfloat16, float32 or float64", name,
                     dtype_name(input.dtype));
  }
  return Status::Ok;
}

Status quantize_affine(Call& call, const Tensor& input, IntList block_size, const Tensor& scale,
                       const Tensor* zero_point, int64_t output_dtype, std::optional<Scalar> quant_min,
                       std::optional<Scalar> quant_max, Tensor& out) {
  ET_TRY(check_float_input(call, input, "input"));
  ET_ASSIGN(const Bounds bounds, checked_bounds(call, output_dtype, quant_min, quant_max));
  ET_ASSIGN(BlockGrid grid, block_grid(call, input, block_size));
  ET_ASSIGN(const auto scales, block_values(call, scale, "scale", grid));
  QuantizeSteps steps{.low = bounds.low, .high = bounds.high};
  steps.product = promote_tensors(input.dtype, 1, scale.dtype, 1);
  steps.sum = steps.product;
  for (double& s : scales) {
    s = 1.0 / s;
  }
  round_values(scale.dtype, scales.data(), std::ssize(scales));
  grid.blocks.scale.values = scales;
  no_zero_point(call, grid.blocks.zero_point);
  if (is_given(zero_point)) {
    ET_ASSIGN(const auto zero_points, block_values(call, *zero_point, "zero_point", grid));
    steps.sum = promote_tensors(steps.product, 1, zero_point->dtype, 1);
    round_values(steps.sum, zero_points.data(), std::ssize(zero_points));
    grid.blocks.zero_point = {zero_points, grid.blocks.scale.stride};
  }
  return quantize(call, input, grid.blocks, steps, out);
}

Status dequantize_affine(Call& call, const Tensor& input, IntList block_size, const Tensor& scale,
                         const Tensor* zero_point, int64_t input_dtype, std::optional<Scalar> /*quant_min*/,
                         std::optional<Scalar> /*quant_max*/, DType output_dtype, Tensor& out) {
  if (dtype_valid(input_dtype) && storage_dtype(input.dtype) != storage_dtype(static_cast<DType>(input_dtype))) {
    return call.fail(Status::InvalidArgument, "input has dtype {}, but the argument input_dtype is {}",
                     dtype_name(input.dtype), dtype_name(static_cast<DType>(input_dtype)));
  }
  if (!is_float(output_dtype)) {
    return call.fail(Status::InvalidArgument, "output_dtype {} isn't a floating dtype", dtype_name(output_dtype));
  }
  ET_ASSIGN(BlockGrid grid, block_grid(call, input, block_size));
  ET_ASSIGN(grid.blocks.scale.values, block_values(call, scale, "scale", grid));
  DequantizeSteps steps{output_dtype, output_dtype, promote_tensors(output_dtype, 1, scale.dtype, 1)};
  no_zero_point(call, grid.blocks.zero_point);
  if (is_given(zero_point)) {
    ET_ASSIGN(const auto zero_points, block_values(call, *zero_point, "zero_point", grid));
    round_values(output_dtype, zero_points.data(), std::ssize(zero_points));
    grid.blocks.zero_point = {zero_points, grid.blocks.scale.stride};
  }
  return dequantize(call, input, grid.blocks, steps, out);
}

// ---- the search for parameters

double nan_min(double a, double b) { return a != a || a < b ? a : b; }
double nan_max(double a, double b) { return a != a || a > b ? a : b; }
double clamp(double v, double low, double high) { return v < low ? low : v > high ? high : v; }

// Eager reduces over no dimension as over all of them.
void join_if_nothing_is_reduced(const Tensor& input, BlockGrid& grid) {
  if (grid.any) {
    return;
  }
  grid.blocks = whole_tensor_block(input);
  grid.reduced = input.rank() == 0 ? 0 : (1U << input.rank()) - 1;
  grid.count = 1;
  for (int d = 0; d < input.rank(); ++d) {
    grid.grid[d] = 1;
  }
}

Dims reduced_sizes(const BlockGrid& grid, bool keepdim) {
  Dims sizes;
  for (int d = 0; d < grid.grid.size(); ++d) {
    if (keepdim || (grid.reduced >> d & 1U) == 0) {
      sizes.push_back(grid.grid[d]);
    }
  }
  return sizes;
}

Result<BlockGrid> search_grid(Call& call, const Tensor* input, IntList block_size) {
  if (input == nullptr) {
    return call.fail(Status::InvalidArgument, "input is None, expected a tensor");
  }
  ET_TRY(check_float_input(call, *input, "input"));
  ET_ASSIGN(BlockGrid grid, block_grid(call, *input, block_size));
  join_if_nothing_is_reduced(*input, grid);
  if (input->numel() == 0) {
    return call.fail(Status::InvalidArgument, "input {} is empty; it has no range", tensor_text(*input));
  }
  return grid;
}

Status shape_of_choose_qparams(Call& call, const Tensor* input, std::string_view /*mapping_type*/, IntList block_size,
                               int64_t /*target_dtype*/, std::optional<Scalar> /*quant_min*/,
                               std::optional<Scalar> /*quant_max*/, std::optional<double> /*eps*/,
                               std::optional<int64_t> /*scale_dtype*/, std::optional<int64_t> /*zero_point_dtype*/,
                               bool keepdim, Tensor& scale, Tensor& zero_point) {
  ET_ASSIGN(const BlockGrid grid, search_grid(call, input, block_size));
  const Dims sizes = reduced_sizes(grid, keepdim);
  ET_TRY(call.resize(scale, sizes));
  return call.resize(zero_point, sizes);
}

double smallest_normal(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return std::ldexp(1.0, -14);
    case DType::Float64:
      return std::numeric_limits<double>::min();
    default:
      return static_cast<double>(std::numeric_limits<float>::min());
  }
}

enum class Mapping { kSymmetric, kSymmetricNoClipping, kAsymmetric };

struct SearchSteps {
  Mapping mapping;
  DType type;  // in which eager computes
  Bounds bounds;
  double eps;
};
struct QParams {
  double scale;
  double zero_point;
};

QParams choose(const SearchSteps& s, const BlockRange& range) {
  const double low = nan_min(range.low, 0.0);
  const double high = nan_max(range.high, 0.0);
  const double levels = s.bounds.high - s.bounds.low;
  QParams q{};
  if (s.mapping == Mapping::kAsymmetric) {
    q.scale = rounded(s.type, rounded(s.type, high - low) / levels);
    q.scale = q.scale < s.eps ? s.eps : q.scale;
    const double steps = std::nearbyint(rounded(s.type, low / q.scale));
    q.zero_point = clamp(rounded(s.type, s.bounds.low - steps), s.bounds.low, s.bounds.high);
    return q;
  }
  if (s.mapping == Mapping::kSymmetric) {
    q.scale = rounded(s.type, nan_max(-low, high) / (levels / 2));
  } else {
    const double from_low = rounded(s.type, low / s.bounds.low);
    const double from_high = rounded(s.type, high / s.bounds.high);
    q.scale = from_low > from_high ? from_low : from_high;
  }
  q.scale = q.scale < s.eps ? s.eps : q.scale;
  q.zero_point = rounded(s.type, std::trunc((s.bounds.high + s.bounds.low + 1) / 2));
  return q;
}

// Writes value `i`, counted in row-major order, whatever the layout.
void store_at(const Tensor& out, int64_t i, double value) {
  int64_t at = 0;
  for (int d = out.rank() - 1; d >= 0; --d) {
    at += i % out.size(d) * out.stride(d);
    i /= out.size(d);
  }
  store_one<double>(out.dtype, out.bytes() + at * static_cast<int64_t>(out.element_size()), value);
}

Status check_output(Call& call, const Tensor& out, const Dims& sizes) {
  ET_TRY(check_sizes(call, out, sizes));
  if (store_run<double>(out.dtype) == nullptr) {
    return call.fail(Status::InvalidArgument, "{} has dtype {}, expected a number dtype", call.arg_name(out),
                     dtype_name(out.dtype));
  }
  return Status::Ok;
}

Result<Mapping> mapping_of(Call& call, std::string_view name) {
  if (name == "SYMMETRIC") {
    return Mapping::kSymmetric;
  }
  if (name == "SYMMETRIC_NO_CLIPPING_ERR") {
    return Mapping::kSymmetricNoClipping;
  }
  if (name == "ASYMMETRIC") {
    return Mapping::kAsymmetric;
  }
  return call.fail(Status::InvalidArgument,
                   "mapping_type is \"{}\", expected SYMMETRIC, SYMMETRIC_NO_CLIPPING_ERR or ASYMMETRIC", name);
}

Status choose_qparams_affine(Call& call, const Tensor* input, std::string_view mapping_type, IntList block_size,
                             int64_t target_dtype, std::optional<Scalar> quant_min, std::optional<Scalar> quant_max,
                             std::optional<double> eps, std::optional<int64_t> /*scale_dtype*/,
                             std::optional<int64_t> /*zero_point_dtype*/, bool keepdim, Tensor& scale,
                             Tensor& zero_point) {
  ET_ASSIGN(const Mapping mapping, mapping_of(call, mapping_type));
  ET_ASSIGN(const BlockGrid grid, search_grid(call, input, block_size));
  const Dims sizes = reduced_sizes(grid, keepdim);
  ET_TRY(check_output(call, scale, sizes));
  ET_TRY(check_output(call, zero_point, sizes));
  ET_ASSIGN(const Bounds bounds, checked_bounds(call, target_dtype, quant_min, quant_max));
  const DType type = input->dtype;
  const SearchSteps steps{mapping, type, bounds, rounded(type, eps.value_or(smallest_normal(type)))};
  ET_ASSIGN(const auto ranges, block_ranges(call, *input, grid.blocks, grid.count));
  for (int64_t i = 0; i < grid.count; ++i) {
    const QParams q = choose(steps, ranges[static_cast<size_t>(i)]);
    store_at(scale, i, q.scale);
    store_at(zero_point, i, q.zero_point);
  }
  return Status::Ok;
}

// ---- float8

Status shape_of_choose_scale(Call& call, const Tensor& tensor, IntList block_size, int64_t /*float8_dtype*/,
                             int64_t /*scale_dtype*/, std::optional<double> /*low*/, std::optional<double> /*high*/,
                             Tensor& out) {
  ET_ASSIGN(const BlockGrid grid, search_grid(call, &tensor, block_size));
  return call.resize(out, reduced_sizes(grid, true));
}

Status choose_scale_float8(Call& call, const Tensor& tensor, IntList block_size, int64_t float8_dtype,
                           int64_t scale_dtype, std::optional<double> low, std::optional<double> high, Tensor& out) {
  const auto limit = float8_max(float8_dtype);
  if (!limit) {
    return call.fail(Status::InvalidArgument, "float8_dtype {} isn't a float8 dtype", float8_dtype);
  }
  ET_ASSIGN(const BlockGrid grid, search_grid(call, &tensor, block_size));
  ET_TRY(check_output(call, out, reduced_sizes(grid, true)));
  ET_ASSIGN(const auto ranges, block_ranges(call, tensor, grid.blocks, grid.count));
  const DType type = tensor.dtype;
  for (int64_t i = 0; i < grid.count; ++i) {
    const BlockRange& range = ranges[static_cast<size_t>(i)];
    double greatest = nan_max(-range.low, range.high);
    if (low && greatest < *low) {
      greatest = rounded(type, *low);
    }
    if (high && greatest > *high) {
      greatest = rounded(type, *high);
    }
    double scale = rounded(type, greatest / *limit);
    if (scale_dtype == kFloat8E8M0) {
      scale = rounded(type, std::exp2(std::nearbyint(rounded(type, std::log2(scale)))));
    }
    store_at(out, i, rounded(DType::Float32, scale));
  }
  return Status::Ok;
}

// A scale that broadcasts with the tensor, or one for each block of equal size.
Result<Blocks> float8_blocks(Call& call, const Tensor& tensor, const Tensor& scale) {
  Blocks blocks;
  blocks.size.fill(1);
  const int rank = tensor.rank();
  bool fits = scale.rank() <= rank;
  int64_t stride = 1;
  for (int i = 1; fits && i <= scale.rank(); ++i) {
    const auto d = static_cast<size_t>(rank - i);
    const int64_t size = tensor.size(rank - i);
    const int64_t n = scale.size(scale.rank() - i);
    fits = n == 1 || n == size || (scale.rank() == rank && n > 0 && size % n == 0);
    if (fits && n > 1) {
      blocks.scale.stride[d] = stride;
      blocks.size[d] = std::max<int64_t>(size / n, 1);
    }
    stride *= n;
  }
  if (!fits) {
    return call.fail(Status::InvalidArgument, "scale {} doesn't divide tensor {}", tensor_text(scale),
                     tensor_text(tensor));
  }
  ET_ASSIGN(blocks.scale.values, load_values(call, scale, "scale"));
  no_zero_point(call, blocks.zero_point);
  return blocks;
}

Status quantize_float8(Call& call, const Tensor& tensor, const Tensor& scale, DType float8_dtype, Tensor& out) {
  const auto limit = float8_max(static_cast<int64_t>(float8_dtype));
  if (!limit || out.dtype != float8_dtype) {
    return call.fail(Status::InvalidArgument, "float8_dtype is {} and out is {}, expected the same float8 dtype",
                     dtype_name(float8_dtype), dtype_name(out.dtype));
  }
  ET_ASSIGN(const Blocks blocks, float8_blocks(call, tensor, scale));
  QuantizeSteps steps{.low = -*limit, .high = *limit, .divide = true, .whole = false};
  steps.product = promote_tensors(DType::Float32, tensor.rank(), scale.dtype, scale.rank());
  steps.sum = steps.product;
  return quantize(call, tensor, blocks, steps, out);
}

Status dequantize_float8(Call& call, const Tensor& tensor, const Tensor& scale, DType /*output_dtype*/, Tensor& out) {
  if (!is_float(out.dtype)) {
    return call.fail(Status::InvalidArgument, "out has dtype {}, expected a floating dtype", dtype_name(out.dtype));
  }
  ET_ASSIGN(const Blocks blocks, float8_blocks(call, tensor, scale));
  DequantizeSteps steps;
  steps.product = promote_tensors(DType::Float32, tensor.rank(), scale.dtype, scale.rank());
  return dequantize(call, tensor, blocks, steps, out);
}

// ---- integer products

Status check_int_product(Call& call, const Tensor& a, const Tensor& b) {
  if (a.rank() != 2 || b.rank() != 2 || a.size(1) != b.size(0) || !is_int(a.dtype) || !is_int(b.dtype)) {
    return call.fail(Status::InvalidArgument, "a {} can't be multiplied with b {}, expected integer matrices",
                     tensor_text(a), tensor_text(b));
  }
  return Status::Ok;
}

Status shape_of_int_matmul(Call& call, const Tensor& a, const Tensor& b, Tensor& out) {
  ET_TRY(check_int_product(call, a, b));
  return call.resize(out, std::array{a.size(0), b.size(1)});
}

// a b as a row-major matrix.
const int64_t* int_product(Call& call, const Tensor& a, const Tensor& b) {
  auto* c = call.scratch<int64_t>(std::max<int64_t>(a.size(0) * b.size(1), 1));
  const Gemm<int64_t> gemm(call, a.size(0), b.size(1), a.size(1));
  gemm.run({a.data, a.dtype, a.stride(0), a.stride(1)}, {b.data, b.dtype, b.stride(0), b.stride(1)}, {c, b.size(1), 1});
  return c;
}

Status int_matmul(Call& call, const Tensor& a, const Tensor& b, Tensor& out) {
  ET_TRY(check_int_product(call, a, b));
  ET_TRY(check_sizes(call, out, std::array{a.size(0), b.size(1)}));
  if (!is_int(out.dtype)) {
    return call.fail(Status::InvalidArgument, "out has dtype {}, expected int32", dtype_name(out.dtype));
  }
  if (out.numel() == 0) {
    return Status::Ok;
  }
  const int64_t* c = int_product(call, a, b);
  const StoreRun<int64_t> store = store_run<int64_t>(out.dtype);
  for (int64_t i = 0; i < out.size(0); ++i) {
    store(c + i * out.size(1), out.bytes() + i * out.stride(0) * static_cast<int64_t>(out.element_size()),
          out.stride(1), out.size(1));
  }
  return Status::Ok;
}

Status shape_of_int_scaled(Call& call, const Tensor& a, const Tensor& b, const Tensor& /*scales*/, Tensor& out) {
  return shape_of_int_matmul(call, a, b, out);
}

// The product of integers times a scale a row, both in the scales' type.
Status int_scaled_matmul(Call& call, const Tensor& a, const Tensor& b, const Tensor& scales, Tensor& out) {
  ET_TRY(check_int_product(call, a, b));
  const int64_t m = a.size(0);
  const int64_t n = b.size(1);
  ET_TRY(check_sizes(call, out, std::array{m, n}));
  if (!is_float(scales.dtype) || !is_float(out.dtype)) {
    return call.fail(Status::InvalidArgument, "scales1 is {} and out is {}, expected floating dtypes",
                     dtype_name(scales.dtype), dtype_name(out.dtype));
  }
  if (scales.rank() != 2 || (scales.size(0) != m && scales.size(0) != 1) ||
      (scales.size(1) != n && scales.size(1) != 1)) {
    return call.fail(Status::InvalidArgument, "scales1 is {}, expected [{}, 1]", tensor_text(scales), m);
  }
  ET_ASSIGN(const auto scale, load_values(call, scales, "scales1"));
  if (out.numel() == 0) {
    return Status::Ok;
  }
  const int64_t* c = int_product(call, a, b);
  auto* row = call.scratch<double>(std::max<int64_t>(n, 1));
  for (int64_t i = 0; i < m; ++i) {
    const double* s = scale.data() + (scales.size(0) == 1 ? 0 : i * scales.size(1));
    for (int64_t j = 0; j < n; ++j) {
      row[j] = static_cast<double>(static_cast<int32_t>(c[i * n + j]));
    }
    round_values(scales.dtype, row, n);
    for (int64_t j = 0; j < n; ++j) {
      row[j] *= s[scales.size(1) == 1 ? 0 : j];
    }
    store_run<double>(out.dtype)(row, out.bytes() + i * out.stride(0) * static_cast<int64_t>(out.element_size()),
                                 out.stride(1), n);
  }
  return Status::Ok;
}

#define ETRT_OUT ", *, Tensor(a!) out) -> Tensor(a!)"
#define ETRT_CHOOSE                                                                                                  \
  "(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, Scalar? quant_min=None, Scalar? " \
  "quant_max=None, float? eps=None, ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool "          \
  "keepdim=False"
#define ETRT_QUANTIZE                                                                                       \
  "(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType output_dtype, Scalar? " \
  "quant_min=None, Scalar? quant_max=None"
#define ETRT_DEQUANTIZE                                                                                    \
  "(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType input_dtype, Scalar? " \
  "quant_min=None, Scalar? quant_max=None, ScalarType output_dtype=6"
constexpr uint32_t kFacts = kPure | kAnyLayout;

}  // namespace

Table torchao_ops() {
  static const Op rows[] = {
      {"torchao::choose_qparams_affine.out",
       ETRT_CHOOSE ", *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))", bind<shape_of_choose_qparams>,
       bind<choose_qparams_affine>, kFacts},
      {"torchao::choose_qparams_affine", ETRT_CHOOSE ") -> (Tensor, Tensor)", bind<shape_of_choose_qparams>,
       bind<choose_qparams_affine>, kFacts},
      {"torchao::quantize_affine.out", ETRT_QUANTIZE ETRT_OUT, shape_of_first<7>, bind<quantize_affine>, kFacts},
      {"torchao::quantize_affine", ETRT_QUANTIZE ") -> Tensor", shape_of_first<7>, bind<quantize_affine>, kFacts},
      {"torchao::dequantize_affine.out", ETRT_DEQUANTIZE ETRT_OUT, shape_of_first<8>, bind<dequantize_affine>, kFacts},
      {"torchao::dequantize_affine", ETRT_DEQUANTIZE ") -> Tensor", shape_of_first<8>, bind<dequantize_affine>, kFacts},
      {"torchao::choose_scale_float8.out",
       "(Tensor tensor, SymInt[] block_size, ScalarType float8_dtype=24, ScalarType scale_dtype=6, float? "
       "hp_value_lb=None, float? hp_value_ub=None" ETRT_OUT,
       bind<shape_of_choose_scale>, bind<choose_scale_float8>, kFacts},
      {"torchao::quantize_affine_float8_non_decomposed.out",
       "(Tensor tensor, Tensor scale, ScalarType float8_dtype=24" ETRT_OUT, shape_of_first<3>, bind<quantize_float8>,
       kFacts},
      {"torchao::dequantize_affine_float8_non_decomposed.out",
       "(Tensor tensor, Tensor scale, ScalarType output_dtype=6" ETRT_OUT, shape_of_first<3>, bind<dequantize_float8>,
       kFacts},
      {"torchao::int_matmul.out", "(Tensor a, Tensor b" ETRT_OUT, bind<shape_of_int_matmul>, bind<int_matmul>, kFacts},
      {"torchao::int_scaled_matmul.out", "(Tensor a, Tensor b, Tensor scales1" ETRT_OUT, bind<shape_of_int_scaled>,
       bind<int_scaled_matmul>, kFacts},
  };
  return rows;
}

}  // namespace etrt::ops
