// The 30 dtypes of a program, their names, sizes and promotion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace etrt {

// Numbers as in the file format.
enum class DType : int8_t {
  UInt8 = 0,
  Int8 = 1,
  Int16 = 2,
  Int32 = 3,
  Int64 = 4,
  Float16 = 5,
  Float32 = 6,
  Float64 = 7,
  Complex32 = 8,
  Complex64 = 9,
  Complex128 = 10,
  Bool = 11,
  QInt8 = 12,
  QUInt8 = 13,
  QInt32 = 14,
  BFloat16 = 15,
  QUInt4x2 = 16,
  QUInt2x4 = 17,
  Bits1x8 = 18,
  Bits2x4 = 19,
  Bits4x2 = 20,
  Bits8 = 21,
  Bits16 = 22,
  Float8E5M2 = 23,
  Float8E4M3FN = 24,
  Float8E5M2FNUZ = 25,
  Float8E4M3FNUZ = 26,
  UInt16 = 27,
  UInt32 = 28,
  UInt64 = 29,
};
inline constexpr int kDTypeCount = 30;

inline bool dtype_valid(int64_t number) { return number >= 0 && number < kDTypeCount; }

// Bytes of one element (1 for the packed ones).
constexpr size_t dtype_size(DType dtype) {
  constexpr uint8_t kSizes[kDTypeCount] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4,
                                           2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1,  1, 2, 4, 8};
  return kSizes[static_cast<size_t>(dtype)];
}
// PyTorch's name: "float32", "bfloat16", "quint4x2". Static storage.
const char* dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

bool is_float(DType dtype);  // float16 bfloat16 float32 float64 and the float8 kinds
bool is_complex(DType dtype);
bool is_int(DType dtype);  // signed and unsigned integers, not bool
bool is_unsigned(DType dtype);
inline bool is_bool(DType dtype) { return dtype == DType::Bool; }
// bool, the integers, float16 bfloat16 float32 float64: what arithmetic works on.
bool is_real(DType dtype);
inline bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

// Eager PyTorch's promotion of two tensors of equal rank class. Nothing where eager refuses.
std::optional<DType> promote(DType a, DType b);
// Eager's type of `tensor op scalar`: the scalar lifts the category only (bool < int < float < complex).
enum class ScalarKind : uint8_t { Bool, Int, Float };
DType promote_with_scalar(DType tensor, ScalarKind scalar);
// May a value of `from` be stored to `to` without losing its category (eager's can_cast)?
bool can_cast(DType from, DType to);
// The type in which eager computes a floating function of `dtype`: itself if floating, else float32.
inline DType float_type_of(DType dtype) { return is_float(dtype) || is_complex(dtype) ? dtype : DType::Float32; }

}  // namespace etrt
