// Products of vectors and matrices: mm, bmm, addmm, linear, matmul and their kin.
//
// Each operator describes itself as a Product: matrices with strides, batch dimensions around them, and
// what is added to the result. One function runs them all.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "ops/apart.h"
#include "ops/compute.h"
#include "ops/dims.h"
#include "ops/gemm.h"
#include "ops/stack.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

using Sizes = std::array<int64_t, kMaxRank>;

// out[batch] = alpha * a[batch] b[batch] + beta * added[batch]
struct Product {
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  Matrix a;
  Matrix b;
  Matrix out;
  Matrix added;  // no data: nothing is added
  Scalar alpha = Scalar::of(int64_t{1});
  Scalar beta = Scalar::of(int64_t{1});

  int batch_rank = 0;
  Sizes batch_sizes{};
  Sizes a_batch{};  // strides by batch dimension
  Sizes b_batch{};
  Sizes out_batch{};
  Sizes added_batch{};

  int64_t batches() const {
    int64_t count = 1;
    for (int d = 0; d < batch_rank; ++d) {
      count *= batch_sizes[static_cast<size_t>(d)];
    }
    return count;
  }
};

// Last two dimensions as a matrix; a vector as a row.
Matrix matrix_of(const Tensor& t) {
  const int r = t.rank();
  return {t.data, t.dtype, r >= 2 ? t.stride(r - 2) : 0, r >= 1 ? t.stride(r - 1) : 0};
}
Matrix column_of(const Tensor& t) { return {t.data, t.dtype, t.stride(0), 0}; }
Matrix row_of(const Tensor& t) { return {t.data, t.dtype, 0, t.stride(0)}; }

// Stride of `t` along dimension `d` of an output of rank `out_rank` that it broadcasts to.
int64_t broadcast_stride(const Tensor& t, int out_rank, int d) {
  const int own = d - (out_rank - t.rank());
  return own < 0 || t.size(own) == 1 ? 0 : t.stride(own);
}

Status check_broadcasts(const Call& call, const Tensor& t, std::span<const int64_t> sizes) {
  const auto out_rank = static_cast<int>(sizes.size());
  bool fits = t.rank() <= out_rank;
  for (int d = 0; fits && d < t.rank(); ++d) {
    fits = t.size(d) == 1 || t.size(d) == sizes[static_cast<size_t>(d + out_rank - t.rank())];
  }
  if (!fits) {
    return call.fail(Status::InvalidArgument, "{} has sizes {}, which do not broadcast to {}", call.arg_name(t),
                     sizes_text(t.sizes()), sizes_text(sizes));
  }
  return Status::Ok;
}

Status check_inner(const Call& call, const Tensor& a, int64_t a_inner, const Tensor& b, int64_t b_inner) {
  if (a_inner != b_inner) {
    return call.fail(Status::InvalidArgument, "{} of sizes {} and {} of sizes {} can't be multiplied: {} and {} differ",
                     call.arg_name(a), sizes_text(a.sizes()), call.arg_name(b), sizes_text(b.sizes()), a_inner,
                     b_inner);
  }
  return Status::Ok;
}

// Batch dimensions that continue the rows of `a` and `out`, with one and the same `b`, become rows.
void fold_batches(Product& p) {
  while (p.batch_rank > 0) {
    const auto d = static_cast<size_t>(p.batch_rank - 1);
    const bool continues = p.b_batch[d] == 0 && p.a_batch[d] == p.a.row_stride * p.m &&
                           p.out_batch[d] == p.out.row_stride * p.m &&
                           (p.added.data == nullptr || p.added_batch[d] == p.added.row_stride * p.m);
    if (!continues && p.m != 1) {
      return;
    }
    if (!continues) {  // one row: the batch dimension takes its place
      if (p.b_batch[d] != 0) {
        return;
      }
      p.a.row_stride = p.a_batch[d];
      p.out.row_stride = p.out_batch[d];
      p.added.row_stride = p.added_batch[d];
    }
    p.m *= p.batch_sizes[d];
    --p.batch_rank;
  }
}

// Element offsets of one batch in the four matrices.
struct Offsets {
  int64_t a = 0;
  int64_t b = 0;
  int64_t out = 0;
  int64_t added = 0;
};
Offsets offsets_of(const Product& p, int64_t batch) {
  Offsets at;
  for (int d = p.batch_rank; d-- > 0;) {
    const auto u = static_cast<size_t>(d);
    const int64_t i = batch % p.batch_sizes[u];
    batch /= p.batch_sizes[u];
    at.a += i * p.a_batch[u];
    at.b += i * p.b_batch[u];
    at.out += i * p.out_batch[u];
    at.added += i * p.added_batch[u];
  }
  return at;
}

template <class C>
struct Worker {
  Gemm<C> gemm;
  C* result;  // m x n row-major; null: straight into the output
  C* added;   // one row of what is added
};

// alpha * product + beta * added, row by row, into the output.
template <class C>
void finish_batch(const Product& p, const Offsets& at, const Worker<C>& worker) {
  const C alpha = number_as<C>(p.alpha);
  const C beta = number_as<C>(p.beta);
  const bool adds = p.added.data != nullptr && beta != C{};
  const LoadRun<C> load = adds ? load_run<C>(p.added.dtype) : nullptr;
  const StoreRun<C> store = store_run<C>(p.out.dtype);
  for (int64_t i = 0; i < p.m; ++i) {
    C* row = worker.result + i * p.n;
    if (alpha != C{1}) {
      for (int64_t j = 0; j < p.n; ++j) {
        row[j] = times(alpha, row[j]);
      }
    }
    if (adds) {
      load(p.added.at(at.added + i * p.added.row_stride).data, p.added.column_stride, p.n, worker.added);
      for (int64_t j = 0; j < p.n; ++j) {
        row[j] = plus(row[j], times(beta, worker.added[j]));
      }
    }
    store(row, const_cast<void*>(p.out.at(at.out + i * p.out.row_stride).data), p.out.column_stride, p.n);
  }
}

template <class C>
void run_batch(const Product& p, int64_t batch, const Worker<C>& worker) {
  const Offsets at = offsets_of(p, batch);
  if (worker.result != nullptr) {
    worker.gemm.run(p.a.at(at.a), p.b.at(at.b), {worker.result, p.n, 1});
    finish_batch(p, at, worker);
  } else {
    C* out = static_cast<C*>(const_cast<void*>(p.out.data)) + at.out;
    worker.gemm.run(p.a.at(at.a), p.b.at(at.b), {out, p.out.row_stride, p.out.column_stride});
  }
}

template <class C>
void run_product_as(Call& call, const Product& p) {
  constexpr int64_t kMaxWorkers = 16;
  const int64_t batches = p.batches();
  if (batches == 0 || p.m == 0 || p.n == 0) {
    return;
  }
  const bool direct = p.added.data == nullptr && p.out.dtype == kDTypeOf<C> && p.alpha.as_double() == 1.0;
  const double cost = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  // Few or large products are parallel inside.
  const bool many = batches > 1 && cost * static_cast<double>(batches) > 65536.0 && cost < 16777216.0;
  const int64_t count = many ? std::min({batches, kMaxWorkers, static_cast<int64_t>(thread_count())}) : 1;
  std::array<std::optional<Worker<C>>, kMaxWorkers> workers;
  for (int64_t w = 0; w < count; ++w) {
    workers[static_cast<size_t>(w)].emplace(Worker<C>{Gemm<C>(call, p.m, p.n, p.k),
                                                      direct ? nullptr : call.scratch<C>(p.m * p.n),
                                                      p.added.data == nullptr ? nullptr : call.scratch<C>(p.n)});
  }
  const auto run_share = [&](int64_t first, int64_t last) {
    for (int64_t w = first; w < last; ++w) {
      for (int64_t batch = batches * w / count; batch < batches * (w + 1) / count; ++batch) {
        run_batch(p, batch, *workers[static_cast<size_t>(w)]);
      }
    }
  };
  if (count == 1) {
    run_share(0, 1);
  } else {
    parallel_for(count, 1, run_share);
  }
}

// `out` is the argument itself, for the message about its dtype.
Status run_product(Call& call, Product& p, std::initializer_list<const Tensor*> tensors) {
  fold_batches(p);
  const DType dtype = compute_dtype(p.a.dtype);
  return visit_number(call, dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, tensors));
    run_product_as<C>(call, p);
    return Status::Ok;
  });
}

// Describes what is added, broadcast to the output's sizes. A beta of zero leaves even NaN out.
void add_to(Product& p, const Tensor& self, const Tensor& out, Scalar beta, Scalar alpha) {
  p.alpha = alpha;
  p.beta = beta;
  if (beta.as_double() == 0.0 || self.numel() == 0) {
    return;
  }
  const int rank = out.rank();
  p.added = {self.data, self.dtype, rank >= 2 ? broadcast_stride(self, rank, rank - 2) : 0,
             rank >= 1 ? broadcast_stride(self, rank, rank - 1) : 0};
  for (int d = 0; d < p.batch_rank; ++d) {
    p.added_batch[static_cast<size_t>(d)] = broadcast_stride(self, rank, d);
  }
}

// --- mm, addmm ---

Status shape_of_mm(Call& call, const Tensor& self, const Tensor& mat2, Tensor& out) {
  ET_TRY(check_rank(call, self, 2));
  ET_TRY(check_rank(call, mat2, 2));
  ET_TRY(check_inner(call, self, self.size(1), mat2, mat2.size(0)));
  return call.resize(out, std::array{self.size(0), mat2.size(1)});
}

Product product_of_matrices(const Tensor& a, const Tensor& b, const Tensor& out) {
  Product p;
  p.m = a.size(a.rank() - 2);
  p.k = a.size(a.rank() - 1);
  p.n = b.size(b.rank() - 1);
  p.a = matrix_of(a);
  p.b = matrix_of(b);
  p.out = matrix_of(out);
  return p;
}

Status mm(Call& call, const Tensor& self, const Tensor& mat2, Tensor& out) {
  Product p = product_of_matrices(self, mat2, out);
  return run_product(call, p, {&self, &mat2, &out});
}

Status shape_of_mm_dtype(Call& call, const Tensor& self, const Tensor& mat2, DType /*out_dtype*/, Tensor& out) {
  return shape_of_mm(call, self, mat2, out);
}
Status mm_dtype(Call& call, const Tensor& self, const Tensor& mat2, DType /*out_dtype*/, Tensor& out) {
  return mm(call, self, mat2, out);
}

Status shape_of_addmm(Call& call, const Tensor& self, const Tensor& mat1, const Tensor& mat2, Scalar /*beta*/,
                      Scalar /*alpha*/, Tensor& out) {
  ET_TRY(shape_of_mm(call, mat1, mat2, out));
  return check_broadcasts(call, self, out.sizes());
}
Status addmm(Call& call, const Tensor& self, const Tensor& mat1, const Tensor& mat2, Scalar beta, Scalar alpha,
             Tensor& out) {
  Product p = product_of_matrices(mat1, mat2, out);
  add_to(p, self, out, beta, alpha);
  return run_product(call, p, {&self, &mat1, &mat2, &out});
}

Status shape_of_addmm_dtype(Call& call, const Tensor& self, const Tensor& mat1, const Tensor& mat2, DType /*out_dtype*/,
                            Scalar beta, Scalar alpha, Tensor& out) {
  return shape_of_addmm(call, self, mat1, mat2, beta, alpha, out);
}
Status addmm_dtype(Call& call, const Tensor& self, const Tensor& mat1, const Tensor& mat2, DType /*out_dtype*/,
                   Scalar beta, Scalar alpha, Tensor& out) {
  return addmm(call, self, mat1, mat2, beta, alpha, out);
}

// --- bmm, baddbmm, addbmm ---

Status check_batches(const Call& call, const Tensor& a, const Tensor& b) {
  ET_TRY(check_rank(call, a, 3));
  ET_TRY(check_rank(call, b, 3));
  if (a.size(0) != b.size(0)) {
    return call.fail(Status::InvalidArgument, "{} has {} matrices and {} has {}", call.arg_name(a), a.size(0),
                     call.arg_name(b), b.size(0));
  }
  return check_inner(call, a, a.size(2), b, b.size(1));
}

Status shape_of_bmm(Call& call, const Tensor& self, const Tensor& mat2, Tensor& out) {
  ET_TRY(check_batches(call, self, mat2));
  return call.resize(out, std::array{self.size(0), self.size(1), mat2.size(2)});
}

Product product_of_batches(const Tensor& a, const Tensor& b, const Tensor& out) {
  Product p = product_of_matrices(a, b, out);
  p.batch_rank = 1;
  p.batch_sizes[0] = a.size(0);
  p.a_batch[0] = a.stride(0);
  p.b_batch[0] = b.stride(0);
  p.out_batch[0] = out.stride(0);
  return p;
}

Status bmm(Call& call, const Tensor& self, const Tensor& mat2, Tensor& out) {
  Product p = product_of_batches(self, mat2, out);
  return run_product(call, p, {&self, &mat2, &out});
}

Status shape_of_bmm_dtype(Call& call, const Tensor& self, const Tensor& mat2, DType /*out_dtype*/, Tensor& out) {
  return shape_of_bmm(call, self, mat2, out);
}
Status bmm_dtype(Call& call, const Tensor& self, const Tensor& mat2, DType /*out_dtype*/, Tensor& out) {
  return bmm(call, self, mat2, out);
}

Status shape_of_baddbmm(Call& call, const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar /*beta*/,
                        Scalar /*alpha*/, Tensor& out) {
  ET_TRY(shape_of_bmm(call, batch1, batch2, out));
  return check_broadcasts(call, self, out.sizes());
}
Status baddbmm(Call& call, const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha,
               Tensor& out) {
  Product p = product_of_batches(batch1, batch2, out);
  add_to(p, self, out, beta, alpha);
  return run_product(call, p, {&self, &batch1, &batch2, &out});
}

Status shape_of_baddbmm_dtype(Call& call, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                              DType /*out_dtype*/, Scalar beta, Scalar alpha, Tensor& out) {
  return shape_of_baddbmm(call, self, batch1, batch2, beta, alpha, out);
}
Status baddbmm_dtype(Call& call, const Tensor& self, const Tensor& batch1, const Tensor& batch2, DType /*out_dtype*/,
                     Scalar beta, Scalar alpha, Tensor& out) {
  return baddbmm(call, self, batch1, batch2, beta, alpha, out);
}

Status shape_of_addbmm(Call& call, const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar /*beta*/,
                       Scalar /*alpha*/, Tensor& out) {
  ET_TRY(check_batches(call, batch1, batch2));
  ET_TRY(call.resize(out, std::array{batch1.size(1), batch2.size(2)}));
  return check_broadcasts(call, self, out.sizes());
}

template <class C>
void addbmm_as(Call& call, const Product& p, int64_t batches, int64_t a_step, int64_t b_step) {
  Worker<C> worker{Gemm<C>(call, p.m, p.n, p.k), call.scratch<C>(p.m * p.n), call.scratch<C>(p.n)};
  std::fill(worker.result, worker.result + p.m * p.n, C{});
  for (int64_t b = 0; b < batches; ++b) {
    worker.gemm.run(p.a.at(b * a_step), p.b.at(b * b_step), {worker.result, p.n, 1}, true);
  }
  finish_batch(p, Offsets{}, worker);
}
Status addbmm(Call& call, const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha,
              Tensor& out) {
  Product p = product_of_matrices(batch1, batch2, out);
  add_to(p, self, out, beta, alpha);
  return visit_number(call, out.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&self, &batch1, &batch2, &out}));
    if (out.numel() > 0) {
      addbmm_as<C>(call, p, batch1.size(0), batch1.stride(0), batch2.stride(0));
    }
    return Status::Ok;
  });
}

// --- vectors ---

Status shape_of_mv(Call& call, const Tensor& self, const Tensor& vec, Tensor& out) {
  ET_TRY(check_rank(call, self, 2));
  ET_TRY(check_rank(call, vec, 1));
  ET_TRY(check_inner(call, self, self.size(1), vec, vec.size(0)));
  return call.resize(out, std::array{self.size(0)});
}

Product product_with_vector(const Tensor& a, const Tensor& x, const Tensor& out) {
  Product p;
  p.m = a.size(0);
  p.k = a.size(1);
  p.a = matrix_of(a);
  p.b = column_of(x);
  p.out = column_of(out);
  return p;
}

Status mv(Call& call, const Tensor& self, const Tensor& vec, Tensor& out) {
  Product p = product_with_vector(self, vec, out);
  return run_product(call, p, {&self, &vec, &out});
}

Status shape_of_addmv(Call& call, const Tensor& self, const Tensor& mat, const Tensor& vec, Scalar /*beta*/,
                      Scalar /*alpha*/, Tensor& out) {
  ET_TRY(shape_of_mv(call, mat, vec, out));
  return check_broadcasts(call, self, out.sizes());
}
Status addmv(Call& call, const Tensor& self, const Tensor& mat, const Tensor& vec, Scalar beta, Scalar alpha,
             Tensor& out) {
  Product p = product_with_vector(mat, vec, out);
  add_to(p, self, out, beta, alpha);
  std::swap(p.added.row_stride, p.added.column_stride);  // the output is a column here
  return run_product(call, p, {&self, &mat, &vec, &out});
}

Status shape_of_dot(Call& call, const Tensor& self, const Tensor& other, Tensor& out) {
  ET_TRY(check_rank(call, self, 1));
  ET_TRY(check_rank(call, other, 1));
  ET_TRY(check_inner(call, self, self.size(0), other, other.size(0)));
  return call.resize(out, {});
}
Status dot_product(Call& call, const Tensor& self, const Tensor& other, Tensor& out) {
  Product p;
  p.k = self.size(0);
  p.a = row_of(self);
  p.b = column_of(other);
  p.out = matrix_of(out);
  return run_product(call, p, {&self, &other, &out});
}
Status vdot(Call& call, const Tensor& self, const Tensor& other, Tensor& out) {
  return visit_number(call, self.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&self, &other, &out}));
    C* x = copy_rows<C>(call, self);
    std::transform(x, x + self.numel(), x, conjugate<C>);
    store_one(out.dtype, out.data, dot(x, load_rows<C>(call, other), self.numel()));
    return Status::Ok;
  });
}

Status shape_of_outer(Call& call, const Tensor& self, const Tensor& vec2, Tensor& out) {
  ET_TRY(check_rank(call, self, 1));
  ET_TRY(check_rank(call, vec2, 1));
  return call.resize(out, std::array{self.size(0), vec2.size(0)});
}

// A product with inner length 1, in the output's compute type: vectors of different dtypes may meet.
Status outer_product(Call& call, const Tensor& x, const Tensor& y, const Tensor* self, Scalar beta, Scalar alpha,
                     Tensor& out) {
  Product p;
  p.m = x.size(0);
  p.n = y.size(0);
  p.a = column_of(x);
  p.b = row_of(y);
  p.out = matrix_of(out);
  if (self != nullptr) {
    add_to(p, *self, out, beta, alpha);
  }
  return visit_number(call, out.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&x, &y, self, &out}));
    run_product_as<C>(call, p);
    return Status::Ok;
  });
}
Status outer(Call& call, const Tensor& self, const Tensor& vec2, Tensor& out) {
  return outer_product(call, self, vec2, nullptr, {}, {}, out);
}

Status shape_of_addr(Call& call, const Tensor& self, const Tensor& vec1, const Tensor& vec2, Scalar /*beta*/,
                     Scalar /*alpha*/, Tensor& out) {
  ET_TRY(shape_of_outer(call, vec1, vec2, out));
  return check_broadcasts(call, self, out.sizes());
}
Status addr(Call& call, const Tensor& self, const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha,
            Tensor& out) {
  return outer_product(call, vec1, vec2, &self, beta, alpha, out);
}

// --- matmul, linear, inner ---

// How two tensors of any rank multiply: vectors are a row on the left, a column on the right; the other
// dimensions broadcast.
struct Shapes {
  int rank = 0;
  Sizes sizes{};
  int batch_rank = 0;
  std::span<const int64_t> all() const { return {sizes.data(), static_cast<size_t>(rank)}; }
};

// `b_columns_first`: b's last dimension is the inner one, as a weight's is.
Result<Shapes> shapes_of_matmul(const Call& call, const Tensor& a, const Tensor& b, bool b_columns_first) {
  ET_TRY(check_rank_between(call, a, 1, kMaxRank));
  ET_TRY(check_rank_between(call, b, 1, kMaxRank));
  const int64_t b_inner = b.rank() == 1 || b_columns_first ? b.size(b.rank() - 1) : b.size(b.rank() - 2);
  ET_TRY(check_inner(call, a, a.size(a.rank() - 1), b, b_inner));
  Shapes s;
  s.batch_rank = std::max({a.rank() - 2, b.rank() - 2, 0});
  s.rank = s.batch_rank;
  for (int d = 0; d < s.batch_rank; ++d) {
    const int da = d - (s.batch_rank - (a.rank() - 2));
    const int db = d - (s.batch_rank - (b.rank() - 2));
    const int64_t na = a.rank() > 2 && da >= 0 ? a.size(da) : 1;
    const int64_t nb = b.rank() > 2 && db >= 0 ? b.size(db) : 1;
    if (na != nb && na != 1 && nb != 1) {
      return call.fail(Status::InvalidArgument, "{} of sizes {} and {} of sizes {} don't broadcast", call.arg_name(a),
                       sizes_text(a.sizes()), call.arg_name(b), sizes_text(b.sizes()));
    }
    s.sizes[static_cast<size_t>(d)] = na == 1 ? nb : na;
  }
  if (a.rank() > 1) {
    s.sizes[static_cast<size_t>(s.rank++)] = a.size(a.rank() - 2);
  }
  if (b.rank() > 1) {
    s.sizes[static_cast<size_t>(s.rank++)] = b.size(b.rank() - (b_columns_first ? 2 : 1));
  }
  return s;
}

int64_t batch_stride(const Tensor& t, int batch_rank, int d) {
  const int own = d - (batch_rank - (t.rank() - 2));
  return t.rank() <= 2 || own < 0 || t.size(own) == 1 ? 0 : t.stride(own);
}

Result<Product> product_of_any(const Call& call, const Tensor& a, const Tensor& b, bool b_columns_first,
                               const Tensor& out) {
  ET_ASSIGN(const Shapes s, shapes_of_matmul(call, a, b, b_columns_first));
  Product p;
  p.k = a.size(a.rank() - 1);
  p.a = a.rank() == 1 ? row_of(a) : matrix_of(a);
  p.b = b.rank() == 1 ? column_of(b) : b_columns_first ? matrix_of(b).transposed() : matrix_of(b);
  p.out = {out.data, out.dtype, 0, 0};
  int d = s.batch_rank;
  if (a.rank() > 1) {
    p.m = a.size(a.rank() - 2);
    p.out.row_stride = out.stride(d++);
  }
  if (b.rank() > 1) {
    p.n = b.size(b.rank() - (b_columns_first ? 2 : 1));
    p.out.column_stride = out.stride(d);
  }
  p.batch_rank = s.batch_rank;
  for (d = 0; d < s.batch_rank; ++d) {
    const auto u = static_cast<size_t>(d);
    p.batch_sizes[u] = s.sizes[u];
    p.a_batch[u] = batch_stride(a, s.batch_rank, d);
    p.b_batch[u] = batch_stride(b, s.batch_rank, d);
    p.out_batch[u] = out.stride(d);
  }
  return p;
}

Status shape_of_matmul(Call& call, const Tensor& self, const Tensor& other, Tensor& out) {
  ET_ASSIGN(const Shapes s, shapes_of_matmul(call, self, other, false));
  return call.resize(out, s.all());
}
Status matmul(Call& call, const Tensor& self, const Tensor& other, Tensor& out) {
  ET_ASSIGN(Product p, product_of_any(call, self, other, false, out));
  return run_product(call, p, {&self, &other, &out});
}

Status shape_of_linear(Call& call, const Tensor& input, const Tensor& weight, const Tensor* bias, Tensor& out) {
  ET_TRY(check_rank_between(call, weight, 1, 2));
  ET_ASSIGN(const Shapes s, shapes_of_matmul(call, input, weight, true));
  ET_TRY(call.resize(out, s.all()));
  return bias == nullptr ? Status::Ok : check_broadcasts(call, *bias, out.sizes());
}
Status linear(Call& call, const Tensor& input, const Tensor& weight, const Tensor* bias, Tensor& out) {
  ET_ASSIGN(Product p, product_of_any(call, input, weight, true, out));
  if (bias != nullptr && bias->numel() > 0) {
    const int rank = out.rank();
    const int columns = weight.rank() > 1 ? 1 : 0;
    const int rows = input.rank() > 1 ? 1 : 0;
    p.added = {bias->data, bias->dtype, rows != 0 ? broadcast_stride(*bias, rank, rank - 1 - columns) : 0,
               columns != 0 ? broadcast_stride(*bias, rank, rank - 1) : 0};
    for (int d = 0; d < p.batch_rank; ++d) {
      p.added_batch[static_cast<size_t>(d)] = broadcast_stride(*bias, rank, d);
    }
  }
  return run_product(call, p, {&input, &weight, bias, &out});
}

// A tensor with its outer dimensions as rows: each row of self meets each row of other.
Status shape_of_inner(Call& call, const Tensor& self, const Tensor& other, Tensor& out) {
  std::vector<int64_t> sizes;
  if (self.rank() == 0 || other.rank() == 0) {
    const Tensor& t = self.rank() == 0 ? other : self;
    return call.resize(out, t.sizes());
  }
  ET_TRY(check_inner(call, self, self.size(self.rank() - 1), other, other.size(other.rank() - 1)));
  sizes.assign(self.sizes().begin(), self.sizes().end() - 1);
  sizes.insert(sizes.end(), other.sizes().begin(), other.sizes().end() - 1);
  return call.resize(out, sizes);
}
Status inner(Call& call, const Tensor& self, const Tensor& other, Tensor& out) {
  return visit_number(call, out.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&self, &other, &out}));
    const int64_t k = self.rank() == 0 || other.rank() == 0 ? 1 : self.size(self.rank() - 1);
    const RowsOf<C> target(call, out);
    const int64_t m = k == 0 ? 1 : self.numel() / k;
    const int64_t n = out.numel() == 0 ? 0 : out.numel() / std::max<int64_t>(m, 1);
    if (k == 0) {
      std::fill(target.data(), target.data() + out.numel(), C{});
    } else if (out.numel() > 0) {
      const Matrix a{load_rows<C>(call, self), kDTypeOf<C>, k, 1};
      const Matrix b{load_rows<C>(call, other), kDTypeOf<C>, 1, k};
      Gemm<C>(call, m, n, k).run(a, b, {target.data(), n, 1});
    }
    target.finish();
    return Status::Ok;
  });
}

// --- trilinear: the sum of i1 i2 i3 over dimensions `sumdim`, each with dimensions of size 1 put in where `expand`
// says.

struct Trilinear {
  int rank = 0;
  Sizes sizes{};
  std::array<Sizes, 3> strides{};
  uint32_t summed = 0;

  // Sizes of the dimensions that are kept (or summed).
  Dims sizes_where(bool sum) const {
    Dims kept;
    for (int d = 0; d < rank; ++d) {
      if ((summed >> d & 1U) == (sum ? 1U : 0U)) {
        kept.push_back(sizes[static_cast<size_t>(d)]);
      }
    }
    return kept;
  }
};

Status add_factor(Call& call, const Tensor& t, IntList expand, size_t index, Trilinear& plan) {
  const auto rank = static_cast<int>(static_cast<size_t>(t.rank()) + expand.size());
  if (rank > kMaxRank || (index > 0 && rank != plan.rank)) {
    return call.fail(Status::InvalidArgument, "{} has {} dimensions when expanded, expected {}", call.arg_name(t), rank,
                     plan.rank);
  }
  plan.rank = rank;
  ET_ASSIGN(const uint32_t expanded, wrap_dims(call, expand, rank, "expand"));
  int64_t stride = t.numel();
  int own = 0;
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    const int64_t size = (expanded >> d & 1U) != 0 ? 1 : t.size(own++);
    stride /= std::max<int64_t>(size, 1);
    plan.strides[index][at] = size == 1 ? 0 : stride;
    if (index == 0 || plan.sizes[at] == 1) {
      plan.sizes[at] = size;
    } else if (size != 1 && size != plan.sizes[at]) {
      return call.fail(Status::InvalidArgument, "{} has size {} in dimension {}, expected {}", call.arg_name(t), size,
                       d, plan.sizes[at]);
    }
  }
  return Status::Ok;
}

Result<Trilinear> trilinear_plan(Call& call, std::array<const Tensor*, 3> factors, std::array<IntList, 3> expands,
                                 IntList sumdim) {
  Trilinear plan;
  for (size_t i = 0; i < 3; ++i) {
    ET_TRY(add_factor(call, *factors[i], expands[i], i, plan));
  }
  ET_ASSIGN(plan.summed, wrap_dims(call, sumdim, plan.rank, "sumdim"));
  return plan;
}

// Adds to `offsets` the steps of element `index` of the dimensions that are summed, or of the others.
void step_to(const Trilinear& plan, bool sum, int64_t index, std::array<int64_t, 3>& offsets) {
  for (int d = plan.rank; d-- > 0;) {
    if ((plan.summed >> d & 1U) != (sum ? 1U : 0U)) {
      continue;
    }
    const auto at = static_cast<size_t>(d);
    const int64_t place = index % plan.sizes[at];
    index /= plan.sizes[at];
    for (size_t i = 0; i < 3; ++i) {
      offsets[i] += place * plan.strides[i][at];
    }
  }
}

Status shape_of_trilinear(Call& call, const Tensor& i1, const Tensor& i2, const Tensor& i3, IntList expand1,
                          IntList expand2, IntList expand3, IntList sumdim, int64_t /*unroll_dim*/, Tensor& out) {
  ET_ASSIGN(const Trilinear plan, trilinear_plan(call, {&i1, &i2, &i3}, {expand1, expand2, expand3}, sumdim));
  return call.resize(out, plan.sizes_where(false));
}

Status trilinear(Call& call, const Tensor& i1, const Tensor& i2, const Tensor& i3, IntList expand1, IntList expand2,
                 IntList expand3, IntList sumdim, int64_t /*unroll_dim*/, Tensor& out) {
  ET_TRY(check_same_dtype(call, i2, i1));
  ET_TRY(check_same_dtype(call, i3, i1));
  ET_TRY(check_same_dtype(call, out, i1));
  ET_ASSIGN(const Trilinear plan, trilinear_plan(call, {&i1, &i2, &i3}, {expand1, expand2, expand3}, sumdim));
  ET_TRY(check_sizes(call, out, plan.sizes_where(false)));
  return visit_number(call, out.dtype, [&]<class C>() {
    const std::array<const C*, 3> factors{load_rows<C>(call, i1), load_rows<C>(call, i2), load_rows<C>(call, i3)};
    const RowsOf<C> target(call, out);
    const int64_t terms = count_of(plan.sizes_where(true));
    for (int64_t o = 0; o < out.numel(); ++o) {
      std::array<int64_t, 3> start{};
      step_to(plan, false, o, start);
      C sum{};
      for (int64_t k = 0; k < terms; ++k) {
        std::array<int64_t, 3> at = start;
        step_to(plan, true, k, at);
        sum = plus(sum, times(times(factors[0][at[0]], factors[1][at[1]]), factors[2][at[2]]));
      }
      target.data()[o] = sum;
    }
    target.finish();
    return Status::Ok;
  });
}

constexpr Op kOps[] = {
    {"aten::_trilinear.out",
     "(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1, "
     "*, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_trilinear>, bind<apart<trilinear>>, kPure | kAnyLayout},
    {"aten::mm.out", "(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_mm>, bind<apart<mm>>,
     kPure | kAnyLayout},
    {"aten::mm.dtype_out", "(Tensor self, Tensor mat2, ScalarType out_dtype, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_mm_dtype>, bind<apart<mm_dtype>>, kPure | kAnyLayout},
    {"aten::_int_mm.out", "(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_mm>,
     bind<apart<mm>>, kPure | kAnyLayout},
    {"aten::addmm.out",
     "(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_addmm>, bind<apart<addmm>>, kPure | kAnyLayout},
    {"aten::addmm.dtype_out",
     "(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) "
     "-> Tensor(a!)",
     bind<shape_of_addmm_dtype>, bind<apart<addmm_dtype>>, kPure | kAnyLayout},
    {"aten::bmm.out", "(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_bmm>,
     bind<apart<bmm>>, kPure | kAnyLayout},
    {"aten::bmm.dtype_out", "(Tensor self, Tensor mat2, ScalarType out_dtype, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_bmm_dtype>, bind<apart<bmm_dtype>>, kPure | kAnyLayout},
    {"aten::baddbmm.out",
     "(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_baddbmm>, bind<apart<baddbmm>>, kPure | kAnyLayout},
    {"aten::baddbmm.dtype_out",
     "(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) "
     "out) -> Tensor(a!)",
     bind<shape_of_baddbmm_dtype>, bind<apart<baddbmm_dtype>>, kPure | kAnyLayout},
    {"aten::addbmm.out",
     "(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_addbmm>, bind<apart<addbmm>>, kPure | kAnyLayout},
    {"aten::mv.out", "(Tensor self, Tensor vec, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_mv>, bind<apart<mv>>,
     kPure | kAnyLayout},
    {"aten::addmv.out",
     "(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_addmv>, bind<apart<addmv>>, kPure | kAnyLayout},
    {"aten::dot.out", "(Tensor self, Tensor tensor, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_dot>,
     bind<apart<dot_product>>, kPure | kAnyLayout},
    {"aten::vdot.out", "(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_dot>,
     bind<apart<vdot>>, kPure | kAnyLayout},
    {"aten::outer.out", "(Tensor self, Tensor vec2, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_outer>,
     bind<apart<outer>>, kPure | kAnyLayout},
    {"aten::ger.out", "(Tensor self, Tensor vec2, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_outer>,
     bind<apart<outer>>, kPure | kAnyLayout},
    {"aten::addr.out",
     "(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_addr>, bind<apart<addr>>, kPure | kAnyLayout},
    {"aten::matmul.out", "(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_matmul>,
     bind<apart<matmul>>, kPure | kAnyLayout},
    {"aten::linalg_matmul.out", "(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_matmul>,
     bind<apart<matmul>>, kPure | kAnyLayout},
    {"aten::linear.out", "(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_linear>, bind<apart<linear>>, kPure | kAnyLayout},
    {"aten::inner.out", "(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_inner>,
     bind<apart<inner>>, kPure | kAnyLayout},
};

}  // namespace

Table matmul_ops() { return kOps; }

}  // namespace etrt::ops
