// Elementwise operators of three and more inputs, and the parts of complex numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/dims.h"
#include "ops/elementwise.h"
#include "ops/formulas.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

Status check_mask(const Call& call, const Tensor& mask) {
  if (mask.dtype != DType::Bool && mask.dtype != DType::UInt8) {
    return call.fail(Status::InvalidArgument, "{} has dtype {}, expected bool", call.arg_name(mask),
                     dtype_name(mask.dtype));
  }
  return Status::Ok;
}

Status where(Call& call, const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
  ET_TRY(check_mask(call, condition));
  ET_ASSIGN(const DType common, result_type(call, self, other));
  return map<kAllNumbers>(
      call, common, out, [](auto c, auto x, auto y) { return c != decltype(c)(0) ? x : y; }, condition, self, other);
}

template <class V>
Status masked_fill(Call& call, const Tensor& self, const Tensor& mask, V value, Tensor& out) {
  ET_TRY(check_mask(call, mask));
  const Operand filler(value);
  if (filler.tensor != nullptr && filler.tensor->numel() != 1) {
    return call.fail(Status::InvalidArgument, "value has {} elements, expected 1", filler.tensor->numel());
  }
  return map<kAllNumbers>(
      call, self.dtype, out, [](auto x, auto m, auto v) { return m != decltype(m)(0) ? v : x; }, self, mask, filler);
}

// ---- bounds

// A number as a bound of whole numbers: the nearest that their dtype holds.
Scalar bound_of(Scalar bound, DType common) {
  if (!is_int(common) || bound.is_float()) {
    return bound;
  }
  const int bits = static_cast<int>(dtype_size(common)) * 8;
  if (is_unsigned(common)) {
    const int64_t most = bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
    return Scalar::of(std::clamp<int64_t>(bound.i, 0, most));
  }
  const int64_t most = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  return Scalar::of(std::clamp<int64_t>(bound.i, -most - 1, most));
}
Operand bound_of(const Operand& bound, DType common) {
  return bound.tensor != nullptr ? bound : Operand(bound_of(bound.scalar, common));
}

Status clamp_to(Call& call, const Operand& self, const std::optional<Operand>& low, const std::optional<Operand>& high,
                Tensor& out) {
  if (low && high) {
    ET_ASSIGN(const DType common, result_type(call, self, *low, *high));
    return map<kNumbers>(
        call, common, out, [](auto x, auto l, auto h) { return min_nan(max_nan(x, l), h); }, self,
        bound_of(*low, common), bound_of(*high, common));
  }
  if (low) {
    ET_ASSIGN(const DType common, result_type(call, self, *low));
    return map<kNumbers>(
        call, common, out, [](auto x, auto l) { return max_nan(x, l); }, self, bound_of(*low, common));
  }
  if (high) {
    ET_ASSIGN(const DType common, result_type(call, self, *high));
    return map<kNumbers>(
        call, common, out, [](auto x, auto h) { return min_nan(x, h); }, self, bound_of(*high, common));
  }
  return call.fail(Status::InvalidArgument, "both min and max are None");
}
std::optional<Operand> present(std::optional<Scalar> s) { return s ? std::optional<Operand>(*s) : std::nullopt; }
std::optional<Operand> present(const Tensor* t) { return t != nullptr ? std::optional<Operand>(*t) : std::nullopt; }
Status clamp(Call& call, const Tensor& self, std::optional<Scalar> min, std::optional<Scalar> max, Tensor& out) {
  return clamp_to(call, self, present(min), present(max), out);
}
Status clamp_tensors(Call& call, const Tensor& self, const Tensor* min, const Tensor* max, Tensor& out) {
  return clamp_to(call, self, present(min), present(max), out);
}
template <class B>
Status clamp_min(Call& call, const Tensor& self, B min, Tensor& out) {
  return clamp_to(call, self, Operand(min), std::nullopt, out);
}
template <class B>
Status clamp_max(Call& call, const Tensor& self, B max, Tensor& out) {
  return clamp_to(call, self, std::nullopt, Operand(max), out);
}

// ---- combinations

// self + weight * (end - self), from the nearer end.
template <class C>
C interpolate(C a, C b, C weight) {
  return std::abs(weight) < 0.5 ? a + times(weight, b - a) : b - times(b - a, C(1) - weight);
}
Status lerp_number(Call& call, const Tensor& self, const Tensor& end, Scalar weight, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, end));
  const double w = weight.as_double();
  return map<kFloats | kComplexes>(
      call, common, out,
      [w](auto a, auto b) { return interpolate(a, b, decltype(a)(static_cast<RealOf<decltype(a)>>(w))); }, self, end);
}
Status lerp(Call& call, const Tensor& self, const Tensor& end, const Tensor& weight, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, end, weight));
  return map<kFloats | kComplexes>(
      call, common, out, [](auto a, auto b, auto w) { return interpolate(a, b, w); }, self, end, weight);
}

// A number argument as the compute type C.
template <class C>
auto number(Scalar value) {
  if constexpr (kIsInt<C>) {
    return static_cast<C>(value.as_int());
  } else {
    return C(static_cast<RealOf<C>>(value.as_double()));
  }
}

Status addcmul(Call& call, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Scalar value,
               Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, tensor1, tensor2));
  return map<kAllNumbers>(
      call, common, out,
      [value](auto x, auto a, auto b) {
        using C = decltype(x);
        if constexpr (kIsInt<C>) {
          return plus(x, times(times(number<C>(value), a), b));
        } else {
          return x + times(times(number<C>(value), a), b);
        }
      },
      self, tensor1, tensor2);
}
Status addcdiv(Call& call, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Scalar value,
               Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, self, tensor1, tensor2));
  return map<kFloats | kComplexes>(
      call, common, out,
      [value](auto x, auto a, auto b) { return x + quotient(times(number<decltype(x)>(value), a), b); }, self, tensor1,
      tensor2);
}

// ---- gated linear unit: the first half of a dimension times the sigmoid of the second

Result<int> glu_dim(const Call& call, const Tensor& self, int64_t dim) {
  if (self.rank() == 0) {
    return call.fail(Status::InvalidArgument, "self has no dimension to halve");
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  if (self.size(d) % 2 != 0) {
    return call.fail(Status::InvalidArgument, "self has size {} in dimension {}, expected an even one", self.size(d),
                     d);
  }
  return d;
}
Status glu_shape(Call& call, const Tensor& self, int64_t dim, Tensor& out) {
  ET_ASSIGN(const int d, glu_dim(call, self, dim));
  Dims sizes(self.sizes());
  sizes[d] /= 2;
  return call.resize(out, sizes);
}
Status glu(Call& call, const Tensor& self, int64_t dim, Tensor& out) {
  ET_ASSIGN(const int d, glu_dim(call, self, dim));
  const int64_t half = self.size(d) / 2;
  return map<kFloats, kCostlyGrain>(
      call, self.dtype, out, [](auto x, auto gate) { return x * sigmoid(gate); }, part_of(self, d, 0, half),
      part_of(self, d, half, half));
}

// ---- complex numbers

constexpr auto kIdentity = [](auto x) { return x; };

Status conj(Call& call, const Tensor& self, Tensor& out) {
  return map<kAllNumbers>(
      call, self.dtype, out,
      [](auto x) {
        if constexpr (kIsComplexType<decltype(x)>) {
          return std::conj(x);
        } else {
          return x;
        }
      },
      self);
}
Status negative_view(Call& call, const Tensor& self, Tensor& out) {
  return map<kAllNumbers>(
      call, self.dtype, out, [](auto x) { return negative(x); }, self);
}

Status check_complex(const Call& call, const Tensor& tensor) {
  if (!is_complex(tensor.dtype)) {
    return call.fail(Status::InvalidArgument, "{} has dtype {}, expected a complex one", call.arg_name(tensor),
                     dtype_name(tensor.dtype));
  }
  return Status::Ok;
}
Status check_pairs(const Call& call, const Tensor& tensor) {
  if (tensor.rank() == 0 || tensor.size(tensor.rank() - 1) != 2) {
    return call.fail(Status::InvalidArgument, "{} has sizes {}, expected 2 as the last", call.arg_name(tensor),
                     sizes_text(tensor.sizes()));
  }
  return Status::Ok;
}
// The elements whose last index is `index`: a tensor of one dimension less.
Tensor column_of(const Tensor& pairs, int index) {
  Tensor column = part_of(pairs, pairs.rank() - 1, index, 1);
  --column.rank_;
  // The order of the dimensions that are left.
  uint8_t kept = 0;
  for (const uint8_t d : pairs.dim_order()) {
    if (d != column.rank_) {
      column.dim_order_[kept++] = d;
    }
  }
  return column;
}

Status view_as_real_shape(Call& call, const Tensor& self, Tensor& out) {
  Dims sizes(self.sizes());
  sizes.push_back(2);
  return call.resize(out, sizes);
}
Status view_as_real(Call& call, const Tensor& self, Tensor& out) {
  ET_TRY(check_complex(call, self));
  ET_TRY(check_pairs(call, out));
  for (int part = 0; part < 2; ++part) {
    Tensor column = column_of(out, part);
    ET_TRY(map<kFloats>(call, real_dtype(self.dtype), column, kIdentity, real_part_of(self, part)));
  }
  return Status::Ok;
}

Status view_as_complex_shape(Call& call, const Tensor& self, Tensor& out) {
  ET_TRY(check_pairs(call, self));
  return call.resize(out, self.sizes().first(self.sizes().size() - 1));
}
Status view_as_complex(Call& call, const Tensor& self, Tensor& out) {
  ET_TRY(check_complex(call, out));
  ET_TRY(check_pairs(call, self));
  for (int part = 0; part < 2; ++part) {
    Tensor half = real_part_of(out, part);
    ET_TRY(map<kFloats>(call, self.dtype, half, kIdentity, column_of(self, part)));
  }
  return Status::Ok;
}

// out = f(a, b) + i g(a, b).
template <class F, class G>
Status make_complex(Call& call, const Tensor& a, const Tensor& b, Tensor& out, const F& f, const G& g) {
  ET_TRY(check_complex(call, out));
  ET_ASSIGN(const DType common, result_type(call, a, b));
  Tensor real = real_part_of(out, 0);
  Tensor imaginary = real_part_of(out, 1);
  ET_TRY(map<kFloats>(call, common, real, f, a, b));
  return map<kFloats>(call, common, imaginary, g, a, b);
}
Status complex(Call& call, const Tensor& real, const Tensor& imag, Tensor& out) {
  return make_complex(
      call, real, imag, out, [](auto re, auto /*im*/) { return re; }, [](auto /*re*/, auto im) { return im; });
}
Status polar(Call& call, const Tensor& abs, const Tensor& angle, Tensor& out) {
  return make_complex(
      call, abs, angle, out, [](auto r, auto a) { return r * std::cos(a); },
      [](auto r, auto a) { return r * std::sin(a); });
}

constexpr std::string_view kUnary = "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
constexpr uint32_t kPureAnyLayout = kPure | kElementwise | kAnyLayout;

}  // namespace

Table pointwise_ops() {
  static const Op kOps[] = {
      {"aten::where.self_out", "(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<where>, kPureAnyLayout},
      {"aten::masked_fill.Scalar_out", "(Tensor self, Tensor mask, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<masked_fill<Scalar>>, kElementwiseFacts},
      {"aten::masked_fill.Tensor_out", "(Tensor self, Tensor mask, Tensor value, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<masked_fill<const Tensor&>>, kElementwiseFacts},

      {"aten::clamp.out", "(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<clamp>, kElementwiseFacts},
      {"aten::clamp.Tensor_out", "(Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<clamp_tensors>, kElementwiseFacts},
      {"aten::clamp_min.out", "(Tensor self, Scalar min, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<clamp_min<Scalar>>, kElementwiseFacts},
      {"aten::clamp_min.Tensor_out", "(Tensor self, Tensor min, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<clamp_min<const Tensor&>>, kElementwiseFacts},
      {"aten::clamp_max.out", "(Tensor self, Scalar max, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<clamp_max<Scalar>>, kElementwiseFacts},
      {"aten::clamp_max.Tensor_out", "(Tensor self, Tensor max, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<clamp_max<const Tensor&>>, kElementwiseFacts},

      {"aten::lerp.Scalar_out", "(Tensor self, Tensor end, Scalar weight, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<lerp_number>, kElementwiseFacts},
      {"aten::lerp.Tensor_out", "(Tensor self, Tensor end, Tensor weight, *, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<3>, bind<lerp>, kElementwiseFacts},
      {"aten::addcmul.out",
       "(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<4>, bind<addcmul>, kElementwiseFacts},
      {"aten::addcdiv.out",
       "(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)",
       broadcast_shape<4>, bind<addcdiv>, kElementwiseFacts},
      {"aten::glu.out", "(Tensor self, int dim=-1, *, Tensor(a!) out) -> Tensor(a!)", bind<glu_shape>, bind<glu>,
       kPure | kAnyLayout},

      {"aten::_conj_physical.out", kUnary, broadcast_shape<1>, bind<conj>, kElementwiseFacts},
      {"aten::conj_physical.out", kUnary, broadcast_shape<1>, bind<conj>, kElementwiseFacts},
      {"aten::_conj_copy.out", kUnary, broadcast_shape<1>, bind<conj>, kElementwiseFacts},
      {"aten::_neg_view_copy.out", kUnary, broadcast_shape<1>, bind<negative_view>, kElementwiseFacts},
      {"aten::view_as_real_copy.out", kUnary, bind<view_as_real_shape>, bind<view_as_real>, kPure | kAnyLayout},
      {"aten::view_as_complex_copy.out", kUnary, bind<view_as_complex_shape>, bind<view_as_complex>,
       kPure | kAnyLayout},
      {"aten::complex.out", "(Tensor real, Tensor imag, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<complex>, kPureAnyLayout},
      {"aten::polar.out", "(Tensor abs, Tensor angle, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<2>,
       bind<polar>, kPureAnyLayout},
  };
  return kOps;
}

}  // namespace etrt::ops
