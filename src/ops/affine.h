// Affine quantization: q = clamp(round(x / scale) + zero_point), x = (q - zero_point) * scale, and the search for
// scale and zero point. One engine serves parameters per tensor, channel, token, group and block.
//
// Eager computes these in several rounded steps whose types follow from the arguments' dtypes. The engine takes
// them as data, works in double and rounds after each step; a float path covers what models use. (Rounding a
// double sum, product or quotient of two floats to float gives exactly the float operation's result.)
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ops/op.h"

namespace etrt::ops {

// One number for each block of elements, already rounded to the type in which it takes part: element i of a tensor
// uses values[sum over d of (i[d] / block[d]) * stride[d]].
struct BlockValues {
  std::span<const double> values;
  std::array<int64_t, kMaxRank> stride{};
};
struct Blocks {
  std::array<int64_t, kMaxRank> size{};  // of a block in each dimension, at least 1
  BlockValues scale;
  BlockValues zero_point;
};

struct QuantizeSteps {
  DType product = DType::Float32;  // x * (1 / scale) is rounded to this
  DType sum = DType::Float32;      // + zero_point to this
  bool round_first = true;         // to an integer before the zero point is added, else after
  double low = 0;
  double high = 0;
  bool divide = false;  // x / scale instead: the scales are not inverted
  bool whole = true;    // round to an integer at all (not so for float8)
};
struct DequantizeSteps {
  DType input = DType::Float32;       // q is converted to this
  DType difference = DType::Float32;  // q - zero_point
  DType product = DType::Float32;     // * scale
};

// The dtype as which quantized and bit dtypes of whole bytes are read and written.
DType storage_dtype(DType dtype);

// Rounds to what `dtype` can hold. Integers keep their low bits.
void round_values(DType dtype, double* values, int64_t n);
double rounded(DType dtype, double value);

// Eager's type of an operation on two tensors; one without dimensions doesn't lift one of the same category.
DType promote_tensors(DType a, int rank_a, DType b, int rank_b);

// All elements in row-major order, in scratch memory. Refuses dtypes without arithmetic.
Result<std::span<double>> load_values(Call& call, const Tensor& tensor, const char* name);
// The value of a one-element tensor.
Result<double> load_single(Call& call, const Tensor& tensor, const char* name);

// How the blocks of a tensor lie, to be given scale and zero point. All dimensions start as one block.
Blocks whole_tensor_block(const Tensor& tensor);

// out = the quantized input. `blocks.scale` holds the *inverse* scales. Sizes of input and out are equal.
Status quantize(Call& call, const Tensor& input, const Blocks& blocks, const QuantizeSteps& steps, Tensor& out);
// out = the dequantized input.
Status dequantize(Call& call, const Tensor& input, const Blocks& blocks, const DequantizeSteps& steps, Tensor& out);

// The least and the greatest element of each block; NaN where there is one. `blocks.scale.stride` says where.
struct BlockRange {
  double low;
  double high;
};
Result<std::span<BlockRange>> block_ranges(Call& call, const Tensor& input, const Blocks& blocks, int64_t count);

}  // namespace etrt::ops
