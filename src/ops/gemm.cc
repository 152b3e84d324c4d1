#include "ops/gemm.h"

#include <algorithm>

namespace etrt::ops {
namespace {

constexpr int64_t kDepth = 256;      // inner length of a block: a strip of each matrix stays in the first cache
constexpr int64_t kColumns = 512;    // columns of a packed panel: it stays in the second cache
constexpr int64_t kRun = 256;        // elements converted at a time
constexpr int64_t kGrain = 1 << 15;  // multiplications worth a thread

int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// Work items of `cost` multiplications each that make one piece of parallel work.
int64_t grain_of(int64_t cost) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(cost, 1)); }

// tile[i * columns + j] = sum over p of a[p * rows + i] b[p * columns + j]
template <class C>
void multiply_strips(int64_t depth, const C* a, const C* b, C* tile) {
  constexpr int64_t kN = kStripColumns<C>;
  C sum[kStripRows][kN] = {};
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t i = 0; i < kStripRows; ++i) {
      const C left = a[p * kStripRows + i];
      for (int64_t j = 0; j < kN; ++j) {
        sum[i][j] = plus(sum[i][j], times(left, b[p * kN + j]));
      }
    }
  }
  for (int64_t i = 0; i < kStripRows; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      tile[i * kN + j] = sum[i][j];
    }
  }
}

template <class C>
void write_tile(const C* tile, int64_t rows, int64_t columns, const MatrixOut<C>& c, int64_t i0, int64_t j0, bool add) {
  for (int64_t i = 0; i < rows; ++i) {
    const C* from = tile + i * kStripColumns<C>;
    C* to = c.data + (i0 + i) * c.row_stride + j0 * c.column_stride;
    for (int64_t j = 0; j < columns; ++j) {
      C& place = to[j * c.column_stride];
      place = add ? plus(place, from[j]) : from[j];
    }
  }
}

template <class C>
void pack_lanes(const C* source, int64_t lane_stride, int64_t depth_stride, int64_t width, int64_t count, int64_t depth,
                C* strip) {
  for (int64_t p = 0; p < depth; ++p) {
    const C* from = source + p * depth_stride;
    C* to = strip + p * width;
    for (int64_t x = 0; x < count; ++x) {
      to[x] = from[x * lane_stride];
    }
    std::fill(to + count, to + width, C{});
  }
}

// A run of a vector as C: where it lies, or converted into `buffer`.
template <class C>
const C* run_of(const Matrix& matrix, int64_t offset, int64_t stride, int64_t n, C* buffer) {
  if (matrix.dtype == kDTypeOf<C> && stride == 1) {
    return static_cast<const C*>(matrix.data) + offset;
  }
  load_run<C>(matrix.dtype)(matrix.at(offset).data, stride, n, buffer);
  return buffer;
}

}  // namespace

template <class C>
C dot(const C* x, const C* y, int64_t n) {
  constexpr int64_t kLanes = kStripColumns<C>;
  C total{};
  int64_t i = 0;
  while (n - i >= kLanes) {
    const int64_t end = i + std::min(kDepth, (n - i) / kLanes * kLanes);
    C lanes[kLanes] = {};
    for (; i < end; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) {
        lanes[l] = plus(lanes[l], times(x[i + l], y[i + l]));
      }
    }
    C block{};
    for (const C lane : lanes) {
      block = plus(block, lane);
    }
    total = plus(total, block);
  }
  for (; i < n; ++i) {
    total = plus(total, times(x[i], y[i]));
  }
  return total;
}

template <class C>
void pack_strip(const Matrix& matrix, int64_t lane_stride, int64_t depth_stride, int64_t width, int64_t first,
                int64_t count, int64_t k0, int64_t depth, C* strip) {
  const Matrix source = matrix.at(first * lane_stride + k0 * depth_stride);
  if (source.dtype == kDTypeOf<C>) {
    pack_lanes(static_cast<const C*>(source.data), lane_stride, depth_stride, width, count, depth, strip);
    return;
  }
  const LoadRun<C> load = load_run<C>(source.dtype);
  if (lane_stride == 1) {
    for (int64_t p = 0; p < depth; ++p) {
      load(source.at(p * depth_stride).data, 1, count, strip + p * width);
      std::fill(strip + p * width + count, strip + (p + 1) * width, C{});
    }
    return;
  }
  C run[kRun];
  for (int64_t x = 0; x < width; ++x) {
    for (int64_t p0 = 0; p0 < depth; p0 += kRun) {
      const int64_t n = std::min(kRun, depth - p0);
      if (x < count) {
        load(source.at(x * lane_stride + p0 * depth_stride).data, depth_stride, n, run);
      } else {
        std::fill(run, run + n, C{});
      }
      for (int64_t p = 0; p < n; ++p) {
        strip[(p0 + p) * width + x] = run[p];
      }
    }
  }
}

template <class C>
Gemm<C>::Gemm(Call& call, int64_t m, int64_t n, int64_t k) : m_(m), n_(n), k_(k) {
  const int64_t columns = round_up(std::min(n, kColumns), kStripColumns<C>);
  // With one row or one column, here or in a part, the panel holds the vector instead.
  panel_ = call.scratch<C>(std::max(columns * std::min(k, kDepth), k));
}

template <class C>
Gemm<C> Gemm<C>::part(int64_t m, int64_t n, int64_t k) const {
  Gemm smaller = *this;
  smaller.m_ = m;
  smaller.n_ = n;
  smaller.k_ = k;
  return smaller;
}

template <class C>
void Gemm<C>::run(const Matrix& a, const Matrix& b, const MatrixOut<C>& c, bool accumulate) const {
  if (n_ == 1 && k_ > 0) {
    times_vector(a, b, m_, c.data, c.row_stride, accumulate);
    return;
  }
  if (m_ == 1 && k_ > 0) {
    times_vector(b.transposed(), a.transposed(), n_, c.data, c.column_stride, accumulate);
    return;
  }
  run_packed(
      [&a](int64_t first, int64_t count, int64_t k0, int64_t depth, C* strip) {
        pack_strip(a, a.row_stride, a.column_stride, kStripRows, first, count, k0, depth, strip);
      },
      [&b](int64_t first, int64_t count, int64_t k0, int64_t depth, C* strip) {
        pack_strip(b, b.column_stride, b.row_stride, kStripColumns<C>, first, count, k0, depth, strip);
      },
      c, accumulate);
}

template <class C>
void Gemm<C>::run_packed(PackStrip<C> pack_a, PackStrip<C> pack_b, const MatrixOut<C>& c, bool accumulate) const {
  constexpr int64_t kN = kStripColumns<C>;
  if (k_ == 0 && !accumulate) {
    for (int64_t i = 0; i < m_; ++i) {
      for (int64_t j = 0; j < n_; ++j) {
        c.data[i * c.row_stride + j * c.column_stride] = C{};
      }
    }
  }
  for (int64_t j0 = 0; j0 < n_; j0 += kColumns) {
    const int64_t columns = std::min(kColumns, n_ - j0);
    for (int64_t k0 = 0; k0 < k_; k0 += kDepth) {
      const int64_t depth = std::min(kDepth, k_ - k0);
      const int64_t strips = round_up(columns, kN) / kN;
      parallel_for(strips, grain_of(depth * kN), [&](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end; ++s) {
          pack_b(j0 + s * kN, std::min(kN, columns - s * kN), k0, depth, panel_ + s * kN * depth);
        }
      });
      multiply_panel(pack_a, j0, columns, k0, depth, c, accumulate || k0 > 0);
    }
  }
}

template <class C>
void Gemm<C>::multiply_panel(PackStrip<C> pack_a, int64_t j0, int64_t columns, int64_t k0, int64_t depth,
                             const MatrixOut<C>& c, bool accumulate) const {
  constexpr int64_t kN = kStripColumns<C>;
  const int64_t strips = round_up(m_, kStripRows) / kStripRows;
  parallel_for(strips, grain_of(kStripRows * columns * depth), [&](int64_t begin, int64_t end) {
    alignas(64) C left[kStripRows * kDepth];
    alignas(64) C tile[kStripRows * kN];
    for (int64_t s = begin; s < end; ++s) {
      const int64_t i0 = s * kStripRows;
      const int64_t rows = std::min(kStripRows, m_ - i0);
      pack_a(i0, rows, k0, depth, left);
      for (int64_t j = 0; j < columns; j += kN) {
        multiply_strips(depth, left, panel_ + j * depth, tile);
        write_tile(tile, rows, std::min(kN, columns - j), c, i0, j0 + j, accumulate);
      }
    }
  });
}

// y = a x. Reads the matrix once, along its shorter stride.
template <class C>
void Gemm<C>::times_vector(const Matrix& a, const Matrix& x, int64_t m, C* y, int64_t stride, bool accumulate) const {
  const C* vector = run_of(x, 0, x.row_stride, k_, panel_);
  const bool along_rows = a.column_stride <= a.row_stride;
  parallel_for((m + kRun - 1) / kRun, grain_of(kRun * k_), [&](int64_t begin, int64_t end) {
    C buffer[kRun];
    C block[kRun];
    C sums[kRun];
    for (int64_t i0 = begin * kRun; i0 < std::min(m, end * kRun); i0 += kRun) {
      const int64_t rows = std::min(kRun, m - i0);
      std::fill(sums, sums + rows, C{});
      if (along_rows) {
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t p = 0; p < k_; p += kRun) {
            const int64_t n = std::min(kRun, k_ - p);
            const C* row = run_of(a, (i0 + i) * a.row_stride + p * a.column_stride, a.column_stride, n, buffer);
            sums[i] = plus(sums[i], dot(row, vector + p, n));
          }
        }
      } else {
        for (int64_t p0 = 0; p0 < k_; p0 += kRun) {
          std::fill(block, block + rows, C{});
          for (int64_t p = p0; p < std::min(k_, p0 + kRun); ++p) {
            const C* column = run_of(a, i0 * a.row_stride + p * a.column_stride, a.row_stride, rows, buffer);
            for (int64_t i = 0; i < rows; ++i) {
              block[i] = plus(block[i], times(column[i], vector[p]));
            }
          }
          for (int64_t i = 0; i < rows; ++i) {
            sums[i] = plus(sums[i], block[i]);
          }
        }
      }
      for (int64_t i = 0; i < rows; ++i) {
        C& place = y[(i0 + i) * stride];
        place = accumulate ? plus(place, sums[i]) : sums[i];
      }
    }
  });
}

#define ETRT_INSTANTIATE(C)                       \
  template class Gemm<C>;                         \
  template C dot<C>(const C*, const C*, int64_t); \
  template void pack_strip<C>(const Matrix&, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, C*);
ETRT_INSTANTIATE(float)
ETRT_INSTANTIATE(double)
ETRT_INSTANTIATE(int64_t)
ETRT_INSTANTIATE(std::complex<float>)
ETRT_INSTANTIATE(std::complex<double>)
#undef ETRT_INSTANTIATE

}  // namespace etrt::ops
