#include "ops/matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

namespace etrt::ops::matrix {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

double conjugate(double x) { return x; }
Complex conjugate(Complex x) { return std::conj(x); }
double real_part(double x) { return x; }
double real_part(Complex x) { return x.real(); }
// The size by which pivots are chosen.
double magnitude(double x) { return std::abs(x); }
double magnitude(Complex x) { return std::abs(x.real()) + std::abs(x.imag()); }
double square(double x) { return x * x; }
double square(Complex x) { return std::norm(x); }

double product(double a, double b) { return a * b; }
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// The length of n numbers `stride` apart, without overflow on the way.
template <class S>
double length(const S* x, int64_t n, int64_t stride) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, magnitude(x[i * stride]));
  }
  if (largest == 0 || !std::isfinite(largest)) {
    return largest;
  }
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += square(x[i * stride] / largest);
  }
  return largest * std::sqrt(sum);
}

template <class S>
bool all_finite(const S* a, int64_t count) {
  return std::all_of(a, a + count, [](S x) { return std::isfinite(magnitude(x)); });
}

template <class S>
void set_identity(S* a, int64_t n) {
  std::fill(a, a + n * n, S{});
  for (int64_t i = 0; i < n; ++i) {
    a[i * n + i] = S{1};
  }
}

// to += factor * from, elementwise.
template <class S>
void add_row(S* to, S factor, const S* from, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    to[j] += product(factor, from[j]);
  }
}

// A reflection I - tau v v^H, v[0] = 1, whose adjoint maps x to (beta, 0, …). Leaves beta in x[0] and the rest of v
// behind it. Returns tau.
template <class S>
S make_reflection(S* x, int64_t n, int64_t stride) {
  const S alpha = x[0];
  const double rest = n > 1 ? length(x + stride, n - 1, stride) : 0;
  const bool real = alpha == S{real_part(alpha)};
  if (rest == 0 && real) {
    return S{};
  }
  const double size = std::hypot(std::abs(alpha), rest);
  const double beta = real_part(alpha) >= 0 ? -size : size;
  const S scale = S{1} / (alpha - beta);
  for (int64_t i = 1; i < n; ++i) {
    x[i * stride] = product(x[i * stride], scale);
  }
  x[0] = beta;
  return (S{beta} - alpha) / beta;
}

// Applies I - tau v v^H to m rows of C, with v[i] at v[i * stride] for i > 0 and v[0] = 1.
template <class S>
void reflect_rows(const S* v, int64_t stride, S tau, S* c, int64_t c_stride, int64_t m, int64_t columns) {
  if (tau == S{} || columns == 0) {
    return;
  }
  std::vector<S> sums(c, c + columns);  // v^H C
  for (int64_t i = 1; i < m; ++i) {
    add_row(sums.data(), conjugate(v[i * stride]), c + i * c_stride, columns);
  }
  add_row(c, -tau, sums.data(), columns);
  for (int64_t i = 1; i < m; ++i) {
    add_row(c + i * c_stride, -product(tau, v[i * stride]), sums.data(), columns);
  }
}

// x and y become c x - s y and s x + c y.
template <class S>
void rotate(S* x, S* y, int64_t n, double c, double s) {
  for (int64_t i = 0; i < n; ++i) {
    const S old = x[i];
    x[i] = c * old - s * y[i];
    y[i] = s * old + c * y[i];
  }
}

template <class S>
void adjoint(const S* a, int64_t m, int64_t n, S* to) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      to[j * m + i] = conjugate(a[i * n + j]);
    }
  }
}

}  // namespace

template <class S>
void multiply(const S* a, const S* b, int64_t m, int64_t k, int64_t n, S* c) {
  std::fill(c, c + m * n, S{});
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      add_row(c + i * n, a[i * k + p], b + p * n, n);
    }
  }
}

template <class S>
void solve_triangular(const S* a, int64_t n, bool upper, Form form, bool unit, S* b, int64_t columns) {
  const auto at = [&](int64_t i, int64_t j) {
    return form == Form::kPlain ? a[i * n + j] : form == Form::kTransposed ? a[j * n + i] : conjugate(a[j * n + i]);
  };
  const bool backward = upper == (form == Form::kPlain);  // from the last row up
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = backward ? n - 1 - step : step;
    S* row = b + i * columns;
    for (int64_t done = 0; done < step; ++done) {
      const int64_t j = backward ? n - 1 - done : done;
      add_row(row, -at(i, j), b + j * columns, columns);
    }
    if (!unit) {
      const S diagonal = at(i, i);
      for (int64_t c = 0; c < columns; ++c) {
        row[c] /= diagonal;
      }
    }
  }
}

template <class S>
int32_t factor_lu(S* a, int64_t m, int64_t n, bool pivot, int32_t* pivots) {
  int32_t zero = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < m && pivot; ++i) {
      if (magnitude(a[i * n + k]) > magnitude(a[best * n + k])) {
        best = i;
      }
    }
    pivots[k] = static_cast<int32_t>(best);
    if (best != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
    }
    const S top = a[k * n + k];
    if (top == S{}) {
      zero = zero == 0 ? static_cast<int32_t>(k + 1) : zero;
      continue;
    }
    for (int64_t i = k + 1; i < m; ++i) {
      const S factor = a[i * n + k] / top;
      a[i * n + k] = factor;
      add_row(a + i * n + k + 1, -factor, a + k * n + k + 1, n - k - 1);
    }
  }
  return zero;
}

template <class S>
void solve_lu(const S* lu, const int32_t* pivots, int64_t n, Form form, S* b, int64_t columns) {
  const auto exchange = [&](int64_t i) {
    if (pivots[i] != i) {
      std::swap_ranges(b + i * columns, b + (i + 1) * columns, b + pivots[i] * columns);
    }
  };
  if (form == Form::kPlain) {
    for (int64_t i = 0; i < n; ++i) {
      exchange(i);
    }
    solve_triangular(lu, n, false, form, true, b, columns);
    solve_triangular(lu, n, true, form, false, b, columns);
    return;
  }
  solve_triangular(lu, n, true, form, false, b, columns);
  solve_triangular(lu, n, false, form, true, b, columns);
  for (int64_t i = n; i-- > 0;) {
    exchange(i);
  }
}

template <class S>
int32_t factor_cholesky(S* a, int64_t n) {
  int32_t failed = 0;
  for (int64_t j = 0; j < n; ++j) {
    double diagonal = real_part(a[j * n + j]);
    for (int64_t k = 0; k < j; ++k) {
      diagonal -= square(a[j * n + k]);
    }
    if (!(diagonal > 0)) {
      failed = static_cast<int32_t>(j + 1);
      a[j * n + j] = diagonal;
      break;
    }
    diagonal = std::sqrt(diagonal);
    a[j * n + j] = diagonal;
    for (int64_t i = j + 1; i < n; ++i) {
      S sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) {
        sum -= product(a[i * n + k], conjugate(a[j * n + k]));
      }
      a[i * n + j] = sum / diagonal;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    std::fill(a + i * n + i + 1, a + (i + 1) * n, S{});
  }
  return failed;
}

template <class S>
void factor_qr(S* a, int64_t m, int64_t n, S* tau) {
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    S* x = a + k * n + k;
    tau[k] = make_reflection(x, m - k, n);
    reflect_rows(x, n, conjugate(tau[k]), x + 1, n, m - k, n - k - 1);
  }
}

template <class S>
void apply_reflections(const S* a, int64_t stride, int64_t count, const S* tau, bool adjoint_product, S* c, int64_t m,
                       int64_t columns) {
  for (int64_t step = 0; step < count; ++step) {
    const int64_t k = adjoint_product ? step : count - 1 - step;
    const S factor = adjoint_product ? conjugate(tau[k]) : tau[k];
    reflect_rows(a + k * stride + k, stride, factor, c + k * columns, columns, m - k, columns);
  }
}

template <class S>
void expand_reflections(const S* a, int64_t stride, int64_t count, const S* tau, int64_t m, int64_t columns, S* q) {
  std::fill(q, q + m * columns, S{});
  for (int64_t i = 0; i < std::min(m, columns); ++i) {
    q[i * columns + i] = S{1};
  }
  apply_reflections(a, stride, count, tau, false, q, m, columns);
}

namespace {

// Reduces a Hermitian matrix to a real tridiagonal one. The rows of `basis` are the conjugated basis vectors:
// basis A basis^H is the tridiagonal matrix.
template <class S>
void tridiagonalise(S* a, int64_t n, S* basis, double* diagonal, double* beside) {
  set_identity(basis, n);
  std::vector<S> v(static_cast<size_t>(n));
  std::vector<S> w(static_cast<size_t>(n));
  for (int64_t k = 0; k + 1 < n; ++k) {
    // The reflection that clears column k below the subdiagonal, applied from both sides.
    const int64_t rest = n - k - 1;
    for (int64_t i = 0; i < rest; ++i) {
      v[static_cast<size_t>(i)] = a[(k + 1 + i) * n + k];
    }
    const S tau = make_reflection(v.data(), rest, 1);
    beside[k] = real_part(v[0]);
    v[0] = S{1};
    S* block = a + (k + 1) * n + k + 1;
    // H^H B H with H = I - tau v v^H.
    reflect_rows(v.data(), 1, conjugate(tau), block, n, rest, rest);
    for (int64_t i = 0; i < rest; ++i) {
      S sum{};
      for (int64_t j = 0; j < rest; ++j) {
        sum += product(block[i * n + j], v[static_cast<size_t>(j)]);
      }
      w[static_cast<size_t>(i)] = product(sum, tau);
    }
    for (int64_t i = 0; i < rest; ++i) {
      for (int64_t j = 0; j < rest; ++j) {
        block[i * n + j] -= product(w[static_cast<size_t>(i)], conjugate(v[static_cast<size_t>(j)]));
      }
    }
    reflect_rows(v.data(), 1, conjugate(tau), basis + (k + 1) * n, n, rest, n);
  }
  for (int64_t i = 0; i < n; ++i) {
    diagonal[i] = real_part(a[i * n + i]);
  }
}

// One implicit QR step with Wilkinson's shift on rows [first, last] of a real tridiagonal matrix: rotations chase
// the element that the first of them puts outside the band. The rows of `basis` turn with the matrix.
template <class S>
void tridiagonal_step(double* diagonal, double* beside, int64_t first, int64_t last, int64_t n, S* basis) {
  const double half_gap = (diagonal[last - 1] - diagonal[last]) / 2;
  const double corner = beside[last - 1];
  const double shift =
      diagonal[last] - corner / (half_gap + std::copysign(std::hypot(half_gap, corner), half_gap)) * corner;
  double kept = diagonal[first] - shift;
  double cleared = beside[first];
  for (int64_t k = first; k < last; ++k) {
    const double size = std::hypot(kept, cleared);
    const double c = size == 0 ? 1 : kept / size;
    const double s = size == 0 ? 0 : -cleared / size;
    if (k > first) {
      beside[k - 1] = size;
    }
    const double top = diagonal[k];
    const double side = beside[k];
    const double bottom = diagonal[k + 1];
    diagonal[k] = c * c * top - 2 * c * s * side + s * s * bottom;
    diagonal[k + 1] = s * s * top + 2 * c * s * side + c * c * bottom;
    beside[k] = c * s * (top - bottom) + (c * c - s * s) * side;
    if (k + 1 < last) {
      kept = beside[k];
      cleared = -s * beside[k + 1];
      beside[k + 1] *= c;
    }
    rotate(basis + k * n, basis + (k + 1) * n, n, c, s);
  }
}

// Steps until the matrix is diagonal, from its end: each block between negligible elements on its own.
template <class S>
bool diagonalise(double* diagonal, double* beside, int64_t n, S* basis) {
  constexpr int kMaxSteps = 100;
  const auto negligible = [&](int64_t i) {
    return std::abs(beside[i]) <= kEpsilon * (std::abs(diagonal[i]) + std::abs(diagonal[i + 1]));
  };
  int steps = 0;
  for (int64_t last = n - 1; last > 0;) {
    if (negligible(last - 1)) {
      --last;
      steps = 0;
      continue;
    }
    int64_t first = last - 1;
    while (first > 0 && !negligible(first - 1)) {
      --first;
    }
    if (++steps > kMaxSteps) {
      return false;
    }
    tridiagonal_step(diagonal, beside, first, last, n, basis);
  }
  return true;
}

}  // namespace

template <class S>
bool eigen_hermitian(S* vectors, int64_t n, double* values) {
  if (!all_finite(vectors, n * n)) {
    return false;
  }
  std::vector<S> basis(static_cast<size_t>(n * n));
  std::vector<double> beside(static_cast<size_t>(n) + 1);
  std::vector<double> diagonal(static_cast<size_t>(n));
  tridiagonalise(vectors, n, basis.data(), diagonal.data(), beside.data());
  if (!diagonalise(diagonal.data(), beside.data(), n, basis.data())) {
    return false;
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return diagonal[static_cast<size_t>(i)] < diagonal[static_cast<size_t>(j)];
  });
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    values[j] = diagonal[static_cast<size_t>(from)];
    for (int64_t i = 0; i < n; ++i) {
      vectors[i * n + j] = conjugate(basis[static_cast<size_t>(from * n + i)]);
    }
  }
  return true;
}

namespace {

// Turns rows p and q of an array, which stand for columns of a matrix, until they are orthogonal. True when they
// had to be turned.
template <class S>
bool make_orthogonal(S* x, S* y, int64_t m, S* vx, S* vy, int64_t n) {
  double xx = 0;
  double yy = 0;
  S xy{};
  for (int64_t i = 0; i < m; ++i) {
    xx += square(x[i]);
    yy += square(y[i]);
    xy += product(conjugate(x[i]), y[i]);
  }
  const double size = std::abs(xy);
  if (size == 0 || size <= kEpsilon * std::sqrt(xx) * std::sqrt(yy)) {
    return false;
  }
  const S phase = conjugate(xy / size);
  for (int64_t i = 0; i < m; ++i) {
    y[i] = product(y[i], phase);
  }
  for (int64_t i = 0; i < n; ++i) {
    vy[i] = product(vy[i], phase);
  }
  const double zeta = (yy - xx) / (2 * size);
  const double t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
  const double c = 1 / std::hypot(1.0, t);
  rotate(x, y, m, c, c * t);
  rotate(vx, vy, n, c, c * t);
  return true;
}

// One-sided Jacobi for m >= n. `columns` holds the n columns of A as rows; they become U diag(s). `v` starts as
// anything and gets the columns of V as rows.
template <class S>
void jacobi(S* columns, int64_t m, int64_t n, S* v) {
  constexpr int kMaxSweeps = 60;
  set_identity(v, n);
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool turned = false;
    for (int64_t p = 0; p + 1 < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        turned = make_orthogonal(columns + p * m, columns + q * m, m, v + p * n, v + q * n, n) || turned;
      }
    }
    if (!turned) {
      return;
    }
  }
}

// m >= n.
template <class S>
void tall_singular_values(const S* a, int64_t m, int64_t n, S* u, double* s, S* v) {
  std::vector<S> columns(static_cast<size_t>(m * n));
  std::vector<S> turns(static_cast<size_t>(n * n));
  double largest = 0;
  for (int64_t i = 0; i < m * n; ++i) {
    largest = std::max(largest, magnitude(a[i]));
  }
  const double scale = largest > 0 ? largest : 1;  // keeps squares in range
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      columns[static_cast<size_t>(j * m + i)] = a[i * n + j] / scale;
    }
  }
  jacobi(columns.data(), m, n, turns.data());
  std::vector<double> sizes(static_cast<size_t>(n));
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t j = 0; j < n; ++j) {
    sizes[static_cast<size_t>(j)] = length(columns.data() + j * m, m, 1);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return sizes[static_cast<size_t>(i)] > sizes[static_cast<size_t>(j)]; });
  int64_t rank = 0;
  for (int64_t j = 0; j < n; ++j) {
    const auto from = static_cast<size_t>(order[static_cast<size_t>(j)]);
    s[j] = sizes[from] * scale;
    const bool present = sizes[from] > static_cast<double>(m) * kEpsilon * sizes[static_cast<size_t>(order[0])];
    rank += present ? 1 : 0;
    for (int64_t i = 0; i < m; ++i) {
      u[i * n + j] = present ? columns[from * static_cast<size_t>(m) + static_cast<size_t>(i)] / sizes[from] : S{};
    }
    for (int64_t i = 0; i < n; ++i) {
      v[i * n + j] = turns[from * static_cast<size_t>(n) + static_cast<size_t>(i)];
    }
  }
  if (rank < n) {  // columns without a direction of their own: any that complete the basis
    std::vector<S> basis(static_cast<size_t>(m * m));
    for (int64_t i = 0; i < m; ++i) {
      std::copy(u + i * n, u + i * n + rank, basis.data() + i * m);
    }
    complete_basis(basis.data(), m, rank);
    for (int64_t i = 0; i < m; ++i) {
      std::copy(basis.data() + i * m + rank, basis.data() + i * m + n, u + i * n + rank);
    }
  }
}

}  // namespace

template <class S>
void complete_basis(S* q, int64_t m, int64_t known) {
  if (known >= m) {
    return;
  }
  std::vector<S> a(static_cast<size_t>(m * std::max<int64_t>(known, 1)));
  std::vector<S> tau(static_cast<size_t>(std::max<int64_t>(known, 1)));
  for (int64_t i = 0; i < m; ++i) {
    std::copy(q + i * m, q + i * m + known, a.data() + i * known);
  }
  factor_qr(a.data(), m, known, tau.data());
  std::vector<S> full(static_cast<size_t>(m * m));
  expand_reflections(a.data(), known, known, tau.data(), m, m, full.data());
  for (int64_t i = 0; i < m; ++i) {
    std::copy(full.data() + i * m + known, full.data() + (i + 1) * m, q + i * m + known);
  }
}

template <class S>
bool singular_values(const S* a, int64_t m, int64_t n, S* u, double* s, S* v) {
  if (!all_finite(a, m * n)) {
    return false;
  }
  if (m >= n) {
    tall_singular_values(a, m, n, u, s, v);
    return true;
  }
  std::vector<S> turned(static_cast<size_t>(m * n));
  adjoint(a, m, n, turned.data());
  tall_singular_values(turned.data(), n, m, v, s, u);
  return true;
}

namespace {

// A rotation (c, s; -conj(s), c) that takes (x, y) to (r, 0).
struct Rotation {
  double c = 1;
  Complex s;
};
Rotation make_rotation(Complex x, Complex y) {
  const double size = std::hypot(std::abs(x), std::abs(y));
  if (size == 0 || y == Complex{}) {
    return {};
  }
  if (x == Complex{}) {
    return {0, std::conj(y) / std::abs(y)};
  }
  return {std::abs(x) / size, x / std::abs(x) * std::conj(y) / size};
}

// Reduces to Hessenberg form H with A = Q H Q^H; `q` gets Q.
void reduce_to_hessenberg(Complex* a, int64_t n, Complex* q) {
  set_identity(q, n);
  std::vector<Complex> v(static_cast<size_t>(n));
  for (int64_t k = 0; k + 2 < n; ++k) {
    const int64_t rest = n - k - 1;
    for (int64_t i = 0; i < rest; ++i) {
      v[static_cast<size_t>(i)] = a[(k + 1 + i) * n + k];
    }
    const Complex tau = make_reflection(v.data(), rest, 1);
    v[0] = 1;
    reflect_rows(v.data(), 1, std::conj(tau), a + (k + 1) * n, n, rest, n);
    for (Complex* matrix : {a, q}) {  // from the right by I - tau v v^H
      for (int64_t i = 0; i < n; ++i) {
        Complex* row = matrix + i * n + k + 1;
        Complex sum{};
        for (int64_t j = 0; j < rest; ++j) {
          sum += product(row[j], v[static_cast<size_t>(j)]);
        }
        sum = product(sum, tau);
        for (int64_t j = 0; j < rest; ++j) {
          row[j] -= product(sum, std::conj(v[static_cast<size_t>(j)]));
        }
      }
    }
  }
}

// The eigenvalue of the trailing 2 x 2 block nearer to its last element.
Complex wilkinson_shift(const Complex* h, int64_t n, int64_t last) {
  const Complex a = h[(last - 1) * n + last - 1];
  const Complex b = h[(last - 1) * n + last];
  const Complex c = h[last * n + last - 1];
  const Complex d = h[last * n + last];
  const Complex half = (a - d) / 2.0;
  const Complex root = std::sqrt(half * half + b * c);
  const Complex below = std::abs(half + root) > std::abs(half - root) ? half + root : half - root;
  return below == Complex{} ? d : d - b * c / below;
}

// One QR step with a shift on rows and columns [first, last] of a Hessenberg matrix.
void qr_step(Complex* h, int64_t n, int64_t first, int64_t last, Complex shift, Complex* q) {
  std::vector<Rotation> rotations(static_cast<size_t>(last - first));
  for (int64_t i = first; i <= last; ++i) {
    h[i * n + i] -= shift;
  }
  for (int64_t k = first; k < last; ++k) {
    const Rotation r = make_rotation(h[k * n + k], h[(k + 1) * n + k]);
    rotations[static_cast<size_t>(k - first)] = r;
    for (int64_t j = k; j < n; ++j) {
      const Complex x = h[k * n + j];
      const Complex y = h[(k + 1) * n + j];
      h[k * n + j] = r.c * x + r.s * y;
      h[(k + 1) * n + j] = -std::conj(r.s) * x + r.c * y;
    }
  }
  for (int64_t k = first; k < last; ++k) {
    const Rotation r = rotations[static_cast<size_t>(k - first)];
    const auto turn_columns = [&](Complex* matrix, int64_t rows) {
      for (int64_t i = 0; i < rows; ++i) {
        const Complex x = matrix[i * n + k];
        const Complex y = matrix[i * n + k + 1];
        matrix[i * n + k] = r.c * x + std::conj(r.s) * y;
        matrix[i * n + k + 1] = -r.s * x + r.c * y;
      }
    };
    turn_columns(h, std::min(k + 2, last + 1));
    turn_columns(q, n);
  }
  for (int64_t i = first; i <= last; ++i) {
    h[i * n + i] += shift;
  }
}

// Eigenvectors of an upper triangular matrix, by substitution, in the columns of `x`.
void triangular_eigenvectors(const Complex* t, int64_t n, Complex* x) {
  double norm = 0;
  for (int64_t i = 0; i < n * n; ++i) {
    norm = std::max(norm, std::abs(t[i]));
  }
  const double smallest = std::max(norm * kEpsilon, std::numeric_limits<double>::min());
  std::fill(x, x + n * n, Complex{});
  for (int64_t k = 0; k < n; ++k) {
    x[k * n + k] = 1;
    for (int64_t i = k; i-- > 0;) {
      Complex sum = t[i * n + k];
      for (int64_t j = i + 1; j < k; ++j) {
        sum += t[i * n + j] * x[j * n + k];
      }
      Complex gap = t[i * n + i] - t[k * n + k];
      if (std::abs(gap) < smallest) {
        gap = smallest;
      }
      x[i * n + k] = -sum / gap;
    }
  }
}

}  // namespace

bool eigen_general(Complex* h, int64_t n, Complex* values, Complex* vectors) {
  constexpr int kMaxSteps = 60;
  if (!all_finite(h, n * n)) {
    return false;
  }
  std::vector<Complex> q(static_cast<size_t>(n * n));
  reduce_to_hessenberg(h, n, q.data());
  for (int64_t i = 2; i < n; ++i) {
    std::fill(h + i * n, h + i * n + i - 1, Complex{});
  }
  int64_t last = n - 1;
  for (int steps = 0; last > 0;) {
    int64_t first = last;
    while (first > 0) {
      Complex& below = h[first * n + first - 1];
      if (std::abs(below) <= kEpsilon * (std::abs(h[first * n + first]) + std::abs(h[(first - 1) * n + first - 1]))) {
        below = 0;
        break;
      }
      --first;
    }
    if (first == last) {
      --last;
      steps = 0;
      continue;
    }
    if (++steps > kMaxSteps) {
      return false;
    }
    // Now and then a shift out of the ordinary breaks a cycle.
    const Complex shift =
        steps % 10 == 0 ? h[last * n + last] + std::abs(h[last * n + last - 1]) : wilkinson_shift(h, n, last);
    qr_step(h, n, first, last, shift, q.data());
  }
  for (int64_t i = 0; i < n; ++i) {
    values[i] = h[i * n + i];
  }
  if (vectors == nullptr) {
    return true;
  }
  std::vector<Complex> x(static_cast<size_t>(n * n));
  triangular_eigenvectors(h, n, x.data());
  multiply(q.data(), x.data(), n, n, n, vectors);
  for (int64_t j = 0; j < n; ++j) {
    // Length 1, and the largest component real, as LAPACK has it.
    const double size = length(vectors + j, n, n);
    int64_t largest = 0;
    for (int64_t i = 1; i < n; ++i) {
      largest = std::abs(vectors[i * n + j]) > std::abs(vectors[largest * n + j]) ? i : largest;
    }
    const Complex top = vectors[largest * n + j];
    const Complex factor = std::conj(top) / std::abs(top) / size;
    for (int64_t i = 0; i < n; ++i) {
      vectors[i * n + j] *= factor;
    }
    vectors[largest * n + j] = vectors[largest * n + j].real();
  }
  return true;
}

template <class S>
void exponential(S* a, int64_t n) {
  constexpr int kTerms = 18;
  double norm = 0;
  for (int64_t i = 0; i < n; ++i) {
    double row = 0;
    for (int64_t j = 0; j < n; ++j) {
      row += std::abs(a[i * n + j]);
    }
    norm = std::max(norm, row);
    norm = std::isnan(row) ? row : norm;
  }
  const auto count = static_cast<size_t>(n * n);
  if (!std::isfinite(norm)) {
    std::fill(a, a + count, S{std::numeric_limits<double>::quiet_NaN()});
    return;
  }
  // Halved until small, a Taylor polynomial by Horner's rule, then squared as often.
  int halvings = 0;
  while (norm > 0.5) {
    norm /= 2;
    ++halvings;
  }
  const double scale = std::ldexp(1.0, -halvings);
  std::vector<S> x(a, a + count);
  std::vector<S> next(count);
  for (S& value : x) {
    value *= scale;
  }
  set_identity(a, n);
  for (int k = kTerms; k > 0; --k) {
    multiply(x.data(), a, n, n, n, next.data());
    for (size_t i = 0; i < count; ++i) {
      a[i] = next[i] / static_cast<double>(k);
    }
    for (int64_t i = 0; i < n; ++i) {
      a[i * n + i] += 1.0;
    }
  }
  for (int i = 0; i < halvings; ++i) {
    multiply(a, a, n, n, n, next.data());
    std::copy(next.begin(), next.end(), a);
  }
}

#define ETRT_INSTANTIATE(S)                                                                             \
  template void solve_triangular<S>(const S*, int64_t, bool, Form, bool, S*, int64_t);                  \
  template int32_t factor_lu<S>(S*, int64_t, int64_t, bool, int32_t*);                                  \
  template void solve_lu<S>(const S*, const int32_t*, int64_t, Form, S*, int64_t);                      \
  template int32_t factor_cholesky<S>(S*, int64_t);                                                     \
  template void factor_qr<S>(S*, int64_t, int64_t, S*);                                                 \
  template void apply_reflections<S>(const S*, int64_t, int64_t, const S*, bool, S*, int64_t, int64_t); \
  template void expand_reflections<S>(const S*, int64_t, int64_t, const S*, int64_t, int64_t, S*);      \
  template bool eigen_hermitian<S>(S*, int64_t, double*);                                               \
  template bool singular_values<S>(const S*, int64_t, int64_t, S*, double*, S*);                        \
  template void complete_basis<S>(S*, int64_t, int64_t);                                                \
  template void exponential<S>(S*, int64_t);                                                            \
  template void multiply<S>(const S*, const S*, int64_t, int64_t, int64_t, S*);
ETRT_INSTANTIATE(double)
ETRT_INSTANTIATE(Complex)
#undef ETRT_INSTANTIATE

}  // namespace etrt::ops::matrix
