#include "ops/checks.h"

namespace etrt::ops {

Status check_same_dtype(const Call& call, const Tensor& tensor, const Tensor& like) {
  if (tensor.dtype != like.dtype) {
    return call.fail(Status::InvalidArgument, "{} has dtype {}, expected {} as {} has", call.arg_name(tensor),
                     dtype_name(tensor.dtype), dtype_name(like.dtype), call.arg_name(like));
  }
  return Status::Ok;
}

Status check_rank(const Call& call, const Tensor& tensor, int rank) {
  return check_rank_between(call, tensor, rank, rank);
}

Status check_rank_between(const Call& call, const Tensor& tensor, int low, int high) {
  if (tensor.rank() >= low && tensor.rank() <= high) {
    return Status::Ok;
  }
  if (low == high) {
    return call.fail(Status::InvalidArgument, "{} has rank {}, expected {}", call.arg_name(tensor), tensor.rank(), low);
  }
  return call.fail(Status::InvalidArgument, "{} has rank {}, expected {} to {}", call.arg_name(tensor), tensor.rank(),
                   low, high);
}

Status check_sizes(const Call& call, const Tensor& tensor, std::span<const int64_t> expected) {
  if (!tensor.same_sizes(expected)) {
    return call.fail(Status::InvalidArgument, "{} has sizes {}, expected {}", call.arg_name(tensor),
                     sizes_text(tensor.sizes()), sizes_text(expected));
  }
  return Status::Ok;
}

}  // namespace etrt::ops
