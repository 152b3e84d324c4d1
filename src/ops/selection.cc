// Elements picked by rank. Which of equal elements is picked follows eager, whose algorithms (partial sort,
// selection by partition) leave equal elements in an order of their own; the same algorithms are used here.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/dims.h"
#include "ops/lines.h"
#include "ops/order.h"
#include "ops/reduce.h"
#include "ops/rows.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// Brings `k` elements of a line to the front: those to be picked.
using Choose = FunctionRef<void(Ranked* line, int64_t n)>;

// Writes the picked elements of every line and their places. The outputs have self's rank and k elements along `dim`.
Status pick(Call& call, const Tensor& self, int dim, int64_t k, const Tensor& values, const Tensor& indices,
            Choose choose) {
  if (!is_real(self.dtype)) {
    return refuse_dtype(call, self);
  }
  Dims sizes(self.sizes());
  int64_t n = 1;
  if (self.rank() > 0) {
    n = sizes[dim];
    sizes[dim] = k;
  }
  ET_TRY(check_sizes(call, values, sizes));
  ET_TRY(check_sizes(call, indices, sizes));
  if (k > n) {
    return call.fail(Status::InvalidArgument, "cannot pick {} of the {} elements of dimension {}", k, n, dim);
  }
  ET_ASSIGN(const Lines lines, Lines::along(call, dim, {&self, &values, &indices}));
  const Writer<int64_t> to_indices(indices);
  return with_real_type(self.dtype, [&]<class C>() {
    const Reader<C> reader(self.dtype);
    const Writer<C> to_values(values);
    if (!to_values.ok() || !to_indices.ok()) {
      return refuse_dtype(call, to_values.ok() ? indices : values);
    }
    const int64_t line_bytes = tile_bytes<C>(lines, n);
    const int64_t index_bytes = tile_bytes<int64_t>(lines, k);
    const int64_t picked_bytes = tile_bytes<C>(lines, k);
    const int64_t ranked_bytes = (n * static_cast<int64_t>(sizeof(Ranked)) + 63) / 64 * 64;
    const int64_t buffer_bytes = line_bytes + index_bytes + picked_bytes + ranked_bytes;
    for_each_tile(call, lines, buffer_bytes, [&](const Lines::Tile& tile, std::byte* buffer) {
      C* const x = reinterpret_cast<C*>(buffer);
      int64_t* const where = reinterpret_cast<int64_t*>(buffer + line_bytes);
      C* const picked = reinterpret_cast<C*>(buffer + line_bytes + index_bytes);
      Ranked* const ranked = reinterpret_cast<Ranked*>(buffer + line_bytes + index_bytes + picked_bytes);
      const int64_t lanes = tile.lanes;
      lines.load(tile, 0, reader, self.bytes(), n, x);
      for (int64_t j = 0; j < lanes; ++j) {
        rank_elements(x + j, lanes, n, self.dtype, ranked);
        choose(ranked, n);
        for (int64_t i = 0; i < k; ++i) {
          where[i * lanes + j] = ranked[i].index;
          picked[i * lanes + j] = x[ranked[i].index * lanes + j];
        }
      }
      lines.store(tile, 1, to_values, k, picked);
      lines.store(tile, 2, to_indices, k, where);
    });
    return Status::Ok;
  });
}

// ---- topk ----

// Brings the k first elements in the order of `before` to the front; sorts them if asked.
template <class Before>
void select_first(Ranked* x, int64_t n, int64_t k, bool sorted, Before before) {
  if (k == 0) {
    return;
  }
  if (k <= n / 64) {
    std::partial_sort(x, x + k, x + n, before);
    return;
  }
  std::nth_element(x, x + k - 1, x + n, before);
  if (sorted) {
    std::sort(x, x + k - 1, before);
  }
}

Status shape_topk(Call& call, const Tensor& self, int64_t k, int64_t dim, bool /*largest*/, bool /*sorted*/,
                  Tensor& values, Tensor& indices) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  const int64_t n = self.rank() == 0 ? 1 : self.size(d);
  if (k < 0 || k > n) {
    return call.fail(Status::InvalidArgument, "k is {}, but dimension {} has {} elements", k, d, n);
  }
  Dims sizes(self.sizes());
  if (self.rank() > 0) {
    sizes[d] = k;
  }
  ET_TRY(call.resize(values, sizes));
  return call.resize(indices, sizes);
}
Status topk(Call& call, const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted, Tensor& values,
            Tensor& indices) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  k = self.rank() == 0 ? 1 : k;  // eager gives a tensor without dimensions back whatever k is
  return pick(call, self, d, k, values, indices, [&](Ranked* line, int64_t n) {
    if (largest) {
      select_first(line, n, k, sorted, key_above);
    } else {
      select_first(line, n, k, sorted, key_below);
    }
  });
}

// ---- One element a line: kthvalue, median, mode ----

// `t` with a dimension of size 1 put in at `dim`, where a reduction dropped it.
Tensor with_dim(const Tensor& t, int dim, bool keepdim, int rank) {
  if (keepdim || rank == 0) {
    return t;
  }
  Tensor view = t;
  Dims sizes(t.sizes());
  Dims strides(t.strides());
  sizes.insert(dim, 1);
  strides.insert(dim, 0);
  view.rank_ = static_cast<uint8_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), view.sizes_.begin());
  std::copy(strides.begin(), strides.end(), view.strides_.begin());
  return view;
}

Status shape_one(Call& call, const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  return resize_reduced(call, self, 1U << d, keepdim, {&values, &indices});
}

Status pick_one(Call& call, const Tensor& self, int64_t dim, bool keepdim, const Tensor& values, const Tensor& indices,
                Choose choose) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  ET_TRY(check_not_empty(call, self, 1U << d));
  const Dims sizes = reduced_sizes(self, 1U << d, keepdim);
  ET_TRY(check_sizes(call, values, sizes));
  ET_TRY(check_sizes(call, indices, sizes));
  return pick(call, self, d, 1, with_dim(values, d, keepdim, self.rank()), with_dim(indices, d, keepdim, self.rank()),
              choose);
}

// Hoare's selection with the middle one of three as the pivot: x[k] becomes the element that a sort would put there.
void quick_select(Ranked* x, int64_t n, int64_t k) {
  int64_t left = 0;
  int64_t right = n - 1;
  const auto order = [x](int64_t low, int64_t high) {
    if (x[low].key > x[high].key) {
      std::swap(x[low], x[high]);
    }
  };
  while (right > left + 1) {
    std::swap(x[left + (right - left) / 2], x[left + 1]);
    // Now x[left + 1] ≤ x[left] ≤ x[right]: the pivot at the left, and a stop for each scan.
    order(left + 1, right);
    order(left, right);
    order(left + 1, left);
    const uint64_t pivot = x[left].key;
    int64_t low = left + 1;
    int64_t high = right;
    while (true) {
      do {
        ++low;
      } while (x[low].key < pivot);
      do {
        --high;
      } while (x[high].key > pivot);
      if (high < low) {
        break;
      }
      std::swap(x[low], x[high]);
    }
    std::swap(x[left], x[high]);
    if (high >= k) {
      right = high - 1;
    }
    if (high <= k) {
      left = low;
    }
  }
  if (right == left + 1) {
    order(left, right);
  }
}

Status shape_kthvalue(Call& call, const Tensor& self, int64_t k, int64_t dim, bool keepdim, Tensor& values,
                      Tensor& indices) {
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  const int64_t n = self.rank() == 0 ? 1 : self.size(d);
  if (k < 1 || k > n) {
    return call.fail(Status::InvalidArgument, "k is {}, but dimension {} has {} elements", k, d, n);
  }
  return resize_reduced(call, self, 1U << d, keepdim, {&values, &indices});
}
Status kthvalue(Call& call, const Tensor& self, int64_t k, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  ET_TRY(shape_kthvalue(call, self, k, dim, keepdim, values, indices));
  return pick_one(call, self, dim, keepdim, values, indices, [k](Ranked* line, int64_t n) {
    const int64_t at = std::min(k, n) - 1;
    quick_select(line, n, at);
    line[0] = line[at];
  });
}

// The lower of the two middle elements in the order of a stable sort, or the first NaN; nanmedian leaves NaNs out
// unless there is nothing else.
void choose_median(Ranked* line, int64_t n, bool skip_nan) {
  const auto is_nan = [](const Ranked& x) { return x.key == kNanKey; };
  int64_t count = n;
  if (skip_nan) {
    count -= std::count_if(line, line + n, is_nan);
  } else if (Ranked* const nan = std::find_if(line, line + n, is_nan); nan != line + n) {
    line[0] = *nan;
    return;
  }
  const int64_t middle = count == 0 ? 0 : (count - 1) / 2;
  std::nth_element(line, line + middle, line + n, ranks_before);
  line[0] = line[middle];
}

template <bool kSkipNan>
Status median_dim(Call& call, const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  // The greatest int64 has the key of a NaN.
  if (!is_float(self.dtype)) {
    return pick_one(call, self, dim, keepdim, values, indices, [](Ranked* line, int64_t n) {
      std::nth_element(line, line + (n - 1) / 2, line + n, ranks_before);
      line[0] = line[(n - 1) / 2];
    });
  }
  return pick_one(call, self, dim, keepdim, values, indices,
                  [](Ranked* line, int64_t n) { choose_median(line, n, kSkipNan); });
}

Status shape_median(Call& call, const Tensor& /*self*/, Tensor& out) { return call.resize(out, {}); }
template <bool kSkipNan>
Status median(Call& call, const Tensor& self, Tensor& out) {
  ET_TRY(check_sizes(call, out, {}));
  ET_TRY(check_memory(call, out));
  if (self.numel() == 0) {
    const Writer<double> writer(out);
    if (!writer.ok()) {
      return refuse_dtype(call, out);
    }
    writer.put(0, std::numeric_limits<double>::quiet_NaN());
    return Status::Ok;
  }
  ET_ASSIGN(const Tensor rows, as_rows(call, self, self.dtype));
  const int64_t flat_sizes[] = {self.numel()};
  const Tensor flat = Tensor::view(rows.data, self.dtype, flat_sizes);
  Tensor index = call.scratch_tensor(DType::Int64, {});
  return median_dim<kSkipNan>(call, flat, 0, false, out, index);
}

Status shape_mode(Call& call, const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  return shape_one(call, self, dim, keepdim, values, indices);
}
// The least of the most frequent values, at the last place of its run in sorted order. NaNs differ from each other.
Status mode(Call& call, const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  const bool floating = is_float(self.dtype);
  return pick_one(call, self, dim, keepdim, values, indices, [floating](Ranked* line, int64_t n) {
    std::sort(line, line + n, key_below);
    int64_t most = 0;
    int64_t run = 0;
    int64_t best = 0;
    for (int64_t i = 0; i < n; ++i) {
      ++run;
      const bool ends = i + 1 == n || line[i + 1].key != line[i].key || (floating && line[i].key == kNanKey);
      if (ends) {
        if (run > most) {
          most = run;
          best = i;
        }
        run = 0;
      }
    }
    line[0] = line[best];
  });
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

const Op kTable[] = {
    {"aten::topk.values",
     "(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor(a!) values, Tensor(b!) "
     "indices) -> (Tensor(a!) values, Tensor(b!) indices)",
     bind<shape_topk>, bind<topk>, kFacts},
    {"aten::kthvalue.values",
     "(Tensor self, SymInt k, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) "
     "values, Tensor(b!) indices)",
     bind<shape_kthvalue>, bind<kthvalue>, kFacts},
    {"aten::median.dim_values",
     "(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, "
     "Tensor(b!) indices)",
     bind<shape_one>, bind<median_dim<false>>, kFacts},
    {"aten::median.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_median>, bind<median<false>>,
     kFacts},
    {"aten::nanmedian.dim_values",
     "(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, "
     "Tensor(b!) indices)",
     bind<shape_one>, bind<median_dim<true>>, kFacts},
    {"aten::nanmedian.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_median>, bind<median<true>>,
     kFacts},
    {"aten::mode.values",
     "(Tensor self, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, "
     "Tensor(b!) indices)",
     bind<shape_mode>, bind<mode>, kFacts},
};

}  // namespace

Table selection_ops() { return kTable; }

}  // namespace etrt::ops
