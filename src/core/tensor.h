// Tensor: a typed, shaped view of memory, as operators see it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"

namespace etrt {

inline constexpr int kMaxRank = 16;

// May the sizes differ from those in the file? Numbers as in the file.
enum class Dynamism : uint8_t { Static = 0, UpperBound = 1, Unbound = 2 };

// Memory that grows with the tensor it backs: what the file leaves unplanned, and what outgrows its plan.
class GrowingBuffer {
 public:
  GrowingBuffer() = default;
  ~GrowingBuffer();
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;

  // At least `bytes` bytes, 64-byte aligned, zero-filled when fresh; contents are not kept when it
  // grows. Throws std::bad_alloc.
  void* reserve(size_t bytes);
  void* data() const { return data_; }
  size_t capacity() const { return capacity_; }
  // Another tensor was pointed at this memory: from now on growing leaves the old memory in place until
  // release(), so that a stale pointer reads old numbers and never freed memory.
  void pin() { pinned_ = true; }
  void release();

 private:
  void* data_ = nullptr;
  size_t capacity_ = 0;
  bool pinned_ = false;
  std::vector<void*> retired_;
};

struct Tensor {
  void* data = nullptr;
  size_t capacity = 0;               // bytes usable at `data` without asking `growing`
  GrowingBuffer* growing = nullptr;  // where to get more; null: `capacity` is a hard limit
  DType dtype = DType::Float32;
  Dynamism dynamism = Dynamism::Static;
  uint8_t rank_ = 0;
  std::array<uint8_t, kMaxRank> dim_order_{};  // dim_order_[0] is the outermost dimension in memory
  std::array<int64_t, kMaxRank> sizes_{};
  std::array<int64_t, kMaxRank> strides_{};  // in elements, follow from sizes and dim_order
  int64_t numel_ = 1;
  int32_t value_index = -1;  // place in the method's value table, for messages

  int rank() const { return rank_; }
  std::span<const int64_t> sizes() const { return {sizes_.data(), rank_}; }
  std::span<const int64_t> strides() const { return {strides_.data(), rank_}; }
  std::span<const uint8_t> dim_order() const { return {dim_order_.data(), rank_}; }
  int64_t size(int dim) const { return sizes_[static_cast<size_t>(dim)]; }
  int64_t stride(int dim) const { return strides_[static_cast<size_t>(dim)]; }
  int64_t numel() const { return numel_; }
  size_t element_size() const { return dtype_size(dtype); }
  size_t nbytes() const { return static_cast<size_t>(numel_) * element_size(); }

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  std::byte* bytes() const { return static_cast<std::byte*>(data); }

  bool same_sizes(const Tensor& other) const { return same_sizes(other.sizes()); }
  bool same_sizes(std::span<const int64_t> other) const {
    bool same = other.size() == rank_;
    for (size_t d = 0; same && d < rank_; ++d) {
      same = sizes_[d] == other[d];
    }
    return same;
  }
  // Row-major: dim_order is 0, 1, 2, …
  bool contiguous() const;
  bool same_dim_order(const Tensor& other) const;
  // Same sizes and the same place in memory for every element (dimensions of size 1 don't count).
  bool same_layout(const Tensor& other) const;

  // Sets sizes and derives strides and numel, without any check. `new_sizes` has rank() entries.
  void set_sizes(std::span<const int64_t> new_sizes);
  // A tensor over `data`, row-major or in `dim_order`.
  static Tensor view(void* data, DType dtype, std::span<const int64_t> sizes, std::span<const uint8_t> dim_order = {});
};

// Gives `tensor` new sizes and memory for them. Refuses another rank, a change of a static tensor, a
// negative or overflowing size, and more bytes than there can be.
Status resize(Tensor& tensor, std::span<const int64_t> sizes);

// The number of elements and bytes; nothing when it doesn't fit int64_t.
Result<int64_t> checked_numel(std::span<const int64_t> sizes);
Result<int64_t> checked_nbytes(std::span<const int64_t> sizes, DType dtype);

// "float32[2, 3]", with the dim_order when it isn't row-major.
std::string tensor_text(const Tensor& tensor);

}  // namespace etrt
