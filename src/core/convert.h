// Reading and writing elements of any dtype as one of a few compute types.
//
// A generic kernel computes in C, one of float, double, int64_t (uint64_t for uint64), std::complex<float> and
// std::complex<double>, and meets the other dtypes only here: no template product over dtypes.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace etrt {

// Reads `n` elements that lie `stride` elements apart.
template <class C>
using LoadRun = void (*)(const void* source, int64_t stride, int64_t n, C* to);
// Writes `n` elements `stride` elements apart. Narrowing follows eager on x86-64: integers wrap, floats
// truncate toward zero, NaN and out-of-range floats give the lowest int32/int64 (the low bits of int32 for
// int8, int16 and uint16, of int64 for uint8 and uint32), bool is "not zero".
template <class C>
using StoreRun = void (*)(const C* from, void* target, int64_t stride, int64_t n);

// Null for dtypes without arithmetic (quantized and bits; complex unless C is complex). A complex number
// stored to a real dtype keeps its real part. uint64 read as int64_t keeps its bits.
template <class C>
LoadRun<C> load_run(DType dtype);
template <class C>
StoreRun<C> store_run(DType dtype);

// One element. `dtype` must be one that load_run has.
template <class C>
C load_one(DType dtype, const void* source) {
  C value{};
  load_run<C>(dtype)(source, 1, 1, &value);
  return value;
}
template <class C>
void store_one(DType dtype, void* target, C value) {
  store_run<C>(dtype)(&value, target, 1, 1);
}

// Copies `n` elements of `element_size` bytes (1, 2, 4, 8 or 16) as they are; strides in elements.
void copy_run(size_t element_size, const void* source, int64_t source_stride, void* target, int64_t target_stride,
              int64_t n);

// Copies `n` elements from one dtype to another with the rules above, exactly (int64 stays int64).
// False when there is no such conversion.
bool convert_run(DType from, const void* source, int64_t source_stride, DType to, void* target, int64_t target_stride,
                 int64_t n);

}  // namespace etrt
