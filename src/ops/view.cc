// Reshapes, permutations, slices, expansions: operators that move elements and compute nothing.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/checked.h"
#include "ops/combine.h"
#include "ops/rows.h"
#include "ops/strided_view.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

constexpr uint32_t kMoves = kPure | kAnyLayout | kView;

// ---------------------------------------------------------------------------------------------------------
// Three shapes of operator, each made from a function that computes a view and checks the arguments.

// out = a view of the first argument. F(call, self, args…) -> Result<View>.
template <auto F>
struct CopyOf;
template <class... A, Result<View> (*F)(const Call&, const Tensor&, A...)>
struct CopyOf<F> {
  static Status shape(Call& call, const Tensor& self, A... args, Tensor& out) {
    ET_ASSIGN(const View view, F(call, self, args...));
    ET_ASSIGN(const Dims sizes, joined_sizes(call, view));
    return call.resize(out, sizes);
  }
  static Status run(Call& call, const Tensor& self, A... args, Tensor& out) {
    ET_TRY(check_same_dtype(call, out, self));
    ET_ASSIGN(const View view, F(call, self, args...));
    ET_ASSIGN(const Dims sizes, joined_sizes(call, view));
    ET_TRY(check_sizes(call, out, sizes));
    return copy_view(call, view, view_of(out));
  }
};

template <auto F>
constexpr Op copy_op(std::string_view name, std::string_view schema) {
  return {name, schema, bind<CopyOf<F>::shape>, bind<CopyOf<F>::run>, kMoves};
}

// out = self, with src in the place of a view of it. F(call, self, args…) -> Result<View>.
template <auto F>
struct ScatterInto;
template <class... A, Result<View> (*F)(const Call&, const Tensor&, A...)>
struct ScatterInto<F> {
  static Status shape(Call& call, const Tensor& self, const Tensor&, A..., Tensor& out) {
    return call.resize(out, self.sizes());
  }
  static Status run(Call& call, const Tensor& self, const Tensor& src, A... args, Tensor& out) {
    ET_TRY(check_same_dtype(call, out, self));
    ET_TRY(check_sizes(call, out, self.sizes()));
    // Where the view depends on the layout of memory (as_strided), it is self's layout that counts.
    Tensor copy = out;
    if (!out.same_layout(self)) {
      copy = self;
      copy.data = call.scratch_tensor(self.dtype, self.sizes()).data;
    }
    ET_ASSIGN(const View place, F(call, copy, args...));
    ET_TRY(check_sizes(call, src, place.sizes));
    if (copy.data != self.data) {
      ET_TRY(copy_view(call, view_of(self), view_of(copy)));
    }
    ET_TRY(copy_view(call, view_of(src), place));
    return copy.data == out.data ? Status::Ok : copy_view(call, view_of(copy), view_of(out));
  }
};

template <auto F>
constexpr Op scatter_op(std::string_view name, std::string_view schema) {
  return {name, schema, bind<ScatterInto<F>::shape>, bind<ScatterInto<F>::run>, kPure | kAnyLayout};
}

// out = zeros of sizes `input_sizes`, with grad in the place of a view: the gradient of that view.
template <auto F>
struct GradientOf;
template <class... A, Result<View> (*F)(const Call&, const Tensor&, A...)>
struct GradientOf<F> {
  static Status shape(Call& call, const Tensor&, IntList input_sizes, A..., Tensor& out) {
    return call.resize(out, input_sizes);
  }
  static Status run(Call& call, const Tensor& grad, IntList input_sizes, A... args, Tensor& out) {
    ET_TRY(check_same_dtype(call, out, grad));
    ET_TRY(check_sizes(call, out, input_sizes));
    ET_ASSIGN(const View place, F(call, out, args...));
    ET_TRY(check_sizes(call, grad, place.sizes));
    zero_fill(out);
    return copy_view(call, view_of(grad), place);
  }
};

template <auto F>
constexpr Op gradient_op(std::string_view name, std::string_view schema) {
  return {name, schema, bind<GradientOf<F>::shape>, bind<GradientOf<F>::run>, kPure | kAnyLayout};
}

// ---------------------------------------------------------------------------------------------------------
// Views.

Result<View> permuted(const Call& call, const Tensor& self, IntList dims) {
  if (dims.size() != static_cast<size_t>(self.rank())) {
    return call.fail(Status::InvalidArgument, "dims {} has {} entries, expected {} as self has dimensions",
                     sizes_text(dims), dims.size(), self.rank());
  }
  ET_ASSIGN([[maybe_unused]] const uint32_t all, wrap_dims(call, dims, self.rank()));
  View view = view_of(self);
  for (int i = 0; i < self.rank(); ++i) {
    const int64_t d = dims[static_cast<size_t>(i)];
    const int from = static_cast<int>(d < 0 ? d + self.rank() : d);
    view.sizes[i] = self.size(from);
    view.strides[i] = self.stride(from);
  }
  return view;
}

Result<View> transposed(const Call& call, const Tensor& self, int64_t dim0, int64_t dim1) {
  ET_ASSIGN(const int a, wrap_dim(call, dim0, self.rank(), "dim0"));
  ET_ASSIGN(const int b, wrap_dim(call, dim1, self.rank(), "dim1"));
  View view = view_of(self);
  if (self.rank() > 0) {
    swap_dims(view, a, b);
  }
  return view;
}

Result<View> matrix_transposed(const Call& call, const Tensor& self) {
  if (self.rank() > 2) {
    return call.fail(Status::InvalidArgument, "self has {} dimensions, expected at most 2", self.rank());
  }
  View view = view_of(self);
  if (self.rank() == 2) {
    swap_dims(view, 0, 1);
  }
  return view;
}

Result<View> expanded(const Call& call, const Tensor& self, IntList size, bool /*implicit*/) {
  const int added = static_cast<int>(std::min<size_t>(size.size(), kMaxRank + 1)) - self.rank();
  if (added < 0 || size.size() > static_cast<size_t>(kMaxRank)) {
    return call.fail(Status::InvalidArgument, "size {} has {} entries, expected from {} (self's dimensions) to {}",
                     sizes_text(size), size.size(), self.rank(), kMaxRank);
  }
  View view = view_of(self);
  for (int i = 0; i < added; ++i) {
    insert_dim(view, 0, 1, 0);
  }
  for (int i = 0; i < view.rank(); ++i) {
    const int64_t wanted = size[static_cast<size_t>(i)];
    if (wanted == view.sizes[i] || (wanted == -1 && i >= added)) {
      continue;
    }
    if (view.sizes[i] != 1 || wanted < 0) {
      return call.fail(Status::InvalidArgument, "self of sizes {} can't expand to size {}", sizes_text(self.sizes()),
                       sizes_text(size));
    }
    view.sizes[i] = wanted;
    view.strides[i] = 0;
  }
  return view;
}

View squeezed_by(const Tensor& self, uint32_t mask) {
  View view = view_of(self);
  for (int d = self.rank() - 1; d >= 0; --d) {
    if (self.size(d) == 1 && (mask >> d & 1U) != 0) {
      drop_dim(view, d);
    }
  }
  return view;
}

Result<View> squeezed(const Call& /*call*/, const Tensor& self) { return squeezed_by(self, ~0U); }

Result<View> squeezed_dim(const Call& call, const Tensor& self, int64_t dim) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  return squeezed_by(self, 1U << d);
}

Result<View> squeezed_dims(const Call& call, const Tensor& self, IntList dim) {
  ET_ASSIGN(const uint32_t mask, wrap_dims(call, dim, self.rank(), "dim"));
  return squeezed_by(self, mask);
}

Result<View> unsqueezed(const Call& call, const Tensor& self, int64_t dim) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank() + 1));
  View view = view_of(self);
  insert_dim(view, d, 1, 0);
  return view;
}

Result<View> narrowed(const Call& call, const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  if (self.rank() == 0) {
    return call.fail(Status::InvalidArgument, "self is a scalar, which has no dimension to narrow");
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  const int64_t size = self.size(d);
  const int64_t first = start < 0 ? start + size : start;
  if (first < 0 || first > size || length < 0 || length > size - first) {
    return call.fail(Status::InvalidArgument, "start {} and length {} don't fit dimension {} of size {}", start, length,
                     d, size);
  }
  View view = view_of(self);
  narrow_to(view, d, first, length);
  return view;
}

Result<View> reshape_alias(const Call& call, const Tensor& self, IntList size, IntList stride) {
  return strided(call, self, size, stride, 0);
}

// Windows of `size` elements every `step` along one dimension; the window is a new last dimension.
Result<View> unfolded(const Call& call, const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  ET_ASSIGN(const int d, wrap_dim(call, dimension, self.rank(), "dimension"));
  const int64_t extent = self.rank() == 0 ? 1 : self.size(d);
  if (size < 0 || size > extent) {
    return call.fail(Status::InvalidArgument, "size {} is outside [0, {}], the size of dimension {}", size, extent, d);
  }
  if (step <= 0) {
    return call.fail(Status::InvalidArgument, "step {} isn't positive", step);
  }
  View view = view_of(self);
  const int64_t stride = self.rank() == 0 ? 1 : self.stride(d);
  if (self.rank() > 0) {
    narrow_to(view, d, 0, (extent - size) / step + 1, step);
  }
  insert_dim(view, view.rank(), size, stride);
  return view;
}

Result<View> repeated(const Call& call, const Tensor& self, IntList repeats) {
  if (repeats.size() < static_cast<size_t>(self.rank()) || repeats.size() > static_cast<size_t>(kMaxRank)) {
    return call.fail(Status::InvalidArgument, "repeats {} has {} entries, expected from {} (self's dimensions) to {}",
                     sizes_text(repeats), repeats.size(), self.rank(), kMaxRank);
  }
  const int added = static_cast<int>(repeats.size()) - self.rank();
  View view;
  view.data = self.data;
  view.dtype = self.dtype;
  for (int i = 0; i < static_cast<int>(repeats.size()); ++i) {
    const int64_t times = repeats[static_cast<size_t>(i)];
    if (times < 0) {
      return call.fail(Status::InvalidArgument, "repeats {} has a negative entry", sizes_text(repeats));
    }
    insert_dim(view, view.rank(), times, 0);
    if (i >= added) {
      insert_dim(view, view.rank(), self.size(i - added), self.stride(i - added));
      view.joined |= uint64_t{1} << (view.rank() - 1);
    }
  }
  return view;
}

Result<View> flipped(const Call& call, const Tensor& self, IntList dims) {
  ET_ASSIGN(const uint32_t mask, wrap_dims(call, dims, self.rank()));
  View view = view_of(self);
  for (int d = 0; d < self.rank(); ++d) {
    if ((mask >> d & 1U) != 0) {
      reverse(view, d);
    }
  }
  return view;
}

// A quarter turn from dims[0] toward dims[1], k times.
Result<View> rotated(const Call& call, const Tensor& self, int64_t k, IntList dims) {
  if (dims.size() != 2 || self.rank() < 2) {
    return call.fail(Status::InvalidArgument, "dims {} must name two of at least two dimensions; self has {}",
                     sizes_text(dims), self.rank());
  }
  ET_ASSIGN(const int a, wrap_dim(call, dims[0], self.rank(), "dims"));
  ET_ASSIGN(const int b, wrap_dim(call, dims[1], self.rank(), "dims"));
  if (a == b) {
    return call.fail(Status::InvalidArgument, "dims {} are the same dimension", sizes_text(dims));
  }
  const int64_t turns = (k % 4 + 4) % 4;
  View view = view_of(self);
  if (turns == 1 || turns == 2) {
    reverse(view, b);
  }
  if (turns == 3 || turns == 2) {
    reverse(view, a);
  }
  if (turns == 1 || turns == 3) {
    swap_dims(view, a, b);
  }
  return view;
}

// Checks a factor by which channels or pixels are split. Its square divides sizes, so it can't be large.
Status check_factor(const Call& call, const Tensor& self, int64_t factor, const char* name) {
  if (self.rank() < 3) {
    return call.fail(Status::InvalidArgument, "self has {} dimensions, expected at least 3", self.rank());
  }
  if (factor <= 0 || factor > (int64_t{1} << 31)) {
    return call.fail(Status::InvalidArgument, "{} {} isn't positive or is too large", name, factor);
  }
  return Status::Ok;
}

// [*, C r r, H, W] -> [*, C, H r, W r].
Result<View> pixels_shuffled(const Call& call, const Tensor& self, int64_t factor) {
  ET_TRY(check_factor(call, self, factor, "upscale_factor"));
  const int c = self.rank() - 3;
  if (self.size(c) % (factor * factor) != 0) {
    return call.fail(Status::InvalidArgument, "{} channels aren't divisible by the square of upscale_factor {}",
                     self.size(c), factor);
  }
  View view = view_of(self);
  split_dim(view, c, factor * factor);
  split_dim(view, c + 1, factor);
  // Now [*, C, r, r, H, W]; bring to [*, C, H, r, W, r].
  swap_dims(view, c + 2, c + 3);
  swap_dims(view, c + 1, c + 2);
  swap_dims(view, c + 3, c + 4);
  view.joined = (uint64_t{1} << (c + 2)) | (uint64_t{1} << (c + 4));
  return view;
}

// [*, C, H r, W r] -> [*, C r r, H, W].
Result<View> pixels_unshuffled(const Call& call, const Tensor& self, int64_t factor) {
  ET_TRY(check_factor(call, self, factor, "downscale_factor"));
  const int c = self.rank() - 3;
  if (self.size(c + 1) % factor != 0 || self.size(c + 2) % factor != 0) {
    return call.fail(Status::InvalidArgument, "height {} and width {} aren't both divisible by downscale_factor {}",
                     self.size(c + 1), self.size(c + 2), factor);
  }
  View view = view_of(self);
  split_dim(view, c + 2, factor);
  split_dim(view, c + 1, factor);
  // Now [*, C, H, r, W, r]; bring to [*, C, r, r, H, W].
  swap_dims(view, c + 1, c + 2);
  swap_dims(view, c + 3, c + 4);
  swap_dims(view, c + 2, c + 3);
  view.joined = (uint64_t{1} << (c + 1)) | (uint64_t{1} << (c + 2));
  return view;
}

Result<View> channels_shuffled(const Call& call, const Tensor& self, int64_t groups) {
  ET_TRY(check_factor(call, self, groups, "groups"));
  if (self.size(1) % groups != 0) {
    return call.fail(Status::InvalidArgument, "{} channels aren't divisible by groups {}", self.size(1), groups);
  }
  View view = view_of(self);
  if (self.size(1) > 0) {
    split_dim(view, 1, self.size(1) / groups);
    swap_dims(view, 1, 2);
    view.joined = uint64_t{1} << 2;
  }
  return view;
}

// The place of a slice or an element in a gradient, with all arguments given.
Result<View> sliced_exactly(const Call& call, const Tensor& self, int64_t dim, int64_t start, int64_t end,
                            int64_t step) {
  return sliced(call, self, dim, start, end, step);
}

// ---------------------------------------------------------------------------------------------------------
// Reshapes: the same elements in row-major order.

Result<Dims> reshaped_sizes(const Call& call, const Tensor& self, IntList size) {
  if (size.size() > static_cast<size_t>(kMaxRank)) {
    return call.fail(Status::InvalidArgument, "size {} has {} entries, expected at most {}", sizes_text(size),
                     size.size(), kMaxRank);
  }
  Dims sizes(size);
  int inferred = -1;
  int64_t known = 1;
  bool ok = true;
  for (int i = 0; i < sizes.size() && ok; ++i) {
    if (sizes[i] == -1 && inferred < 0) {
      inferred = i;
    } else {
      ok = sizes[i] >= 0 && checked_mul(known, sizes[i], known);
    }
  }
  if (ok && inferred >= 0) {
    // With no elements at all any size would do, so none is inferred.
    ok = known > 0 && self.numel() % known == 0;
    sizes[inferred] = ok ? self.numel() / known : 0;
  } else {
    ok = ok && known == self.numel();
  }
  if (!ok) {
    return call.fail(Status::InvalidArgument, "self of sizes {} ({} elements) can't have size {}",
                     sizes_text(self.sizes()), self.numel(), sizes_text(size));
  }
  return sizes;
}

Status view_shape(Call& call, const Tensor& self, IntList size, Tensor& out) {
  ET_ASSIGN(const Dims sizes, reshaped_sizes(call, self, size));
  return call.resize(out, sizes);
}

Status view_copy(Call& call, const Tensor& self, IntList size, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_ASSIGN(const Dims sizes, reshaped_sizes(call, self, size));
  ET_TRY(check_sizes(call, out, sizes));
  return copy_reshaped(call, self, out);
}

// The bytes of self as elements of another dtype; the last dimension shrinks or grows.
Result<Dims> reinterpreted_sizes(const Call& call, const Tensor& self, DType dtype) {
  Dims sizes(self.sizes());
  const auto from = static_cast<int64_t>(self.element_size());
  const auto to = static_cast<int64_t>(dtype_size(dtype));
  if (from == to) {
    return sizes;
  }
  const int last = self.rank() - 1;
  int64_t bytes = 0;
  if (last < 0 || !checked_mul(sizes[last], from, bytes) || bytes % to != 0) {
    return call.fail(Status::InvalidArgument, "self of dtype {} and sizes {} can't be viewed as {}",
                     dtype_name(self.dtype), sizes_text(self.sizes()), dtype_name(dtype));
  }
  sizes[last] = bytes / to;
  return sizes;
}

Status view_dtype_shape(Call& call, const Tensor& self, DType dtype, Tensor& out) {
  ET_ASSIGN(const Dims sizes, reinterpreted_sizes(call, self, dtype));
  return call.resize(out, sizes);
}

Status view_dtype_copy(Call& call, const Tensor& self, DType dtype, Tensor& out) {
  if (out.dtype != dtype) {
    return call.fail(Status::InvalidType, "out has dtype {}, expected {}", dtype_name(out.dtype), dtype_name(dtype));
  }
  ET_ASSIGN(const Dims sizes, reinterpreted_sizes(call, self, dtype));
  ET_TRY(check_sizes(call, out, sizes));
  // Row-major bytes, then as elements of the new dtype into place.
  const std::byte* data = row_major_data(call, self);
  return copy_view(call, row_major_view(const_cast<std::byte*>(data), dtype, sizes), view_of(out));
}

// ---------------------------------------------------------------------------------------------------------
// roll

// How far each dimension moves, in [0, size).
Result<Dims> roll_distances(const Call& call, std::span<const int64_t> sizes, IntList shifts, IntList dims) {
  if (shifts.size() != dims.size()) {
    return call.fail(Status::InvalidArgument, "shifts {} and dims {} have different lengths", sizes_text(shifts),
                     sizes_text(dims));
  }
  Dims distances(sizes);
  std::fill_n(&distances[0], distances.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    ET_ASSIGN(const int d, wrap_dim(call, dims[i], static_cast<int>(sizes.size()), "dims"));
    const int64_t size = d < distances.size() ? sizes[static_cast<size_t>(d)] : 0;
    if (size > 0) {
      const int64_t shift = (shifts[i] % size + size) % size;
      distances[d] = (distances[d] + shift) % size;
    }
  }
  return distances;
}

// Copies block by block: along each moved dimension the part that stays ahead and the part that wraps.
Status roll_blocks(const Call& call, const View& from, const View& to, const Dims& distances, int dim) {
  if (dim == from.rank()) {
    return copy_view(call, from, to);
  }
  const int64_t distance = distances[dim];
  if (distance == 0) {
    return roll_blocks(call, from, to, distances, dim + 1);
  }
  const int64_t stays = from.sizes[dim] - distance;
  View from_part = from;
  View to_part = to;
  narrow_to(from_part, dim, 0, stays);
  narrow_to(to_part, dim, distance, stays);
  ET_TRY(roll_blocks(call, from_part, to_part, distances, dim + 1));
  from_part = from;
  to_part = to;
  narrow_to(from_part, dim, stays, distance);
  narrow_to(to_part, dim, 0, distance);
  return roll_blocks(call, from_part, to_part, distances, dim + 1);
}

Status roll_shape(Call& call, const Tensor& self, IntList, IntList, Tensor& out) {
  return call.resize(out, self.sizes());
}

Status roll(Call& call, const Tensor& self, IntList shifts, IntList dims, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_sizes(call, out, self.sizes()));
  if (self.numel() == 0) {
    return Status::Ok;
  }
  if (!dims.empty()) {
    ET_ASSIGN(const Dims distances, roll_distances(call, self.sizes(), shifts, dims));
    return roll_blocks(call, view_of(self), view_of(out), distances, 0);
  }
  // Without dims the elements roll in row-major order.
  const std::array<int64_t, 1> flat{self.numel()};
  const std::array<int64_t, 1> first{0};
  ET_ASSIGN(const Dims distances, roll_distances(call, flat, shifts, first));
  auto* source = const_cast<std::byte*>(row_major_data(call, self));
  Tensor rolled = is_row_major(out) ? out : call.scratch_tensor(out.dtype, out.sizes());
  ET_TRY(roll_blocks(call, row_major_view(source, self.dtype, flat), row_major_view(rolled.data, out.dtype, flat),
                     distances, 0));
  return rolled.data == out.data ? Status::Ok : copy_view(call, view_of(rolled), view_of(out));
}

// ---------------------------------------------------------------------------------------------------------
// Diagonals written into zeros.

struct DiagonalPlace {
  Dims sizes;
  int dim1 = 0;
  int dim2 = 1;
};

// The sizes of a tensor whose diagonal over dim1 and dim2 is self.
Result<DiagonalPlace> embedded_diagonal(const Call& call, const Tensor& self, int64_t offset, int64_t dim1,
                                        int64_t dim2) {
  if (self.rank() == 0) {
    return call.fail(Status::InvalidArgument, "self is a scalar, expected at least 1 dimension");
  }
  ET_ASSIGN(const int a, wrap_dim(call, dim1, self.rank() + 1, "dim1"));
  ET_ASSIGN(const int b, wrap_dim(call, dim2, self.rank() + 1, "dim2"));
  int64_t side = 0;
  if (a == b) {
    return call.fail(Status::InvalidArgument, "dim1 {} and dim2 {} are the same dimension", dim1, dim2);
  }
  if (offset == INT64_MIN || !checked_add(self.size(self.rank() - 1), offset < 0 ? -offset : offset, side)) {
    return call.fail(Status::InvalidArgument, "offset {} is too large", offset);
  }
  DiagonalPlace place{Dims(self.sizes().first(static_cast<size_t>(self.rank() - 1))), a, b};
  place.sizes.insert(std::min(a, b), side);
  place.sizes.insert(std::max(a, b), side);
  return place;
}

Status diag_embed_shape(Call& call, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, Tensor& out) {
  ET_ASSIGN(const DiagonalPlace place, embedded_diagonal(call, self, offset, dim1, dim2));
  return call.resize(out, place.sizes);
}

Status diag_embed(Call& call, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_ASSIGN(const DiagonalPlace place, embedded_diagonal(call, self, offset, dim1, dim2));
  ET_TRY(check_sizes(call, out, place.sizes));
  ET_ASSIGN(const View line, diagonal(call, out, offset, place.dim1, place.dim2));
  zero_fill(out);
  return copy_view(call, view_of(self), line);
}

// A vector into a matrix, a matrix's diagonal out of it.
Status diag_shape(Call& call, const Tensor& self, int64_t offset, Tensor& out) {
  if (self.rank() == 1) {
    return diag_embed_shape(call, self, offset, 0, 1, out);
  }
  ET_ASSIGN(const View line, diagonal(call, self, offset, 0, 1));
  return call.resize(out, line.sizes);
}

Status diag(Call& call, const Tensor& self, int64_t offset, Tensor& out) {
  if (self.rank() != 1 && self.rank() != 2) {
    return call.fail(Status::InvalidArgument, "self has {} dimensions, expected 1 or 2", self.rank());
  }
  if (self.rank() == 1) {
    return diag_embed(call, self, offset, 0, 1, out);
  }
  return CopyOf<diagonal>::run(call, self, offset, 0, 1, out);
}

// ---------------------------------------------------------------------------------------------------------
// resize: the elements in row-major order, as many as there is room for; eager leaves the rest undefined, here it is 0.

Status resized_shape(Call& call, const Tensor& /*self*/, IntList size, std::optional<int64_t> /*memory_format*/,
                     Tensor& out) {
  return call.resize(out, size);
}

Status resized(Call& call, const Tensor& self, IntList size, std::optional<int64_t> /*memory_format*/, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_sizes(call, out, size));
  ET_ASSIGN(const Tensor rows, as_rows(call, self, self.dtype));
  const Tensor flat = call.scratch_tensor(out.dtype, out.sizes());
  std::memset(flat.data, 0, flat.nbytes());
  std::memcpy(flat.data, rows.data, std::min(flat.nbytes(), rows.nbytes()));
  return write_rows(call, size, out.dtype, flat.data, out);
}

// ---------------------------------------------------------------------------------------------------------
// repeat_interleave: the index of every element, as often as repeats says.

template <class T>
Status interleave(Call& call, const Tensor& repeats, std::optional<int64_t> output_size, Tensor& out) {
  int64_t total = 0;
  for (int64_t i = 0; i < repeats.numel(); ++i) {
    const auto count = static_cast<int64_t>(repeats.as<T>()[i]);
    if (count < 0 || !checked_add(total, count, total)) {
      return call.fail(Status::InvalidArgument, "repeats[{}] is {}: negative, or too many elements", i, count);
    }
  }
  // Eager doesn't look at output_size when there is nothing to repeat.
  if (output_size && *output_size != total && repeats.numel() > 0) {
    return call.fail(Status::InvalidArgument, "output_size {} differs from the sum {} of repeats", *output_size, total);
  }
  ET_TRY(call.resize(out, std::array{total}));
  // repeats is read anew: a hostile program may pass the same tensor for both.
  T* to = out.as<T>();
  int64_t left = total;
  for (int64_t i = 0; i < repeats.numel() && left > 0; ++i) {
    const int64_t count = std::clamp<int64_t>(repeats.as<T>()[i], 0, left);
    to = std::fill_n(to, count, static_cast<T>(i));
    left -= count;
  }
  return Status::Ok;
}

Status repeat_interleave(Call& call, const Tensor& repeats, std::optional<int64_t> output_size, Tensor& out) {
  if (repeats.rank() != 1) {
    return call.fail(Status::InvalidArgument, "repeats has {} dimensions, expected 1", repeats.rank());
  }
  ET_TRY(check_same_dtype(call, out, repeats));
  switch (repeats.dtype) {
    case DType::Int32:
      return interleave<int32_t>(call, repeats, output_size, out);
    case DType::Int64:
      return interleave<int64_t>(call, repeats, output_size, out);
    default:
      return call.fail(Status::InvalidType, "repeats has dtype {}, expected int32 or int64", dtype_name(repeats.dtype));
  }
}

// ---------------------------------------------------------------------------------------------------------
// The gradient of unfold: windows overlap, so it adds up.

Status unfold_backward_shape(Call& call, const Tensor& /*grad_in*/, IntList input_sizes, int64_t /*dim*/,
                             int64_t /*size*/, int64_t /*step*/, Tensor& out) {
  return call.resize(out, input_sizes);
}

// grad_in[…, window, …, k] adds to out[…, window * step + k, …].
Status unfold_backward(Call& call, const Tensor& grad_in, IntList input_sizes, int64_t dim, int64_t size, int64_t step,
                       Tensor& out) {
  ET_TRY(check_same_dtype(call, out, grad_in));
  ET_TRY(check_sizes(call, out, input_sizes));
  const CombineRun add = combine_run(Combine::Add, grad_in.dtype);
  if (add == nullptr) {
    return call.fail(Status::InvalidType, "grad_in has dtype {}, which has no arithmetic", dtype_name(grad_in.dtype));
  }
  if (out.rank() == 0) {
    return call.fail(Status::NotSupported, "input_sizes is empty: the gradient of a scalar's unfold isn't supported");
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, out.rank()));
  if (size < 0 || size > out.size(d) || step <= 0) {
    return call.fail(Status::InvalidArgument, "size {} and step {} make no windows of dimension {} of size {}", size,
                     step, d, out.size(d));
  }
  Dims expected(input_sizes);
  expected[d] = (out.size(d) - size) / step + 1;
  const int64_t windows = expected[d];
  expected.push_back(size);
  ET_TRY(check_sizes(call, grad_in, expected));
  zero_fill(out);
  for (int64_t k = 0; grad_in.numel() > 0 && k < size; ++k) {
    View from = view_of(grad_in);
    select_at(from, out.rank(), k);
    View to = view_of(out);
    narrow_to(to, d, k, windows, step);
    combine_views(add, from, to);
  }
  return Status::Ok;
}

constexpr Op kOps[] = {
    {"aten::view_copy.out", "(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", bind<view_shape>,
     bind<view_copy>, kMoves},
    {"aten::_unsafe_view.out", "(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", bind<view_shape>,
     bind<view_copy>, kMoves},
    {"aten::view_copy.dtype_out", "(Tensor self, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)",
     bind<view_dtype_shape>, bind<view_dtype_copy>, kPure | kAnyLayout},
    copy_op<permuted>("aten::permute_copy.out", "(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<transposed>("aten::transpose_copy.int_out",
                        "(Tensor self, int dim0, int dim1, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<matrix_transposed>("aten::t_copy.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<expanded>("aten::expand_copy.out",
                      "(Tensor self, SymInt[] size, *, bool implicit=False, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<squeezed>("aten::squeeze_copy.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<squeezed_dim>("aten::squeeze_copy.dim_out", "(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<squeezed_dims>("aten::squeeze_copy.dims_out", "(Tensor self, int[] dim, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<unsqueezed>("aten::unsqueeze_copy.out", "(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<selected>("aten::select_copy.int_out",
                      "(Tensor self, int dim, SymInt index, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<sliced>("aten::slice_copy.Tensor_out",
                    "(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1, *, Tensor(a!) out) "
                    "-> Tensor(a!)"),
    copy_op<narrowed>("aten::narrow_copy.out",
                      "(Tensor self, int dim, SymInt start, SymInt length, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<diagonal>("aten::diagonal_copy.out",
                      "(Tensor self, int offset=0, int dim1=0, int dim2=1, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<strided>("aten::as_strided_copy.out",
                     "(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None, *, Tensor(a!) out) -> "
                     "Tensor(a!)"),
    copy_op<reshape_alias>("aten::_reshape_alias_copy.out",
                           "(Tensor self, SymInt[] size, SymInt[] stride, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<unfolded>("aten::unfold_copy.out",
                      "(Tensor self, int dimension, int size, int step, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<repeated>("aten::repeat.out", "(Tensor self, SymInt[] repeats, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<flipped>("aten::flip.out", "(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<rotated>("aten::rot90.out", "(Tensor self, int k=1, int[] dims=[0, 1], *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<pixels_shuffled>("aten::pixel_shuffle.out",
                             "(Tensor self, int upscale_factor, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<pixels_unshuffled>("aten::pixel_unshuffle.out",
                               "(Tensor self, int downscale_factor, *, Tensor(a!) out) -> Tensor(a!)"),
    copy_op<channels_shuffled>("aten::channel_shuffle.out",
                               "(Tensor self, SymInt groups, *, Tensor(a!) out) -> Tensor(a!)"),
    {"aten::roll.out", "(Tensor self, SymInt[1] shifts, int[1] dims=[], *, Tensor(a!) out) -> Tensor(a!)",
     bind<roll_shape>, bind<roll>, kMoves},
    {"aten::repeat_interleave.Tensor_out",
     "(Tensor repeats, *, SymInt? output_size=None, Tensor(a!) out) -> Tensor(a!)", nullptr, bind<repeat_interleave>,
     kPure},
    {"aten::resize.out",
     "(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
     bind<resized_shape>, bind<resized>, kPure | kAnyLayout},
    {"aten::diag_embed.out", "(Tensor self, int offset=0, int dim1=-2, int dim2=-1, *, Tensor(a!) out) -> Tensor(a!)",
     bind<diag_embed_shape>, bind<diag_embed>, kPure | kAnyLayout},
    {"aten::diag.out", "(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!)", bind<diag_shape>, bind<diag>,
     kPure | kAnyLayout},
    scatter_op<sliced>("aten::slice_scatter.out",
                       "(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1, *, "
                       "Tensor(a!) out) -> Tensor(a!)"),
    scatter_op<selected>("aten::select_scatter.out",
                         "(Tensor self, Tensor src, int dim, SymInt index, *, Tensor(a!) out) -> Tensor(a!)"),
    scatter_op<diagonal>(
        "aten::diagonal_scatter.out",
        "(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1, *, Tensor(a!) out) -> Tensor(a!)"),
    scatter_op<strided>("aten::as_strided_scatter.out",
                        "(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None, *, "
                        "Tensor(a!) out) -> Tensor(a!)"),
    gradient_op<sliced_exactly>("aten::slice_backward.out",
                                "(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, "
                                "SymInt step, *, Tensor(a!) out) -> Tensor(a!)"),
    gradient_op<selected>(
        "aten::select_backward.out",
        "(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index, *, Tensor(a!) out) -> Tensor(a!)"),
    gradient_op<diagonal>("aten::diagonal_backward.out",
                          "(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2, *, Tensor(a!) "
                          "out) -> Tensor(a!)"),
    {"aten::unfold_backward.out",
     "(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step, *, Tensor(a!) out) -> Tensor(a!)",
     bind<unfold_backward_shape>, bind<unfold_backward>, kPure | kAnyLayout},
};

}  // namespace

Table view_ops() { return kOps; }

}  // namespace etrt::ops
