#include "ops/rows.h"

#include "ops/element_io.h"
#include "ops/reduce.h"
#include "ops/strided_copy.h"

namespace etrt::ops {

Result<Tensor> as_rows(Call& call, const Tensor& from, DType dtype) {
  ET_TRY(check_memory(call, from));
  Tensor to = call.scratch_tensor(dtype, from.sizes());
  if (!strided_convert(from.sizes(), from.dtype, from.data, from.strides(), dtype, to.data, to.strides())) {
    return refuse_dtype(call, from);
  }
  return to;
}

Status write_rows(Call& call, std::span<const int64_t> sizes, DType dtype, const void* rows, Tensor& out) {
  ET_TRY(call.resize(out, sizes));
  ET_TRY(check_memory(call, out));
  const Tensor from = Tensor::view(nullptr, dtype, sizes);
  if (!strided_convert(sizes, dtype, rows, from.strides(), out.dtype, out.data, out.strides())) {
    return refuse_dtype(call, out);
  }
  return Status::Ok;
}

Tensor scalar_tensor(Call& call, Scalar value) {
  Tensor t = call.scratch_tensor(value.is_float() ? DType::Float64 : DType::Int64, {});
  if (value.is_float()) {
    *t.as<double>() = value.as_double();
  } else {
    *t.as<int64_t>() = value.as_int();
  }
  return t;
}

}  // namespace etrt::ops
