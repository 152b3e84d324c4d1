// Stacks of matrices: tensors whose last two dimensions are matrices and whose others broadcast.
#pragma once

#include <span>

#include "ops/dims.h"
#include "ops/op.h"

namespace etrt::ops {

// The leading dimensions of `t`, all but the last `inner`.
inline std::span<const int64_t> batch_sizes(const Tensor& t, int inner = 2) {
  return t.sizes().first(static_cast<size_t>(t.rank() - inner));
}

// Which of the matrices of a stack with leading dimensions `own` belongs to number `b` of those of `batch`, that
// `own` broadcasts to.
inline int64_t matrix_index(std::span<const int64_t> own, const Dims& batch, int64_t b) {
  int64_t index = 0;
  int64_t step = 1;
  auto d = static_cast<int>(own.size());
  for (int all = batch.size(); all-- > 0 && d > 0;) {
    const int64_t size = own[static_cast<size_t>(--d)];
    index += size == 1 ? 0 : b % batch[all] * step;
    step *= size;
    b /= batch[all];
  }
  return index;
}

// The product of sizes that are known to be those of a tensor.
inline int64_t count_of(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t s : sizes) {
    count *= s;
  }
  return count;
}

}  // namespace etrt::ops
