// quantized_decomposed::choose_qparams*: scale and zero point from the range of a tensor, or of each row of its last
// dimension. Each step is rounded to the type in which eager's reference computes it.
#include <algorithm>
#include <cmath>

#include "core/convert.h"
#include "ops/affine.h"
#include "ops/compute.h"
#include "ops/dims.h"
#include "ops/quantized_rows.h"

namespace etrt::ops {
namespace {

// Eager's minimum and maximum: NaN if either is.
double nan_min(double a, double b) { return a != a || a < b ? a : b; }
double nan_max(double a, double b) { return a != a || a > b ? a : b; }
double clamp(double v, double low, double high) { return v < low ? low : v > high ? high : v; }

Status check_input(Call& call, const Tensor& input) {
  if (!is_float(input.dtype) || dtype_size(input.dtype) < 2) {
    return call.fail(Status::InvalidArgument, "input has dtype {}, expected float16, bfloat16, float32 or float64",
                     dtype_name(input.dtype));
  }
  return Status::Ok;
}

void store_at(const Tensor& out, int64_t i, double value) {
  store_one<double>(out.dtype, out.bytes() + i * static_cast<int64_t>(out.element_size()), value);
}

Status check_outputs(Call& call, const Tensor& scale_out, const Tensor& zero_point_out, IntList sizes) {
  for (const Tensor* t : {&scale_out, &zero_point_out}) {
    ET_TRY(check_sizes(call, *t, sizes));
    if (store_run<double>(t->dtype) == nullptr) {
      return call.fail(Status::InvalidArgument, "{} has dtype {}, expected a number dtype", call.arg_name(*t),
                       dtype_name(t->dtype));
    }
  }
  return Status::Ok;
}

// ---- one range

constexpr int64_t kOne[] = {1};

struct Single {
  double low;
  double high;
};

Result<Single> range_of(Call& call, const Tensor& input, int64_t quant_min, int64_t quant_max) {
  ET_TRY(check_input(call, input));
  if (quant_min > 0 || quant_max < 0 || quant_min >= quant_max) {
    return call.fail(Status::InvalidArgument, "the range from quant_min {} to quant_max {} must hold 0 and more",
                     quant_min, quant_max);
  }
  if (input.numel() == 0) {
    return call.fail(Status::InvalidArgument, "input {} is empty; it has no range", tensor_text(input));
  }
  ET_ASSIGN(const auto ranges, block_ranges(call, input, whole_tensor_block(input), 1));
  return Single{nan_min(ranges[0].low, 0.0), nan_max(ranges[0].high, 0.0)};
}

Status shape_of_single(Call& call, const Tensor& /*input*/, int64_t /*quant_min*/, int64_t /*quant_max*/,
                       double /*eps*/, DType /*dtype*/, Tensor& scale_out, Tensor& zero_point_out) {
  ET_TRY(call.resize(scale_out, kOne));
  return call.resize(zero_point_out, kOne);
}

// An int32 as eager's conversion makes it: lowest for NaN and what doesn't fit.
int32_t to_int32(double v) {
  return v > -2147483649.0 && v < 2147483648.0 ? static_cast<int32_t>(v) : std::numeric_limits<int32_t>::min();
}

Status choose_qparams(Call& call, const Tensor& input, int64_t quant_min, int64_t quant_max, double eps,
                      DType /*dtype*/, Tensor& scale_out, Tensor& zero_point_out) {
  ET_TRY(check_outputs(call, scale_out, zero_point_out, kOne));
  ET_ASSIGN(const Single range, range_of(call, input, quant_min, quant_max));
  const DType type = input.dtype;
  const auto levels = static_cast<double>(quant_max) - static_cast<double>(quant_min);
  double scale = rounded(type, rounded(type, range.high - range.low) / levels);
  scale = nan_max(scale, rounded(DType::Float32, eps));
  const double steps = std::nearbyint(rounded(DType::Float32, range.low / scale));
  // The subtraction is one of int32: it wraps.
  const auto zero_point =
      static_cast<int32_t>(static_cast<uint32_t>(quant_min) - static_cast<uint32_t>(to_int32(steps)));
  store_at(scale_out, 0, scale);
  store_at(zero_point_out, 0, static_cast<double>(std::clamp<int64_t>(zero_point, quant_min, quant_max)));
  return Status::Ok;
}

Status choose_qparams_symmetric(Call& call, const Tensor& input, int64_t quant_min, int64_t quant_max, double eps,
                                DType dtype, Tensor& scale_out, Tensor& zero_point_out) {
  ET_TRY(check_outputs(call, scale_out, zero_point_out, kOne));
  ET_ASSIGN(const Single range, range_of(call, input, quant_min, quant_max));
  const auto levels = static_cast<double>(quant_max) - static_cast<double>(quant_min);
  const double scale = rounded(input.dtype, nan_max(-range.low, range.high) / (levels / 2));
  store_at(scale_out, 0, nan_max(scale, rounded(DType::Float32, eps)));
  store_at(zero_point_out, 0, storage_dtype(dtype) == DType::UInt8 ? 128 : 0);
  return Status::Ok;
}

// ---- one range a token

Result<Dims> token_sizes(Call& call, const Tensor& input) {
  if (input.rank() == 0) {
    return call.fail(Status::InvalidArgument, "input is a scalar; tokens need a last dimension");
  }
  Dims sizes(input.sizes());
  sizes[sizes.size() - 1] = 1;
  return sizes;
}

Status shape_of_tokens(Call& call, const Tensor& input, DType /*dtype*/, Tensor& scale_out, Tensor& zero_point_out) {
  ET_ASSIGN(const Dims sizes, token_sizes(call, input));
  ET_TRY(call.resize(scale_out, sizes));
  return call.resize(zero_point_out, sizes);
}

// The ranges of the rows of the last dimension, in row-major order.
Result<std::span<BlockRange>> token_ranges(Call& call, const Tensor& input) {
  ET_TRY(check_input(call, input));
  const int last = input.rank() - 1;
  if (input.size(last) == 0) {
    return call.fail(Status::InvalidArgument, "input {} has empty rows; they have no range", tensor_text(input));
  }
  Blocks blocks;
  blocks.size.fill(1);
  int64_t tokens = 1;
  for (int d = last - 1; d >= 0; --d) {
    blocks.scale.stride[static_cast<size_t>(d)] = tokens;
    tokens *= input.size(d);
  }
  return block_ranges(call, input, blocks, input.numel() == 0 ? 0 : tokens);
}

// Writes token `i`, counted in row-major order, whatever the layout of the output.
class TokenWriter {
 public:
  explicit TokenWriter(Tensor& out) : out_(out) {}
  void write(int64_t i, double value) const {
    int64_t at = 0;
    for (int d = out_.rank() - 1; d >= 0; --d) {
      at += i % out_.size(d) * out_.stride(d);
      i /= out_.size(d);
    }
    store_at(out_, at, value);
  }

 private:
  Tensor& out_;
};

// The scale and zero point of one range for int8, chosen as XNNPACK does: the zero point errs at the end of the
// range that it represents better.
struct QParams {
  double scale;
  double zero_point;
};
QParams asymmetric_int8(DType type, const BlockRange& range) {
  constexpr double kLow = -128;
  constexpr double kHigh = 127;
  const double eps = rounded(type, std::numeric_limits<float>::epsilon());
  const double low = nan_min(range.low, 0.0);
  const double high = nan_max(range.high, 0.0);
  double scale = rounded(type, rounded(type, high - low) / (kHigh - kLow));
  scale = scale < eps ? eps : scale;
  const double steps_low = rounded(type, low / scale);
  const double steps_high = rounded(type, high / scale);
  const double error = rounded(type, rounded(type, kLow + steps_low) + rounded(type, kHigh + steps_high));
  const double zero_point = error > 0 ? rounded(type, kLow - steps_low) : rounded(type, kHigh - steps_high);
  return {scale, std::nearbyint(clamp(zero_point, kLow, kHigh))};
}

Status choose_qparams_per_token_asymmetric(Call& call, const Tensor& input, DType /*dtype*/, Tensor& scale_out,
                                           Tensor& zero_point_out) {
  ET_ASSIGN(const Dims sizes, token_sizes(call, input));
  ET_TRY(check_outputs(call, scale_out, zero_point_out, sizes));
  ET_ASSIGN(const auto ranges, token_ranges(call, input));
  const TokenWriter scales(scale_out);
  const TokenWriter zero_points(zero_point_out);
  for (int64_t i = 0; i < std::ssize(ranges); ++i) {
    const QParams params = asymmetric_int8(input.dtype, ranges[static_cast<size_t>(i)]);
    scales.write(i, params.scale);
    zero_points.write(i, params.zero_point);
  }
  return Status::Ok;
}

Status choose_qparams_per_token(Call& call, const Tensor& input, DType dtype, Tensor& scale_out,
                                Tensor& zero_point_out) {
  if (dtype != DType::Int8) {
    return call.fail(Status::InvalidArgument, "dtype is {}, expected int8", dtype_name(dtype));
  }
  ET_ASSIGN(const Dims sizes, token_sizes(call, input));
  ET_TRY(check_outputs(call, scale_out, zero_point_out, sizes));
  ET_ASSIGN(const auto ranges, token_ranges(call, input));
  // A float16 scale could overflow.
  const DType type = input.dtype == DType::Float16 ? DType::Float32 : input.dtype;
  const double least = rounded(type, 1e-5);
  const TokenWriter scales(scale_out);
  const TokenWriter zero_points(zero_point_out);
  for (int64_t i = 0; i < std::ssize(ranges); ++i) {
    const BlockRange& range = ranges[static_cast<size_t>(i)];
    const double greatest = nan_max(-range.low, range.high);
    scales.write(i, rounded(type, (greatest < least ? least : greatest) / 127.0));
    zero_points.write(i, 0);
  }
  return Status::Ok;
}

constexpr std::string_view kSingle =
    "(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype, *, Tensor(a!) scale_out, "
    "Tensor(b!) zero_point_out) -> (Tensor(a!), Tensor(b!))";
constexpr std::string_view kTokens =
    "(Tensor input, ScalarType dtype, *, Tensor(a!) scale_out, Tensor(b!) zero_point_out) -> (Tensor(a!), Tensor(b!))";
constexpr uint32_t kFacts = kPure | kAnyLayout;

}  // namespace

Table choose_qparams_rows() {
  static const Op rows[] = {
      {"quantized_decomposed::choose_qparams.Tensor_out", kSingle, bind<shape_of_single>, bind<choose_qparams>, kFacts},
      {"quantized_decomposed::choose_qparams.tensor_out", kSingle, bind<shape_of_single>, bind<choose_qparams>, kFacts},
      {"quantized_decomposed::choose_qparams_symmetric.Tensor_out", kSingle, bind<shape_of_single>,
       bind<choose_qparams_symmetric>, kFacts},
      {"quantized_decomposed::choose_qparams_symmetric.tensor_out", kSingle, bind<shape_of_single>,
       bind<choose_qparams_symmetric>, kFacts},
      {"quantized_decomposed::choose_qparams_per_token.out", kTokens, bind<shape_of_tokens>,
       bind<choose_qparams_per_token>, kFacts},
      {"quantized_decomposed::choose_qparams_per_token_asymmetric.out", kTokens, bind<shape_of_tokens>,
       bind<choose_qparams_per_token_asymmetric>, kFacts},
      {"quantized_decomposed::_choose_qparams_per_token_asymmetric_impl.out", kTokens, bind<shape_of_tokens>,
       bind<choose_qparams_per_token_asymmetric>, kFacts},
  };
  return rows;
}

}  // namespace etrt::ops
