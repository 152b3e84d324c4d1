#include "core/scratch.h"

#include <algorithm>
#include <cstdint>
#include <new>

namespace etrt {
namespace {
constexpr size_t kAlign = kAllocationAlignment;
constexpr size_t kFirstBlock = 4096;
}  // namespace

Scratch::Block Scratch::add_block(size_t size) {
  auto* data = static_cast<std::byte*>(etrt::allocate(size));
  return {std::unique_ptr<std::byte, Free>(data), size};
}

void* Scratch::allocate(size_t bytes) {
  if (bytes > static_cast<size_t>(PTRDIFF_MAX) - kAlign) {  // allocators need not look at more
    throw std::bad_alloc();
  }
  bytes = std::max<size_t>((bytes + kAlign - 1) / kAlign * kAlign, kAlign);
  if (blocks_.empty() || blocks_.back().size - used_ < bytes) {
    blocks_.push_back(add_block(std::max({bytes, kFirstBlock, total_})));
    used_ = 0;
  }
  void* out = blocks_.back().data.get() + used_;
  used_ += bytes;
  total_ += bytes;
  return out;
}

void Scratch::reset() {
  if (blocks_.size() > 1) {
    const size_t size = total_;
    blocks_.clear();
    try {
      blocks_.push_back(add_block(size));
    } catch (const std::bad_alloc&) {
      blocks_.clear();  // one block was to save time only
    }
  }
  used_ = 0;
  total_ = 0;
}

}  // namespace etrt
