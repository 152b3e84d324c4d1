#include "ops/compute.h"

#include "ops/strided_copy.h"

namespace etrt::ops {
namespace {

// Copies between a tensor and a row-major array of `dtype`, with the same sizes.
void rows_from(const Tensor& tensor, DType dtype, void* rows) {
  const Tensor target = Tensor::view(rows, dtype, tensor.sizes());
  (void)strided_convert(tensor.sizes(), tensor.dtype, tensor.data, tensor.strides(), dtype, rows, target.strides());
}
void rows_to(const void* rows, DType dtype, const Tensor& tensor) {
  const Tensor source = Tensor::view(nullptr, dtype, tensor.sizes());
  (void)strided_convert(tensor.sizes(), dtype, rows, source.strides(), tensor.dtype, tensor.data, tensor.strides());
}

}  // namespace

DType compute_dtype(DType dtype) {
  switch (dtype) {
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float32:
    case DType::Float8E4M3FN:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2:
    case DType::Float8E5M2FNUZ:
      return DType::Float32;
    case DType::Float64:
      return DType::Float64;
    case DType::Complex32:
    case DType::Complex64:
      return DType::Complex64;
    case DType::Complex128:
      return DType::Complex128;
    default:
      return is_int(dtype) || is_bool(dtype) ? DType::Int64 : dtype;
  }
}

Status refuse_dtype(const Call& call, DType dtype) {
  return call.fail(Status::NotSupported, "does not work on {}", dtype_name(dtype));
}

Status refuse_conversion(const Call& call, const Tensor& tensor, DType compute) {
  return call.fail(Status::NotSupported, "{} has dtype {}, which doesn't convert to and from {}", call.arg_name(tensor),
                   dtype_name(tensor.dtype), dtype_name(compute));
}

template <class C>
Tensor load_as(Call& call, const Tensor& tensor) {
  if (tensor.dtype == kDTypeOf<C>) {
    return tensor;
  }
  C* copy = call.scratch<C>(tensor.numel());
  if (tensor.numel() > 0) {
    load_run<C>(tensor.dtype)(tensor.data, 1, tensor.numel(), copy);
  }
  return Tensor::view(copy, kDTypeOf<C>, tensor.sizes(), tensor.dim_order());
}

template <class C>
const C* load_rows(Call& call, const Tensor& tensor) {
  if (tensor.dtype == kDTypeOf<C> && tensor.contiguous()) {
    return tensor.as<C>();
  }
  return copy_rows<C>(call, tensor);
}

template <class C>
C* copy_rows(Call& call, const Tensor& tensor) {
  C* copy = call.scratch<C>(tensor.numel());
  rows_from(tensor, kDTypeOf<C>, copy);
  return copy;
}

template <class C>
void store_rows(const C* rows, const Tensor& out) {
  rows_to(rows, kDTypeOf<C>, out);
}

template <class C>
OutputOf<C>::OutputOf(Call& call, Tensor& out) : out_(out), tensor_(out) {
  if (out.dtype != kDTypeOf<C>) {
    tensor_ = Tensor::view(call.scratch<C>(out.numel()), kDTypeOf<C>, out.sizes(), out.dim_order());
  }
}

template <class C>
void OutputOf<C>::finish() const {
  if (tensor_.data != out_.data && out_.numel() > 0) {
    store_run<C>(out_.dtype)(data(), out_.data, 1, out_.numel());
  }
}

template <class C>
RowsOf<C>::RowsOf(Call& call, Tensor& out) : out_(out), data_(out.as<C>()) {
  if (out.dtype != kDTypeOf<C> || !out.contiguous()) {
    data_ = call.scratch<C>(out.numel());
  }
}

template <class C>
void RowsOf<C>::finish() const {
  if (data_ != out_.data) {
    store_rows(data_, out_);
  }
}

Tensor with_batch(const Tensor& t, int rank) {
  if (t.rank() == rank) {
    return t;
  }
  Tensor batched = t;
  batched.rank_ = static_cast<uint8_t>(rank);
  for (int d = rank - 1; d > 0; --d) {
    const auto u = static_cast<size_t>(d);
    batched.sizes_[u] = t.sizes_[u - 1];
    batched.strides_[u] = t.strides_[u - 1];
    batched.dim_order_[u] = static_cast<uint8_t>(t.dim_order_[u - 1] + 1);
  }
  batched.sizes_[0] = 1;
  batched.strides_[0] = t.numel();
  batched.dim_order_[0] = 0;
  return batched;
}

#define ETRT_INSTANTIATE(C)                             \
  template Tensor load_as<C>(Call&, const Tensor&);     \
  template const C* load_rows<C>(Call&, const Tensor&); \
  template C* copy_rows<C>(Call&, const Tensor&);       \
  template void store_rows<C>(const C*, const Tensor&); \
  template class OutputOf<C>;                           \
  template class RowsOf<C>;
ETRT_INSTANTIATE(float)
ETRT_INSTANTIATE(double)
ETRT_INSTANTIATE(int64_t)
ETRT_INSTANTIATE(std::complex<float>)
ETRT_INSTANTIATE(std::complex<double>)
#undef ETRT_INSTANTIATE

}  // namespace etrt::ops
