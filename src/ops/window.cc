#include "ops/window.h"

#include <algorithm>

#include "core/checked.h"

namespace etrt::ops {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;

int64_t divide_up(int64_t a, int64_t b) { return a <= 0 ? -(-a / b) : (a + b - 1) / b; }

// Value `i` of a list with one value for all or `rank` values.
Result<int64_t> value_of(const Call& call, const char* name, IntList list, int rank, int i, int64_t low) {
  if (list.size() != 1 && list.size() != static_cast<size_t>(rank)) {
    return call.fail(Status::InvalidArgument, "{} has {} values, expected 1 or {}", name, list.size(), rank);
  }
  const int64_t value = list[list.size() == 1 ? 0 : static_cast<size_t>(i)];
  if (value < low || value > kLimit) {
    return call.fail(Status::InvalidArgument, "{} {} is out of range [{}, {}]", name, value, low, kLimit);
  }
  return value;
}

}  // namespace

int64_t Window::first_inside(int64_t k) const {
  return std::clamp<int64_t>(divide_up(padding - k * dilation, stride), 0, out);
}

int64_t Window::last_inside(int64_t k) const {
  return std::clamp<int64_t>(divide_up(in + padding - k * dilation, stride), 0, out);
}

Result<Windows> read_windows(const Call& call, const WindowArgs& args, std::span<const int64_t> image, int rank) {
  Windows windows;
  for (int i = 0; i < rank; ++i) {
    Window& w = windows[kMaxSpatial - rank + i];
    w.in = image[image.size() - static_cast<size_t>(rank - i)];
    ET_ASSIGN(w.kernel, value_of(call, "kernel_size", args.kernel, rank, i, 1));
    w.stride = w.kernel;
    if (!args.stride.empty()) {
      ET_ASSIGN(w.stride, value_of(call, "stride", args.stride, rank, i, 1));
    }
    if (!args.padding.empty()) {
      ET_ASSIGN(w.padding, value_of(call, "padding", args.padding, rank, i, 0));
    }
    if (!args.dilation.empty()) {
      ET_ASSIGN(w.dilation, value_of(call, "dilation", args.dilation, rank, i, 1));
    }
    // The image's own size, against sums below that overflow.
    if (w.in > (int64_t{1} << 61)) {
      return call.fail(Status::InvalidArgument, "the image size {} is too large", w.in);
    }
  }
  return windows;
}

Status count_convolution_windows(const Call& call, Windows& windows) {
  for (Window& w : windows.dims) {
    const int64_t padded = w.in + 2 * w.padding;
    if (padded < w.span()) {
      return call.fail(Status::InvalidArgument, "a kernel of {} positions does not fit the padded size {}", w.span(),
                       padded);
    }
    w.out = (padded - w.span()) / w.stride + 1;
  }
  return Status::Ok;
}

Status count_pooling_windows(const Call& call, Windows& windows, int rank, bool ceil_mode) {
  for (int i = kMaxSpatial - rank; i < kMaxSpatial; ++i) {
    Window& w = windows[i];
    if (w.padding > w.span() / 2) {
      return call.fail(Status::InvalidArgument, "padding {} is over half the kernel's {} positions", w.padding,
                       w.span());
    }
    const int64_t room = w.in + 2 * w.padding - w.span() + (ceil_mode ? w.stride - 1 : 0);
    w.out = room < 0 ? 0 : room / w.stride + 1;
    if (ceil_mode && w.out > 0 && (w.out - 1) * w.stride >= w.in + w.padding) {
      --w.out;
    }
    if (w.out < 1) {
      return call.fail(Status::InvalidArgument, "a kernel of {} positions does not fit the size {} with padding {}",
                       w.span(), w.in, w.padding);
    }
  }
  return Status::Ok;
}

Status size_transposed_image(const Call& call, Windows& windows, IntList output_padding, int rank) {
  for (int i = 0; i < rank; ++i) {
    Window& w = windows[kMaxSpatial - rank + i];
    int64_t extra = 0;
    if (!output_padding.empty()) {
      ET_ASSIGN(extra, value_of(call, "output_padding", output_padding, rank, i, 0));
    }
    int64_t size = 0;
    if (w.out < 1 || !checked_mul(w.out - 1, w.stride, size) || size > (int64_t{1} << 61)) {
      return call.fail(Status::InvalidArgument, "no image of {} windows with stride {}", w.out, w.stride);
    }
    w.in = size - 2 * w.padding + w.span() + extra;
    if (w.in < 1) {
      return call.fail(Status::InvalidArgument, "{} windows with padding {} leave no image", w.out, w.padding);
    }
  }
  return Status::Ok;
}

}  // namespace etrt::ops
