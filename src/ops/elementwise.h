// The engine of elementwise operators: broadcasting, layouts, dtypes and threads, so that an operator
// is a formula.
//
//   Status gelu(Call& call, const Tensor& self, std::string_view approximate, Tensor& out) {
//     return map<kFloats>(call, self.dtype, out, [](auto x) { return …; }, self);
//   }
//
// The formula is called with the compute type of `common` (int64_t, float, double, a complex type): every
// dtype is loaded as that type and its result stored as out's dtype. Where memory already holds the
// compute type in adjacent elements the loop runs on it directly, and the compiler vectorises it.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "core/thread_pool.h"
#include "ops/op.h"

// Before a loop whose iterations are independent even where its pointers are equal.
#if defined(__clang__)
#define ET_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define ET_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#else
#define ET_INDEPENDENT_LOOP
#endif

namespace etrt::ops {

// What may be said of every operator that goes through map().
inline constexpr uint32_t kElementwiseFacts = kPure | kElementwise | kInPlaceOk | kAnyLayout;

// The compute types that a formula is written for.
enum Types : unsigned {
  kInts = 1,       // int64_t, also for bool, and uint64_t for uint64
  kFloats = 2,     // float and double
  kComplexes = 4,  // std::complex of both
  kNumbers = kInts | kFloats,
  kAllNumbers = kNumbers | kComplexes,
};

enum class Compute : uint8_t { None, Int, UInt, Float, Double, ComplexFloat, ComplexDouble };
// The type in which arithmetic on `dtype` happens; None for quantized and bits dtypes.
Compute compute_type(DType dtype);

// The dtype of a complex number's parts; a real dtype is its own.
DType real_dtype(DType complex);

// An input: a tensor that broadcasts to the output, or a number. As in eager, its elements become elements
// of the common dtype (narrow integers wrap, half types round) before they are computed with.
struct Operand {
  Operand(const Tensor& t) : tensor(&t) {}
  Operand(Scalar s) : scalar(s) {}
  const Tensor* tensor = nullptr;
  Scalar scalar{};
  bool exact = false;
};
// An input that, if it is one number among half numbers, goes into the computation unrounded. Eager does so for
// the second operand of products and quotients.
inline Operand exact_number(Operand input) {
  input.exact = true;
  return input;
}

// The dtype in which eager combines these inputs: tensors with dimensions decide, tensors without any and
// then numbers only lift the category (bool < int < float < complex).
Result<DType> result_type(const Call& call, std::span<const Operand> inputs);
template <class... In>
Result<DType> result_type(const Call& call, const In&... inputs) {
  const std::array<Operand, sizeof...(In)> list{Operand(inputs)...};
  return result_type(call, std::span<const Operand>(list));
}

// The dtype of a floating function of `dtype`. Integers become the default dtype, which is a setting of the
// exporting process: `out` tells it.
inline DType float_result(DType dtype, const Tensor& out) {
  if (is_float(dtype) || is_complex(dtype)) {
    return dtype;
  }
  return out.dtype == DType::Float64 ? DType::Float64 : DType::Float32;
}

// The least number of elements worth a thread of their own.
inline constexpr int64_t kCheapGrain = 1 << 15;
inline constexpr int64_t kCostlyGrain = 1 << 12;  // a call of the math library or more an element

inline constexpr int kMaxInputs = 5;

// The loops over an output and inputs that broadcast to it: dimensions in the order of out's memory, those
// that all operands walk through evenly joined into one.
class LoopNest {
 public:
  // Refuses an input that doesn't broadcast to `out` and operands without memory.
  Status build(const Call& call, const Tensor& out, std::span<const Tensor* const> inputs);

  int64_t numel() const { return numel_; }
  // Elements between neighbours in the innermost loop; operand 0 is the output.
  int64_t inner_stride(int operand) const { return strides_[static_cast<size_t>(operand)][inner()]; }
  // Calls run(offsets, n) for pieces of the innermost loop that make up elements [begin, end): n elements
  // from each operand's offset (in elements) on.
  void for_range(int64_t begin, int64_t end, FunctionRef<void(const int64_t* offsets, int64_t n)> run) const;

 private:
  size_t inner() const { return static_cast<size_t>(rank_ - 1); }

  int rank_ = 1;
  int operands_ = 1;
  int64_t numel_ = 0;
  std::array<int64_t, kMaxRank> sizes_;
  std::array<std::array<int64_t, kMaxRank>, 1 + kMaxInputs> strides_;
};

// Elements [start, start + size) of a dimension, as an input or output of map(). The caller has checked the range.
Tensor part_of(const Tensor& tensor, int dim, int64_t start, int64_t size);
// The real (index 0) or imaginary (1) parts of a complex tensor, as an input or output of map().
Tensor real_part_of(const Tensor& complex, int index);

namespace detail {

template <class C, class R>
using Body = FunctionRef<void(const C* const* in, R* out, int64_t n)>;

// Loads the inputs as C by way of `common`, runs `body` on adjacent elements and stores its R's, over the whole
// of out.
// Instantiated in elementwise.cc for C in {int64_t, uint64_t, float, double, complex<float>, complex<double>} and R in
// {C, bool, C's real type}.
template <class C, class R>
Status run_elementwise(Call& call, DType common, Tensor& out, std::span<const Operand> inputs, int64_t grain,
                       Body<C, R> body);

Status unsupported(const Call& call, DType dtype);
// Refuses an output whose dtype would lose the result's category.
Status check_result(const Call& call, DType result, const Tensor& out);

template <class C, size_t>
using Repeated = C;

template <class C, class F, size_t... I>
Status map_as(Call& call, DType common, Tensor& out, int64_t grain, const F& f, std::span<const Operand> inputs,
              std::index_sequence<I...> /*inputs*/) {
  using R = std::remove_cvref_t<std::invoke_result_t<const F&, Repeated<C, I>...>>;
  const auto body = [&f](const C* const* in, R* to, int64_t n) {
    [&f, to, n](const Repeated<C, I>*... from) {
      ET_INDEPENDENT_LOOP
      for (int64_t i = 0; i < n; ++i) {
        to[i] = f(from[i]...);
      }
    }(in[I]...);
  };
  return run_elementwise<C, R>(call, common, out, inputs, grain, body);
}

// The dtype of a result that is computed from `common`.
DType result_of(DType common, bool is_bool, bool is_real);

}  // namespace detail

// out = f(inputs…), computed in the type of `common`. See the top of this file.
template <unsigned kTypes, int64_t kGrain = kCheapGrain, class F, class... In>
Status map(Call& call, DType common, Tensor& out, const F& f, const In&... in) {
  static_assert(sizeof...(In) <= kMaxInputs);
  constexpr auto kIndices = std::index_sequence_for<In...>{};
  const std::array<Operand, sizeof...(In)> inputs{Operand(in)...};
  const auto run = [&]<class C>(C /*compute type*/) {
    using R = std::remove_cvref_t<std::invoke_result_t<const F&, std::conditional_t<true, C, In>...>>;
    static_assert(std::is_same_v<R, C> || std::is_same_v<R, bool> || std::is_same_v<std::complex<R>, C>);
    ET_TRY(detail::check_result(call, detail::result_of(common, std::is_same_v<R, bool>, !std::is_same_v<R, C>), out));
    return detail::map_as<C>(call, common, out, kGrain, f, std::span<const Operand>(inputs), kIndices);
  };
  switch (compute_type(common)) {
    case Compute::Int:
      if constexpr ((kTypes & kInts) != 0) {
        return run(int64_t{});
      }
      break;
    case Compute::UInt:
      if constexpr ((kTypes & kInts) != 0) {
        return run(uint64_t{});
      }
      break;
    case Compute::Float:
      if constexpr ((kTypes & kFloats) != 0) {
        return run(float{});
      }
      break;
    case Compute::Double:
      if constexpr ((kTypes & kFloats) != 0) {
        return run(double{});
      }
      break;
    case Compute::ComplexFloat:
      if constexpr ((kTypes & kComplexes) != 0) {
        return run(std::complex<float>{});
      }
      break;
    case Compute::ComplexDouble:
      if constexpr ((kTypes & kComplexes) != 0) {
        return run(std::complex<double>{});
      }
      break;
    case Compute::None:
      break;
  }
  return detail::unsupported(call, common);
}

// Shape functions: args[kOut] takes the sizes that the tensors before it broadcast to.
Status resize_to_broadcast(Call& call, size_t out);
template <size_t kOut>
Status broadcast_shape(Call& call) {
  return resize_to_broadcast(call, kOut);
}

}  // namespace etrt::ops
