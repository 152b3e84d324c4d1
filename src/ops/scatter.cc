// gather, scatter and the operators along one dimension by a vector of indices (index_select, index_add, …).
#include <algorithm>
#include <array>
#include <complex>
#include <tuple>

#include "core/thread_pool.h"
#include "ops/element.h"
#include "ops/index_walk.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// ---------------------------------------------------------------------------------------------------------
// Arguments. A scalar counts as one dimension of size 1 here, as in eager.

Dims at_least_one(std::span<const int64_t> values, int64_t filler) {
  Dims dims(values);
  if (dims.empty()) {
    dims.push_back(filler);
  }
  return dims;
}

Dims sizes_1d(const Tensor& t) { return at_least_one(t.sizes(), 1); }
Dims strides_1d(const Tensor& t) { return at_least_one(t.strides(), 1); }

// Makes `moving` the side addressed along `dim`.
void set_moving(IndexWalk& w, const Tensor& moving, int dim) {
  w.moving_strides = strides_1d(moving);
  w.dim = dim;
  w.step = w.moving_strides[dim];
  w.limit = sizes_1d(moving)[dim];
  w.moving_strides[dim] = 0;
}

Dims zeros_like(const Dims& dims) {
  Dims zeros = dims;
  for (int i = 0; i < zeros.size(); ++i) {
    zeros[i] = 0;
  }
  return zeros;
}

// `index` may be no larger than `self` in any dimension but `dim`, and no larger than `src` (if any) at all.
Result<int> check_index_sizes(const Call& call, const Tensor& self, int64_t dim, const Tensor& index,
                              const Tensor* src) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  const auto fits = [&](const Tensor& t, int except) {
    const Dims bound = sizes_1d(t);
    const Dims sizes = sizes_1d(index);
    bool ok = bound.size() == sizes.size();
    for (int i = 0; ok && i < sizes.size(); ++i) {
      ok = i == except || sizes[i] <= bound[i];
    }
    return ok;
  };
  if (index.numel() > 0 && !fits(self, d)) {
    return call.fail(Status::InvalidArgument, "index of sizes {} doesn't fit self of sizes {} apart from dimension {}",
                     sizes_text(index.sizes()), sizes_text(self.sizes()), d);
  }
  if (index.numel() > 0 && src != nullptr && !fits(*src, -1)) {
    return call.fail(Status::InvalidArgument, "index of sizes {} is larger than src of sizes {}",
                     sizes_text(index.sizes()), sizes_text(src->sizes()));
  }
  return d;
}

Status copy_self(const Call& call, const Tensor& self, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_sizes(call, out, self.sizes()));
  return out.data == self.data && out.same_layout(self) ? Status::Ok : copy_view(call, view_of(self), view_of(out));
}

// ---------------------------------------------------------------------------------------------------------
// gather

Status gather_shape(Call& call, const Tensor& self, int64_t dim, const Tensor& index, bool /*sparse_grad*/,
                    Tensor& out) {
  ET_ASSIGN([[maybe_unused]] const int d, check_index_sizes(call, self, dim, index, nullptr));
  return call.resize(out, index.sizes());
}

Status gather_along(Call& call, const Tensor& self, int dim, const Tensor& index, Tensor& out) {
  IndexWalk w;
  w.sizes = sizes_1d(index);
  w.index_strides = strides_1d(index);
  w.still_strides = strides_1d(out);
  set_moving(w, self, dim);
  const size_t size = self.element_size();
  return walk(call, w, index, true, [&](const int64_t* from, const int64_t* to, int64_t n) {
    copy_at(size, self.data, from, out.data, to, n);
  });
}

Status gather(Call& call, const Tensor& self, int64_t dim, const Tensor& index, bool /*sparse_grad*/, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_sizes(call, out, index.sizes()));
  ET_ASSIGN(const int d, check_index_sizes(call, self, dim, index, nullptr));
  return index.numel() == 0 ? Status::Ok : gather_along(call, self, d, index, out);
}

// take_along_dim: self and indices broadcast against each other but for `dim`.
struct TakeAlong {
  int dim = 0;
  View self;
  View indices;
};

Result<TakeAlong> broadcast_but_dim(Call& call, const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  TakeAlong t;
  if (!dim) {
    auto* data = const_cast<std::byte*>(row_major_data(call, self));
    t.self = row_major_view(data, self.dtype, std::array{self.numel()});
    data = const_cast<std::byte*>(row_major_data(call, indices));
    t.indices = row_major_view(data, indices.dtype, std::array{indices.numel()});
    return t;
  }
  ET_ASSIGN(t.dim, wrap_dim(call, *dim, self.rank()));
  t.self = view_of(self);
  t.indices = view_of(indices);
  bool ok = self.rank() > 0 && self.rank() == indices.rank();
  for (int d = 0; ok && d < self.rank(); ++d) {
    const int64_t a = self.size(d);
    const int64_t b = indices.size(d);
    if (d == t.dim || a == b) {
      continue;
    }
    View& narrow = a == 1 ? t.self : t.indices;
    ok = a == 1 || b == 1;
    narrow.sizes[d] = a == 1 ? b : a;
    narrow.strides[d] = 0;
  }
  if (!ok) {
    return call.fail(Status::InvalidArgument, "indices of sizes {} don't broadcast with self of sizes {}",
                     sizes_text(indices.sizes()), sizes_text(self.sizes()));
  }
  return t;
}

Status take_along_shape(Call& call, const Tensor& self, const Tensor& indices, std::optional<int64_t> dim,
                        Tensor& out) {
  ET_ASSIGN(const TakeAlong t, broadcast_but_dim(call, self, indices, dim));
  return call.resize(out, t.indices.sizes);
}

Status take_along(Call& call, const Tensor& self, const Tensor& indices, std::optional<int64_t> dim, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_ASSIGN(const TakeAlong t, broadcast_but_dim(call, self, indices, dim));
  ET_TRY(check_sizes(call, out, t.indices.sizes));
  IndexWalk w;
  w.sizes = t.indices.sizes;
  w.index_strides = t.indices.strides;
  w.still_strides = Dims(out.strides());
  w.moving_strides = t.self.strides;
  w.dim = t.dim;
  w.step = t.self.strides[t.dim];
  w.limit = t.self.sizes[t.dim];
  w.moving_strides[t.dim] = 0;
  Tensor index = indices;
  index.data = t.indices.data;
  const size_t size = self.element_size();
  return walk(call, w, index, true, [&](const int64_t* from, const int64_t* to, int64_t n) {
    copy_at(size, t.self.data, from, out.data, to, n);
  });
}

// ---------------------------------------------------------------------------------------------------------
// Reductions into places that indices name.

enum class Reduction : uint8_t { None, Sum, Product, Mean, Max, Min };

struct ReductionName {
  std::string_view name;
  Reduction reduction;
};

template <size_t N>
Result<Reduction> reduction_of(const Call& call, std::string_view name, const std::array<ReductionName, N>& names) {
  for (const ReductionName& n : names) {
    if (n.name == name) {
      return n.reduction;
    }
  }
  return call.fail(Status::InvalidArgument, "reduce \"{}\" is no reduction of this operator", name);
}

constexpr std::array<ReductionName, 2> kScatterNames{{{"add", Reduction::Sum}, {"multiply", Reduction::Product}}};
constexpr std::array<ReductionName, 5> kReduceNames{{{"sum", Reduction::Sum},
                                                     {"prod", Reduction::Product},
                                                     {"mean", Reduction::Mean},
                                                     {"amax", Reduction::Max},
                                                     {"amin", Reduction::Min}}};

Combine combine_of(Reduction r) {
  switch (r) {
    case Reduction::Product:
      return Combine::Multiply;
    case Reduction::Max:
      return Combine::Max;
    case Reduction::Min:
      return Combine::Min;
    default:
      return Combine::Add;
  }
}

// Same layout, other dtype, converted.
Tensor converted_copy(Call& call, const Tensor& t, DType dtype) {
  Tensor copy = t;
  copy.dtype = dtype;
  copy.data = call.scratch_tensor(dtype, t.sizes()).data;
  (void)convert_run(t.dtype, t.data, 1, dtype, copy.data, 1, t.numel());
  return copy;
}

// Divides every element by its count. Integers round down, as eager does.
void divide_by_counts(const Tensor& t, const int64_t* counts) {
  const bool integer = is_int(t.dtype);
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (counts[i] < 2) {
      continue;
    }
    std::byte* element = t.bytes() + i * static_cast<int64_t>(t.element_size());
    if (integer) {
      const auto v = load_one<int64_t>(t.dtype, element);
      const int64_t n = counts[i];
      store_one<int64_t>(t.dtype, element, v / n - (v % n < 0 ? 1 : 0));
    } else if (is_complex(t.dtype)) {
      using Complex = std::complex<double>;
      store_one<Complex>(t.dtype, element, load_one<Complex>(t.dtype, element) / static_cast<double>(counts[i]));
    } else {
      store_one<double>(t.dtype, element, load_one<double>(t.dtype, element) / static_cast<double>(counts[i]));
    }
  }
}

// out[moving] = reduction of out[moving] and source[still]. Without include_self only the sources count.
struct Update {
  Reduction reduction = Reduction::None;
  bool include_self = true;
  bool exact = false;  // 16-bit types: sum in float, round once
};

Status update_in_place(Call& call, const IndexWalk& w, const Tensor& index, const Tensor& source, Tensor& out,
                       const Update& u) {
  const size_t size = out.element_size();
  const auto assign = [&](const Tensor& from, const Dims& still) {
    IndexWalk all = w;
    all.still_strides = still;
    return walk(call, all, index, false, [&](const int64_t* to, const int64_t* at, int64_t n) {
      copy_at(size, from.data, at, out.data, to, n);
    });
  };
  if (u.reduction == Reduction::None) {
    return assign(source, w.still_strides);
  }
  const CombineAt combine = combine_at(combine_of(u.reduction), out.dtype);
  if (combine == nullptr || (u.reduction == Reduction::Mean && is_bool(out.dtype))) {
    return call.fail(Status::InvalidType, "self has dtype {}, which has no such reduction", dtype_name(out.dtype));
  }
  if (!u.include_self) {
    // The places start from the neutral element; for a maximum or minimum any source will do.
    if (u.reduction == Reduction::Max || u.reduction == Reduction::Min) {
      ET_TRY(assign(source, w.still_strides));
    } else {
      const int64_t neutral = u.reduction == Reduction::Product ? 1 : 0;
      ET_ASSIGN(Element element, element_of(call, Scalar::of(neutral), out.dtype));
      const std::array<int64_t, 0> no_sizes{};
      ET_TRY(assign(Tensor::view(element.data(), out.dtype, no_sizes), zeros_like(w.still_strides)));
    }
  }
  int64_t* counts = nullptr;
  if (u.reduction == Reduction::Mean) {
    counts = call.scratch<int64_t>(out.numel());
    std::fill_n(counts, out.numel(), u.include_self ? 1 : 0);
  }
  ET_TRY(walk(call, w, index, false, [&](const int64_t* to, const int64_t* from, int64_t n) {
    combine(source.data, from, out.data, to, n);
    for (int64_t i = 0; counts != nullptr && i < n; ++i) {
      ++counts[to[i]];
    }
  }));
  if (counts != nullptr) {
    divide_by_counts(out, counts);
  }
  return Status::Ok;
}

// `w` has everything but the moving side, which is `out`.
Status update(Call& call, IndexWalk w, int dim, const Tensor& index, const Tensor& source, Tensor& out,
              const Update& u) {
  set_moving(w, out, dim);
  if (!u.exact || !is_half(out.dtype)) {
    return update_in_place(call, w, index, source, out, u);
  }
  Tensor sums = converted_copy(call, out, DType::Float32);
  ET_TRY(update_in_place(call, w, index, converted_copy(call, source, DType::Float32), sums, u));
  (void)convert_run(sums.dtype, sums.data, 1, out.dtype, out.data, 1, out.numel());
  return Status::Ok;
}

// ---------------------------------------------------------------------------------------------------------
// scatter: the index has the shape of what is scattered.

Status scatter_tensor(Call& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out,
                      const Update& u) {
  ET_ASSIGN(const int d, check_index_sizes(call, self, dim, index, &src));
  if (index.numel() > 0) {
    ET_TRY(check_same_dtype(call, src, self));
  }
  ET_TRY(copy_self(call, self, out));
  if (index.numel() == 0) {
    return Status::Ok;
  }
  IndexWalk w;
  w.sizes = sizes_1d(index);
  w.index_strides = strides_1d(index);
  w.still_strides = strides_1d(src);
  return update(call, w, d, index, src, out, u);
}

Status scatter_number(Call& call, const Tensor& self, int64_t dim, const Tensor& index, Scalar value, Tensor& out,
                      const Update& u) {
  ET_ASSIGN(const int d, check_index_sizes(call, self, dim, index, nullptr));
  ET_ASSIGN(Element element, element_of(call, value, self.dtype));
  ET_TRY(copy_self(call, self, out));
  if (index.numel() == 0) {
    return Status::Ok;
  }
  IndexWalk w;
  w.sizes = sizes_1d(index);
  w.index_strides = strides_1d(index);
  w.still_strides = zeros_like(w.sizes);
  const std::array<int64_t, 0> no_sizes{};
  return update(call, w, d, index, Tensor::view(element.data(), self.dtype, no_sizes), out, u);
}

Status scatter_src(Call& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  return scatter_tensor(call, self, dim, index, src, out, {});
}

Status scatter_value(Call& call, const Tensor& self, int64_t dim, const Tensor& index, Scalar value, Tensor& out) {
  return scatter_number(call, self, dim, index, value, out, {});
}

Status scatter_src_reduce(Call& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                          std::string_view reduce, Tensor& out) {
  ET_ASSIGN(const Reduction r, reduction_of(call, reduce, kScatterNames));
  return scatter_tensor(call, self, dim, index, src, out, {.reduction = r});
}

Status scatter_value_reduce(Call& call, const Tensor& self, int64_t dim, const Tensor& index, Scalar value,
                            std::string_view reduce, Tensor& out) {
  ET_ASSIGN(const Reduction r, reduction_of(call, reduce, kScatterNames));
  return scatter_number(call, self, dim, index, value, out, {.reduction = r});
}

Status scatter_add(Call& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  return scatter_tensor(call, self, dim, index, src, out, {.reduction = Reduction::Sum, .exact = true});
}

Status scatter_reduce(Call& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool include_self, Tensor& out) {
  ET_ASSIGN(const Reduction r, reduction_of(call, reduce, kReduceNames));
  return scatter_tensor(call, self, dim, index, src, out,
                        {.reduction = r, .include_self = include_self, .exact = true});
}

// The shape function of operators whose result has the sizes of self.
template <auto F>
struct SizesOfSelf;
template <class... A, Status (*F)(Call&, const Tensor&, A...)>
struct SizesOfSelf<F> {
  static Status shape(Call& call, const Tensor& self, A... args) {
    Tensor& out = std::get<sizeof...(A) - 1>(std::forward_as_tuple(args...));
    return call.resize(out, self.sizes());
  }
};

// ---------------------------------------------------------------------------------------------------------
// index_add and its like: one index for a whole slice.

struct SliceIndex {
  int dim = 0;
  IndexWalk walk;  // all but the sides
};

// `index` names slices of self along dim; source has one slice for each.
Result<SliceIndex> slices(const Call& call, const Tensor& self, int64_t dim, const Tensor& index,
                          const Tensor* source) {
  SliceIndex s;
  ET_ASSIGN(s.dim, wrap_dim(call, dim, self.rank()));
  if (index.rank() > 1) {
    return call.fail(Status::InvalidArgument, "index has {} dimensions, expected 1", index.rank());
  }
  s.walk.sizes = sizes_1d(self);
  s.walk.sizes[s.dim] = index.numel();
  s.walk.index_strides = zeros_like(s.walk.sizes);
  s.walk.index_strides[s.dim] = 1;
  if (source != nullptr) {
    const Dims found = sizes_1d(*source);
    if (!std::equal(found.begin(), found.end(), s.walk.sizes.begin(), s.walk.sizes.end())) {
      return call.fail(Status::InvalidArgument,
                       "source has sizes {}, expected {} for {} indices along dimension {} of self",
                       sizes_text(source->sizes()), sizes_text(s.walk.sizes), index.numel(), s.dim);
    }
    ET_TRY(check_same_dtype(call, *source, self));
    s.walk.still_strides = strides_1d(*source);
  } else {
    s.walk.still_strides = zeros_like(s.walk.sizes);
  }
  return s;
}

Status index_slices(Call& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Tensor& out,
                    const Update& u) {
  ET_ASSIGN(const SliceIndex s, slices(call, self, dim, index, &source));
  ET_TRY(copy_self(call, self, out));
  return update(call, s.walk, s.dim, index, source, out, u);
}

Status index_add(Call& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha,
                 Tensor& out) {
  const Update add{.reduction = Reduction::Sum};
  if (!alpha.is_float() && alpha.as_int() == 1) {
    return index_slices(call, self, dim, index, source, out, add);
  }
  ET_TRY(check_same_dtype(call, source, self));
  ET_ASSIGN(const Element factor, element_of(call, alpha, source.dtype, "alpha"));
  const CombineRun multiply = combine_run(Combine::Multiply, source.dtype);
  if (multiply == nullptr) {
    return call.fail(Status::InvalidType, "source has dtype {}, which has no arithmetic", dtype_name(source.dtype));
  }
  Tensor scaled = source;
  scaled.data = call.scratch_tensor(source.dtype, source.sizes()).data;
  (void)convert_run(source.dtype, source.data, 1, scaled.dtype, scaled.data, 1, source.numel());
  multiply(factor.data(), 0, scaled.data, 1, scaled.numel());
  return index_slices(call, self, dim, index, scaled, out, add);
}

Status index_copy(Call& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Tensor& out) {
  return index_slices(call, self, dim, index, source, out, {});
}

Status index_reduce(Call& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool include_self, Tensor& out) {
  ET_ASSIGN(const Reduction r, reduction_of(call, reduce, kReduceNames));
  return index_slices(call, self, dim, index, source, out, {.reduction = r, .include_self = include_self});
}

Status index_fill_element(Call& call, const Tensor& self, int64_t dim, const Tensor& index, Element& element,
                          Tensor& out) {
  ET_ASSIGN(SliceIndex s, slices(call, self, dim, index, nullptr));
  s.walk.wraps = true;
  ET_TRY(copy_self(call, self, out));
  const std::array<int64_t, 0> no_sizes{};
  return update(call, s.walk, s.dim, index, Tensor::view(element.data(), self.dtype, no_sizes), out, {});
}

Status index_fill_number(Call& call, const Tensor& self, int64_t dim, const Tensor& index, Scalar value, Tensor& out) {
  ET_ASSIGN(Element element, element_of(call, value, self.dtype));
  return index_fill_element(call, self, dim, index, element, out);
}

Status index_fill_tensor(Call& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value,
                         Tensor& out) {
  if (value.rank() != 0) {
    return call.fail(Status::InvalidArgument, "value has {} dimensions, expected none", value.rank());
  }
  Element element{};
  if (!convert_run(value.dtype, value.data, 1, self.dtype, element.data(), 1, 1)) {
    return call.fail(Status::InvalidType, "can't convert value of dtype {} to {}", dtype_name(value.dtype),
                     dtype_name(self.dtype));
  }
  return index_fill_element(call, self, dim, index, element, out);
}

// ---------------------------------------------------------------------------------------------------------
// index_select

Result<Dims> selected_sizes(const Call& call, const Tensor& self, int64_t dim, const Tensor& index) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  if (index.rank() > 1 || (self.rank() == 0 && index.numel() != 1)) {
    return call.fail(Status::InvalidArgument, "index of sizes {} must be a vector, of one element if self is a scalar",
                     sizes_text(index.sizes()));
  }
  Dims sizes(self.sizes());
  if (self.rank() > 0) {
    sizes[d] = index.numel();
  }
  return sizes;
}

Status index_select_shape(Call& call, const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  ET_ASSIGN(const Dims sizes, selected_sizes(call, self, dim, index));
  return call.resize(out, sizes);
}

Status index_select(Call& call, const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_ASSIGN(const Dims sizes, selected_sizes(call, self, dim, index));
  ET_TRY(check_sizes(call, out, sizes));
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  ET_ASSIGN(const int64_t* places, checked_indices(call, index, sizes_1d(self)[d], d));
  if (self.rank() == 0) {
    return copy_view(call, view_of(self), view_of(out));
  }
  copy_slices(view_of(self), d, places, view_of(out));
  return Status::Ok;
}

constexpr uint32_t kIndex = kPure | kAnyLayout;

template <auto F>
constexpr Op update_op(std::string_view name, std::string_view schema) {
  return {name, schema, bind<SizesOfSelf<F>::shape>, bind<F>, kIndex};
}

constexpr Op kOps[] = {
    {"aten::gather.out",
     "(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) out) -> Tensor(a!)",
     bind<gather_shape>, bind<gather>, kIndex},
    {"aten::take_along_dim.out", "(Tensor self, Tensor indices, int? dim=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<take_along_shape>, bind<take_along>, kIndex},
    {"aten::index_select.out", "(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!)",
     bind<index_select_shape>, bind<index_select>, kIndex},
    update_op<scatter_src>("aten::scatter.src_out",
                           "(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> Tensor(a!)"),
    update_op<scatter_value>("aten::scatter.value_out",
                             "(Tensor self, int dim, Tensor index, Scalar value, *, Tensor(a!) out) -> Tensor(a!)"),
    update_op<scatter_src_reduce>(
        "aten::scatter.reduce_out",
        "(Tensor self, int dim, Tensor index, Tensor src, *, str reduce, Tensor(a!) out) -> Tensor(a!)"),
    update_op<scatter_value_reduce>(
        "aten::scatter.value_reduce_out",
        "(Tensor self, int dim, Tensor index, Scalar value, *, str reduce, Tensor(a!) out) -> Tensor(a!)"),
    update_op<scatter_add>("aten::scatter_add.out",
                           "(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> Tensor(a!)"),
    update_op<scatter_reduce>("aten::scatter_reduce.two_out",
                              "(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
                              "include_self=True, Tensor(a!) out) -> Tensor(a!)"),
    update_op<index_add>(
        "aten::index_add.out",
        "(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"),
    update_op<index_copy>("aten::index_copy.out",
                          "(Tensor self, int dim, Tensor index, Tensor source, *, Tensor(a!) out) -> Tensor(a!)"),
    update_op<index_reduce>("aten::index_reduce.out",
                            "(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
                            "include_self=True, Tensor(a!) out) -> Tensor(a!)"),
    update_op<index_fill_number>("aten::index_fill.int_Scalar_out",
                                 "(Tensor self, int dim, Tensor index, Scalar value, *, Tensor(a!) out) -> Tensor(a!)"),
    update_op<index_fill_tensor>("aten::index_fill.int_Tensor_out",
                                 "(Tensor self, int dim, Tensor index, Tensor value, *, Tensor(a!) out) -> Tensor(a!)"),
};

}  // namespace

Table scatter_ops() { return kOps; }

}  // namespace etrt::ops
