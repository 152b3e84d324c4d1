#include "core/tensor.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/allocation.h"
#include "core/checked.h"
#include "core/error.h"

namespace etrt {
GrowingBuffer::~GrowingBuffer() { release(); }

void GrowingBuffer::release() {
  deallocate(data_);
  for (void* old : retired_) {
    deallocate(old);
  }
  retired_.clear();
  data_ = nullptr;
  capacity_ = 0;
  pinned_ = false;
}

void* GrowingBuffer::reserve(size_t bytes) {
  if (bytes <= capacity_ && data_ != nullptr) {
    return data_;
  }
  size_t wanted = std::max<size_t>(bytes, 64);
  if (pinned_ && data_ != nullptr) {
    // Half again as much, so that all the memory left behind stays in proportion.
    wanted = std::max(wanted, capacity_ + capacity_ / 2);
    retired_.push_back(data_);
    data_ = nullptr;
  } else {
    release();
  }
  capacity_ = 0;
  data_ = allocate(wanted);
  capacity_ = wanted;
  std::memset(data_, 0, wanted);
  return data_;
}

bool Tensor::contiguous() const {
  for (uint8_t i = 0; i < rank_; ++i) {
    if (dim_order_[i] != i) {
      return false;
    }
  }
  return true;
}

bool Tensor::same_dim_order(const Tensor& other) const {
  return std::equal(dim_order().begin(), dim_order().end(), other.dim_order().begin(), other.dim_order().end());
}

bool Tensor::same_layout(const Tensor& other) const {
  if (!same_sizes(other)) {
    return false;
  }
  for (int d = 0; d < rank(); ++d) {
    if (size(d) != 1 && stride(d) != other.stride(d)) {
      return false;
    }
  }
  return true;
}

void Tensor::set_sizes(std::span<const int64_t> new_sizes) {
  int64_t stride = 1;
  numel_ = 1;
  for (size_t i = rank_; i-- > 0;) {
    const size_t dim = dim_order_[i];
    sizes_[dim] = new_sizes[dim];
    strides_[dim] = stride;
    numel_ *= new_sizes[dim];
    stride *= std::max<int64_t>(new_sizes[dim], 1);
  }
}

Tensor Tensor::view(void* data, DType dtype, std::span<const int64_t> sizes, std::span<const uint8_t> dim_order) {
  Tensor t;
  t.data = data;
  t.dtype = dtype;
  t.rank_ = static_cast<uint8_t>(sizes.size());
  for (uint8_t i = 0; i < t.rank_; ++i) {
    t.dim_order_[i] = dim_order.empty() ? i : dim_order[i];
  }
  t.set_sizes(sizes);
  t.capacity = t.nbytes();
  return t;
}

Result<int64_t> checked_numel(std::span<const int64_t> sizes) {
  int64_t n = 1;
  bool zero = false;
  for (const int64_t s : sizes) {
    if (s < 0) {
      return fail(Status::InvalidArgument, "a size is negative in {}", sizes_text(sizes));
    }
    if (s == 0) {
      zero = true;
    } else if (!checked_mul(n, s, n)) {
      return fail(Status::InvalidArgument, "the sizes {} have too many elements", sizes_text(sizes));
    }
  }
  return zero ? 0 : n;
}

Result<int64_t> checked_nbytes(std::span<const int64_t> sizes, DType dtype) {
  ET_ASSIGN(int64_t bytes, checked_numel(sizes));
  if (!checked_mul(bytes, static_cast<int64_t>(dtype_size(dtype)), bytes)) {
    return fail(Status::InvalidArgument, "{}{} has too many bytes", dtype_name(dtype), sizes_text(sizes));
  }
  return bytes;
}

Status resize(Tensor& tensor, std::span<const int64_t> sizes) {
  if (tensor.same_sizes(sizes)) {
    if (tensor.data == nullptr && tensor.growing != nullptr) {
      tensor.data = tensor.growing->reserve(tensor.nbytes());
      tensor.capacity = tensor.growing->capacity();
    }
    return Status::Ok;
  }
  if (sizes.size() != tensor.rank_) {
    return fail(Status::NotSupported, "rank {} of sizes {} differs from the program's rank {}", sizes.size(),
                sizes_text(sizes), tensor.rank());
  }
  if (tensor.dynamism == Dynamism::Static) {
    return fail(Status::NotSupported, "sizes {} differ from the program's static sizes {}", sizes_text(sizes),
                sizes_text(tensor.sizes()));
  }
  ET_ASSIGN(const int64_t nbytes, checked_nbytes(sizes, tensor.dtype));
  const auto needed = static_cast<size_t>(nbytes);
  if (needed > tensor.capacity || tensor.data == nullptr) {
    if (tensor.growing == nullptr) {
      return fail(Status::NotSupported, "sizes {} need {} bytes; only {} are reserved", sizes_text(sizes), needed,
                  tensor.capacity);
    }
    tensor.data = tensor.growing->reserve(needed);
    tensor.capacity = tensor.growing->capacity();
  }
  tensor.set_sizes(sizes);
  return Status::Ok;
}

std::string tensor_text(const Tensor& tensor) {
  std::string text = dtype_name(tensor.dtype) + sizes_text(tensor.sizes());
  if (!tensor.contiguous()) {
    text += " in dim_order " + sizes_text(tensor.dim_order());
  }
  return text;
}

}  // namespace etrt
