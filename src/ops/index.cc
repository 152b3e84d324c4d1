// Indexing by several tensors (index, index_put) and by positions in the flattened tensor (take, put).
#include <algorithm>
#include <array>

#include "core/checked.h"
#include "core/thread_pool.h"
#include "ops/index_walk.h"
#include "ops/rows.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// ---------------------------------------------------------------------------------------------------------
// index and index_put. Integer tensors and masks in `indices` address some dimensions of self; together they
// broadcast to one block of dimensions in the result. Addressed elements are found once, as offsets into self;
// the other dimensions are copied as slices.

// One tensor of `indices`.
struct Item {
  const Tensor* tensor = nullptr;
  int dim = 0;   // the first dimension of self that it addresses
  int dims = 1;  // how many: a mask addresses as many as it has
  Dims sizes;    // of the integer index that it stands for: [number of true elements] for a mask
};

struct Plan {
  std::array<Item, kMaxRank> items;
  int item_count = 0;
  View rest;   // the dimensions of self that aren't addressed
  int at = 0;  // where the block stands among them in the result
  Dims block;  // its sizes
  int64_t block_size = 1;
  const int64_t* offsets = nullptr;  // of its elements in self, in row-major order
  Dims sizes;                        // of the result
};

bool is_mask(const Tensor& t) { return is_bool(t.dtype) || t.dtype == DType::UInt8; }

// Finds the items and the dimensions between them.
Status parse_indices(const Call& call, const Tensor& self, OptionalTensorList indices, Plan& plan) {
  plan.rest = view_of(self);
  int dim = 0;
  int addressed = 0;  // dimensions dropped from `rest`
  bool adjacent = true;
  bool gap = false;  // an absent index since the last item
  for (const Tensor* t : indices.items) {
    const int dims = t != nullptr && is_mask(*t) ? t->rank() : 1;
    if (dims == 0 || dim + dims > self.rank()) {
      return call.fail(Status::InvalidArgument,
                       "indices address more dimensions than the {} of self, or hold a mask without dimensions",
                       self.rank());
    }
    if (t == nullptr) {
      gap = true;
      ++dim;
      continue;
    }
    if (plan.item_count == 0) {
      plan.at = dim;
    } else if (gap) {
      adjacent = false;
    }
    gap = false;
    if (!is_mask(*t) && t->dtype != DType::Int64 && t->dtype != DType::Int32) {
      return call.fail(Status::InvalidType, "{} has dtype {}, expected int64, int32, bool or uint8", call.arg_name(*t),
                       dtype_name(t->dtype));
    }
    for (int i = 0; is_mask(*t) && i < dims; ++i) {
      if (t->size(i) != self.size(dim + i)) {
        return call.fail(Status::InvalidArgument, "{} is a mask of sizes {}, which doesn't match self of sizes {}",
                         call.arg_name(*t), sizes_text(t->sizes()), sizes_text(self.sizes()));
      }
    }
    plan.items[static_cast<size_t>(plan.item_count++)] = {t, dim, dims, Dims(t->sizes())};
    for (int i = 0; i < dims; ++i) {
      drop_dim(plan.rest, dim - addressed);
    }
    addressed += dims;
    dim += dims;
  }
  if (!adjacent) {
    plan.at = 0;
  }
  return Status::Ok;
}

// Calls body(offset) for the true elements of a mask, in row-major order, until it returns false; `strides` are
// those of the masked dimensions.
template <class Body>
void for_each_true(const Tensor& mask, std::span<const int64_t> strides, const Body& body) {
  if (mask.numel() == 0) {
    return;
  }
  const auto* flags = mask.as<uint8_t>();
  const int inner = mask.rank() - 1;
  std::array<int64_t, kMaxRank> at{};
  int64_t offset = 0;
  int64_t from = 0;
  while (true) {
    for (int64_t i = 0; i < mask.size(inner); ++i) {
      if (flags[from + i * mask.stride(inner)] != 0 && !body(offset + i * strides[static_cast<size_t>(inner)])) {
        return;
      }
    }
    int d = inner - 1;
    for (; d >= 0; --d) {
      int64_t& i = at[static_cast<size_t>(d)];
      offset += strides[static_cast<size_t>(d)];
      from += mask.stride(d);
      if (++i < mask.size(d)) {
        break;
      }
      offset -= i * strides[static_cast<size_t>(d)];
      from -= i * mask.stride(d);
      i = 0;
    }
    if (d < 0) {
      return;
    }
  }
}

// Offsets of one item alone, one for each element of item.sizes.
Result<const int64_t*> item_offsets(Call& call, const Tensor& self, const Item& item) {
  const Tensor& t = *item.tensor;
  if (!is_mask(t)) {
    ET_ASSIGN(const int64_t* places, checked_indices(call, t, self.size(item.dim), item.dim, true));
    auto* offsets = const_cast<int64_t*>(places);
    const int64_t stride = self.stride(item.dim);
    for (int64_t i = 0; i < t.numel(); ++i) {
      offsets[i] *= stride;
    }
    return places;
  }
  const int64_t count = item.sizes[0];
  auto* offsets = call.scratch<int64_t>(count);
  int64_t found = 0;
  for_each_true(t, self.strides().subspan(static_cast<size_t>(item.dim)), [&](int64_t offset) {
    offsets[found++] = offset;
    return found < count;
  });
  std::fill(offsets + found, offsets + count, 0);  // nothing, unless the mask's memory changes under us
  return offsets;
}

// Sums what the items add to the offset of every element of the block.
Status find_offsets(Call& call, const Tensor& self, Plan& plan) {
  if (plan.item_count == 1) {
    ET_ASSIGN(plan.offsets, item_offsets(call, self, plan.items[0]));
    return Status::Ok;
  }
  auto* sum = call.scratch<int64_t>(plan.block_size);
  std::fill_n(sum, plan.block_size, 0);
  const View target = row_major_view(sum, DType::Int64, plan.block);
  const CombineRun add = combine_run(Combine::Add, DType::Int64);
  for (int i = 0; i < plan.item_count; ++i) {
    const Item& item = plan.items[static_cast<size_t>(i)];
    ET_ASSIGN(const int64_t* offsets, item_offsets(call, self, item));
    const View part = row_major_view(const_cast<int64_t*>(offsets), DType::Int64, item.sizes);
    combine_views(add, broadcast_to(part, plan.block), target);
  }
  plan.offsets = sum;
  return Status::Ok;
}

// Everything but the offsets.
Status plan_sizes(Call& call, const Tensor& self, OptionalTensorList indices, Plan& plan) {
  ET_TRY(parse_indices(call, self, indices, plan));
  for (int i = 0; i < plan.item_count; ++i) {
    Item& item = plan.items[static_cast<size_t>(i)];
    if (is_mask(*item.tensor)) {
      int64_t count = 0;
      for_each_true(*item.tensor, item.tensor->strides(), [&count](int64_t) { return ++count > 0; });
      item.sizes = Dims(std::array{count});
    }
    ET_ASSIGN(plan.block, broadcast_sizes(call, plan.block, item.sizes));
  }
  ET_ASSIGN(plan.block_size, checked_numel(plan.block));
  plan.sizes = plan.rest.sizes;
  for (int i = 0; i < plan.block.size(); ++i) {
    plan.sizes.insert(plan.at + i, plan.block[i]);
  }
  if (plan.sizes.size() > kMaxRank) {
    return call.fail(Status::InvalidArgument, "the result would have {} dimensions, more than {}", plan.sizes.size(),
                     kMaxRank);
  }
  return Status::Ok;
}

// A loop over elements that lie `moving` apart in self and `plain` apart on the other side.
struct Step {
  int64_t size = 1;
  int64_t moving = 0;
  int64_t plain = 0;
};

// How the block and the slices are walked: for each outer index, for each element of the block, a run.
struct Walk {
  std::array<Step, kMaxRank> outer;
  int outer_count = 0;
  int64_t outer_size = 1;
  bool has_run = false;
  Step run;
  const int64_t* plain_offsets = nullptr;
};

// `plain` has the sizes of the plan's result.
Walk make_walk(Call& call, const Plan& plan, const View& plain) {
  Walk w;
  const int block_rank = plan.block.size();
  for (int d = 0; d < plan.rest.rank(); ++d) {
    const Step step{plan.rest.sizes[d], plan.rest.strides[d], plain.strides[d < plan.at ? d : d + block_rank]};
    if (d > plan.at) {
      // Two dimensions after the block that walk as one.
      Step& last = w.outer[static_cast<size_t>(w.outer_count - 1)];
      if (last.moving == step.moving * step.size && last.plain == step.plain * step.size) {
        last = {last.size * step.size, step.moving, step.plain};
        continue;
      }
    }
    w.outer[static_cast<size_t>(w.outer_count++)] = step;
  }
  if (plan.rest.rank() > plan.at) {
    w.has_run = true;
    w.run = w.outer[static_cast<size_t>(--w.outer_count)];
  }
  for (int i = 0; i < w.outer_count; ++i) {
    w.outer_size *= w.outer[static_cast<size_t>(i)].size;
  }
  auto* offsets = call.scratch<int64_t>(plan.block_size);
  for (int64_t i = 0; i < plan.block_size; ++i) {
    int64_t rest = i;
    offsets[i] = 0;
    for (int d = block_rank - 1; d >= 0; --d) {
      offsets[i] += rest % plan.block[d] * plain.strides[plan.at + d];
      rest /= plan.block[d];
    }
  }
  w.plain_offsets = offsets;
  return w;
}

// Runs body(moving_base, plain_base, first, last) for stretches of the block; bases in elements.
template <class Body>
void for_each_stretch(const Plan& plan, const Walk& w, int64_t begin, int64_t end, const Body& body) {
  while (begin < end) {
    int64_t rest = begin / plan.block_size;
    int64_t moving = 0;
    int64_t plain = 0;
    for (int i = w.outer_count - 1; i >= 0; --i) {
      const Step& step = w.outer[static_cast<size_t>(i)];
      moving += rest % step.size * step.moving;
      plain += rest % step.size * step.plain;
      rest /= step.size;
    }
    const int64_t first = begin % plan.block_size;
    const int64_t last = std::min(plan.block_size, first + end - begin);
    body(moving, plain, first, last);
    begin += last - first;
  }
}

// result = elements of self.
void fetch(Call& call, const Plan& plan, const View& result) {
  const Walk w = make_walk(call, plan, result);
  const size_t size = dtype_size(result.dtype);
  const auto bytes = static_cast<int64_t>(size);
  const auto* from = static_cast<const std::byte*>(plan.rest.data);
  auto* to = static_cast<std::byte*>(result.data);
  const auto copy = [&](int64_t begin, int64_t end) {
    for_each_stretch(plan, w, begin, end, [&](int64_t moving, int64_t plain, int64_t first, int64_t last) {
      if (!w.has_run) {
        copy_at(size, from + moving * bytes, plan.offsets + first, to + plain * bytes, w.plain_offsets + first,
                last - first);
        return;
      }
      for (int64_t i = first; i < last; ++i) {
        copy_run(size, from + (moving + plan.offsets[i]) * bytes, w.run.moving,
                 to + (plain + w.plain_offsets[i]) * bytes, w.run.plain, w.run.size);
      }
    });
  };
  const int64_t units = w.outer_size * plan.block_size;
  constexpr int64_t kGrainBytes = int64_t{1} << 17;
  const int64_t grain = std::max<int64_t>(kGrainBytes / (w.run.size * bytes), 64);
  if (units <= grain) {
    copy(0, units);
  } else {
    parallel_for(units, grain, copy);
  }
}

// Elements of `target` = values, or += values; in order, since places may repeat.
void put(Call& call, const Plan& plan, const View& values, void* target, CombineRun add_run, CombineAt add_at) {
  const Walk w = make_walk(call, plan, values);
  const size_t size = dtype_size(values.dtype);
  const auto bytes = static_cast<int64_t>(size);
  const auto* from = static_cast<const std::byte*>(values.data);
  auto* to = static_cast<std::byte*>(target);
  for_each_stretch(plan, w, 0, w.outer_size * plan.block_size,
                   [&](int64_t moving, int64_t plain, int64_t first, int64_t last) {
                     const std::byte* source = from + plain * bytes;
                     std::byte* place = to + moving * bytes;
                     if (!w.has_run && add_at != nullptr) {
                       add_at(source, w.plain_offsets + first, place, plan.offsets + first, last - first);
                     } else if (!w.has_run) {
                       copy_at(size, source, w.plain_offsets + first, place, plan.offsets + first, last - first);
                     } else {
                       for (int64_t i = first; i < last; ++i) {
                         const std::byte* s = source + w.plain_offsets[i] * bytes;
                         std::byte* t = place + plan.offsets[i] * bytes;
                         if (add_run != nullptr) {
                           add_run(s, w.run.plain, t, w.run.moving, w.run.size);
                         } else {
                           copy_run(size, s, w.run.plain, t, w.run.moving, w.run.size);
                         }
                       }
                     }
                   });
}

// Masks make the sizes depend on data, so the kernel sizes its output.
Status index(Call& call, const Tensor& self, OptionalTensorList indices, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  for (const Tensor* t : indices.items) {
    if (t == &out || &self == &out) {
      return call.fail(Status::InvalidArgument, "out is an input too");
    }
  }
  Plan plan;
  ET_TRY(plan_sizes(call, self, indices, plan));
  ET_TRY(call.resize(out, plan.sizes));
  if (out.numel() == 0) {
    return Status::Ok;
  }
  plan.rest.data = self.data;
  ET_TRY(find_offsets(call, self, plan));
  fetch(call, plan, view_of(out));
  return Status::Ok;
}

// The exporter's index_add computes values of a wider dtype than self has.
Result<Tensor> converted_values(Call& call, const Tensor& values, const Tensor& self) {
  if (values.dtype == self.dtype || !can_cast(values.dtype, self.dtype)) {
    ET_TRY(check_same_dtype(call, values, self));
    return values;
  }
  return as_rows(call, values, self.dtype);
}

Status index_put_in_place(Call& call, Tensor& self, OptionalTensorList indices, const Tensor& given, bool accumulate) {
  ET_ASSIGN(const Tensor values, converted_values(call, given, self));
  Plan plan;
  ET_TRY(plan_sizes(call, self, indices, plan));
  bool fits = values.rank() <= plan.sizes.size();
  for (int i = 1; fits && i <= values.rank(); ++i) {
    const int64_t size = values.size(values.rank() - i);
    fits = size == 1 || size == plan.sizes[plan.sizes.size() - i];
  }
  if (!fits) {
    return call.fail(Status::InvalidArgument, "values of sizes {} don't broadcast to the indexed sizes {}",
                     sizes_text(values.sizes()), sizes_text(plan.sizes));
  }
  CombineRun add_run = nullptr;
  CombineAt add_at = nullptr;
  if (accumulate) {
    add_run = combine_run(Combine::Add, self.dtype);
    add_at = combine_at(Combine::Add, self.dtype);
    if (add_run == nullptr) {
      return call.fail(Status::InvalidType, "self has dtype {}, which has no arithmetic", dtype_name(self.dtype));
    }
  }
  const View wide = broadcast_to(view_of(values), plan.sizes);
  if (wide.empty()) {
    return Status::Ok;
  }
  ET_TRY(find_offsets(call, self, plan));
  put(call, plan, wide, self.data, add_run, add_at);
  return Status::Ok;
}

Status index_put(Call& call, const Tensor& self, OptionalTensorList indices, const Tensor& values, bool accumulate,
                 Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_sizes(call, out, self.sizes()));
  if (out.data != self.data || !out.same_layout(self)) {
    ET_TRY(copy_view(call, view_of(self), view_of(out)));
  }
  return index_put_in_place(call, out, indices, values, accumulate);
}

Status index_put_shape(Call& call, const Tensor& self, OptionalTensorList, const Tensor&, bool, Tensor& out) {
  return call.resize(out, self.sizes());
}

Status index_put_impl(Call& call, const Tensor& self, OptionalTensorList indices, const Tensor& values, bool accumulate,
                      bool /*unsafe*/, Tensor& out) {
  return index_put(call, self, indices, values, accumulate, out);
}

Status index_put_impl_shape(Call& call, const Tensor& self, OptionalTensorList, const Tensor&, bool, bool,
                            Tensor& out) {
  return call.resize(out, self.sizes());
}

// ---------------------------------------------------------------------------------------------------------
// take and put: positions in self flattened in row-major order.

Status take_shape(Call& call, const Tensor& /*self*/, const Tensor& index, Tensor& out) {
  return call.resize(out, index.sizes());
}

Status take(Call& call, const Tensor& self, const Tensor& index, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_sizes(call, out, index.sizes()));
  ET_ASSIGN(const int64_t* places, checked_indices(call, index, self.numel(), 0, true));
  const std::byte* from = row_major_data(call, self);
  const Tensor flat = is_row_major(out) ? out : call.scratch_tensor(out.dtype, out.sizes());
  copy_at(out.element_size(), from, places, flat.data, nullptr, out.numel());
  return flat.data == out.data ? Status::Ok : copy_view(call, view_of(flat), view_of(out));
}

Status put_shape(Call& call, const Tensor& self, const Tensor&, const Tensor&, bool, Tensor& out) {
  return call.resize(out, self.sizes());
}

Status put_flat(Call& call, const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate,
                Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_same_dtype(call, source, self));
  ET_TRY(check_sizes(call, out, self.sizes()));
  if (source.numel() != index.numel()) {
    return call.fail(Status::InvalidArgument, "source has {} elements, expected {} as index", source.numel(),
                     index.numel());
  }
  const CombineAt add = accumulate ? combine_at(Combine::Add, out.dtype) : nullptr;
  if (accumulate && add == nullptr) {
    return call.fail(Status::InvalidType, "self has dtype {}, which has no arithmetic", dtype_name(self.dtype));
  }
  ET_ASSIGN(const int64_t* places, checked_indices(call, index, self.numel(), 0, true));
  const std::byte* from = row_major_data(call, source);
  const Tensor flat = is_row_major(out) ? out : call.scratch_tensor(out.dtype, out.sizes());
  ET_TRY(copy_view(call, view_of(self), view_of(flat)));
  if (add == nullptr) {
    copy_at(out.element_size(), from, nullptr, flat.data, places, index.numel());
  } else {
    auto* order = call.scratch<int64_t>(index.numel());
    for (int64_t i = 0; i < index.numel(); ++i) {
      order[i] = i;
    }
    add(from, order, flat.data, places, index.numel());
  }
  return flat.data == out.data ? Status::Ok : copy_view(call, view_of(flat), view_of(out));
}

constexpr uint32_t kIndex = kPure | kAnyLayout;

constexpr Op kOps[] = {
    {"aten::index.Tensor_out", "(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)", nullptr,
     bind<index>, kIndex},
    {"aten::index_put.out",
     "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<index_put_shape>, bind<index_put>, kIndex},
    {"aten::_index_put_impl.out",
     "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<index_put_impl_shape>, bind<index_put_impl>, kIndex},
    {"aten::index_put_", "(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)",
     nullptr, bind<index_put_in_place>, kAnyLayout},
    {"aten::take.out", "(Tensor self, Tensor index, *, Tensor(a!) out) -> Tensor(a!)", bind<take_shape>, bind<take>,
     kIndex},
    {"aten::put.out",
     "(Tensor self, Tensor index, Tensor source, bool accumulate=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<put_shape>, bind<put_flat>, kIndex},
};

}  // namespace

Table index_ops() { return kOps; }

}  // namespace etrt::ops
