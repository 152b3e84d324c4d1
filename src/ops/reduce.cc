#include "ops/reduce.h"

namespace etrt::ops {

Result<uint32_t> reduced_dims(const Call& call, const Tensor& self, std::optional<IntList> dim) {
  if (!dim.has_value() || dim->empty()) {
    return all_dims(self);
  }
  return wrap_dims(call, *dim, self.rank(), "dim");
}

Dims reduced_sizes(const Tensor& self, uint32_t mask, bool keepdim) {
  Dims sizes;
  for (int d = 0; d < self.rank(); ++d) {
    if ((mask >> d & 1U) == 0) {
      sizes.push_back(self.size(d));
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

Status resize_reduced(Call& call, const Tensor& self, uint32_t mask, bool keepdim,
                      std::initializer_list<Tensor*> outs) {
  const Dims sizes = reduced_sizes(self, mask, keepdim);
  for (Tensor* out : outs) {
    ET_TRY(call.resize(*out, sizes));
  }
  return Status::Ok;
}

Status check_not_empty(const Call& call, const Tensor& self, uint32_t mask) {
  for (int d = 0; d < self.rank(); ++d) {
    if ((mask >> d & 1U) != 0 && self.size(d) == 0) {
      return call.fail(Status::InvalidArgument, "cannot reduce dimension {} of {}, which has no elements", d,
                       tensor_text(self));
    }
  }
  return Status::Ok;
}

Status check_memory(const Call& call, const Tensor& tensor) {
  if (tensor.data == nullptr && tensor.numel() > 0) {
    return call.fail(Status::InvalidState, "{} has no memory", call.arg_name(tensor));
  }
  return Status::Ok;
}

Result<ReduceSpace> reduce_space(const Call& call, const Tensor& self, uint32_t mask, bool keepdim,
                                 std::initializer_list<const Tensor*> outs, FoldOrder order) {
  const Dims sizes = reduced_sizes(self, mask, keepdim);
  ET_TRY(check_memory(call, self));
  for (const Tensor* out : outs) {
    ET_TRY(check_sizes(call, *out, sizes));
    ET_TRY(check_memory(call, *out));
  }
  ReduceSpace space;
  int out_dim = 0;
  for (int d = 0; d < self.rank(); ++d) {
    const bool reduced = (mask >> d & 1U) != 0;
    Axis axis{self.size(d), {self.stride(d)}};
    if (!reduced) {
      size_t operand = 1;
      for (const Tensor* out : outs) {
        axis.strides[operand++] = out->stride(out_dim);
      }
    }
    (reduced ? space.reduced : space.kept).push_back(axis);
    out_dim += !reduced || keepdim ? 1 : 0;
  }
  space.outputs = space.kept.positions();
  space.count = space.reduced.positions();
  if (order == FoldOrder::Any) {
    space.reduced.sort_by_stride();
  }
  space.kept.sort_by_stride();
  space.reduced.coalesce();
  space.kept.coalesce();
  return space;
}

}  // namespace etrt::ops
