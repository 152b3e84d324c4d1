#include "ops/element.h"

#include <cmath>
#include <complex>
#include <limits>

namespace etrt::ops {
namespace {

// The largest magnitude a dtype of the arithmetic kinds holds, as a double; the lowest is -largest, for signed
// integers one less. Unsigned dtypes take negative numbers down to -largest: they wrap, as in eager.
double largest(DType dtype) {
  switch (dtype) {
    case DType::UInt8:
      return 255;
    case DType::Int8:
      return 127;
    case DType::Int16:
      return 32767;
    case DType::UInt16:
      return 65535;
    case DType::Int32:
      return 2147483647;
    case DType::UInt32:
      return 4294967295;
    case DType::Int64:
      return 9223372036854774784.0;  // the last double below 2^63
    case DType::UInt64:
      return 18446744073709549568.0;
    case DType::Float16:
      return 65504;
    case DType::BFloat16:
      return 0x1.fep127;
    case DType::Float32:
    case DType::Complex64:
      return std::numeric_limits<float>::max();
    case DType::Float8E5M2:
    case DType::Float8E5M2FNUZ:
      return 57344;
    case DType::Float8E4M3FN:
      return 448;
    case DType::Float8E4M3FNUZ:
      return 240;
    default:
      return std::numeric_limits<double>::max();
  }
}

bool in_range(Scalar value, DType dtype) {
  if (is_bool(dtype)) {
    return true;
  }
  if (!value.is_float()) {
    if (dtype == DType::Int64 || dtype == DType::UInt64) {
      return true;
    }
  } else if (!std::isfinite(value.d)) {
    return !is_int(dtype);
  }
  const double limit = largest(dtype);
  const double v = value.as_double();
  const double lowest = is_int(dtype) && !is_unsigned(dtype) ? -limit - 1 : -limit;
  return v >= lowest && v <= limit;
}

}  // namespace

Result<Element> element_of(const Call& call, Scalar value, DType dtype, const char* name) {
  const bool known =
      is_complex(dtype) ? store_run<std::complex<double>>(dtype) != nullptr : store_run<double>(dtype) != nullptr;
  if (!known) {
    return call.fail(Status::InvalidType, "{} can't be a number of dtype {}", name, dtype_name(dtype));
  }
  if (!in_range(value, dtype)) {
    return call.fail(Status::InvalidArgument, "{} {} is out of range for dtype {}", name, value.as_double(),
                     dtype_name(dtype));
  }
  Element element{};
  if (is_complex(dtype)) {
    store_one<std::complex<double>>(dtype, element.data(), value.as_double());
  } else if (value.is_float()) {
    store_one<double>(dtype, element.data(), value.d);
  } else {
    store_one<int64_t>(dtype, element.data(), value.i);
  }
  return element;
}

}  // namespace etrt::ops
