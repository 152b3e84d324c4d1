// Input: what a caller bound to one input of a method, and how each run gets at it.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "method/argument.h"
#include "method/memory.h"
#include "method/method_info.h"

namespace etrt {

class ValueTable;

// Caller's memory: an index space over it, with any strides.
struct BoundTensor {
  BoundTensor() {}  // sizes and strides are filled up to `rank` only
  BoundTensor(const BoundTensor& other) { *this = other; }
  BoundTensor& operator=(const BoundTensor& other) {
    if (this == &other) {
      return *this;
    }
    data = other.data;
    rank = other.rank;
    direct = other.direct;
    std::copy_n(other.sizes.begin(), rank, sizes.begin());
    std::copy_n(other.strides.begin(), rank, strides.begin());
    return *this;
  }

  std::byte* data = nullptr;
  uint8_t rank = 0;
  std::array<int64_t, kMaxRank> sizes;
  std::array<int64_t, kMaxRank> strides;
  // Laid out as the program wants it, aligned, on a dtype boundary: may be used where it is.
  bool direct = false;
  bool same_as(const BoundTensor& o) const {
    return data == o.data && rank == o.rank && direct == o.direct &&
           std::equal(sizes.begin(), sizes.begin() + rank, o.sizes.begin()) &&
           std::equal(strides.begin(), strides.begin() + rank, o.strides.begin());
  }
  std::span<const int64_t> sizes_span() const { return {sizes.data(), rank}; }
  std::span<const int64_t> strides_span() const { return {strides.data(), rank}; }
};

struct Input {
  bool set = false;
  BoundTensor tensor;
  Value value;                          // of an input for which the file has None
  std::string text;                     // of `value`, if it is a string
  std::shared_ptr<RunMemory> hold;      // of an earlier run of the method, if the data lies there and is held
  std::shared_ptr<GrowingBuffer> copy;  // made when the data lay in the method's own memory
  bool settled = false;                 // the value table points at it already
};

// Is `argument` fit for the input that `info` describes? Fills in `bound` for a tensor. The message starts with
// "input <index>".
Status check_input(const ValueInfo& info, size_t index, const Argument& argument, BoundTensor& bound);

// Does `strides` (null: row-major) lay out `sizes` as `dim_order` does?
bool laid_out_as(std::span<const int64_t> sizes, const int64_t* strides, std::span<const uint8_t> dim_order);

}  // namespace etrt
