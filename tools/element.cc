#include "element.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace etrt::tool {
namespace {

using et::DType;

template <class T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <class T>
void store(T value, void* to) {
  std::memcpy(to, &value, sizeof(value));
}

// Calls `use` with a value of the C++ type of a numeric dtype that has one.
template <class Use>
bool with_type(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::UInt8:
      use(uint8_t{});
      return true;
    case DType::Int8:
      use(int8_t{});
      return true;
    case DType::Int16:
      use(int16_t{});
      return true;
    case DType::Int32:
      use(int32_t{});
      return true;
    case DType::Int64:
      use(int64_t{});
      return true;
    case DType::UInt16:
      use(uint16_t{});
      return true;
    case DType::UInt32:
      use(uint32_t{});
      return true;
    case DType::UInt64:
      use(uint64_t{});
      return true;
    case DType::Float32:
      use(float{});
      return true;
    case DType::Float64:
      use(double{});
      return true;
    default:
      return false;
  }
}

// A float with fewer bits: `exponent` bits of exponent, `mantissa` bits of fraction, IEEE in all else.
struct Small {
  int exponent;
  int mantissa;
};
constexpr Small kHalf{5, 10};
constexpr Small kBFloat16{8, 7};

double from_small(Small kind, uint32_t bits) {
  const int bias = (1 << (kind.exponent - 1)) - 1;
  const uint32_t fraction = bits & ((1U << kind.mantissa) - 1);
  const int exponent = static_cast<int>(bits >> kind.mantissa) & ((1 << kind.exponent) - 1);
  const double sign = (bits >> (kind.exponent + kind.mantissa)) != 0 ? -1 : 1;
  if (exponent == (1 << kind.exponent) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const uint32_t leading = exponent == 0 ? 0 : 1U << kind.mantissa;
  return sign * std::ldexp(fraction + leading, std::max(exponent, 1) - bias - kind.mantissa);
}

uint16_t to_small(Small kind, double number) {
  const int bias = (1 << (kind.exponent - 1)) - 1;
  const uint32_t infinity = ((1U << kind.exponent) - 1) << kind.mantissa;
  const uint32_t sign = std::signbit(number) ? 1U << (kind.exponent + kind.mantissa) : 0;
  if (std::isnan(number)) {
    return static_cast<uint16_t>(sign | infinity | 1U << (kind.mantissa - 1));
  }
  const double magnitude = std::abs(number);
  if (magnitude == 0 || std::isinf(magnitude)) {
    return static_cast<uint16_t>(sign | (magnitude == 0 ? 0 : infinity));
  }
  // The spacing of numbers of this size; the lowest exponent has that of the one above it.
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double steps = std::nearbyint(std::ldexp(magnitude, kind.mantissa - exponent));  // ties to even
  const auto bits = static_cast<uint64_t>(steps) + (static_cast<uint64_t>(exponent + bias - 1) << kind.mantissa);
  return static_cast<uint16_t>(sign | std::min<uint64_t>(bits, infinity));
}

template <class T>
T clamped(double number) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number);
  } else {
    if (std::isnan(number)) {
      return 0;
    }
    if (number <= static_cast<double>(std::numeric_limits<T>::min())) {
      return std::numeric_limits<T>::min();
    }
    return number >= static_cast<double>(std::numeric_limits<T>::max()) ? std::numeric_limits<T>::max()
                                                                        : static_cast<T>(number);
  }
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", number);
  return text;
}

}  // namespace

bool is_integer(DType dtype) {
  return with_type(dtype, [](auto) {}) && dtype != DType::Float32 && dtype != DType::Float64;
}

bool is_number(DType dtype) {
  return with_type(dtype, [](auto) {}) || dtype == DType::Bool || dtype == DType::Float16 || dtype == DType::BFloat16;
}

double read_number(DType dtype, const void* from) {
  double number = 0;
  if (with_type(dtype, [&](auto type) { number = static_cast<double>(load<decltype(type)>(from)); })) {
    return number;
  }
  switch (dtype) {
    case DType::Bool:
      return load<uint8_t>(from) != 0 ? 1 : 0;
    case DType::Float16:
      return from_small(kHalf, load<uint16_t>(from));
    case DType::BFloat16:
      return from_small(kBFloat16, load<uint16_t>(from));
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

void write_number(DType dtype, double number, void* to) {
  if (with_type(dtype, [&](auto type) { store(clamped<decltype(type)>(number), to); })) {
    return;
  }
  switch (dtype) {
    case DType::Bool:
      store<uint8_t>(number != 0 ? 1 : 0, to);
      break;
    case DType::Float16:
      store(to_small(kHalf, number), to);
      break;
    case DType::BFloat16:
      store(to_small(kBFloat16, number), to);
      break;
    default:
      break;
  }
}

void write_integer(DType dtype, int64_t number, void* to) {
  if (dtype == DType::Int64) {
    store(number, to);
  } else if (dtype == DType::UInt64) {
    store(static_cast<uint64_t>(std::max<int64_t>(number, 0)), to);
  } else {
    write_number(dtype, static_cast<double>(number), to);  // at most 32 bits, or a float: a double holds it
  }
}

std::string element_text(DType dtype, const void* from) {
  if (dtype == DType::Bool) {
    return load<uint8_t>(from) != 0 ? "true" : "false";
  }
  if (is_integer(dtype)) {
    std::string text;
    with_type(dtype, [&](auto type) { text = std::to_string(load<decltype(type)>(from)); });
    return text;
  }
  if (is_number(dtype)) {
    return number_text(read_number(dtype, from));
  }
  if (dtype == DType::Complex64 || dtype == DType::Complex128) {
    const DType part = dtype == DType::Complex64 ? DType::Float32 : DType::Float64;
    const double real = read_number(part, from);
    const double imaginary = read_number(part, static_cast<const char*>(from) + et::dtype_size(part));
    return number_text(real) + (std::signbit(imaginary) ? "" : "+") + number_text(imaginary) + "j";
  }
  static_assert(std::endian::native == std::endian::little);
  std::string text;
  for (size_t i = et::dtype_size(dtype); i-- > 0;) {
    char byte[4];
    std::snprintf(byte, sizeof(byte), "%02x", static_cast<const unsigned char*>(from)[i]);
    text += byte;
  }
  return "0x" + text;
}

}  // namespace etrt::tool
