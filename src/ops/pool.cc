// Pooling: each output element stands for a box of input positions. What differs between the operators is
// how boxes lie (sliding windows, an even split, random steps) and what is made of their elements.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/thread_pool.h"
#include "ops/apart.h"
#include "ops/convolve.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

constexpr int64_t kGrain = 1 << 14;  // input elements worth a thread

// Input positions begin, begin + step, … below end along one dimension.
struct Range {
  int64_t begin;
  int64_t end;
  int64_t step;
  double padded;  // their number with padding counted

  int64_t count() const { return begin < end ? (end - begin + step - 1) / step : 0; }
};

// The boxes: an output position's range in each dimension.
using Boxes = std::array<const Range*, kMaxSpatial>;

Range* ranges_in(Call& call, int64_t count) { return call.scratch<Range>(count); }

Boxes boxes_of_windows(Call& call, const Windows& windows) {
  Boxes boxes{};
  for (size_t d = 0; d < kMaxSpatial; ++d) {
    const Window& w = windows.dims[d];
    Range* ranges = ranges_in(call, w.out);
    for (int64_t o = 0; o < w.out; ++o) {
      const int64_t start = w.start(o);
      const int64_t skipped = start < 0 ? (-start + w.dilation - 1) / w.dilation : 0;
      const auto padded = static_cast<double>(std::min(start + w.kernel, w.in + w.padding) - start);
      ranges[o] = {start + skipped * w.dilation, std::min(start + w.span(), w.in), w.dilation, padded};
    }
    boxes[d] = ranges;
  }
  return boxes;
}

// `in` positions split in `out` ranges that may share their ends.
Boxes boxes_of_split(Call& call, const std::array<int64_t, kMaxSpatial>& in,
                     const std::array<int64_t, kMaxSpatial>& out) {
  Boxes boxes{};
  for (size_t d = 0; d < kMaxSpatial; ++d) {
    Range* ranges = ranges_in(call, out[d]);
    const int64_t whole = out[d] == 0 ? 0 : in[d] / out[d];
    const int64_t rest = out[d] == 0 ? 0 : in[d] % out[d];
    for (int64_t o = 0; o < out[d]; ++o) {
      // o * in / out, rounded down, and (o + 1) * in / out, rounded up; `out` is below 2^31.
      const int64_t begin = o * whole + o * rest / out[d];
      const int64_t end = (o + 1) * whole + ((o + 1) * rest + out[d] - 1) / out[d];
      ranges[o] = {begin, end, 1, static_cast<double>(end - begin)};
    }
    boxes[d] = ranges;
  }
  return boxes;
}

// Calls body(n, c) for every plane, in parallel; `cost` is its number of input elements.
template <class Body>
void for_each_plane(int64_t batch, int64_t channels, int64_t cost, Body&& body) {
  parallel_for(batch * channels, std::max<int64_t>(1, kGrain / std::max<int64_t>(cost, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   body(i / channels, i % channels);
                 }
               });
}

// Calls body(z, y, x) for every output position.
template <class Body>
void for_each_position(const std::array<int64_t, kMaxSpatial>& sizes, Body&& body) {
  for (int64_t z = 0; z < sizes[0]; ++z) {
    for (int64_t y = 0; y < sizes[1]; ++y) {
      for (int64_t x = 0; x < sizes[2]; ++x) {
        body(z, y, x);
      }
    }
  }
}

// Calls body(z, y, x) for every input position of a box.
template <class Body>
void for_each_in_box(const Range& rz, const Range& ry, const Range& rx, Body&& body) {
  for (int64_t z = rz.begin; z < rz.end; z += rz.step) {
    for (int64_t y = ry.begin; y < ry.end; y += ry.step) {
      for (int64_t x = rx.begin; x < rx.end; x += rx.step) {
        body(z, y, x);
      }
    }
  }
}

template <class C>
bool is_nan(C x) {
  if constexpr (std::is_floating_point_v<C>) {
    return std::isnan(x);
  } else {
    return false;
  }
}

// The largest element of each box and its place in the plane; the last NaN where there is one.
template <class C>
void max_of_boxes(const Boxes& boxes, const Image<C>& in, int64_t n, int64_t c, const Image<C>& out,
                  const Image<int64_t>& indices) {
  const C* from = in.channel(n, c);
  for_each_position(out.sizes, [&](int64_t oz, int64_t oy, int64_t ox) {
    const Range& rz = boxes[0][oz];
    const Range& ry = boxes[1][oy];
    const Range& rx = boxes[2][ox];
    C best = std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::min();
    int64_t place = (rz.begin * in.sizes[1] + ry.begin) * in.sizes[2] + rx.begin;
    for_each_in_box(rz, ry, rx, [&](int64_t z, int64_t y, int64_t x) {
      const C value = from[in.offset(z, y, x)];
      if (value > best || is_nan(value)) {
        best = value;
        place = (z * in.sizes[1] + y) * in.sizes[2] + x;
      }
    });
    out.channel(n, c)[out.offset(oz, oy, ox)] = best;
    indices.channel(n, c)[indices.offset(oz, oy, ox)] = place;
  });
}

// What the elements of a box are divided by.
struct Divisor {
  bool count_padding = false;
  int64_t fixed = 0;  // unless 0

  double of(const Range& rz, const Range& ry, const Range& rx) const {
    if (fixed != 0) {
      return static_cast<double>(fixed);
    }
    if (count_padding) {
      return rz.padded * ry.padded * rx.padded;
    }
    return static_cast<double>(rz.count()) * static_cast<double>(ry.count()) * static_cast<double>(rx.count());
  }
};

int64_t divide(int64_t sum, double by) {
  const auto divisor = static_cast<int64_t>(by);
  return divisor == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(sum)) : divisor == 0 ? 0 : sum / divisor;
}
double divide(double sum, double by) { return sum / by; }

template <class C>
using SumOf = std::conditional_t<std::is_same_v<C, float>, double, C>;

template <class C>
void mean_of_boxes(const Boxes& boxes, const Divisor& divisor, const Image<C>& in, int64_t n, int64_t c,
                   const Image<C>& out) {
  const C* from = in.channel(n, c);
  for_each_position(out.sizes, [&](int64_t oz, int64_t oy, int64_t ox) {
    const Range& rz = boxes[0][oz];
    const Range& ry = boxes[1][oy];
    const Range& rx = boxes[2][ox];
    SumOf<C> sum{};
    bool any = false;
    for_each_in_box(rz, ry, rx, [&](int64_t z, int64_t y, int64_t x) {
      sum = plus(sum, static_cast<SumOf<C>>(from[in.offset(z, y, x)]));
      any = true;
    });
    out.channel(n, c)[out.offset(oz, oy, ox)] = any ? static_cast<C>(divide(sum, divisor.of(rz, ry, rx))) : C{};
  });
}

// The gradient of mean_of_boxes: each element of a box gets its share. `to` starts as zeros.
template <class C>
void spread_to_boxes(const Boxes& boxes, const Divisor& divisor, const Image<C>& grad, int64_t n, int64_t c,
                     const Image<C>& to) {
  C* target = to.channel(n, c);
  for_each_position(grad.sizes, [&](int64_t oz, int64_t oy, int64_t ox) {
    const Range& rz = boxes[0][oz];
    const Range& ry = boxes[1][oy];
    const Range& rx = boxes[2][ox];
    const SumOf<C> value = grad.channel(n, c)[grad.offset(oz, oy, ox)];
    const C share = static_cast<C>(divide(value, divisor.of(rz, ry, rx)));
    for_each_in_box(rz, ry, rx, [&](int64_t z, int64_t y, int64_t x) {
      C& place = target[to.offset(z, y, x)];
      place = plus(place, share);
    });
  });
}

// --- arguments and sizes ---

// Sizes of an image like `image`, with or without a batch, whose last `rank` sizes are `spatial`.
struct ImageSizes {
  std::array<int64_t, 5> values{};
  size_t rank = 0;
  std::span<const int64_t> all() const { return {values.data(), rank}; }
};
ImageSizes sizes_like(const Tensor& image, int rank, const std::array<int64_t, kMaxSpatial>& spatial) {
  ImageSizes sizes;
  sizes.rank = static_cast<size_t>(image.rank());
  for (size_t d = 0; d < sizes.rank; ++d) {
    const size_t from_end = sizes.rank - d;
    sizes.values[d] = from_end <= static_cast<size_t>(rank) ? spatial[kMaxSpatial - from_end] : image.sizes()[d];
  }
  return sizes;
}
std::array<int64_t, kMaxSpatial> out_sizes(const Windows& w) { return {w[0].out, w[1].out, w[2].out}; }

Result<Windows> pooling_windows(const Call& call, const Tensor& self, const WindowArgs& args, bool ceil_mode,
                                int rank) {
  ET_TRY(check_rank_between(call, self, rank + 1, rank + 2));
  ET_ASSIGN(Windows windows, read_windows(call, args, self.sizes(), rank));
  ET_TRY(count_pooling_windows(call, windows, rank, ceil_mode));
  return windows;
}

std::array<int64_t, kMaxSpatial> spatial_sizes(const Tensor& t, int rank) {
  std::array<int64_t, kMaxSpatial> sizes{1, 1, 1};
  for (int i = 0; i < rank; ++i) {
    sizes[static_cast<size_t>(kMaxSpatial - rank + i)] = t.size(t.rank() - rank + i);
  }
  return sizes;
}

// Output sizes as an argument, one value for all dimensions or one each.
Result<std::array<int64_t, kMaxSpatial>> read_output_size(const Call& call, IntList output_size, int rank) {
  std::array<int64_t, kMaxSpatial> sizes{1, 1, 1};
  if (output_size.size() != 1 && output_size.size() != static_cast<size_t>(rank)) {
    return call.fail(Status::InvalidArgument, "output_size has {} values, expected 1 or {}", output_size.size(), rank);
  }
  for (int i = 0; i < rank; ++i) {
    const int64_t size = output_size[output_size.size() == 1 ? 0 : static_cast<size_t>(i)];
    if (size < 0 || size >= int64_t{1} << 31) {
      return call.fail(Status::InvalidArgument, "output_size {} is out of range [0, 2^31)", size);
    }
    sizes[static_cast<size_t>(kMaxSpatial - rank + i)] = size;
  }
  return sizes;
}

// An even split needs something to split.
Status check_split(const Call& call, const Tensor& self, int rank) {
  ET_TRY(check_rank_between(call, self, rank + 1, rank + 2));
  for (int d = self.rank() - rank; d < self.rank(); ++d) {
    if (self.size(d) == 0) {
      return call.fail(Status::InvalidArgument, "self has sizes {}: nothing to pool", sizes_text(self.sizes()));
    }
  }
  return Status::Ok;
}

// --- average ---

Status average(Call& call, const Boxes& boxes, const Divisor& divisor, const Tensor& self, Tensor& out, int rank) {
  return visit_real(call, self.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&self, &out}));
    const Image<C> in = image_of<C>(with_batch(load_as<C>(call, self), rank + 2));
    const OutputOf<C> target(call, out);
    const Image<C> to = image_of<C>(with_batch(target.tensor(), rank + 2));
    if (!to.empty()) {
      for_each_plane(to.batch, to.channels, in.positions(),
                     [&](int64_t n, int64_t c) { mean_of_boxes(boxes, divisor, in, n, c, to); });
    }
    target.finish();
    return Status::Ok;
  });
}

Status average_backward(Call& call, const Boxes& boxes, const Divisor& divisor, const Tensor& grad_output,
                        Tensor& grad_input, int rank) {
  return visit_real(call, grad_output.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&grad_output, &grad_input}));
    const Image<C> grad = image_of<C>(with_batch(load_as<C>(call, grad_output), rank + 2));
    const OutputOf<C> target(call, grad_input);
    std::fill(target.data(), target.data() + grad_input.numel(), C{});
    const Image<C> to = image_of<C>(with_batch(target.tensor(), rank + 2));
    if (!to.empty() && !grad.empty()) {
      for_each_plane(to.batch, to.channels, to.positions(),
                     [&](int64_t n, int64_t c) { spread_to_boxes(boxes, divisor, grad, n, c, to); });
    }
    target.finish();
    return Status::Ok;
  });
}

Result<Divisor> read_divisor(const Call& call, bool count_include_pad, std::optional<int64_t> divisor_override) {
  if (divisor_override == 0) {
    return call.fail(Status::InvalidArgument, "divisor_override is 0");
  }
  return Divisor{count_include_pad, divisor_override.value_or(0)};
}

template <int kRank>
Status shape_of_avg_pool(Call& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                         bool ceil_mode, bool /*count_include_pad*/, std::optional<int64_t> /*divisor_override*/,
                         Tensor& out) {
  ET_ASSIGN(const Windows windows, pooling_windows(call, self, {kernel_size, stride, padding, {}}, ceil_mode, kRank));
  return call.resize(out, sizes_like(self, kRank, out_sizes(windows)).all());
}
template <int kRank>
Status avg_pool(Call& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  ET_ASSIGN(const Windows windows, pooling_windows(call, self, {kernel_size, stride, padding, {}}, ceil_mode, kRank));
  ET_ASSIGN(const Divisor divisor, read_divisor(call, count_include_pad, divisor_override));
  return average(call, boxes_of_windows(call, windows), divisor, self, out, kRank);
}
Status shape_of_avg_pool1d(Call& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                           bool ceil_mode, bool count_include_pad, Tensor& out) {
  return shape_of_avg_pool<1>(call, self, kernel_size, stride, padding, ceil_mode, count_include_pad, {}, out);
}
Status avg_pool1d(Call& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                  bool count_include_pad, Tensor& out) {
  return avg_pool<1>(call, self, kernel_size, stride, padding, ceil_mode, count_include_pad, {}, out);
}

template <int kRank>
Status shape_of_avg_pool_backward(Call& call, const Tensor& grad_output, const Tensor& self, IntList kernel_size,
                                  IntList stride, IntList padding, bool ceil_mode, bool /*count_include_pad*/,
                                  std::optional<int64_t> /*divisor_override*/, Tensor& grad_input) {
  ET_ASSIGN(const Windows windows, pooling_windows(call, self, {kernel_size, stride, padding, {}}, ceil_mode, kRank));
  ET_TRY(check_sizes(call, grad_output, sizes_like(self, kRank, out_sizes(windows)).all()));
  return call.resize(grad_input, self.sizes());
}
template <int kRank>
Status avg_pool_backward(Call& call, const Tensor& grad_output, const Tensor& self, IntList kernel_size, IntList stride,
                         IntList padding, bool ceil_mode, bool count_include_pad,
                         std::optional<int64_t> divisor_override, Tensor& grad_input) {
  ET_ASSIGN(const Windows windows, pooling_windows(call, self, {kernel_size, stride, padding, {}}, ceil_mode, kRank));
  ET_ASSIGN(const Divisor divisor, read_divisor(call, count_include_pad, divisor_override));
  return average_backward(call, boxes_of_windows(call, windows), divisor, grad_output, grad_input, kRank);
}

template <int kRank>
Status shape_of_adaptive_avg_pool(Call& call, const Tensor& self, IntList output_size, Tensor& out) {
  ET_TRY(check_split(call, self, kRank));
  ET_ASSIGN(const auto spatial, read_output_size(call, output_size, kRank));
  return call.resize(out, sizes_like(self, kRank, spatial).all());
}
template <int kRank>
Status adaptive_avg_pool(Call& call, const Tensor& self, IntList /*output_size*/, Tensor& out) {
  return average(call, boxes_of_split(call, spatial_sizes(self, kRank), spatial_sizes(out, kRank)), {}, self, out,
                 kRank);
}

template <int kRank>
Status shape_of_adaptive_avg_pool_backward(Call& call, const Tensor& grad_output, const Tensor& self,
                                           Tensor& grad_input) {
  ET_TRY(check_split(call, self, kRank));
  ET_TRY(check_rank(call, grad_output, self.rank()));
  ET_TRY(check_sizes(call, grad_output, sizes_like(self, kRank, spatial_sizes(grad_output, kRank)).all()));
  return call.resize(grad_input, self.sizes());
}
template <int kRank>
Status adaptive_avg_pool_backward(Call& call, const Tensor& grad_output, const Tensor& self, Tensor& grad_input) {
  const Boxes boxes = boxes_of_split(call, spatial_sizes(self, kRank), spatial_sizes(grad_output, kRank));
  return average_backward(call, boxes, {}, grad_output, grad_input, kRank);
}

// --- maximum ---

// `boxes_for(n, c)` gives the boxes of a plane.
template <class BoxesFor>
Status maximum(Call& call, const Tensor& self, Tensor& out, Tensor& indices, int rank, BoxesFor&& boxes_for) {
  ET_TRY(check_converts<int64_t>(call, {&indices}));
  return visit_real(call, self.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&self, &out}));
    const Image<C> in = image_of<C>(with_batch(load_as<C>(call, self), rank + 2));
    const OutputOf<C> target(call, out);
    const OutputOf<int64_t> places(call, indices);
    const Image<C> to = image_of<C>(with_batch(target.tensor(), rank + 2));
    const Image<int64_t> at = image_of<int64_t>(with_batch(places.tensor(), rank + 2));
    if (!to.empty()) {
      for_each_plane(to.batch, to.channels, in.positions(),
                     [&](int64_t n, int64_t c) { max_of_boxes(boxes_for(n, c), in, n, c, to, at); });
    }
    target.finish();
    places.finish();
    return Status::Ok;
  });
}

// grad_input[index] += grad_output, plane by plane. Serial: all operators of training.
template <class C>
Status add_at_indices(Call& call, const Image<C>& from, const Image<int64_t>& indices, const Image<C>& to, bool add) {
  const int64_t positions = to.positions();
  Status status = Status::Ok;
  for (int64_t n = 0; n < from.batch; ++n) {
    for (int64_t c = 0; c < from.channels; ++c) {
      for_each_position(from.sizes, [&](int64_t z, int64_t y, int64_t x) {
        const int64_t index = indices.channel(n, c)[indices.offset(z, y, x)];
        if (index < 0 || index >= positions) {
          status = status == Status::Ok
                       ? call.fail(Status::InvalidArgument, "index {} is out of range [0, {})", index, positions)
                       : status;
          return;
        }
        const int64_t row = index / to.sizes[2];
        C& place = to.channel(n, c)[to.offset(row / to.sizes[1], row % to.sizes[1], index % to.sizes[2])];
        const C value = from.channel(n, c)[from.offset(z, y, x)];
        place = add ? plus(place, value) : value;
      });
    }
  }
  return status;
}

// `add`: a gradient, else the values themselves (unpooling).
Status scatter_to_indices(Call& call, const Tensor& from, const Tensor& indices, Tensor& out, int rank, bool add) {
  ET_TRY(check_converts<int64_t>(call, {&indices}));
  return visit_real(call, from.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&from, &out}));
    const OutputOf<C> target(call, out);
    std::fill(target.data(), target.data() + out.numel(), C{});
    const Image<C> source = image_of<C>(with_batch(load_as<C>(call, from), rank + 2));
    const Image<int64_t> at = image_of<int64_t>(with_batch(load_as<int64_t>(call, indices), rank + 2));
    ET_TRY(add_at_indices(call, source, at, image_of<C>(with_batch(target.tensor(), rank + 2)), add));
    target.finish();
    return Status::Ok;
  });
}

template <int kRank>
Status shape_of_max_pool(Call& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                         IntList dilation, bool ceil_mode, Tensor& out, Tensor& indices) {
  ET_ASSIGN(const Windows windows,
            pooling_windows(call, self, {kernel_size, stride, padding, dilation}, ceil_mode, kRank));
  const ImageSizes sizes = sizes_like(self, kRank, out_sizes(windows));
  ET_TRY(call.resize(out, sizes.all()));
  return call.resize(indices, sizes.all());
}
template <int kRank>
Status max_pool(Call& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                bool ceil_mode, Tensor& out, Tensor& indices) {
  ET_ASSIGN(const Windows windows,
            pooling_windows(call, self, {kernel_size, stride, padding, dilation}, ceil_mode, kRank));
  const Boxes boxes = boxes_of_windows(call, windows);
  return maximum(call, self, out, indices, kRank, [&](int64_t /*n*/, int64_t /*c*/) { return boxes; });
}

Status check_indices(const Call& call, const Tensor& grad_output, const Tensor& indices, const Tensor& self, int rank) {
  ET_TRY(check_rank_between(call, self, rank + 1, rank + 2));
  ET_TRY(check_rank(call, grad_output, self.rank()));
  ET_TRY(check_sizes(call, grad_output, sizes_like(self, rank, spatial_sizes(grad_output, rank)).all()));
  return check_sizes(call, indices, grad_output.sizes());
}

template <int kRank>
Status shape_of_max_pool_backward(Call& call, const Tensor& grad_output, const Tensor& self, IntList /*kernel_size*/,
                                  IntList /*stride*/, IntList /*padding*/, IntList /*dilation*/, bool /*ceil_mode*/,
                                  const Tensor& indices, Tensor& grad_input) {
  ET_TRY(check_indices(call, grad_output, indices, self, kRank));
  return call.resize(grad_input, self.sizes());
}
template <int kRank>
Status max_pool_backward(Call& call, const Tensor& grad_output, const Tensor& /*self*/, IntList /*kernel_size*/,
                         IntList /*stride*/, IntList /*padding*/, IntList /*dilation*/, bool /*ceil_mode*/,
                         const Tensor& indices, Tensor& grad_input) {
  return scatter_to_indices(call, grad_output, indices, grad_input, kRank, true);
}

template <int kRank>
Status shape_of_adaptive_max_pool(Call& call, const Tensor& self, IntList output_size, Tensor& out, Tensor& indices) {
  ET_TRY(shape_of_adaptive_avg_pool<kRank>(call, self, output_size, out));
  return call.resize(indices, out.sizes());
}
template <int kRank>
Status adaptive_max_pool(Call& call, const Tensor& self, IntList /*output_size*/, Tensor& out, Tensor& indices) {
  const Boxes boxes = boxes_of_split(call, spatial_sizes(self, kRank), spatial_sizes(out, kRank));
  return maximum(call, self, out, indices, kRank, [&](int64_t /*n*/, int64_t /*c*/) { return boxes; });
}

template <int kRank>
Status shape_of_adaptive_max_pool_backward(Call& call, const Tensor& grad_output, const Tensor& self,
                                           const Tensor& indices, Tensor& grad_input) {
  ET_TRY(check_indices(call, grad_output, indices, self, kRank));
  return call.resize(grad_input, self.sizes());
}
template <int kRank>
Status adaptive_max_pool_backward(Call& call, const Tensor& grad_output, const Tensor& /*self*/, const Tensor& indices,
                                  Tensor& grad_input) {
  return scatter_to_indices(call, grad_output, indices, grad_input, kRank, true);
}

template <int kRank>
Status shape_of_fractional_max_pool(Call& call, const Tensor& self, IntList kernel_size, IntList output_size,
                                    const Tensor& random_samples, Tensor& output, Tensor& indices) {
  ET_TRY(check_rank_between(call, self, kRank + 1, kRank + 2));
  ET_ASSIGN(const auto spatial, read_output_size(call, output_size, kRank));
  ET_ASSIGN(const Windows windows, read_windows(call, {kernel_size, {}, {}, {}}, self.sizes(), kRank));
  for (int d = kMaxSpatial - kRank; d < kMaxSpatial; ++d) {
    const int64_t out = spatial[static_cast<size_t>(d)];
    if (out < 1 || out > windows[d].in || windows[d].kernel > windows[d].in - out + 1) {
      return call.fail(Status::InvalidArgument, "a kernel of {} and {} outputs do not fit the size {}",
                       windows[d].kernel, out, windows[d].in);
    }
  }
  const bool batched = self.rank() == kRank + 2;
  ET_TRY(check_sizes(call, random_samples,
                     std::array{batched ? self.size(0) : int64_t{1}, self.size(batched ? 1 : 0), int64_t{kRank}}));
  ET_TRY(call.resize(output, sizes_like(self, kRank, spatial).all()));
  return call.resize(indices, output.sizes());
}

// Where `count` boxes of `kernel` positions start: steps of equal mean length from a random offset.
template <class C>
void fill_random_ranges(C sample, int64_t in, int64_t count, int64_t kernel, Range* ranges) {
  const C step = count > 1 ? static_cast<C>(in - kernel) / static_cast<C>(count - 1) : C{};
  for (int64_t i = 0; i < count; ++i) {
    C start = static_cast<C>(in - kernel);
    if (i + 1 < count) {
      start = std::trunc((static_cast<C>(i) + sample) * step) - std::trunc(sample * step);
    }
    // The sample comes from outside and may be anything, NaN too.
    const int64_t begin = start >= C{} && start <= static_cast<C>(in - kernel) ? static_cast<int64_t>(start) : 0;
    ranges[i] = {std::min(begin, in - kernel), std::min(begin, in - kernel) + kernel, 1, 0};
  }
}

template <int kRank>
Status fractional_max_pool(Call& call, const Tensor& self, IntList kernel_size, IntList /*output_size*/,
                           const Tensor& random_samples, Tensor& output, Tensor& indices) {
  ET_ASSIGN(const Windows windows, read_windows(call, {kernel_size, {}, {}, {}}, self.sizes(), kRank));
  const auto spatial = spatial_sizes(output, kRank);
  const int64_t planes = random_samples.numel() / kRank;
  const bool batched = self.rank() == kRank + 2;
  const int64_t channels = self.size(batched ? 1 : 0);
  std::array<Range*, kMaxSpatial> ranges{};
  for (size_t d = 0; d < kMaxSpatial; ++d) {
    ranges[d] = ranges_in(call, planes * spatial[d]);
  }
  const Status drawn = visit_float(call, random_samples.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&random_samples}));
    const C* samples = load_rows<C>(call, random_samples);
    for (int64_t p = 0; p < planes; ++p) {
      for (size_t d = 0; d < kMaxSpatial; ++d) {
        const int i = static_cast<int>(d) - (kMaxSpatial - kRank);
        // Of two samples the first is for x, of three for z.
        const C sample = i < 0 ? C{} : samples[p * kRank + (kRank == 2 ? 1 - i : i)];
        fill_random_ranges(sample, windows.dims[d].in, spatial[d], windows.dims[d].kernel, ranges[d] + p * spatial[d]);
      }
    }
    return Status::Ok;
  });
  ET_TRY(drawn);
  return maximum(call, self, output, indices, kRank, [&](int64_t n, int64_t c) {
    const int64_t p = n * channels + c;
    return Boxes{ranges[0] + p * spatial[0], ranges[1] + p * spatial[1], ranges[2] + p * spatial[2]};
  });
}

template <int kRank>
Status shape_of_fractional_max_pool_backward(Call& call, const Tensor& grad_output, const Tensor& self,
                                             IntList /*kernel_size*/, IntList /*output_size*/, const Tensor& indices,
                                             Tensor& grad_input) {
  return shape_of_adaptive_max_pool_backward<kRank>(call, grad_output, self, indices, grad_input);
}
template <int kRank>
Status fractional_max_pool_backward(Call& call, const Tensor& grad_output, const Tensor& /*self*/,
                                    IntList /*kernel_size*/, IntList /*output_size*/, const Tensor& indices,
                                    Tensor& grad_input) {
  return scatter_to_indices(call, grad_output, indices, grad_input, kRank, true);
}

// --- unpooling ---

template <int kRank>
Status shape_of_unpool(Call& call, const Tensor& self, const Tensor& indices, IntList output_size, Tensor& out) {
  ET_TRY(check_rank_between(call, self, kRank + 1, kRank + 2));
  ET_TRY(check_sizes(call, indices, self.sizes()));
  ET_ASSIGN(const auto spatial, read_output_size(call, output_size, kRank));
  return call.resize(out, sizes_like(self, kRank, spatial).all());
}
Status max_unpool2d(Call& call, const Tensor& self, const Tensor& indices, IntList /*output_size*/, Tensor& out) {
  return scatter_to_indices(call, self, indices, out, 2, false);
}
Status shape_of_unpool3d(Call& call, const Tensor& self, const Tensor& indices, IntList output_size, IntList /*stride*/,
                         IntList /*padding*/, Tensor& out) {
  return shape_of_unpool<3>(call, self, indices, output_size, out);
}
Status max_unpool3d(Call& call, const Tensor& self, const Tensor& indices, IntList /*output_size*/, IntList /*stride*/,
                    IntList /*padding*/, Tensor& out) {
  return scatter_to_indices(call, self, indices, out, 3, false);
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

constexpr Op kOps[] = {
    {"aten::avg_pool1d.out",
     "(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool "
     "count_include_pad=True, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_avg_pool1d>, bind<apart<avg_pool1d>>, kFacts},
    {"aten::avg_pool2d.out",
     "(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool "
     "count_include_pad=True, int? divisor_override=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_avg_pool<2>>, bind<apart<avg_pool<2>>>, kFacts},
    {"aten::avg_pool3d.out",
     "(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool "
     "count_include_pad=True, int? divisor_override=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_avg_pool<3>>, bind<apart<avg_pool<3>>>, kFacts},
    {"aten::avg_pool2d_backward.grad_input",
     "(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool "
     "count_include_pad, int? divisor_override, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<shape_of_avg_pool_backward<2>>, bind<apart<avg_pool_backward<2>>>, kFacts},
    {"aten::avg_pool3d_backward.grad_input",
     "(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool "
     "count_include_pad, int? divisor_override, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<shape_of_avg_pool_backward<3>>, bind<apart<avg_pool_backward<3>>>, kFacts},
    {"aten::adaptive_avg_pool1d.out", "(Tensor self, int[1] output_size, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_adaptive_avg_pool<1>>, bind<apart<adaptive_avg_pool<1>>>, kFacts},
    {"aten::_adaptive_avg_pool2d.out", "(Tensor self, SymInt[2] output_size, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_adaptive_avg_pool<2>>, bind<apart<adaptive_avg_pool<2>>>, kFacts},
    {"aten::adaptive_avg_pool2d.out", "(Tensor self, SymInt[2] output_size, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_adaptive_avg_pool<2>>, bind<apart<adaptive_avg_pool<2>>>, kFacts},
    {"aten::_adaptive_avg_pool3d.out", "(Tensor self, SymInt[3] output_size, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_adaptive_avg_pool<3>>, bind<apart<adaptive_avg_pool<3>>>, kFacts},
    {"aten::adaptive_avg_pool3d.out", "(Tensor self, SymInt[3] output_size, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_adaptive_avg_pool<3>>, bind<apart<adaptive_avg_pool<3>>>, kFacts},
    {"aten::_adaptive_avg_pool2d_backward.out", "(Tensor grad_output, Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_adaptive_avg_pool_backward<2>>, bind<apart<adaptive_avg_pool_backward<2>>>, kFacts},
    {"aten::_adaptive_avg_pool3d_backward.out", "(Tensor grad_output, Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_adaptive_avg_pool_backward<3>>, bind<apart<adaptive_avg_pool_backward<3>>>, kFacts},
    {"aten::adaptive_avg_pool3d_backward.grad_input",
     "(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<shape_of_adaptive_avg_pool_backward<3>>, bind<apart<adaptive_avg_pool_backward<3>>>, kFacts},
    {"aten::max_pool2d_with_indices.out",
     "(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, "
     "*, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
     bind<shape_of_max_pool<2>>, bind<apart<max_pool<2>>>, kFacts},
    {"aten::max_pool3d_with_indices.out",
     "(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False, "
     "*, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
     bind<shape_of_max_pool<3>>, bind<apart<max_pool<3>>>, kFacts},
    {"aten::max_pool2d_with_indices_backward.grad_input",
     "(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool "
     "ceil_mode, Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<shape_of_max_pool_backward<2>>, bind<apart<max_pool_backward<2>>>, kFacts},
    {"aten::max_pool3d_with_indices_backward.grad_input",
     "(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool "
     "ceil_mode, Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<shape_of_max_pool_backward<3>>, bind<apart<max_pool_backward<3>>>, kFacts},
    {"aten::adaptive_max_pool2d.out",
     "(Tensor self, int[2] output_size, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
     bind<shape_of_adaptive_max_pool<2>>, bind<apart<adaptive_max_pool<2>>>, kFacts},
    {"aten::adaptive_max_pool3d.out",
     "(Tensor self, int[3] output_size, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
     bind<shape_of_adaptive_max_pool<3>>, bind<apart<adaptive_max_pool<3>>>, kFacts},
    {"aten::adaptive_max_pool2d_backward.grad_input",
     "(Tensor grad_output, Tensor self, Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<shape_of_adaptive_max_pool_backward<2>>, bind<apart<adaptive_max_pool_backward<2>>>, kFacts},
    {"aten::adaptive_max_pool3d_backward.grad_input",
     "(Tensor grad_output, Tensor self, Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<shape_of_adaptive_max_pool_backward<3>>, bind<apart<adaptive_max_pool_backward<3>>>, kFacts},
    {"aten::fractional_max_pool2d.output",
     "(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples, *, Tensor(a!) output, Tensor(b!) "
     "indices) -> (Tensor(a!), Tensor(b!))",
     bind<shape_of_fractional_max_pool<2>>, bind<apart<fractional_max_pool<2>>>, kFacts},
    {"aten::fractional_max_pool3d.output",
     "(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples, *, Tensor(a!) output, Tensor(b!) "
     "indices) -> (Tensor(a!), Tensor(b!))",
     bind<shape_of_fractional_max_pool<3>>, bind<apart<fractional_max_pool<3>>>, kFacts},
    {"aten::fractional_max_pool2d_backward.grad_input",
     "(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor indices, *, Tensor(a!) "
     "grad_input) -> Tensor(a!)",
     bind<shape_of_fractional_max_pool_backward<2>>, bind<apart<fractional_max_pool_backward<2>>>, kFacts},
    {"aten::fractional_max_pool3d_backward.grad_input",
     "(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] output_size, Tensor indices, *, Tensor(a!) "
     "grad_input) -> Tensor(a!)",
     bind<shape_of_fractional_max_pool_backward<3>>, bind<apart<fractional_max_pool_backward<3>>>, kFacts},
    {"aten::max_unpool2d.out", "(Tensor self, Tensor indices, SymInt[2] output_size, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_unpool<2>>, bind<apart<max_unpool2d>>, kFacts},
    {"aten::max_unpool3d.out",
     "(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<shape_of_unpool3d>, bind<apart<max_unpool3d>>, kFacts},
};

}  // namespace

Table pool_ops() { return kOps; }

}  // namespace etrt::ops
