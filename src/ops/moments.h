// Mean and variance as a fold (see reduce.h).
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "ops/element_io.h"

namespace etrt::ops {

// Mean and sum of squared distances from it, updated as elements come (Welford) and merged (Chan): no
// cancellation, one pass. A complex variance is that of the real plus that of the imaginary part.
template <class C>
struct MomentsFold {
  using In = C;
  using Wide = std::conditional_t<kIsComplexType<C>, std::complex<double>, double>;
  struct Acc {
    Wide mean;
    double m2;
    double count;
  };
  Acc start() const { return {Wide{}, 0, 0}; }

  void run(Acc& acc, const In* x, int64_t n, int64_t /*at*/) const {
    // The run is in the cache: its own mean first, then the distances.
    const auto count = static_cast<double>(n);
    const Wide mean = sum<Wide>(n, [x](int64_t i) { return static_cast<Wide>(x[i]); }) / count;
    const Acc part{mean, sum<double>(n, [x, mean](int64_t i) { return squared(static_cast<Wide>(x[i]) - mean); }),
                   count};
    merge(acc, part);
  }
  void lanes(Acc* accs, const In* x, int64_t n, int64_t at) const {
    const double factor = 1.0 / static_cast<double>(at + 1);
    for (int64_t j = 0; j < n; ++j) {
      Acc& acc = accs[j];
      const Wide before = static_cast<Wide>(x[j]) - acc.mean;
      acc.mean += before * factor;
      acc.m2 += distances(before, static_cast<Wide>(x[j]) - acc.mean);
      acc.count += 1;
    }
  }
  void merge(Acc& acc, const Acc& part) const {
    const double count = acc.count + part.count;
    const Wide apart = part.mean - acc.mean;
    acc.mean += apart * (part.count / count);
    acc.m2 += part.m2 + squared(apart) * (acc.count * part.count / count);
    acc.count = count;
  }

 private:
  // The sum of n terms in independent parts, which a processor can add at the same time.
  template <class T, class Term>
  static T sum(int64_t n, const Term& term) {
    constexpr int64_t kParts = 8;
    T parts[kParts] = {};
    const int64_t whole = n - n % kParts;
    for (int64_t i = 0; i < whole; i += kParts) {
      for (int64_t k = 0; k < kParts; ++k) {
        parts[k] += term(i + k);
      }
    }
    for (int64_t i = whole; i < n; ++i) {
      parts[0] += term(i);
    }
    T total{};
    for (const T& part : parts) {
      total += part;
    }
    return total;
  }
  static double squared(Wide d) { return distances(d, d); }
  static double distances(Wide a, Wide b) {
    if constexpr (kIsComplexType<C>) {
      return a.real() * b.real() + a.imag() * b.imag();
    } else {
      return a * b;
    }
  }
};

}  // namespace etrt::ops
