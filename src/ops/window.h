// Windows that slide over images: the arithmetic that convolution, pooling and im2col share.
#pragma once

#include <array>
#include <cstdint>

#include "ops/op.h"

namespace etrt::ops {

// One dimension. Tap `k` of window `o` looks at position o * stride - padding + k * dilation.
struct Window {
  int64_t in = 1;   // positions
  int64_t out = 1;  // windows
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;

  int64_t start(int64_t o) const { return o * stride - padding; }
  // The windows [first, last) whose tap `k` lies inside.
  int64_t first_inside(int64_t k) const;
  int64_t last_inside(int64_t k) const;
  int64_t span() const { return dilation * (kernel - 1) + 1; }
};

// Up to three dimensions, outermost first; the missing outer ones are one position, one window.
inline constexpr int kMaxSpatial = 3;
struct Windows {
  std::array<Window, kMaxSpatial> dims;

  const Window& operator[](int i) const { return dims[static_cast<size_t>(i)]; }
  Window& operator[](int i) { return dims[static_cast<size_t>(i)]; }
  int64_t taps() const { return dims[0].kernel * dims[1].kernel * dims[2].kernel; }
  int64_t in_count() const { return dims[0].in * dims[1].in * dims[2].in; }
  int64_t out_count() const { return dims[0].out * dims[1].out * dims[2].out; }
};

// The arguments of a window operator, one value for all dimensions or one each.
struct WindowArgs {
  IntList kernel;
  IntList stride;    // empty: the kernel
  IntList padding;   // empty: none
  IntList dilation;  // empty: 1
};

// The windows over the last `rank` sizes of an image, without their count. Refuses what isn't positive
// (padding: negative) or over 2^31, so that later arithmetic can't overflow.
Result<Windows> read_windows(const Call& call, const WindowArgs& args, std::span<const int64_t> image, int rank);

// Sets `out` to the number of windows of a convolution; refuses a kernel larger than the padded image.
Status count_convolution_windows(const Call& call, Windows& windows);
// The same of a pooling: `ceil_mode` keeps a last window that starts inside the image or its left padding.
// Refuses padding over half the kernel, and no window at all.
Status count_pooling_windows(const Call& call, Windows& windows, int rank, bool ceil_mode);
// Sets `in` from `out`, the image of a transposed convolution.
Status size_transposed_image(const Call& call, Windows& windows, IntList output_padding, int rank);

}  // namespace etrt::ops
