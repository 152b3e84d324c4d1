#include "core/half.h"

#include <array>
#include <cmath>
#include <limits>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ETRT_HAS_F16C_PATH 1
#endif

namespace etrt {
namespace {

// A float8 format: sign, exponent and `mantissa` bits.
struct Float8Format {
  int mantissa;
  int bias;
  int largest;       // code of the largest finite value, without its sign
  int overflow;      // code that larger values and infinities become
  bool signed_zero;  // the "fnuz" formats have no -0: its code is their only NaN
};

constexpr Float8Format kE5M2{2, 15, 0x7b, 0x7c, true};
constexpr Float8Format kE4M3FN{3, 7, 0x7e, 0x7e, true};  // no infinity; saturates, as eager does
constexpr Float8Format kE5M2FNUZ{2, 16, 0x7f, 0x80, false};
constexpr Float8Format kE4M3FNUZ{3, 8, 0x7f, 0x80, false};

constexpr float power_of_two(int exponent) {
  float value = 1.0F;
  for (; exponent > 0; --exponent) {
    value *= 2.0F;
  }
  for (; exponent < 0; ++exponent) {
    value *= 0.5F;
  }
  return value;
}

constexpr float decode(Float8Format format, int code) {
  const bool negative = (code & 0x80) != 0;
  const int magnitude = code & 0x7f;
  if (format.signed_zero ? magnitude > format.largest : code == 0x80) {
    const bool infinite = format.overflow == 0x7c && magnitude == 0x7c;
    const float value = infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    return negative && infinite ? -value : value;
  }
  const int exponent = magnitude >> format.mantissa;
  const int fraction = magnitude & ((1 << format.mantissa) - 1);
  // Subnormals have the scale of exponent 1 and no leading one.
  const int significand = exponent == 0 ? fraction : fraction | (1 << format.mantissa);
  const int scale = (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa;
  const float value = static_cast<float>(significand) * power_of_two(scale);
  return negative ? -value : value;
}

constexpr std::array<float, 256> decode_table(Float8Format format) {
  std::array<float, 256> table{};
  for (int code = 0; code < 256; ++code) {
    table[static_cast<size_t>(code)] = decode(format, code);
  }
  return table;
}

uint8_t encode(Float8Format format, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffU;
  const int sign = static_cast<int>(bits >> 31) << 7;
  if (magnitude > 0x7f800000U) {
    return static_cast<uint8_t>(format.signed_zero ? sign | 0x7f : 0x80);
  }
  int code = 0;
  const int shift = 23 - format.mantissa;
  if (magnitude < static_cast<uint32_t>(128 - format.bias) << 23) {
    // Below the smallest normal number: a multiple of the format's smallest step. The carry into the
    // smallest normal code is right as it is.
    code = static_cast<int>(
        std::nearbyint(std::bit_cast<float>(magnitude) * power_of_two(format.bias - 1 + format.mantissa)));
  } else {
    const uint32_t even = (magnitude >> shift) & 1U;
    const uint32_t rounded = (magnitude + ((1U << (shift - 1)) - 1U) + even) >> shift;
    code = static_cast<int>(rounded) - ((127 - format.bias) << format.mantissa);
  }
  if (code > format.largest) {
    code = format.overflow;
  }
  return static_cast<uint8_t>(code == 0 && !format.signed_zero ? 0 : code | sign);
}

constexpr std::array<float, 256> kE5M2Values = decode_table(kE5M2);
constexpr std::array<float, 256> kE4M3FNValues = decode_table(kE4M3FN);
constexpr std::array<float, 256> kE5M2FNUZValues = decode_table(kE5M2FNUZ);
constexpr std::array<float, 256> kE4M3FNUZValues = decode_table(kE4M3FNUZ);

// Without branches, so that a loop over it becomes vector code.
inline float widen(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t shifted = static_cast<uint32_t>(bits & 0x7fffU) << 13;
  // Rebiases the exponent by a multiplication, which normalises subnormals as well.
  const auto scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(shifted) * 0x1p112F);
  const uint32_t magnitude = shifted >= 0x0f800000U ? shifted | 0x7f800000U : scaled;
  return std::bit_cast<float>(sign | magnitude);
}

inline uint16_t narrow(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  // Rebias and round to nearest even; rounding past the largest number gives infinity's code by itself.
  const uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  // The spacing of floats in [0.5, 1) is that of subnormal half numbers.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const uint32_t special = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  const uint32_t finite = magnitude < 0x38800000U ? subnormal : normal;
  return static_cast<uint16_t>(sign | (magnitude >= 0x47800000U ? special : finite));
}

#ifdef ETRT_HAS_F16C_PATH
bool has_f16c() {
  static const bool has = __builtin_cpu_supports("avx2");  // clang 14 can't ask for f16c; it came before avx2
  return has;
}

__attribute__((target("avx,f16c"))) int64_t widen_f16c(const uint16_t* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
  }
  return i;
}

__attribute__((target("avx,f16c"))) int64_t narrow_f16c(const float* from, uint16_t* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
  }
  return i;
}
#endif

}  // namespace

float half_to_float(uint16_t bits) { return widen(bits); }
uint16_t float_to_half(float value) { return narrow(value); }

void half_to_float_run(const uint16_t* from, float* to, int64_t n) {
  int64_t i = 0;
#ifdef ETRT_HAS_F16C_PATH
  if (has_f16c()) {
    i = widen_f16c(from, to, n);
  }
#endif
  for (; i < n; ++i) {
    to[i] = widen(from[i]);
  }
}

void float_to_half_run(const float* from, uint16_t* to, int64_t n) {
  int64_t i = 0;
#ifdef ETRT_HAS_F16C_PATH
  if (has_f16c()) {
    i = narrow_f16c(from, to, n);
  }
#endif
  for (; i < n; ++i) {
    to[i] = narrow(from[i]);
  }
}

float float8_e5m2_to_float(uint8_t bits) { return kE5M2Values[bits]; }
float float8_e4m3fn_to_float(uint8_t bits) { return kE4M3FNValues[bits]; }
float float8_e5m2fnuz_to_float(uint8_t bits) { return kE5M2FNUZValues[bits]; }
float float8_e4m3fnuz_to_float(uint8_t bits) { return kE4M3FNUZValues[bits]; }
uint8_t float_to_float8_e5m2(float value) { return encode(kE5M2, value); }
uint8_t float_to_float8_e4m3fn(float value) { return encode(kE4M3FN, value); }
uint8_t float_to_float8_e5m2fnuz(float value) { return encode(kE5M2FNUZ, value); }
uint8_t float_to_float8_e4m3fnuz(float value) { return encode(kE4M3FNUZ, value); }

}  // namespace etrt
