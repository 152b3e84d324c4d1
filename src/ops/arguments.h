// Single arguments by their place, for kernels and shape functions that serve operators of several signatures.
#pragma once

#include "ops/op.h"

namespace etrt::ops {

// Argument `index` as a parameter of type P would get it (a tensor as a pointer).
template <class P>
Result<typename etrt::detail::Unpack<P>::Stored> argument(Call& call, size_t index) {
  using Unpack = etrt::detail::Unpack<P>;
  if (index >= call.args().size()) {
    return call.fail(Status::InvalidProgram, "has {} arguments, expected {}", call.args().size(), index + 1);
  }
  typename Unpack::Stored stored{};
  if (!Unpack::get(*call.args()[index], stored)) {
    return call.wrong_kind(index, Unpack::kExpected);
  }
  return stored;
}

// args[kOut] takes the sizes that args[kSizes] lists, or those of the tensor args[kLike].
template <size_t kSizes, size_t kOut>
Status listed_shape(Call& call) {
  ET_ASSIGN(const IntList sizes, argument<IntList>(call, kSizes));
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  return call.resize(*out, sizes);
}
template <size_t kLike, size_t kOut>
Status shape_like(Call& call) {
  ET_ASSIGN(const Tensor* like, argument<const Tensor&>(call, kLike));
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  return call.resize(*out, like->sizes());
}

inline Status check_memory(const Call& call, const Tensor& tensor) {
  if (tensor.numel() > 0 && tensor.data == nullptr) {
    return call.fail(Status::InvalidState, "{} has no memory", call.arg_name(tensor));
  }
  return Status::Ok;
}

}  // namespace etrt::ops
