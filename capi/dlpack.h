// DLPack's structures, as its specification lays them out (Debian's header lacks the versioned one).
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace etrt::dlpack {

struct Device {
  int32_t type;  // 1: CPU, 2: CUDA, 3: CUDA host, …
  int32_t id;
};
struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};
struct Version {
  uint32_t major;
  uint32_t minor;
};
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned* self);
  uint64_t flags;
  Tensor tensor;
};
inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint32_t kMajor = 1;

// Code and bits of the dtypes that DLPack has.
struct Code {
  DType dtype;
  uint8_t code;
  uint8_t bits;
};
inline constexpr Code kCodes[] = {
    {DType::Int8, 0, 8},        {DType::Int16, 0, 16},          {DType::Int32, 0, 32},
    {DType::Int64, 0, 64},      {DType::UInt8, 1, 8},           {DType::UInt16, 1, 16},
    {DType::UInt32, 1, 32},     {DType::UInt64, 1, 64},         {DType::Float16, 2, 16},
    {DType::Float32, 2, 32},    {DType::Float64, 2, 64},        {DType::BFloat16, 4, 16},
    {DType::Complex32, 5, 32},  {DType::Complex64, 5, 64},      {DType::Complex128, 5, 128},
    {DType::Bool, 6, 8},        {DType::Float8E4M3FN, 10, 8},   {DType::Float8E4M3FNUZ, 11, 8},
    {DType::Float8E5M2, 12, 8}, {DType::Float8E5M2FNUZ, 13, 8},
};

}  // namespace etrt::dlpack
