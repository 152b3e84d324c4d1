#include <cmath>

#include "ops/elementwise.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

Status exp(Call& call, const Tensor& self, Tensor& out) {
  return map<kFloats | kComplexes, kCostlyGrain>(
      call, float_result(self.dtype, out), out, [](auto x) { return std::exp(x); }, self);
}

}  // namespace

Table unary_ops() {
  static const Op kOps[] = {
      {"aten::exp.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<1>, bind<exp>,
       kElementwiseFacts},
  };
  return kOps;
}

}  // namespace etrt::ops
