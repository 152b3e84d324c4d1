// Typed access to elements of any dtype for kernels that compute in a few types.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/convert.h"
#include "core/tensor.h"
#include "ops/op.h"

namespace etrt::ops {

template <class T>
struct ComplexPart {
  using Real = T;
  static constexpr bool kComplex = false;
};
template <class T>
struct ComplexPart<std::complex<T>> {
  using Real = T;
  static constexpr bool kComplex = true;
};
template <class T>
using RealOf = typename ComplexPart<T>::Real;
template <class T>
inline constexpr bool kIsComplexType = ComplexPart<T>::kComplex;

// The dtype that stores C as it is; for uint8_t (a truth value) bool.
template <class C>
inline constexpr DType kNativeDType = DType::Bool;
template <>
inline constexpr DType kNativeDType<float> = DType::Float32;
template <>
inline constexpr DType kNativeDType<double> = DType::Float64;
template <>
inline constexpr DType kNativeDType<int64_t> = DType::Int64;
template <>
inline constexpr DType kNativeDType<std::complex<float>> = DType::Complex64;
template <>
inline constexpr DType kNativeDType<std::complex<double>> = DType::Complex128;

// Calls body.operator()<C>() with the type in which a real dtype is computed: float, double or int64_t.
template <class Body>
auto with_real_type(DType dtype, Body body) {
  if (dtype == DType::Float64) {
    return body.template operator()<double>();
  }
  if (is_float(dtype)) {
    return body.template operator()<float>();
  }
  return body.template operator()<int64_t>();
}
// The same for floating dtypes.
template <class Body>
auto with_float_type(DType dtype, Body body) {
  return dtype == DType::Float64 ? body.template operator()<double>() : body.template operator()<float>();
}
// The same for complex dtypes too.
template <class Body>
auto with_number_type(DType dtype, Body body) {
  if (dtype == DType::Complex128) {
    return body.template operator()<std::complex<double>>();
  }
  if (is_complex(dtype)) {
    return body.template operator()<std::complex<float>>();
  }
  return with_real_type(dtype, body);
}

// Reads runs of elements as C. With uint8_t, each element becomes zero or not zero.
template <class C>
class Reader {
 public:
  static constexpr int64_t kRun = 256;  // the most elements of one run

  Reader() = default;
  // Elements stored as `stored` are first converted to `as`, then read.
  Reader(DType stored, DType as) : stored_(stored), as_(as), element_size_(static_cast<int64_t>(dtype_size(stored))) {
    as_it_is_ = stored == as && (stored == kNativeDType<C> || (kTruth && stored == DType::UInt8));
    if constexpr (kTruth) {
      ok_ = convert_run(stored, nullptr, 1, as, nullptr, 1, 0);
      convert_first_ = stored != as;
    } else {
      convert_first_ = stored != as && !same_when_loaded(stored, as);
      load_ = load_run<C>(convert_first_ ? as : stored);
      ok_ = load_ != nullptr && (!convert_first_ || convert_run(stored, nullptr, 1, as, nullptr, 1, 0));
    }
  }
  explicit Reader(DType stored) : Reader(stored, kTruth && stored != DType::UInt8 ? DType::Bool : stored) {}

  // False where the dtypes have no such conversion.
  bool ok() const { return ok_; }
  int64_t element_size() const { return element_size_; }
  // `n` elements (at most kRun), `stride` apart: either where they lie or in `buffer`.
  const C* run(const std::byte* from, int64_t stride, int64_t n, C* buffer) const {
    if (as_it_is_ && stride == 1) {
      return reinterpret_cast<const C*>(from);
    }
    load(from, stride, n, buffer);
    return buffer;
  }
  // Any number of elements into `to`.
  void load(const std::byte* from, int64_t stride, int64_t n, C* to) const {
    if constexpr (kTruth) {
      // A conversion of bool to bool makes any byte 0 or 1; one of uint8 to uint8 keeps it.
      (void)convert_run(stored_, from, stride, as_, to, 1, n);
    } else if (!convert_first_) {
      load_(from, stride, n, to);
    } else {
      alignas(16) std::byte converted[kRun * 16];
      for (int64_t i = 0; i < n; i += kRun) {
        const int64_t count = std::min(kRun, n - i);
        (void)convert_run(stored_, from + i * stride * element_size_, stride, as_, converted, 1, count);
        load_(converted, 1, count, to + i);
      }
    }
  }
  C one(const std::byte* from) const {
    C value{};
    load(from, 1, 1, &value);
    return value;
  }

 private:
  static constexpr bool kTruth = std::is_same_v<C, uint8_t>;

  // Does loading `stored` as C give the same as converting it to `as` first?
  static bool same_when_loaded(DType stored, DType as) {
    if (as != kNativeDType<C>) {
      return false;
    }
    // The rules of conversion from a real or complex number to C are those of load_run, except that load_run does
    // not take complex numbers for a real C, and integers become float by way of themselves in both.
    return !is_complex(stored) || kIsComplexType<C>;
  }

  LoadRun<C> load_ = nullptr;
  DType stored_ = DType::Float32;
  DType as_ = DType::Float32;
  int64_t element_size_ = 4;
  bool convert_first_ = false;
  bool as_it_is_ = false;
  bool ok_ = false;
};

// Writes single elements and runs of one tensor from C.
template <class C>
class Writer {
 public:
  explicit Writer(const Tensor& tensor)
      : store_(store_run<C>(tensor.dtype)),
        data_(tensor.bytes()),
        element_size_(static_cast<int64_t>(tensor.element_size())) {}

  bool ok() const { return store_ != nullptr; }
  void put(int64_t offset, C value) const { store_(&value, data_ + offset * element_size_, 1, 1); }
  void run(int64_t offset, int64_t stride, int64_t n, const C* values) const {
    store_(values, data_ + offset * element_size_, stride, n);
  }

 private:
  StoreRun<C> store_;
  std::byte* data_;
  int64_t element_size_;
};

// The refusal of a dtype that an operator doesn't take.
inline Status refuse_dtype(const Call& call, const Tensor& tensor) {
  return call.fail(Status::InvalidArgument, "{} has dtype {}, which this operator does not take", call.arg_name(tensor),
                   dtype_name(tensor.dtype));
}

}  // namespace etrt::ops
