// Sliding windows as columns (im2col), columns summed back into an image (col2im), and the gradient of unfold.
#include <algorithm>
#include <array>

#include "core/checked.h"
#include "ops/combine.h"
#include "ops/strided_view.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// Windows over one dimension of an image.
struct Windows {
  int64_t kernel = 1;
  int64_t dilation = 1;
  int64_t padding = 0;
  int64_t stride = 1;
  int64_t count = 0;  // how many fit
};

struct Grid {
  std::array<Windows, 2> dims;  // height, width
  int64_t taps = 0;             // elements of a window
  int64_t places = 0;           // windows
};

Result<Grid> grid_of(const Call& call, std::array<int64_t, 2> image, IntList kernel_size, IntList dilation,
                     IntList padding, IntList stride) {
  for (const IntList list : {kernel_size, dilation, padding, stride}) {
    if (list.size() != 2) {
      return call.fail(Status::InvalidArgument,
                       "kernel_size {}, dilation {}, padding {} and stride {} must have 2 entries each",
                       sizes_text(kernel_size), sizes_text(dilation), sizes_text(padding), sizes_text(stride));
    }
  }
  Grid grid;
  for (size_t i = 0; i < 2; ++i) {
    Windows& w = grid.dims[i];
    w = {kernel_size[i], dilation[i], padding[i], stride[i], 0};
    int64_t reach = 0;   // from the first tap to the last
    int64_t padded = 0;  // size of the padded image
    const bool ok = w.kernel > 0 && w.dilation > 0 && w.stride > 0 && w.padding >= 0 &&
                    checked_mul(w.kernel - 1, w.dilation, reach) && checked_mul<int64_t>(w.padding, 2, padded) &&
                    checked_add(padded, image[i], padded) && padded > reach;
    if (!ok) {
      return call.fail(Status::InvalidArgument,
                       "no window of kernel_size {}, dilation {}, padding {} and stride {} fits an image of {} x {}",
                       sizes_text(kernel_size), sizes_text(dilation), sizes_text(padding), sizes_text(stride), image[0],
                       image[1]);
    }
    w.count = (padded - reach - 1) / w.stride + 1;
  }
  if (!checked_mul(grid.dims[0].kernel, grid.dims[1].kernel, grid.taps) ||
      !checked_mul(grid.dims[0].count, grid.dims[1].count, grid.places)) {
    return call.fail(Status::InvalidArgument, "the columns have too many elements");
  }
  return grid;
}

// Narrows a dimension of the image to the elements that tap `k` meets, and the dimension of windows to those
// windows where it meets one (elsewhere it lies in the padding).
void meet(const Windows& w, int64_t k, View& image, int image_dim, View& columns, int columns_dim) {
  const int64_t size = image.sizes[image_dim];
  const int64_t first_at = k * w.dilation - w.padding;  // of window 0
  const int64_t first = first_at < 0 ? std::min((-first_at - 1) / w.stride + 1, w.count) : 0;
  const int64_t last = first_at < size ? std::min((size - 1 - first_at) / w.stride + 1, w.count) : first;
  const int64_t n = std::max<int64_t>(last - first, 0);
  narrow_to(image, image_dim, n > 0 ? first_at + first * w.stride : 0, n, w.stride);
  narrow_to(columns, columns_dim, n > 0 ? first : 0, n);
}

// Calls body(image part, columns part) for every tap. image: [N, C, H, W], columns: [N, C taps, places].
template <class Body>
Status for_each_tap(const Grid& grid, const View& image, View columns, const Body& body) {
  split_dim(columns, 2, grid.dims[1].count);
  split_dim(columns, 1, grid.taps);
  split_dim(columns, 2, grid.dims[1].kernel);
  // Now [N, C, kernel height, kernel width, windows down, windows across].
  for (int64_t i = 0; i < grid.dims[0].kernel; ++i) {
    for (int64_t k = 0; k < grid.dims[1].kernel; ++k) {
      View part = image;
      View column = columns;
      select_at(column, 3, k);
      select_at(column, 2, i);
      meet(grid.dims[0], i, part, 2, column, 2);
      meet(grid.dims[1], k, part, 3, column, 3);
      ET_TRY(body(part, column));
    }
  }
  return Status::Ok;
}

// With a batch dimension of 1 where there is none.
View batched(const Tensor& t, int rank) {
  View view = view_of(t);
  if (view.rank() < rank) {
    insert_dim(view, 0, 1, 0);
  }
  return view;
}

Result<Grid> im2col_grid(const Call& call, const Tensor& self, IntList kernel_size, IntList dilation, IntList padding,
                         IntList stride) {
  const int r = self.rank();
  if ((r != 3 && r != 4) || self.size(r - 1) == 0 || self.size(r - 2) == 0 || self.size(r - 3) == 0) {
    return call.fail(Status::InvalidArgument,
                     "self of sizes {} must have 3 or 4 dimensions, none of them empty but the batch's",
                     sizes_text(self.sizes()));
  }
  return grid_of(call, {self.size(r - 2), self.size(r - 1)}, kernel_size, dilation, padding, stride);
}

Result<Dims> columns_sizes(const Call& call, const Tensor& self, const Grid& grid) {
  const int r = self.rank();
  int64_t rows = 0;
  if (!checked_mul(self.size(r - 3), grid.taps, rows)) {
    return call.fail(Status::InvalidArgument, "the columns have too many elements");
  }
  Dims sizes;
  if (r == 4) {
    sizes.push_back(self.size(0));
  }
  sizes.push_back(rows);
  sizes.push_back(grid.places);
  return sizes;
}

Status im2col_shape(Call& call, const Tensor& self, IntList kernel_size, IntList dilation, IntList padding,
                    IntList stride, Tensor& out) {
  ET_ASSIGN(const Grid grid, im2col_grid(call, self, kernel_size, dilation, padding, stride));
  ET_ASSIGN(const Dims sizes, columns_sizes(call, self, grid));
  return call.resize(out, sizes);
}

Status im2col(Call& call, const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride,
              Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_ASSIGN(const Grid grid, im2col_grid(call, self, kernel_size, dilation, padding, stride));
  ET_ASSIGN(const Dims sizes, columns_sizes(call, self, grid));
  ET_TRY(check_sizes(call, out, sizes));
  if (out.numel() == 0) {
    return Status::Ok;
  }
  zero_fill(out);
  return for_each_tap(grid, batched(self, 4), batched(out, 3),
                      [&](const View& image, const View& column) { return copy_view(call, image, column); });
}

Result<Grid> col2im_grid(const Call& call, const Tensor& self, IntList output_size, IntList kernel_size,
                         IntList dilation, IntList padding, IntList stride) {
  if (output_size.size() != 2 || output_size[0] <= 0 || output_size[1] <= 0) {
    return call.fail(Status::InvalidArgument, "output_size {} must be 2 positive numbers", sizes_text(output_size));
  }
  ET_ASSIGN(const Grid grid, grid_of(call, {output_size[0], output_size[1]}, kernel_size, dilation, padding, stride));
  const int r = self.rank();
  if ((r != 2 && r != 3) || self.size(r - 2) == 0 || self.size(r - 2) % grid.taps != 0 ||
      self.size(r - 1) != grid.places) {
    return call.fail(Status::InvalidArgument,
                     "self of sizes {} must be 2 or 3 dimensions ending with channels times {} and with {}",
                     sizes_text(self.sizes()), grid.taps, grid.places);
  }
  return grid;
}

Dims image_sizes(const Tensor& self, const Grid& grid, IntList output_size) {
  Dims sizes;
  if (self.rank() == 3) {
    sizes.push_back(self.size(0));
  }
  sizes.push_back(self.size(self.rank() - 2) / grid.taps);
  sizes.push_back(output_size[0]);
  sizes.push_back(output_size[1]);
  return sizes;
}

Status col2im_shape(Call& call, const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation,
                    IntList padding, IntList stride, Tensor& out) {
  ET_ASSIGN(const Grid grid, col2im_grid(call, self, output_size, kernel_size, dilation, padding, stride));
  return call.resize(out, image_sizes(self, grid, output_size));
}

Result<CombineRun> addition(const Call& call, const Tensor& t) {
  const CombineRun add = combine_run(Combine::Add, t.dtype);
  if (add == nullptr) {
    return call.fail(Status::InvalidType, "{} has dtype {}, which has no arithmetic", call.arg_name(t),
                     dtype_name(t.dtype));
  }
  return add;
}

Status col2im(Call& call, const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation,
              IntList padding, IntList stride, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_ASSIGN(const Grid grid, col2im_grid(call, self, output_size, kernel_size, dilation, padding, stride));
  ET_TRY(check_sizes(call, out, image_sizes(self, grid, output_size)));
  ET_ASSIGN(const CombineRun add, addition(call, self));
  zero_fill(out);
  if (self.numel() == 0) {
    return Status::Ok;
  }
  return for_each_tap(grid, batched(out, 4), batched(self, 3), [&](const View& image, const View& column) {
    combine_views(add, column, image);
    return Status::Ok;
  });
}

Status unfold_backward_shape(Call& call, const Tensor& /*grad_in*/, IntList input_sizes, int64_t /*dim*/,
                             int64_t /*size*/, int64_t /*step*/, Tensor& out) {
  return call.resize(out, input_sizes);
}

// grad_in[…, window, …, k] adds to out[…, window * step + k, …].
Status unfold_backward(Call& call, const Tensor& grad_in, IntList input_sizes, int64_t dim, int64_t size, int64_t step,
                       Tensor& out) {
  ET_TRY(check_same_dtype(call, out, grad_in));
  ET_TRY(check_sizes(call, out, input_sizes));
  ET_ASSIGN(const CombineRun add, addition(call, grad_in));
  if (out.rank() == 0) {
    return call.fail(Status::NotSupported, "input_sizes is empty: the gradient of a scalar's unfold isn't supported");
  }
  ET_ASSIGN(const int d, wrap_dim(call, dim, out.rank()));
  if (size < 0 || size > out.size(d) || step <= 0) {
    return call.fail(Status::InvalidArgument, "size {} and step {} make no windows of dimension {} of size {}", size,
                     step, d, out.size(d));
  }
  Dims expected(input_sizes);
  expected[d] = (out.size(d) - size) / step + 1;
  const int64_t windows = expected[d];
  expected.push_back(size);
  ET_TRY(check_sizes(call, grad_in, expected));
  zero_fill(out);
  for (int64_t k = 0; grad_in.numel() > 0 && k < size; ++k) {
    View from = view_of(grad_in);
    select_at(from, out.rank(), k);
    View to = view_of(out);
    narrow_to(to, d, k, windows, step);
    combine_views(add, from, to);
  }
  return Status::Ok;
}

constexpr uint32_t kFold = kPure | kAnyLayout;

constexpr Op kOps[] = {
    {"aten::im2col.out",
     "(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<im2col_shape>, bind<im2col>, kFold},
    {"aten::col2im.out",
     "(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<col2im_shape>, bind<col2im>, kFold},
    {"aten::unfold_backward.out",
     "(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step, *, Tensor(a!) out) -> Tensor(a!)",
     bind<unfold_backward_shape>, bind<unfold_backward>, kFold},
};

}  // namespace

Table fold_ops() { return kOps; }

}  // namespace etrt::ops
