// Linear algebra: systems, factorisations, eigenvalues. Everything is computed in double or complex double
// (ops/matrix.h) and rounded once.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "ops/apart.h"
#include "ops/compute.h"
#include "ops/dims.h"
#include "ops/matrix.h"
#include "ops/stack.h"
#include "ops/strided_view.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

using matrix::Complex;
using matrix::Form;

// Calls f with the type that matrices of `dtype` are computed in.
template <class F>
Status visit_matrix(const Call& call, DType dtype, F&& f) {
  switch (compute_dtype(dtype)) {
    case DType::Float32:
    case DType::Float64:
      return f.template operator()<double>();
    case DType::Complex64:
    case DType::Complex128:
      return f.template operator()<Complex>();
    default:
      return refuse_dtype(call, dtype);
  }
}

int64_t rows_of(const Tensor& t) { return t.size(t.rank() - 2); }
int64_t columns_of(const Tensor& t) { return t.size(t.rank() - 1); }

Status check_matrices(const Call& call, const Tensor& t) { return check_rank_between(call, t, 2, kMaxRank); }
Status check_square(const Call& call, const Tensor& t) {
  ET_TRY(check_matrices(call, t));
  if (rows_of(t) != columns_of(t)) {
    return call.fail(Status::InvalidArgument, "{} has sizes {}, expected square matrices", call.arg_name(t),
                     sizes_text(t.sizes()));
  }
  return Status::Ok;
}

// The leading dimensions and then these.
Dims with_batch_sizes(std::span<const int64_t> batch, std::initializer_list<int64_t> inner) {
  Dims sizes(batch);
  for (const int64_t s : inner) {
    sizes.push_back(s);
  }
  return sizes;
}
Status resize_stack(Call& call, Tensor& out, std::span<const int64_t> batch, std::initializer_list<int64_t> inner) {
  return call.resize(out, with_batch_sizes(batch, inner));
}

template <class S>
void transpose(const S* a, int64_t m, int64_t n, S* to) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      to[j * m + i] = a[i * n + j];
    }
  }
}

// --- LU factors ---

// A stack of square or rectangular matrices, factored.
template <class S>
struct Factors {
  S* lu = nullptr;
  int32_t* pivots = nullptr;  // from 0
  int32_t* info = nullptr;
  int64_t count = 0;
  int64_t m = 0;
  int64_t n = 0;
  bool transposed = false;  // the factors are those of the transposed matrices

  int64_t k() const { return std::min(m, n); }
  const S* at(int64_t i) const { return lu + i * m * n; }
  const int32_t* pivots_at(int64_t i) const { return pivots + i * k(); }
};

// Eager factors the transposed matrix for a determinant where that is how memory lies.
template <class S>
bool factors_transposed(const Tensor& a) {
  return std::is_same_v<S, double> && a.contiguous();
}

template <class S>
Factors<S> factor(Call& call, const Tensor& a, bool pivot, bool transposed = false) {
  Factors<S> f;
  f.m = rows_of(a);
  f.n = columns_of(a);
  f.count = count_of(batch_sizes(a));
  f.transposed = transposed;
  f.lu = copy_rows<S>(call, a);
  f.pivots = call.scratch<int32_t>(f.count * f.k());
  f.info = call.scratch<int32_t>(f.count);
  S* const turned = transposed ? call.scratch<S>(f.m * f.n) : nullptr;
  for (int64_t i = 0; i < f.count; ++i) {
    S* lu = f.lu + i * f.m * f.n;
    if (transposed) {
      transpose(lu, f.m, f.n, turned);
      std::copy(turned, turned + f.m * f.n, lu);
    }
    f.info[i] = matrix::factor_lu(lu, f.m, f.n, pivot, f.pivots + i * f.k());
  }
  return f;
}

void store_counts(Call& call, const int32_t* values, int64_t count, int32_t add, const Tensor& out) {
  auto* wide = call.scratch<int64_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    wide[i] = int64_t{values[i]} + add;
  }
  store_rows<int64_t>(wide, out);
}

template <class S>
void store_pivots(Call& call, const Factors<S>& f, const Tensor& out) {
  store_counts(call, f.pivots, f.count * f.k(), 1, out);
}

Status check_info(const Call& call, const int32_t* info, int64_t count, const char* what) {
  for (int64_t i = 0; i < count; ++i) {
    if (info[i] != 0) {
      return call.fail(Status::InvalidArgument, "matrix {} {} (at {})", i, what, info[i]);
    }
  }
  return Status::Ok;
}
constexpr const char* kSingular = "is singular";

// Pivots as an argument holds them, checked, from 0.
Result<const int32_t*> read_pivots(Call& call, const Tensor& pivots, int64_t rows) {
  ET_TRY(check_converts<int64_t>(call, {&pivots}));
  const int64_t* values = load_rows<int64_t>(call, pivots);
  auto* checked = call.scratch<int32_t>(pivots.numel());
  for (int64_t i = 0; i < pivots.numel(); ++i) {
    const int64_t value = values[i];
    if (value < 1 || value > rows) {
      return call.fail(Status::InvalidArgument, "{} holds {}, expected rows from 1 to {}", call.arg_name(pivots), value,
                       rows);
    }
    checked[i] = static_cast<int32_t>(value - 1);
  }
  return static_cast<const int32_t*>(checked);
}

// 1 or -1, as an even or odd number of rows was exchanged.
double sign_of(const int32_t* pivots, int64_t n) {
  double sign = 1;
  for (int64_t i = 0; i < n; ++i) {
    sign = pivots[i] != i ? -sign : sign;
  }
  return sign;
}

// --- systems ---

// How a stack of matrices and one of right-hand sides meet.
struct System {
  Dims batch;
  bool vector = false;  // right-hand sides are vectors
  int64_t n = 0;        // unknowns
  int64_t rows = 0;     // of a right-hand side
  int64_t columns = 0;

  int64_t size() const { return rows * columns; }
  std::span<const int64_t> b_batch(const Tensor& b) const { return batch_sizes(b, vector ? 1 : 2); }
  Dims result() const {
    Dims sizes = batch;
    sizes.push_back(rows);
    if (!vector) {
      sizes.push_back(columns);
    }
    return sizes;
  }
};

// `a_batch`: of the matrices, of order n.
Result<System> read_system(const Call& call, std::span<const int64_t> a_batch, int64_t n, const Tensor& b, bool left,
                           bool vector) {
  System s;
  s.n = n;
  s.vector = vector;
  if (!vector) {
    ET_TRY(check_matrices(call, b));
  }
  s.rows = vector ? columns_of(b) : rows_of(b);
  s.columns = vector ? 1 : columns_of(b);
  if ((left ? s.rows : s.columns) != n) {
    return call.fail(Status::InvalidArgument, "{} has sizes {}, which don't fit matrices of order {}", call.arg_name(b),
                     sizes_text(b.sizes()), n);
  }
  ET_ASSIGN(s.batch, broadcast_sizes(call, a_batch, s.b_batch(b)));
  return s;
}

// Runs solve(matrix index, right-hand side) for every right-hand side, n x columns; with `left` off on their
// transposes. The result is row-major.
template <class S, class Solve>
S* solve_all(Call& call, const System& s, std::span<const int64_t> a_batch, const Tensor& b, bool left, Solve&& solve) {
  const S* sides = load_rows<S>(call, b);
  const int64_t count = count_of(s.batch);
  S* result = call.scratch<S>(count * s.size());
  S* turned = left ? nullptr : call.scratch<S>(s.size());
  for (int64_t i = 0; i < count; ++i) {
    const S* from = sides + matrix_index(s.b_batch(b), s.batch, i) * s.size();
    S* to = result + i * s.size();
    const int64_t a = matrix_index(a_batch, s.batch, i);
    if (left) {
      std::copy(from, from + s.size(), to);
      solve(a, to, s.columns);
    } else {
      transpose(from, s.rows, s.columns, turned);
      solve(a, turned, s.rows);
      transpose(turned, s.columns, s.rows, to);
    }
  }
  return result;
}

// --- solve ---

bool is_vector_side(const Tensor& a, const Tensor& b) {
  return b.rank() == 1 || (b.rank() == a.rank() - 1 && b.same_sizes(a.sizes().first(static_cast<size_t>(b.rank()))));
}

Result<System> solve_system(const Call& call, const Tensor& a, const Tensor& b, bool left) {
  ET_TRY(check_square(call, a));
  ET_TRY(check_rank_between(call, b, 1, kMaxRank));
  const bool vector = is_vector_side(a, b);
  if (vector && !left) {
    return call.fail(Status::InvalidArgument, "left=False needs matrices, B has sizes {}", sizes_text(b.sizes()));
  }
  return read_system(call, batch_sizes(a), rows_of(a), b, left, vector);
}

// Factors A and solves; the factors stay for whoever wants them.
template <class S>
S* solve_by_lu(Call& call, const Factors<S>& f, const System& s, const Tensor& a, const Tensor& b, bool left) {
  return solve_all<S>(call, s, batch_sizes(a), b, left, [&](int64_t i, S* side, int64_t columns) {
    // Without `left` the transposed system is solved.
    const Form form = f.transposed == left ? Form::kTransposed : Form::kPlain;
    matrix::solve_lu(f.at(i), f.pivots_at(i), s.n, form, side, columns);
  });
}

Status shape_of_solve_lu(Call& call, const Tensor& A, const Tensor& B, bool left, bool /*check_errors*/, Tensor& result,
                         Tensor& LU, Tensor& pivots, Tensor& info) {
  ET_ASSIGN(const System s, solve_system(call, A, B, left));
  ET_TRY(call.resize(result, s.result()));
  ET_TRY(call.resize(LU, A.sizes()));
  ET_TRY(resize_stack(call, pivots, batch_sizes(A), {s.n}));
  return call.resize(info, batch_sizes(A));
}
Status solve_lu(Call& call, const Tensor& A, const Tensor& B, bool left, bool check_errors, Tensor& result, Tensor& LU,
                Tensor& pivots, Tensor& info) {
  ET_TRY(check_converts<int64_t>(call, {&pivots, &info}));
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &B, &result, &LU}));
    ET_ASSIGN(const System s, solve_system(call, A, B, left));
    const Factors<S> f = factor<S>(call, A, true);
    store_rows<S>(solve_by_lu(call, f, s, A, B, left), result);
    store_rows<S>(f.lu, LU);
    store_pivots(call, f, pivots);
    store_counts(call, f.info, f.count, 0, info);
    return check_errors ? check_info(call, f.info, f.count, kSingular) : Status::Ok;
  });
}

Status shape_of_solve_ex(Call& call, const Tensor& A, const Tensor& B, bool left, bool /*check_errors*/, Tensor& result,
                         Tensor& info) {
  ET_ASSIGN(const System s, solve_system(call, A, B, left));
  ET_TRY(call.resize(result, s.result()));
  return call.resize(info, batch_sizes(A));
}
Status solve_ex(Call& call, const Tensor& A, const Tensor& B, bool left, bool check_errors, Tensor& result,
                Tensor& info) {
  ET_TRY(check_converts<int64_t>(call, {&info}));
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &B, &result}));
    ET_ASSIGN(const System s, solve_system(call, A, B, left));
    const Factors<S> f = factor<S>(call, A, true);
    store_rows<S>(solve_by_lu(call, f, s, A, B, left), result);
    store_counts(call, f.info, f.count, 0, info);
    return check_errors ? check_info(call, f.info, f.count, kSingular) : Status::Ok;
  });
}

Status shape_of_solve(Call& call, const Tensor& A, const Tensor& B, bool left, Tensor& out) {
  ET_ASSIGN(const System s, solve_system(call, A, B, left));
  return call.resize(out, s.result());
}
Status solve(Call& call, const Tensor& A, const Tensor& B, bool left, Tensor& out) {
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &B, &out}));
    ET_ASSIGN(const System s, solve_system(call, A, B, left));
    const Factors<S> f = factor<S>(call, A, true);
    ET_TRY(check_info(call, f.info, f.count, kSingular));
    store_rows<S>(solve_by_lu(call, f, s, A, B, left), out);
    return Status::Ok;
  });
}

// --- inverse ---

template <class S>
S* inverses(Call& call, const Factors<S>& f) {
  S* result = call.scratch<S>(f.count * f.n * f.n);
  std::fill(result, result + f.count * f.n * f.n, S{});
  for (int64_t i = 0; i < f.count; ++i) {
    S* inverse = result + i * f.n * f.n;
    for (int64_t d = 0; d < f.n; ++d) {
      inverse[d * f.n + d] = S{1};
    }
    matrix::solve_lu(f.at(i), f.pivots_at(i), f.n, Form::kPlain, inverse, f.n);
  }
  return result;
}

Status shape_of_inverse_ex(Call& call, const Tensor& A, bool /*check_errors*/, Tensor& inverse, Tensor& info) {
  ET_TRY(check_square(call, A));
  ET_TRY(call.resize(inverse, A.sizes()));
  return call.resize(info, batch_sizes(A));
}
Status inverse_ex(Call& call, const Tensor& A, bool check_errors, Tensor& inverse, Tensor& info) {
  ET_TRY(check_converts<int64_t>(call, {&info}));
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &inverse}));
    const Factors<S> f = factor<S>(call, A, true);
    store_rows<S>(inverses(call, f), inverse);
    store_counts(call, f.info, f.count, 0, info);
    return check_errors ? check_info(call, f.info, f.count, kSingular) : Status::Ok;
  });
}
Status shape_of_square(Call& call, const Tensor& self, Tensor& out) {
  ET_TRY(check_square(call, self));
  return call.resize(out, self.sizes());
}
Status inverse(Call& call, const Tensor& A, Tensor& out) {
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &out}));
    const Factors<S> f = factor<S>(call, A, true);
    ET_TRY(check_info(call, f.info, f.count, kSingular));
    store_rows<S>(inverses(call, f), out);
    return Status::Ok;
  });
}

// --- LU factors as results ---

Status shape_of_lu_factor_ex(Call& call, const Tensor& A, bool /*pivot*/, bool /*check_errors*/, Tensor& LU,
                             Tensor& pivots, Tensor& info) {
  ET_TRY(check_matrices(call, A));
  ET_TRY(call.resize(LU, A.sizes()));
  ET_TRY(resize_stack(call, pivots, batch_sizes(A), {std::min(rows_of(A), columns_of(A))}));
  return call.resize(info, batch_sizes(A));
}
Status lu_factor_ex(Call& call, const Tensor& A, bool pivot, bool check_errors, Tensor& LU, Tensor& pivots,
                    Tensor& info) {
  ET_TRY(check_converts<int64_t>(call, {&pivots, &info}));
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &LU}));
    const Factors<S> f = factor<S>(call, A, pivot);
    store_rows<S>(f.lu, LU);
    store_pivots(call, f, pivots);
    store_counts(call, f.info, f.count, 0, info);
    return check_errors ? check_info(call, f.info, f.count, kSingular) : Status::Ok;
  });
}
Status shape_of_lu_factor(Call& call, const Tensor& A, bool /*pivot*/, Tensor& LU, Tensor& pivots) {
  ET_TRY(check_matrices(call, A));
  ET_TRY(call.resize(LU, A.sizes()));
  return resize_stack(call, pivots, batch_sizes(A), {std::min(rows_of(A), columns_of(A))});
}
Status lu_factor(Call& call, const Tensor& A, bool pivot, Tensor& LU, Tensor& pivots) {
  ET_TRY(check_converts<int64_t>(call, {&pivots}));
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &LU}));
    const Factors<S> f = factor<S>(call, A, pivot);
    store_rows<S>(f.lu, LU);
    store_pivots(call, f, pivots);
    return Status::Ok;
  });
}

// Sizes of P, L and U; those not asked for are [0].
Status shape_of_unpacked(Call& call, const Tensor& a, bool factors, bool permutation, Tensor& P, Tensor& L, Tensor& U) {
  ET_TRY(check_matrices(call, a));
  const int64_t m = rows_of(a);
  const int64_t n = columns_of(a);
  const std::array none{int64_t{0}};
  ET_TRY(permutation ? resize_stack(call, P, batch_sizes(a), {m, m}) : call.resize(P, none));
  ET_TRY(factors ? resize_stack(call, L, batch_sizes(a), {m, std::min(m, n)}) : call.resize(L, none));
  return factors ? resize_stack(call, U, batch_sizes(a), {std::min(m, n), n}) : call.resize(U, none);
}

template <class S>
void store_lower(Call& call, const S* lu, int64_t count, int64_t m, int64_t n, const Tensor& L) {
  const int64_t k = std::min(m, n);
  S* lower = call.scratch<S>(count * m * k);
  for (int64_t r = 0; r < count * m; ++r) {
    for (int64_t j = 0; j < k; ++j) {
      lower[r * k + j] = j < r % m ? lu[r * n + j] : j == r % m ? S{1} : S{};
    }
  }
  store_rows<S>(lower, L);
}

template <class S>
void store_upper(Call& call, const S* lu, int64_t count, int64_t m, int64_t n, const Tensor& U) {
  const int64_t k = std::min(m, n);
  S* upper = call.scratch<S>(count * k * n);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t r = 0; r < k; ++r) {
      for (int64_t j = 0; j < n; ++j) {
        upper[(i * k + r) * n + j] = j >= r ? lu[(i * m + r) * n + j] : S{};
      }
    }
  }
  store_rows<S>(upper, U);
}

template <class S>
void store_permutation(Call& call, const int32_t* pivots, int64_t count, int64_t m, int64_t k, const Tensor& P) {
  S* matrices = call.scratch<S>(count * m * m);
  std::fill(matrices, matrices + count * m * m, S{});
  std::vector<int64_t> order(static_cast<size_t>(m));
  for (int64_t i = 0; i < count; ++i) {
    std::iota(order.begin(), order.end(), 0);
    for (int64_t r = 0; r < k; ++r) {
      std::swap(order[static_cast<size_t>(r)], order[static_cast<size_t>(pivots[i * k + r])]);
    }
    for (int64_t r = 0; r < m; ++r) {
      matrices[(i * m + order[static_cast<size_t>(r)]) * m + r] = S{1};
    }
  }
  store_rows<S>(matrices, P);
}

Status shape_of_lu(Call& call, const Tensor& A, bool pivot, Tensor& P, Tensor& L, Tensor& U) {
  return shape_of_unpacked(call, A, true, pivot, P, L, U);
}
Status lu(Call& call, const Tensor& A, bool pivot, Tensor& P, Tensor& L, Tensor& U) {
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &P, &L, &U}));
    const Factors<S> f = factor<S>(call, A, pivot);
    store_lower(call, f.lu, f.count, f.m, f.n, L);
    store_upper(call, f.lu, f.count, f.m, f.n, U);
    if (pivot) {
      store_permutation<S>(call, f.pivots, f.count, f.m, f.k(), P);
    }
    return Status::Ok;
  });
}

Status shape_of_lu_unpack(Call& call, const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data,
                          bool unpack_pivots, Tensor& P, Tensor& L, Tensor& U) {
  ET_TRY(shape_of_unpacked(call, LU_data, unpack_data, unpack_pivots, P, L, U));
  if (!unpack_pivots) {
    return Status::Ok;
  }
  return check_sizes(call, LU_pivots,
                     with_batch_sizes(batch_sizes(LU_data), {std::min(rows_of(LU_data), columns_of(LU_data))}));
}
Status lu_unpack(Call& call, const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data, bool unpack_pivots,
                 Tensor& P, Tensor& L, Tensor& U) {
  return visit_matrix(call, LU_data.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&LU_data, &P, &L, &U}));
    const int64_t m = rows_of(LU_data);
    const int64_t n = columns_of(LU_data);
    const int64_t count = count_of(batch_sizes(LU_data));
    if (unpack_data) {
      const S* factors = load_rows<S>(call, LU_data);
      store_lower(call, factors, count, m, n, L);
      store_upper(call, factors, count, m, n, U);
    }
    if (unpack_pivots) {
      ET_ASSIGN(const int32_t* pivots, read_pivots(call, LU_pivots, m));
      store_permutation<S>(call, pivots, count, m, std::min(m, n), P);
    }
    return Status::Ok;
  });
}

Result<System> lu_solve_system(const Call& call, const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left) {
  ET_TRY(check_square(call, lu));
  ET_TRY(check_sizes(call, pivots, with_batch_sizes(batch_sizes(lu), {rows_of(lu)})));
  return read_system(call, batch_sizes(lu), rows_of(lu), b, left, false);
}
Status shape_of_lu_solve(Call& call, const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left,
                         bool /*adjoint*/, Tensor& out) {
  ET_ASSIGN(const System s, lu_solve_system(call, LU, pivots, B, left));
  return call.resize(out, s.result());
}
Status lu_solve(Call& call, const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint,
                Tensor& out) {
  return visit_matrix(call, LU.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&LU, &B, &out}));
    ET_ASSIGN(const System s, lu_solve_system(call, LU, pivots, B, left));
    ET_ASSIGN(const int32_t* checked, read_pivots(call, pivots, s.n));
    const S* factors = load_rows<S>(call, LU);
    S* result = solve_all<S>(call, s, batch_sizes(LU), B, left, [&](int64_t i, S* side, int64_t columns) {
      // X A^H = B is conj(A) X^T = B^T.
      const bool conjugated = adjoint && !left;
      const Form form = left ? (adjoint ? Form::kAdjoint : Form::kPlain) : Form::kTransposed;
      if (conjugated) {
        std::transform(side, side + s.n * columns, side, conjugate<S>);
      }
      matrix::solve_lu(factors + i * s.n * s.n, checked + i * s.n, s.n, conjugated ? Form::kPlain : form, side,
                       columns);
      if (conjugated) {
        std::transform(side, side + s.n * columns, side, conjugate<S>);
      }
    });
    store_rows<S>(result, out);
    return Status::Ok;
  });
}
Status shape_of_old_lu_solve(Call& call, const Tensor& self, const Tensor& LU_data, const Tensor& LU_pivots,
                             Tensor& out) {
  return shape_of_lu_solve(call, LU_data, LU_pivots, self, true, false, out);
}
Status old_lu_solve(Call& call, const Tensor& self, const Tensor& LU_data, const Tensor& LU_pivots, Tensor& out) {
  return lu_solve(call, LU_data, LU_pivots, self, true, false, out);
}

// --- determinant ---

template <class S>
S* determinants(Call& call, const Factors<S>& f) {
  S* result = call.scratch<S>(f.count);
  for (int64_t i = 0; i < f.count; ++i) {
    result[i] = S{sign_of(f.pivots_at(i), f.n)};
    for (int64_t d = 0; d < f.n; ++d) {
      result[i] = times(result[i], f.at(i)[d * f.n + d]);
    }
  }
  return result;
}

// Signs, and the logarithms of absolute values.
template <class S>
void log_determinants(const Factors<S>& f, S* signs, double* logs) {
  for (int64_t i = 0; i < f.count; ++i) {
    signs[i] = S{sign_of(f.pivots_at(i), f.n)};
    logs[i] = 0;
    for (int64_t d = 0; d < f.n; ++d) {
      const S value = f.at(i)[d * f.n + d];
      const double size = std::abs(value);
      signs[i] = size == 0 ? S{} : times(signs[i], value / size);
      logs[i] += std::log(size);
    }
  }
}

Status shape_of_det_lu(Call& call, const Tensor& A, Tensor& result, Tensor& LU, Tensor& pivots) {
  ET_TRY(check_square(call, A));
  ET_TRY(call.resize(result, batch_sizes(A)));
  ET_TRY(call.resize(LU, A.sizes()));
  return resize_stack(call, pivots, batch_sizes(A), {rows_of(A)});
}
Status det_lu(Call& call, const Tensor& A, Tensor& result, Tensor& LU, Tensor& pivots) {
  ET_TRY(check_converts<int64_t>(call, {&pivots}));
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &result, &LU}));
    const Factors<S> f = factor<S>(call, A, true, factors_transposed<S>(A));
    store_rows<S>(determinants(call, f), result);
    store_rows<S>(f.lu, LU);
    store_pivots(call, f, pivots);
    return Status::Ok;
  });
}
Status shape_of_det(Call& call, const Tensor& A, Tensor& out) {
  ET_TRY(check_square(call, A));
  return call.resize(out, batch_sizes(A));
}
Status det(Call& call, const Tensor& A, Tensor& out) {
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &out}));
    store_rows<S>(determinants(call, factor<S>(call, A, true)), out);
    return Status::Ok;
  });
}

Status shape_of_slogdet_lu(Call& call, const Tensor& A, Tensor& sign, Tensor& logabsdet, Tensor& LU, Tensor& pivots) {
  ET_TRY(shape_of_det_lu(call, A, sign, LU, pivots));
  return call.resize(logabsdet, batch_sizes(A));
}
Status slogdet_lu(Call& call, const Tensor& A, Tensor& sign, Tensor& logabsdet, Tensor& LU, Tensor& pivots) {
  ET_TRY(check_converts<int64_t>(call, {&pivots}));
  ET_TRY(check_converts<double>(call, {&logabsdet}));
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &sign, &LU}));
    const Factors<S> f = factor<S>(call, A, true, factors_transposed<S>(A));
    S* signs = call.scratch<S>(f.count);
    auto* logs = call.scratch<double>(f.count);
    log_determinants(f, signs, logs);
    store_rows<S>(signs, sign);
    store_rows<double>(logs, logabsdet);
    store_rows<S>(f.lu, LU);
    store_pivots(call, f, pivots);
    return Status::Ok;
  });
}
Status shape_of_slogdet(Call& call, const Tensor& A, Tensor& sign, Tensor& logabsdet) {
  ET_TRY(shape_of_det(call, A, sign));
  return call.resize(logabsdet, batch_sizes(A));
}
Status slogdet(Call& call, const Tensor& A, Tensor& sign, Tensor& logabsdet) {
  ET_TRY(check_converts<double>(call, {&logabsdet}));
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &sign}));
    const Factors<S> f = factor<S>(call, A, true);
    S* signs = call.scratch<S>(f.count);
    auto* logs = call.scratch<double>(f.count);
    log_determinants(f, signs, logs);
    store_rows<S>(signs, sign);
    store_rows<double>(logs, logabsdet);
    return Status::Ok;
  });
}

// --- Cholesky ---

// Factors every matrix in place; `upper`: the adjoint factor, from the upper triangle.
template <class S>
void cholesky_all(S* matrices, int64_t count, int64_t n, bool upper, int32_t* info) {
  std::vector<S> turned(static_cast<size_t>(n * n));
  const auto adjoint_of = [n](const S* from, S* to) {
    transpose(from, n, n, to);
    std::transform(to, to + n * n, to, conjugate<S>);
  };
  for (int64_t i = 0; i < count; ++i) {
    S* a = matrices + i * n * n;
    if (upper) {
      adjoint_of(a, turned.data());
      info[i] = matrix::factor_cholesky(turned.data(), n);
      adjoint_of(turned.data(), a);
    } else {
      info[i] = matrix::factor_cholesky(a, n);
    }
  }
}
constexpr const char* kNotPositive = "is not positive definite";

Status shape_of_cholesky_ex(Call& call, const Tensor& self, bool /*upper*/, bool /*check_errors*/, Tensor& L,
                            Tensor& info) {
  ET_TRY(check_square(call, self));
  ET_TRY(call.resize(L, self.sizes()));
  return call.resize(info, batch_sizes(self));
}
Status cholesky_ex(Call& call, const Tensor& self, bool upper, bool check_errors, Tensor& L, Tensor& info) {
  ET_TRY(check_converts<int64_t>(call, {&info}));
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &L}));
    const int64_t count = count_of(batch_sizes(self));
    S* matrices = copy_rows<S>(call, self);
    auto* failed = call.scratch<int32_t>(count);
    cholesky_all(matrices, count, rows_of(self), upper, failed);
    store_rows<S>(matrices, L);
    store_counts(call, failed, count, 0, info);
    return check_errors ? check_info(call, failed, count, kNotPositive) : Status::Ok;
  });
}
Status shape_of_cholesky(Call& call, const Tensor& self, bool /*upper*/, Tensor& out) {
  return shape_of_square(call, self, out);
}
Status cholesky(Call& call, const Tensor& self, bool upper, Tensor& out) {
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &out}));
    const int64_t count = count_of(batch_sizes(self));
    S* matrices = copy_rows<S>(call, self);
    auto* failed = call.scratch<int32_t>(count);
    cholesky_all(matrices, count, rows_of(self), upper, failed);
    ET_TRY(check_info(call, failed, count, kNotPositive));
    store_rows<S>(matrices, out);
    return Status::Ok;
  });
}

// Solves A X = B from a factor of A.
template <class S>
void solve_by_cholesky(const S* factor, int64_t n, bool upper, S* b, int64_t columns) {
  matrix::solve_triangular(factor, n, upper, upper ? Form::kAdjoint : Form::kPlain, false, b, columns);
  matrix::solve_triangular(factor, n, upper, upper ? Form::kPlain : Form::kAdjoint, false, b, columns);
}

Status shape_of_cholesky_solve(Call& call, const Tensor& self, const Tensor& input2, bool /*upper*/, Tensor& out) {
  ET_TRY(check_square(call, input2));
  ET_ASSIGN(const System s, read_system(call, batch_sizes(input2), rows_of(input2), self, true, false));
  return call.resize(out, s.result());
}
Status cholesky_solve(Call& call, const Tensor& self, const Tensor& input2, bool upper, Tensor& out) {
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &input2, &out}));
    ET_ASSIGN(const System s, read_system(call, batch_sizes(input2), rows_of(input2), self, true, false));
    const S* factors = load_rows<S>(call, input2);
    store_rows<S>(solve_all<S>(call, s, batch_sizes(input2), self, true,
                               [&](int64_t i, S* side, int64_t columns) {
                                 solve_by_cholesky(factors + i * s.n * s.n, s.n, upper, side, columns);
                               }),
                  out);
    return Status::Ok;
  });
}

Status cholesky_inverse(Call& call, const Tensor& self, bool upper, Tensor& out) {
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &out}));
    const int64_t n = rows_of(self);
    const int64_t count = count_of(batch_sizes(self));
    const S* factors = load_rows<S>(call, self);
    S* result = call.scratch<S>(self.numel());
    std::fill(result, result + self.numel(), S{});
    for (int64_t i = 0; i < count; ++i) {
      S* inverse = result + i * n * n;
      for (int64_t d = 0; d < n; ++d) {
        inverse[d * n + d] = S{1};
      }
      solve_by_cholesky(factors + i * n * n, n, upper, inverse, n);
    }
    store_rows<S>(result, out);
    return Status::Ok;
  });
}

// --- triangular systems ---

Status shape_of_solve_triangular(Call& call, const Tensor& self, const Tensor& B, bool /*upper*/, bool left,
                                 bool /*unitriangular*/, Tensor& out) {
  ET_TRY(check_square(call, self));
  ET_ASSIGN(const System s, read_system(call, batch_sizes(self), rows_of(self), B, left, false));
  return call.resize(out, s.result());
}
Status solve_triangular(Call& call, const Tensor& self, const Tensor& B, bool upper, bool left, bool unitriangular,
                        Tensor& out) {
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &B, &out}));
    ET_ASSIGN(const System s, read_system(call, batch_sizes(self), rows_of(self), B, left, false));
    const S* matrices = load_rows<S>(call, self);
    store_rows<S>(solve_all<S>(call, s, batch_sizes(self), B, left,
                               [&](int64_t i, S* side, int64_t columns) {
                                 matrix::solve_triangular(matrices + i * s.n * s.n, s.n, upper,
                                                          left ? Form::kPlain : Form::kTransposed, unitriangular, side,
                                                          columns);
                               }),
                  out);
    return Status::Ok;
  });
}

// The older form: also returns the matrices, repeated for each right-hand side.
Status shape_of_triangular_solve(Call& call, const Tensor& self, const Tensor& A, bool /*upper*/, bool /*transpose*/,
                                 bool /*unitriangular*/, Tensor& X, Tensor& M) {
  ET_TRY(check_square(call, A));
  ET_ASSIGN(const System s, read_system(call, batch_sizes(A), rows_of(A), self, true, false));
  ET_TRY(call.resize(X, s.result()));
  return resize_stack(call, M, s.batch, {s.n, s.n});
}
Status triangular_solve(Call& call, const Tensor& self, const Tensor& A, bool upper, bool transposed,
                        bool unitriangular, Tensor& X, Tensor& M) {
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &A, &X, &M}));
    ET_ASSIGN(const System s, read_system(call, batch_sizes(A), rows_of(A), self, true, false));
    const int64_t size = s.n * s.n;
    const S* matrices = load_rows<S>(call, A);
    store_rows<S>(solve_all<S>(call, s, batch_sizes(A), self, true,
                               [&](int64_t i, S* side, int64_t columns) {
                                 matrix::solve_triangular(matrices + i * size, s.n, upper,
                                                          transposed ? Form::kTransposed : Form::kPlain, unitriangular,
                                                          side, columns);
                               }),
                  X);
    S* repeated = call.scratch<S>(M.numel());
    for (int64_t i = 0; i < count_of(s.batch); ++i) {
      const S* from = matrices + matrix_index(batch_sizes(A), s.batch, i) * size;
      std::copy(from, from + size, repeated + i * size);
    }
    store_rows<S>(repeated, M);
    return Status::Ok;
  });
}

// --- QR ---

enum class QrMode { kReduced, kComplete, kR };
Result<QrMode> read_qr_mode(const Call& call, std::string_view mode) {
  if (mode == "reduced") {
    return QrMode::kReduced;
  }
  if (mode == "complete") {
    return QrMode::kComplete;
  }
  if (mode == "r") {
    return QrMode::kR;
  }
  return call.fail(Status::InvalidArgument, "mode is \"{}\", expected reduced, complete or r", mode);
}

Status shape_of_qr(Call& call, const Tensor& A, std::string_view mode, Tensor& Q, Tensor& R) {
  ET_TRY(check_matrices(call, A));
  ET_ASSIGN(const QrMode kind, read_qr_mode(call, mode));
  const int64_t m = rows_of(A);
  const int64_t n = columns_of(A);
  const int64_t k = kind == QrMode::kComplete ? m : std::min(m, n);
  ET_TRY(kind == QrMode::kR ? call.resize(Q, std::array{int64_t{0}}) : resize_stack(call, Q, batch_sizes(A), {m, k}));
  return resize_stack(call, R, batch_sizes(A), {k, n});
}
Status qr(Call& call, const Tensor& A, std::string_view mode, Tensor& Q, Tensor& R) {
  ET_ASSIGN(const QrMode kind, read_qr_mode(call, mode));
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &Q, &R}));
    const int64_t m = rows_of(A);
    const int64_t n = columns_of(A);
    const int64_t reflections = std::min(m, n);
    const int64_t k = kind == QrMode::kComplete ? m : reflections;
    S* matrices = copy_rows<S>(call, A);
    S* tau = call.scratch<S>(reflections);
    S* q = call.scratch<S>(Q.numel());
    S* r = call.scratch<S>(R.numel());
    std::fill(r, r + R.numel(), S{});
    for (int64_t i = 0; i < count_of(batch_sizes(A)); ++i) {
      S* a = matrices + i * m * n;
      matrix::factor_qr(a, m, n, tau);
      for (int64_t row = 0; row < reflections; ++row) {
        std::copy(a + row * n + row, a + (row + 1) * n, r + (i * k + row) * n + row);
      }
      if (kind != QrMode::kR) {
        matrix::expand_reflections(a, n, reflections, tau, m, k, q + i * m * k);
      }
    }
    store_rows<S>(r, R);
    if (kind != QrMode::kR) {
      store_rows<S>(q, Q);
    }
    return Status::Ok;
  });
}

Status shape_of_geqrf(Call& call, const Tensor& self, Tensor& a, Tensor& tau) {
  ET_TRY(check_matrices(call, self));
  ET_TRY(call.resize(a, self.sizes()));
  return resize_stack(call, tau, batch_sizes(self), {std::min(rows_of(self), columns_of(self))});
}
Status geqrf(Call& call, const Tensor& self, Tensor& a, Tensor& tau) {
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &a, &tau}));
    const int64_t m = rows_of(self);
    const int64_t n = columns_of(self);
    S* matrices = copy_rows<S>(call, self);
    S* factors = call.scratch<S>(tau.numel());
    for (int64_t i = 0; i < count_of(batch_sizes(self)); ++i) {
      matrix::factor_qr(matrices + i * m * n, m, n, factors + i * std::min(m, n));
    }
    store_rows<S>(matrices, a);
    store_rows<S>(factors, tau);
    return Status::Ok;
  });
}

Status check_reflections(const Call& call, const Tensor& vectors, const Tensor& tau) {
  ET_TRY(check_matrices(call, vectors));
  ET_TRY(check_rank(call, tau, vectors.rank() - 1));
  ET_TRY(check_sizes(call, tau, with_batch_sizes(batch_sizes(vectors), {columns_of(tau)})));
  if (columns_of(vectors) > rows_of(vectors) || columns_of(tau) > columns_of(vectors)) {
    return call.fail(Status::InvalidArgument, "{} has sizes {}, too wide for {} reflections", call.arg_name(vectors),
                     sizes_text(vectors.sizes()), columns_of(tau));
  }
  return Status::Ok;
}

Status shape_of_householder_product(Call& call, const Tensor& input, const Tensor& tau, Tensor& out) {
  ET_TRY(check_reflections(call, input, tau));
  return call.resize(out, input.sizes());
}
Status householder_product(Call& call, const Tensor& input, const Tensor& tau, Tensor& out) {
  return visit_matrix(call, input.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&input, &tau, &out}));
    const int64_t m = rows_of(input);
    const int64_t n = columns_of(input);
    const int64_t k = columns_of(tau);
    const S* vectors = load_rows<S>(call, input);
    const S* factors = load_rows<S>(call, tau);
    S* result = call.scratch<S>(input.numel());
    for (int64_t i = 0; i < count_of(batch_sizes(input)); ++i) {
      matrix::expand_reflections(vectors + i * m * n, n, k, factors + i * k, m, n, result + i * m * n);
    }
    store_rows<S>(result, out);
    return Status::Ok;
  });
}

Status shape_of_ormqr(Call& call, const Tensor& self, const Tensor& input2, const Tensor& input3, bool left,
                      bool /*transpose*/, Tensor& out) {
  ET_TRY(check_matrices(call, self));
  ET_TRY(check_rank(call, input2, self.rank() - 1));
  ET_TRY(check_rank(call, input3, self.rank()));
  ET_TRY(check_sizes(call, input2, with_batch_sizes(batch_sizes(self), {columns_of(input2)})));
  ET_TRY(check_sizes(call, input3, with_batch_sizes(batch_sizes(self), {rows_of(input3), columns_of(input3)})));
  const int64_t order = left ? rows_of(input3) : columns_of(input3);
  if (rows_of(self) != order || columns_of(input2) > std::min(rows_of(self), columns_of(self))) {
    return call.fail(Status::InvalidArgument, "self of sizes {} and input2 of sizes {} don't fit input3 of sizes {}",
                     sizes_text(self.sizes()), sizes_text(input2.sizes()), sizes_text(input3.sizes()));
  }
  return call.resize(out, input3.sizes());
}
Status ormqr(Call& call, const Tensor& self, const Tensor& input2, const Tensor& input3, bool left, bool transposed,
             Tensor& out) {
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &input2, &input3, &out}));
    const int64_t m = rows_of(input3);
    const int64_t n = columns_of(input3);
    const int64_t k = columns_of(input2);
    const S* vectors = load_rows<S>(call, self);
    const S* factors = load_rows<S>(call, input2);
    S* result = copy_rows<S>(call, input3);
    S* turned = call.scratch<S>(m * n);
    for (int64_t i = 0; i < count_of(batch_sizes(self)); ++i) {
      const S* v = vectors + i * rows_of(self) * columns_of(self);
      S* c = result + i * m * n;
      if (left) {
        matrix::apply_reflections(v, columns_of(self), k, factors + i * k, transposed, c, m, n);
        continue;
      }
      // C Q is (Q^H C^H)^H.
      transpose(c, m, n, turned);
      std::transform(turned, turned + m * n, turned, conjugate<S>);
      matrix::apply_reflections(v, columns_of(self), k, factors + i * k, !transposed, turned, n, m);
      transpose(turned, n, m, c);
      std::transform(c, c + m * n, c, conjugate<S>);
    }
    store_rows<S>(result, out);
    return Status::Ok;
  });
}

// --- LDL factors of symmetric or Hermitian matrices, pivoted as Bunch and Kaufman do ---

double size_of(double x) { return std::abs(x); }
double size_of(const Complex& x) { return std::abs(x.real()) + std::abs(x.imag()); }

// A square matrix of which the lower triangle counts.
template <class S>
struct Lower {
  S* data;
  int64_t n;
  bool hermitian;

  S& at(int64_t i, int64_t j) const { return data[i * n + j]; }
  S turned(S x) const { return hermitian ? conjugate(x) : x; }
  double diagonal(int64_t k) const { return hermitian ? std::abs(std::real(at(k, k))) : size_of(at(k, k)); }
  double element(int64_t i, int64_t j) const { return size_of(i > j ? at(i, j) : at(j, i)); }
};

// The row to exchange with, and whether the block is of 2 x 2.
struct Pivot {
  int64_t row;
  int64_t size;
};
template <class S>
Pivot choose_pivot(const Lower<S>& a, int64_t k) {
  const double alpha = (1 + std::sqrt(17.0)) / 8;
  double column = 0;
  int64_t largest = k;
  for (int64_t i = k + 1; i < a.n; ++i) {
    if (a.element(i, k) > column) {
      column = a.element(i, k);
      largest = i;
    }
  }
  const double own = a.diagonal(k);
  if (largest == k || own >= alpha * column) {
    return {k, 1};
  }
  double row = 0;
  for (int64_t j = k; j < a.n; ++j) {
    row = j == largest ? row : std::max(row, a.element(largest, j));
  }
  if (own >= alpha * column * (column / row)) {
    return {k, 1};
  }
  return {largest, a.diagonal(largest) >= alpha * row ? 1 : 2};
}

// Exchanges rows and columns i < j of what is left from row i on.
template <class S>
void exchange(const Lower<S>& a, int64_t i, int64_t j) {
  for (int64_t r = j + 1; r < a.n; ++r) {
    std::swap(a.at(r, i), a.at(r, j));
  }
  for (int64_t c = i + 1; c < j; ++c) {
    const S other = a.turned(a.at(c, i));
    a.at(c, i) = a.turned(a.at(j, c));
    a.at(j, c) = other;
  }
  a.at(j, i) = a.turned(a.at(j, i));
  std::swap(a.at(i, i), a.at(j, j));
}

template <class S>
void eliminate_one(const Lower<S>& a, int64_t k) {
  const S pivot = a.at(k, k);
  for (int64_t j = k + 1; j < a.n; ++j) {
    const S factor = a.turned(a.at(j, k)) / pivot;
    for (int64_t i = j; i < a.n; ++i) {
      a.at(i, j) -= a.at(i, k) * factor;
    }
  }
  for (int64_t i = k + 1; i < a.n; ++i) {
    a.at(i, k) /= pivot;
  }
}
template <class S>
void eliminate_two(const Lower<S>& a, int64_t k) {
  // The inverse of the block, with its off-diagonal element taken out.
  const S below = a.at(k + 1, k);
  const S above = a.turned(below);
  const S determinant = a.at(k, k) * a.at(k + 1, k + 1) - below * above;
  for (int64_t j = k + 2; j < a.n; ++j) {
    const S x = a.at(j, k);
    const S y = a.at(j, k + 1);
    const S first = (x * a.at(k + 1, k + 1) - y * below) / determinant;
    const S second = (y * a.at(k, k) - x * above) / determinant;
    for (int64_t i = j; i < a.n; ++i) {
      a.at(i, j) -= a.at(i, k) * a.turned(first) + a.at(i, k + 1) * a.turned(second);
    }
    a.at(j, k) = first;
    a.at(j, k + 1) = second;
  }
}

// In place; pivots from 1, negative for both rows of a block of 2 x 2. Returns the first pivot that is zero, from 1.
template <class S>
int32_t factor_ldl(const Lower<S>& a, int32_t* pivots) {
  int32_t info = 0;
  for (int64_t k = 0; k < a.n;) {
    const Pivot pivot = choose_pivot(a, k);
    const int64_t last = k + pivot.size - 1;
    if (pivot.row != last) {
      exchange(a, last, pivot.row);
    }
    if (pivot.size == 2 && pivot.row != last) {
      std::swap(a.at(k + 1, k), a.at(pivot.row, k));
    }
    const auto mark = static_cast<int32_t>(pivot.row + 1);
    std::fill(pivots + k, pivots + last + 1, pivot.size == 2 ? -mark : mark);
    if (pivot.size == 2) {
      eliminate_two(a, k);
    } else if (a.at(k, k) != S(0)) {
      eliminate_one(a, k);
    } else if (info == 0) {
      info = static_cast<int32_t>(k + 1);
    }
    k += pivot.size;
  }
  for (int64_t i = 0; i < a.n; ++i) {
    std::fill(a.data + i * a.n + i + 1, a.data + (i + 1) * a.n, S(0));
    a.at(i, i) = a.hermitian ? S(std::real(a.at(i, i))) : a.at(i, i);
  }
  return info;
}

template <class S>
void swap_rows(S* b, int64_t columns, int64_t i, int64_t j) {
  if (i != j) {
    std::swap_ranges(b + i * columns, b + (i + 1) * columns, b + j * columns);
  }
}
// b[i] -= factor * b[k]
template <class S>
void subtract_row(S* b, int64_t columns, int64_t i, S factor, int64_t k) {
  for (int64_t c = 0; c < columns; ++c) {
    b[i * columns + c] -= factor * b[k * columns + c];
  }
}

template <class S>
void solve_ldl(const Lower<S>& a, const int32_t* pivots, S* b, int64_t columns) {
  for (int64_t k = 0; k < a.n;) {
    const int64_t size = pivots[k] < 0 ? 2 : 1;
    swap_rows(b, columns, k + size - 1, std::abs(pivots[k]) - int64_t{1});
    for (int64_t i = k + size; i < a.n; ++i) {
      for (int64_t j = k; j < k + size; ++j) {
        subtract_row(b, columns, i, a.at(i, j), j);
      }
    }
    for (int64_t c = 0; c < columns; ++c) {
      S& first = b[k * columns + c];
      if (size == 1) {
        first /= a.at(k, k);
        continue;
      }
      S& second = b[(k + 1) * columns + c];
      const S below = a.at(k + 1, k);
      const S above = a.turned(below);
      const S determinant = a.at(k, k) * a.at(k + 1, k + 1) - below * above;
      const S solved = (a.at(k + 1, k + 1) * first - above * second) / determinant;
      second = (a.at(k, k) * second - below * first) / determinant;
      first = solved;
    }
    k += size;
  }
  for (int64_t k = a.n - 1; k >= 0;) {
    const int64_t size = pivots[k] < 0 ? 2 : 1;
    for (int64_t i = k + 1; i < a.n; ++i) {
      for (int64_t j = k - size + 1; j <= k; ++j) {
        subtract_row(b, columns, j, a.turned(a.at(i, j)), i);
      }
    }
    swap_rows(b, columns, k, std::abs(pivots[k]) - int64_t{1});
    k -= size;
  }
}

Status shape_of_ldl(Call& call, const Tensor& self, bool /*hermitian*/, bool /*check_errors*/, Tensor& LD,
                    Tensor& pivots, Tensor& info) {
  ET_TRY(check_square(call, self));
  ET_TRY(call.resize(LD, self.sizes()));
  ET_TRY(resize_stack(call, pivots, batch_sizes(self), {rows_of(self)}));
  return call.resize(info, batch_sizes(self));
}
Status ldl(Call& call, const Tensor& self, bool hermitian, bool check_errors, Tensor& LD, Tensor& pivots,
           Tensor& info) {
  ET_TRY(check_converts<int64_t>(call, {&pivots, &info}));
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &LD}));
    const int64_t n = rows_of(self);
    const int64_t count = count_of(batch_sizes(self));
    S* matrices = copy_rows<S>(call, self);
    auto* marks = call.scratch<int32_t>(count * n);
    auto* infos = call.scratch<int32_t>(count);
    for (int64_t i = 0; i < count; ++i) {
      infos[i] = factor_ldl(Lower<S>{matrices + i * n * n, n, hermitian}, marks + i * n);
    }
    store_rows<S>(matrices, LD);
    store_counts(call, marks, count * n, 0, pivots);
    store_counts(call, infos, count, 0, info);
    return check_errors ? check_info(call, infos, count, kSingular) : Status::Ok;
  });
}

// Pivots of LDL factors, checked: from 1 to n, negative ones in pairs.
Result<const int32_t*> read_ldl_pivots(Call& call, const Tensor& pivots, int64_t n) {
  ET_TRY(check_converts<int64_t>(call, {&pivots}));
  const int64_t* values = load_rows<int64_t>(call, pivots);
  auto* checked = call.scratch<int32_t>(pivots.numel());
  for (int64_t i = 0; i < pivots.numel(); ++i) {
    const int64_t value = values[i];
    const bool alone = value < 0 && (i % n == n - 1 || values[i + 1] != value);
    if (value == 0 || value < -n || value > n || alone) {
      return call.fail(Status::InvalidArgument, "pivots hold {}, expected rows from 1 to {}, or pairs of negative ones",
                       value, n);
    }
    checked[i] = static_cast<int32_t>(value);
    if (value < 0) {
      ++i;
      checked[i] = static_cast<int32_t>(value);
    }
  }
  return static_cast<const int32_t*>(checked);
}

Status shape_of_ldl_solve(Call& call, const Tensor& LD, const Tensor& /*pivots*/, const Tensor& B, bool /*hermitian*/,
                          Tensor& out) {
  ET_TRY(check_square(call, LD));
  ET_TRY(check_matrices(call, B));
  ET_ASSIGN(const Dims batch, broadcast_sizes(call, batch_sizes(LD), batch_sizes(B)));
  return resize_stack(call, out, batch, {rows_of(B), columns_of(B)});
}
Status ldl_solve(Call& call, const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian, Tensor& out) {
  const int64_t n = rows_of(LD);
  const int64_t columns = columns_of(B);
  ET_TRY(check_sizes(call, pivots, with_batch_sizes(batch_sizes(LD), {n})));
  ET_TRY(check_sizes(call, B, with_batch_sizes(batch_sizes(B), {n, columns})));
  ET_ASSIGN(const Dims batch, broadcast_sizes(call, batch_sizes(LD), batch_sizes(B)));
  ET_ASSIGN(const int32_t* marks, read_ldl_pivots(call, pivots, std::max<int64_t>(n, 1)));
  return visit_matrix(call, LD.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&LD, &B, &out}));
    S* factors = copy_rows<S>(call, LD);
    const S* sides = load_rows<S>(call, B);
    S* solved = call.scratch<S>(out.numel());
    for (int64_t i = 0; i < count_of(batch); ++i) {
      const int64_t a = matrix_index(batch_sizes(LD), batch, i);
      S* const x = solved + i * n * columns;
      std::copy_n(sides + matrix_index(batch_sizes(B), batch, i) * n * columns, n * columns, x);
      solve_ldl(Lower<S>{factors + a * n * n, n, hermitian}, marks + a * n, x, columns);
    }
    store_rows<S>(solved, out);
    return Status::Ok;
  });
}

// --- eigenvalues ---

// Mirrors the triangle that counts onto the other one.
template <class S>
void make_hermitian(S* a, int64_t n, bool from_upper) {
  for (int64_t i = 0; i < n; ++i) {
    a[i * n + i] = S{std::real(a[i * n + i])};
    for (int64_t j = 0; j < i; ++j) {
      if (from_upper) {
        a[i * n + j] = conjugate(a[j * n + i]);
      } else {
        a[j * n + i] = conjugate(a[i * n + j]);
      }
    }
  }
}

Status not_converged(const Call& call, int64_t i) {
  return call.fail(Status::InvalidArgument, "the iteration did not converge for matrix {}; are all elements finite?",
                   i);
}

Result<bool> read_triangle(const Call& call, std::string_view uplo) {
  if (uplo == "U" || uplo == "u") {
    return true;
  }
  if (uplo == "L" || uplo == "l") {
    return false;
  }
  return call.fail(Status::InvalidArgument, "UPLO is \"{}\", expected L or U", uplo);
}

// `vectors` may be null.
Status eigen_hermitian(Call& call, const Tensor& a, std::string_view uplo, const Tensor& values,
                       const Tensor* vectors) {
  ET_ASSIGN(const bool upper, read_triangle(call, uplo));
  ET_TRY(check_converts<double>(call, {&values}));
  return visit_matrix(call, a.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&a, vectors}));
    const int64_t n = rows_of(a);
    S* matrices = copy_rows<S>(call, a);
    auto* found = call.scratch<double>(values.numel());
    for (int64_t i = 0; i < count_of(batch_sizes(a)); ++i) {
      make_hermitian(matrices + i * n * n, n, upper);
      if (!matrix::eigen_hermitian(matrices + i * n * n, n, found + i * n)) {
        return not_converged(call, i);
      }
    }
    store_rows<double>(found, values);
    if (vectors != nullptr) {
      store_rows<S>(matrices, *vectors);
    }
    return Status::Ok;
  });
}

Status shape_of_eigh(Call& call, const Tensor& A, std::string_view /*UPLO*/, bool compute_v, Tensor& eigenvalues,
                     Tensor& eigenvectors) {
  ET_TRY(check_square(call, A));
  ET_TRY(resize_stack(call, eigenvalues, batch_sizes(A), {rows_of(A)}));
  return compute_v ? call.resize(eigenvectors, A.sizes()) : call.resize(eigenvectors, std::array{int64_t{0}});
}
Status eigh(Call& call, const Tensor& A, std::string_view UPLO, bool compute_v, Tensor& eigenvalues,
            Tensor& eigenvectors) {
  return eigen_hermitian(call, A, UPLO, eigenvalues, compute_v ? &eigenvectors : nullptr);
}
Status shape_of_eigh_pair(Call& call, const Tensor& self, std::string_view UPLO, Tensor& eigvals, Tensor& eigvecs) {
  return shape_of_eigh(call, self, UPLO, true, eigvals, eigvecs);
}
Status eigh_pair(Call& call, const Tensor& self, std::string_view UPLO, Tensor& eigvals, Tensor& eigvecs) {
  return eigen_hermitian(call, self, UPLO, eigvals, &eigvecs);
}
Status shape_of_eigvalsh(Call& call, const Tensor& self, std::string_view /*UPLO*/, Tensor& out) {
  ET_TRY(check_square(call, self));
  return resize_stack(call, out, batch_sizes(self), {rows_of(self)});
}
Status eigvalsh(Call& call, const Tensor& self, std::string_view UPLO, Tensor& out) {
  return eigen_hermitian(call, self, UPLO, out, nullptr);
}

void swap_eigenpairs(Complex* values, Complex* vectors, int64_t n, int64_t i, int64_t j) {
  std::swap(values[i], values[j]);
  for (int64_t row = 0; vectors != nullptr && row < n; ++row) {
    std::swap(vectors[row * n + i], vectors[row * n + j]);
  }
}
// As LAPACK has them for a real matrix: real eigenvalues without imaginary part, complex ones in pairs of conjugates,
// the one above the real axis first.
void pair_conjugates(Complex* values, Complex* vectors, int64_t n) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::abs(values[i]));
  }
  for (int64_t i = 0; i < n; ++i) {
    if (std::abs(values[i].imag()) <= 1e-13 * largest) {
      values[i] = values[i].real();
      for (int64_t row = 0; vectors != nullptr && row < n; ++row) {
        vectors[row * n + i] = vectors[row * n + i].real();
      }
      continue;
    }
    if (i + 1 == n) {
      return;
    }
    const auto distance = [&](const Complex& value) { return std::abs(value - std::conj(values[i])); };
    const Complex* partner = std::min_element(
        values + i + 1, values + n, [&](const Complex& x, const Complex& y) { return distance(x) < distance(y); });
    swap_eigenpairs(values, vectors, n, i + 1, partner - values);
    if (values[i].imag() < 0) {
      swap_eigenpairs(values, vectors, n, i, i + 1);
    }
    ++i;
  }
}

Status eigen_general(Call& call, const Tensor& a, const Tensor& values, const Tensor* vectors) {
  ET_TRY(check_converts<Complex>(call, {&a, &values, vectors}));
  const int64_t n = rows_of(a);
  Complex* matrices = copy_rows<Complex>(call, a);
  auto* found = call.scratch<Complex>(values.numel());
  Complex* columns = vectors == nullptr ? nullptr : call.scratch<Complex>(a.numel());
  for (int64_t i = 0; i < count_of(batch_sizes(a)); ++i) {
    if (!matrix::eigen_general(matrices + i * n * n, n, found + i * n,
                               columns == nullptr ? nullptr : columns + i * n * n)) {
      return not_converged(call, i);
    }
    if (!is_complex(a.dtype)) {
      pair_conjugates(found + i * n, columns == nullptr ? nullptr : columns + i * n * n, n);
    }
  }
  store_rows<Complex>(found, values);
  if (vectors != nullptr) {
    store_rows<Complex>(columns, *vectors);
  }
  return Status::Ok;
}
Status shape_of_eig(Call& call, const Tensor& self, Tensor& eigenvalues, Tensor& eigenvectors) {
  ET_TRY(check_square(call, self));
  ET_TRY(resize_stack(call, eigenvalues, batch_sizes(self), {rows_of(self)}));
  return call.resize(eigenvectors, self.sizes());
}
Status eig(Call& call, const Tensor& self, Tensor& eigenvalues, Tensor& eigenvectors) {
  return eigen_general(call, self, eigenvalues, &eigenvectors);
}
Status shape_of_eigvals(Call& call, const Tensor& self, Tensor& out) {
  ET_TRY(check_square(call, self));
  return resize_stack(call, out, batch_sizes(self), {rows_of(self)});
}
Status eigvals(Call& call, const Tensor& self, Tensor& out) { return eigen_general(call, self, out, nullptr); }

// --- singular values ---

// U diag(s) V^H of every matrix, U m x k and V n x k.
template <class S>
struct Singular {
  S* u;
  double* s;
  S* v;
  int64_t count;
  int64_t m;
  int64_t n;
  int64_t k() const { return std::min(m, n); }
};

template <class S>
Result<Singular<S>> decompose(Call& call, const Tensor& a) {
  Singular<S> d{nullptr, nullptr, nullptr, count_of(batch_sizes(a)), rows_of(a), columns_of(a)};
  const S* matrices = load_rows<S>(call, a);
  d.u = call.scratch<S>(d.count * d.m * d.k());
  d.s = call.scratch<double>(d.count * d.k());
  d.v = call.scratch<S>(d.count * d.n * d.k());
  for (int64_t i = 0; i < d.count; ++i) {
    if (!matrix::singular_values(matrices + i * d.m * d.n, d.m, d.n, d.u + i * d.m * d.k(), d.s + i * d.k(),
                                 d.v + i * d.n * d.k())) {
      return not_converged(call, i);
    }
  }
  return d;
}

// The columns of every matrix, m x k, extended to a basis where `full`; adjoint where asked for.
template <class S>
void store_basis(Call& call, const S* columns, int64_t count, int64_t m, int64_t k, bool full, bool adjoint,
                 const Tensor& out) {
  const int64_t width = full ? m : k;
  S* result = call.scratch<S>(count * m * width);
  S* basis = call.scratch<S>(m * width);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t r = 0; r < m; ++r) {
      const S* row = columns + (i * m + r) * k;
      std::copy(row, row + k, basis + r * width);
    }
    if (width > k) {
      matrix::complete_basis(basis, m, k);
    }
    S* to = result + i * m * width;
    if (adjoint) {
      transpose(basis, m, width, to);
      std::transform(to, to + m * width, to, conjugate<S>);
    } else {
      std::copy(basis, basis + m * width, to);
    }
  }
  store_rows<S>(result, out);
}

Status shape_of_svd_parts(Call& call, const Tensor& A, bool full_matrices, bool compute_uv,
                          std::optional<std::string_view> /*driver*/, Tensor& U, Tensor& S, Tensor& Vh) {
  ET_TRY(check_matrices(call, A));
  const int64_t m = rows_of(A);
  const int64_t n = columns_of(A);
  const int64_t k = std::min(m, n);
  ET_TRY(resize_stack(call, S, batch_sizes(A), {k}));
  if (!compute_uv) {
    ET_TRY(call.resize(U, std::array{int64_t{0}}));
    return call.resize(Vh, std::array{int64_t{0}});
  }
  ET_TRY(resize_stack(call, U, batch_sizes(A), {m, full_matrices ? m : k}));
  return resize_stack(call, Vh, batch_sizes(A), {full_matrices ? n : k, n});
}
Status svd_parts(Call& call, const Tensor& A, bool full_matrices, bool compute_uv,
                 std::optional<std::string_view> /*driver*/, Tensor& U, Tensor& S, Tensor& Vh) {
  ET_TRY(check_converts<double>(call, {&S}));
  return visit_matrix(call, A.dtype, [&]<class T>() {
    ET_TRY(check_converts<T>(call, {&A, &U, &Vh}));
    ET_ASSIGN(const Singular<T> d, decompose<T>(call, A));
    store_rows<double>(d.s, S);
    if (compute_uv) {
      store_basis(call, d.u, d.count, d.m, d.k(), full_matrices, false, U);
      store_basis(call, d.v, d.count, d.n, d.k(), full_matrices, true, Vh);
    }
    return Status::Ok;
  });
}
Status shape_of_svd(Call& call, const Tensor& A, bool full_matrices, std::optional<std::string_view> driver, Tensor& U,
                    Tensor& S, Tensor& Vh) {
  return shape_of_svd_parts(call, A, full_matrices, true, driver, U, S, Vh);
}
Status svd(Call& call, const Tensor& A, bool full_matrices, std::optional<std::string_view> driver, Tensor& U,
           Tensor& S, Tensor& Vh) {
  return svd_parts(call, A, full_matrices, true, driver, U, S, Vh);
}
Status shape_of_svdvals(Call& call, const Tensor& A, std::optional<std::string_view> /*driver*/, Tensor& out) {
  ET_TRY(check_matrices(call, A));
  return resize_stack(call, out, batch_sizes(A), {std::min(rows_of(A), columns_of(A))});
}
Status svdvals(Call& call, const Tensor& A, std::optional<std::string_view> /*driver*/, Tensor& out) {
  ET_TRY(check_converts<double>(call, {&out}));
  return visit_matrix(call, A.dtype, [&]<class T>() {
    ET_TRY(check_converts<T>(call, {&A}));
    ET_ASSIGN(const Singular<T> d, decompose<T>(call, A));
    store_rows<double>(d.s, out);
    return Status::Ok;
  });
}

// --- pseudo-inverse, polar factors, functions ---

// The smallest number that 1 can be told from 1 plus it, in the dtype.
double epsilon_of(DType dtype) {
  return dtype == DType::Float64 || dtype == DType::Complex128 ? std::numeric_limits<double>::epsilon()
                                                               : double{std::numeric_limits<float>::epsilon()};
}

// Tolerances, one for every matrix.
struct Tolerances {
  const double* absolute = nullptr;  // null: none given
  const double* relative = nullptr;
  Dims absolute_sizes;
  Dims relative_sizes;
  double standard = 0;  // relative

  // Below what a value counts as 0 beside `largest`.
  double bound(const Dims& batch, int64_t i, double largest) const {
    const double given = absolute == nullptr ? 0 : absolute[matrix_index(absolute_sizes, batch, i)];
    const double rel = relative != nullptr ? relative[matrix_index(relative_sizes, batch, i)]
                       : given > 0         ? 0
                                           : standard;
    return std::max(given, rel * largest);
  }
};

Result<Tolerances> read_tolerances(Call& call, const Tensor& a, const Tensor* atol, const Tensor* rtol) {
  Tolerances t;
  t.standard = epsilon_of(a.dtype) * static_cast<double>(std::max(rows_of(a), columns_of(a)));
  for (const Tensor* tensor : {atol, rtol}) {
    if (tensor == nullptr) {
      continue;
    }
    ET_TRY(check_converts<double>(call, {tensor}));
    ET_ASSIGN(const Dims sizes, broadcast_sizes(call, batch_sizes(a), tensor->sizes()));
    ET_TRY(sizes.size() == a.rank() - 2 && std::equal(sizes.begin(), sizes.end(), batch_sizes(a).begin())
               ? Status::Ok
               : call.fail(Status::InvalidArgument, "{} has sizes {}, more than matrices", call.arg_name(*tensor),
                           sizes_text(tensor->sizes())));
    (tensor == atol ? t.absolute : t.relative) = load_rows<double>(call, *tensor);
    (tensor == atol ? t.absolute_sizes : t.relative_sizes) = Dims(tensor->sizes());
  }
  return t;
}

Status shape_of_pinv(Call& call, const Tensor& self, const Tensor* /*atol*/, const Tensor* /*rtol*/, bool hermitian,
                     Tensor& out) {
  ET_TRY(hermitian ? check_square(call, self) : check_matrices(call, self));
  return resize_stack(call, out, batch_sizes(self), {columns_of(self), rows_of(self)});
}
Status pinv(Call& call, const Tensor& self, const Tensor* atol, const Tensor* rtol, bool hermitian, Tensor& out) {
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &out}));
    ET_ASSIGN(const Tolerances tolerances, read_tolerances(call, self, atol, rtol));
    Tensor source = self;
    if (hermitian) {  // only the lower triangle counts
      S* mirrored = copy_rows<S>(call, self);
      for (int64_t i = 0; i < count_of(batch_sizes(self)); ++i) {
        make_hermitian(mirrored + i * rows_of(self) * rows_of(self), rows_of(self), false);
      }
      source = Tensor::view(mirrored, kDTypeOf<S>, self.sizes());
    }
    ET_ASSIGN(const Singular<S> d, decompose<S>(call, source));
    const Dims batch(batch_sizes(self));
    S* result = call.scratch<S>(out.numel());
    std::fill(result, result + out.numel(), S{});
    for (int64_t i = 0; i < d.count; ++i) {
      const double* s = d.s + i * d.k();
      const double bound = d.k() == 0 ? 0 : tolerances.bound(batch, i, s[0]);
      for (int64_t p = 0; p < d.k() && s[p] > bound; ++p) {
        for (int64_t r = 0; r < d.n; ++r) {
          const S left = d.v[(i * d.n + r) * d.k() + p] / s[p];
          for (int64_t c = 0; c < d.m; ++c) {
            S& place = result[(i * d.n + r) * d.m + c];
            place += times(left, conjugate(d.u[(i * d.m + c) * d.k() + p]));
          }
        }
      }
    }
    store_rows<S>(result, out);
    return Status::Ok;
  });
}

// A = U H with orthonormal columns in U and a Hermitian H that isn't negative.
Status shape_of_polar(Call& call, const Tensor& A, Tensor& U, Tensor& H) {
  ET_TRY(check_matrices(call, A));
  if (rows_of(A) < columns_of(A)) {
    return call.fail(Status::InvalidArgument, "A has sizes {}, expected no more columns than rows",
                     sizes_text(A.sizes()));
  }
  ET_TRY(call.resize(U, A.sizes()));
  return resize_stack(call, H, batch_sizes(A), {columns_of(A), columns_of(A)});
}
Status polar(Call& call, const Tensor& A, Tensor& U, Tensor& H) {
  return visit_matrix(call, A.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&A, &U, &H}));
    ET_ASSIGN(const Singular<S> d, decompose<S>(call, A));
    const int64_t n = d.n;
    S* u = call.scratch<S>(U.numel());
    S* h = call.scratch<S>(H.numel());
    S* adjoint = call.scratch<S>(n * n);
    S* scaled = call.scratch<S>(n * n);
    for (int64_t i = 0; i < d.count; ++i) {
      const S* v = d.v + i * n * n;
      transpose(v, n, n, adjoint);
      std::transform(adjoint, adjoint + n * n, adjoint, conjugate<S>);
      for (int64_t j = 0; j < n * n; ++j) {
        scaled[j] = v[j] * d.s[i * n + j % n];
      }
      matrix::multiply(d.u + i * d.m * n, adjoint, d.m, n, n, u + i * d.m * n);
      matrix::multiply(scaled, adjoint, n, n, n, h + i * n * n);
    }
    store_rows<S>(u, U);
    store_rows<S>(h, H);
    return Status::Ok;
  });
}

// The square root of a Hermitian matrix, given by its lower triangle; negative eigenvalues count as 0.
Status matrix_sqrth(Call& call, const Tensor& self, Tensor& out) {
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &out}));
    const int64_t n = rows_of(self);
    S* matrices = copy_rows<S>(call, self);
    S* result = call.scratch<S>(self.numel());
    auto* values = call.scratch<double>(n);
    std::fill(result, result + self.numel(), S{});
    for (int64_t i = 0; i < count_of(batch_sizes(self)); ++i) {
      S* vectors = matrices + i * n * n;
      make_hermitian(vectors, n, false);
      if (!matrix::eigen_hermitian(vectors, n, values)) {
        return not_converged(call, i);
      }
      for (int64_t r = 0; r < n; ++r) {
        for (int64_t c = 0; c < n; ++c) {
          for (int64_t p = 0; p < n; ++p) {
            result[(i * n + r) * n + c] +=
                times(vectors[r * n + p] * std::sqrt(std::max(values[p], 0.0)), conjugate(vectors[c * n + p]));
          }
        }
      }
    }
    store_rows<S>(result, out);
    return Status::Ok;
  });
}

Status matrix_exp(Call& call, const Tensor& self, Tensor& out) {
  return visit_matrix(call, self.dtype, [&]<class S>() {
    ET_TRY(check_converts<S>(call, {&self, &out}));
    const int64_t n = rows_of(self);
    S* matrices = copy_rows<S>(call, self);
    for (int64_t i = 0; i < count_of(batch_sizes(self)); ++i) {
      matrix::exponential(matrices + i * n * n, n);
    }
    store_rows<S>(matrices, out);
    return Status::Ok;
  });
}

// --- cross product ---

// The dimension of size 3: as given, or the first.
Result<int> cross_dim(const Call& call, const Dims& sizes, std::optional<int64_t> dim) {
  if (dim) {
    ET_ASSIGN(const int wrapped, wrap_dim(call, *dim, sizes.size()));
    if (sizes.empty() || sizes[wrapped] != 3) {
      return call.fail(Status::InvalidArgument, "dimension {} of sizes {} is not of size 3", *dim, sizes_text(sizes));
    }
    return wrapped;
  }
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 3) {
      return d;
    }
  }
  return call.fail(Status::InvalidArgument, "no dimension of sizes {} is of size 3", sizes_text(sizes));
}

Status shape_of_cross(Call& call, const Tensor& self, const Tensor& other, std::optional<int64_t> dim, Tensor& out) {
  ET_ASSIGN(const Dims sizes, broadcast_sizes(call, self.sizes(), other.sizes()));
  ET_TRY(cross_dim(call, sizes, dim).status());
  return call.resize(out, sizes);
}
Status cross(Call& call, const Tensor& self, const Tensor& other, std::optional<int64_t> dim, Tensor& out) {
  const Dims sizes(out.sizes());
  ET_ASSIGN(const int d, cross_dim(call, sizes, dim));
  return visit_number(call, out.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&self, &other, &out}));
    const Tensor a = load_as<C>(call, self);
    const Tensor b = load_as<C>(call, other);
    const auto* x = reinterpret_cast<const C*>(row_major_data(call, a, sizes));
    const auto* y = reinterpret_cast<const C*>(row_major_data(call, b, sizes));
    const RowsOf<C> target(call, out);
    const int64_t step = count_of(sizes.span().subspan(static_cast<size_t>(d) + 1));
    for (int64_t i = 0; i < out.numel() / 3; ++i) {
      const int64_t at = i / step * 3 * step + i % step;
      const auto element = [&](const C* v, int64_t k) { return v[at + k % 3 * step]; };
      std::array<C, 3> result{};
      for (int64_t k = 0; k < 3; ++k) {
        result[static_cast<size_t>(k)] = plus(times(element(x, k + 1), element(y, k + 2)),
                                              times(C(-1), times(element(x, k + 2), element(y, k + 1))));
      }
      for (int64_t k = 0; k < 3; ++k) {
        target.data()[at + k * step] = result[static_cast<size_t>(k)];
      }
    }
    target.finish();
    return Status::Ok;
  });
}
Status shape_of_linalg_cross(Call& call, const Tensor& self, const Tensor& other, int64_t dim, Tensor& out) {
  return shape_of_cross(call, self, other, dim, out);
}
Status linalg_cross(Call& call, const Tensor& self, const Tensor& other, int64_t dim, Tensor& out) {
  return cross(call, self, other, dim, out);
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

constexpr Op kOps[] = {
    {"aten::linalg_inv_ex.inverse",
     "(Tensor A, *, bool check_errors=False, Tensor(a!) inverse, Tensor(b!) info) -> (Tensor(a!) inverse, Tensor(b!) "
     "info)",
     bind<shape_of_inverse_ex>, bind<apart<inverse_ex>>, kFacts},
    {"aten::linalg_inv.out", "(Tensor A, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_square>, bind<apart<inverse>>,
     kFacts},
    {"aten::inverse.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_square>, bind<apart<inverse>>,
     kFacts},
    {"aten::_linalg_solve_ex.result",
     "(Tensor A, Tensor B, *, bool left=True, bool check_errors=False, Tensor(a!) result, Tensor(b!) LU, Tensor(c!) "
     "pivots, Tensor(d!) info) -> (Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots, Tensor(d!) info)",
     bind<shape_of_solve_lu>, bind<apart<solve_lu>>, kFacts},
    {"aten::linalg_solve_ex.out",
     "(Tensor A, Tensor B, *, bool left=True, bool check_errors=False, Tensor(a!) result, Tensor(b!) info) -> "
     "(Tensor(a!) result, Tensor(b!) info)",
     bind<shape_of_solve_ex>, bind<apart<solve_ex>>, kFacts},
    {"aten::linalg_solve.out", "(Tensor A, Tensor B, *, bool left=True, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_solve>, bind<apart<solve>>, kFacts},
    {"aten::linalg_lu_factor_ex.out",
     "(Tensor A, *, bool pivot=True, bool check_errors=False, Tensor(a!) LU, Tensor(b!) pivots, Tensor(c!) info) -> "
     "(Tensor(a!) LU, Tensor(b!) pivots, Tensor(c!) info)",
     bind<shape_of_lu_factor_ex>, bind<apart<lu_factor_ex>>, kFacts},
    {"aten::linalg_ldl_factor_ex.out",
     "(Tensor self, *, bool hermitian=False, bool check_errors=False, Tensor(a!) LD, Tensor(b!) pivots, Tensor(c!) "
     "info) -> (Tensor(a!) LD, Tensor(b!) pivots, Tensor(c!) info)",
     bind<shape_of_ldl>, bind<apart<ldl>>, kFacts},
    {"aten::linalg_ldl_solve.out",
     "(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_ldl_solve>, bind<apart<ldl_solve>>, kFacts},
    {"aten::linalg_lu_factor.out",
     "(Tensor A, *, bool pivot=True, Tensor(a!) LU, Tensor(b!) pivots) -> (Tensor(a!) LU, Tensor(b!) pivots)",
     bind<shape_of_lu_factor>, bind<apart<lu_factor>>, kFacts},
    {"aten::linalg_lu.out",
     "(Tensor A, *, bool pivot=True, Tensor(a!) P, Tensor(b!) L, Tensor(c!) U) -> (Tensor(a!) P, Tensor(b!) L, "
     "Tensor(c!) U)",
     bind<shape_of_lu>, bind<apart<lu>>, kFacts},
    {"aten::lu_unpack.out",
     "(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True, *, Tensor(a!) P, Tensor(b!) "
     "L, Tensor(c!) U) -> (Tensor(a!) P, Tensor(b!) L, Tensor(c!) U)",
     bind<shape_of_lu_unpack>, bind<apart<lu_unpack>>, kFacts},
    {"aten::linalg_lu_solve.out",
     "(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_lu_solve>, bind<apart<lu_solve>>, kFacts},
    {"aten::lu_solve.out", "(Tensor self, Tensor LU_data, Tensor LU_pivots, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_old_lu_solve>, bind<apart<old_lu_solve>>, kFacts},
    {"aten::_linalg_det.result",
     "(Tensor A, *, Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots) -> (Tensor(a!) result, Tensor(b!) LU, "
     "Tensor(c!) pivots)",
     bind<shape_of_det_lu>, bind<apart<det_lu>>, kFacts},
    {"aten::linalg_det.out", "(Tensor A, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_det>, bind<apart<det>>,
     kFacts},
    {"aten::_linalg_slogdet.sign",
     "(Tensor A, *, Tensor(a!) sign, Tensor(b!) logabsdet, Tensor(c!) LU, Tensor(d!) pivots) -> (Tensor(a!) sign, "
     "Tensor(b!) logabsdet, Tensor(c!) LU, Tensor(d!) pivots)",
     bind<shape_of_slogdet_lu>, bind<apart<slogdet_lu>>, kFacts},
    {"aten::linalg_slogdet.out",
     "(Tensor A, *, Tensor(a!) sign, Tensor(b!) logabsdet) -> (Tensor(a!) sign, Tensor(b!) logabsdet)",
     bind<shape_of_slogdet>, bind<apart<slogdet>>, kFacts},
    {"aten::slogdet.out",
     "(Tensor self, *, Tensor(a!) sign, Tensor(b!) logabsdet) -> (Tensor(a!) sign, Tensor(b!) logabsdet)",
     bind<shape_of_slogdet>, bind<apart<slogdet>>, kFacts},
    {"aten::linalg_cholesky_ex.L",
     "(Tensor self, *, bool upper=False, bool check_errors=False, Tensor(a!) L, Tensor(b!) info) -> (Tensor(a!) L, "
     "Tensor(b!) info)",
     bind<shape_of_cholesky_ex>, bind<apart<cholesky_ex>>, kFacts},
    {"aten::linalg_cholesky.out", "(Tensor self, *, bool upper=False, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_cholesky>, bind<apart<cholesky>>, kFacts},
    {"aten::cholesky.out", "(Tensor self, bool upper=False, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_cholesky>,
     bind<apart<cholesky>>, kFacts},
    {"aten::cholesky_solve.out", "(Tensor self, Tensor input2, bool upper=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_cholesky_solve>, bind<apart<cholesky_solve>>, kFacts},
    {"aten::_cholesky_solve_helper.out", "(Tensor self, Tensor A, bool upper, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_cholesky_solve>, bind<apart<cholesky_solve>>, kFacts},
    {"aten::cholesky_inverse.out", "(Tensor self, bool upper=False, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_cholesky>, bind<apart<cholesky_inverse>>, kFacts},
    {"aten::linalg_solve_triangular.out",
     "(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_solve_triangular>, bind<apart<solve_triangular>>, kFacts},
    {"aten::triangular_solve.X",
     "(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False, *, Tensor(a!) X, "
     "Tensor(b!) M) -> (Tensor(a!) solution, Tensor(b!) cloned_coefficient)",
     bind<shape_of_triangular_solve>, bind<apart<triangular_solve>>, kFacts},
    {"aten::linalg_qr.out",
     "(Tensor A, str mode='reduced', *, Tensor(a!) Q, Tensor(b!) R) -> (Tensor(a!) Q, Tensor(b!) R)", bind<shape_of_qr>,
     bind<apart<qr>>, kFacts},
    {"aten::geqrf.a", "(Tensor self, *, Tensor(a!) a, Tensor(b!) tau) -> (Tensor(a!) a, Tensor(b!) tau)",
     bind<shape_of_geqrf>, bind<apart<geqrf>>, kFacts},
    {"aten::linalg_householder_product.out", "(Tensor input, Tensor tau, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_householder_product>, bind<apart<householder_product>>, kFacts},
    {"aten::orgqr.out", "(Tensor self, Tensor input2, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_householder_product>, bind<apart<householder_product>>, kFacts},
    {"aten::ormqr.out",
     "(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     bind<shape_of_ormqr>, bind<apart<ormqr>>, kFacts},
    {"aten::_linalg_eigh.eigenvalues",
     "(Tensor A, str UPLO='L', bool compute_v=True, *, Tensor(a!) eigenvalues, Tensor(b!) eigenvectors) -> (Tensor(a!) "
     "eigenvalues, Tensor(b!) eigenvectors)",
     bind<shape_of_eigh>, bind<apart<eigh>>, kFacts},
    {"aten::linalg_eigh.eigvals",
     "(Tensor self, str UPLO='L', *, Tensor(a!) eigvals, Tensor(b!) eigvecs) -> (Tensor(a!) eigenvalues, Tensor(b!) "
     "eigenvectors)",
     bind<shape_of_eigh_pair>, bind<apart<eigh_pair>>, kFacts},
    {"aten::linalg_eigvalsh.out", "(Tensor self, str UPLO='L', *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_eigvalsh>, bind<apart<eigvalsh>>, kFacts},
    {"aten::linalg_eig.out",
     "(Tensor self, *, Tensor(a!) eigenvalues, Tensor(b!) eigenvectors) -> (Tensor(a!) eigenvalues, Tensor(b!) "
     "eigenvectors)",
     bind<shape_of_eig>, bind<apart<eig>>, kFacts},
    {"aten::linalg_eigvals.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_eigvals>,
     bind<apart<eigvals>>, kFacts},
    {"aten::_linalg_svd.U",
     "(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None, Tensor(a!) U, Tensor(b!) S, "
     "Tensor(c!) Vh) -> (Tensor(a!) U, Tensor(b!) S, Tensor(c!) Vh)",
     bind<shape_of_svd_parts>, bind<apart<svd_parts>>, kFacts},
    {"aten::linalg_svd.U",
     "(Tensor A, bool full_matrices=True, *, str? driver=None, Tensor(a!) U, Tensor(b!) S, Tensor(c!) Vh) -> "
     "(Tensor(a!) U, Tensor(b!) S, Tensor(c!) Vh)",
     bind<shape_of_svd>, bind<apart<svd>>, kFacts},
    {"aten::linalg_svdvals.out", "(Tensor A, *, str? driver=None, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_svdvals>, bind<apart<svdvals>>, kFacts},
    {"aten::linalg_pinv.atol_rtol_tensor_out",
     "(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_pinv>, bind<apart<pinv>>, kFacts},
    {"aten::linalg_polar.out", "(Tensor A, *, Tensor(a!) U, Tensor(b!) H) -> (Tensor(a!) U, Tensor(b!) H)",
     bind<shape_of_polar>, bind<apart<polar>>, kFacts},
    {"aten::linalg_matrix_sqrth.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_square>,
     bind<apart<matrix_sqrth>>, kFacts},
    {"aten::linalg_matrix_exp.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_square>,
     bind<apart<matrix_exp>>, kFacts},
    {"aten::linalg_cross.out", "(Tensor self, Tensor other, *, int dim=-1, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_linalg_cross>, bind<apart<linalg_cross>>, kFacts},
    {"aten::cross.out", "(Tensor self, Tensor other, int? dim=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_cross>, bind<apart<cross>>, kFacts},
};

}  // namespace

Table linalg_ops() { return kOps; }

}  // namespace etrt::ops
