// Table rows of elementwise operators of two inputs that differ only in their formula.
//
//   const auto atan2 = formula<kFloats, Result::Floating>([](auto x, auto y) { return std::atan2(x, y); });
//   tensors("aten::atan2.out", atan2),
#pragma once

#include "ops/elementwise.h"

namespace etrt::ops {

inline constexpr std::string_view kTensors = "(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
inline constexpr std::string_view kTensorNumber = "(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";
inline constexpr std::string_view kNumberTensor = "(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";

// In which dtype the formula computes: the common one, or the default dtype where that is whole.
enum class Result : uint8_t { Common, Floating };

template <unsigned kTypes, Result kResult, class F, class A, class B>
Status binary_kernel(Call& call, A a, B b, Tensor& out) {
  ET_ASSIGN(DType common, result_type(call, a, b));
  if (kResult == Result::Floating) {
    common = float_result(common, out);
  }
  return map<kTypes>(call, common, out, F{}, Operand(a), Operand(b));
}

// A formula without state, with the compute types it is written for.
template <unsigned kTypes, Result kResult, class F>
struct Formula {
  template <class A, class B>
  static constexpr Invoke kernel = bind<binary_kernel<kTypes, kResult, F, A, B>>;
};
template <unsigned kTypes, Result kResult = Result::Common, class F>
Formula<kTypes, kResult, F> formula(F /*f*/) {
  return {};
}

template <class F>
Op tensors(std::string_view name, F /*formula*/, std::string_view schema = kTensors) {
  return {name, schema, broadcast_shape<2>, F::template kernel<const Tensor&, const Tensor&>, kElementwiseFacts};
}
template <class F>
Op tensor_number(std::string_view name, F /*formula*/, std::string_view schema = kTensorNumber) {
  return {name, schema, broadcast_shape<2>, F::template kernel<const Tensor&, Scalar>, kElementwiseFacts};
}
template <class F>
Op number_tensor(std::string_view name, F /*formula*/, std::string_view schema = kNumberTensor) {
  return {name, schema, broadcast_shape<2>, F::template kernel<Scalar, const Tensor&>, kElementwiseFacts};
}

}  // namespace etrt::ops
