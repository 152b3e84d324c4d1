// Matrix products in a compute type, of any size and any strides.
//
// The plain engine behind matmul and convolution: blocks of both matrices are packed into narrow strips
// that a small kernel multiplies in registers. Where a matrix comes from (memory of any dtype, or the
// windows of an image) is the packing's business.
#pragma once

#include <complex>
#include <cstdint>

#include "core/thread_pool.h"
#include "ops/compute.h"

namespace etrt::ops {

// Rows of the left and columns of the right matrix that one strip holds.
inline constexpr int64_t kStripRows = 4;
template <class C>
inline constexpr int64_t kStripColumns = 32 / static_cast<int64_t>(sizeof(C));

// A matrix in memory. Strides are in elements and may be zero (a repeated row or column).
struct Matrix {
  const void* data = nullptr;
  DType dtype = DType::Float32;
  int64_t row_stride = 0;
  int64_t column_stride = 0;

  Matrix transposed() const { return {data, dtype, column_stride, row_stride}; }
  // The matrix `elements` further on in memory.
  Matrix at(int64_t elements) const {
    return {static_cast<const std::byte*>(data) + elements * static_cast<int64_t>(dtype_size(dtype)), dtype, row_stride,
            column_stride};
  }
};

// Where a product goes: c[i * row_stride + j * column_stride].
template <class C>
struct MatrixOut {
  C* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};

// Fills a strip with lanes [first, first + count) (rows of the left or columns of the right matrix) at
// inner positions [k0, k0 + depth): strip[p * width + lane], zeros in the lanes from `count` to `width`.
template <class C>
using PackStrip = FunctionRef<void(int64_t first, int64_t count, int64_t k0, int64_t depth, C* strip)>;

// Products of one shape, m x k by k x n, with the memory they need. Use one object a thread.
template <class C>
class Gemm {
 public:
  Gemm(Call& call, int64_t m, int64_t n, int64_t k);
  // A product that is no larger in any direction, in the same memory.
  Gemm part(int64_t m, int64_t n, int64_t k) const;

  // c = a b, or c += a b.
  void run(const Matrix& a, const Matrix& b, const MatrixOut<C>& c, bool accumulate = false) const;
  // The same for matrices given by their packing.
  void run_packed(PackStrip<C> pack_a, PackStrip<C> pack_b, const MatrixOut<C>& c, bool accumulate = false) const;

 private:
  void times_vector(const Matrix& a, const Matrix& x, int64_t m, C* y, int64_t stride, bool accumulate) const;
  void multiply_panel(PackStrip<C> pack_a, int64_t j0, int64_t columns, int64_t k0, int64_t depth,
                      const MatrixOut<C>& c, bool accumulate) const;

  int64_t m_;
  int64_t n_;
  int64_t k_;
  C* panel_;  // packed strips of the right matrix, or the vector
};

// Packs from memory. `lane_stride` leads from row to row of a left or column to column of a right matrix.
template <class C>
void pack_strip(const Matrix& matrix, int64_t lane_stride, int64_t depth_stride, int64_t width, int64_t first,
                int64_t count, int64_t k0, int64_t depth, C* strip);

// sum of x[i] y[i], in blocks so that the error stays small.
template <class C>
C dot(const C* x, const C* y, int64_t n);

}  // namespace etrt::ops
