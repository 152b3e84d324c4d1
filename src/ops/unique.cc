// Operators that count or sort out equal elements, or reduce stretches of them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "ops/dims.h"
#include "ops/element_io.h"
#include "ops/elementwise.h"
#include "ops/order.h"
#include "ops/reduce.h"
#include "ops/rows.h"
#include "ops/strided_copy.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// The keys of a row-major tensor's elements.
Result<Ranked*> rank_rows(Call& call, const Tensor& rows) {
  if (!is_real(rows.dtype)) {
    return refuse_dtype(call, rows);
  }
  const int64_t n = rows.numel();
  Ranked* const ranked = call.scratch<Ranked>(n);
  with_real_type(rows.dtype, [&]<class C>() {
    const Reader<C> reader(rows.dtype);
    C* const x = call.scratch<C>(n);
    reader.load(rows.bytes(), 1, n, x);
    rank_elements(x, 1, n, rows.dtype, ranked);
  });
  return ranked;
}

// ---- unique ----

// Items in an order that puts equal ones side by side, in groups of equal ones.
struct Groups {
  int64_t count = 0;
  int64_t* first;    // of each group: its first item
  int64_t* counts;   // of each group: how many items
  int64_t* inverse;  // of each item: its group
};

// `order` is a permutation of [0, n); same(a, b) tells whether two items are equal.
Groups group_runs(Call& call, const int64_t* order, int64_t n, FunctionRef<bool(int64_t, int64_t)> same) {
  Groups groups{0, call.scratch<int64_t>(n), call.scratch<int64_t>(n), call.scratch<int64_t>(n)};
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || !same(order[i - 1], order[i])) {
      groups.first[groups.count] = order[i];
      groups.counts[groups.count] = 0;
      ++groups.count;
    }
    ++groups.counts[groups.count - 1];
    groups.inverse[order[i]] = groups.count - 1;
  }
  return groups;
}

// The first item of every group, `item_bytes` each, one after the other.
std::byte* gather_first(Call& call, const Groups& groups, const std::byte* items, int64_t item_bytes) {
  std::byte* const packed = call.scratch<std::byte>(groups.count * item_bytes);
  for (int64_t g = 0; g < groups.count && item_bytes > 0; ++g) {
    std::memcpy(packed + g * item_bytes, items + groups.first[g] * item_bytes, static_cast<size_t>(item_bytes));
  }
  return packed;
}

Status write_none(Call& call, Tensor& out) {
  const int64_t none[] = {0};
  return call.resize(out, none);
}

// What a caller wants besides the values. Null: leave empty; `counts` may be missing altogether.
struct UniqueOutputs {
  Tensor& values;
  Tensor& inverse;
  Tensor* counts;
  bool want_inverse;
  bool want_counts;
};

Status write_groups(Call& call, const Groups& groups, std::span<const int64_t> inverse_sizes,
                    const UniqueOutputs& outputs) {
  ET_TRY(outputs.want_inverse ? write_rows(call, inverse_sizes, DType::Int64, groups.inverse, outputs.inverse)
                              : write_none(call, outputs.inverse));
  if (outputs.counts == nullptr) {
    return Status::Ok;
  }
  const int64_t sizes[] = {groups.count};
  return outputs.want_counts ? write_rows(call, sizes, DType::Int64, groups.counts, *outputs.counts)
                             : write_none(call, *outputs.counts);
}

// Of all elements in row-major order. Every NaN is different from every other.
Status unique_flat(Call& call, const Tensor& self, bool sort, const UniqueOutputs& outputs) {
  ET_ASSIGN(const Tensor rows, as_rows(call, self, self.dtype));
  ET_ASSIGN(Ranked* const ranked, rank_rows(call, rows));
  const int64_t n = rows.numel();
  uint64_t* const keys = call.scratch<uint64_t>(n);
  std::transform(ranked, ranked + n, keys, [](const Ranked& r) { return r.key; });
  if (sort) {
    std::sort(ranked, ranked + n, ranks_before);
  }
  int64_t* const order = call.scratch<int64_t>(n);
  std::transform(ranked, ranked + n, order, [](const Ranked& r) { return r.index; });
  const bool floating = is_float(self.dtype);
  const Groups groups = group_runs(
      call, order, n, [&](int64_t a, int64_t b) { return keys[a] == keys[b] && !(floating && keys[a] == kNanKey); });
  const Dims inverse_sizes(self.sizes());
  std::byte* const packed = gather_first(call, groups, rows.bytes(), static_cast<int64_t>(self.element_size()));
  const DType dtype = self.dtype;
  const int64_t sizes[] = {groups.count};
  ET_TRY(write_rows(call, sizes, dtype, packed, outputs.values));
  return write_groups(call, groups, inverse_sizes, outputs);
}

// The sizes or strides of a tensor with `dim` brought to the front.
Dims dim_first(std::span<const int64_t> of, int dim) {
  Dims moved(of);
  const int64_t front = moved[dim];
  moved.erase(dim);
  moved.insert(0, front);
  return moved;
}

// Of the slices along a dimension; ordered like words in a dictionary.
Status unique_slices(Call& call, const Tensor& self, int64_t dim, bool sort, const UniqueOutputs& outputs) {
  if (self.rank() == 0) {
    return call.fail(Status::InvalidArgument, "self has no dimensions, dim is {}", dim);
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, self.rank()));
  ET_TRY(check_memory(call, self));
  const Dims moved_sizes = dim_first(self.sizes(), d);
  const int64_t n = moved_sizes[0];
  if (self.numel() == 0 && n != 0) {
    return call.fail(Status::InvalidArgument, "the slices of {} along dimension {} have no elements", tensor_text(self),
                     d);
  }
  const Tensor slices = call.scratch_tensor(self.dtype, moved_sizes);
  strided_copy(self.element_size(), moved_sizes, self.data, dim_first(self.strides(), d), slices.data,
               slices.strides());
  const int64_t slice = n == 0 ? 0 : slices.numel() / n;
  ET_ASSIGN(Ranked* const ranked, rank_rows(call, slices));
  int64_t* const order = call.scratch<int64_t>(n);
  std::iota(order, order + n, 0);
  if (sort) {
    std::sort(order, order + n, [&](int64_t a, int64_t b) {
      for (int64_t i = 0; i < slice; ++i) {
        const uint64_t left = ranked[a * slice + i].key;
        const uint64_t right = ranked[b * slice + i].key;
        if (left != right) {
          return left < right;
        }
      }
      return a < b;
    });
  }
  const bool floating = is_float(self.dtype);
  const Groups groups = group_runs(call, order, n, [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < slice; ++i) {
      const uint64_t key = ranked[a * slice + i].key;
      if (key != ranked[b * slice + i].key || (floating && key == kNanKey)) {
        return false;
      }
    }
    return true;
  });
  std::byte* const packed =
      gather_first(call, groups, slices.bytes(), slice * static_cast<int64_t>(self.element_size()));
  const DType dtype = self.dtype;
  Dims sizes(self.sizes());
  sizes[d] = groups.count;
  Tensor& out = outputs.values;
  ET_TRY(call.resize(out, sizes));
  ET_TRY(check_memory(call, out));
  if (out.dtype != dtype) {
    return refuse_dtype(call, out);
  }
  const Dims packed_sizes = dim_first(sizes, d);
  strided_copy(out.element_size(), packed_sizes, packed, Tensor::view(packed, dtype, packed_sizes).strides(), out.data,
               dim_first(out.strides(), d));
  const int64_t inverse_sizes[] = {n};
  return write_groups(call, groups, inverse_sizes, outputs);
}

// Eager sorts whatever `sorted` says.
Status unique(Call& call, const Tensor& self, bool /*sorted*/, bool return_inverse, Tensor& values, Tensor& inverse) {
  return unique_flat(call, self, true, {values, inverse, nullptr, return_inverse, false});
}
Status unique2(Call& call, const Tensor& self, bool /*sorted*/, bool return_inverse, bool return_counts, Tensor& values,
               Tensor& inverse, Tensor& counts) {
  return unique_flat(call, self, true, {values, inverse, &counts, return_inverse, return_counts});
}
Status unique_consecutive(Call& call, const Tensor& self, bool return_inverse, bool return_counts,
                          std::optional<int64_t> dim, Tensor& values, Tensor& inverse, Tensor& counts) {
  if (dim.has_value() && (*dim != 0 || self.rank() != 1)) {  // else the elements are the slices
    return unique_slices(call, self, *dim, false, {values, inverse, &counts, true, true});
  }
  return unique_flat(call, self, false, {values, inverse, &counts, return_inverse, return_counts});
}
// Along a dimension eager returns everything, asked for or not.
Status unique_dim(Call& call, const Tensor& self, int64_t dim, bool /*sorted*/, bool /*return_inverse*/,
                  bool /*return_counts*/, Tensor& values, Tensor& inverse, Tensor& counts) {
  return unique_slices(call, self, dim, true, {values, inverse, &counts, true, true});
}
Status unique_dim_consecutive(Call& call, const Tensor& self, int64_t dim, bool /*return_inverse*/,
                              bool /*return_counts*/, Tensor& values, Tensor& inverse, Tensor& counts) {
  return unique_slices(call, self, dim, false, {values, inverse, &counts, true, true});
}

// ---- isin ----

// Which elements occur among the tests. No NaN does.
Status isin_rows(Call& call, const Tensor& elements, const Tensor& tests, DType common, bool invert, Tensor& out) {
  if (!is_real(common)) {
    return refuse_dtype(call, elements);
  }
  ET_TRY(check_sizes(call, out, elements.sizes()));
  ET_ASSIGN(const Tensor element_rows, as_rows(call, elements, common));
  ET_ASSIGN(const Tensor test_rows, as_rows(call, tests, common));
  ET_ASSIGN(const Ranked* const items, rank_rows(call, element_rows));
  ET_ASSIGN(Ranked* const sought, rank_rows(call, test_rows));
  Ranked* end = sought + test_rows.numel();
  const auto less = [](const Ranked& a, const Ranked& b) { return a.key < b.key; };
  std::sort(sought, end, less);
  if (is_float(common)) {
    end = std::lower_bound(sought, end, Ranked{kNanKey, 0}, less);
  }
  const Tensor found = call.scratch_tensor(DType::Bool, elements.sizes());
  for (int64_t i = 0; i < found.numel(); ++i) {
    found.as<uint8_t>()[i] = std::binary_search(sought, end, items[i], less) != invert ? 1 : 0;
  }
  return write_rows(call, found.sizes(), DType::Bool, found.data, out);
}

Status shape_isin(Call& call, const Tensor& elements, const Tensor& /*tests*/, bool /*assume_unique*/, bool /*invert*/,
                  Tensor& out) {
  return call.resize(out, elements.sizes());
}
Status isin(Call& call, const Tensor& elements, const Tensor& tests, bool /*assume_unique*/, bool invert, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, elements, tests));
  return isin_rows(call, elements, tests, common, invert, out);
}
Status shape_isin_number(Call& call, const Tensor& elements, Scalar /*test*/, bool /*assume_unique*/, bool /*invert*/,
                         Tensor& out) {
  return call.resize(out, elements.sizes());
}
Status isin_number(Call& call, const Tensor& elements, Scalar test, bool /*assume_unique*/, bool invert, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, elements, test));
  const Tensor tests = scalar_tensor(call, test);
  return isin_rows(call, elements, tests, common, invert, out);
}
Status shape_number_isin(Call& call, Scalar /*element*/, const Tensor& /*tests*/, bool /*assume_unique*/,
                         bool /*invert*/, Tensor& out) {
  return call.resize(out, {});
}
Status number_isin(Call& call, Scalar element, const Tensor& tests, bool /*assume_unique*/, bool invert, Tensor& out) {
  ET_ASSIGN(const DType common, result_type(call, tests, element));
  const Tensor elements = scalar_tensor(call, element);
  return isin_rows(call, elements, tests, common, invert, out);
}

// ---- bincount ----

Status bincount(Call& call, const Tensor& self, const Tensor* weights, int64_t minlength, Tensor& out) {
  if (self.rank() != 1 || !(is_int(self.dtype) || is_bool(self.dtype)) || minlength < 0) {
    return call.fail(Status::InvalidArgument,
                     "self is {}, minlength {}: expected one dimension of integers and no negative minlength",
                     tensor_text(self), minlength);
  }
  if (weights != nullptr) {
    ET_TRY(check_sizes(call, *weights, self.sizes()));
  }
  ET_ASSIGN(const Tensor items, as_rows(call, self, DType::Int64));
  const int64_t* const x = items.as<int64_t>();
  const int64_t n = items.numel();
  int64_t bins = minlength;
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] < 0 || x[i] == std::numeric_limits<int64_t>::max()) {
      return call.fail(Status::InvalidArgument, "self has {} at {}, expected no negative numbers", x[i], i);
    }
    bins = std::max(bins, x[i] + 1);
  }
  const int64_t sizes[] = {bins};
  const bool weighted = weights != nullptr && n > 0;
  const Tensor counts = call.scratch_tensor(weighted ? DType::Float64 : DType::Int64, sizes);
  std::memset(counts.data, 0, counts.nbytes());
  if (weighted) {
    ET_ASSIGN(const Tensor weight, as_rows(call, *weights, DType::Float64));
    for (int64_t i = 0; i < n; ++i) {
      counts.as<double>()[x[i]] += weight.as<double>()[i];
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      ++counts.as<int64_t>()[x[i]];
    }
  }
  return write_rows(call, sizes, counts.dtype, counts.data, out);
}

// ---- histc, histogram ----

struct Range {
  double low;
  double high;
};

// The range of the elements themselves; NaN if there is one.
Result<Range> range_of(Call& call, const Tensor& rows) {
  Range range{0, 1};
  if (rows.numel() > 0) {
    range = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  }
  with_float_type(rows.dtype, [&]<class C>() {
    for (int64_t i = 0; i < rows.numel(); ++i) {
      const double x = rows.as<C>()[i];
      range.low = x < range.low || x != x ? x : range.low;
      range.high = x > range.high || x != x ? x : range.high;
    }
  });
  if (!std::isfinite(range.low) || !std::isfinite(range.high)) {
    return call.fail(Status::InvalidArgument, "the elements range from {} to {}", range.low, range.high);
  }
  return range;
}

// Half a unit (or a whole one) on both sides of a range without extent.
Range widened(Range range, double by) {
  return range.low == range.high ? Range{range.low - by, range.high + by} : range;
}

// The dtype in which a histogram of `dtype` computes.
DType histogram_dtype(DType dtype) { return dtype == DType::Float64 ? DType::Float64 : DType::Float32; }

Status check_bins(const Call& call, int64_t bins) {
  return bins > 0 ? Status::Ok : call.fail(Status::InvalidArgument, "bins is {}, expected more than 0", bins);
}

// The bin of x among equal bins of [low, high].
template <class C>
int64_t equal_bin(C x, C low, C high, int64_t bins) {
  const C place = (x - low) * static_cast<C>(bins) / (high - low);
  return place >= static_cast<C>(bins) ? bins - 1 : place > 0 ? std::min(static_cast<int64_t>(place), bins - 1) : 0;
}

Status shape_histc(Call& call, const Tensor& /*self*/, int64_t bins, Scalar /*min*/, Scalar /*max*/, Tensor& out) {
  ET_TRY(check_bins(call, bins));
  const int64_t sizes[] = {bins};
  return call.resize(out, sizes);
}
Status histc(Call& call, const Tensor& self, int64_t bins, Scalar min, Scalar max, Tensor& out) {
  ET_TRY(shape_histc(call, self, bins, min, max, out));
  const DType dtype = histogram_dtype(self.dtype);
  ET_ASSIGN(const Tensor rows, as_rows(call, self, dtype));
  Range range{min.as_double(), max.as_double()};
  if (range.low == range.high && rows.numel() > 0) {
    ET_ASSIGN(range, range_of(call, rows));
  }
  range = widened(range, 1);
  if (!(range.low < range.high) || !std::isfinite(range.low) || !std::isfinite(range.high)) {
    return call.fail(Status::InvalidArgument, "min {} is not below max {}", range.low, range.high);
  }
  const Tensor counts = call.scratch_tensor(DType::Int64, out.sizes());
  std::memset(counts.data, 0, counts.nbytes());
  with_float_type(dtype, [&]<class C>() {
    const C low = static_cast<C>(range.low);
    const C high = static_cast<C>(range.high);
    for (int64_t i = 0; i < rows.numel(); ++i) {
      const C x = rows.as<C>()[i];
      if (x >= low && x <= high) {
        ++counts.as<int64_t>()[equal_bin(x, low, high, bins)];
      }
    }
  });
  return write_rows(call, counts.sizes(), DType::Int64, counts.data, out);
}

// Counts (or sums the weights of) the elements between neighbouring edges; the last bin has its upper edge too.
Status fill_histogram(Call& call, const Tensor& self, const Tensor* weight, bool density, const Tensor& edges,
                      Tensor& hist, Tensor& bin_edges) {
  const DType dtype = edges.dtype;
  const int64_t bins = edges.numel() - 1;
  if (weight != nullptr) {
    ET_TRY(check_sizes(call, *weight, self.sizes()));
  }
  ET_ASSIGN(const Tensor rows, as_rows(call, self, dtype));
  Tensor weights;
  if (weight != nullptr) {
    ET_ASSIGN(weights, as_rows(call, *weight, dtype));
  }
  const int64_t sizes[] = {bins};
  const Tensor sums = call.scratch_tensor(DType::Float64, sizes);
  double* const sum = sums.as<double>();
  std::fill_n(sum, bins, 0.0);
  with_float_type(dtype, [&]<class C>() {
    const C* const edge = edges.as<C>();
    for (int64_t i = 0; i < rows.numel(); ++i) {
      const C x = rows.as<C>()[i];
      if (x >= edge[0] && x <= edge[bins]) {
        const int64_t after = std::upper_bound(edge, edge + bins + 1, x) - edge;
        sum[std::clamp<int64_t>(after, 1, bins) - 1] +=
            weight != nullptr ? static_cast<double>(weights.as<C>()[i]) : 1.0;
      }
    }
    if (density) {
      const double total = std::accumulate(sum, sum + bins, 0.0);
      for (int64_t b = 0; b < bins; ++b) {
        sum[b] /= total * static_cast<double>(edge[b + 1] - edge[b]);
      }
    }
  });
  ET_TRY(write_rows(call, sizes, DType::Float64, sums.data, hist));
  return write_rows(call, edges.sizes(), dtype, edges.data, bin_edges);
}

Status shape_histogram(Call& call, const Tensor& /*self*/, int64_t bins, std::optional<DoubleList> /*range*/,
                       const Tensor* /*weight*/, bool /*density*/, Tensor& hist, Tensor& bin_edges) {
  ET_TRY(check_bins(call, bins));
  if (bins == std::numeric_limits<int64_t>::max()) {
    return call.fail(Status::InvalidArgument, "bins is {}", bins);
  }
  const int64_t hist_sizes[] = {bins};
  const int64_t edge_sizes[] = {bins + 1};
  ET_TRY(call.resize(hist, hist_sizes));
  return call.resize(bin_edges, edge_sizes);
}
Status histogram(Call& call, const Tensor& self, int64_t bins, std::optional<DoubleList> range, const Tensor* weight,
                 bool density, Tensor& hist, Tensor& bin_edges) {
  ET_TRY(shape_histogram(call, self, bins, range, weight, density, hist, bin_edges));
  const DType dtype = histogram_dtype(self.dtype);
  Range limits{0, 0};
  if (range.has_value()) {
    if (range->size() != 2 || !((*range)[0] <= (*range)[1]) || !std::isfinite((*range)[0]) ||
        !std::isfinite((*range)[1])) {
      return call.fail(Status::InvalidArgument, "range has {} numbers, expected two finite ones in order",
                       range->size());
    }
    limits = {(*range)[0], (*range)[1]};
  } else {
    ET_ASSIGN(const Tensor rows, as_rows(call, self, dtype));
    ET_ASSIGN(limits, range_of(call, rows));
  }
  limits = widened(limits, 0.5);
  const Tensor edges = call.scratch_tensor(dtype, bin_edges.sizes());
  with_float_type(dtype, [&]<class C>() {
    const C low = static_cast<C>(limits.low);
    const C high = static_cast<C>(limits.high);
    const C step = (high - low) / static_cast<C>(bins);
    // From both ends, so that both are exact; rounded once, as eager does.
    for (int64_t i = 0; i <= bins; ++i) {
      edges.as<C>()[i] =
          i < (bins + 1) / 2 ? std::fma(step, static_cast<C>(i), low) : std::fma(-step, static_cast<C>(bins - i), high);
    }
  });
  return fill_histogram(call, self, weight, density, edges, hist, bin_edges);
}

Status shape_histogram_edges(Call& call, const Tensor& /*self*/, const Tensor& bins, const Tensor* /*weight*/,
                             bool /*density*/, Tensor& hist, Tensor& bin_edges) {
  if (bins.rank() != 1 || bins.numel() < 2) {
    return call.fail(Status::InvalidArgument, "bins is {}, expected two or more edges in one dimension",
                     tensor_text(bins));
  }
  const int64_t hist_sizes[] = {bins.numel() - 1};
  const int64_t edge_sizes[] = {bins.numel()};
  ET_TRY(call.resize(hist, hist_sizes));
  return call.resize(bin_edges, edge_sizes);
}
Status histogram_edges(Call& call, const Tensor& self, const Tensor& bins, const Tensor* weight, bool density,
                       Tensor& hist, Tensor& bin_edges) {
  ET_TRY(shape_histogram_edges(call, self, bins, weight, density, hist, bin_edges));
  ET_ASSIGN(const Tensor edges, as_rows(call, bins, histogram_dtype(self.dtype)));
  return fill_histogram(call, self, weight, density, edges, hist, bin_edges);
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

// A histogram of points [N, D] over the bins of D dimensions, each given by its edges.
Status shape_histogramdd(Call& call, const Tensor& self, TensorList bins, const Tensor* /*weight*/, bool /*density*/,
                         Tensor& out) {
  if (self.rank() < 2 || self.size(self.rank() - 1) != static_cast<int64_t>(bins.size()) || bins.size() > kMaxRank) {
    return call.fail(Status::InvalidArgument, "self has sizes {}, expected points of as many numbers as bins, {}",
                     sizes_text(self.sizes()), bins.size());
  }
  Dims sizes;
  for (const Tensor* edges : bins) {
    if (edges->rank() != 1 || edges->numel() < 2) {
      return call.fail(Status::InvalidArgument, "bins of sizes {}, expected a vector of at least 2 edges",
                       sizes_text(edges->sizes()));
    }
    sizes.push_back(edges->numel() - 1);
  }
  return call.resize(out, sizes);
}

// The bin of x between the edges, -1 when it is in none.
template <class C>
int64_t bin_between(const C* edges, int64_t bins, C x) {
  if (!(x >= edges[0] && x <= edges[bins])) {
    return -1;
  }
  return std::clamp<int64_t>(std::upper_bound(edges, edges + bins + 1, x) - edges, 1, bins) - 1;
}

template <class C>
void count_points(const Tensor& points, std::span<const C* const> edges, const Tensor& sums, const C* weights) {
  const auto dims = static_cast<int64_t>(edges.size());
  for (int64_t i = 0; i < points.numel() / dims; ++i) {
    int64_t place = 0;
    for (int64_t d = 0; d < dims && place >= 0; ++d) {
      const int64_t bin = bin_between(edges[static_cast<size_t>(d)], sums.size(static_cast<int>(d)),
                                      points.as<const C>()[i * dims + d]);
      place = bin < 0 ? -1 : place * sums.size(static_cast<int>(d)) + bin;
    }
    if (place >= 0) {
      sums.as<double>()[place] += weights != nullptr ? static_cast<double>(weights[i]) : 1.0;
    }
  }
}

// Divides by the total and by the size of each bin.
template <class C>
void make_density(std::span<const C* const> edges, const Tensor& sums) {
  auto* sum = sums.as<double>();
  const double total = std::accumulate(sum, sum + sums.numel(), 0.0);
  for (int64_t i = 0; i < sums.numel(); ++i) {
    double size = total;
    int64_t rest = i;
    for (int d = sums.rank(); d-- > 0;) {
      const C* edge = edges[static_cast<size_t>(d)] + rest % sums.size(d);
      size *= static_cast<double>(edge[1] - edge[0]);
      rest /= sums.size(d);
    }
    sum[i] /= size;
  }
}

Status histogramdd(Call& call, const Tensor& self, TensorList bins, const Tensor* weight, bool density, Tensor& out) {
  ET_TRY(shape_histogramdd(call, self, bins, weight, density, out));
  const DType dtype = histogram_dtype(self.dtype);
  ET_ASSIGN(const Tensor points, as_rows(call, self, dtype));
  const auto count = bins.empty() ? 0 : self.numel() / static_cast<int64_t>(bins.size());
  Tensor weights;
  if (weight != nullptr) {
    ET_ASSIGN(weights, as_rows(call, *weight, dtype));
    if (weights.numel() != count) {
      return call.fail(Status::InvalidArgument, "weight has {} elements, expected {}", weights.numel(), count);
    }
  }
  std::array<Tensor, kMaxRank> edges;
  for (size_t d = 0; d < bins.size(); ++d) {
    ET_ASSIGN(edges[d], as_rows(call, *bins[d], dtype));
  }
  const Tensor sums = call.scratch_tensor(DType::Float64, out.sizes());
  std::fill_n(sums.as<double>(), sums.numel(), 0.0);
  with_float_type(dtype, [&]<class C>() {
    std::array<const C*, kMaxRank> from{};
    for (size_t d = 0; d < bins.size(); ++d) {
      from[d] = edges[d].as<const C>();
    }
    const auto used = std::span<const C* const>(from.data(), bins.size());
    count_points<C>(points, used, sums, weight != nullptr ? weights.as<const C>() : nullptr);
    if (density) {
      make_density<C>(used, sums);
    }
  });
  return write_rows(call, sums.sizes(), DType::Float64, sums.data, out);
}

// ---- segment_reduce ----

// Stretches of dimension `axis` of data, given by their lengths or by where they begin and end.
struct Segments {
  int axis = 0;
  int64_t outer = 1;  // products of data's sizes before and after the axis
  int64_t inner = 1;
  int64_t count = 0;  // segments in each of the `outer` rows
  Dims sizes;         // of the result
};

Result<Segments> segments_of(Call& call, const Tensor& data, const Tensor* lengths, const Tensor* offsets,
                             int64_t axis) {
  if ((lengths == nullptr) == (offsets == nullptr)) {
    return call.fail(Status::InvalidArgument, "takes one of lengths and offsets");
  }
  const Tensor& given = lengths != nullptr ? *lengths : *offsets;
  Segments s;
  ET_ASSIGN(s.axis, wrap_dim(call, axis, data.rank(), "axis"));
  if (data.rank() == 0 || given.rank() != s.axis + 1) {
    return call.fail(Status::InvalidArgument, "{} has {} dimensions, expected {}: those of data up to the axis",
                     call.arg_name(given), given.rank(), s.axis + 1);
  }
  for (int d = 0; d < data.rank(); ++d) {
    if (d < s.axis && given.size(d) != data.size(d)) {
      return call.fail(Status::InvalidArgument, "{} has sizes {}, which don't begin as data's {}", call.arg_name(given),
                       sizes_text(given.sizes()), sizes_text(data.sizes()));
    }
    (d < s.axis ? s.outer : s.inner) *= d == s.axis ? 1 : data.size(d);
    s.sizes.push_back(data.size(d));
  }
  s.count = given.size(s.axis) - (offsets != nullptr ? 1 : 0);
  if (s.count < 0) {
    return call.fail(Status::InvalidArgument, "offsets are empty");
  }
  s.sizes[s.axis] = s.count;
  return s;
}

// Where each segment of each row begins and ends: pairs.
Result<const int64_t*> segment_bounds(Call& call, const Segments& s, const Tensor& data, const Tensor* lengths,
                                      const Tensor* offsets) {
  ET_ASSIGN(const Tensor given, as_rows(call, lengths != nullptr ? *lengths : *offsets, DType::Int64));
  const auto* numbers = given.as<const int64_t>();
  auto* bounds = call.scratch<int64_t>(2 * s.outer * s.count);
  const int64_t size = data.size(s.axis);
  for (int64_t row = 0; row < s.outer; ++row) {
    int64_t begin = 0;
    for (int64_t i = 0; i < s.count; ++i) {
      const int64_t* own = numbers + row * (s.count + (lengths != nullptr ? 0 : 1)) + i;
      begin = lengths != nullptr ? begin : own[0];
      const bool fits =
          begin >= 0 && begin <= size &&
          (lengths != nullptr ? own[0] >= 0 && own[0] <= size - begin : own[1] >= begin && own[1] <= size);
      if (!fits) {
        return call.fail(Status::InvalidArgument, "segment {} doesn't lie in the {} elements of the axis", i, size);
      }
      const int64_t end = lengths != nullptr ? begin + own[0] : own[1];
      bounds[2 * (row * s.count + i)] = begin;
      bounds[2 * (row * s.count + i) + 1] = end;
      begin = end;
    }
  }
  return static_cast<const int64_t*>(bounds);
}

enum class SegmentReduction : uint8_t { Sum, Mean, Max, Min, Prod };
Result<SegmentReduction> segment_reduction(const Call& call, std::string_view name) {
  constexpr std::string_view kNames[] = {"sum", "mean", "max", "min", "prod"};
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) {
    return call.fail(Status::InvalidArgument, "reduce is \"{}\", expected sum, mean, max, min or prod", name);
  }
  return static_cast<SegmentReduction>(found - std::begin(kNames));
}

template <class C>
C reduce_segment(const C* x, int64_t stride, int64_t n, SegmentReduction how, const double* initial) {
  constexpr C kInfinity = std::numeric_limits<C>::infinity();
  C value = initial != nullptr              ? static_cast<C>(*initial)
            : how == SegmentReduction::Max  ? -kInfinity
            : how == SegmentReduction::Min  ? kInfinity
            : how == SegmentReduction::Prod ? C(1)
                                            : C(0);
  for (int64_t i = 0; i < n; ++i) {
    const C element = x[i * stride];
    switch (how) {
      case SegmentReduction::Max:
        value = element > value || element != element ? element : value;
        break;
      case SegmentReduction::Min:
        value = element < value || element != element ? element : value;
        break;
      case SegmentReduction::Prod:
        value *= element;
        break;
      default:
        value += element;
    }
  }
  if (how == SegmentReduction::Mean) {
    return n > 0 ? value / static_cast<C>(n) : initial != nullptr ? value : std::numeric_limits<C>::quiet_NaN();
  }
  return value;
}

Status shape_segment_reduce(Call& call, const Tensor& data, std::string_view /*reduce*/, const Tensor* lengths,
                            const Tensor* /*indices*/, const Tensor* offsets, int64_t axis, bool /*unsafe*/,
                            std::optional<Scalar> /*initial*/, Tensor& out) {
  ET_ASSIGN(const Segments s, segments_of(call, data, lengths, offsets, axis));
  return call.resize(out, s.sizes);
}

Status segment_reduce(Call& call, const Tensor& data, std::string_view reduce, const Tensor* lengths,
                      const Tensor* /*indices*/, const Tensor* offsets, int64_t axis, bool /*unsafe*/,
                      std::optional<Scalar> initial, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, data));
  ET_ASSIGN(const Segments s, segments_of(call, data, lengths, offsets, axis));
  ET_ASSIGN(const SegmentReduction how, segment_reduction(call, reduce));
  ET_ASSIGN(const int64_t* bounds, segment_bounds(call, s, data, lengths, offsets));
  if (!is_real(data.dtype) || !is_float(data.dtype)) {
    return refuse_dtype(call, data);
  }
  const DType dtype = histogram_dtype(data.dtype);
  const double start = initial ? initial->as_double() : 0;
  ET_ASSIGN(const Tensor rows, as_rows(call, data, dtype));
  const Tensor results = call.scratch_tensor(dtype, s.sizes);
  with_float_type(dtype, [&]<class C>() {
    for (int64_t i = 0; i < s.outer * s.count; ++i) {
      const C* row = rows.as<const C>() + i / s.count * data.size(s.axis) * s.inner;
      for (int64_t k = 0; k < s.inner; ++k) {
        results.as<C>()[i * s.inner + k] =
            reduce_segment(row + bounds[2 * i] * s.inner + k, s.inner, bounds[2 * i + 1] - bounds[2 * i], how,
                           initial ? &start : nullptr);
      }
    }
  });
  return write_rows(call, s.sizes, dtype, results.data, out);
}

const Op kTable[] = {
    {"aten::_unique.out",
     "(Tensor self, bool sorted=True, bool return_inverse=False, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), "
     "Tensor(b!))",
     nullptr, bind<unique>, kFacts},
    {"aten::_unique2.out",
     "(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, *, Tensor(a!) out0, "
     "Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     nullptr, bind<unique2>, kFacts},
    {"aten::unique_consecutive.out",
     "(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None, *, Tensor(a!) out0, Tensor(b!) "
     "out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     nullptr, bind<unique_consecutive>, kFacts},
    {"aten::unique_dim.out",
     "(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False, *, Tensor(a!) "
     "out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     nullptr, bind<unique_dim>, kFacts},
    {"aten::unique_dim_consecutive.out",
     "(Tensor self, int dim, bool return_inverse=False, bool return_counts=False, *, Tensor(a!) out0, Tensor(b!) out1, "
     "Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     nullptr, bind<unique_dim_consecutive>, kFacts},
    {"aten::isin.Tensor_Tensor_out",
     "(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<shape_isin>, bind<isin>, kFacts},
    {"aten::isin.Tensor_Scalar_out",
     "(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<shape_isin_number>, bind<isin_number>, kFacts},
    {"aten::isin.Scalar_Tensor_out",
     "(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<shape_number_isin>, bind<number_isin>, kFacts},
    {"aten::bincount.out", "(Tensor self, Tensor? weights=None, SymInt minlength=0, *, Tensor(a!) out) -> Tensor(a!)",
     nullptr, bind<bincount>, kFacts},
    {"aten::_histogramdd_from_bin_tensors.out",
     "(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_histogramdd>, bind<histogramdd>, kFacts},
    {"aten::segment_reduce.out",
     "(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool "
     "unsafe=False, Scalar? initial=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_segment_reduce>, bind<segment_reduce>, kFacts},
    {"aten::histc.out", "(Tensor self, int bins=100, Scalar min=0, Scalar max=0, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_histc>, bind<histc>, kFacts},
    {"aten::histogram.bin_ct_out",
     "(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False, Tensor(a!) hist, "
     "Tensor(b!) bin_edges) -> (Tensor(a!) hist, Tensor(b!) bin_edges)",
     bind<shape_histogram>, bind<histogram>, kFacts},
    {"aten::histogram.bins_tensor_out",
     "(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False, Tensor(a!) hist, Tensor(b!) bin_edges) -> "
     "(Tensor(a!) hist, Tensor(b!) bin_edges)",
     bind<shape_histogram_edges>, bind<histogram_edges>, kFacts},
};

}  // namespace

Table unique_ops() { return kTable; }

}  // namespace etrt::ops
