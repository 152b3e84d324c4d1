// 16-bit and 8-bit floating types: storage only; arithmetic happens in float.
#pragma once

#include <bit>
#include <cstdint>

namespace etrt {

// Rounds to nearest even, as eager does.
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
// The same for `n` adjacent elements, with the processor's instruction where it has one.
void half_to_float_run(const uint16_t* from, float* to, int64_t n);
void float_to_half_run(const float* from, uint16_t* to, int64_t n);

inline float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
inline uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return 0x7fc0U;  // any NaN
  }
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

struct Half {
  uint16_t bits;
  operator float() const { return half_to_float(bits); }
  static Half from(float v) { return {float_to_half(v)}; }
};
struct BFloat16 {
  uint16_t bits;
  operator float() const { return bfloat16_to_float(bits); }
  static BFloat16 from(float v) { return {float_to_bfloat16(v)}; }
};

// The float8 formats by dtype.
float float8_e5m2_to_float(uint8_t bits);
float float8_e4m3fn_to_float(uint8_t bits);
float float8_e5m2fnuz_to_float(uint8_t bits);
float float8_e4m3fnuz_to_float(uint8_t bits);
uint8_t float_to_float8_e5m2(float value);
uint8_t float_to_float8_e4m3fn(float value);
uint8_t float_to_float8_e5m2fnuz(float value);
uint8_t float_to_float8_e4m3fnuz(float value);

}  // namespace etrt
