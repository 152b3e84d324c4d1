// llama::fast_hadamard_transform and preprocess::tile_crop.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>

#include "core/thread_pool.h"
#include "ops/compute.h"
#include "ops/llm_rows.h"
#include "ops/shape_of_first.h"
#include "ops/strided_copy.h"

namespace etrt::ops {
namespace {

// ---- the Hadamard transform

constexpr int kOddPart = 28;

// The Hadamard matrix of order 28 by Williamson's construction: four symmetric circulant matrices of order 7, given by
// their first rows, in a 4 x 4 arrangement of signs.
class Hadamard28 {
 public:
  Hadamard28() {
    constexpr std::array<std::string_view, 4> kFirstRows = {"+------", "++----+", "+-+--+-", "+--++--"};
    constexpr int kPlace[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
    constexpr int kSign[4][4] = {{1, 1, 1, 1}, {-1, 1, -1, 1}, {-1, 1, 1, -1}, {-1, -1, 1, 1}};
    for (size_t i = 0; i < kOddPart; ++i) {
      for (size_t j = 0; j < kOddPart; ++j) {
        const std::string_view row = kFirstRows[static_cast<size_t>(kPlace[i / 7][j / 7])];
        const float value = row[(j % 7 + 7 - i % 7) % 7] == '+' ? 1.0F : -1.0F;
        at_[i][j] = value * static_cast<float>(kSign[i / 7][j / 7]);
      }
    }
  }
  template <class C>
  void multiply(C* x, int64_t stride) const {
    C sums[kOddPart] = {};
    for (int i = 0; i < kOddPart; ++i) {
      for (int j = 0; j < kOddPart; ++j) {
        sums[i] += static_cast<C>(at_[static_cast<size_t>(i)][static_cast<size_t>(j)]) * x[j * stride];
      }
    }
    for (int i = 0; i < kOddPart; ++i) {
      x[i * stride] = sums[i];
    }
  }

 private:
  std::array<std::array<float, kOddPart>, kOddPart> at_;
};

// x of 2^k elements times the Hadamard matrix of that order, divided by the square root of the order.
template <class C>
void transform_power_of_two(C* x, int64_t n) {
  for (int64_t step = 1; step < n; step *= 2) {
    for (int64_t i = 0; i < n; i += 2 * step) {
      for (int64_t j = i; j < i + step; ++j) {
        const C a = x[j];
        const C b = x[j + step];
        x[j] = a + b;
        x[j + step] = a - b;
      }
    }
  }
  const C factor = static_cast<C>(1.0 / std::sqrt(static_cast<double>(n)));
  for (int64_t i = 0; i < n; ++i) {
    x[i] *= factor;
  }
}

template <class C>
void transform(C* x, int64_t n) {
  if (n % kOddPart != 0) {
    transform_power_of_two(x, n);
    return;
  }
  static const Hadamard28 matrix;
  const int64_t columns = n / kOddPart;
  for (int i = 0; i < kOddPart; ++i) {
    transform_power_of_two(x + i * columns, columns);
  }
  for (int64_t i = 0; i < columns; ++i) {
    matrix.multiply(x + i, columns);
  }
}

template <class C>
Status transform_rows(Call& call, const Tensor& mat, Tensor& out) {
  ET_TRY(check_converts<C>(call, {&mat, &out}));
  const int64_t n = mat.size(mat.rank() - 1);
  const int64_t rows = mat.numel() / n;
  C* values = copy_rows<C>(call, mat);
  parallel_for(rows, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      transform(values + i * n, n);
    }
  });
  store_rows<C>(values, out);
  return Status::Ok;
}

Status fast_hadamard_transform(Call& call, const Tensor& mat, Tensor& out) {
  ET_TRY(check_sizes(call, out, mat.sizes()));
  ET_TRY(check_same_dtype(call, out, mat));
  if (mat.numel() == 0) {
    return Status::Ok;
  }
  if (mat.rank() == 0) {
    strided_copy(mat.element_size(), {}, mat.data, {}, out.data, {});
    return Status::Ok;
  }
  const int64_t n = mat.size(mat.rank() - 1);
  const auto power = static_cast<uint64_t>(n % kOddPart == 0 ? n / kOddPart : n);
  if (!std::has_single_bit(power)) {
    return call.fail(Status::InvalidArgument, "mat has {} columns, expected a power of two or 28 times one", n);
  }
  return visit_float(call, mat.dtype, [&]<class C>() { return transform_rows<C>(call, mat, out); });
}

// ---- tiles

Status check_tiles(Call& call, const Tensor& input, int64_t tile) {
  ET_TRY(check_rank(call, input, 3));
  if (tile <= 0 || input.size(1) % tile != 0 || input.size(2) % tile != 0) {
    return call.fail(Status::InvalidArgument, "tile_size {} doesn't divide the height and width of input {}", tile,
                     tensor_text(input));
  }
  return Status::Ok;
}

Status shape_of_tile_crop(Call& call, const Tensor& input, int64_t tile, Tensor& out) {
  ET_TRY(check_tiles(call, input, tile));
  return call.resize(out, std::array{input.size(1) / tile * (input.size(2) / tile), input.size(0), tile, tile});
}

// The image [c, h, w] as its tiles, row by row: [(h / t) * (w / t), c, t, t].
Status tile_crop(Call& call, const Tensor& input, int64_t tile, Tensor& out) {
  ET_TRY(check_tiles(call, input, tile));
  const int64_t down = input.size(1) / tile;
  const int64_t across = input.size(2) / tile;
  ET_TRY(check_sizes(call, out, std::array{down * across, input.size(0), tile, tile}));
  ET_TRY(check_same_dtype(call, out, input));
  const std::array sizes{down, across, input.size(0), tile, tile};
  const std::array from{tile * input.stride(1), tile * input.stride(2), input.stride(0), input.stride(1),
                        input.stride(2)};
  const std::array to{across * out.stride(0), out.stride(0), out.stride(1), out.stride(2), out.stride(3)};
  strided_copy(input.element_size(), sizes, input.data, from, out.data, to);
  return Status::Ok;
}

}  // namespace

Table llm_transform_rows() {
  static const Op rows[] = {
      {"llama::fast_hadamard_transform.out", "(Tensor mat, *, Tensor(a!) out) -> Tensor(a!)", shape_of_first<1>,
       bind<fast_hadamard_transform>, kPure | kAnyLayout},
      {"preprocess::tile_crop.out", "(Tensor input, int tile_size, *, Tensor(a!) out) -> Tensor(a!)",
       bind<shape_of_tile_crop>, bind<tile_crop>, kPure | kAnyLayout | kView},
  };
  return rows;
}

}  // namespace etrt::ops
