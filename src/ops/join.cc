// cat, stack and their relatives; split and unbind.
#include <algorithm>
#include <array>

#include "core/checked.h"
#include "ops/strided_view.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// ---------------------------------------------------------------------------------------------------------
// cat: every variant gives each tensor a shape first (stack inserts a dimension, …) and then concatenates.

// A tensor as it is concatenated.
using Prepare = Result<View> (*)(const Call&, const Tensor&, int64_t dim);

Result<View> as_it_is(const Call& call, const Tensor& t, int64_t /*dim*/) {
  if (t.rank() == 0) {
    return call.fail(Status::InvalidArgument, "{} is a scalar, which can't be concatenated", call.arg_name(t));
  }
  return view_of(t);
}

Result<View> with_new_dim(const Call& call, const Tensor& t, int64_t dim) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, t.rank() + 1));
  View view = view_of(t);
  insert_dim(view, d, 1, 0);
  return view;
}

View at_least(const Tensor& t, int rank, int at) {
  View view = view_of(t);
  while (view.rank() < rank) {
    insert_dim(view, std::min(at, view.rank()), 1, 0);
  }
  return view;
}

Result<View> at_least_1d(const Call& /*call*/, const Tensor& t, int64_t /*dim*/) { return at_least(t, 1, 0); }
Result<View> at_least_2d(const Call& /*call*/, const Tensor& t, int64_t /*dim*/) { return at_least(t, 2, 0); }
// [n] becomes [1, n, 1], [m, n] becomes [m, n, 1].
Result<View> at_least_3d(const Call& /*call*/, const Tensor& t, int64_t /*dim*/) {
  View view = at_least(t, 2, 0);
  if (view.rank() == 2) {
    insert_dim(view, 2, 1, 0);
  }
  return view;
}
Result<View> as_column(const Call& /*call*/, const Tensor& t, int64_t /*dim*/) { return at_least(t, 2, 1); }

// Eager lets a tensor of sizes [0] join any others: it adds nothing.
bool adds_nothing(const View& view) { return view.rank() == 1 && view.sizes[0] == 0; }

struct Joined {
  int dim = 0;
  Dims sizes;
};

Result<Joined> joined_shape(const Call& call, TensorList tensors, int64_t dim, Prepare prepare) {
  if (tensors.empty()) {
    return call.fail(Status::InvalidArgument, "tensors is empty");
  }
  Joined joined;
  bool first = true;
  for (size_t i = 0; i < tensors.size(); ++i) {
    ET_ASSIGN(const View view, prepare(call, *tensors[i], dim));
    if (adds_nothing(view)) {
      continue;
    }
    if (first) {
      ET_ASSIGN(joined.dim, wrap_dim(call, dim, view.rank()));
      joined.sizes = view.sizes;
      first = false;
      continue;
    }
    Dims expected = joined.sizes;
    bool fits = view.rank() == expected.size();
    if (fits) {
      expected[joined.dim] = view.sizes[joined.dim];
      fits = std::equal(expected.begin(), expected.end(), view.sizes.begin());
    }
    int64_t& total = joined.sizes[joined.dim];
    if (!fits || !checked_add(total, view.sizes[joined.dim], total)) {
      return call.fail(Status::InvalidArgument, "tensors[{}] of sizes {} doesn't join with {} along dimension {}", i,
                       sizes_text(view.sizes), sizes_text(joined.sizes), joined.dim);
    }
  }
  if (first) {
    joined.sizes.push_back(0);
  }
  return joined;
}

Status check_castable(const Call& call, const Tensor& from, const Tensor& out) {
  if (from.dtype != out.dtype && !can_cast(from.dtype, out.dtype)) {
    return call.fail(Status::InvalidType, "{} has dtype {}, which out's dtype {} can't hold", call.arg_name(from),
                     dtype_name(from.dtype), dtype_name(out.dtype));
  }
  return Status::Ok;
}

Status cat_views(Call& call, TensorList tensors, int64_t dim, Prepare prepare, Tensor& out) {
  ET_ASSIGN(const Joined joined, joined_shape(call, tensors, dim, prepare));
  ET_TRY(check_sizes(call, out, joined.sizes));
  int64_t at = 0;
  for (const Tensor* t : tensors) {
    ET_ASSIGN(const View view, prepare(call, *t, dim));
    if (adds_nothing(view)) {
      continue;
    }
    ET_TRY(check_castable(call, *t, out));
    View place = view_of(out);
    narrow_to(place, joined.dim, at, view.sizes[joined.dim]);
    ET_TRY(copy_view(call, view, place));
    at += view.sizes[joined.dim];
  }
  return Status::Ok;
}

// Operators with a dimension argument, and those with a fixed one.
template <auto P>
Status cat_shape(Call& call, TensorList tensors, int64_t dim, Tensor& out) {
  ET_ASSIGN(const Joined joined, joined_shape(call, tensors, dim, P));
  return call.resize(out, joined.sizes);
}
template <auto P>
Status cat(Call& call, TensorList tensors, int64_t dim, Tensor& out) {
  return cat_views(call, tensors, dim, P, out);
}
template <auto P, int Dim>
Status cat_at_shape(Call& call, TensorList tensors, Tensor& out) {
  return cat_shape<P>(call, tensors, Dim, out);
}
template <auto P, int Dim>
Status cat_at(Call& call, TensorList tensors, Tensor& out) {
  return cat_views(call, tensors, Dim, P, out);
}

// Vectors side by side, everything else along the second dimension.
int64_t hstack_dim(TensorList tensors) { return !tensors.empty() && tensors[0]->rank() > 1 ? 1 : 0; }
Status hstack_shape(Call& call, TensorList tensors, Tensor& out) {
  return cat_shape<at_least_1d>(call, tensors, hstack_dim(tensors), out);
}
Status hstack(Call& call, TensorList tensors, Tensor& out) {
  return cat_views(call, tensors, hstack_dim(tensors), at_least_1d, out);
}

// stack takes equal sizes only: cat's exception for [0] doesn't hold.
Status stack_shape(Call& call, TensorList tensors, int64_t dim, Tensor& out) {
  for (size_t i = 1; i < tensors.size(); ++i) {
    if (!tensors[i]->same_sizes(*tensors[0])) {
      return call.fail(Status::InvalidArgument, "tensors[{}] has sizes {}, expected {} as the first", i,
                       sizes_text(tensors[i]->sizes()), sizes_text(tensors[0]->sizes()));
    }
  }
  return cat_shape<with_new_dim>(call, tensors, dim, out);
}

// ---------------------------------------------------------------------------------------------------------
// block_diag

Status block_diag_sizes(const Call& call, TensorList tensors, std::array<int64_t, 2>& sizes) {
  sizes = {0, 0};
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]->rank() > 2) {
      return call.fail(Status::InvalidArgument, "tensors[{}] has {} dimensions, expected at most 2", i,
                       tensors[i]->rank());
    }
    const View block = at_least(*tensors[i], 2, 0);
    if (!checked_add(sizes[0], block.sizes[0], sizes[0]) || !checked_add(sizes[1], block.sizes[1], sizes[1])) {
      return call.fail(Status::InvalidArgument, "the result has too many elements");
    }
  }
  if (tensors.empty()) {
    sizes = {1, 0};
  }
  return Status::Ok;
}

Status block_diag_shape(Call& call, TensorList tensors, Tensor& out) {
  std::array<int64_t, 2> sizes{};
  ET_TRY(block_diag_sizes(call, tensors, sizes));
  return call.resize(out, sizes);
}

Status block_diag(Call& call, TensorList tensors, Tensor& out) {
  std::array<int64_t, 2> sizes{};
  ET_TRY(block_diag_sizes(call, tensors, sizes));
  ET_TRY(check_sizes(call, out, sizes));
  zero_fill(out);
  int64_t row = 0;
  int64_t column = 0;
  for (const Tensor* t : tensors) {
    ET_TRY(check_castable(call, *t, out));
    const View block = at_least(*t, 2, 0);
    View place = view_of(out);
    narrow_to(place, 0, row, block.sizes[0]);
    narrow_to(place, 1, column, block.sizes[1]);
    ET_TRY(copy_view(call, block, place));
    row += block.sizes[0];
    column += block.sizes[1];
  }
  return Status::Ok;
}

// ---------------------------------------------------------------------------------------------------------
// split: consecutive pieces of one dimension. A piece is (start, length).

Result<int> split_dim_of(const Call& call, const Tensor& self, int64_t dim) {
  if (self.rank() == 0) {
    return call.fail(Status::InvalidArgument, "self is a scalar, which has no dimension to split");
  }
  return wrap_dim(call, dim, self.rank());
}

Status check_count(const Call& call, TensorList out, int64_t expected) {
  if (static_cast<int64_t>(out.size()) != expected) {
    return call.fail(Status::InvalidArgument, "out has {} tensors, but self splits into {}", out.size(), expected);
  }
  return Status::Ok;
}

// Lengths of the pieces of a dimension of `size` elements, each `split_size` long but for a shorter last one.
Status check_split(const Call& call, int64_t size, int64_t split_size, TensorList out) {
  if (split_size < 0 || (split_size == 0 && size != 0)) {
    return call.fail(Status::InvalidArgument, "split_size {} doesn't split a dimension of size {}", split_size, size);
  }
  return check_count(call, out, size == 0 ? 1 : (size - 1) / split_size + 1);
}

Status resize_piece(Call& call, const Tensor& self, int dim, int64_t length, Tensor& piece) {
  Dims sizes(self.sizes());
  sizes[dim] = length;
  return call.resize(piece, sizes);
}

Status copy_piece(Call& call, const Tensor& self, int dim, int64_t start, int64_t length, Tensor& piece) {
  ET_TRY(check_same_dtype(call, piece, self));
  View from = view_of(self);
  narrow_to(from, dim, start, length);
  ET_TRY(check_sizes(call, piece, from.sizes));
  return copy_view(call, from, view_of(piece));
}

// A piece past the end (self and a piece may be one tensor in a hostile program) has no elements.
int64_t piece_length(int64_t size, int64_t start, int64_t split_size) {
  return std::clamp<int64_t>(size - start, 0, split_size);
}

Status split_shape(Call& call, const Tensor& self, int64_t split_size, int64_t dim, TensorList out) {
  ET_ASSIGN(const int d, split_dim_of(call, self, dim));
  const int64_t size = self.size(d);
  ET_TRY(check_split(call, size, split_size, out));
  int64_t start = 0;
  for (Tensor* piece : out) {
    const int64_t length = piece_length(size, start, split_size);
    ET_TRY(resize_piece(call, self, d, length, *piece));
    start += length;
  }
  return Status::Ok;
}

Status split(Call& call, const Tensor& self, int64_t split_size, int64_t dim, TensorList out) {
  ET_ASSIGN(const int d, split_dim_of(call, self, dim));
  const int64_t size = self.size(d);
  ET_TRY(check_split(call, size, split_size, out));
  int64_t start = 0;
  for (Tensor* piece : out) {
    const int64_t length = piece_length(size, start, split_size);
    ET_TRY(copy_piece(call, self, d, start, length, *piece));
    start += length;
  }
  return Status::Ok;
}

Status check_split_sizes(const Call& call, int64_t size, IntList split_sizes, TensorList out) {
  ET_TRY(check_count(call, out, static_cast<int64_t>(split_sizes.size())));
  int64_t left = size;
  for (const int64_t s : split_sizes) {
    if (s < 0 || s > left) {
      left = -1;
      break;
    }
    left -= s;
  }
  if (left != 0) {
    return call.fail(Status::InvalidArgument, "split_sizes {} don't add up to the size {} of the dimension",
                     sizes_text(split_sizes), size);
  }
  return Status::Ok;
}

Status split_with_sizes_shape(Call& call, const Tensor& self, IntList split_sizes, int64_t dim, TensorList out) {
  ET_ASSIGN(const int d, split_dim_of(call, self, dim));
  ET_TRY(check_split_sizes(call, self.size(d), split_sizes, out));
  for (size_t i = 0; i < out.size(); ++i) {
    ET_TRY(resize_piece(call, self, d, split_sizes[i], *out[i]));
  }
  return Status::Ok;
}

Status split_with_sizes(Call& call, const Tensor& self, IntList split_sizes, int64_t dim, TensorList out) {
  ET_ASSIGN(const int d, split_dim_of(call, self, dim));
  ET_TRY(check_split_sizes(call, self.size(d), split_sizes, out));
  int64_t start = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    ET_TRY(copy_piece(call, self, d, start, split_sizes[i], *out[i]));
    start += split_sizes[i];
  }
  return Status::Ok;
}

Status unbind_shape(Call& call, const Tensor& self, int64_t dim, TensorList out) {
  ET_ASSIGN(const int d, split_dim_of(call, self, dim));
  ET_TRY(check_count(call, out, self.size(d)));
  Dims sizes(self.sizes());
  sizes.erase(d);
  for (Tensor* piece : out) {
    ET_TRY(call.resize(*piece, sizes));
  }
  return Status::Ok;
}

Status unbind(Call& call, const Tensor& self, int64_t dim, TensorList out) {
  ET_ASSIGN(const int d, split_dim_of(call, self, dim));
  ET_TRY(check_count(call, out, self.size(d)));
  for (size_t i = 0; i < out.size(); ++i) {
    ET_TRY(check_same_dtype(call, *out[i], self));
    ET_ASSIGN(const View piece, selected(call, self, d, static_cast<int64_t>(i)));
    ET_TRY(check_sizes(call, *out[i], piece.sizes));
    ET_TRY(copy_view(call, piece, view_of(*out[i])));
  }
  return Status::Ok;
}

constexpr uint32_t kJoin = kPure | kAnyLayout;
constexpr std::string_view kCatSchema = "(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kStackSchema = "(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)";
// The return slot repeats the list of outputs.
constexpr std::string_view kSplitSchema =
    "(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) -> Tensor(a!)[]";
constexpr std::string_view kSplitSizesSchema =
    "(Tensor self, SymInt[] split_sizes, int dim=0, *, Tensor(a!)[] out) -> Tensor(a!)[]";

constexpr Op kOps[] = {
    {"aten::cat.out", kCatSchema, bind<cat_shape<as_it_is>>, bind<cat<as_it_is>>, kJoin},
    {"aten::concat.out", kCatSchema, bind<cat_shape<as_it_is>>, bind<cat<as_it_is>>, kJoin},
    {"aten::concatenate.out", kCatSchema, bind<cat_shape<as_it_is>>, bind<cat<as_it_is>>, kJoin},
    {"aten::stack.out", kCatSchema, bind<stack_shape>, bind<cat<with_new_dim>>, kJoin},
    {"aten::_stack.out", kCatSchema, bind<stack_shape>, bind<cat<with_new_dim>>, kJoin},
    {"aten::hstack.out", kStackSchema, bind<hstack_shape>, bind<hstack>, kJoin},
    {"aten::vstack.out", kStackSchema, bind<cat_at_shape<at_least_2d, 0>>, bind<cat_at<at_least_2d, 0>>, kJoin},
    {"aten::row_stack.out", kStackSchema, bind<cat_at_shape<at_least_2d, 0>>, bind<cat_at<at_least_2d, 0>>, kJoin},
    {"aten::dstack.out", kStackSchema, bind<cat_at_shape<at_least_3d, 2>>, bind<cat_at<at_least_3d, 2>>, kJoin},
    {"aten::column_stack.out", kStackSchema, bind<cat_at_shape<as_column, 1>>, bind<cat_at<as_column, 1>>, kJoin},
    {"aten::block_diag.out", kStackSchema, bind<block_diag_shape>, bind<block_diag>, kJoin},
    {"aten::split_copy.Tensor_out", kSplitSchema, bind<split_shape>, bind<split>, kJoin | kView},
    {"aten::unsafe_split.Tensor_out", kSplitSchema, bind<split_shape>, bind<split>, kJoin | kView},
    {"aten::split_with_sizes_copy.out", kSplitSizesSchema, bind<split_with_sizes_shape>, bind<split_with_sizes>,
     kJoin | kView},
    {"aten::unsafe_split_with_sizes.out", kSplitSizesSchema, bind<split_with_sizes_shape>, bind<split_with_sizes>,
     kJoin | kView},
    {"aten::unbind_copy.int_out", "(Tensor self, int dim=0, *, Tensor(a!)[] out) -> Tensor(a!)[]", bind<unbind_shape>,
     bind<unbind>, kJoin | kView},
};

}  // namespace

Table join_ops() { return kOps; }

}  // namespace etrt::ops
