// Walks over index tensors: every place of an index names an element along one dimension of a tensor.
#pragma once

#include "core/convert.h"
#include "core/thread_pool.h"
#include "ops/combine.h"
#include "ops/strided_view.h"

namespace etrt::ops {

// The two sides of a gather or scatter. One lies like the index (`still`); on the other the index gives the place
// along one dimension (`moving`). At least one dimension; strides in elements.
struct IndexWalk {
  Dims sizes;           // of the index
  Dims index_strides;   // 0 where the index is the same for all (index_add and its like)
  Dims moving_strides;  // 0 along the indexed dimension
  Dims still_strides;
  int dim = 0;         // the indexed dimension
  int64_t step = 0;    // stride of the moving side along it
  int64_t limit = 0;   // and its size
  bool wraps = false;  // negative indices count from the end
};

// Offsets of one stretch of elements, in elements.
using WalkBody = FunctionRef<void(const int64_t* moving, const int64_t* still, int64_t n)>;

// Calls `body` for all elements, in row-major order of the index. Fails at the first index outside [0, limit).
// `parallel`: in any order, on several threads.
Status walk(const Call& call, const IndexWalk& walk, const Tensor& index, bool parallel, WalkBody body);

// target[target_offsets[i]] = source[source_offsets[i]], in order. Null offsets stand for 0, 1, 2, ….
void copy_at(size_t element_size, const void* source, const int64_t* source_offsets, void* target,
             const int64_t* target_offsets, int64_t n);

// An integer tensor; an empty one may have any dtype, as in eager.
Status check_index_dtype(const Call& call, const Tensor& index);

// The indices in row-major order, checked against [0, limit) and wrapped where asked: a copy in scratch memory, so
// that nothing can change them any more.
Result<const int64_t*> checked_indices(Call& call, const Tensor& index, int64_t limit, int dim, bool wraps = false);

// Slice i of `to` along `dim` = slice places[i] of `from`, for the places of checked_indices. The sizes of `to` are
// those of `from` but along `dim`.
void copy_slices(const View& from, int dim, const int64_t* places, const View& to);

// The message of a bad index.
Status index_out_of_range(const Call& call, int64_t index, int64_t limit, int dim);

}  // namespace etrt::ops
