// info.h - what a program says of an input, output, attribute or state buffer.
#pragma once

#include <et.h>
#include <et/tensor.h>
#include <et/value.h>

#include <cstdint>
#include <string>
#include <vector>

namespace et {

// May the sizes of a tensor differ from those in the file?
enum class Dynamism : int32_t {
  Static = ET_STATIC,
  Bounded = ET_DYNAMIC_BOUND,      // up to them
  Unbounded = ET_DYNAMIC_UNBOUND,  // in any way
};

struct TensorInfo {
  Kind kind = Kind::None;  // what follows is about tensors, but the last
  std::string name;        // fully qualified; "" when the file has none
  DType dtype = DType::Float32;
  Dynamism dynamism = Dynamism::Static;
  std::vector<int64_t> sizes;      // of a dynamic tensor the largest, -1 where unbounded
  std::vector<uint8_t> dim_order;  // outermost dimension first
  int64_t nbytes = 0;              // at those sizes; 0 when unbounded
  bool planned = false;            // the file plans memory for it
  bool written = false;            // an input that the program writes in place
  bool is_state = false;           // lives from run to run
  int device_type = ET_DEVICE_CPU;
  int device_index = 0;
  Value fixed;  // the int, double, bool or string that an input was exported with

  TensorInfo() = default;
  explicit TensorInfo(const et_tensor_info& raw)
      : kind(static_cast<Kind>(raw.kind)),
        name(raw.name != nullptr ? raw.name : ""),
        dtype(static_cast<DType>(raw.dtype)),
        dynamism(static_cast<Dynamism>(raw.dynamism)),
        nbytes(raw.nbytes),
        planned(raw.planned != 0),
        written(raw.written != 0),
        is_state(raw.is_state != 0),
        device_type(raw.device_type),
        device_index(raw.device_index) {
    const auto rank = static_cast<size_t>(raw.rank);
    if (rank > 0) {
      sizes.assign(raw.sizes, raw.sizes + rank);
      dim_order.assign(raw.dim_order, raw.dim_order + rank);
    }
    switch (kind) {
      case Kind::Int:
        fixed = raw.fixed.as_int;
        break;
      case Kind::Double:
        fixed = raw.fixed.as_double;
        break;
      case Kind::Bool:
        fixed = raw.fixed.as_bool != 0;
        break;
      case Kind::String:
        fixed = raw.fixed.as_string != nullptr ? raw.fixed.as_string : "";
        break;
      default:
        break;
    }
  }
};

// "float32[≤64, 1, 8, 8]": what may be passed. A dynamic size shows its bound, or ? without one.
inline std::string describe(const TensorInfo& info) {
  if (info.kind != Kind::Tensor) {
    return kind_name(info.kind);
  }
  std::string text = dtype_name(info.dtype);
  text += '[';
  for (size_t d = 0; d < info.sizes.size(); ++d) {
    text += d > 0 ? ", " : "";
    if (info.sizes[d] < 0) {
      text += '?';
    } else {
      text += (info.dynamism == Dynamism::Static ? "" : "≤") + std::to_string(info.sizes[d]);
    }
  }
  return text + ']';
}

}  // namespace et
