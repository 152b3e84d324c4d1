#include "core/dtype.h"

#include <algorithm>
#include <array>

namespace etrt {
namespace {

constexpr std::array<const char*, kDTypeCount> kNames = {
    "uint8",           "int8",
    "int16",           "int32",
    "int64",           "float16",
    "float32",         "float64",
    "complex32",       "complex64",
    "complex128",      "bool",
    "qint8",           "quint8",
    "qint32",          "bfloat16",
    "quint4x2",        "quint2x4",
    "bits1x8",         "bits2x4",
    "bits4x2",         "bits8",
    "bits16",          "float8_e5m2",
    "float8_e4m3fn",   "float8_e5m2fnuz",
    "float8_e4m3fnuz", "uint16",
    "uint32",          "uint64",
};

// Real types from the bottom of the lattice up; complex types sit above the float of their width.
int int_rank(DType d) {
  switch (d) {
    case DType::Int8:
      return 1;
    case DType::Int16:
      return 2;
    case DType::Int32:
      return 3;
    default:
      return 4;
  }
}

bool promotable(DType d) { return is_real(d) || is_complex(d); }

DType promote_floats(DType a, DType b) {
  if (a == b) {
    return a;
  }
  if (a == DType::Float64 || b == DType::Float64) {
    return DType::Float64;
  }
  return DType::Float32;  // float32 with a half type, or the two half types together
}

DType complex_of(DType real) {
  switch (real) {
    case DType::Float64:
      return DType::Complex128;
    case DType::Float16:
      return DType::Complex32;
    default:
      return DType::Complex64;
  }
}

DType real_of(DType complex) {
  switch (complex) {
    case DType::Complex32:
      return DType::Float16;
    case DType::Complex128:
      return DType::Float64;
    default:
      return DType::Float32;
  }
}

}  // namespace

const char* dtype_name(DType dtype) { return kNames[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

bool is_float(DType d) {
  return d == DType::Float16 || d == DType::Float32 || d == DType::Float64 || d == DType::BFloat16 ||
         (d >= DType::Float8E5M2 && d <= DType::Float8E4M3FNUZ);
}
bool is_complex(DType d) { return d >= DType::Complex32 && d <= DType::Complex128; }
bool is_int(DType d) { return (d >= DType::UInt8 && d <= DType::Int64) || d >= DType::UInt16; }
bool is_unsigned(DType d) { return d == DType::UInt8 || d >= DType::UInt16; }
bool is_real(DType d) {
  return is_int(d) || is_bool(d) || (is_float(d) && !(d >= DType::Float8E5M2 && d <= DType::Float8E4M3FNUZ));
}

std::optional<DType> promote(DType a, DType b) {
  if (a == b) {
    return a;
  }
  if (!promotable(a) || !promotable(b)) {
    return std::nullopt;
  }
  if (is_complex(a) || is_complex(b)) {
    const auto real_side = [](DType d) { return is_complex(d) ? real_of(d) : d; };
    const DType ra = real_side(a);
    const DType rb = real_side(b);
    if (is_complex(a) && !is_float(rb)) {
      return a;
    }
    if (is_complex(b) && !is_float(ra)) {
      return b;
    }
    // bfloat16 has no complex of its own: complex32 with bfloat16 is complex64.
    return complex_of(promote_floats(ra, rb));
  }
  if (is_float(a) || is_float(b)) {
    if (!is_float(a)) {
      return b;
    }
    return is_float(b) ? promote_floats(a, b) : a;
  }
  if (is_bool(a)) {
    return b;
  }
  if (is_bool(b)) {
    return a;
  }
  // Two integers. uint8 fits every wider signed type; the wider unsigned ones have no common type in eager.
  if (is_unsigned(a) && is_unsigned(b)) {
    return dtype_size(a) >= dtype_size(b) ? a : b;
  }
  if (is_unsigned(a) || is_unsigned(b)) {
    const DType u = is_unsigned(a) ? a : b;
    const DType s = is_unsigned(a) ? b : a;
    if (u != DType::UInt8) {
      return dtype_size(s) > dtype_size(u) ? std::optional(s) : std::nullopt;
    }
    return s == DType::Int8 ? DType::Int16 : s;
  }
  return int_rank(a) > int_rank(b) ? a : b;
}

DType promote_with_scalar(DType tensor, ScalarKind scalar) {
  switch (scalar) {
    case ScalarKind::Bool:
      return tensor;
    case ScalarKind::Int:
      return is_bool(tensor) ? DType::Int64 : tensor;
    case ScalarKind::Float:
      return is_float(tensor) || is_complex(tensor) ? tensor : DType::Float32;
  }
  return tensor;
}

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) {
    return false;
  }
  if (is_float(from) && (is_int(to) || is_bool(to))) {
    return false;
  }
  return is_bool(from) || !is_bool(to);
}

}  // namespace etrt
