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

}  // namespace etrt::ops
