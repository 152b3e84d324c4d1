// Operators that draw from the process-wide generator.
#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/convert.h"
#include "core/thread_pool.h"
#include "ops/arguments.h"
#include "ops/checks.h"
#include "ops/dims.h"
#include "ops/elementwise.h"
#include "ops/formulas.h"
#include "ops/special.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

constexpr int64_t kGrain = 1 << 10;

// A tensor of doubles in scratch memory with the sizes and the layout of `like`.
Tensor doubles_like(Call& call, const Tensor& like) {
  double* data = call.scratch<double>(like.numel());
  return Tensor::view(data, DType::Float64, like.sizes(), like.dim_order());
}
// `values` broadcast to `like`, as doubles that lie as its elements do.
Result<const double*> doubles_of(Call& call, const Tensor& values, const Tensor& like) {
  Tensor doubles = doubles_like(call, like);
  ET_TRY(map<kFloats>(
      call, DType::Float64, doubles, [](auto x) { return x; }, values));
  return static_cast<const double*>(doubles.as<double>());
}

// to[i] = sample(sequence of i, i).
template <class C, class F>
void draw_into(C* to, int64_t begin, int64_t end, const RandomDraw& draw, const F& sample) {
  for (int64_t i = begin; i < end; ++i) {
    RandomSequence sequence = draw.sequence(static_cast<uint64_t>(i));
    to[i - begin] = sample(sequence, i);
  }
}

// Every element of `out`, in the order of its memory, becomes sample(its sequence, its place).
template <class F>
Status generate(Call& call, Tensor& out, const F& sample) {
  using C = std::invoke_result_t<const F&, RandomSequence&, int64_t>;
  ET_TRY(check_memory(call, out));
  const StoreRun<C> store = store_run<C>(out.dtype);
  if (store == nullptr) {
    return detail::unsupported(call, out.dtype);
  }
  const RandomDraw draw;
  parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    constexpr int64_t kChunk = 256;
    std::array<C, kChunk> values;
    for (int64_t i = begin; i < end; i += kChunk) {
      const int64_t n = std::min(kChunk, end - i);
      draw_into(values.data(), i, i + n, draw, sample);
      store(values.data(), out.bytes() + static_cast<size_t>(i) * out.element_size(), 1, n);
    }
  });
  return Status::Ok;
}
// The same for complex tensors too, whose parts are independent samples times `scale`, plus `offset` in the real one.
template <class F>
Status generate_parts(Call& call, Tensor& out, double scale, const F& sample, double offset = 0) {
  if (!is_complex(out.dtype)) {
    return generate(call, out, sample);
  }
  for (int part = 0; part < 2; ++part) {
    Tensor values = doubles_like(call, out);
    ET_TRY(generate(call, values, sample));
    Tensor half = real_part_of(out, part);
    ET_TRY(map<kFloats>(
        call, DType::Float64, half, [=](auto x) { return static_cast<decltype(x)>(x * scale + offset); }, values));
    offset = 0;
  }
  return Status::Ok;
}

// Digits of a number in [0, 1): rounding to the dtype must not give 1.
int uniform_bits(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::Float64:
      return 53;
    case DType::Float16:
      return 11;
    case DType::BFloat16:
      return 8;
    default:
      return 24;
  }
}

// ---- uniform and normal numbers

template <size_t kOut>
Status rand(Call& call) {
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  const int bits = uniform_bits(out->dtype);
  return generate_parts(call, *out, 1.0, [bits](RandomSequence& s, int64_t /*i*/) { return s.uniform(bits); });
}
template <size_t kOut>
Status randn(Call& call) {
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  return generate_parts(call, *out, std::sqrt(0.5), [](RandomSequence& s, int64_t /*i*/) { return s.normal(); });
}

Status uniform(Call& call, const Tensor& /*self*/, double from, double to, Value& /*generator*/, Tensor& out) {
  if (!(from <= to) || !std::isfinite(to - from)) {
    return call.fail(Status::InvalidArgument, "from is {} and to is {}, expected a finite range", from, to);
  }
  const int bits = uniform_bits(out.dtype);
  return generate_parts(call, out, 1,
                        [=](RandomSequence& s, int64_t /*i*/) { return from + (to - from) * s.uniform(bits); });
}

Status check_deviation(const Call& call, double std) {
  return std >= 0 ? Status::Ok : call.fail(Status::InvalidArgument, "std is {}, expected at least 0", std);
}
Status normal_numbers(Call& call, double mean, double std, Tensor& out) {
  ET_TRY(check_deviation(call, std));
  if (is_complex(out.dtype)) {  // the parts have half the variance each
    return generate_parts(
        call, out, std * kSqrtHalf<double>, [](RandomSequence& s, int64_t /*i*/) { return s.normal(); }, mean);
  }
  return generate(call, out, [=](RandomSequence& s, int64_t /*i*/) { return mean + std * s.normal(); });
}
Status normal(Call& call, const Tensor& /*self*/, double mean, double std, Value& /*generator*/, Tensor& out) {
  return normal_numbers(call, mean, std, out);
}
Status normal_sized(Call& call, double mean, double std, IntList /*size*/, Value& /*generator*/, Tensor& out) {
  return normal_numbers(call, mean, std, out);
}
Status normal_of_mean(Call& call, const Tensor& mean, double std, Value& /*generator*/, Tensor& out) {
  ET_TRY(check_deviation(call, std));
  ET_ASSIGN(const double* means, doubles_of(call, mean, out));
  return generate(call, out, [=](RandomSequence& s, int64_t i) { return means[i] + std * s.normal(); });
}
Status normal_of_std(Call& call, double mean, const Tensor& std, Value& /*generator*/, Tensor& out) {
  ET_ASSIGN(const double* deviations, doubles_of(call, std, out));
  return generate(call, out, [=](RandomSequence& s, int64_t i) { return mean + deviations[i] * s.normal(); });
}
Status normal_of_both(Call& call, const Tensor& mean, const Tensor& std, Value& /*generator*/, Tensor& out) {
  ET_ASSIGN(const double* means, doubles_of(call, mean, out));
  ET_ASSIGN(const double* deviations, doubles_of(call, std, out));
  return generate(call, out, [=](RandomSequence& s, int64_t i) { return means[i] + deviations[i] * s.normal(); });
}
Status log_normal(Call& call, const Tensor& /*self*/, double mean, double std, Value& /*generator*/, Tensor& out) {
  ET_TRY(check_deviation(call, std));
  return generate(call, out, [=](RandomSequence& s, int64_t /*i*/) { return std::exp(mean + std * s.normal()); });
}

// ---- other continuous distributions

Status exponential(Call& call, const Tensor& /*self*/, double lambd, Value& /*generator*/, Tensor& out) {
  if (!(lambd > 0)) {
    return call.fail(Status::InvalidArgument, "lambd is {}, expected more than 0", lambd);
  }
  return generate(call, out,
                  [lambd](RandomSequence& s, int64_t /*i*/) { return -std::log(s.uniform_above_zero()) / lambd; });
}
Status cauchy(Call& call, const Tensor& /*self*/, double median, double sigma, Value& /*generator*/, Tensor& out) {
  if (!(sigma > 0)) {
    return call.fail(Status::InvalidArgument, "sigma is {}, expected more than 0", sigma);
  }
  constexpr double kPi = 3.14159265358979323846;
  return generate(call, out, [=](RandomSequence& s, int64_t /*i*/) {
    return median + sigma * std::tan(kPi * (s.uniform() - 0.5));
  });
}

// Marsaglia and Tsang's method: the cube of a normal number, rejected to the gamma distribution.
double sample_gamma(RandomSequence& s, double alpha) {
  double boost = 1;
  if (alpha < 1) {
    boost = std::pow(s.uniform_above_zero(), 1 / alpha);
    alpha += 1;
  }
  const double d = alpha - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = s.normal();
    const double root = 1 + c * x;
    if (root <= 0) {
      continue;
    }
    const double v = root * root * root;
    if (std::log(s.uniform_above_zero()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return boost * d * v;
    }
  }
}
double gamma_or_nan(RandomSequence& s, double alpha) {
  return alpha > 0 && std::isfinite(alpha) ? sample_gamma(s, alpha) : std::numeric_limits<double>::quiet_NaN();
}
Status standard_gamma(Call& call, const Tensor& self, Value& /*generator*/, Tensor& out) {
  ET_ASSIGN(const double* alpha, doubles_of(call, self, out));
  return generate(call, out, [alpha](RandomSequence& s, int64_t i) { return gamma_or_nan(s, alpha[i]); });
}
// Gamma samples divided by their sum over the last dimension.
Status sample_dirichlet(Call& call, const Tensor& self, Value& /*generator*/, Tensor& out) {
  if (self.rank() == 0) {
    return call.fail(Status::InvalidArgument, "self has no dimension");
  }
  const int64_t n = self.size(self.rank() - 1);
  double* samples = call.scratch<double>(self.numel());
  Tensor alpha = Tensor::view(samples, DType::Float64, self.sizes());
  ET_TRY(map<kFloats>(
      call, DType::Float64, alpha, [](auto x) { return x; }, self));
  ET_TRY(generate(call, alpha, [samples](RandomSequence& s, int64_t i) { return gamma_or_nan(s, samples[i]); }));
  for (int64_t row = 0; n > 0 && row < self.numel() / n; ++row) {
    const double sum = std::accumulate(samples + row * n, samples + (row + 1) * n, 0.0);
    std::for_each(samples + row * n, samples + (row + 1) * n, [sum](double& x) { x /= sum; });
  }
  return map<kFloats>(
      call, DType::Float64, out, [](auto x) { return x; }, alpha);
}

// ---- whole numbers

Status integers(Call& call, int64_t low, int64_t high, Tensor& out) {
  if (low >= high) {
    return call.fail(Status::InvalidArgument, "low is {} and high is {}, expected low < high", low, high);
  }
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  return generate(call, out, [=](RandomSequence& s, int64_t /*i*/) {
    return static_cast<int64_t>(static_cast<uint64_t>(low) + s.next64() % range);
  });
}
template <size_t kHigh, size_t kOut>
Status randint(Call& call) {
  ET_ASSIGN(const int64_t high, argument<int64_t>(call, kHigh));
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  return integers(call, 0, high, *out);
}
template <size_t kLow, size_t kOut>
Status randint_from(Call& call) {
  ET_ASSIGN(const int64_t low, argument<int64_t>(call, kLow));
  ET_ASSIGN(const int64_t high, argument<int64_t>(call, kLow + 1));
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  return integers(call, low, high, *out);
}
template <size_t kHigh, size_t kOut>
Status randint_to_tensor(Call& call) {
  ET_ASSIGN(const Tensor* high, argument<const Tensor&>(call, kHigh));
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  if (!(is_int(high->dtype) && high->numel() == 1 && high->data != nullptr)) {
    return call.fail(Status::InvalidArgument, "high is {}, expected one whole number", tensor_text(*high));
  }
  return integers(call, 0, load_one<int64_t>(high->dtype, high->data), *out);
}

// The largest whole number that random() gives for a dtype.
int64_t largest_of(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return 1;
    case DType::Float16:
      return int64_t{1} << 11;
    case DType::BFloat16:
      return int64_t{1} << 8;
    case DType::Float32:
      return int64_t{1} << 24;
    case DType::Float64:
      return int64_t{1} << 53;
    default:
      break;
  }
  const int bits = static_cast<int>(dtype_size(dtype)) * 8 - (is_unsigned(dtype) ? 0 : 1);
  return bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
}
Status random_up_to(Call& call, int64_t from, int64_t largest, Tensor& out) {
  // The end of the range is a part of it, which `largest` + 1 might not hold.
  const uint64_t range = static_cast<uint64_t>(largest) - static_cast<uint64_t>(from) + 1;
  return generate(call, out, [=](RandomSequence& s, int64_t /*i*/) {
    const uint64_t number = s.next64();
    return static_cast<int64_t>(static_cast<uint64_t>(from) + (range == 0 ? number : number % range));
  });
}
Status random(Call& call, const Tensor& /*self*/, Value& /*generator*/, Tensor& out) {
  return random_up_to(call, 0, largest_of(out.dtype), out);
}
Status random_to(Call& call, const Tensor& /*self*/, int64_t to, Value& /*generator*/, Tensor& out) {
  return integers(call, 0, to, out);
}
Status random_from(Call& call, const Tensor& /*self*/, int64_t from, std::optional<int64_t> to, Value& /*generator*/,
                   Tensor& out) {
  return to ? integers(call, from, *to, out) : random_up_to(call, from, largest_of(out.dtype), out);
}

template <size_t kOut>
Status randperm_shape(Call& call) {
  ET_ASSIGN(const int64_t n, argument<int64_t>(call, 0));
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  return call.resize(*out, std::span<const int64_t>(&n, 1));
}
template <size_t kOut>
Status randperm(Call& call) {
  ET_ASSIGN(Tensor * out, argument<Tensor&>(call, kOut));
  ET_TRY(check_memory(call, *out));
  const int64_t n = out->numel();
  int64_t* order = call.scratch<int64_t>(n);
  std::iota(order, order + n, int64_t{0});
  RandomSequence sequence = RandomDraw().sequence(0);
  for (int64_t i = n - 1; i > 0; --i) {
    std::swap(order[i], order[sequence.next64() % static_cast<uint64_t>(i + 1)]);
  }
  return convert_run(DType::Int64, order, 1, out->dtype, out->data, 1, n) ? Status::Ok
                                                                          : detail::unsupported(call, out->dtype);
}

// ---- yes or no

Status bernoulli(Call& call, const Tensor& self, Value& /*generator*/, Tensor& out) {
  ET_ASSIGN(const double* p, doubles_of(call, self, out));
  return generate(call, out, [p](RandomSequence& s, int64_t i) { return int64_t{s.uniform() < p[i]}; });
}
Status bernoulli_tensor(Call& call, const Tensor& /*self*/, const Tensor& p, Value& generator, Tensor& out) {
  return bernoulli(call, p, generator, out);
}
Status bernoulli_number(Call& call, const Tensor& /*self*/, double p, Value& /*generator*/, Tensor& out) {
  if (!(p >= 0 && p <= 1)) {
    return call.fail(Status::InvalidArgument, "p is {}, expected a number between 0 and 1", p);
  }
  return generate(call, out, [p](RandomSequence& s, int64_t /*i*/) { return int64_t{s.uniform() < p}; });
}

Status dropout_shape(Call& call, const Tensor& input, double /*p*/, std::optional<bool> /*train*/, Tensor& out0,
                     Tensor& out1) {
  ET_TRY(call.resize(out0, input.sizes()));
  return call.resize(out1, input.sizes());
}
Status native_dropout(Call& call, const Tensor& input, double p, std::optional<bool> train, Tensor& out0,
                      Tensor& out1) {
  if (!(p >= 0 && p <= 1)) {
    return call.fail(Status::InvalidArgument, "p is {}, expected a number between 0 and 1", p);
  }
  const bool drops = train.value_or(true) && p > 0;
  const double scale = !drops ? 1 : p == 1 ? 0 : 1 / (1 - p);
  Tensor kept = Tensor::view(call.scratch<uint8_t>(input.numel()), DType::Bool, input.sizes(), input.dim_order());
  ET_TRY(generate(call, kept, [=](RandomSequence& s, int64_t /*i*/) { return int64_t{!drops || s.uniform() >= p}; }));
  ET_TRY((map<kFloats | kComplexes>(
      call, input.dtype, out0,
      [scale](auto x, auto k) {
        return k != decltype(k)(0) ? x * static_cast<RealOf<decltype(x)>>(scale) : decltype(x)(0);
      },
      input, kept)));
  return map<kInts>(
      call, DType::Bool, out1, [](auto k) { return k; }, kept);
}

// max(0, x) + slope * min(0, x), with a random slope for each negative element when training.
Status rrelu(Call& call, const Tensor& self, Tensor& noise, Scalar lower, Scalar upper, bool training,
             Value& /*generator*/, Tensor& out) {
  const double low = lower.as_double();
  const double high = upper.as_double();
  if (!(low <= high) || !std::isfinite(high - low)) {
    return call.fail(Status::InvalidArgument, "lower is {} and upper is {}, expected a finite range", low, high);
  }
  if (!training) {
    return map<kFloats>(
        call, self.dtype, out,
        [slope = (low + high) / 2](auto x) { return x < 0 ? x * static_cast<decltype(x)>(slope) : x; }, self);
  }
  Tensor slopes = doubles_like(call, self);
  ET_TRY(generate(call, slopes, [=](RandomSequence& s, int64_t /*i*/) { return low + (high - low) * s.uniform(); }));
  ET_TRY(map<kFloats>(
      call, self.dtype, noise, [](auto x, auto slope) { return x <= 0 ? slope : decltype(x)(1); }, self, slopes));
  return map<kFloats>(
      call, self.dtype, out, [](auto x, auto slope) { return x <= 0 ? x * slope : x; }, self, slopes);
}

// ---- counts

Status geometric(Call& call, const Tensor& /*self*/, double p, Value& /*generator*/, Tensor& out) {
  if (!(p > 0 && p < 1)) {
    return call.fail(Status::InvalidArgument, "p is {}, expected a number between 0 and 1", p);
  }
  return generate(call, out, [p](RandomSequence& s, int64_t /*i*/) {
    return std::max(1.0, std::ceil(std::log(s.uniform_above_zero()) / std::log1p(-p)));
  });
}

// log(k!).
double log_factorial(double k) { return lgamma(k + 1); }

// The number of events of a Poisson process in a time with `rate` of them on average.
double sample_poisson(RandomSequence& s, double rate) {
  if (!(rate >= 0) || !std::isfinite(rate)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (rate < 10) {
    // Knuth's: waiting times multiply up to exp(-rate).
    const double limit = std::exp(-rate);
    double count = 0;
    for (double product = s.uniform_above_zero(); product > limit; product *= s.uniform_above_zero()) {
      ++count;
    }
    return count;
  }
  // Hörmann's transformed rejection (PTRS, 1993).
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double quick = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = s.uniform() - 0.5;
    const double v = s.uniform_above_zero();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= quick) {
      return k;
    }
    if (k < 0 || (us < 0.013 && v > us)) {
      continue;
    }
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= k * std::log(rate) - rate - log_factorial(k)) {
      return k;
    }
  }
}

// The number of successes among n tries of probability p.
double sample_binomial(RandomSequence& s, double n, double p) {
  if (!(n >= 0 && std::isfinite(n) && p >= 0 && p <= 1)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  n = std::floor(n);
  if (p > 0.5) {
    return n - sample_binomial(s, n, 1 - p);
  }
  if (n == 0 || p == 0) {
    return 0;
  }
  if (n * p < 10) {
    // The tries from one success to the next follow the geometric distribution.
    const double log_failure = std::log1p(-p);
    double count = 0;
    for (double tries = 0;; ++count) {
      tries += std::max(1.0, std::ceil(std::log(s.uniform_above_zero()) / log_failure));
      if (tries > n) {
        return count;
      }
    }
  }
  // Hörmann's transformed rejection (BTRS, 1993).
  const double deviation = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double quick = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((n + 1) * p);
  const double log_at_mode = log_factorial(mode) + log_factorial(n - mode);
  const double log_odds = std::log(p / (1 - p));
  for (;;) {
    const double u = s.uniform() - 0.5;
    const double v = s.uniform_above_zero();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + n * p + 0.5);
    if (us >= 0.07 && v <= quick) {
      return k;
    }
    if (k < 0 || k > n) {
      continue;
    }
    const double log_ratio =
        log_at_mode - log_factorial(k) - log_factorial(n - k) + (k - mode) * log_odds;  // to the mode's probability
    if (std::log(v * alpha / (a / (us * us) + b)) <= log_ratio) {
      return k;
    }
  }
}

Status poisson(Call& call, const Tensor& self, Value& /*generator*/, Tensor& out) {
  ET_ASSIGN(const double* rates, doubles_of(call, self, out));
  return generate(call, out, [rates](RandomSequence& s, int64_t i) { return sample_poisson(s, rates[i]); });
}
Status binomial(Call& call, const Tensor& count, const Tensor& prob, Value& /*generator*/, Tensor& out) {
  ET_ASSIGN(const double* counts, doubles_of(call, count, out));
  ET_ASSIGN(const double* probabilities, doubles_of(call, prob, out));
  return generate(call, out,
                  [=](RandomSequence& s, int64_t i) { return sample_binomial(s, counts[i], probabilities[i]); });
}

// ---- choice by weight: rows of weights, num_samples indices a row

Status multinomial_shape(Call& call, const Tensor& self, int64_t num_samples, bool /*replacement*/,
                         Value& /*generator*/, Tensor& out) {
  if (self.rank() != 1 && self.rank() != 2) {
    return call.fail(Status::InvalidArgument, "self has rank {}, expected 1 or 2", self.rank());
  }
  Dims sizes(self.sizes());
  sizes[self.rank() - 1] = num_samples;
  return call.resize(out, sizes);
}

// With replacement: the place of a uniform number among the sums of the weights so far.
void choose_with_replacement(RandomSequence& s, std::span<const double> sums, std::span<int64_t> chosen) {
  for (int64_t& index : chosen) {
    const double at = s.uniform() * sums.back();
    index = std::upper_bound(sums.begin(), sums.end() - 1, at) - sums.begin();
  }
}
// Without: the weights divided by exponential numbers, of which the largest come first.
void choose_without_replacement(RandomSequence& s, std::span<double> weights, std::span<int64_t> order,
                                std::span<int64_t> chosen) {
  for (double& w : weights) {
    w = w / -std::log(s.uniform_above_zero() * (1 - 1e-16));
  }
  std::iota(order.begin(), order.end(), int64_t{0});
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(chosen.size()), order.end(),
      [&](int64_t a, int64_t b) { return weights[static_cast<size_t>(a)] > weights[static_cast<size_t>(b)]; });
  std::copy_n(order.begin(), chosen.size(), chosen.begin());
}

Status multinomial(Call& call, const Tensor& self, int64_t num_samples, bool replacement, Value& /*generator*/,
                   Tensor& out) {
  if (self.rank() != 1 && self.rank() != 2) {
    return call.fail(Status::InvalidArgument, "self has rank {}, expected 1 or 2", self.rank());
  }
  const int64_t n = self.size(self.rank() - 1);
  const int64_t rows = self.rank() == 2 ? self.size(0) : 1;
  if (num_samples < 1 || n < 1 || (!replacement && num_samples > n)) {
    return call.fail(Status::InvalidArgument, "num_samples is {}, expected at least 1{} of {} weights", num_samples,
                     replacement ? "" : " and no more than the number", n);
  }
  const std::array<int64_t, 2> sizes{rows, num_samples};
  // Checked first: their product fits once `out` has memory for it.
  ET_TRY(check_sizes(call, out, IntList(sizes).last(static_cast<size_t>(self.rank()))));
  double* weights = call.scratch<double>(self.numel());
  Tensor row_major = Tensor::view(weights, DType::Float64, self.sizes());
  ET_TRY(map<kFloats>(
      call, DType::Float64, row_major, [](auto x) { return x; }, self));
  int64_t* indices = call.scratch<int64_t>(rows * num_samples);
  int64_t* order = call.scratch<int64_t>(n);
  const RandomDraw draw;
  for (int64_t row = 0; row < rows; ++row) {
    const std::span<double> w(weights + row * n, static_cast<size_t>(n));
    const std::span<int64_t> chosen(indices + row * num_samples, static_cast<size_t>(num_samples));
    if (!std::all_of(w.begin(), w.end(), [](double x) { return x >= 0 && std::isfinite(x); })) {
      return call.fail(Status::InvalidArgument, "self holds a weight that is negative or not finite");
    }
    RandomSequence sequence = draw.sequence(static_cast<uint64_t>(row));
    if (replacement) {
      std::partial_sum(w.begin(), w.end(), w.begin());
      if (w.back() <= 0) {
        return call.fail(Status::InvalidArgument, "self has a row of zero weights");
      }
      choose_with_replacement(sequence, w, chosen);
    } else {
      if (std::count_if(w.begin(), w.end(), [](double x) { return x > 0; }) < num_samples) {
        return call.fail(Status::InvalidArgument, "self has a row with fewer weights above zero than num_samples, {}",
                         num_samples);
      }
      choose_without_replacement(sequence, w, {order, static_cast<size_t>(n)}, chosen);
    }
  }
  const Tensor chosen = Tensor::view(indices, DType::Int64, out.sizes());
  return map<kInts>(
      call, DType::Int64, out, [](auto x) { return x; }, chosen);
}

constexpr uint32_t kFacts = kRandom | kAnyLayout;

Op drawn(std::string_view name, std::string_view schema, Invoke shape, Invoke kernel) {
  return {name, schema, shape, kernel, kFacts};
}
// Operators that take only the sizes of self and numbers.
template <auto kKernel, size_t kOut>
Op like_self(std::string_view name, std::string_view schema) {
  return {name, schema, shape_like<0, kOut>, bind<kKernel>, kFacts};
}

}  // namespace

Table random_ops() {
  static const Op kOps[] = {
      drawn("aten::rand.out", "(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", listed_shape<0, 1>, rand<1>),
      drawn("aten::rand.generator_out", "(SymInt[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)",
            listed_shape<0, 2>, rand<2>),
      drawn("aten::rand_like.out", "(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
            shape_like<0, 2>, rand<2>),
      drawn("aten::rand_like.generator_out",
            "(Tensor self, *, Generator? generator, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
            shape_like<0, 3>, rand<3>),
      drawn("aten::randn.out", "(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", listed_shape<0, 1>, randn<1>),
      drawn("aten::randn.generator_out", "(SymInt[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)",
            listed_shape<0, 2>, randn<2>),
      drawn("aten::randn_like.out", "(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
            shape_like<0, 2>, randn<2>),
      drawn("aten::randn_like.generator_out",
            "(Tensor self, *, Generator? generator, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
            shape_like<0, 3>, randn<3>),

      like_self<uniform, 4>("aten::uniform.out",
                            "(Tensor self, float from=0., float to=1., *, Generator? generator=None, Tensor(a!) out) "
                            "-> Tensor(a!)"),
      like_self<normal, 4>("aten::normal.out",
                           "(Tensor self, float mean=0., float std=1., *, Generator? generator=None, Tensor(a!) out) "
                           "-> Tensor(a!)"),
      drawn("aten::normal.float_float_out",
            "(float mean, float std, SymInt[] size, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
            listed_shape<2, 4>, bind<normal_sized>),
      drawn("aten::normal.Tensor_float_out",
            "(Tensor mean, float std=1., *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
            broadcast_shape<3>, bind<normal_of_mean>),
      drawn("aten::normal.float_Tensor_out",
            "(float mean, Tensor std, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<3>,
            bind<normal_of_std>),
      drawn("aten::normal.Tensor_Tensor_out",
            "(Tensor mean, Tensor std, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)", broadcast_shape<3>,
            bind<normal_of_both>),
      like_self<log_normal, 4>("aten::log_normal.out",
                               "(Tensor self, float mean=1., float std=2., *, Generator? generator=None, "
                               "Tensor(a!) out) -> Tensor(a!)"),
      like_self<exponential, 3>("aten::exponential.out",
                                "(Tensor self, float lambd=1., *, Generator? generator=None, Tensor(a!) out) -> "
                                "Tensor(a!)"),
      like_self<cauchy, 4>("aten::cauchy.out",
                           "(Tensor self, float median=0., float sigma=1., *, Generator? generator=None, "
                           "Tensor(a!) out) -> Tensor(a!)"),
      like_self<standard_gamma, 2>("aten::_standard_gamma.out",
                                   "(Tensor self, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)"),
      like_self<sample_dirichlet, 2>("aten::_sample_dirichlet.out",
                                     "(Tensor self, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)"),

      drawn("aten::randint.out", "(SymInt high, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", listed_shape<1, 2>,
            randint<0, 2>),
      drawn("aten::randint.generator_out",
            "(SymInt high, SymInt[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)", listed_shape<1, 3>,
            randint<0, 3>),
      drawn("aten::randint.low_out", "(SymInt low, SymInt high, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
            listed_shape<2, 3>, randint_from<0, 3>),
      drawn("aten::randint.low_generator_out",
            "(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)",
            listed_shape<2, 4>, randint_from<0, 4>),
      drawn("aten::randint_like.out",
            "(Tensor self, SymInt high, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
            shape_like<0, 3>, randint<1, 3>),
      drawn("aten::randint_like.generator_out",
            "(Tensor self, SymInt high, *, Generator? generator, MemoryFormat? memory_format=None, Tensor(a!) out) -> "
            "Tensor(a!)",
            shape_like<0, 4>, randint<1, 4>),
      drawn("aten::randint_like.Tensor_out",
            "(Tensor self, Tensor high, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
            shape_like<0, 3>, randint_to_tensor<1, 3>),
      drawn("aten::randint_like.Tensor_generator_out",
            "(Tensor self, Tensor high, *, Generator? generator, MemoryFormat? memory_format=None, Tensor(a!) out) -> "
            "Tensor(a!)",
            shape_like<0, 4>, randint_to_tensor<1, 4>),
      drawn("aten::randint_like.low_dtype_out",
            "(Tensor self, SymInt low, SymInt high, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> "
            "Tensor(a!)",
            shape_like<0, 4>, randint_from<1, 4>),
      drawn("aten::randint_like.low_generator_dtype_out",
            "(Tensor self, SymInt low, SymInt high, *, Generator? generator, MemoryFormat? memory_format=None, "
            "Tensor(a!) out) -> Tensor(a!)",
            shape_like<0, 5>, randint_from<1, 5>),
      like_self<random, 2>("aten::random.out",
                           "(Tensor self, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)"),
      like_self<random_to, 3>("aten::random.to_out",
                              "(Tensor self, int to, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)"),
      like_self<random_from, 4>("aten::random.from_out",
                                "(Tensor self, int from, int? to, *, Generator? generator=None, Tensor(a!) out) -> "
                                "Tensor(a!)"),
      drawn("aten::randperm.out", "(SymInt n, *, Tensor(a!) out) -> Tensor(a!)", randperm_shape<1>, randperm<1>),
      drawn("aten::randperm.generator_out", "(SymInt n, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)",
            randperm_shape<2>, randperm<2>),

      like_self<bernoulli, 2>("aten::bernoulli.out",
                              "(Tensor self, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)"),
      like_self<bernoulli_tensor, 3>("aten::bernoulli.Tensor_out",
                                     "(Tensor self, Tensor p, *, Generator? generator=None, Tensor(a!) out) -> "
                                     "Tensor(a!)"),
      like_self<bernoulli_number, 3>("aten::bernoulli.float_out",
                                     "(Tensor self, float p=0.5, *, Generator? generator=None, Tensor(a!) out) -> "
                                     "Tensor(a!)"),
      drawn("aten::native_dropout.out",
            "(Tensor input, float p, bool? train, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
            bind<dropout_shape>, bind<native_dropout>),
      like_self<rrelu, 6>("aten::rrelu_with_noise.out",
                          "(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, "
                          "bool training=False, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)"),

      like_self<geometric, 3>("aten::geometric.out",
                              "(Tensor self, float p, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)"),
      like_self<poisson, 2>("aten::poisson.out",
                            "(Tensor self, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)"),
      drawn("aten::binomial.out",
            "(Tensor count, Tensor prob, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)",
            broadcast_shape<3>, bind<binomial>),
      drawn("aten::multinomial.out",
            "(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None, Tensor(a!) out) "
            "-> Tensor(a!)",
            bind<multinomial_shape>, bind<multinomial>),
  };
  return kOps;
}

}  // namespace etrt::ops
