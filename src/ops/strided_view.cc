#include "ops/strided_view.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/checked.h"

namespace etrt::ops {

bool View::empty() const {
  return std::any_of(sizes.begin(), sizes.end(), [](int64_t s) { return s == 0; });
}

View view_of(const Tensor& tensor) {
  View view;
  view.data = tensor.data;
  view.dtype = tensor.dtype;
  view.sizes = Dims(tensor.sizes());
  view.strides = Dims(tensor.strides());
  return view;
}

View row_major_view(void* data, DType dtype, std::span<const int64_t> sizes) {
  View view;
  view.data = data;
  view.dtype = dtype;
  view.sizes = Dims(sizes);
  view.strides = view.sizes;
  int64_t stride = 1;
  for (int i = view.rank() - 1; i >= 0; --i) {
    view.strides[i] = stride;
    stride *= std::max<int64_t>(view.sizes[i], 1);
  }
  return view;
}

void insert_dim(View& view, int at, int64_t size, int64_t stride) {
  view.sizes.insert(at, size);
  view.strides.insert(at, stride);
}

void drop_dim(View& view, int dim) {
  view.sizes.erase(dim);
  view.strides.erase(dim);
}

void swap_dims(View& view, int a, int b) {
  std::swap(view.sizes[a], view.sizes[b]);
  std::swap(view.strides[a], view.strides[b]);
}

void select_at(View& view, int dim, int64_t index) {
  view.offset += index * view.strides[dim];
  drop_dim(view, dim);
}

void narrow_to(View& view, int dim, int64_t start, int64_t length, int64_t step) {
  view.sizes[dim] = length;
  if (length == 0) {
    return;
  }
  view.offset += start * view.strides[dim];
  if (length > 1) {
    view.strides[dim] *= step;
  }
}

void reverse(View& view, int dim) {
  if (view.sizes[dim] > 1) {
    view.offset += (view.sizes[dim] - 1) * view.strides[dim];
    view.strides[dim] = -view.strides[dim];
  }
}

void split_dim(View& view, int dim, int64_t b) {
  const int64_t stride = view.strides[dim];
  view.sizes[dim] /= b;
  // With one outer element its stride is never used, and the product might not fit.
  view.strides[dim] = view.sizes[dim] > 1 ? stride * b : stride;
  insert_dim(view, dim + 1, b, stride);
}

Result<Dims> joined_sizes(const Call& call, const View& view) {
  Dims sizes;
  for (int i = 0; i < view.rank(); ++i) {
    if ((view.joined >> i & 1U) == 0) {
      sizes.push_back(view.sizes[i]);
    } else if (int64_t& last = sizes[sizes.size() - 1]; !checked_mul(last, view.sizes[i], last)) {
      return call.fail(Status::InvalidArgument, "the result has too many elements");
    }
  }
  return sizes;
}

namespace {

// Gives a target the dimensions of a source that has some of them joined.
View split_like(const View& source, const View& joined_target) {
  View target = joined_target;
  target.sizes = source.sizes;
  target.strides = Dims();
  int at = joined_target.rank();
  int64_t stride = 0;
  for (int i = source.rank() - 1; i >= 0; --i) {
    const bool continues = i + 1 < source.rank() && (source.joined >> (i + 1) & 1U) != 0;
    stride = continues ? stride * source.sizes[i + 1] : joined_target.strides[--at];
    target.strides.insert(0, stride);
  }
  return target;
}

}  // namespace

Status copy_view(const Call& call, const View& from, const View& to) {
  if (!from.empty() && from.joined != 0) {
    return copy_view(call, View{from.data, from.dtype, from.offset, from.sizes, from.strides}, split_like(from, to));
  }
  const bool empty = from.empty();
  const void* source = empty ? from.data : from.first();
  void* target = empty ? to.data : to.first();
  if (!strided_convert(from.sizes, from.dtype, source, from.strides, to.dtype, target, to.strides)) {
    return call.fail(Status::InvalidType, "can't convert {} to {}", dtype_name(from.dtype), dtype_name(to.dtype));
  }
  return Status::Ok;
}

void fill_view(const void* value, const View& to) {
  if (!to.empty()) {
    strided_fill(dtype_size(to.dtype), to.sizes, value, to.first(), to.strides);
  }
}

void zero_fill(const View& to) {
  constexpr std::array<std::byte, 16> kZero{};
  fill_view(kZero.data(), to);
}

bool is_row_major(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1) {
      if (strides[i] != stride) {
        return false;
      }
      stride *= std::max<int64_t>(sizes[i], 1);
    }
  }
  return true;
}

const std::byte* row_major_data(Call& call, const Tensor& tensor) {
  if (is_row_major(tensor) || tensor.numel() == 0) {
    return tensor.bytes();
  }
  const Tensor copy = call.scratch_tensor(tensor.dtype, tensor.sizes());
  strided_copy(tensor.element_size(), tensor.sizes(), tensor.data, tensor.strides(), copy.data, copy.strides());
  return copy.bytes();
}

const std::byte* row_major_data(Call& call, const Tensor& tensor, std::span<const int64_t> sizes) {
  if (tensor.same_sizes(sizes)) {
    return row_major_data(call, tensor);
  }
  const Tensor copy = call.scratch_tensor(tensor.dtype, sizes);
  const View from = broadcast_to(view_of(tensor), sizes);
  strided_copy(tensor.element_size(), sizes, tensor.data, from.strides, copy.data, copy.strides());
  return copy.bytes();
}

Result<Dims> broadcast_sizes(const Call& call, std::span<const int64_t> a, std::span<const int64_t> b) {
  const bool a_longer = a.size() >= b.size();
  Dims sizes(a_longer ? a : b);
  const std::span<const int64_t> shorter = a_longer ? b : a;
  const int skip = sizes.size() - static_cast<int>(shorter.size());
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = sizes[skip + static_cast<int>(i)];
    if (size != shorter[i] && size != 1 && shorter[i] != 1) {
      return call.fail(Status::InvalidArgument, "sizes {} and {} don't broadcast", sizes_text(a), sizes_text(b));
    }
    size = size == 1 ? shorter[i] : size;
  }
  return sizes;
}

View broadcast_to(const View& view, std::span<const int64_t> sizes) {
  View wide = view;
  while (wide.rank() < static_cast<int>(sizes.size())) {
    insert_dim(wide, 0, 1, 0);
  }
  for (int d = 0; d < wide.rank(); ++d) {
    const int64_t size = sizes[static_cast<size_t>(d)];
    if (wide.sizes[d] != size) {
      wide.sizes[d] = size;
      wide.strides[d] = 0;
    }
  }
  return wide;
}

Status copy_reshaped(Call& call, const Tensor& from, Tensor& to) {
  if (is_row_major(to)) {
    return copy_view(call, view_of(from), row_major_view(to.data, to.dtype, from.sizes()));
  }
  // Row-major by way of scratch memory if need be, then into the target's layout.
  const std::byte* data = row_major_data(call, from);
  return copy_view(call, row_major_view(const_cast<std::byte*>(data), from.dtype, to.sizes()), view_of(to));
}

Result<View> sliced(const Call& call, const Tensor& self, int64_t dim, std::optional<int64_t> start,
                    std::optional<int64_t> end, int64_t step) {
  if (self.rank() == 0) {
    return call.fail(Status::InvalidArgument, "self is a scalar, which has no dimension to slice");
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  if (step <= 0) {
    return call.fail(Status::InvalidArgument, "step {} isn't positive", step);
  }
  const int64_t size = self.size(d);
  const auto clamp = [size](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t first = clamp(start.value_or(0));
  const int64_t last = clamp(end.value_or(size));
  View view = view_of(self);
  narrow_to(view, d, first, last > first ? (last - first - 1) / step + 1 : 0, step);
  return view;
}

Result<View> selected(const Call& call, const Tensor& self, int64_t dim, int64_t index) {
  if (self.rank() == 0) {
    return call.fail(Status::InvalidArgument, "self is a scalar, which has no dimension to select from");
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  ET_ASSIGN(const int64_t i, wrap_index(call, index, self.size(d)));
  View view = view_of(self);
  select_at(view, d, i);
  return view;
}

Result<View> diagonal(const Call& call, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  ET_ASSIGN(const int a, wrap_dim(call, dim1, self.rank(), "dim1"));
  ET_ASSIGN(const int b, wrap_dim(call, dim2, self.rank(), "dim2"));
  if (a == b) {
    return call.fail(Status::InvalidArgument, "dim1 {} and dim2 {} are the same dimension", dim1, dim2);
  }
  View view = view_of(self);
  // How far into each dimension the diagonal starts; beyond its end there is nothing.
  const int64_t skip_a = std::clamp<int64_t>(offset < 0 ? -std::max(offset, -self.size(a)) : 0, 0, self.size(a));
  const int64_t skip_b = std::clamp<int64_t>(offset, 0, self.size(b));
  const int64_t length = std::min(self.size(a) - skip_a, self.size(b) - skip_b);
  if (length > 0) {
    view.offset += skip_a * self.stride(a) + skip_b * self.stride(b);
  }
  drop_dim(view, std::max(a, b));
  drop_dim(view, std::min(a, b));
  // A single element needs no stride, and the sum might not fit.
  insert_dim(view, view.rank(), length, length > 1 ? self.stride(a) + self.stride(b) : 1);
  return view;
}

Result<View> strided(const Call& call, const Tensor& self, IntList size, IntList stride,
                     std::optional<int64_t> storage_offset) {
  if (size.size() != stride.size() || size.size() > static_cast<size_t>(kMaxRank)) {
    return call.fail(Status::InvalidArgument, "size {} and stride {} must have equal lengths of at most {}",
                     sizes_text(size), sizes_text(stride), kMaxRank);
  }
  View view;
  view.data = self.data;
  view.dtype = self.dtype;
  view.offset = storage_offset.value_or(0);
  view.sizes = Dims(size);
  view.strides = Dims(stride);
  int64_t last = view.offset;
  bool ok = view.offset >= 0;
  for (size_t i = 0; i < size.size() && ok; ++i) {
    int64_t reach = 0;
    ok = size[i] >= 0 && stride[i] >= 0 &&
         (size[i] == 0 || (checked_mul(size[i] - 1, stride[i], reach) && checked_add(last, reach, last)));
    if (size[i] == 1) {
      view.strides[static_cast<int>(i)] = 0;
    }
  }
  if (!ok || (!view.empty() && last >= self.numel())) {
    return call.fail(Status::InvalidArgument,
                     "size {}, stride {} and storage_offset {} reach outside the {} elements of self", sizes_text(size),
                     sizes_text(stride), view.offset, self.numel());
  }
  return view;
}

}  // namespace etrt::ops
