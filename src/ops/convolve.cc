#include "ops/convolve.h"

#include <algorithm>

#include "ops/gemm.h"
#include "ops/strided_copy.h"

namespace etrt::ops {
namespace {

constexpr int64_t kGrain = 1 << 15;        // multiplications worth a thread
constexpr int64_t kColumnLimit = 1 << 20;  // elements of a column matrix held at a time

int64_t grain_of(int64_t cost) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(cost, 1)); }

// Place of a window in reading order.
struct WindowIndex {
  int64_t z;
  int64_t y;
  int64_t x;

  WindowIndex(const Windows& w, int64_t index)
      : z(index / w[2].out / w[1].out), y(index / w[2].out % w[1].out), x(index % w[2].out) {}
  void next(const Windows& w) {
    if (++x == w[2].out) {
      x = 0;
      if (++y == w[1].out) {
        y = 0;
        ++z;
      }
    }
  }
};

// Where a window or a tap lies. `offset` is that of the position in memory, if it is inside the image.
struct Place {
  int64_t z;
  int64_t y;
  int64_t x;
  int64_t offset;
};

// A row of the window matrix: a channel and a tap.
struct Row {
  Place tap;  // from the window's start
  int64_t channel_offset;
};

// The windows of one group of channels as a matrix: rows are channel and tap, columns are windows.
template <class C>
class WindowMatrix {
 public:
  // `channels_last`: rows are in the order tap, channel instead of channel, tap.
  WindowMatrix(Call& call, const Image<C>& image, const Windows& windows, int64_t channels, bool channels_last)
      : image_(image), w_(windows), count_(channels * windows.taps()), rows_(call.scratch<Row>(count_)) {
    const int64_t taps = w_.taps();
    for (int64_t t = 0; t < taps; ++t) {
      const Place tap = tap_place(t);
      for (int64_t c = 0; c < channels; ++c) {
        rows_[channels_last ? t * channels + c : c * taps + t] = {tap, c * image.channel_stride};
      }
    }
  }

  int64_t rows() const { return count_; }

  // Columns [first, first + count) of rows [k0, k0 + depth) as a strip. `data` is the group's first channel.
  void pack(const C* data, int64_t first, int64_t count, int64_t k0, int64_t depth, C* strip) const {
    constexpr int64_t kWidth = kStripColumns<C>;
    Place starts[kWidth];
    WindowIndex index(w_, first);
    bool inside = true;
    bool adjacent = count == kWidth;
    for (int64_t l = 0; l < count; ++l, index.next(w_)) {
      starts[l] = start_of(index);
      inside = inside && is_inside(starts[l]);
      adjacent = adjacent && starts[l].offset == starts[0].offset + l;
    }
    for (int64_t p = 0; p < depth; ++p) {
      const Row& row = rows_[k0 + p];
      const C* channel = data + row.channel_offset;
      C* to = strip + p * kWidth;
      if (inside && adjacent) {
        std::copy_n(channel + row.tap.offset + starts[0].offset, kWidth, to);
      } else if (inside) {
        for (int64_t l = 0; l < count; ++l) {
          to[l] = channel[row.tap.offset + starts[l].offset];
        }
      } else {
        for (int64_t l = 0; l < count; ++l) {
          to[l] = at(channel, starts[l], row.tap);
        }
      }
      std::fill(to + count, to + kWidth, C{});
    }
  }

  // The transposed matrix: lanes are rows [first, first + count), depth runs over columns.
  void pack_transposed(const C* data, int64_t first, int64_t count, int64_t k0, int64_t depth, C* strip) const {
    constexpr int64_t kWidth = kStripColumns<C>;
    WindowIndex index(w_, k0);
    for (int64_t p = 0; p < depth; ++p, index.next(w_)) {
      const Place start = start_of(index);
      C* to = strip + p * kWidth;
      for (int64_t l = 0; l < count; ++l) {
        const Row& row = rows_[first + l];
        to[l] = at(data + row.channel_offset, start, row.tap);
      }
      std::fill(to + count, to + kWidth, C{});
    }
  }

 private:
  Place tap_place(int64_t t) const {
    Place tap{t / w_[2].kernel / w_[1].kernel * w_[0].dilation, t / w_[2].kernel % w_[1].kernel * w_[1].dilation,
              t % w_[2].kernel * w_[2].dilation, 0};
    // A tap beyond the image's size is in no window that lies inside: its offset is never used.
    if (tap.z < image_.sizes[0] && tap.y < image_.sizes[1] && tap.x < image_.sizes[2]) {
      tap.offset = image_.offset(tap.z, tap.y, tap.x);
    }
    return tap;
  }
  Place start_of(const WindowIndex& index) const {
    Place start{w_[0].start(index.z), w_[1].start(index.y), w_[2].start(index.x), 0};
    if (is_inside(start)) {
      start.offset = image_.offset(start.z, start.y, start.x);
    }
    return start;
  }
  bool is_inside(const Place& s) const {
    return s.z >= 0 && s.y >= 0 && s.x >= 0 && s.z + w_[0].span() <= image_.sizes[0] &&
           s.y + w_[1].span() <= image_.sizes[1] && s.x + w_[2].span() <= image_.sizes[2];
  }
  C at(const C* channel, const Place& start, const Place& tap) const {
    const int64_t z = start.z + tap.z;
    const int64_t y = start.y + tap.y;
    const int64_t x = start.x + tap.x;
    const bool inside = z >= 0 && z < image_.sizes[0] && y >= 0 && y < image_.sizes[1] && x >= 0 && x < image_.sizes[2];
    return inside ? channel[image_.offset(z, y, x)] : C{};
  }

  const Image<C>& image_;
  const Windows& w_;
  int64_t count_;
  Row* rows_;
};

// Calls body(window row (oz, oy), first x window, count, image offset of the first one) for each run of windows
// along x whose tap (kz, ky, kx) lies inside the image.
template <class C, class Body>
void for_each_run(const Windows& w, const Image<C>& image, int64_t kz, int64_t ky, int64_t kx, Body&& body) {
  const int64_t first = w[2].first_inside(kx);
  const int64_t count = w[2].last_inside(kx) - first;
  if (count <= 0) {
    return;
  }
  const int64_t x = w[2].start(first) + kx * w[2].dilation;
  for (int64_t oz = w[0].first_inside(kz); oz < w[0].last_inside(kz); ++oz) {
    const int64_t z = w[0].start(oz) + kz * w[0].dilation;
    for (int64_t oy = w[1].first_inside(ky); oy < w[1].last_inside(ky); ++oy) {
      const int64_t y = w[1].start(oy) + ky * w[1].dilation;
      body(oz, oy, first, count, image.offset(z, y, x));
    }
  }
}

// Distance in the image between neighbouring windows of a run of `count`.
template <class C>
int64_t run_step(const Windows& w, const Image<C>& image, int64_t count) {
  return count > 1 ? w[2].stride * image.strides[2] : 0;
}

template <class C>
void add_scaled(int64_t n, C w, const C* in, int64_t in_step, C* out, int64_t out_step) {
  if (in_step == 1 && out_step == 1) {
    for (int64_t x = 0; x < n; ++x) {
      out[x] = plus(out[x], times(w, in[x]));
    }
    return;
  }
  for (int64_t x = 0; x < n; ++x) {
    out[x * out_step] = plus(out[x * out_step], times(w, in[x * in_step]));
  }
}

template <class C>
void add_run(int64_t n, const C* in, int64_t in_step, C* out, int64_t out_step) {
  for (int64_t x = 0; x < n; ++x) {
    out[x * out_step] = plus(out[x * out_step], in[x * in_step]);
  }
}

template <class C>
void fill_with_bias(const Image<C>& image, const C* bias) {
  for (int64_t n = 0; n < image.batch; ++n) {
    for (int64_t c = 0; c < image.channels; ++c) {
      const C value = bias == nullptr ? C{} : bias[c];
      strided_fill(sizeof(C), image.sizes, &value, image.channel(n, c), image.strides);
    }
  }
}

// The weight as a matrix with a row for each index of dimension 0. Columns are in the order channel, tap or, with
// `channels_last`, tap, channel. Copies only where memory has another order.
template <class C>
Matrix weight_matrix(Call& call, const Tensor& weight, bool channels_last) {
  const auto rank = static_cast<size_t>(weight.rank());
  std::array<int64_t, kMaxRank> sizes{};
  std::array<int64_t, kMaxRank> strides{};
  for (size_t d = 0; d < rank; ++d) {
    const size_t from = !channels_last || d == 0 ? d : d + 1 == rank ? 1 : d + 1;
    sizes[d] = weight.sizes()[from];
    strides[d] = weight.strides()[from];
  }
  const int64_t columns = weight.numel() / std::max<int64_t>(weight.size(0), 1);
  Tensor rows = Tensor::view(weight.data, weight.dtype, {sizes.data(), rank});
  bool in_order = true;
  for (size_t d = 0; d < rank; ++d) {
    in_order = in_order && (sizes[d] == 1 || strides[d] == rows.strides()[d]);
  }
  if (in_order) {
    return {weight.data, weight.dtype, columns, 1};
  }
  C* copy = call.scratch<C>(weight.numel());
  (void)strided_convert(rows.sizes(), weight.dtype, weight.data, {strides.data(), rank}, kDTypeOf<C>, copy,
                        rows.strides());
  return {copy, kDTypeOf<C>, columns, 1};
}

// One fine channel for each group: tap by tap along the rows of the result. `weights` is row-major.
template <class C>
void correlate_rows(const Convolution& conv, const Image<C>& fine, const C* weights, const Image<C>& coarse) {
  const Windows& w = conv.windows;
  const int64_t multiplier = coarse.channels / conv.groups;
  const auto run_channel = [&](int64_t n, int64_t c) {
    const C* in = fine.channel(n, c / multiplier);
    C* out = coarse.channel(n, c);
    const C* tap = weights + c * w.taps();
    for (int64_t kz = 0; kz < w[0].kernel; ++kz) {
      for (int64_t ky = 0; ky < w[1].kernel; ++ky) {
        for (int64_t kx = 0; kx < w[2].kernel; ++kx, ++tap) {
          for_each_run(w, fine, kz, ky, kx, [&](int64_t oz, int64_t oy, int64_t x, int64_t count, int64_t from) {
            add_scaled(count, *tap, in + from, run_step(w, fine, count), out + coarse.offset(oz, oy, x),
                       coarse.strides[2]);
          });
        }
      }
    }
  };
  parallel_for(coarse.batch * coarse.channels, grain_of(w.taps() * w.out_count()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      run_channel(i / coarse.channels, i % coarse.channels);
    }
  });
}

// The same where channels are adjacent in memory and groups have one channel each: all channels of a window at
// once. `weights` has a row of channels for each tap.
template <class C>
void correlate_channels(const Convolution& conv, const Image<C>& fine, const C* weights, const Image<C>& coarse) {
  const Windows& w = conv.windows;
  const int64_t channels = coarse.channels;
  const auto run_window = [&](int64_t n, const WindowIndex& index) {
    C* out = coarse.channel(n, 0) + coarse.offset(index.z, index.y, index.x);
    const C* tap = weights;
    for (int64_t kz = 0; kz < w[0].kernel; ++kz) {
      for (int64_t ky = 0; ky < w[1].kernel; ++ky) {
        for (int64_t kx = 0; kx < w[2].kernel; ++kx, tap += channels) {
          const int64_t z = w[0].start(index.z) + kz * w[0].dilation;
          const int64_t y = w[1].start(index.y) + ky * w[1].dilation;
          const int64_t x = w[2].start(index.x) + kx * w[2].dilation;
          if (z < 0 || z >= fine.sizes[0] || y < 0 || y >= fine.sizes[1] || x < 0 || x >= fine.sizes[2]) {
            continue;
          }
          const C* in = fine.channel(n, 0) + fine.offset(z, y, x);
          for (int64_t c = 0; c < channels; ++c) {
            out[c] = plus(out[c], times(tap[c], in[c]));
          }
        }
      }
    }
  };
  const int64_t windows = w.out_count();
  parallel_for(coarse.batch * windows, grain_of(w.taps() * channels), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      run_window(i / windows, WindowIndex(w, i % windows));
    }
  });
}

template <class C>
void correlate_depthwise(Call& call, const Convolution& conv, const Image<C>& fine, const Tensor& weight,
                         const Image<C>& coarse) {
  const C* rows = load_rows<C>(call, weight);
  if (fine.channel_stride != 1 || coarse.channel_stride != 1 || coarse.channels != conv.groups) {
    correlate_rows(conv, fine, rows, coarse);
    return;
  }
  const int64_t taps = conv.windows.taps();
  C* by_tap = call.scratch<C>(weight.numel());
  for (int64_t c = 0; c < coarse.channels; ++c) {
    for (int64_t t = 0; t < taps; ++t) {
      by_tap[t * coarse.channels + c] = rows[c * taps + t];
    }
  }
  correlate_channels(conv, fine, by_tap, coarse);
}

// The image itself, or a row-major copy where its positions don't lie equally far apart.
template <class C>
Image<C> flattened(Call& call, const Image<C>& image) {
  if (image.flat()) {
    return image;
  }
  const std::array sizes{image.batch, image.channels, image.sizes[0], image.sizes[1], image.sizes[2]};
  const std::array strides{image.batch_stride, image.channel_stride, image.strides[0], image.strides[1],
                           image.strides[2]};
  const Tensor copy = call.scratch_tensor(kDTypeOf<C>, sizes);
  strided_copy(sizeof(C), sizes, image.data, strides, copy.data, copy.strides());
  return image_of<C>(copy);
}

template <class C>
void copy_back(const Image<C>& from, const Image<C>& to) {
  if (from.data == to.data) {
    return;
  }
  const std::array sizes{to.batch, to.channels, to.sizes[0], to.sizes[1], to.sizes[2]};
  strided_copy(sizeof(C), sizes, from.data,
               std::array{from.batch_stride, from.channel_stride, from.strides[0], from.strides[1], from.strides[2]},
               to.data, std::array{to.batch_stride, to.channel_stride, to.strides[0], to.strides[1], to.strides[2]});
}

// Adds columns of windows in rows [first_row, last_row) of windows along x to one channel of the image.
template <class C>
void scatter_channel(const Windows& w, const C* columns, int64_t row_stride, int64_t first_row, int64_t last_row,
                     const Image<C>& image, C* channel) {
  for (int64_t kz = 0; kz < w[0].kernel; ++kz) {
    for (int64_t ky = 0; ky < w[1].kernel; ++ky) {
      for (int64_t kx = 0; kx < w[2].kernel; ++kx, columns += row_stride) {
        for_each_run(w, image, kz, ky, kx, [&](int64_t oz, int64_t oy, int64_t x, int64_t count, int64_t to) {
          const int64_t row = oz * w[1].out + oy;
          if (row >= first_row && row < last_row) {
            add_run(count, columns + (row - first_row) * w[2].out + x, 1, channel + to, run_step(w, image, count));
          }
        });
      }
    }
  }
}

}  // namespace

template <class C>
bool Image<C>::flat() const {
  int64_t expected = 0;
  for (size_t i = kMaxSpatial; i-- > 0;) {
    if (sizes[i] != 1) {
      if (expected != 0 && strides[i] != expected) {
        return false;
      }
      expected = strides[i] * sizes[i];
    }
  }
  return true;
}

template <class C>
int64_t Image<C>::step() const {
  for (size_t i = kMaxSpatial; i-- > 0;) {
    if (sizes[i] != 1) {
      return strides[i];
    }
  }
  return 0;
}

template <class C>
Image<C> image_of(const Tensor& t) {
  Image<C> image;
  image.data = t.as<C>();
  image.batch = t.size(0);
  image.channels = t.size(1);
  image.batch_stride = t.stride(0);
  image.channel_stride = t.stride(1);
  for (int d = 2; d < t.rank(); ++d) {
    const int spatial = kMaxSpatial - t.rank() + d;
    const auto i = static_cast<size_t>(spatial);
    image.sizes[i] = t.size(d);
    image.strides[i] = t.stride(d);
  }
  return image;
}

template <class C>
void correlate(Call& call, const Convolution& conv, const Image<C>& fine, const Tensor& weight, const C* bias,
               const Image<C>& coarse) {
  if (coarse.empty()) {
    return;
  }
  const int64_t channels = weight.size(1);
  const int64_t rows = coarse.channels / conv.groups;
  const bool depthwise = channels == 1 && rows <= 4;
  if (depthwise || fine.empty()) {
    fill_with_bias(coarse, bias);
    if (!fine.empty()) {
      correlate_depthwise(call, conv, fine, weight, coarse);
    }
    return;
  }
  const Image<C> target = coarse.flat() ? coarse : flattened(call, coarse);
  if (bias != nullptr) {
    fill_with_bias(target, bias);
  }
  const bool channels_last = fine.channel_stride == 1 && channels > 1;
  const Matrix matrix = weight_matrix<C>(call, weight, channels_last);
  const WindowMatrix<C> columns(call, fine, conv.windows, channels, channels_last);
  const Gemm<C> gemm(call, rows, conv.windows.out_count(), columns.rows());
  for (int64_t i = 0; i < fine.batch * conv.groups; ++i) {
    const int64_t n = i / conv.groups;
    const int64_t g = i % conv.groups;
    const Matrix a = matrix.at(g * rows * columns.rows());
    const C* data = fine.channel(n, g * channels);
    gemm.run_packed(
        [&a](int64_t first, int64_t count, int64_t k0, int64_t depth, C* strip) {
          pack_strip(a, a.row_stride, a.column_stride, kStripRows, first, count, k0, depth, strip);
        },
        [&columns, data](int64_t first, int64_t count, int64_t k0, int64_t depth, C* strip) {
          columns.pack(data, first, count, k0, depth, strip);
        },
        {target.channel(n, g * rows), target.channel_stride, target.step()}, bias != nullptr);
  }
  copy_back(target, coarse);
}

template <class C>
void spread(Call& call, const Convolution& conv, const Image<C>& coarse, const Tensor& weight, const C* bias,
            const Image<C>& fine) {
  if (fine.empty()) {
    return;
  }
  fill_with_bias(fine, bias);
  if (coarse.empty()) {
    return;
  }
  const Windows& w = conv.windows;
  const int64_t channels = weight.size(1);
  const int64_t inner = coarse.channels / conv.groups;
  const int64_t rows = channels * w.taps();
  const Image<C> source = flattened(call, coarse);
  const Matrix matrix = weight_matrix<C>(call, weight, false).transposed();
  // A few rows of windows at a time, so that the columns stay small.
  const int64_t window_rows = w[0].out * w[1].out;
  const int64_t step = std::clamp<int64_t>(kColumnLimit / rows / w[2].out, 1, window_rows);
  const Gemm<C> gemm(call, rows, step * w[2].out, inner);
  const Gemm<C> last_gemm(call, rows, (window_rows - (window_rows - 1) / step * step) * w[2].out, inner);
  C* columns = call.scratch<C>(rows * step * w[2].out);
  for (int64_t i = 0; i < fine.batch * conv.groups; ++i) {
    const int64_t n = i / conv.groups;
    const int64_t g = i % conv.groups;
    const Matrix a = matrix.at(g * inner * rows);
    for (int64_t row = 0; row < window_rows; row += step) {
      const int64_t row_end = std::min(window_rows, row + step);
      const int64_t width = (row_end - row) * w[2].out;
      const Matrix b{source.channel(n, g * inner) + row * w[2].out * source.step(), kDTypeOf<C>, source.channel_stride,
                     source.step()};
      (row_end - row == step ? gemm : last_gemm).run(a, b, {columns, width, 1});
      parallel_for(channels, grain_of(w.taps() * width), [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          scatter_channel(w, columns + c * w.taps() * width, width, row, row_end, fine,
                          fine.channel(n, g * channels + c));
        }
      });
    }
  }
}

template <class C>
void weight_gradient(Call& call, const Convolution& conv, const Image<C>& coarse, const Image<C>& fine, C* gradient) {
  const int64_t rows = coarse.channels / conv.groups;
  const int64_t channels = fine.channels / conv.groups;
  const int64_t size = rows * channels * conv.windows.taps();
  if (coarse.empty() || fine.empty()) {
    std::fill(gradient, gradient + size * conv.groups, C{});
    return;
  }
  const Image<C> source = flattened(call, coarse);
  const WindowMatrix<C> columns(call, fine, conv.windows, channels, false);
  const Gemm<C> gemm(call, rows, columns.rows(), conv.windows.out_count());
  for (int64_t i = 0; i < fine.batch * conv.groups; ++i) {
    const int64_t n = i / conv.groups;
    const int64_t g = i % conv.groups;
    const Matrix a{source.channel(n, g * rows), kDTypeOf<C>, source.channel_stride, source.step()};
    const C* data = fine.channel(n, g * channels);
    gemm.run_packed(
        [&a](int64_t first, int64_t count, int64_t k0, int64_t depth, C* strip) {
          pack_strip(a, a.row_stride, a.column_stride, kStripRows, first, count, k0, depth, strip);
        },
        [&columns, data](int64_t first, int64_t count, int64_t k0, int64_t depth, C* strip) {
          columns.pack_transposed(data, first, count, k0, depth, strip);
        },
        {gradient + g * size, columns.rows(), 1}, n > 0);
  }
}

template <class C>
void gather_columns(const Windows& w, const Image<C>& image, int64_t n, C* columns) {
  const int64_t windows = w.out_count();
  std::fill(columns, columns + image.channels * w.taps() * windows, C{});
  for (int64_t c = 0; c < image.channels; ++c) {
    for (int64_t kz = 0; kz < w[0].kernel; ++kz) {
      for (int64_t ky = 0; ky < w[1].kernel; ++ky) {
        for (int64_t kx = 0; kx < w[2].kernel; ++kx, columns += windows) {
          for_each_run(w, image, kz, ky, kx, [&](int64_t oz, int64_t oy, int64_t x, int64_t count, int64_t from) {
            add_run(count, image.channel(n, c) + from, run_step(w, image, count),
                    columns + (oz * w[1].out + oy) * w[2].out + x, 1);
          });
        }
      }
    }
  }
}

template <class C>
void scatter_columns(const Windows& w, const C* columns, const Image<C>& image, int64_t n) {
  const int64_t channel_size = w.taps() * w.out_count();
  for (int64_t c = 0; c < image.channels; ++c) {
    scatter_channel(w, columns + c * channel_size, w.out_count(), 0, w[0].out * w[1].out, image, image.channel(n, c));
  }
}

#define ETRT_INSTANTIATE(C)                                                                                         \
  template struct Image<C>;                                                                                         \
  template Image<C> image_of<C>(const Tensor&);                                                                     \
  template void correlate<C>(Call&, const Convolution&, const Image<C>&, const Tensor&, const C*, const Image<C>&); \
  template void spread<C>(Call&, const Convolution&, const Image<C>&, const Tensor&, const C*, const Image<C>&);    \
  template void weight_gradient<C>(Call&, const Convolution&, const Image<C>&, const Image<C>&, C*);                \
  template void gather_columns<C>(const Windows&, const Image<C>&, int64_t, C*);                                    \
  template void scatter_columns<C>(const Windows&, const C*, const Image<C>&, int64_t);
ETRT_INSTANTIATE(float)
ETRT_INSTANTIATE(double)
ETRT_INSTANTIATE(int64_t)
ETRT_INSTANTIATE(std::complex<float>)
ETRT_INSTANTIATE(std::complex<double>)
#undef ETRT_INSTANTIATE

}  // namespace etrt::ops
