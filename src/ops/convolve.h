// The engines of convolution, over plain strided images.
//
// In each, `fine` is the image that windows slide over and `coarse` the one with a position for each
// window:
//   correlate        coarse = weight * windows of fine       a convolution; gradient of a transposed one
//   spread           fine = weight^T * coarse, by window     a transposed convolution; gradient of a plain one
//   weight_gradient  weight = coarse * (windows of fine)^T
#pragma once

#include <array>
#include <cstdint>

#include "ops/compute.h"
#include "ops/window.h"

namespace etrt::ops {

// A batch of images with elements of type C. Missing outer dimensions have size 1 and stride 0.
template <class C>
struct Image {
  C* data = nullptr;
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t batch_stride = 0;
  int64_t channel_stride = 0;
  std::array<int64_t, kMaxSpatial> sizes{1, 1, 1};
  std::array<int64_t, kMaxSpatial> strides{0, 0, 0};

  int64_t positions() const { return sizes[0] * sizes[1] * sizes[2]; }
  bool empty() const { return batch == 0 || channels == 0 || positions() == 0; }
  int64_t offset(int64_t z, int64_t y, int64_t x) const { return z * strides[0] + y * strides[1] + x * strides[2]; }
  C* channel(int64_t n, int64_t c) const { return data + n * batch_stride + c * channel_stride; }
  // Do positions in reading order lie equally far apart?
  bool flat() const;
  // How far, if they do.
  int64_t step() const;
};

// Dimension 0 of `t` is the batch, 1 the channel, the rest the positions. The dtype of `t` is C.
template <class C>
Image<C> image_of(const Tensor& t);

// Dimension 0 of a weight goes with the coarse channels, of all groups; dimension 1 with the fine channels of one
// group; the rest are the taps. It may have any layout and dtype that converts to C.
struct Convolution {
  const Windows& windows;
  int64_t groups;
};

// `bias` (may be null) has a value for each channel of the result.
template <class C>
void correlate(Call& call, const Convolution& conv, const Image<C>& fine, const Tensor& weight, const C* bias,
               const Image<C>& coarse);
template <class C>
void spread(Call& call, const Convolution& conv, const Image<C>& coarse, const Tensor& weight, const C* bias,
            const Image<C>& fine);
// `gradient` is row-major and has the weight's sizes.
template <class C>
void weight_gradient(Call& call, const Convolution& conv, const Image<C>& coarse, const Image<C>& fine, C* gradient);

// The windows of an image as a matrix: columns[(channel, tap)][window]; and the sum of such a matrix back into
// an image, on top of what is there.
template <class C>
void gather_columns(const Windows& windows, const Image<C>& image, int64_t n, C* columns);
template <class C>
void scatter_columns(const Windows& windows, const C* columns, const Image<C>& image, int64_t n);

}  // namespace etrt::ops
