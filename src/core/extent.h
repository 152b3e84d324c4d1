// Which bytes a strided tensor touches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/status.h"

namespace etrt {

// Addresses [begin, end); empty where begin == end.
struct Extent {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool overlaps(const Extent& other) const { return std::max(begin, other.begin) < std::min(end, other.end); }
};

// Memory as a tensor of any strides (in elements) sees it. `sizes` and `strides` belong to the caller.
struct StridedMemory {
  const void* data = nullptr;
  std::span<const int64_t> sizes;
  std::span<const int64_t> strides;
  size_t element_size = 0;
};

// From the first byte that it may touch to the last. None when no address space reaches that far.
std::optional<Extent> extent_of(const StridedMemory& memory);
// The same; InvalidArgument where it doesn't exist.
Result<Extent> checked_extent(const StridedMemory& memory);

// Do two of its elements share bytes, as in a dimension of stride 0? The extent must exist.
bool overlaps_itself(const StridedMemory& memory);

// Do the two share a byte? Exact: columns of one matrix don't, though their extents meet. Both extents must exist, and
// neither may overlap itself.
bool share_bytes(const StridedMemory& a, const StridedMemory& b);

}  // namespace etrt
