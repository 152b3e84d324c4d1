// BoundOutputs: memory of the caller's to which results are copied at the end of each run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/extent.h"
#include "method/argument.h"
#include "method/method_info.h"

namespace etrt {

class BoundOutputs {
 public:
  explicit BoundOutputs(size_t count) : outputs_(count) {}

  size_t count() const { return outputs_.size(); }
  bool any() const { return any_; }
  // Output `index`, which `info` describes, goes to `memory` from now on: its sizes are the room there is. Null: it
  // stays where the method has it.
  Status bind(size_t index, const ValueInfo& info, const TensorArgument* memory);
  // Refuses outputs whose memory meets: the one would overwrite the other.
  Status check_apart();
  // Does one of them lie in these bytes?
  bool touch(const Extent& extent) const;
  // Copies a result to where it was bound, if it was.
  Status store(size_t index, const Value& result) const;

 private:
  struct Output {
    bool set = false;
    DType dtype = DType::Float32;
    std::byte* data = nullptr;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    Extent extent;
    StridedMemory strided() const { return {data, sizes, strides, dtype_size(dtype)}; }
  };
  static Status check(size_t index, const ValueInfo& info, const TensorArgument& memory);

  std::vector<Output> outputs_;
  bool any_ = false;
  bool apart_ = true;  // seen since one was bound
};

}  // namespace etrt
