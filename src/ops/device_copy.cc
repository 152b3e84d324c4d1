// Copies between host and device. Every tensor here lies in host memory (a program that plans device memory is
// refused when it is loaded), so both are plain copies.
#include "ops/strided_view.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

Status copy_shape(Call& call, const Tensor& self, Tensor& out) { return call.resize(out, self.sizes()); }

Status copy(Call& call, const Tensor& self, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_sizes(call, out, self.sizes()));
  return copy_view(call, view_of(self), view_of(out));
}

constexpr std::string_view kSchema = "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
constexpr Op kOps[] = {
    {"et_copy::_h2d_copy.out", kSchema, bind<copy_shape>, bind<copy>, kPure | kAnyLayout},
    {"et_copy::_d2h_copy.out", kSchema, bind<copy_shape>, bind<copy>, kPure | kAnyLayout},
};

}  // namespace

Table device_copy_ops() { return kOps; }

}  // namespace etrt::ops
