// Sampling of images at given points.
//
// The 16-bit floats round after every operation, as eager does: a position's rounding decides which
// elements are sampled, so that computing in float would give other answers, not more exact ones.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "core/half.h"
#include "core/thread_pool.h"
#include "ops/apart.h"
#include "ops/convolve.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

constexpr int64_t kGrain = 1 << 11;  // elements worth a thread

enum class Sampling : int64_t { kLinear = 0, kNearest = 1, kCubic = 2 };
enum class Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

struct GridArgs {
  Sampling sampling;
  Padding padding;
  bool align_corners;
};

// A number that is rounded to a 16-bit type after each operation.
template <class Stored>
class Rounded {
 public:
  Rounded() = default;
  template <class T>
  requires std::is_arithmetic_v<T> Rounded(T value) : value_(Stored::from(static_cast<float>(value))) {}
  explicit operator float() const { return value_; }
  explicit operator int64_t() const { return static_cast<int64_t>(value_); }

  Rounded operator-() const { return -value_; }
  friend Rounded operator+(Rounded a, Rounded b) { return a.value_ + b.value_; }
  friend Rounded operator-(Rounded a, Rounded b) { return a.value_ - b.value_; }
  friend Rounded operator*(Rounded a, Rounded b) { return a.value_ * b.value_; }
  friend Rounded operator/(Rounded a, Rounded b) { return a.value_ / b.value_; }
  Rounded& operator+=(Rounded other) { return *this = *this + other; }
  friend bool operator==(Rounded a, Rounded b) { return a.value_ == b.value_; }
  friend auto operator<=>(Rounded a, Rounded b) { return a.value_ <=> b.value_; }

  friend Rounded floor(Rounded x) { return std::floor(x.value_); }
  friend Rounded trunc(Rounded x) { return std::trunc(x.value_); }
  friend Rounded abs(Rounded x) { return std::abs(x.value_); }
  friend Rounded fmod(Rounded x, Rounded y) { return std::fmod(x.value_, y.value_); }
  friend Rounded nearbyint(Rounded x) { return std::nearbyint(x.value_); }

 private:
  float value_ = 0;
};

// [-1, 1] to positions along an axis. The order of operations is eager's, for images and for volumes.
template <class T>
T to_position(T x, int64_t size, bool align_corners, int rank) {
  const T n = static_cast<T>(align_corners ? size - 1 : size);
  if (rank == 3) {
    return align_corners ? (x + T{1}) / T{2} * n : ((x + T{1}) * n - T{1}) / T{2};
  }
  const T position = (x + T{1}) * (n / T{2});
  return align_corners ? position : position - T{0.5};
}

// NaN becomes 0.
template <class T>
T clip(T x, int64_t size) {
  const T last = static_cast<T>(size - 1);
  return !(x > T{0}) ? T{0} : x > last ? last : x;
}

// A position mirrored at the edges, which are the outermost elements' centers or their borders.
template <class T>
T reflect(T x, int64_t size, bool align_corners, int rank) {
  using std::abs;
  using std::floor;
  using std::fmod;
  using std::trunc;
  const T low = align_corners ? T{0} : T{-0.5};
  const int64_t length = align_corners ? size - 1 : size;
  if (length == 0) {
    return T{0};
  }
  const T distance = abs(x - low);
  if (rank == 3) {
    const T span = static_cast<T>(length);
    const T rest = fmod(distance, span);
    const bool even = fmod(floor(distance / span), T{2}) == T{0};
    return (even ? rest : span - rest) + low;
  }
  const T twice = static_cast<T>(2 * length);
  const T rest = distance - trunc(distance / twice) * twice;
  const T back = twice - rest;
  return (back < rest ? back : rest) + low;
}

template <class T>
T pad_position(T x, int64_t size, const GridArgs& args, int rank) {
  switch (args.padding) {
    case Padding::kBorder:
      return clip(x, size);
    case Padding::kReflection:
      return clip(reflect(x, size, args.align_corners, rank), size);
    default:
      return x;
  }
}

// The index that a whole position stands for; -1 outside the image.
template <class T>
int64_t index_at(T x, int64_t size) {
  if (!(x >= T{0}) || x > static_cast<T>(size - 1)) {
    return -1;
  }
  return std::min(static_cast<int64_t>(x), size - 1);
}

template <class T>
T cubic_inner(T x) {  // |x| < 1
  const T a{-0.75};
  return ((a + T{2}) * x - (a + T{3})) * x * x + T{1};
}
template <class T>
T cubic_outer(T x) {  // 1 < |x| < 2
  const T a{-0.75};
  return ((a * x - T{5} * a) * x + T{8} * a) * x - T{4} * a;
}

// A few elements along one axis and their weights.
template <class T>
struct Neighbours {
  size_t count = 1;
  std::array<int64_t, 4> places{};  // -1: outside
  std::array<T, 4> weights{T{1}};
};

template <class T>
Neighbours<T> neighbours(T coordinate, int64_t size, const GridArgs& args, int rank) {
  using std::floor;
  using std::nearbyint;
  Neighbours<T> n;
  const T raw = to_position(coordinate, size, args.align_corners, rank);
  if (args.sampling == Sampling::kCubic) {
    // Padding applies to each neighbour, not to the position.
    const T left = floor(raw);
    const T fraction = raw - left;
    n.count = 4;
    for (size_t i = 0; i < 4; ++i) {
      n.places[i] = index_at(pad_position(left - T{1} + static_cast<T>(i), size, args, rank), size);
    }
    n.weights = {cubic_outer(fraction + T{1}), cubic_inner(fraction), cubic_inner(T{1} - fraction),
                 cubic_outer(T{2} - fraction)};
    return n;
  }
  const T position = pad_position(raw, size, args, rank);
  if (args.sampling == Sampling::kNearest) {
    n.places[0] = index_at(nearbyint(position), size);
    return n;
  }
  const T left = floor(position);
  const T right_weight = position - left;
  n.count = 2;
  n.places = {index_at(left, size), index_at(left + T{1}, size)};
  n.weights = {rank == 3 ? left + T{1} - position : T{1} - right_weight, right_weight};
  return n;
}

template <class T>
using Point = std::array<Neighbours<T>, kMaxSpatial>;  // x, y, z

template <class T, class C>
Point<T> neighbours_of(const C* point, int rank, const Image<C>& image, const GridArgs& args) {
  Point<T> axes;
  for (int d = 0; d < rank; ++d) {
    axes[static_cast<size_t>(d)] =
        neighbours(static_cast<T>(point[d]), image.sizes[static_cast<size_t>(kMaxSpatial - 1 - d)], args, rank);
  }
  return axes;
}

// The element at these neighbours, 0 outside.
template <class T, class C>
T element_at(const C* channel, const Image<C>& image, const Point<T>& axes, size_t i, size_t j, size_t k) {
  const int64_t x = axes[0].places[i];
  const int64_t y = axes[1].places[j];
  const int64_t z = axes[2].places[k];
  return x < 0 || y < 0 || z < 0 ? T{0} : static_cast<T>(channel[image.offset(z, y, x)]);
}

// Rows first, then the column of their results.
template <class T, class C>
T sample_cubic(const C* channel, const Image<C>& image, const Point<T>& axes) {
  T sum{0};
  for (size_t j = 0; j < 4; ++j) {
    T row{0};
    for (size_t i = 0; i < 4; ++i) {
      row += element_at(channel, image, axes, i, j, 0) * axes[0].weights[i];
    }
    sum += row * axes[1].weights[j];
  }
  return sum;
}

template <class T, class C>
T sample_linear(const C* channel, const Image<C>& image, const Point<T>& axes, int rank) {
  T sum{0};
  for (size_t k = 0; k < axes[2].count; ++k) {
    for (size_t j = 0; j < axes[1].count; ++j) {
      for (size_t i = 0; i < axes[0].count; ++i) {
        // In an image elements outside count as 0, so that a NaN weight shows; in a volume they don't count.
        if (rank == 3 && (axes[0].places[i] < 0 || axes[1].places[j] < 0 || axes[2].places[k] < 0)) {
          continue;
        }
        const T weight = axes[0].weights[i] * axes[1].weights[j] * axes[2].weights[k];
        sum += element_at(channel, image, axes, i, j, k) * weight;
      }
    }
  }
  return sum;
}

template <class T, class C>
T sample_at(const C* channel, const Image<C>& image, const Point<T>& axes, const GridArgs& args, int rank) {
  switch (args.sampling) {
    case Sampling::kNearest:
      return element_at(channel, image, axes, 0, 0, 0);
    case Sampling::kCubic:
      return sample_cubic(channel, image, axes);
    default:
      return sample_linear(channel, image, axes, rank);
  }
}

Result<GridArgs> read_grid_args(const Call& call, int64_t mode, int64_t padding, bool align_corners, int rank) {
  const int64_t last_mode = rank == 2 ? 2 : 1;
  if (mode < 0 || mode > last_mode) {
    return call.fail(Status::InvalidArgument, "interpolation_mode {} is out of range [0, {}]", mode, last_mode);
  }
  if (padding < 0 || padding > 2) {
    return call.fail(Status::InvalidArgument, "padding_mode {} is out of range [0, 2]", padding);
  }
  return GridArgs{static_cast<Sampling>(mode), static_cast<Padding>(padding), align_corners};
}

// batch, channel and the grid's positions.
std::array<int64_t, 5> grid_output_sizes(const Tensor& input, const Tensor& grid) {
  std::array<int64_t, 5> sizes{input.size(0), input.size(1)};
  for (int d = 1; d + 1 < grid.rank(); ++d) {
    sizes[static_cast<size_t>(d + 1)] = grid.size(d);
  }
  return sizes;
}

template <int kRank>
Status check_grid(const Call& call, const Tensor& input, const Tensor& grid) {
  ET_TRY(check_rank(call, input, kRank + 2));
  ET_TRY(check_rank(call, grid, kRank + 2));
  if (grid.size(0) != input.size(0) || grid.size(kRank + 1) != kRank) {
    return call.fail(Status::InvalidArgument, "grid has sizes {}, expected {} points of {} numbers",
                     sizes_text(grid.sizes()), input.size(0), kRank);
  }
  for (int d = 2; d < input.rank(); ++d) {
    if (input.size(d) == 0) {
      return call.fail(Status::InvalidArgument, "input has sizes {}: nothing to sample", sizes_text(input.sizes()));
    }
  }
  return Status::Ok;
}

template <int kRank>
Status shape_of_grid_sampler(Call& call, const Tensor& input, const Tensor& grid, int64_t /*interpolation_mode*/,
                             int64_t /*padding_mode*/, bool /*align_corners*/, Tensor& out) {
  ET_TRY(check_grid<kRank>(call, input, grid));
  const std::array sizes = grid_output_sizes(input, grid);
  return call.resize(out, std::span(sizes).first(kRank + 2));
}

// Position `i` in reading order.
template <class C>
int64_t offset_of(const Image<C>& image, int64_t i) {
  const int64_t row = i / image.sizes[2];
  return image.offset(row / image.sizes[1], row % image.sizes[1], i % image.sizes[2]);
}

template <class T, class C>
void sample_all(const Image<C>& image, const C* points, const GridArgs& args, int rank, const Image<C>& out) {
  const int64_t count = out.positions();
  parallel_for(out.batch * count, std::max<int64_t>(1, kGrain / out.channels), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t n = p / count;
      const int64_t offset = offset_of(out, p % count);
      const Point<T> axes = neighbours_of<T>(points + p * rank, rank, image, args);
      for (int64_t c = 0; c < out.channels; ++c) {
        out.channel(n, c)[offset] = static_cast<C>(sample_at(image.channel(n, c), image, axes, args, rank));
      }
    }
  });
}

template <int kRank>
Status grid_sampler(Call& call, const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                    int64_t padding_mode, bool align_corners, Tensor& out) {
  ET_ASSIGN(const GridArgs args, read_grid_args(call, interpolation_mode, padding_mode, align_corners, kRank));
  return visit_float(call, input.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&input, &grid, &out}));
    const Image<C> image = image_of<C>(load_as<C>(call, input));
    const C* points = load_rows<C>(call, grid);
    const OutputOf<C> target(call, out);
    const Image<C> to = image_of<C>(target.tensor());
    if (to.empty()) {
      return Status::Ok;
    }
    if constexpr (std::is_same_v<C, float>) {
      if (input.dtype == DType::Float16) {
        sample_all<Rounded<Half>>(image, points, args, kRank, to);
      } else if (input.dtype == DType::BFloat16) {
        sample_all<Rounded<BFloat16>>(image, points, args, kRank, to);
      } else {
        sample_all<float>(image, points, args, kRank, to);
      }
    } else {
      sample_all<C>(image, points, args, kRank, to);
    }
    target.finish();
    return Status::Ok;
  });
}

// --- backward ---

// How the weights of `neighbours` change with the coordinate.
template <class C>
C pad_slope(C x, int64_t size, const GridArgs& args, int rank) {
  if (args.padding == Padding::kZeros) {
    return C{1};
  }
  C slope{1};
  if (args.padding == Padding::kReflection) {
    const C low = args.align_corners ? C{} : C{-0.5};
    const int64_t length = args.align_corners ? size - 1 : size;
    if (length == 0) {
      return C{};
    }
    const bool even = std::fmod(std::floor(std::abs(x - low) / static_cast<C>(length)), C{2}) == 0;
    slope = (x < low) == even ? C{-1} : C{1};
    x = reflect(x, size, args.align_corners, rank);
  }
  return x <= C{} || x >= static_cast<C>(size - 1) ? C{} : slope;
}

template <class C>
std::array<C, 4> weight_slopes(C coordinate, int64_t size, const GridArgs& args, int rank) {
  const C raw = to_position(coordinate, size, args.align_corners, rank);
  const C slope = static_cast<C>(args.align_corners ? size - 1 : size) / 2;
  if (args.sampling == Sampling::kNearest) {
    return {};
  }
  if (args.sampling == Sampling::kLinear) {
    const C step = slope * pad_slope(raw, size, args, rank);
    return {-step, step};
  }
  const auto inner = [](C x) { return (C{3} * C{1.25} * x - C{2} * C{2.25}) * x; };
  const auto outer = [](C x) { return (C{3} * C{-0.75} * x + C{7.5}) * x - C{6}; };
  const C fraction = raw - std::floor(raw);
  return {slope * outer(fraction + 1), slope * inner(fraction), -slope * inner(1 - fraction),
          -slope * outer(2 - fraction)};
}

template <int kRank>
Status shape_of_grid_sampler_backward(Call& call, const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                                      int64_t /*interpolation_mode*/, int64_t /*padding_mode*/, bool /*align_corners*/,
                                      BoolList output_mask, Tensor& out0, Tensor& out1) {
  ET_TRY(check_grid<kRank>(call, input, grid));
  const std::array sizes = grid_output_sizes(input, grid);
  ET_TRY(check_sizes(call, grad_output, std::span(sizes).first(kRank + 2)));
  if (output_mask.size() != 2) {
    return call.fail(Status::InvalidArgument, "output_mask has {} values, expected 2", output_mask.size());
  }
  if (output_mask[0] != 0) {
    ET_TRY(call.resize(out0, input.sizes()));
  }
  return output_mask[1] != 0 ? call.resize(out1, grid.sizes()) : Status::Ok;
}

// Adds one channel's part of the gradients of one point: of the image's elements (may be null) and of the point.
template <class C>
void backward_at(C grad, const C* channel, const Image<C>& image, const Point<C>& axes,
                 const std::array<std::array<C, 4>, kMaxSpatial>& slopes, int rank, C* channel_grad, C* point_grad) {
  for (size_t k = 0; k < axes[2].count; ++k) {
    for (size_t j = 0; j < axes[1].count; ++j) {
      for (size_t i = 0; i < axes[0].count; ++i) {
        if (axes[0].places[i] < 0 || axes[1].places[j] < 0 || axes[2].places[k] < 0) {
          continue;
        }
        const int64_t offset = image.offset(axes[2].places[k], axes[1].places[j], axes[0].places[i]);
        const C wx = axes[0].weights[i];
        const C wy = axes[1].weights[j];
        const C wz = axes[2].weights[k];
        if (channel_grad != nullptr) {
          channel_grad[offset] += grad * wx * wy * wz;
        }
        const C value = grad * channel[offset];
        point_grad[0] += value * slopes[0][i] * wy * wz;
        point_grad[1] += value * wx * slopes[1][j] * wz;
        if (rank == 3) {
          point_grad[2] += value * wx * wy * slopes[2][k];
        }
      }
    }
  }
}

template <int kRank>
Status grid_sampler_backward(Call& call, const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                             int64_t interpolation_mode, int64_t padding_mode, bool align_corners, BoolList output_mask,
                             Tensor& out0, Tensor& out1) {
  ET_ASSIGN(const GridArgs args, read_grid_args(call, interpolation_mode, padding_mode, align_corners, kRank));
  return visit_float(call, input.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&grad_output, &input, &grid}));
    const Image<C> image =
        image_of<C>(Tensor::view(const_cast<C*>(load_rows<C>(call, input)), kDTypeOf<C>, input.sizes()));
    const Image<C> grad = image_of<C>(load_as<C>(call, grad_output));
    const C* points = load_rows<C>(call, grid);
    C* image_grad = output_mask[0] != 0 ? call.scratch<C>(input.numel()) : nullptr;
    if (image_grad != nullptr) {
      std::fill(image_grad, image_grad + input.numel(), C{});
    }
    C* point_grad = call.scratch<C>(grid.numel());
    std::fill(point_grad, point_grad + grid.numel(), C{});
    const int64_t count = grad.positions();
    for (int64_t p = 0; p < grad.batch * count && !grad.empty(); ++p) {
      const int64_t n = p / count;
      const C* point = points + p * kRank;
      const Point<C> axes = neighbours_of<C>(point, kRank, image, args);
      std::array<std::array<C, 4>, kMaxSpatial> slopes{};
      for (size_t d = 0; d < kRank; ++d) {
        slopes[d] = weight_slopes(point[d], image.sizes[kMaxSpatial - 1 - d], args, kRank);
      }
      for (int64_t c = 0; c < grad.channels; ++c) {
        C* channel_grad =
            image_grad == nullptr ? nullptr : image_grad + n * image.batch_stride + c * image.channel_stride;
        backward_at(grad.channel(n, c)[offset_of(grad, p % count)], image.channel(n, c), image, axes, slopes, kRank,
                    channel_grad, point_grad + p * kRank);
      }
    }
    if (output_mask[0] != 0) {
      ET_TRY(check_converts<C>(call, {&out0}));
      store_rows<C>(image_grad, out0);
    }
    if (output_mask[1] != 0) {
      ET_TRY(check_converts<C>(call, {&out1}));
      store_rows<C>(point_grad, out1);
    }
    return Status::Ok;
  });
}

// --- the grid of an affine map ---

Status shape_of_affine_grid(Call& call, const Tensor& theta, IntList size, bool /*align_corners*/, Tensor& out) {
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  if (rank != 2 && rank != 3) {
    return call.fail(Status::InvalidArgument, "size has {} values, expected 4 or 5", size.size());
  }
  ET_TRY(check_sizes(call, theta, std::array{size[0], rank, rank + 1}));
  std::array<int64_t, 5> sizes{size[0]};
  std::copy(size.begin() + 2, size.end(), sizes.begin() + 1);
  sizes[static_cast<size_t>(rank + 1)] = rank;
  return call.resize(out, std::span(sizes).first(static_cast<size_t>(rank + 2)));
}

// Positions evenly spaced over [-1, 1], from edge to edge of the outermost elements or from center to center.
template <class C>
C grid_coordinate(int64_t i, int64_t size, bool align_corners) {
  if (size <= 1) {
    return C{};
  }
  const C step = C{2} / static_cast<C>(size - 1);
  const C even = i < size / 2 ? C{-1} + step * static_cast<C>(i) : C{1} - step * static_cast<C>(size - 1 - i);
  return align_corners ? even : even * static_cast<C>(size - 1) / static_cast<C>(size);
}

Status affine_grid(Call& call, const Tensor& theta, IntList size, bool align_corners, Tensor& out) {
  return visit_float(call, theta.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&theta, &out}));
    const C* matrices = load_rows<C>(call, theta);
    const RowsOf<C> target(call, out);
    const auto rank = static_cast<int64_t>(size.size()) - 2;
    const std::array<int64_t, kMaxSpatial> sizes{size[size.size() - 1], size[size.size() - 2],
                                                 rank == 3 ? size[2] : 1};  // x, y, z
    C* to = target.data();
    for (int64_t n = 0; n < size[0] && out.numel() > 0; ++n) {
      const C* matrix = matrices + n * rank * (rank + 1);
      for (int64_t i = 0; i < sizes[0] * sizes[1] * sizes[2]; ++i) {
        const std::array<C, kMaxSpatial> position{grid_coordinate<C>(i % sizes[0], sizes[0], align_corners),
                                                  grid_coordinate<C>(i / sizes[0] % sizes[1], sizes[1], align_corners),
                                                  grid_coordinate<C>(i / sizes[0] / sizes[1], sizes[2], align_corners)};
        for (int64_t r = 0; r < rank; ++r, ++to) {
          C sum = matrix[r * (rank + 1) + rank];
          for (int64_t d = 0; d < rank; ++d) {
            sum += matrix[r * (rank + 1) + d] * position[static_cast<size_t>(d)];
          }
          *to = sum;
        }
      }
    }
    target.finish();
    return Status::Ok;
  });
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

constexpr Op kOps[] = {
    {"aten::grid_sampler_2d.out",
     "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<shape_of_grid_sampler<2>>, bind<apart<grid_sampler<2>>>, kFacts},
    {"aten::grid_sampler_2d_backward.out",
     "(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, "
     "bool[2] output_mask, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
     bind<shape_of_grid_sampler_backward<2>>, bind<apart<grid_sampler_backward<2>>>, kFacts},
    {"aten::grid_sampler_3d.out",
     "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<shape_of_grid_sampler<3>>, bind<apart<grid_sampler<3>>>, kFacts},
    {"aten::grid_sampler_3d_backward.out",
     "(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, "
     "bool[2] output_mask, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
     bind<shape_of_grid_sampler_backward<3>>, bind<apart<grid_sampler_backward<3>>>, kFacts},
    {"aten::affine_grid_generator.out",
     "(Tensor theta, SymInt[] size, bool align_corners, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_affine_grid>,
     bind<apart<affine_grid>>, kFacts},
};

}  // namespace

Table sampling_ops() { return kOps; }

}  // namespace etrt::ops
