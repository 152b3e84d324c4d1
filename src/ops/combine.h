// Element-by-element updates of memory in place: what scatter, index_add, the gradients of padding and their
// like are made of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/strided_view.h"

namespace etrt::ops {

// target = target <op> source. Integers wrap, bool adds as "or" and multiplies as "and"; Min and Max give NaN
// where either is. The 16-bit and complex types compute in float or as they are and round each time.
enum class Combine : uint8_t { Add, Multiply, Min, Max };

// Updates target[target_offsets[i]] with source[source_offsets[i]], in order; offsets in elements.
using CombineAt = void (*)(const void* source, const int64_t* source_offsets, void* target,
                           const int64_t* target_offsets, int64_t n);
// Updates n elements; strides in elements.
using CombineRun = void (*)(const void* source, int64_t source_stride, void* target, int64_t target_stride, int64_t n);

// Null for dtypes without that arithmetic.
CombineAt combine_at(Combine op, DType dtype);
CombineRun combine_run(Combine op, DType dtype);

// to[i] = to[i] <op> from[i] for every index, in row-major order; both have the same dtype and sizes. Indices may
// share elements of `to`.
void combine_views(CombineRun run, const View& from, const View& to);

}  // namespace etrt::ops
