// Copies between two strided arrangements of the same index space: the engine of every operator that only
// moves elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/dtype.h"

namespace etrt::ops {

// target[i] = source[i] for every index i of `sizes`. Strides are in elements, of any sign, zero included; the
// caller vouches that every index lies in both memories. Source and target may overlap (the result is then
// unspecified); two indices may share a target element, in which case one of them is stored.
// At most Dims::kCapacity dimensions. Large copies run in parallel.
void strided_copy(size_t element_size, std::span<const int64_t> sizes, const void* source,
                  std::span<const int64_t> source_strides, void* target, std::span<const int64_t> target_strides);

// The same between two dtypes, by the rules of convert_run. False when there is no such conversion.
[[nodiscard]] bool strided_convert(std::span<const int64_t> sizes, DType source_dtype, const void* source,
                                   std::span<const int64_t> source_strides, DType target_dtype, void* target,
                                   std::span<const int64_t> target_strides);

// target[i] = *value, an element of `element_size` bytes.
void strided_fill(size_t element_size, std::span<const int64_t> sizes, const void* value, void* target,
                  std::span<const int64_t> target_strides);

}  // namespace etrt::ops
