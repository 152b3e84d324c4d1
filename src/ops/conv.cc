// Operators of convolution: forward, transposed, backward, and the window matrices of im2col and col2im.
#include <algorithm>
#include <array>
#include <type_traits>

#include "core/checked.h"
#include "ops/apart.h"
#include "ops/convolve.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

struct ConvArgs {
  IntList stride;
  IntList padding;
  IntList dilation;
  bool transposed;
  IntList output_padding;
  int64_t groups;
};

Status check_channels(const Call& call, const Tensor& input, const Tensor& weight, const ConvArgs& args) {
  const int64_t expected_dim = args.transposed ? 0 : 1;
  int64_t expected = weight.size(static_cast<int>(expected_dim));
  if (args.groups < 1 || weight.size(0) % args.groups != 0 ||
      (!args.transposed && !checked_mul(expected, args.groups, expected))) {
    return call.fail(Status::InvalidArgument, "weight of sizes {} can't be split in {} groups",
                     sizes_text(weight.sizes()), args.groups);
  }
  if (input.size(1) != expected) {
    return call.fail(Status::InvalidArgument, "input has {} channels, expected {} for weight of sizes {} in {} groups",
                     input.size(1), expected, sizes_text(weight.sizes()), args.groups);
  }
  return Status::Ok;
}

// The windows of a convolution. `image` is the side they slide over, or its size is computed when transposed.
Result<Windows> windows_of(const Call& call, const Tensor& input, const Tensor& weight, const ConvArgs& args) {
  ET_TRY(check_rank_between(call, input, 3, 5));
  ET_TRY(check_rank(call, weight, input.rank()));
  ET_TRY(check_channels(call, input, weight, args));
  const int rank = input.rank() - 2;
  const WindowArgs window_args{weight.sizes().subspan(2), args.stride, args.padding, args.dilation};
  ET_ASSIGN(Windows windows, read_windows(call, window_args, input.sizes(), rank));
  if (!args.transposed) {
    ET_TRY(count_convolution_windows(call, windows));
    return windows;
  }
  for (Window& w : windows.dims) {
    std::swap(w.in, w.out);
  }
  ET_TRY(size_transposed_image(call, windows, args.output_padding, rank));
  return windows;
}

Result<int64_t> channels_out(const Call& call, const Tensor& weight, const ConvArgs& args) {
  int64_t channels = weight.size(args.transposed ? 1 : 0);
  if (args.transposed && !checked_mul(channels, args.groups, channels)) {
    return call.fail(Status::InvalidArgument, "weight of sizes {} has too many channels in {} groups",
                     sizes_text(weight.sizes()), args.groups);
  }
  return channels;
}

// Sizes of a convolution's result.
struct ConvSizes {
  std::array<int64_t, 5> values{};
  size_t rank = 0;
  std::span<const int64_t> all() const { return {values.data(), rank}; }
};

Result<ConvSizes> sizes_of(const Call& call, const Tensor& input, const Tensor& weight, const ConvArgs& args) {
  ET_ASSIGN(const Windows windows, windows_of(call, input, weight, args));
  ConvSizes sizes;
  sizes.rank = static_cast<size_t>(input.rank());
  sizes.values[0] = input.size(0);
  ET_ASSIGN(sizes.values[1], channels_out(call, weight, args));
  for (size_t d = 2; d < sizes.rank; ++d) {
    const Window& w = windows.dims[kMaxSpatial - sizes.rank + d];
    sizes.values[d] = args.transposed ? w.in : w.out;
  }
  return sizes;
}

Status check_bias(const Call& call, const Tensor* bias, int64_t channels) {
  if (bias != nullptr && (bias->rank() != 1 || bias->size(0) != channels)) {
    return call.fail(Status::InvalidArgument, "bias has sizes {}, expected [{}]", sizes_text(bias->sizes()), channels);
  }
  return Status::Ok;
}

Status shape_of_convolution(Call& call, const Tensor& input, const Tensor& weight, const Tensor* bias, IntList stride,
                            IntList padding, IntList dilation, bool transposed, IntList output_padding, int64_t groups,
                            Tensor& out) {
  ET_ASSIGN(const ConvSizes sizes,
            sizes_of(call, input, weight, {stride, padding, dilation, transposed, output_padding, groups}));
  ET_TRY(check_bias(call, bias, sizes.values[1]));
  return call.resize(out, sizes.all());
}

Status convolution(Call& call, const Tensor& input, const Tensor& weight, const Tensor* bias, IntList stride,
                   IntList padding, IntList dilation, bool transposed, IntList output_padding, int64_t groups,
                   Tensor& out) {
  ET_ASSIGN(const Windows windows,
            windows_of(call, input, weight, {stride, padding, dilation, transposed, output_padding, groups}));
  return visit_number(call, input.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&input, &weight, bias, &out}));
    const Image<C> from = image_of<C>(load_as<C>(call, input));
    const OutputOf<C> target(call, out);
    const Image<C> to = image_of<C>(target.tensor());
    const C* bias_values = bias == nullptr ? nullptr : load_rows<C>(call, *bias);
    const Convolution conv{windows, groups};
    if (transposed) {
      spread<C>(call, conv, from, weight, bias_values, to);
    } else {
      correlate<C>(call, conv, from, weight, bias_values, to);
    }
    target.finish();
    return Status::Ok;
  });
}

// --- backward ---

Status shape_of_convolution_backward(Call& call, const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                                     std::optional<IntList> /*bias_sizes*/, IntList stride, IntList padding,
                                     IntList dilation, bool transposed, IntList output_padding, int64_t groups,
                                     BoolList output_mask, Tensor& out0, Tensor& out1, Tensor& out2) {
  ET_ASSIGN(const ConvSizes sizes,
            sizes_of(call, input, weight, {stride, padding, dilation, transposed, output_padding, groups}));
  ET_TRY(check_sizes(call, grad_output, sizes.all()));
  if (output_mask.size() != 3) {
    return call.fail(Status::InvalidArgument, "output_mask has {} values, expected 3", output_mask.size());
  }
  if (output_mask[0] != 0) {
    ET_TRY(call.resize(out0, input.sizes()));
  }
  if (output_mask[1] != 0) {
    ET_TRY(call.resize(out1, weight.sizes()));
  }
  return output_mask[2] != 0 ? call.resize(out2, std::array{sizes.values[1]}) : Status::Ok;
}

// The sum over batch and positions of each channel, in double for floats.
template <class C>
void sum_channels(const Image<C>& image, C* sums) {
  using Sum = std::conditional_t<std::is_same_v<C, float>, double,
                                 std::conditional_t<std::is_same_v<C, std::complex<float>>, std::complex<double>, C>>;
  for (int64_t c = 0; c < image.channels; ++c) {
    Sum sum{};
    for (int64_t n = 0; n < image.batch; ++n) {
      const C* channel = image.channel(n, c);
      for (int64_t z = 0; z < image.sizes[0]; ++z) {
        for (int64_t y = 0; y < image.sizes[1]; ++y) {
          for (int64_t x = 0; x < image.sizes[2]; ++x) {
            sum = plus(sum, static_cast<Sum>(channel[image.offset(z, y, x)]));
          }
        }
      }
    }
    sums[c] = static_cast<C>(sum);
  }
}

template <class C>
Status convolution_backward_as(Call& call, const Windows& windows, bool transposed, int64_t groups,
                               const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                               BoolList output_mask, Tensor& out0, Tensor& out1, Tensor& out2) {
  const Convolution conv{windows, groups};
  const Image<C> grad = image_of<C>(load_as<C>(call, grad_output));
  if (output_mask[0] != 0) {
    ET_TRY(check_converts<C>(call, {&out0}));
    const OutputOf<C> target(call, out0);
    if (transposed) {
      correlate<C>(call, conv, grad, weight, nullptr, image_of<C>(target.tensor()));
    } else {
      spread<C>(call, conv, grad, weight, nullptr, image_of<C>(target.tensor()));
    }
    target.finish();
  }
  if (output_mask[1] != 0) {
    ET_TRY(check_converts<C>(call, {&out1}));
    const Image<C> image = image_of<C>(load_as<C>(call, input));
    const RowsOf<C> target(call, out1);
    weight_gradient<C>(call, conv, transposed ? image : grad, transposed ? grad : image, target.data());
    target.finish();
  }
  if (output_mask[2] != 0) {
    ET_TRY(check_converts<C>(call, {&out2}));
    const RowsOf<C> target(call, out2);
    sum_channels(grad, target.data());
    target.finish();
  }
  return Status::Ok;
}

Status convolution_backward(Call& call, const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                            std::optional<IntList> /*bias_sizes*/, IntList stride, IntList padding, IntList dilation,
                            bool transposed, IntList output_padding, int64_t groups, BoolList output_mask, Tensor& out0,
                            Tensor& out1, Tensor& out2) {
  ET_ASSIGN(const Windows windows,
            windows_of(call, input, weight, {stride, padding, dilation, transposed, output_padding, groups}));
  return visit_number(call, grad_output.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&grad_output, &input, &weight}));
    return convolution_backward_as<C>(call, windows, transposed, groups, grad_output, input, weight, output_mask, out0,
                                      out1, out2);
  });
}

// --- im2col, col2im: [batch,] channel, y, x  <->  [batch,] channel * taps, windows ---

Result<Windows> column_windows(const Call& call, std::span<const int64_t> image, IntList kernel, IntList dilation,
                               IntList padding, IntList stride) {
  ET_ASSIGN(Windows windows, read_windows(call, {kernel, stride, padding, dilation}, image, 2));
  ET_TRY(count_convolution_windows(call, windows));
  return windows;
}

Result<int64_t> times_taps(const Call& call, int64_t channels, const Windows& w) {
  int64_t rows = channels;
  if (!checked_mul(rows, w[1].kernel, rows) || !checked_mul(rows, w[2].kernel, rows)) {
    return call.fail(Status::InvalidArgument, "a kernel of {} x {} is too large", w[1].kernel, w[2].kernel);
  }
  return rows;
}

Status shape_of_im2col(Call& call, const Tensor& self, IntList kernel_size, IntList dilation, IntList padding,
                       IntList stride, Tensor& out) {
  ET_TRY(check_rank_between(call, self, 3, 4));
  ET_ASSIGN(const Windows w, column_windows(call, self.sizes(), kernel_size, dilation, padding, stride));
  ET_ASSIGN(const int64_t rows, times_taps(call, self.size(self.rank() - 3), w));
  const std::array sizes{self.size(0), rows, w.out_count()};
  return call.resize(out, std::span(sizes).subspan(self.rank() == 4 ? 0 : 1));
}

Status im2col(Call& call, const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride,
              Tensor& out) {
  ET_ASSIGN(const Windows w, column_windows(call, self.sizes(), kernel_size, dilation, padding, stride));
  return visit_number(call, self.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&self, &out}));
    const Image<C> image = image_of<C>(with_batch(load_as<C>(call, self), 4));
    const RowsOf<C> target(call, out);
    for (int64_t n = 0; n < image.batch && out.numel() > 0; ++n) {
      gather_columns<C>(w, image, n, target.data() + n * (out.numel() / image.batch));
    }
    target.finish();
    return Status::Ok;
  });
}

Status shape_of_col2im(Call& call, const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation,
                       IntList padding, IntList stride, Tensor& out) {
  ET_TRY(check_rank_between(call, self, 2, 3));
  if (output_size.size() != 2 || output_size[0] < 1 || output_size[1] < 1) {
    return call.fail(Status::InvalidArgument, "output_size is {}, expected two positive sizes",
                     sizes_text(output_size));
  }
  ET_ASSIGN(const Windows w, column_windows(call, output_size, kernel_size, dilation, padding, stride));
  ET_ASSIGN(const int64_t taps, times_taps(call, 1, w));
  const int64_t rows = self.size(self.rank() - 2);
  if (rows % taps != 0 || self.size(self.rank() - 1) != w.out_count()) {
    return call.fail(Status::InvalidArgument, "self has {} rows and {} columns, expected a multiple of {} and {}", rows,
                     self.size(self.rank() - 1), taps, w.out_count());
  }
  const std::array sizes{self.size(0), rows / taps, output_size[0], output_size[1]};
  return call.resize(out, std::span(sizes).subspan(self.rank() == 3 ? 0 : 1));
}

Status col2im(Call& call, const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation,
              IntList padding, IntList stride, Tensor& out) {
  ET_ASSIGN(const Windows w, column_windows(call, output_size, kernel_size, dilation, padding, stride));
  return visit_number(call, self.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&self, &out}));
    const C* columns = load_rows<C>(call, self);
    const RowsOf<C> target(call, out);
    std::fill(target.data(), target.data() + out.numel(), C{});
    const Image<C> image = image_of<C>(with_batch(Tensor::view(target.data(), kDTypeOf<C>, out.sizes()), 4));
    for (int64_t n = 0; n < image.batch && out.numel() > 0; ++n) {
      scatter_columns<C>(w, columns + n * (self.numel() / image.batch), image, n);
    }
    target.finish();
    return Status::Ok;
  });
}

// --- convolution over time, batch, channel ---

Result<Windows> tbc_windows(const Call& call, const Tensor& self, const Tensor& weight, int64_t pad) {
  ET_TRY(check_rank(call, self, 3));
  ET_TRY(check_rank(call, weight, 3));
  if (self.size(2) != weight.size(1)) {
    return call.fail(Status::InvalidArgument, "self has {} channels, expected {} as weight has", self.size(2),
                     weight.size(1));
  }
  const std::array one{int64_t{1}};
  const std::array padding{pad};
  ET_ASSIGN(Windows windows,
            read_windows(call, {weight.sizes().first(1), one, padding, one}, self.sizes().first(1), 1));
  ET_TRY(count_convolution_windows(call, windows));
  return windows;
}

Status shape_of_conv_tbc(Call& call, const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad,
                         Tensor& out) {
  ET_ASSIGN(const Windows windows, tbc_windows(call, self, weight, pad));
  ET_TRY(check_bias(call, &bias, weight.size(2)));
  return call.resize(out, std::array{windows[2].out, self.size(1), weight.size(2)});
}

// Time, batch, channel as an image of batch, channel, time.
template <class C>
Image<C> tbc_image(const Tensor& t) {
  Image<C> image;
  image.data = t.as<C>();
  image.batch = t.size(1);
  image.channels = t.size(2);
  image.batch_stride = t.stride(1);
  image.channel_stride = t.stride(2);
  image.sizes[2] = t.size(0);
  image.strides[2] = t.stride(0);
  return image;
}

Status conv_tbc(Call& call, const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad, Tensor& out) {
  ET_ASSIGN(const Windows windows, tbc_windows(call, self, weight, pad));
  return visit_float(call, self.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&self, &weight, &bias, &out}));
    // taps, in, out -> out, in, taps
    const C* rows = load_rows<C>(call, weight);
    const int64_t taps = weight.size(0);
    const int64_t in = weight.size(1);
    const int64_t outs = weight.size(2);
    const Tensor turned = call.scratch_tensor(kDTypeOf<C>, std::array{outs, in, taps});
    for (int64_t i = 0; i < weight.numel(); ++i) {
      turned.as<C>()[(i % outs * in + i / outs % in) * taps + i / outs / in] = rows[i];
    }
    const OutputOf<C> target(call, out);
    correlate<C>(call, {windows, 1}, tbc_image<C>(load_as<C>(call, self)), turned, load_rows<C>(call, bias),
                 tbc_image<C>(target.tensor()));
    target.finish();
    return Status::Ok;
  });
}

constexpr Op kOps[] = {
    {"aten::convolution.out",
     "(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool "
     "transposed, SymInt[] output_padding, SymInt groups, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_convolution>, bind<apart<convolution>>, kPure | kAnyLayout},
    {"aten::convolution_backward.out",
     "(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, "
     "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask, *, Tensor(a!) "
     "out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     bind<shape_of_convolution_backward>, bind<apart<convolution_backward>>, kPure | kAnyLayout},
    {"aten::im2col.out",
     "(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<shape_of_im2col>, bind<apart<im2col>>, kPure | kAnyLayout},
    {"aten::col2im.out",
     "(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_col2im>, bind<apart<col2im>>, kPure | kAnyLayout},
    {"aten::conv_tbc.out", "(Tensor self, Tensor weight, Tensor bias, int pad=0, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_conv_tbc>, bind<apart<conv_tbc>>, kPure | kAnyLayout},
};

}  // namespace

Table conv_ops() { return kOps; }

}  // namespace etrt::ops
