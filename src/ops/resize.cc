// Resizing of images.
//
// Every resizing is separable: along one dimension an output element is a weighted sum of a few
// neighbouring input elements, its taps. The modes differ in how taps are made; one engine applies them
// dimension by dimension, forward or, for gradients, backward.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/thread_pool.h"
#include "ops/apart.h"
#include "ops/convolve.h"
#include "ops/strided_copy.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements worth a thread

enum class Mode { kNearest, kNearestExact, kLinear, kCubic, kLinearSmooth, kCubicSmooth, kLanczosSmooth };

constexpr bool is_nearest(Mode mode) { return mode == Mode::kNearest || mode == Mode::kNearestExact; }
// Smooth modes widen their filter when the image shrinks, against aliasing.
constexpr bool is_smooth(Mode mode) { return mode >= Mode::kLinearSmooth; }
constexpr int64_t taps_of(Mode mode) {
  switch (mode) {
    case Mode::kNearest:
    case Mode::kNearestExact:
      return 1;
    case Mode::kLinear:
    case Mode::kLinearSmooth:
      return 2;
    case Mode::kCubic:
    case Mode::kCubicSmooth:
      return 4;
    case Mode::kLanczosSmooth:
      return 6;
  }
  return 0;
}

// The taps along one dimension: output o is the sum of weights[o * width + t] * input[first[o] + t], t < count[o].
template <class C>
struct Taps {
  int64_t in = 0;
  int64_t out = 0;
  int64_t width = 0;
  bool identity = false;
  int64_t* first = nullptr;
  int64_t* count = nullptr;
  C* weights = nullptr;
};

// One dimension of a resizing.
struct Axis {
  int64_t in = 1;
  int64_t out = 1;
  double factor = 0;  // as asked for; 0: the sizes decide
};

struct Resize {
  Mode mode;
  int rank;
  bool align_corners;
  std::array<Axis, kMaxSpatial> axes;
  bool backward = false;
  bool bytes = false;  // an 8-bit image, resized in integers
  bool snaps = true;   // see nearest_index
};

// Is an axis left as it is, though a factor may say otherwise? Eager decides this case by case.
bool passes_through(const Resize& resize, const Axis& axis) {
  if (axis.in != axis.out) {
    return false;
  }
  switch (resize.mode) {
    case Mode::kNearest:
      return resize.snaps;
    case Mode::kNearestExact:
      return false;
    case Mode::kLinear:
      return true;
    case Mode::kCubic:
      return resize.bytes;
    default:
      return !resize.backward;
  }
}

// Input positions per output position.
template <class C>
C step_of(const Axis& axis, bool align_corners) {
  if (align_corners) {
    return axis.out > 1 ? static_cast<C>(axis.in - 1) / static_cast<C>(axis.out - 1) : C{};
  }
  return axis.factor > 0 ? static_cast<C>(1.0 / axis.factor) : static_cast<C>(axis.in) / static_cast<C>(axis.out);
}

// A float as an index into `size` elements, whatever it is.
template <class C>
int64_t index_of(C value, int64_t size) {
  if (!(value > C{})) {
    return 0;
  }
  return value >= static_cast<C>(size - 1) ? size - 1 : static_cast<int64_t>(value);
}

// `snaps`: an image that keeps or doubles its size does so exactly, whatever factor was asked for.
template <class C>
int64_t nearest_index(const Axis& axis, C step, Mode mode, bool snaps, int64_t o) {
  if (snaps && (axis.out == axis.in || axis.out == 2 * axis.in)) {
    return axis.out == axis.in ? o : o / 2;
  }
  const C at = (static_cast<C>(o) + (mode == Mode::kNearestExact ? C{0.5} : C{})) * step;
  return index_of(std::floor(static_cast<float>(at)), axis.in);
}

template <class C>
C cubic_weight(C x, C a) {
  x = std::abs(x);
  if (x < 1) {
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  }
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : C{};
}

template <class C>
C filter(Mode mode, C x) {
  const auto sinc = [](C v) {
    const C angle = v * std::numbers::pi_v<C>;
    return v == 0 ? C{1} : std::sin(angle) / angle;
  };
  switch (mode) {
    case Mode::kLinear:
    case Mode::kLinearSmooth:
      return std::max(C{1} - std::abs(x), C{});
    case Mode::kCubic:
      return cubic_weight(x, C{-0.75});
    case Mode::kCubicSmooth:
      return cubic_weight(x, C{-0.5});
    case Mode::kLanczosSmooth:
      return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : C{};
    default:
      return C{1};
  }
}

// The position in the input, a fraction, that output `o` stands for.
template <class C>
C source_position(C step, bool align_corners, Mode mode, int64_t o) {
  if (align_corners) {
    return step * static_cast<C>(o);
  }
  const C position = step * (static_cast<C>(o) + C{0.5}) - C{0.5};
  return mode == Mode::kLinear && position < 0 ? C{} : position;
}

// Taps around a position; those beyond an edge count for the edge.
template <class C>
void fill_sharp_taps(const Axis& axis, Mode mode, bool align_corners, Taps<C>& taps) {
  const C step = step_of<C>(axis, align_corners);
  const int64_t reach = taps.width / 2;
  for (int64_t o = 0; o < axis.out; ++o) {
    const C position = source_position(step, align_corners, mode, o);
    const C floor = std::floor(position);
    const C fraction = std::clamp(position - floor, C{}, C{1});
    const int64_t left =
        floor < 0 ? std::max<int64_t>(static_cast<int64_t>(std::max(floor, C{-4})), -4) : index_of(floor, axis.in);
    C* weights = taps.weights + o * taps.width;
    std::fill(weights, weights + taps.width, C{});
    const int64_t first = std::clamp<int64_t>(left - reach + 1, 0, axis.in - 1);
    int64_t last = first;
    for (int64_t t = 0; t < taps.width; ++t) {
      const int64_t from_left = t - reach + 1;
      const int64_t at = std::clamp<int64_t>(left + from_left, 0, axis.in - 1);
      // The two weights of linear add up to exactly 1.
      weights[at - first] += mode == Mode::kLinear ? (t == 0 ? C{1} - fraction : fraction)
                                                   : filter(mode, fraction - static_cast<C>(from_left));
      last = std::max(last, at);
    }
    taps.first[o] = first;
    taps.count[o] = last - first + 1;
  }
}

// How far the widened filter of a smooth mode reaches.
template <class C>
C smooth_reach(const Axis& axis, Mode mode, bool align_corners) {
  return static_cast<C>(taps_of(mode)) / 2 * std::max(step_of<C>(axis, align_corners), C{1});
}

template <class C>
void fill_smooth_taps(const Axis& axis, Mode mode, bool align_corners, Taps<C>& taps) {
  const C step = step_of<C>(axis, align_corners);
  const C reach = smooth_reach<C>(axis, mode, align_corners);
  const C narrow = step >= 1 ? C{1} / step : C{1};
  for (int64_t o = 0; o < axis.out; ++o) {
    const C center = step * (static_cast<C>(o) + C{0.5});
    const int64_t first = index_of(center - reach + C{0.5}, axis.in);
    const int64_t end = index_of(center + reach + C{0.5}, axis.in + 1);
    const int64_t count = std::clamp<int64_t>(end - first, 0, taps.width);
    C* weights = taps.weights + o * taps.width;
    std::fill(weights, weights + taps.width, C{});
    C total{};
    for (int64_t t = 0; t < count; ++t) {
      weights[t] = filter(mode, (static_cast<C>(t + first) - center + C{0.5}) * narrow);
      total += weights[t];
    }
    for (int64_t t = 0; t < count && total != 0; ++t) {
      weights[t] /= total;
    }
    taps.first[o] = first;
    taps.count[o] = count;
  }
}

template <class C>
Taps<C> make_taps(Call& call, const Resize& resize, const Axis& axis) {
  const Mode mode = resize.mode;
  Taps<C> taps;
  taps.in = axis.in;
  taps.out = axis.out;
  taps.identity = passes_through(resize, axis);
  if (taps.identity) {
    return taps;
  }
  taps.width = taps_of(mode);
  if (is_smooth(mode)) {
    // A filter wider than the image covers it all.
    const C reach = smooth_reach<C>(axis, mode, resize.align_corners);
    taps.width = std::min(index_of(std::ceil(reach), axis.in + 1) * 2 + 1, axis.in);
  }
  taps.first = call.scratch<int64_t>(axis.out);
  taps.count = call.scratch<int64_t>(axis.out);
  taps.weights = call.scratch<C>(axis.out * taps.width);
  if (is_smooth(mode)) {
    fill_smooth_taps(axis, mode, resize.align_corners, taps);
  } else if (is_nearest(mode)) {
    const C step = step_of<C>(axis, false);
    for (int64_t o = 0; o < axis.out; ++o) {
      taps.first[o] = nearest_index(axis, step, mode, mode == Mode::kNearest && resize.snaps, o);
      taps.count[o] = 1;
      taps.weights[o] = C{1};
    }
  } else {
    fill_sharp_taps(axis, mode, resize.align_corners, taps);
  }
  return taps;
}

// --- the engine ---

// Calls body(n, c, i, j) in parallel for every line along dimension `d` of images of these sizes; i and j are the
// places in the other two dimensions.
template <class C, class Body>
void for_each_line(const Image<C>& image, size_t d, Body&& body) {
  const int64_t outer = image.sizes[d == 0 ? 1 : 0];
  const int64_t inner = image.sizes[d == 2 ? 1 : 2];
  const int64_t lines = image.batch * image.channels * outer * inner;
  parallel_for(lines, std::max<int64_t>(1, kGrain / std::max<int64_t>(image.sizes[d], 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t l = begin; l < end; ++l) {
                   const int64_t plane = l / (outer * inner);
                   body(plane / image.channels, plane % image.channels, l / inner % outer, l % inner);
                 }
               });
}

template <class C>
C* line_of(const Image<C>& image, size_t d, int64_t n, int64_t c, int64_t i, int64_t j) {
  return image.channel(n, c) + i * image.strides[d == 0 ? 1 : 0] + j * image.strides[d == 2 ? 1 : 2];
}

// to = taps of from, along dimension d.
template <class C>
void apply_along(const Taps<C>& taps, size_t d, const Image<C>& from, const Image<C>& to) {
  for_each_line(to, d, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
    const C* in = line_of(from, d, n, c, i, j);
    C* out = line_of(to, d, n, c, i, j);
    for (int64_t o = 0; o < taps.out; ++o) {
      const C* weights = taps.weights + o * taps.width;
      const C* source = in + taps.first[o] * from.strides[d];
      C sum{};
      for (int64_t t = 0; t < taps.count[o]; ++t) {
        sum += weights[t] * source[t * from.strides[d]];
      }
      out[o * to.strides[d]] = sum;
    }
  });
}

// The same for dimensions before the last of images whose last dimension is adjacent in memory: whole rows at a time.
template <class C>
void apply_to_rows(const Taps<C>& taps, size_t d, const Image<C>& from, const Image<C>& to) {
  const int64_t row = to.sizes[2];
  const int64_t others = to.sizes[d == 0 ? 1 : 0];
  parallel_for(to.batch * to.channels * others, std::max<int64_t>(1, kGrain / std::max<int64_t>(row * taps.out, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t l = begin; l < end; ++l) {
                   const int64_t plane = l / others;
                   const C* in = line_of(from, d, plane / to.channels, plane % to.channels, l % others, 0);
                   C* out = line_of(to, d, plane / to.channels, plane % to.channels, l % others, 0);
                   for (int64_t o = 0; o < taps.out; ++o) {
                     C* target = out + o * to.strides[d];
                     std::fill(target, target + row, C{});
                     for (int64_t t = 0; t < taps.count[o]; ++t) {
                       const C weight = taps.weights[o * taps.width + t];
                       const C* source = in + (taps.first[o] + t) * from.strides[d];
                       for (int64_t x = 0; x < row; ++x) {
                         target[x] += weight * source[x];
                       }
                     }
                   }
                 }
               });
}

template <class C>
void apply_taps(const Taps<C>& taps, size_t d, const Image<C>& from, const Image<C>& to) {
  if (d != 2 && (to.sizes[2] == 1 || (from.strides[2] == 1 && to.strides[2] == 1))) {
    apply_to_rows(taps, d, from, to);
  } else {
    apply_along(taps, d, from, to);
  }
}

// The gradient: from, shaped as the output, spreads to the inputs it was made of.
template <class C>
void apply_transposed(const Taps<C>& taps, size_t d, const Image<C>& from, const Image<C>& to) {
  for_each_line(to, d, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
    const C* in = line_of(from, d, n, c, i, j);
    C* out = line_of(to, d, n, c, i, j);
    for (int64_t x = 0; x < taps.in; ++x) {
      out[x * to.strides[d]] = C{};
    }
    for (int64_t o = 0; o < taps.out; ++o) {
      for (int64_t t = 0; t < taps.count[o]; ++t) {
        out[(taps.first[o] + t) * to.strides[d]] += taps.weights[o * taps.width + t] * in[o * from.strides[d]];
      }
    }
  });
}

template <class C>
using Axes = std::array<Taps<C>, kMaxSpatial>;

template <class C>
Image<C> scratch_image(Call& call, const Image<C>& like, const std::array<int64_t, kMaxSpatial>& sizes) {
  return image_of<C>(
      call.scratch_tensor(kDTypeOf<C>, std::array{like.batch, like.channels, sizes[0], sizes[1], sizes[2]}));
}

// Runs the taps dimension by dimension, the last one first, through temporary images.
template <class C, class Apply>
void run_axes(Call& call, const Axes<C>& axes, const Image<C>& from, const Image<C>& to, Apply&& apply) {
  std::array<size_t, kMaxSpatial> order{};
  size_t count = 0;
  for (size_t d = kMaxSpatial; d-- > 0;) {
    if (!axes[d].identity) {
      order[count++] = d;
    }
  }
  if (count == 0) {
    const std::array sizes{to.batch, to.channels, to.sizes[0], to.sizes[1], to.sizes[2]};
    strided_copy(sizeof(C), sizes, from.data,
                 std::array{from.batch_stride, from.channel_stride, from.strides[0], from.strides[1], from.strides[2]},
                 to.data, std::array{to.batch_stride, to.channel_stride, to.strides[0], to.strides[1], to.strides[2]});
    return;
  }
  Image<C> source = from;
  for (size_t i = 0; i < count; ++i) {
    const size_t d = order[i];
    Image<C> target = to;
    if (i + 1 < count) {
      std::array sizes = source.sizes;
      sizes[d] = to.sizes[d];
      target = scratch_image(call, source, sizes);
    }
    apply(axes[d], d, source, target);
    source = target;
  }
}

// --- 8-bit images: weights are integers with a common scale, each pass rounds ---

struct ByteTaps {
  int64_t* first = nullptr;
  int64_t* count = nullptr;
  int64_t width = 0;
  int64_t out = 0;
  bool identity = false;
  int16_t* weights = nullptr;
  int precision = 0;  // weights are multiples of 2^-precision
};

ByteTaps to_bytes(Call& call, const Taps<double>& taps) {
  ByteTaps bytes{taps.first, taps.count, taps.width, taps.out, taps.identity};
  if (taps.identity) {
    return bytes;
  }
  const int64_t count = taps.out * taps.width;
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, taps.weights[i]);
  }
  while (bytes.precision < 22 && 0.5 + largest * static_cast<double>(1 << (bytes.precision + 1)) < (1 << 15)) {
    ++bytes.precision;
  }
  bytes.weights = call.scratch<int16_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    const double scaled = taps.weights[i] * static_cast<double>(1 << bytes.precision);
    bytes.weights[i] = static_cast<int16_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  }
  return bytes;
}

void apply_bytes(const ByteTaps& taps, size_t d, const Image<uint8_t>& from, const Image<uint8_t>& to) {
  const int32_t half = taps.precision > 0 ? 1 << (taps.precision - 1) : 0;
  for_each_line(to, d, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
    const uint8_t* in = line_of(from, d, n, c, i, j);
    uint8_t* out = line_of(to, d, n, c, i, j);
    for (int64_t o = 0; o < taps.out; ++o) {
      const uint8_t* source = in + taps.first[o] * from.strides[d];
      int64_t sum = half;
      for (int64_t t = 0; t < taps.count[o]; ++t) {
        sum += int64_t{taps.weights[o * taps.width + t]} * source[t * from.strides[d]];
      }
      out[o * to.strides[d]] = static_cast<uint8_t>(std::clamp<int64_t>(sum >> taps.precision, 0, 255));
    }
  });
}

Image<uint8_t> byte_image(const Tensor& t) {
  Image<uint8_t> image;
  image.data = t.as<uint8_t>();
  image.batch = t.size(0);
  image.channels = t.size(1);
  image.batch_stride = t.stride(0);
  image.channel_stride = t.stride(1);
  for (int d = 2; d < t.rank(); ++d) {
    const auto i = static_cast<size_t>(kMaxSpatial - t.rank() + d);
    image.sizes[i] = t.size(d);
    image.strides[i] = t.stride(d);
  }
  return image;
}

// --- resizing ---

using Factors = std::array<std::optional<double>, kMaxSpatial>;  // outermost first, as many as the rank

// Sizes, output sizes and factors by dimension.
Result<Resize> read_resize(const Call& call, Mode mode, int rank, IntList input_sizes, IntList output_size,
                           bool align_corners, const Factors& factors) {
  if (input_sizes.size() != static_cast<size_t>(rank + 2)) {
    return call.fail(Status::InvalidArgument, "the image has rank {}, expected {}", input_sizes.size(), rank + 2);
  }
  if (output_size.size() != static_cast<size_t>(rank)) {
    return call.fail(Status::InvalidArgument, "output_size has {} values, expected {}", output_size.size(), rank);
  }
  Resize resize{mode, rank, align_corners, {}};
  for (int i = 0; i < rank; ++i) {
    const auto u = static_cast<size_t>(i);
    Axis& axis = resize.axes[static_cast<size_t>(kMaxSpatial - rank + i)];
    axis = {input_sizes[u + 2], output_size[u], factors[u].value_or(0)};
    if (axis.in < 1 || axis.out < 1) {
      return call.fail(Status::InvalidArgument, "can't resize {} positions to {}", axis.in, axis.out);
    }
    if (!std::isfinite(axis.factor)) {
      return call.fail(Status::InvalidArgument, "a scale is {}", axis.factor);
    }
  }
  return resize;
}

std::array<int64_t, 5> sizes_with(const Resize& resize, int64_t batch, int64_t channels, bool out) {
  std::array<int64_t, 5> sizes{batch, channels};
  for (int i = 0; i < resize.rank; ++i) {
    const Axis& axis = resize.axes[static_cast<size_t>(kMaxSpatial - resize.rank + i)];
    sizes[static_cast<size_t>(i + 2)] = out ? axis.out : axis.in;
  }
  return sizes;
}

Status shape_of_resize(Call& call, const Resize& resize, const Tensor& self, Tensor& out) {
  const std::array sizes = sizes_with(resize, self.size(0), self.size(1), true);
  return call.resize(out, std::span(sizes).first(static_cast<size_t>(resize.rank + 2)));
}

template <class C>
Axes<C> make_axes(Call& call, const Resize& resize) {
  Axes<C> axes;
  for (size_t d = 0; d < kMaxSpatial; ++d) {
    const bool present = kMaxSpatial - static_cast<int>(d) <= resize.rank;
    if (present) {
      axes[d] = make_taps<C>(call, resize, resize.axes[d]);
    } else {
      axes[d].identity = true;
    }
  }
  return axes;
}

template <class T>
void copy_nearest(const Axes<double>& axes, const Image<T>& from, const Image<T>& to) {
  const auto source = [&](size_t d, int64_t o) { return axes[d].identity ? o : axes[d].first[o]; };
  const int64_t rows = to.sizes[0] * to.sizes[1];
  parallel_for(
      to.batch * to.channels * rows, std::max<int64_t>(1, kGrain / to.sizes[2]), [&](int64_t begin, int64_t end) {
        for (int64_t l = begin; l < end; ++l) {
          const int64_t plane = l / rows;
          const int64_t z = l % rows / to.sizes[1];
          const int64_t y = l % to.sizes[1];
          const T* in =
              from.channel(plane / to.channels, plane % to.channels) + from.offset(source(0, z), source(1, y), 0);
          T* out = to.channel(plane / to.channels, plane % to.channels) + to.offset(z, y, 0);
          for (int64_t x = 0; x < to.sizes[2]; ++x) {
            out[x * to.strides[2]] = in[source(2, x) * from.strides[2]];
          }
        }
      });
}

template <class T>
Image<T> raw_image(const Tensor& t) {
  const Image<uint8_t> bytes = byte_image(t);
  return {t.as<T>(), bytes.batch, bytes.channels, bytes.batch_stride, bytes.channel_stride, bytes.sizes, bytes.strides};
}

// Nearest neighbours move elements of any dtype. Positions are computed as floats, for float64 in double.
Status resize_nearest(Call& call, const Resize& resize, const Tensor& self, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  if (out.numel() == 0) {
    return Status::Ok;
  }
  Axes<double> axes;
  if (self.dtype == DType::Float64) {
    axes = make_axes<double>(call, resize);
  } else {
    const Axes<float> narrow = make_axes<float>(call, resize);
    for (size_t d = 0; d < kMaxSpatial; ++d) {
      axes[d].identity = narrow[d].identity;
      axes[d].first = narrow[d].first;
    }
  }
  switch (self.element_size()) {
    case 1:
      copy_nearest(axes, raw_image<uint8_t>(self), raw_image<uint8_t>(out));
      break;
    case 2:
      copy_nearest(axes, raw_image<uint16_t>(self), raw_image<uint16_t>(out));
      break;
    case 4:
      copy_nearest(axes, raw_image<uint32_t>(self), raw_image<uint32_t>(out));
      break;
    case 8:
      copy_nearest(axes, raw_image<uint64_t>(self), raw_image<uint64_t>(out));
      break;
    default:
      return refuse_dtype(call, self.dtype);
  }
  return Status::Ok;
}

Status resize_bytes(Call& call, const Resize& resize, const Tensor& self, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  if (out.numel() == 0) {
    return Status::Ok;
  }
  const Axes<double> axes = make_axes<double>(call, resize);
  Image<uint8_t> source = byte_image(self);
  const Image<uint8_t> to = byte_image(out);
  for (size_t d = kMaxSpatial; d-- > 0;) {
    const ByteTaps taps = to_bytes(call, axes[d]);
    if (!taps.identity) {
      std::array sizes = source.sizes;
      sizes[d] = to.sizes[d];
      const Image<uint8_t> target = byte_image(
          call.scratch_tensor(DType::UInt8, std::array{source.batch, source.channels, sizes[0], sizes[1], sizes[2]}));
      apply_bytes(taps, d, source, target);
      source = target;
    }
  }
  strided_copy(
      1, std::array{to.batch, to.channels, to.sizes[0], to.sizes[1], to.sizes[2]}, source.data,
      std::array{source.batch_stride, source.channel_stride, source.strides[0], source.strides[1], source.strides[2]},
      to.data, std::array{to.batch_stride, to.channel_stride, to.strides[0], to.strides[1], to.strides[2]});
  return Status::Ok;
}

Status resize_image(Call& call, Resize resize, const Tensor& self, Tensor& out) {
  if (is_nearest(resize.mode)) {
    resize.snaps = resize.rank == 2 || (resize.rank == 3 && self.stride(1) == 1 && self.size(1) > 1);
    return resize_nearest(call, resize, self, out);
  }
  if (self.dtype == DType::UInt8 && out.dtype == DType::UInt8) {
    resize.bytes = true;
    return resize_bytes(call, resize, self, out);
  }
  return visit_float(call, self.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&self, &out}));
    const OutputOf<C> target(call, out);
    const Image<C> to = image_of<C>(target.tensor());
    if (!to.empty()) {
      run_axes<C>(call, make_axes<C>(call, resize), image_of<C>(load_as<C>(call, self)), to, apply_taps<C>);
    }
    target.finish();
    return Status::Ok;
  });
}

Status resize_backward(Call& call, Resize resize, const Tensor& grad_output, Tensor& grad_input) {
  resize.backward = true;
  return visit_float(call, grad_output.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&grad_output, &grad_input}));
    const OutputOf<C> target(call, grad_input);
    const Image<C> to = image_of<C>(target.tensor());
    if (!to.empty()) {
      run_axes<C>(call, make_axes<C>(call, resize), image_of<C>(load_as<C>(call, grad_output)), to,
                  apply_transposed<C>);
    }
    target.finish();
    return Status::Ok;
  });
}

// One operator of a mode, by rank and whether it has align_corners. `kShape`: only size the output.
using Factor = std::optional<double>;

template <Mode kMode, bool kShape>
Status resize_any(Call& call, const Tensor& self, IntList output_size, bool align_corners, int rank,
                  const Factors& factors, Tensor& out) {
  ET_ASSIGN(const Resize resize, read_resize(call, kMode, rank, self.sizes(), output_size, align_corners, factors));
  return kShape ? shape_of_resize(call, resize, self, out) : resize_image(call, resize, self, out);
}
template <Mode kMode, bool kShape>
Status nearest1d(Call& call, const Tensor& self, IntList size, Factor x, Tensor& out) {
  return resize_any<kMode, kShape>(call, self, size, false, 1, {x}, out);
}
template <Mode kMode, bool kShape>
Status nearest2d(Call& call, const Tensor& self, IntList size, Factor y, Factor x, Tensor& out) {
  return resize_any<kMode, kShape>(call, self, size, false, 2, {y, x}, out);
}
template <Mode kMode, bool kShape>
Status nearest3d(Call& call, const Tensor& self, IntList size, Factor z, Factor y, Factor x, Tensor& out) {
  return resize_any<kMode, kShape>(call, self, size, false, 3, {z, y, x}, out);
}
template <Mode kMode, bool kShape>
Status linear1d(Call& call, const Tensor& self, IntList size, bool align_corners, Factor x, Tensor& out) {
  return resize_any<kMode, kShape>(call, self, size, align_corners, 1, {x}, out);
}
template <Mode kMode, bool kShape>
Status linear2d(Call& call, const Tensor& self, IntList size, bool align_corners, Factor y, Factor x, Tensor& out) {
  return resize_any<kMode, kShape>(call, self, size, align_corners, 2, {y, x}, out);
}
template <Mode kMode, bool kShape>
Status linear3d(Call& call, const Tensor& self, IntList size, bool align_corners, Factor z, Factor y, Factor x,
                Tensor& out) {
  return resize_any<kMode, kShape>(call, self, size, align_corners, 3, {z, y, x}, out);
}

// Either the sizes or the factors are given.
template <Mode kMode, bool kShape>
Status resize_vec(Call& call, const Tensor& input, std::optional<IntList> output_size, bool align_corners,
                  std::optional<DoubleList> scale_factors, Tensor& out) {
  std::array<int64_t, 2> sizes{};
  Factors factors{};
  if (output_size.has_value() == scale_factors.has_value()) {
    return call.fail(Status::InvalidArgument, "expected one of output_size and scale_factors");
  }
  ET_TRY(check_rank(call, input, 4));
  if ((output_size ? output_size->size() : scale_factors->size()) != 2) {
    return call.fail(Status::InvalidArgument, "expected two output sizes or scale factors");
  }
  for (size_t i = 0; i < 2; ++i) {
    if (output_size) {
      sizes[i] = (*output_size)[i];
      continue;
    }
    factors[i] = (*scale_factors)[i];
    const double size = static_cast<double>(input.sizes()[i + 2]) * *factors[i];
    if (!(size >= 1 && size < 9.0e15)) {
      return call.fail(Status::InvalidArgument, "a scale of {} makes no image of {} positions", *factors[i],
                       input.sizes()[i + 2]);
    }
    sizes[i] = static_cast<int64_t>(size);
  }
  return resize_any<kMode, kShape>(call, input, sizes, align_corners, 2, factors, out);
}
template <bool kShape>
Status nearest2d_vec(Call& call, const Tensor& input, std::optional<IntList> output_size,
                     std::optional<DoubleList> scale_factors, Tensor& out) {
  return resize_vec<Mode::kNearest, kShape>(call, input, output_size, false, scale_factors, out);
}

template <Mode kMode, bool kShape>
Status backward_any(Call& call, const Tensor& grad_output, IntList output_size, IntList input_size, bool align_corners,
                    int rank, const Factors& factors, Tensor& grad_input) {
  ET_ASSIGN(const Resize resize, read_resize(call, kMode, rank, input_size, output_size, align_corners, factors));
  if (!kShape) {
    return resize_backward(call, resize, grad_output, grad_input);
  }
  const std::array sizes = sizes_with(resize, input_size[0], input_size[1], true);
  ET_TRY(check_sizes(call, grad_output, std::span(sizes).first(static_cast<size_t>(rank + 2))));
  return call.resize(grad_input, input_size);
}
template <Mode kMode, bool kShape>
Status nearest1d_backward(Call& call, const Tensor& grad, IntList out, IntList in, Factor x, Tensor& result) {
  return backward_any<kMode, kShape>(call, grad, out, in, false, 1, {x}, result);
}
template <Mode kMode, bool kShape>
Status nearest2d_backward(Call& call, const Tensor& grad, IntList out, IntList in, Factor y, Factor x, Tensor& result) {
  return backward_any<kMode, kShape>(call, grad, out, in, false, 2, {y, x}, result);
}
template <Mode kMode, bool kShape>
Status nearest3d_backward(Call& call, const Tensor& grad, IntList out, IntList in, Factor z, Factor y, Factor x,
                          Tensor& result) {
  return backward_any<kMode, kShape>(call, grad, out, in, false, 3, {z, y, x}, result);
}
template <Mode kMode, bool kShape>
Status linear1d_backward(Call& call, const Tensor& grad, IntList out, IntList in, bool align_corners, Factor x,
                         Tensor& result) {
  return backward_any<kMode, kShape>(call, grad, out, in, align_corners, 1, {x}, result);
}
template <Mode kMode, bool kShape>
Status linear2d_backward(Call& call, const Tensor& grad, IntList out, IntList in, bool align_corners, Factor y,
                         Factor x, Tensor& result) {
  return backward_any<kMode, kShape>(call, grad, out, in, align_corners, 2, {y, x}, result);
}
template <Mode kMode, bool kShape>
Status linear3d_backward(Call& call, const Tensor& grad, IntList out, IntList in, bool align_corners, Factor z,
                         Factor y, Factor x, Tensor& result) {
  return backward_any<kMode, kShape>(call, grad, out, in, align_corners, 3, {z, y, x}, result);
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

constexpr Op kOps[] = {
    {"aten::upsample_nearest1d.out",
     "(Tensor self, SymInt[1] output_size, float? scales=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<nearest1d<Mode::kNearest, true>>, bind<apart<nearest1d<Mode::kNearest, false>>>, kFacts},
    {"aten::upsample_nearest1d_backward.grad_input",
     "(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None, *, Tensor(a!) grad_input) "
     "-> Tensor(a!)",
     bind<nearest1d_backward<Mode::kNearest, true>>, bind<apart<nearest1d_backward<Mode::kNearest, false>>>, kFacts},
    {"aten::upsample_nearest2d.out",
     "(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<nearest2d<Mode::kNearest, true>>, bind<apart<nearest2d<Mode::kNearest, false>>>, kFacts},
    {"aten::upsample_nearest2d_backward.grad_input",
     "(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None, *, "
     "Tensor(a!) grad_input) -> Tensor(a!)",
     bind<nearest2d_backward<Mode::kNearest, true>>, bind<apart<nearest2d_backward<Mode::kNearest, false>>>, kFacts},
    {"aten::upsample_nearest3d.out",
     "(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<nearest3d<Mode::kNearest, true>>, bind<apart<nearest3d<Mode::kNearest, false>>>, kFacts},
    {"aten::upsample_nearest3d_backward.grad_input",
     "(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, "
     "float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<nearest3d_backward<Mode::kNearest, true>>, bind<apart<nearest3d_backward<Mode::kNearest, false>>>, kFacts},
    {"aten::_upsample_nearest_exact1d.out",
     "(Tensor self, SymInt[1] output_size, float? scales=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<nearest1d<Mode::kNearestExact, true>>, bind<apart<nearest1d<Mode::kNearestExact, false>>>, kFacts},
    {"aten::_upsample_nearest_exact1d_backward.grad_input",
     "(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None, *, Tensor(a!) grad_input) "
     "-> Tensor(a!)",
     bind<nearest1d_backward<Mode::kNearestExact, true>>, bind<apart<nearest1d_backward<Mode::kNearestExact, false>>>,
     kFacts},
    {"aten::_upsample_nearest_exact2d.out",
     "(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<nearest2d<Mode::kNearestExact, true>>, bind<apart<nearest2d<Mode::kNearestExact, false>>>, kFacts},
    {"aten::_upsample_nearest_exact2d_backward.grad_input",
     "(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None, *, "
     "Tensor(a!) grad_input) -> Tensor(a!)",
     bind<nearest2d_backward<Mode::kNearestExact, true>>, bind<apart<nearest2d_backward<Mode::kNearestExact, false>>>,
     kFacts},
    {"aten::_upsample_nearest_exact3d.out",
     "(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<nearest3d<Mode::kNearestExact, true>>, bind<apart<nearest3d<Mode::kNearestExact, false>>>, kFacts},
    {"aten::_upsample_nearest_exact3d_backward.grad_input",
     "(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, "
     "float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<nearest3d_backward<Mode::kNearestExact, true>>, bind<apart<nearest3d_backward<Mode::kNearestExact, false>>>,
     kFacts},
    {"aten::upsample_linear1d.out",
     "(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<linear1d<Mode::kLinear, true>>, bind<apart<linear1d<Mode::kLinear, false>>>, kFacts},
    {"aten::upsample_linear1d_backward.grad_input",
     "(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, bool align_corners, float? scales=None, *, "
     "Tensor(a!) grad_input) -> Tensor(a!)",
     bind<linear1d_backward<Mode::kLinear, true>>, bind<apart<linear1d_backward<Mode::kLinear, false>>>, kFacts},
    {"aten::upsample_bilinear2d.out",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<linear2d<Mode::kLinear, true>>, bind<apart<linear2d<Mode::kLinear, false>>>, kFacts},
    {"aten::upsample_bilinear2d_backward.grad_input",
     "(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, "
     "float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<linear2d_backward<Mode::kLinear, true>>, bind<apart<linear2d_backward<Mode::kLinear, false>>>, kFacts},
    {"aten::upsample_trilinear3d.out",
     "(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? "
     "scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<linear3d<Mode::kLinear, true>>, bind<apart<linear3d<Mode::kLinear, false>>>, kFacts},
    {"aten::upsample_trilinear3d_backward.grad_input",
     "(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, bool align_corners, float? scales_d=None, "
     "float? scales_h=None, float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<linear3d_backward<Mode::kLinear, true>>, bind<apart<linear3d_backward<Mode::kLinear, false>>>, kFacts},
    {"aten::upsample_bicubic2d.out",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<linear2d<Mode::kCubic, true>>, bind<apart<linear2d<Mode::kCubic, false>>>, kFacts},
    {"aten::upsample_bicubic2d_backward.grad_input",
     "(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, "
     "float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<linear2d_backward<Mode::kCubic, true>>, bind<apart<linear2d_backward<Mode::kCubic, false>>>, kFacts},
    {"aten::_upsample_bilinear2d_aa.out",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<linear2d<Mode::kLinearSmooth, true>>, bind<apart<linear2d<Mode::kLinearSmooth, false>>>, kFacts},
    {"aten::_upsample_bilinear2d_aa_backward.grad_input",
     "(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, "
     "float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<linear2d_backward<Mode::kLinearSmooth, true>>, bind<apart<linear2d_backward<Mode::kLinearSmooth, false>>>,
     kFacts},
    {"aten::_upsample_bicubic2d_aa.out",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<linear2d<Mode::kCubicSmooth, true>>, bind<apart<linear2d<Mode::kCubicSmooth, false>>>, kFacts},
    {"aten::_upsample_bicubic2d_aa_backward.grad_input",
     "(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, "
     "float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<linear2d_backward<Mode::kCubicSmooth, true>>, bind<apart<linear2d_backward<Mode::kCubicSmooth, false>>>,
     kFacts},
    {"aten::_upsample_lanczos2d_aa.out",
     "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<linear2d<Mode::kLanczosSmooth, true>>, bind<apart<linear2d<Mode::kLanczosSmooth, false>>>, kFacts},
    {"aten::_upsample_lanczos2d_aa_backward.grad_input",
     "(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, "
     "float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)",
     bind<linear2d_backward<Mode::kLanczosSmooth, true>>, bind<apart<linear2d_backward<Mode::kLanczosSmooth, false>>>,
     kFacts},
    {"aten::upsample_nearest2d.vec_out",
     "(Tensor input, SymInt[]? output_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)",
     bind<nearest2d_vec<true>>, bind<apart<nearest2d_vec<false>>>, kFacts},
    {"aten::upsample_bilinear2d.vec_out",
     "(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<resize_vec<Mode::kLinear, true>>, bind<apart<resize_vec<Mode::kLinear, false>>>, kFacts},
};

}  // namespace

Table resize_ops() { return kOps; }

}  // namespace etrt::ops
