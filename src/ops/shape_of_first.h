// The commonest shape function.
#pragma once

#include "ops/op.h"

namespace etrt::ops {

// out has the sizes of the first argument. `Out` is the place of out among the arguments.
template <size_t Out>
Status shape_of_first(Call& call) {
  const auto args = call.args();
  if (args.size() <= Out) {
    return call.fail(Status::InvalidProgram, "has {} arguments, expected {}", args.size(), Out + 1);
  }
  for (const size_t i : {size_t{0}, Out}) {
    if (args[i]->kind != Kind::Tensor) {
      return call.wrong_kind(i, "a tensor");
    }
  }
  return call.resize(*args[Out]->as_tensor, args[0]->as_tensor->sizes());
}

}  // namespace etrt::ops
