#include <algorithm>

#include "ops/dims.h"
#include "ops/elementwise.h"
#include "ops/lines.h"
#include "ops/order.h"
#include "ops/reduce.h"
#include "ops/rows.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// ---- sort, argsort, msort ----

// Where a stable order isn't asked for, equal elements come in the order in which std::sort leaves them, as eager's do.
void sort_ranked(Ranked* x, int64_t n, bool stable, bool descending) {
  if (stable && descending) {
    std::sort(x, x + n, ranks_above);
  } else if (stable) {
    std::sort(x, x + n, ranks_before);
  } else if (descending) {
    std::sort(x, x + n, key_above);
  } else {
    std::sort(x, x + n, key_below);
  }
}

// `values` and `indices` may be null.
Status sort_lines(Call& call, const Tensor& self, int64_t dim, bool stable, bool descending, Tensor* values,
                  Tensor* indices) {
  if (!is_real(self.dtype)) {
    return refuse_dtype(call, self);
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  for (const Tensor* out : {values, indices}) {
    if (out != nullptr) {
      ET_TRY(check_sizes(call, *out, self.sizes()));
    }
  }
  // A missing output is stood for by the input, which nothing is written to.
  const Tensor& values_or_self = values != nullptr ? *values : self;
  const Tensor& indices_or_self = indices != nullptr ? *indices : self;
  ET_ASSIGN(const Lines lines, Lines::along(call, d, {&self, &values_or_self, &indices_or_self}));
  return with_real_type(self.dtype, [&]<class C>() {
    const Reader<C> reader(self.dtype);
    const Writer<C> to_values(values_or_self);
    const Writer<int64_t> to_indices(indices_or_self);
    if (!to_values.ok() || !to_indices.ok()) {
      return refuse_dtype(call, to_values.ok() ? indices_or_self : values_or_self);
    }
    const int64_t n = lines.length();
    const int64_t line_bytes = tile_bytes<C>(lines, n);
    const int64_t index_bytes = tile_bytes<int64_t>(lines, n);
    const int64_t ranked_bytes = n * static_cast<int64_t>(sizeof(Ranked));
    for_each_tile(call, lines, 2 * line_bytes + index_bytes + (ranked_bytes + 63) / 64 * 64,
                  [&](const Lines::Tile& tile, std::byte* buffer) {
                    C* const x = reinterpret_cast<C*>(buffer);
                    C* const sorted = reinterpret_cast<C*>(buffer + line_bytes);
                    int64_t* const where = reinterpret_cast<int64_t*>(buffer + 2 * line_bytes);
                    Ranked* const ranked = reinterpret_cast<Ranked*>(buffer + 2 * line_bytes + index_bytes);
                    const int64_t lanes = tile.lanes;
                    lines.load(tile, 0, reader, self.bytes(), n, x);
                    for (int64_t j = 0; j < lanes; ++j) {
                      rank_elements(x + j, lanes, n, self.dtype, ranked);
                      sort_ranked(ranked, n, stable, descending);
                      for (int64_t i = 0; i < n; ++i) {
                        sorted[i * lanes + j] = x[ranked[i].index * lanes + j];
                        where[i * lanes + j] = ranked[i].index;
                      }
                    }
                    if (values != nullptr) {
                      lines.store(tile, 1, to_values, n, sorted);
                    }
                    if (indices != nullptr) {
                      lines.store(tile, 2, to_indices, n, where);
                    }
                  });
    return Status::Ok;
  });
}

Status shape_sort(Call& call, const Tensor& self, int64_t dim, bool /*descending*/, Tensor& values, Tensor& indices) {
  ET_TRY(wrap_dim(call, dim, self.rank()).status());
  ET_TRY(call.resize(values, self.sizes()));
  return call.resize(indices, self.sizes());
}
Status sort(Call& call, const Tensor& self, int64_t dim, bool descending, Tensor& values, Tensor& indices) {
  return sort_lines(call, self, dim, false, descending, &values, &indices);
}
Status shape_sort_stable(Call& call, const Tensor& self, std::optional<bool> /*stable*/, int64_t dim, bool descending,
                         Tensor& values, Tensor& indices) {
  return shape_sort(call, self, dim, descending, values, indices);
}
Status sort_stable(Call& call, const Tensor& self, std::optional<bool> stable, int64_t dim, bool descending,
                   Tensor& values, Tensor& indices) {
  return sort_lines(call, self, dim, stable.value_or(false), descending, &values, &indices);
}
Status shape_argsort(Call& call, const Tensor& self, bool /*stable*/, int64_t dim, bool /*descending*/, Tensor& out) {
  ET_TRY(wrap_dim(call, dim, self.rank()).status());
  return call.resize(out, self.sizes());
}
Status argsort(Call& call, const Tensor& self, bool stable, int64_t dim, bool descending, Tensor& out) {
  return sort_lines(call, self, dim, stable, descending, nullptr, &out);
}
Status shape_msort(Call& call, const Tensor& self, Tensor& out) { return call.resize(out, self.sizes()); }
Status msort(Call& call, const Tensor& self, Tensor& out) {
  return sort_lines(call, self, 0, false, false, &out, nullptr);
}

// ---- searchsorted, bucketize ----

// The place of `value` in a sorted row: before equal elements, or after them (`right`). Elements that compare
// to nothing (NaN) count as less.
template <class C>
int64_t place_in(const C* row, int64_t n, C value, bool right) {
  int64_t begin = 0;
  int64_t end = n;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    const bool after = right ? row[middle] > value : row[middle] >= value;
    if (after) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

// Brings every row into the order of `sorter`, whose elements are places in the row.
template <class C>
Result<Tensor> in_sorted_order(Call& call, const Tensor& rows, const Tensor& sorter) {
  if (sorter.dtype != DType::Int64) {
    return refuse_dtype(call, sorter);
  }
  ET_TRY(check_sizes(call, sorter, rows.sizes()));
  ET_ASSIGN(const Tensor places, as_rows(call, sorter, DType::Int64));
  Tensor sorted = call.scratch_tensor(rows.dtype, rows.sizes());
  const int64_t n = rows.size(rows.rank() - 1);
  for (int64_t i = 0; i < rows.numel(); ++i) {
    const int64_t place = places.as<int64_t>()[i];
    if (place < 0 || place >= n) {
      return call.fail(Status::InvalidArgument, "sorter has {}, which is out of range for rows of {}", place, n);
    }
    sorted.as<C>()[i] = rows.as<C>()[i / n * n + place];
  }
  return sorted;
}

struct Search {
  const Tensor& sequence;
  const Tensor& values;
  DType common;  // what they are compared as
  bool right;
  const Tensor* sorter;
};

// Rows belong together one to one, or all values search the only row.
Status check_search(const Call& call, const Tensor& sequence, std::span<const int64_t> value_sizes) {
  if (sequence.rank() == 0) {
    return call.fail(Status::InvalidArgument, "{} has no dimensions", call.arg_name(sequence));
  }
  const auto rows = sequence.sizes().first(static_cast<size_t>(sequence.rank()) - 1);
  if (!rows.empty() &&
      (value_sizes.size() != rows.size() + 1 || !std::equal(rows.begin(), rows.end(), value_sizes.begin()))) {
    return call.fail(Status::InvalidArgument, "{} has sizes {}, which do not match the values' {} but for the last",
                     call.arg_name(sequence), sizes_text(sequence.sizes()), sizes_text(value_sizes));
  }
  return Status::Ok;
}

Status search_rows(Call& call, const Search& a, Tensor& out) {
  ET_TRY(check_search(call, a.sequence, a.values.sizes()));
  if (!is_real(a.common)) {
    return refuse_dtype(call, a.sequence);
  }
  return with_real_type(a.common, [&]<class C>() -> Status {
    ET_ASSIGN(Tensor rows, as_rows(call, a.sequence, kNativeDType<C>));
    if (a.sorter != nullptr) {
      ET_ASSIGN(rows, in_sorted_order<C>(call, rows, *a.sorter));
    }
    ET_ASSIGN(Tensor values, as_rows(call, a.values, a.common));  // where a number may wrap
    ET_ASSIGN(values, as_rows(call, values, kNativeDType<C>));
    Tensor places = call.scratch_tensor(DType::Int64, values.sizes());
    const int64_t n = rows.size(rows.rank() - 1);
    const int64_t per_row = rows.rank() == 1 ? values.numel() : values.size(values.rank() - 1);
    parallel_for(values.numel(), kCheapGrain / 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        places.as<int64_t>()[i] = place_in(rows.as<C>() + i / per_row * n, n, values.as<C>()[i], a.right);
      }
    });
    return write_rows(call, places.sizes(), DType::Int64, places.data, out);
  });
}

// `side` says the same as `right` in words; they must agree.
Result<bool> right_of(const Call& call, bool right, std::optional<std::string_view> side) {
  if (!side.has_value()) {
    return right;
  }
  if ((*side != "left" && *side != "right") || (right && *side == "left")) {
    return call.fail(Status::InvalidArgument, "side is \"{}\" with right {}", *side, right);
  }
  return *side == "right";
}

Status shape_searchsorted(Call& call, const Tensor& sequence, const Tensor& self, bool /*out_int32*/, bool /*right*/,
                          std::optional<std::string_view> /*side*/, const Tensor* /*sorter*/, Tensor& out) {
  ET_TRY(check_search(call, sequence, self.sizes()));
  return call.resize(out, self.sizes());
}
Status searchsorted(Call& call, const Tensor& sequence, const Tensor& self, bool /*out_int32*/, bool right,
                    std::optional<std::string_view> side, const Tensor* sorter, Tensor& out) {
  ET_ASSIGN(const bool after, right_of(call, right, side));
  ET_ASSIGN(const DType common, result_type(call, sequence, self));
  return search_rows(call, {sequence, self, common, after, sorter}, out);
}
Status shape_searchsorted_scalar(Call& call, const Tensor& sequence, Scalar /*self*/, bool /*out_int32*/,
                                 bool /*right*/, std::optional<std::string_view> /*side*/, const Tensor* /*sorter*/,
                                 Tensor& out) {
  ET_TRY(check_search(call, sequence, {}));
  return call.resize(out, {});
}
Status searchsorted_scalar(Call& call, const Tensor& sequence, Scalar self, bool /*out_int32*/, bool right,
                           std::optional<std::string_view> side, const Tensor* sorter, Tensor& out) {
  ET_ASSIGN(const bool after, right_of(call, right, side));
  ET_ASSIGN(const DType common, result_type(call, sequence, self));
  const Tensor value = scalar_tensor(call, self);
  return search_rows(call, {sequence, value, common, after, sorter}, out);
}

Status check_boundaries(const Call& call, const Tensor& boundaries) {
  if (boundaries.rank() != 1) {
    return call.fail(Status::InvalidArgument, "boundaries has rank {}, expected 1", boundaries.rank());
  }
  return Status::Ok;
}
Status shape_bucketize(Call& call, const Tensor& self, const Tensor& boundaries, bool /*out_int32*/, bool /*right*/,
                       Tensor& out) {
  ET_TRY(check_boundaries(call, boundaries));
  return call.resize(out, self.sizes());
}
Status bucketize(Call& call, const Tensor& self, const Tensor& boundaries, bool /*out_int32*/, bool right,
                 Tensor& out) {
  ET_TRY(check_boundaries(call, boundaries));
  ET_ASSIGN(const DType common, result_type(call, boundaries, self));
  return search_rows(call, {boundaries, self, common, right, nullptr}, out);
}
Status shape_bucketize_scalar(Call& call, Scalar /*self*/, const Tensor& boundaries, bool /*out_int32*/, bool /*right*/,
                              Tensor& out) {
  ET_TRY(check_boundaries(call, boundaries));
  return call.resize(out, {});
}
Status bucketize_scalar(Call& call, Scalar self, const Tensor& boundaries, bool /*out_int32*/, bool right,
                        Tensor& out) {
  ET_TRY(check_boundaries(call, boundaries));
  ET_ASSIGN(const DType common, result_type(call, boundaries, self));
  const Tensor value = scalar_tensor(call, self);
  return search_rows(call, {boundaries, value, common, right, nullptr}, out);
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

const Op kTable[] = {
    {"aten::sort.values",
     "(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) "
     "values, Tensor(b!) indices)",
     bind<shape_sort>, bind<sort>, kFacts},
    {"aten::sort.values_stable",
     "(Tensor self, *, bool? stable, int dim=-1, bool descending=False, Tensor(a!) values, Tensor(b!) indices) -> "
     "(Tensor(a!) values, Tensor(b!) indices)",
     bind<shape_sort_stable>, bind<sort_stable>, kFacts},
    {"aten::argsort.stable_out",
     "(Tensor self, *, bool stable, int dim=-1, bool descending=False, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_argsort>, bind<argsort>, kFacts},
    {"aten::msort.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_msort>, bind<msort>, kFacts},
    {"aten::searchsorted.Tensor_out",
     "(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? "
     "sorter=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_searchsorted>, bind<searchsorted>, kFacts},
    {"aten::searchsorted.Scalar_out",
     "(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? "
     "sorter=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_searchsorted_scalar>, bind<searchsorted_scalar>, kFacts},
    {"aten::bucketize.Tensor_out",
     "(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_bucketize>, bind<bucketize>, kFacts},
    {"aten::bucketize.Scalar_out",
     "(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_bucketize_scalar>, bind<bucketize_scalar>, kFacts},
};

}  // namespace

Table sort_ops() { return kTable; }

}  // namespace etrt::ops
