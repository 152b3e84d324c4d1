// Arithmetic on the numbers of a program (sizes, counters, conditions), with Python's rules, and the few operators
// that look at a tensor's shape or share its memory.
#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>

#include "core/checked.h"
#include "core/convert.h"
#include "ops/strided_view.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

Value number(int64_t v) { return Value::of_int(v); }
Value number(double v) { return Value::of_double(v); }
Value number(bool v) { return Value::of_bool(v); }
Value number(Scalar v) {
  switch (v.kind) {
    case Scalar::Kind::Bool:
      return number(v.as_bool());
    case Scalar::Kind::Int:
      return number(v.i);
    case Scalar::Kind::Float:
      break;
  }
  return number(v.d);
}

Status overflow(const Call& call) {
  return call.fail(Status::InvalidArgument, "the result doesn't fit a 64-bit integer");
}

Status division_by_zero(const Call& call) { return call.fail(Status::InvalidArgument, "division by zero"); }

// ---------------------------------------------------------------------------------------------------------
// Arithmetic. Two integers (or bools, as 0 and 1) give an integer, otherwise it is in double.

using IntOp = bool (*)(int64_t, int64_t, int64_t&);  // false on overflow
using DoubleOp = double (*)(double, double);

bool int_add(int64_t a, int64_t b, int64_t& out) { return checked_add(a, b, out); }
bool int_sub(int64_t a, int64_t b, int64_t& out) { return checked_sub(a, b, out); }
bool int_mul(int64_t a, int64_t b, int64_t& out) { return checked_mul(a, b, out); }
double double_add(double a, double b) { return a + b; }
double double_sub(double a, double b) { return a - b; }
double double_mul(double a, double b) { return a * b; }

// b isn't 0 in these four.
bool int_floordiv(int64_t a, int64_t b, int64_t& out) {
  if (b == -1) {
    return checked_sub(int64_t{0}, a, out);
  }
  const bool down = a % b != 0 && (a < 0) != (b < 0);
  out = a / b - (down ? 1 : 0);
  return true;
}
bool int_mod(int64_t a, int64_t b, int64_t& out) {
  const int64_t rest = b == -1 ? 0 : a % b;
  out = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  return true;
}
double double_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) {
    return std::copysign(0.0, b);
  }
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
double double_floordiv(double a, double b) {
  // (a - mod) / b is a whole number but for rounding.
  const double quotient = std::nearbyint((a - double_mod(a, b)) / b);
  return quotient == 0 ? std::copysign(0.0, a / b) : quotient;
}

template <IntOp I, DoubleOp D, bool Divides>
Status arithmetic(Call& call, Scalar a, Scalar b, Value& result) {
  if (Divides && b.as_double() == 0) {
    return division_by_zero(call);
  }
  if (a.is_float() || b.is_float()) {
    result = number(D(a.as_double(), b.as_double()));
    return Status::Ok;
  }
  int64_t value = 0;
  if (!I(a.i, b.i, value)) {
    return overflow(call);
  }
  result = number(value);
  return Status::Ok;
}

Status truediv(Call& call, Scalar a, Scalar b, Value& result) {
  if (b.as_double() == 0) {
    return division_by_zero(call);
  }
  result = number(a.as_double() / b.as_double());
  return Status::Ok;
}

Status neg(Call& call, Scalar a, Value& result) {
  if (a.is_float()) {
    result = number(-a.d);
    return Status::Ok;
  }
  int64_t value = 0;
  if (!checked_sub(int64_t{0}, a.i, value)) {
    return overflow(call);
  }
  result = number(value);
  return Status::Ok;
}

// ---------------------------------------------------------------------------------------------------------
// Comparisons, exact between an integer and a double.

std::partial_ordering order(int64_t a, double b) {
  if (std::isnan(b)) {
    return std::partial_ordering::unordered;
  }
  if (b >= 9223372036854775808.0) {
    return std::partial_ordering::less;
  }
  if (b < -9223372036854775808.0) {
    return std::partial_ordering::greater;
  }
  const double whole = std::trunc(b);
  const auto c = a <=> static_cast<int64_t>(whole);
  return c != 0 ? std::partial_ordering(c) : 0.0 <=> b - whole;
}

std::partial_ordering order(Scalar a, Scalar b) {
  if (a.is_float()) {
    return b.is_float() ? a.d <=> b.d : 0 <=> order(b.i, a.d);
  }
  return b.is_float() ? order(a.i, b.d) : a.i <=> b.i;
}

using Holds = bool (*)(std::partial_ordering);

template <Holds H>
Status comparison(Call& /*call*/, Scalar a, Scalar b, Value& result) {
  result = number(H(order(a, b)));
  return Status::Ok;
}

// Equal to one of the two, as a double if either is one.
template <Holds H>
Status choice(Call& /*call*/, Scalar a, Scalar b, Value& result) {
  const Scalar chosen = H(order(b, a)) ? b : a;
  result = a.is_float() || b.is_float() ? number(chosen.as_double()) : number(chosen.i);
  return Status::Ok;
}

// ---------------------------------------------------------------------------------------------------------
// Conversions

Status sym_float(Call& /*call*/, Scalar a, Value& result) {
  result = number(a.as_double());
  return Status::Ok;
}

using Rounding = double (*)(double);
double round_down(double v) { return std::floor(v); }
double round_up(double v) { return std::ceil(v); }
double round_to_zero(double v) { return std::trunc(v); }
double round_to_even(double v) { return std::nearbyint(v); }

template <Rounding R>
Status to_int(Call& call, Scalar a, Value& result) {
  if (!a.is_float()) {
    result = number(a.i);
    return Status::Ok;
  }
  const double value = R(a.d);
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) {
    return call.fail(Status::InvalidArgument, "{} doesn't fit a 64-bit integer", a.d);
  }
  result = number(static_cast<int64_t>(value));
  return Status::Ok;
}

Status sym_not(Call& /*call*/, Scalar a, Value& result) {
  result = number(!a.as_bool());
  return Status::Ok;
}

Status sym_ite(Call& /*call*/, Scalar b, Scalar t, Scalar f, Value& result) {
  result = number(b.as_bool() ? t : f);
  return Status::Ok;
}

// ---------------------------------------------------------------------------------------------------------
// Tensors: shape, the value of a scalar

Status sym_size(Call& call, const Tensor& self, int64_t dim, Value& result) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  if (self.rank() == 0) {
    return call.fail(Status::InvalidArgument, "self is a scalar, which has no sizes");
  }
  result = number(self.size(d));
  return Status::Ok;
}

Status sym_stride(Call& call, const Tensor& self, int64_t dim, Value& result) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  if (self.rank() == 0) {
    return call.fail(Status::InvalidArgument, "self is a scalar, which has no strides");
  }
  result = number(self.stride(d));
  return Status::Ok;
}

Status sym_numel(Call& /*call*/, const Tensor& self, Value& result) {
  result = number(self.numel());
  return Status::Ok;
}

Status sym_storage_offset(Call& /*call*/, const Tensor& /*self*/, Value& result) {
  result = number(int64_t{0});
  return Status::Ok;
}

Status local_scalar(Call& call, const Tensor& self, Value& result) {
  if (self.numel() < 1) {
    return call.fail(Status::InvalidArgument, "self of sizes {} has no element", sizes_text(self.sizes()));
  }
  const DType dtype = self.dtype;
  if (is_complex(dtype) || load_run<double>(dtype) == nullptr) {
    return call.fail(Status::InvalidType, "self has dtype {}, which is no real number", dtype_name(dtype));
  }
  if (is_bool(dtype)) {
    result = number(load_one<int64_t>(dtype, self.data) != 0);
  } else if (is_float(dtype)) {
    result = number(load_one<double>(dtype, self.data));
  } else if (dtype == DType::UInt64 && *self.as<uint64_t>() > std::numeric_limits<int64_t>::max()) {
    return overflow(call);
  } else {
    result = number(load_one<int64_t>(dtype, self.data));
  }
  return Status::Ok;
}

// ---------------------------------------------------------------------------------------------------------
// Assertions that an exporter may leave in

Status constrain_range(Call& call, Scalar size, std::optional<int64_t> min, std::optional<int64_t> max) {
  const int64_t value = size.as_int();
  if ((min && value < *min) || (max && value > *max)) {
    return call.fail(Status::InvalidArgument, "size {} is outside [{}, {}]", value,
                     min.value_or(std::numeric_limits<int64_t>::min()),
                     max.value_or(std::numeric_limits<int64_t>::max()));
  }
  return Status::Ok;
}

Status constrain_size(Call& call, Scalar size, std::optional<int64_t> min, std::optional<int64_t> max) {
  return constrain_range(call, size, std::max<int64_t>(min.value_or(0), 0), max);
}

Status assert_scalar(Call& call, Scalar self, std::string_view message) {
  return self.as_bool() ? Status::Ok : call.fail(Status::InvalidArgument, "the program's check failed: {}", message);
}

// ---------------------------------------------------------------------------------------------------------
// et_copy_index: one step of a loop that builds a tensor row by row.

Status copy_index(Call& call, Tensor& copy_to, const Tensor& copy_from, int64_t index) {
  if (copy_to.rank() != copy_from.rank() + 1 ||
      !copy_from.same_sizes(copy_to.sizes().subspan(copy_to.rank() > 0 ? 1 : 0))) {
    return call.fail(Status::InvalidArgument, "copy_from of sizes {} is no row of copy_to of sizes {}",
                     sizes_text(copy_from.sizes()), sizes_text(copy_to.sizes()));
  }
  ET_TRY(check_same_dtype(call, copy_from, copy_to));
  if (index < 0 || index == std::numeric_limits<int64_t>::max()) {
    return call.fail(Status::InvalidArgument, "index {} is out of range", index);
  }
  // A tensor of fixed sizes holds all rows already; any other ends with this one.
  if (copy_to.dynamism != Dynamism::Static || index >= copy_to.size(0)) {
    Dims sizes(copy_to.sizes());
    sizes[0] = index + 1;
    const View before = view_of(copy_to);
    const int64_t kept = std::min(copy_to.size(0), index);
    // New sizes may mean new memory or other strides: the rows so far wait elsewhere.
    View rows = before;
    narrow_to(rows, 0, 0, kept);
    const bool moves =
        !copy_to.same_sizes(sizes) && !rows.empty() && (!copy_to.contiguous() || copy_to.growing != nullptr);
    View saved;
    if (moves) {
      saved = view_of(call.scratch_tensor(copy_to.dtype, rows.sizes));
      ET_TRY(copy_view(call, rows, saved));
    }
    ET_TRY(call.resize(copy_to, sizes));
    if (moves) {
      View place = view_of(copy_to);
      narrow_to(place, 0, 0, kept);
      ET_TRY(copy_view(call, saved, place));
    }
  }
  // Sizes again: copy_from may be the tensor that was just resized.
  View row = view_of(copy_to);
  select_at(row, 0, index);
  ET_TRY(check_sizes(call, copy_from, row.sizes));
  return copy_view(call, view_of(copy_from), row);
}

// ---------------------------------------------------------------------------------------------------------
// et_view: other sizes over the same memory.

Result<Dims> viewed_sizes(const Call& call, const Tensor& self, IntList size, const Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  Dims sizes;
  int inferred = -1;
  int64_t known = 1;
  bool ok = size.size() == static_cast<size_t>(out.rank());
  for (size_t i = 0; ok && i < size.size(); ++i) {
    if (size[i] == -1 && inferred < 0) {
      inferred = static_cast<int>(i);
    } else {
      ok = size[i] >= 0 && checked_mul(known, size[i], known);
    }
    sizes.push_back(size[i]);
  }
  if (ok && inferred >= 0) {
    ok = known > 0 && self.numel() % known == 0;
    sizes[inferred] = ok ? self.numel() / known : 0;
  }
  if (!ok || (inferred < 0 && known != self.numel())) {
    return call.fail(Status::InvalidArgument, "self of sizes {} can't be viewed as out of rank {} with size {}",
                     sizes_text(self.sizes()), out.rank(), sizes_text(size));
  }
  return sizes;
}

Status et_view(Call& call, const Tensor& self, IntList size, Tensor& out) {
  ET_ASSIGN(const Dims sizes, viewed_sizes(call, self, size, out));
  const bool same_order = is_row_major(self);
  if (&self == &out) {
    return call.resize(out, sizes);
  }
  if (same_order) {
    if (self.growing != nullptr) {
      self.growing->pin();
    }
    out.data = self.data;
    out.capacity = std::max(self.capacity, self.nbytes());
    ET_TRY(call.resize(out, sizes));
    if (is_row_major(out)) {
      return Status::Ok;
    }
  }
  // Row-major order isn't the order in memory: the elements have to move.
  if (out.growing == nullptr) {
    return call.fail(Status::NotSupported, "self in dim_order {} has no view in out's dim_order {} without a copy",
                     sizes_text(self.dim_order()), sizes_text(out.dim_order()));
  }
  out.data = out.growing->reserve(self.nbytes());
  out.capacity = out.growing->capacity();
  ET_TRY(call.resize(out, sizes));
  return copy_reshaped(call, self, out);
}

constexpr std::string_view kBinary = "(Scalar a, Scalar b) -> Scalar";
constexpr std::string_view kCompare = "(Scalar a, Scalar b) -> bool";
constexpr std::string_view kUnary = "(Scalar a) -> Scalar";

template <auto F>
constexpr Op number_op(std::string_view name, std::string_view schema) {
  return {name, schema, nullptr, bind<F>, kPure};
}

bool is_equal(std::partial_ordering o) { return o == 0; }
bool is_not_equal(std::partial_ordering o) { return o != 0; }
bool is_less(std::partial_ordering o) { return o < 0; }
bool is_greater(std::partial_ordering o) { return o > 0; }
bool is_at_most(std::partial_ordering o) { return o <= 0; }
bool is_at_least(std::partial_ordering o) { return o >= 0; }

constexpr Op kOps[] = {
    number_op<arithmetic<int_add, double_add, false>>("executorch_prim::add.Scalar", kBinary),
    number_op<arithmetic<int_sub, double_sub, false>>("executorch_prim::sub.Scalar", kBinary),
    number_op<arithmetic<int_mul, double_mul, false>>("executorch_prim::mul.Scalar", kBinary),
    number_op<arithmetic<int_floordiv, double_floordiv, true>>("executorch_prim::floordiv.Scalar", kBinary),
    number_op<arithmetic<int_floordiv, double_floordiv, true>>("executorch_prim::floordiv.int", kBinary),
    number_op<arithmetic<int_mod, double_mod, true>>("executorch_prim::mod.Scalar", kBinary),
    number_op<arithmetic<int_mod, double_mod, true>>("executorch_prim::mod.int", kBinary),
    number_op<truediv>("executorch_prim::truediv.Scalar", kBinary),
    number_op<neg>("executorch_prim::neg.Scalar", kUnary),
    number_op<comparison<is_equal>>("executorch_prim::eq.Scalar", kCompare),
    number_op<comparison<is_not_equal>>("executorch_prim::ne.Scalar", kCompare),
    number_op<comparison<is_less>>("executorch_prim::lt.Scalar", kCompare),
    number_op<comparison<is_greater>>("executorch_prim::gt.Scalar", kCompare),
    number_op<comparison<is_at_most>>("executorch_prim::le.Scalar", kCompare),
    number_op<comparison<is_at_least>>("executorch_prim::ge.Scalar", kCompare),
    number_op<choice<is_greater>>("executorch_prim::sym_max.Scalar", kBinary),
    number_op<choice<is_less>>("executorch_prim::sym_min.Scalar", kBinary),
    number_op<sym_float>("executorch_prim::sym_float.Scalar", kUnary),
    number_op<to_int<round_to_zero>>("executorch_prim::sym_int.Scalar", kUnary),
    number_op<to_int<round_to_zero>>("executorch_prim::trunc.Scalar", kUnary),
    number_op<to_int<round_up>>("executorch_prim::ceil.Scalar", kUnary),
    number_op<to_int<round_down>>("executorch_prim::floor.Scalar", kUnary),
    number_op<to_int<round_to_even>>("executorch_prim::round.Scalar", kUnary),
    number_op<sym_not>("executorch_prim::sym_not.Scalar", "(Scalar a) -> bool"),
    number_op<sym_ite>("executorch_prim::sym_ite.Scalar", "(Scalar b, Scalar t, Scalar f) -> Scalar"),
    number_op<sym_size>("aten::sym_size.int", "(Tensor self, int dim) -> SymInt"),
    number_op<sym_stride>("aten::sym_stride.int", "(Tensor self, int dim) -> SymInt"),
    number_op<sym_numel>("aten::sym_numel", "(Tensor self) -> SymInt"),
    number_op<sym_storage_offset>("aten::sym_storage_offset", "(Tensor self) -> SymInt"),
    number_op<local_scalar>("aten::_local_scalar_dense", "(Tensor self) -> Scalar"),
    {"aten::sym_constrain_range", "(Scalar size, *, int? min=None, int? max=None) -> ()", nullptr,
     bind<constrain_range>},
    {"aten::sym_constrain_range_for_size", "(Scalar size, *, int? min=None, int? max=None) -> ()", nullptr,
     bind<constrain_size>},
    {"aten::_assert_scalar", "(Scalar self, str assert_msg) -> ()", nullptr, bind<assert_scalar>},
    // These two have no return slot.
    {"executorch_prim::et_copy_index.tensor", "(*, Tensor(a!) copy_to, Tensor copy_from, SymInt index) -> ()", nullptr,
     bind<copy_index>},
    {"executorch_prim::et_view.default", "(Tensor(a) self, SymInt[] size, *, Tensor(a!) out) -> ()", nullptr,
     bind<et_view>, kAliases},
};

}  // namespace

Table prim_ops() { return kOps; }

}  // namespace etrt::ops
