// The parts of the quantized family. quantized_ops() joins them.
//
// Kernels check the sizes of their outputs again, though the shape functions have set them: a file may pass one tensor
// as input and output, so that setting the one has changed the other.
#pragma once

#include "ops/table.h"

namespace etrt::ops {

Table affine_rows();                // quantize and dequantize
Table choose_qparams_rows();        // the search for scale and zero point
Table quantized_arithmetic_rows();  // add, mixed_mm, mixed_linear
Table quantized_embedding_rows();

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
