// Tensors as arrays of a compute type: for kernels that work on whole matrices, images or signals.
//
// A kernel template over C, one of float, double, int64_t, std::complex<float> and std::complex<double>,
// reads its arguments through load_as (any layout, a copy only where the dtype differs) or load_rows
// (row-major) and writes through an OutputOf, so that no other dtype or layout concerns it.
#pragma once

#include <complex>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "core/convert.h"
#include "ops/checks.h"
#include "ops/op.h"

namespace etrt::ops {

template <class C>
inline constexpr DType kDTypeOf = DType::Bits8;
template <>
inline constexpr DType kDTypeOf<float> = DType::Float32;
template <>
inline constexpr DType kDTypeOf<double> = DType::Float64;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::Int64;
template <>
inline constexpr DType kDTypeOf<std::complex<float>> = DType::Complex64;
template <>
inline constexpr DType kDTypeOf<std::complex<double>> = DType::Complex128;

// The type that arithmetic on `dtype` happens in: float for the 16-bit floats, int64 for every integer.
DType compute_dtype(DType dtype);

// Calls `f.template operator()<C>()` for the compute type of `dtype`; NotSupported, with a message, for
// dtypes that `f` isn't meant for.
Status refuse_dtype(const Call& call, DType dtype);
Status refuse_conversion(const Call& call, const Tensor& tensor, DType compute);
template <class F>
Status visit_float(const Call& call, DType dtype, F&& f) {
  switch (compute_dtype(dtype)) {
    case DType::Float32:
      return f.template operator()<float>();
    case DType::Float64:
      return f.template operator()<double>();
    default:
      return refuse_dtype(call, dtype);
  }
}
template <class F>
Status visit_real(const Call& call, DType dtype, F&& f) {
  return compute_dtype(dtype) == DType::Int64 ? f.template operator()<int64_t>() : visit_float(call, dtype, f);
}
template <class F>
Status visit_float_or_complex(const Call& call, DType dtype, F&& f) {
  switch (compute_dtype(dtype)) {
    case DType::Complex64:
      return f.template operator()<std::complex<float>>();
    case DType::Complex128:
      return f.template operator()<std::complex<double>>();
    default:
      return visit_float(call, dtype, f);
  }
}
template <class F>
Status visit_number(const Call& call, DType dtype, F&& f) {
  return compute_dtype(dtype) == DType::Int64 ? f.template operator()<int64_t>()
                                              : visit_float_or_complex(call, dtype, f);
}

// `tensor` with its elements as C, in the same layout: itself where they are, else a copy in scratch
// memory. The dtype must convert to C (check_converts).
template <class C>
Tensor load_as(Call& call, const Tensor& tensor);
// The same, row-major.
template <class C>
const C* load_rows(Call& call, const Tensor& tensor);
// Row-major and always a copy, to work in.
template <class C>
C* copy_rows(Call& call, const Tensor& tensor);
// Elements of a row-major array into a tensor of any dtype and layout with as many elements.
template <class C>
void store_rows(const C* rows, const Tensor& out);

// NotSupported unless every tensor's dtype converts to C and back; null tensors pass.
template <class C>
Status check_converts(const Call& call, std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* t : tensors) {
    if (t != nullptr && (load_run<C>(t->dtype) == nullptr || store_run<C>(t->dtype) == nullptr)) {
      return refuse_conversion(call, *t, kDTypeOf<C>);
    }
  }
  return Status::Ok;
}

// Where a kernel writes an output as C: `tensor` has the output's sizes and layout and is the output
// itself when its dtype is C; finish() converts otherwise.
template <class C>
class OutputOf {
 public:
  OutputOf(Call& call, Tensor& out);
  const Tensor& tensor() const { return tensor_; }
  C* data() const { return tensor_.as<C>(); }
  void finish() const;

 private:
  const Tensor& out_;
  Tensor tensor_;
};

// Where a kernel writes an output as a row-major array of C.
template <class C>
class RowsOf {
 public:
  RowsOf(Call& call, Tensor& out);
  C* data() const { return data_; }
  void finish() const;

 private:
  const Tensor& out_;
  C* data_;
};

// A view of `t` with a dimension of size 1 in front when its rank is `rank` - 1: an image without a batch as a
// batch of one.
Tensor with_batch(const Tensor& t, int rank);

// The imaginary part of complex numbers turned around; other numbers are their own conjugates.
template <class C>
inline C conjugate(C x) {
  return x;
}
template <>
inline std::complex<float> conjugate(std::complex<float> x) {
  return std::conj(x);
}
template <>
inline std::complex<double> conjugate(std::complex<double> x) {
  return std::conj(x);
}

// Products and sums that wrap (int64) or skip the library's treatment of infinite complex numbers.
template <class C>
inline C times(C a, C b) {
  return a * b;
}
template <>
inline int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <>
inline std::complex<float> times(std::complex<float> a, std::complex<float> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <>
inline std::complex<double> times(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <class C>
inline C plus(C a, C b) {
  return a + b;
}
template <>
inline int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// A number argument as C. Complex numbers take the real part.
template <class C>
inline C number_as(Scalar s) {
  return static_cast<C>(s.as_double());
}
template <>
inline std::complex<float> number_as(Scalar s) {
  return {static_cast<float>(s.as_double()), 0.0F};
}
template <>
inline std::complex<double> number_as(Scalar s) {
  return {s.as_double(), 0.0};
}
template <>
inline int64_t number_as(Scalar s) {
  return s.as_int();
}

}  // namespace etrt::ops
