// Discrete Fourier transforms of any length.
//
// Lengths with small prime factors run as a series of short transforms; others become a convolution of a
// power-of-two length (Bluestein). Everything is computed in double, whatever the dtype.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "core/checked.h"
#include "core/thread_pool.h"
#include "ops/apart.h"
#include "ops/compute.h"
#include "ops/dims.h"
#include "ops/strided_copy.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

using Complex = std::complex<double>;

constexpr int64_t kLargestFactor = 31;  // larger prime factors are not worth their square
constexpr int64_t kGrain = 1 << 13;     // elements worth a thread

// exp(-2 pi i k / n), or its conjugate.
Complex root_of_unity(int64_t k, int64_t n, bool forward) {
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), forward ? -std::sin(angle) : std::sin(angle)};
}

std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> factors;
  while (n % 4 == 0) {
    factors.push_back(4);
    n /= 4;
  }
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) {
      factors.push_back(p);
    }
  }
  if (n > 1) {
    factors.push_back(n);
  }
  return factors;
}

// Transforms of one length and direction. Immutable: any thread may use it, each with its own memory.
class Plan {
 public:
  Plan(int64_t n, bool forward) : n_(n), forward_(forward), factors_(factors_of(n)) {
    if (std::any_of(factors_.begin(), factors_.end(), [](int64_t p) { return p > kLargestFactor; })) {
      prepare_convolution();
      return;
    }
    roots_.resize(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k) {
      roots_[static_cast<size_t>(k)] = root_of_unity(k, n, forward);
    }
  }

  int64_t length() const { return n_; }
  // Elements of working memory that run() needs.
  int64_t work_size() const { return long_ ? 2 * long_->n_ : n_; }

  // Transforms `data` in place.
  void run(Complex* data, Complex* work) const {
    if (long_) {
      convolve(data, work);
      return;
    }
    Complex* from = data;
    Complex* to = work;
    int64_t done = 1;
    for (const int64_t p : factors_) {
      step(p, done, from, to);
      done *= p;
      std::swap(from, to);
    }
    if (from != data) {
      std::copy(from, from + n_, data);
    }
  }

 private:
  const Complex& root(int64_t k) const { return roots_[static_cast<size_t>(k)]; }

  // Joins p transforms of length `done` into one of length done * p, for each of the `rest` subsequences.
  // Element [k][s] of `from` is frequency k of subsequence s.
  void step(int64_t p, int64_t done, const Complex* from, Complex* to) const {
    const int64_t rest = n_ / done / p;
    std::array<Complex, kLargestFactor> turns;
    std::array<Complex, kLargestFactor> x;
    for (int64_t k = 0; k < done; ++k) {
      for (int64_t r = 0; r < p; ++r) {
        turns[static_cast<size_t>(r)] = root(r * k * rest);  // r * k * rest < n
      }
      const Complex* in = from + k * p * rest;
      for (int64_t s = 0; s < rest; ++s) {
        for (int64_t r = 0; r < p; ++r) {
          x[static_cast<size_t>(r)] = times(in[r * rest + s], turns[static_cast<size_t>(r)]);
        }
        Complex* out = to + k * rest + s;
        if (p == 2) {
          out[0] = x[0] + x[1];
          out[done * rest] = x[0] - x[1];
        } else if (p == 4) {
          short_transform_of_4(x, out, done * rest);
        } else {
          short_transform(p, x, out, done * rest);
        }
      }
    }
  }

  void short_transform_of_4(const std::array<Complex, kLargestFactor>& x, Complex* out, int64_t stride) const {
    const Complex a = x[0] + x[2];
    const Complex b = x[0] - x[2];
    const Complex c = x[1] + x[3];
    const Complex d = x[1] - x[3];
    const Complex turned = forward_ ? Complex{d.imag(), -d.real()} : Complex{-d.imag(), d.real()};
    out[0] = a + c;
    out[stride] = b + turned;
    out[2 * stride] = a - c;
    out[3 * stride] = b - turned;
  }

  void short_transform(int64_t p, const std::array<Complex, kLargestFactor>& x, Complex* out, int64_t stride) const {
    for (int64_t q = 0; q < p; ++q) {
      Complex sum = x[0];
      for (int64_t r = 1; r < p; ++r) {
        sum += times(x[static_cast<size_t>(r)], root(q * r % p * (n_ / p)));
      }
      out[q * stride] = sum;
    }
  }

  // jk = (j^2 + k^2 - (j - k)^2) / 2 makes the transform a convolution with a chirp.
  void prepare_convolution() {
    int64_t length = 1;
    while (length < 2 * n_ - 1) {
      length *= 2;
    }
    long_ = std::make_unique<Plan>(length, true);
    back_ = std::make_unique<Plan>(length, false);
    chirp_.resize(static_cast<size_t>(n_));
    int64_t square = 0;  // k^2 mod 2n
    for (int64_t k = 0; k < n_; ++k) {
      chirp_[static_cast<size_t>(k)] = root_of_unity(square, 2 * n_, forward_);
      square = (square + 2 * k + 1) % (2 * n_);
    }
    kernel_.resize(static_cast<size_t>(length));
    for (int64_t k = 0; k < n_; ++k) {
      const Complex value = std::conj(chirp_[static_cast<size_t>(k)]) / static_cast<double>(length);
      kernel_[static_cast<size_t>(k)] = value;
      kernel_[static_cast<size_t>(k == 0 ? 0 : length - k)] = value;
    }
    std::vector<Complex> work(static_cast<size_t>(length));
    long_->run(kernel_.data(), work.data());
  }

  void convolve(Complex* data, Complex* work) const {
    const int64_t length = long_->n_;
    Complex* signal = work;
    for (int64_t k = 0; k < n_; ++k) {
      signal[k] = times(data[k], chirp_[static_cast<size_t>(k)]);
    }
    std::fill(signal + n_, signal + length, Complex{});
    long_->run(signal, work + length);
    for (int64_t k = 0; k < length; ++k) {
      signal[k] = times(signal[k], kernel_[static_cast<size_t>(k)]);
    }
    back_->run(signal, work + length);
    for (int64_t k = 0; k < n_; ++k) {
      data[k] = times(signal[k], chirp_[static_cast<size_t>(k)]);
    }
  }

  int64_t n_;
  bool forward_;
  std::vector<int64_t> factors_;
  std::vector<Complex> roots_;
  // Bluestein's:
  std::unique_ptr<Plan> long_;
  std::unique_ptr<Plan> back_;
  std::vector<Complex> chirp_;
  std::vector<Complex> kernel_;
};

// Transforms every line of a row-major array along dimension `d`, in place.
void transform_along(Complex* data, std::span<const int64_t> sizes, int d, bool forward) {
  const int64_t n = sizes[static_cast<size_t>(d)];
  int64_t outer = 1;
  int64_t stride = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    (static_cast<int>(i) < d   ? outer
     : static_cast<int>(i) > d ? stride
                               : outer) *= static_cast<int>(i) == d ? 1 : sizes[i];
  }
  if (n <= 1 || outer * stride == 0) {
    return;
  }
  const Plan plan(n, forward);
  parallel_for(outer * stride, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    std::vector<Complex> line(static_cast<size_t>(n + plan.work_size()));
    for (int64_t l = begin; l < end; ++l) {
      Complex* start = data + l / stride * n * stride + l % stride;
      if (stride == 1) {
        plan.run(start, line.data());
        continue;
      }
      for (int64_t k = 0; k < n; ++k) {
        line[static_cast<size_t>(k)] = start[k * stride];
      }
      plan.run(line.data(), line.data() + n);
      for (int64_t k = 0; k < n; ++k) {
        start[k * stride] = line[static_cast<size_t>(k)];
      }
    }
  });
}

enum class Norm : int64_t { kNone = 0, kByRootN = 1, kByN = 2 };

// The dimensions to transform and what the result is multiplied by.
struct Transform {
  std::array<int, kMaxRank> dims{};
  size_t count = 0;
  double scale = 1;

  int last() const { return dims[count - 1]; }
};

// `last_size`: of the signal along the last dimension listed, where the argument holds only half of it.
Result<Transform> read_transform(const Call& call, const Tensor& self, IntList dim, int64_t normalization,
                                 std::optional<int64_t> last_size = std::nullopt) {
  Transform t;
  ET_TRY(wrap_dims(call, dim, self.rank(), "dim").status());
  if (dim.empty() && last_size) {
    return call.fail(Status::InvalidArgument, "dim is empty");
  }
  double n = 1;
  for (const int64_t d : dim) {
    ET_ASSIGN(const int wrapped, wrap_dim(call, d, self.rank()));
    t.dims[t.count++] = wrapped;
    const bool last = t.count == dim.size();
    n *= static_cast<double>(last && last_size ? *last_size : self.rank() == 0 ? 1 : self.size(wrapped));
  }
  switch (static_cast<Norm>(normalization)) {
    case Norm::kNone:
      break;
    case Norm::kByRootN:
      t.scale = 1 / std::sqrt(n);
      break;
    case Norm::kByN:
      t.scale = 1 / n;
      break;
    default:
      return call.fail(Status::InvalidArgument, "normalization {} is out of range [0, 2]", normalization);
  }
  return t;
}

void scale_by(Complex* data, int64_t count, double scale) {
  for (int64_t i = 0; i < count && scale != 1; ++i) {
    data[i] *= scale;
  }
}

Status check_no_scalar(const Call& call, const Tensor& self, const Transform& t) {
  return self.rank() == 0 && t.count > 0 ? call.fail(Status::InvalidArgument, "self is a scalar, nothing to transform")
                                         : Status::Ok;
}

// --- complex to complex ---

Status shape_of_c2c(Call& call, const Tensor& self, IntList dim, int64_t normalization, bool /*forward*/, Tensor& out) {
  ET_ASSIGN(const Transform t, read_transform(call, self, dim, normalization));
  ET_TRY(check_no_scalar(call, self, t));
  return call.resize(out, self.sizes());
}

Status fft_c2c(Call& call, const Tensor& self, IntList dim, int64_t normalization, bool forward, Tensor& out) {
  ET_ASSIGN(const Transform t, read_transform(call, self, dim, normalization));
  ET_TRY(check_converts<Complex>(call, {&self, &out}));
  Complex* data = copy_rows<Complex>(call, self);
  for (size_t i = t.count; i-- > 0;) {
    transform_along(data, self.sizes(), t.dims[i], forward);
  }
  scale_by(data, self.numel(), t.scale);
  store_rows<Complex>(data, out);
  return Status::Ok;
}

// --- real to complex ---

Status shape_of_r2c(Call& call, const Tensor& self, IntList dim, int64_t normalization, bool onesided, Tensor& out) {
  ET_ASSIGN(const Transform t, read_transform(call, self, dim, normalization));
  ET_TRY(check_no_scalar(call, self, t));
  Dims sizes(self.sizes());
  if (onesided && t.count > 0) {
    sizes[t.last()] = sizes[t.last()] / 2 + 1;
  }
  return call.resize(out, sizes);
}

Status fft_r2c(Call& call, const Tensor& self, IntList dim, int64_t normalization, bool /*onesided*/, Tensor& out) {
  ET_ASSIGN(const Transform t, read_transform(call, self, dim, normalization));
  ET_TRY(check_converts<Complex>(call, {&self, &out}));
  Complex* data = copy_rows<Complex>(call, self);
  for (size_t i = t.count; i-- > 0;) {
    transform_along(data, self.sizes(), t.dims[i], true);
  }
  scale_by(data, self.numel(), t.scale);
  if (self.numel() > 0) {
    // The output has the first elements of each line.
    const Tensor rows = Tensor::view(data, DType::Complex128, self.sizes());
    (void)strided_convert(out.sizes(), DType::Complex128, data, rows.strides(), out.dtype, out.data, out.strides());
  }
  return Status::Ok;
}

// --- complex to real ---

Status shape_of_c2r(Call& call, const Tensor& self, IntList dim, int64_t normalization, int64_t last_dim_size,
                    Tensor& out) {
  ET_ASSIGN(const Transform t, read_transform(call, self, dim, normalization, last_dim_size));
  ET_TRY(check_no_scalar(call, self, t));
  if (last_dim_size < 1 || self.size(t.last()) < last_dim_size / 2 + 1) {
    return call.fail(Status::InvalidArgument, "{} frequencies are too few for a signal of length {}",
                     self.size(t.last()), last_dim_size);
  }
  Dims sizes(self.sizes());
  sizes[t.last()] = last_dim_size;
  return call.resize(out, sizes);
}

// Fills the second half of each line along `d` with the conjugates of the first.
void complete_lines(Complex* data, std::span<const int64_t> sizes, int d) {
  const auto u = static_cast<size_t>(d);
  const int64_t n = sizes[u];
  int64_t stride = 1;
  int64_t outer = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i != u) {
      (i < u ? outer : stride) *= sizes[i];
    }
  }
  for (int64_t l = 0; l < outer * stride; ++l) {
    Complex* line = data + l / stride * n * stride + l % stride;
    line[0] = line[0].real();
    for (int64_t k = 1; 2 * k <= n; ++k) {
      Complex& first = line[k * stride];
      if (2 * k == n) {
        first = first.real();
      } else {
        line[(n - k) * stride] = std::conj(first);
      }
    }
  }
}

Status fft_c2r(Call& call, const Tensor& self, IntList dim, int64_t normalization, int64_t last_dim_size, Tensor& out) {
  ET_ASSIGN(const Transform t, read_transform(call, self, dim, normalization, last_dim_size));
  ET_TRY(check_converts<Complex>(call, {&self, &out}));
  if (out.numel() == 0) {
    return Status::Ok;
  }
  // The first half of each line, in an array with room for all.
  const Tensor full = call.scratch_tensor(DType::Complex128, out.sizes());
  Complex* data = full.as<Complex>();
  std::fill(data, data + full.numel(), Complex{});
  Dims half(out.sizes());
  half[t.last()] = last_dim_size / 2 + 1;
  (void)strided_convert(half, self.dtype, self.data, self.strides(), DType::Complex128, data, full.strides());
  for (size_t i = 0; i + 1 < t.count; ++i) {
    transform_along(data, out.sizes(), t.dims[i], false);
  }
  complete_lines(data, out.sizes(), t.last());
  transform_along(data, out.sizes(), t.last(), false);
  scale_by(data, out.numel(), t.scale);
  store_rows<Complex>(data, out);
  return Status::Ok;
}

// --- frequencies ---

template <bool kReal>
Status shape_of_frequencies(Call& call, int64_t n, double /*d*/, Tensor& out) {
  if (n < 1) {
    return call.fail(Status::InvalidArgument, "n is {}, expected a positive number", n);
  }
  return call.resize(out, std::array{kReal ? n / 2 + 1 : n});
}

template <bool kReal>
Status frequencies(Call& call, int64_t n, double d, Tensor& out) {
  return visit_float_or_complex(call, out.dtype, [&]<class C>() {
    ET_TRY(check_converts<C>(call, {&out}));
    const RowsOf<C> target(call, out);
    const double step = 1.0 / (static_cast<double>(n) * d);
    for (int64_t i = 0; i < out.numel(); ++i) {
      const int64_t k = kReal || i < (n + 1) / 2 ? i : i - n;
      target.data()[i] = static_cast<C>(static_cast<double>(k) * step);
    }
    target.finish();
    return Status::Ok;
  });
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

constexpr Op kOps[] = {
    {"aten::_fft_c2c.out",
     "(Tensor self, SymInt[] dim, int normalization, bool forward, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_c2c>, bind<apart<fft_c2c>>, kFacts},
    {"aten::_fft_r2c.out",
     "(Tensor self, int[] dim, int normalization, bool onesided, *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_r2c>,
     bind<apart<fft_r2c>>, kFacts},
    {"aten::_fft_c2r.out",
     "(Tensor self, int[] dim, int normalization, SymInt last_dim_size, *, Tensor(a!) out) -> Tensor(a!)",
     bind<shape_of_c2r>, bind<apart<fft_c2r>>, kFacts},
    {"aten::fft_fftfreq.out", "(int n, float d=1., *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_frequencies<false>>,
     bind<apart<frequencies<false>>>, kFacts},
    {"aten::fft_rfftfreq.out", "(int n, float d=1., *, Tensor(a!) out) -> Tensor(a!)", bind<shape_of_frequencies<true>>,
     bind<apart<frequencies<true>>>, kFacts},
};

}  // namespace

Table fft_ops() { return kOps; }

}  // namespace etrt::ops
