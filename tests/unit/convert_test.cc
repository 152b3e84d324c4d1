#include "core/convert.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/half.h"

using namespace etrt;

namespace {

template <class To, class From>
To converted(DType from, From value, DType to) {
  To result{};
  REQUIRE(convert_run(from, &value, 1, to, &result, 1, 1));
  return result;
}

}  // namespace

TEST_CASE("floats become integers as eager's do") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(converted<int32_t>(DType::Float32, -1.9F, DType::Int32) == -1);
  CHECK(converted<int32_t>(DType::Float32, nan, DType::Int32) == std::numeric_limits<int32_t>::min());
  CHECK(converted<int32_t>(DType::Float32, 3e9F, DType::Int32) == std::numeric_limits<int32_t>::min());
  CHECK(converted<int64_t>(DType::Float64, 1e19, DType::Int64) == std::numeric_limits<int64_t>::min());
  CHECK(converted<int8_t>(DType::Float32, 300.0F, DType::Int8) == 44);
  CHECK(converted<uint8_t>(DType::Float32, -1.0F, DType::UInt8) == 255);
  CHECK(converted<uint64_t>(DType::Float64, 0x1p63, DType::UInt64) == uint64_t{1} << 63);
  CHECK(converted<uint8_t>(DType::Float32, nan, DType::Bool) == 1);
  CHECK(converted<uint8_t>(DType::Float32, 0.1F, DType::Bool) == 1);
}

TEST_CASE("integers stay exact") {
  const int64_t large = (int64_t{1} << 53) + 1;
  CHECK(converted<int64_t>(DType::Int64, large, DType::Int64) == large);
  CHECK(converted<uint64_t>(DType::Int64, int64_t{-1}, DType::UInt64) == std::numeric_limits<uint64_t>::max());
  CHECK(converted<int8_t>(DType::Int64, int64_t{300}, DType::Int8) == 44);
  CHECK(converted<float>(DType::UInt64, std::numeric_limits<uint64_t>::max(), DType::Float32) == 0x1p64F);
}

TEST_CASE("strides and chunks") {
  constexpr int64_t kCount = 1000;
  std::vector<int16_t> from(kCount * 3);
  for (int64_t i = 0; i < kCount; ++i) {
    from[static_cast<size_t>(i) * 3] = static_cast<int16_t>(i - 500);
  }
  std::vector<double> to(kCount * 2, -1.0);
  REQUIRE(convert_run(DType::Int16, from.data(), 3, DType::Float64, to.data(), 2, kCount));
  for (int64_t i = 0; i < kCount; ++i) {
    CHECK(to[static_cast<size_t>(i) * 2] == static_cast<double>(i - 500));
    CHECK(to[static_cast<size_t>(i) * 2 + 1] == -1.0);
  }
}

TEST_CASE("half numbers: every value there and back") {
  std::array<uint16_t, 1> bits{};
  std::array<float, 1> value{};
  for (uint32_t i = 0; i < 0x10000U; ++i) {
    bits[0] = static_cast<uint16_t>(i);
    half_to_float_run(bits.data(), value.data(), 1);
    if (std::isnan(value[0])) {
      CHECK((i & 0x7fffU) > 0x7c00U);
      continue;
    }
    CHECK(float_to_half(value[0]) == i);
  }
  CHECK(float_to_half(65520.0F) == 0x7c00U);
  CHECK(float_to_half(65519.0F) == 0x7bffU);
  CHECK(float_to_half(0x1p-25F) == 0);  // a tie goes to even
  CHECK(float_to_half(0x1.8p-24F) == 0x0002U);
}

TEST_CASE("half numbers: the processor's instruction agrees") {
  std::vector<float> values;
  for (uint32_t bits = 0x33000000U; bits < 0x47900000U; bits += 0x1235U) {
    values.push_back(std::bit_cast<float>(bits));
  }
  std::vector<uint16_t> run(values.size());
  float_to_half_run(values.data(), run.data(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    CHECK(run[i] == float_to_half(values[i]));
  }
}

TEST_CASE("float8 numbers: every value there and back") {
  for (int i = 0; i < 256; ++i) {
    const auto bits = static_cast<uint8_t>(i);
    const auto same = [bits](float value, uint8_t back) { return std::isnan(value) || back == bits; };
    CHECK(same(float8_e5m2_to_float(bits), float_to_float8_e5m2(float8_e5m2_to_float(bits))));
    CHECK(same(float8_e4m3fn_to_float(bits), float_to_float8_e4m3fn(float8_e4m3fn_to_float(bits))));
    CHECK(same(float8_e5m2fnuz_to_float(bits), float_to_float8_e5m2fnuz(float8_e5m2fnuz_to_float(bits))));
    CHECK(same(float8_e4m3fnuz_to_float(bits), float_to_float8_e4m3fnuz(float8_e4m3fnuz_to_float(bits))));
  }
  CHECK(float8_e4m3fn_to_float(0x7e) == 448.0F);
  CHECK(float8_e5m2_to_float(0x7b) == 57344.0F);
  CHECK(float_to_float8_e4m3fn(1e9F) == 0x7e);
  CHECK(float_to_float8_e5m2(1e9F) == 0x7c);
  CHECK(float_to_float8_e4m3fnuz(1e9F) == 0x80);
}

TEST_CASE("what has no conversion is refused") {
  float value = 0;
  std::array<uint8_t, 16> to{};
  CHECK_FALSE(convert_run(DType::Float32, &value, 1, DType::QInt8, to.data(), 1, 1));
  CHECK((load_run<float>(DType::Complex64) == nullptr));
  CHECK((load_run<int64_t>(DType::Bits8) == nullptr));
}
