// Dimension arguments, checked, and short lists of sizes or strides without heap memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ops/op.h"

namespace etrt::ops {

// A dimension as an argument gives it (negative counts from the end) as one in [0, rank). A scalar has one
// dimension for this purpose, as in eager.
inline Result<int> wrap_dim(const Call& call, int64_t dim, int rank, const char* name = "dim") {
  const int64_t n = rank == 0 ? 1 : rank;
  if (dim < -n || dim >= n) {
    return call.fail(Status::InvalidArgument, "{} {} is out of range [{}, {}]", name, dim, -n, n - 1);
  }
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

// A set of dimensions as a bit mask. Refuses one given twice.
inline Result<uint32_t> wrap_dims(const Call& call, IntList dims, int rank, const char* name = "dims") {
  uint32_t mask = 0;
  for (const int64_t d : dims) {
    ET_ASSIGN(const int dim, wrap_dim(call, d, rank, name));
    if ((mask >> dim & 1U) != 0) {
      return call.fail(Status::InvalidArgument, "{} {} has dimension {} twice", name, sizes_text(dims), dim);
    }
    mask |= 1U << dim;
  }
  return mask;
}

// An index into a dimension of `size` elements (negative counts from the end) as one in [0, size).
inline Result<int64_t> wrap_index(const Call& call, int64_t index, int64_t size, const char* name = "index") {
  if (index < -size || index >= size) {
    return call.fail(Status::InvalidArgument, "{} {} is out of range for a dimension of size {}", name, index, size);
  }
  return index < 0 ? index + size : index;
}

// Sizes or strides of up to kCapacity dimensions. Room for a view with every dimension split in two.
class Dims {
 public:
  static constexpr int kCapacity = 2 * kMaxRank + 2;

  Dims() = default;
  Dims(std::span<const int64_t> values) {
    for (const int64_t v : values) {
      push_back(v);
    }
  }

  int size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t& operator[](int i) { return values_[static_cast<size_t>(i)]; }
  int64_t operator[](int i) const { return values_[static_cast<size_t>(i)]; }
  void push_back(int64_t v) { insert(count_, v); }
  void insert(int at, int64_t v) {
    for (int i = count_; i > at; --i) {
      (*this)[i] = (*this)[i - 1];
    }
    (*this)[at] = v;
    ++count_;
  }
  void erase(int at) {
    for (int i = at; i + 1 < count_; ++i) {
      (*this)[i] = (*this)[i + 1];
    }
    --count_;
  }
  operator std::span<const int64_t>() const { return {values_.data(), static_cast<size_t>(count_)}; }
  std::span<const int64_t> span() const { return *this; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + count_; }

 private:
  int count_ = 0;
  std::array<int64_t, kCapacity> values_;
};

}  // namespace etrt::ops
