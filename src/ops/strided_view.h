// View: a tensor's memory seen through other sizes and strides. What operators that only move elements compute
// before they copy.
#pragma once

#include "ops/checks.h"
#include "ops/dims.h"
#include "ops/op.h"
#include "ops/strided_copy.h"

namespace etrt::ops {

struct View {
  void* data = nullptr;
  DType dtype = DType::Float32;
  int64_t offset = 0;  // in elements, as are the strides
  Dims sizes;
  Dims strides;
  // Bit i: dimensions i - 1 and i of this view make one dimension of the result.
  uint64_t joined = 0;

  int rank() const { return sizes.size(); }
  bool empty() const;
  // The first element. Only for a view that isn't empty.
  std::byte* first() const { return static_cast<std::byte*>(data) + offset * static_cast<int64_t>(dtype_size(dtype)); }
};

View view_of(const Tensor& tensor);
// Row-major over `data`.
View row_major_view(void* data, DType dtype, std::span<const int64_t> sizes);

// Each changes a view in place; arguments are in range.
void insert_dim(View& view, int at, int64_t size, int64_t stride);
void drop_dim(View& view, int dim);
void swap_dims(View& view, int a, int b);
void select_at(View& view, int dim, int64_t index);
// Elements start, start + step, …: `length` of them, all within the dimension.
void narrow_to(View& view, int dim, int64_t start, int64_t length, int64_t step = 1);
void reverse(View& view, int dim);
// One dimension of a * b elements as two. b > 0 divides the size.
void split_dim(View& view, int dim, int64_t b);

// Sizes of the result after joining. Refuses a size that doesn't fit.
Result<Dims> joined_sizes(const Call& call, const View& view);

// The same index space, element by element, converting dtypes; `to` has the sizes of `from`, or its joined sizes.
// Refuses a pair of dtypes that has no conversion.
Status copy_view(const Call& call, const View& from, const View& to);
// Every element of `to` gets the element at `value`, of its dtype.
void fill_view(const void* value, const View& to);
void zero_fill(const View& to);
inline void zero_fill(Tensor& out) { zero_fill(view_of(out)); }

// The sizes that both broadcast to.
Result<Dims> broadcast_sizes(const Call& call, std::span<const int64_t> a, std::span<const int64_t> b);
// A view with each dimension of size 1 repeated as `sizes` asks; it broadcasts to them.
View broadcast_to(const View& view, std::span<const int64_t> sizes);

// Is every element where row-major order puts it?
bool is_row_major(std::span<const int64_t> sizes, std::span<const int64_t> strides);
inline bool is_row_major(const Tensor& t) { return is_row_major(t.sizes(), t.strides()); }

// The elements of `from` in row-major order into `to`, which has as many elements but any sizes.
Status copy_reshaped(Call& call, const Tensor& from, Tensor& to);
// The elements in row-major order: the tensor's own memory where it lies so, else a copy in scratch memory.
const std::byte* row_major_data(Call& call, const Tensor& tensor);
// The same after broadcasting to `sizes`.
const std::byte* row_major_data(Call& call, const Tensor& tensor, std::span<const int64_t> sizes);

// Views of `self`, checked against its sizes; shared by several operators.
Result<View> sliced(const Call& call, const Tensor& self, int64_t dim, std::optional<int64_t> start,
                    std::optional<int64_t> end, int64_t step);
Result<View> selected(const Call& call, const Tensor& self, int64_t dim, int64_t index);
Result<View> diagonal(const Call& call, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2);
Result<View> strided(const Call& call, const Tensor& self, IntList size, IntList stride,
                     std::optional<int64_t> storage_offset);

}  // namespace etrt::ops
