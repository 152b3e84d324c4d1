// Factorisations of dense matrices, in double or complex double: what the linalg operators are made of.
//
// Matrices are row-major without gaps. Algorithms are the classical stable ones, unblocked: partial pivoting,
// Householder reflections, Jacobi and implicit QR iterations. Signs and phases follow LAPACK where they are free
// and LAPACK's choice is known (QR); otherwise they are unspecified (eigenvectors, singular vectors).
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace etrt::ops::matrix {

using Complex = std::complex<double>;

template <class S>
using Values = std::vector<S>;

enum class Form { kPlain, kTransposed, kAdjoint };

// --- triangular systems ---

// Solves op(A) X = B in place of B, n x columns, for a triangular n x n matrix A; `unit`: its diagonal is 1.
template <class S>
void solve_triangular(const S* a, int64_t n, bool upper, Form form, bool unit, S* b, int64_t columns);

// --- LU ---

// Factors the m x n matrix in place as P L U. pivots[i], of min(m, n), is the row that row i was exchanged with.
// Returns 0 or the number, from 1, of the first zero on the diagonal of U.
template <class S>
int32_t factor_lu(S* a, int64_t m, int64_t n, bool pivot, int32_t* pivots);

// Solves op(A) X = B in place of B from A's factors. The pivots are in range.
template <class S>
void solve_lu(const S* lu, const int32_t* pivots, int64_t n, Form form, S* b, int64_t columns);

// --- Cholesky ---

// Replaces the lower triangle of a Hermitian matrix by its factor and clears the rest. Returns 0 or the order of the
// first leading minor that isn't positive.
template <class S>
int32_t factor_cholesky(S* a, int64_t n);

// --- QR ---

// Leaves R in the upper triangle and the Householder vectors below, their factors in tau, of min(m, n).
template <class S>
void factor_qr(S* a, int64_t m, int64_t n, S* tau);

// Multiplies C, m x columns, from the left by the product of `count` reflections kept in the columns of `a`, which
// has `stride` columns; `adjoint`: by its adjoint.
template <class S>
void apply_reflections(const S* a, int64_t stride, int64_t count, const S* tau, bool adjoint, S* c, int64_t m,
                       int64_t columns);

// The first `columns` columns of that product, m x columns.
template <class S>
void expand_reflections(const S* a, int64_t stride, int64_t count, const S* tau, int64_t m, int64_t columns, S* q);

// --- eigenvalues and singular values ---

// A Hermitian matrix: values in ascending order, vectors in the columns of `vectors` (the matrix's place). False when
// the iteration doesn't converge.
template <class S>
bool eigen_hermitian(S* vectors, int64_t n, double* values);

// A = U diag(s) V^H with m x k U and n x k V, k = min(m, n), s descending. False when A isn't finite.
template <class S>
bool singular_values(const S* a, int64_t m, int64_t n, S* u, double* s, S* v);

// Extends the first `known` orthonormal columns of the m x m matrix to a basis; they stay as they are.
template <class S>
void complete_basis(S* q, int64_t m, int64_t known);

// A general matrix, spoilt: eigenvalues, and eigenvectors of length 1 in the columns of `vectors` (may be null).
bool eigen_general(Complex* a, int64_t n, Complex* values, Complex* vectors);

// --- functions ---

// The exponential, in place.
template <class S>
void exponential(S* a, int64_t n);

// c = a b, m x k by k x n.
template <class S>
void multiply(const S* a, const S* b, int64_t m, int64_t k, int64_t n, S* c);

}  // namespace etrt::ops::matrix
