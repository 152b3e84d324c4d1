// Argument: a value as a caller gives or gets it. Owns nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/dtype.h"
#include "core/value.h"

namespace etrt {

struct TensorArgument {
  void* data = nullptr;
  DType dtype = DType::Float32;
  std::span<const int64_t> sizes;
  const int64_t* strides = nullptr;  // in elements, any sign; null: row-major
  int32_t device_type = 0;           // 0: CPU
  bool read_only = false;
};

struct Argument {
  Kind kind = Kind::None;
  int64_t as_int = 0;
  double as_double = 0;
  bool as_bool = false;
  std::string_view as_string;
  TensorArgument as_tensor;
};

}  // namespace etrt
