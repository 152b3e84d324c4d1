// A number argument as one element of a tensor.
#pragma once

#include <array>
#include <cstddef>

#include "core/convert.h"
#include "ops/op.h"

namespace etrt::ops {

// Up to 16 bytes: an element of any dtype.
using Element = std::array<std::byte, 16>;

// `value` as an element of `dtype`. Refuses what eager refuses: an integer or a finite float outside the range
// of dtype, a number for a dtype without arithmetic.
Result<Element> element_of(const Call& call, Scalar value, DType dtype, const char* name = "value");

}  // namespace etrt::ops
