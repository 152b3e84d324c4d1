// Distances between rows: every row of one matrix to every row of another, and the pairs within one.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/thread_pool.h"
#include "ops/apart.h"
#include "ops/compute.h"
#include "ops/dims.h"
#include "ops/stack.h"
#include "ops/strided_view.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements worth a thread

// The p-norm of x - y.
template <class C>
C distance(const C* x, const C* y, int64_t n, double p) {
  C sum{};
  if (p == 0) {
    for (int64_t i = 0; i < n; ++i) {
      sum += x[i] != y[i] ? C{1} : C{};
    }
    return sum;
  }
  if (p == 1) {
    for (int64_t i = 0; i < n; ++i) {
      sum += std::abs(x[i] - y[i]);
    }
    return sum;
  }
  if (p == 2) {
    for (int64_t i = 0; i < n; ++i) {
      sum += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return std::sqrt(sum);
  }
  if (std::isinf(p)) {
    for (int64_t i = 0; i < n; ++i) {
      const C difference = std::abs(x[i] - y[i]);
      sum = difference > sum || std::isnan(difference) ? difference : sum;
    }
    return sum;
  }
  for (int64_t i = 0; i < n; ++i) {
    sum += std::pow(std::abs(x[i] - y[i]), static_cast<C>(p));
  }
  return std::pow(sum, static_cast<C>(1 / p));
}

// The derivative of the distance by one difference of elements.
template <class C>
C slope(C difference, C dist, double p) {
  const C sign = difference > 0 ? C{1} : difference < 0 ? C{-1} : C{};
  if (p == 0 || (p < 1 && difference == 0)) {
    return C{};
  }
  if (p == 1) {
    return sign;
  }
  if (std::isinf(p)) {
    return std::abs(difference) == dist ? sign : C{};
  }
  if (dist == 0) {
    return C{};
  }
  if (p == 2) {
    return difference / dist;
  }
  return sign * std::pow(std::abs(difference), static_cast<C>(p - 1)) / std::pow(dist, static_cast<C>(p - 1));
}

Status check_p(const Call& call, double p) {
  return p >= 0 ? Status::Ok : call.fail(Status::InvalidArgument, "p is {}, expected a number not negative", p);
}

// --- cdist ---

// Two stacks of matrices whose leading dimensions broadcast.
struct Pairing {
  Dims batch;
  int64_t batches = 1;
  int64_t rows1 = 0;
  int64_t rows2 = 0;
  int64_t columns = 0;
};

Result<Pairing> pair(const Call& call, const Tensor& x1, const Tensor& x2) {
  ET_TRY(check_rank_between(call, x1, 2, kMaxRank));
  ET_TRY(check_rank_between(call, x2, 2, kMaxRank));
  Pairing p;
  p.rows1 = x1.size(x1.rank() - 2);
  p.rows2 = x2.size(x2.rank() - 2);
  p.columns = x1.size(x1.rank() - 1);
  if (x2.size(x2.rank() - 1) != p.columns) {
    return call.fail(Status::InvalidArgument, "x1 has {} columns and x2 has {}", p.columns, x2.size(x2.rank() - 1));
  }
  ET_ASSIGN(p.batch, broadcast_sizes(call, batch_sizes(x1), batch_sizes(x2)));
  ET_ASSIGN(p.batches, checked_numel(p.batch));
  return p;
}

Status shape_of_cdist(Call& call, const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> /*mode*/,
                      Tensor& out) {
  ET_TRY(check_p(call, p));
  ET_ASSIGN(const Pairing pairing, pair(call, x1, x2));
  Dims sizes = pairing.batch;
  sizes.push_back(pairing.rows1);
  sizes.push_back(pairing.rows2);
  return call.resize(out, sizes);
}

Status cdist(Call& call, const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> /*mode*/, Tensor& out) {
  ET_ASSIGN(const Pairing pairing, pair(call, x1, x2));
  return visit_float(call, x1.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&x1, &x2, &out}));
    const C* a = load_rows<C>(call, x1);
    const C* b = load_rows<C>(call, x2);
    const RowsOf<C> target(call, out);
    const int64_t rows = out.numel() == 0 ? 0 : pairing.batches * pairing.rows1;
    const int64_t cost = std::max<int64_t>(1, pairing.rows2 * std::max<int64_t>(pairing.columns, 1));
    parallel_for(rows, std::max<int64_t>(1, kGrain / cost), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t batch = r / pairing.rows1;
        const int64_t row = matrix_index(batch_sizes(x1), pairing.batch, batch) * pairing.rows1 + r % pairing.rows1;
        const C* others = b + matrix_index(batch_sizes(x2), pairing.batch, batch) * pairing.rows2 * pairing.columns;
        for (int64_t j = 0; j < pairing.rows2; ++j) {
          target.data()[r * pairing.rows2 + j] =
              distance(a + row * pairing.columns, others + j * pairing.columns, pairing.columns, p);
        }
      }
    });
    target.finish();
    return Status::Ok;
  });
}

Status shape_of_cdist_backward(Call& call, const Tensor& grad_output, const Tensor& x1, const Tensor& x2, double p,
                               const Tensor& dist, Tensor& out) {
  ET_TRY(check_p(call, p));
  ET_ASSIGN(const Pairing pairing, pair(call, x1, x2));
  Dims sizes = pairing.batch;
  sizes.push_back(pairing.rows1);
  sizes.push_back(pairing.rows2);
  ET_TRY(check_sizes(call, grad_output, sizes));
  ET_TRY(check_sizes(call, dist, sizes));
  sizes.erase(sizes.size() - 1);
  sizes.push_back(pairing.columns);
  return call.resize(out, sizes);
}

Status cdist_backward(Call& call, const Tensor& grad_output, const Tensor& x1, const Tensor& x2, double p,
                      const Tensor& dist, Tensor& out) {
  ET_ASSIGN(const Pairing pairing, pair(call, x1, x2));
  return visit_float(call, x1.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&grad_output, &x1, &x2, &dist, &out}));
    const C* a = load_rows<C>(call, x1);
    const C* b = load_rows<C>(call, x2);
    const C* grads = load_rows<C>(call, grad_output);
    const C* distances = load_rows<C>(call, dist);
    const RowsOf<C> target(call, out);
    std::fill(target.data(), target.data() + out.numel(), C{});
    const int64_t n = pairing.columns;
    const int64_t rows = out.numel() == 0 ? 0 : pairing.batches * pairing.rows1;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t batch = r / pairing.rows1;
      const C* x = a + (matrix_index(batch_sizes(x1), pairing.batch, batch) * pairing.rows1 + r % pairing.rows1) * n;
      const C* others = b + matrix_index(batch_sizes(x2), pairing.batch, batch) * pairing.rows2 * n;
      for (int64_t j = 0; j < pairing.rows2; ++j) {
        for (int64_t i = 0; i < n; ++i) {
          target.data()[r * n + i] +=
              grads[r * pairing.rows2 + j] * slope(x[i] - others[j * n + i], distances[r * pairing.rows2 + j], p);
        }
      }
    }
    target.finish();
    return Status::Ok;
  });
}

// --- pdist ---

// Pairs among n rows.
int64_t pairs_of(int64_t n) { return n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n; }

Status check_pdist(const Call& call, const Tensor& self, double p) {
  ET_TRY(check_p(call, p));
  ET_TRY(check_rank(call, self, 2));
  if (self.size(0) > int64_t{1} << 31) {
    return call.fail(Status::InvalidArgument, "self has {} rows, too many for their pairs", self.size(0));
  }
  return Status::Ok;
}

Status shape_of_pdist(Call& call, const Tensor& self, double p, Tensor& out) {
  ET_TRY(check_pdist(call, self, p));
  return call.resize(out, std::array{pairs_of(self.size(0))});
}

Status pdist(Call& call, const Tensor& self, double p, Tensor& out) {
  return visit_float(call, self.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&self, &out}));
    const C* rows = load_rows<C>(call, self);
    const RowsOf<C> target(call, out);
    const int64_t n = self.size(0);
    const int64_t columns = self.size(1);
    C* to = target.data();
    for (int64_t i = 0; i + 1 < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) {
        *to++ = distance(rows + i * columns, rows + j * columns, columns, p);
      }
    }
    target.finish();
    return Status::Ok;
  });
}

Status shape_of_pdist_backward(Call& call, const Tensor& grad_output, const Tensor& self, double p,
                               const Tensor& distances, Tensor& out) {
  ET_TRY(check_pdist(call, self, p));
  const std::array pairs{pairs_of(self.size(0))};
  ET_TRY(check_sizes(call, grad_output, pairs));
  ET_TRY(check_sizes(call, distances, pairs));
  return call.resize(out, self.sizes());
}

Status pdist_backward(Call& call, const Tensor& grad_output, const Tensor& self, double p, const Tensor& distances,
                      Tensor& out) {
  return visit_float(call, self.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&grad_output, &self, &distances, &out}));
    const C* rows = load_rows<C>(call, self);
    const C* grads = load_rows<C>(call, grad_output);
    const C* dist = load_rows<C>(call, distances);
    const RowsOf<C> target(call, out);
    std::fill(target.data(), target.data() + out.numel(), C{});
    const int64_t n = self.size(0);
    const int64_t columns = self.size(1);
    for (int64_t i = 0; i + 1 < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j, ++grads, ++dist) {
        for (int64_t k = 0; k < columns; ++k) {
          const C change = *grads * slope(rows[i * columns + k] - rows[j * columns + k], *dist, p);
          target.data()[i * columns + k] += change;
          target.data()[j * columns + k] -= change;
        }
      }
    }
    target.finish();
    return Status::Ok;
  });
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

constexpr Op kOps[] = {
    {"aten::_cdist_forward.out", "(Tensor x1, Tensor x2, float p, int? compute_mode, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_cdist>, bind<apart<cdist>>, kFacts},
    {"aten::_cdist_backward.out",
     "(Tensor grad_output, Tensor x1, Tensor x2, float p, Tensor cdist, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_cdist_backward>, bind<apart<cdist_backward>>, kFacts},
    {"aten::_pdist_forward.out", "(Tensor self, float p=2., *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_pdist>,
     bind<apart<pdist>>, kFacts},
    {"aten::_pdist_backward.out",
     "(Tensor grad_output, Tensor self, float p, Tensor pdist, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_pdist_backward>, bind<apart<pdist_backward>>, kFacts},
};

}  // namespace

Table distance_ops() { return kOps; }

}  // namespace etrt::ops
