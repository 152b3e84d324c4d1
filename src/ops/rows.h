// Row-major temporaries: for kernels whose work outweighs a copy of their operands.
#pragma once

#include <cstdint>
#include <span>

#include "ops/op.h"

namespace etrt::ops {

// A row-major temporary with the elements of `from`, converted to `dtype`.
Result<Tensor> as_rows(Call& call, const Tensor& from, DType dtype);

// Gives `out` these sizes and the elements at `rows`, which lie in row-major order.
Status write_rows(Call& call, std::span<const int64_t> sizes, DType dtype, const void* rows, Tensor& out);

// A number as a tensor without dimensions, int64 or float64.
Tensor scalar_tensor(Call& call, Scalar value);

}  // namespace etrt::ops
