// Checks that operators share. Each message names the argument and both values; each failure is InvalidArgument.
#pragma once

#include <span>

#include "ops/op.h"

namespace etrt::ops {

Status check_same_dtype(const Call& call, const Tensor& tensor, const Tensor& like);
Status check_rank(const Call& call, const Tensor& tensor, int rank);
Status check_rank_between(const Call& call, const Tensor& tensor, int low, int high);
Status check_sizes(const Call& call, const Tensor& tensor, std::span<const int64_t> expected);

}  // namespace etrt::ops
