// Copies that change dtype or layout, or nothing.
#include "core/convert.h"
#include "ops/dims.h"
#include "ops/elementwise.h"
#include "ops/strided_copy.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// to = from, converted to its dtype and laid out as it is; `from` broadcasts.
Status copy_to(Call& call, const Tensor& from, Tensor& to) {
  bool fits = from.rank() <= to.rank();
  Dims strides;
  for (int d = 0; fits && d < to.rank(); ++d) {
    const int own = d - (to.rank() - from.rank());
    const bool repeated = own < 0 || from.size(own) == 1;
    fits = repeated || from.size(own) == to.size(d);
    strides.push_back(repeated ? 0 : from.stride(own));
  }
  if (!fits) {
    return call.fail(Status::InvalidArgument, "{} has sizes {}, which don't broadcast to {}", call.arg_name(from),
                     sizes_text(from.sizes()), sizes_text(to.sizes()));
  }
  if (to.numel() == 0) {
    return Status::Ok;
  }
  if (from.data == nullptr || to.data == nullptr) {
    return call.fail(Status::InvalidState, "{} has no memory", call.arg_name(from.data == nullptr ? from : to));
  }
  if (to.numel() == 1 && convert_run(from.dtype, from.data, 1, to.dtype, to.data, 1, 1)) {
    return Status::Ok;
  }
  if (from.dtype == to.dtype) {
    strided_copy(to.element_size(), to.sizes(), from.data, strides, to.data, to.strides());
    return Status::Ok;
  }
  if (!strided_convert(to.sizes(), from.dtype, from.data, strides, to.dtype, to.data, to.strides())) {
    return call.fail(Status::InvalidArgument, "there is no conversion from {} to {}", dtype_name(from.dtype),
                     dtype_name(to.dtype));
  }
  return Status::Ok;
}

// Copies args[0] to args[kOut]; what lies between says nothing that out doesn't show.
template <size_t kOut>
Status copy_first(Call& call) {
  return copy_to(call, *call.args()[0]->as_tensor, *call.args()[kOut]->as_tensor);
}
// Runs before copy_first, so that it finds two tensors.
template <size_t kOut>
Status first_shape(Call& call) {
  const auto args = call.args();
  if (args.size() <= kOut) {
    return call.fail(Status::InvalidProgram, "has {} arguments, expected {}", args.size(), kOut + 1);
  }
  for (const size_t index : {size_t{0}, kOut}) {
    if (args[index]->kind != Kind::Tensor) {
      return call.wrong_kind(index, "a tensor");
    }
  }
  return call.resize(*args[kOut]->as_tensor, args[0]->as_tensor->sizes());
}

Status copy_shape(Call& call, const Tensor& self, const Tensor& /*src*/, bool /*non_blocking*/, Tensor& out) {
  return call.resize(out, self.sizes());
}
Status copy(Call& call, const Tensor& self, const Tensor& src, bool /*non_blocking*/, Tensor& out) {
  if (!out.same_sizes(self)) {
    return call.fail(Status::InvalidArgument, "out has sizes {}, expected those of self, {}", sizes_text(out.sizes()),
                     sizes_text(self.sizes()));
  }
  return copy_to(call, src, out);
}

// The result is self.
Status copy_in_place(Call& call, Tensor& self, const Tensor& src, bool /*non_blocking*/) {
  ET_TRY(copy_to(call, src, self));
  if (call.args().size() > 3) {
    *call.args()[3] = Value::of_tensor(&self);
  }
  return Status::Ok;
}

template <size_t kOut>
Op copy_row(std::string_view name, std::string_view schema) {
  return {name, schema, first_shape<kOut>, copy_first<kOut>, kElementwiseFacts};
}

constexpr std::string_view kPlain = "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kDimOrder =
    "(Tensor self, *, bool non_blocking=False, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)";

}  // namespace

Table cast_ops() {
  static const Op kOps[] = {
      copy_row<3>("aten::_to_copy.out",
                  "(Tensor self, *, bool non_blocking=False, MemoryFormat? memory_format=None, Tensor(a!) out) -> "
                  "Tensor(a!)"),
      copy_row<3>("dim_order_ops::_to_dim_order_copy.out", kDimOrder),
      copy_row<3>("dim_order_ops::_clone_dim_order.out", kDimOrder),
      copy_row<2>("aten::clone.out",
                  "(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)"),
      copy_row<1>("aten::alias_copy.out", kPlain),
      copy_row<1>("aten::detach_copy.out", kPlain),
      copy_row<1>("aten::lift_fresh_copy.out", kPlain),
      copy_row<1>("aten::lift.out", kPlain),
      {"aten::copy.out", "(Tensor self, Tensor src, bool non_blocking=False, *, Tensor(a!) out) -> Tensor(a!)",
       bind<copy_shape>, bind<copy>, kPure | kElementwise | kAnyLayout},
      {"aten::copy_", "(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", nullptr,
       bind<copy_in_place>, kAnyLayout},
  };
  return kOps;
}

}  // namespace etrt::ops
