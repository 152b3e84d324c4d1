// Comparisons, predicates, logical and bitwise operators.
#include <algorithm>
#include <cmath>

#include "ops/binary_rows.h"
#include "ops/elementwise.h"
#include "ops/formulas.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

constexpr std::string_view kUnary = "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";

// ---- predicates

template <unsigned kTypes, class F>
Status predicate_kernel(Call& call, const Tensor& self, Tensor& out) {
  return map<kTypes>(call, self.dtype, out, F{}, self);
}
template <unsigned kTypes, class F>
Op predicate(std::string_view name, F /*f*/) {
  return {name, kUnary, broadcast_shape<1>, bind<predicate_kernel<kTypes, F>>, kElementwiseFacts};
}

template <class C>
bool is_infinite(C x) {
  if constexpr (kIsComplexType<C>) {
    return std::isinf(x.real()) || std::isinf(x.imag());
  } else if constexpr (kIsInt<C>) {
    return false;
  } else {
    return std::isinf(x);
  }
}

template <class C>
bool has_sign(C x) {
  if constexpr (kIsInt<C>) {
    return std::is_signed_v<C> && x < C{0};
  } else {
    return std::signbit(x);
  }
}

template <class C>
bool is_true(C x) {
  return x != C(0);
}

// ---- shifts

// By less than nothing or by the width of the dtype and more, all bits are shifted out.
template <bool kLeft, class A, class B>
Status shift(Call& call, A self, B other, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, other));
  if (is_bool(common)) {
    return call.fail(Status::InvalidArgument, "isn't defined for bool");
  }
  const auto bits = static_cast<uint64_t>(dtype_size(common) * 8);
  const uint64_t most = is_unsigned(common) ? bits : bits - 1;  // shifts all but the sign out
  return map<kInts>(
      call, common, out,
      [=](auto x, auto y) {
        using C = decltype(x);
        const auto count = static_cast<uint64_t>(y);
        if constexpr (kLeft) {
          return count < bits ? static_cast<C>(static_cast<uint64_t>(x) << count) : C{0};
        } else if constexpr (std::is_signed_v<C>) {
          return x >> std::min(count, most);
        } else {
          return count < bits ? x >> count : C{0};
        }
      },
      Operand(self), Operand(other));
}
template <bool kLeft, class A, class B>
Op shift_row(std::string_view name, std::string_view schema) {
  return {name, schema, broadcast_shape<2>, bind<shift<kLeft, A, B>>, kElementwiseFacts};
}

// ---- whole tensors

// Are sizes and elements equal?
Status equal(Call& call, const Tensor& self, const Tensor& other, Value& result) {
  result = Value::of_bool(false);
  if (!self.same_sizes(other)) {
    return Status::Ok;
  }
  if (self.dtype != other.dtype) {
    return call.fail(Status::InvalidArgument, "other has dtype {}, expected {}", dtype_name(other.dtype),
                     dtype_name(self.dtype));
  }
  Tensor same = call.scratch_tensor(DType::Bool, self.sizes());
  ET_TRY(map<kAllNumbers>(
      call, self.dtype, same, [](auto x, auto y) { return x == y; }, self, other));
  const auto* flags = same.as<uint8_t>();
  result = Value::of_bool(std::all_of(flags, flags + same.numel(), [](uint8_t f) { return f != 0; }));
  return Status::Ok;
}

}  // namespace

Table comparison_ops() {
  const auto eq = formula<kAllNumbers>([](auto x, auto y) { return x == y; });
  const auto ne = formula<kAllNumbers>([](auto x, auto y) { return x != y; });
  const auto lt = formula<kNumbers>([](auto x, auto y) { return x < y; });
  const auto le = formula<kNumbers>([](auto x, auto y) { return x <= y; });
  const auto gt = formula<kNumbers>([](auto x, auto y) { return x > y; });
  const auto ge = formula<kNumbers>([](auto x, auto y) { return x >= y; });
  const auto bitwise_and = formula<kInts>([](auto x, auto y) { return x & y; });
  const auto bitwise_or = formula<kInts>([](auto x, auto y) { return x | y; });
  const auto bitwise_xor = formula<kInts>([](auto x, auto y) { return x ^ y; });

  static const Op kOps[] = {
      tensors("aten::eq.Tensor_out", eq),
      tensor_number("aten::eq.Scalar_out", eq),
      tensors("aten::ne.Tensor_out", ne),
      tensor_number("aten::ne.Scalar_out", ne),
      tensors("aten::lt.Tensor_out", lt),
      tensor_number("aten::lt.Scalar_out", lt),
      tensors("aten::le.Tensor_out", le),
      tensor_number("aten::le.Scalar_out", le),
      tensors("aten::gt.Tensor_out", gt),
      tensor_number("aten::gt.Scalar_out", gt),
      tensors("aten::ge.Tensor_out", ge),
      tensor_number("aten::ge.Scalar_out", ge),

      predicate<kAllNumbers>("aten::isnan.out", [](auto x) { return is_nan(x); }),
      predicate<kAllNumbers>("aten::isinf.out", [](auto x) { return is_infinite(x); }),
      predicate<kNumbers>("aten::isposinf.out", [](auto x) { return is_infinite(x) && !has_sign(x); }),
      predicate<kNumbers>("aten::isneginf.out", [](auto x) { return is_infinite(x) && has_sign(x); }),
      predicate<kNumbers>("aten::signbit.out", [](auto x) { return has_sign(x); }),

      predicate<kAllNumbers>("aten::logical_not.out", [](auto x) { return !is_true(x); }),
      tensors("aten::logical_and.out", formula<kAllNumbers>([](auto x, auto y) { return is_true(x) && is_true(y); })),
      tensors("aten::logical_or.out", formula<kAllNumbers>([](auto x, auto y) { return is_true(x) || is_true(y); })),
      tensors("aten::logical_xor.out", formula<kAllNumbers>([](auto x, auto y) { return is_true(x) != is_true(y); })),

      tensors("aten::bitwise_and.Tensor_out", bitwise_and),
      tensor_number("aten::bitwise_and.Scalar_out", bitwise_and),
      number_tensor("aten::bitwise_and.Scalar_Tensor_out", bitwise_and),
      tensors("aten::bitwise_or.Tensor_out", bitwise_or),
      tensor_number("aten::bitwise_or.Scalar_out", bitwise_or),
      number_tensor("aten::bitwise_or.Scalar_Tensor_out", bitwise_or),
      tensors("aten::bitwise_xor.Tensor_out", bitwise_xor),
      tensor_number("aten::bitwise_xor.Scalar_out", bitwise_xor),
      number_tensor("aten::bitwise_xor.Scalar_Tensor_out", bitwise_xor),

      shift_row<true, const Tensor&, const Tensor&>("aten::bitwise_left_shift.Tensor_out", kTensors),
      shift_row<true, const Tensor&, Scalar>("aten::bitwise_left_shift.Tensor_Scalar_out", kTensorNumber),
      shift_row<true, Scalar, const Tensor&>("aten::bitwise_left_shift.Scalar_Tensor_out", kNumberTensor),
      shift_row<false, const Tensor&, const Tensor&>("aten::bitwise_right_shift.Tensor_out", kTensors),
      shift_row<false, const Tensor&, Scalar>("aten::bitwise_right_shift.Tensor_Scalar_out", kTensorNumber),
      shift_row<false, Scalar, const Tensor&>("aten::bitwise_right_shift.Scalar_Tensor_out", kNumberTensor),
      shift_row<true, const Tensor&, const Tensor&>("aten::__lshift__.Tensor_out", kTensors),
      shift_row<true, const Tensor&, Scalar>("aten::__lshift__.Scalar_out", kTensorNumber),
      shift_row<false, const Tensor&, const Tensor&>("aten::__rshift__.Tensor_out", kTensors),
      shift_row<false, const Tensor&, Scalar>("aten::__rshift__.Scalar_out", kTensorNumber),

      {"aten::equal", "(Tensor self, Tensor other) -> bool", nullptr, bind<equal>, kPure | kAnyLayout},
  };
  return kOps;
}

}  // namespace etrt::ops
