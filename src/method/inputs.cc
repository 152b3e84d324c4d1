#include "method/inputs.h"

#include <cmath>

#include "core/error.h"
#include "core/extent.h"

namespace etrt {
namespace {

std::string found_text(const Argument& argument) {
  switch (argument.kind) {
    case Kind::Int:
      return format_text("the int {}", argument.as_int);
    case Kind::Double:
      return format_text("the float {}", argument.as_double);
    case Kind::Bool:
      return argument.as_bool ? "True" : "False";
    case Kind::String:
      return format_text("the string \"{}\"", argument.as_string);
    case Kind::Tensor:
      return "a tensor " + (dtype_name(argument.as_tensor.dtype) + sizes_text(argument.as_tensor.sizes));
    default:
      return kind_name(argument.kind);
  }
}

Status refuse(Status status, const ValueInfo& info, size_t index, const Argument& argument, const char* advice) {
  const std::string expected = expected_text(info);
  const std::string found = found_text(argument);
  note_error({.argument = static_cast<int64_t>(index), .expected = expected, .found = found});
  return fail(status, "input {} is {}, expected {}{}", index, found, expected, advice);
}

bool close(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) && std::isnan(b);
  }
  return a == b || std::fabs(a - b) <= 1e-4 + 1e-5 * std::fabs(b);
}

// Numbers and strings were built into the program when it was exported.
Status check_fixed(const ValueInfo& info, size_t index, const Argument& argument) {
  if (info.kind == Kind::None && argument.kind != Kind::Tensor) {
    return Status::Ok;  // the exporter keeps no value of some inputs; what is passed takes its place
  }
  if (argument.kind != info.kind) {
    return refuse(Status::InvalidArgument, info, index, argument, "");
  }
  const bool same = info.kind == Kind::Int      ? argument.as_int == info.as_int
                    : info.kind == Kind::Double ? close(argument.as_double, info.as_double)
                    : info.kind == Kind::Bool   ? argument.as_bool == info.as_bool
                    : info.kind == Kind::String ? argument.as_string == info.as_string
                                                : info.kind == Kind::None;
  if (!same) {
    return refuse(Status::InvalidArgument, info, index, argument,
                  ", with which the program was exported; export it again for another value");
  }
  return Status::Ok;
}

bool sizes_allowed(const ValueInfo& info, std::span<const int64_t> sizes) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t bound = info.sizes[d];
    if (info.dynamism == Dynamism::Static ? sizes[d] != bound : bound >= 0 && sizes[d] > bound) {
      return false;
    }
  }
  return true;
}

// Of memory that isn't simply dense.
Status check_strides(const ValueInfo& info, size_t index, const BoundTensor& bound) {
  const StridedMemory memory{bound.data, bound.sizes_span(), bound.strides_span(), dtype_size(info.dtype)};
  const auto extent = checked_extent(memory);
  if (!extent.ok()) {
    return fail(extent.status(), "input {} has impossible strides", index);
  }
  if (info.written && !info.planned && overlaps_itself(memory)) {
    return fail(Status::InvalidArgument,
                "input {} has elements that overlap (strides {}), and the program writes it in place; pass a copy",
                index, sizes_text(bound.strides_span()));
  }
  return Status::Ok;
}

Status check_tensor(const ValueInfo& info, size_t index, const Argument& argument, BoundTensor& bound) {
  const TensorArgument& t = argument.as_tensor;
  if (t.dtype != info.dtype) {
    return refuse(Status::InvalidArgument, info, index, argument, "; convert its values first");
  }
  if (t.sizes.size() != info.sizes.size()) {
    return refuse(Status::InvalidArgument, info, index, argument, " (another number of dimensions)");
  }
  if (!checked_nbytes(t.sizes, t.dtype).ok()) {
    return refuse(Status::InvalidArgument, info, index, argument, "");
  }
  ET_ASSIGN(const int64_t numel, checked_numel(t.sizes));
  if (!sizes_allowed(info, t.sizes)) {
    return refuse(Status::InvalidArgument, info, index, argument,
                  info.dynamism == Dynamism::Static ? "" : " (each dimension up to its bound)");
  }
  if (t.device_type != 0) {
    return fail(Status::NotSupported, "input {} lies on device type {}; copy it to the CPU first", index,
                t.device_type);
  }
  if (t.data == nullptr && numel > 0) {
    return fail(Status::InvalidArgument, "input {} has {} elements but no data", index, numel);
  }
  if (t.read_only && info.written && !info.planned) {
    return fail(Status::InvalidArgument, "input {} is read-only, and the program writes it in place; pass a copy",
                index);
  }
  bound.data = static_cast<std::byte*>(t.data);
  bound.rank = static_cast<uint8_t>(t.sizes.size());
  int64_t stride = 1;
  for (size_t d = t.sizes.size(); d-- > 0;) {
    bound.sizes[d] = t.sizes[d];
    bound.strides[d] = t.strides != nullptr ? t.strides[d] : stride;
    stride *= t.sizes[d] > 0 ? t.sizes[d] : 1;
  }
  const size_t alignment = std::min<size_t>(dtype_size(t.dtype), 8);
  bound.direct = numel == 0 || (laid_out_as(t.sizes, t.strides, info.dim_order) &&
                                reinterpret_cast<uintptr_t>(t.data) % alignment == 0);
  return bound.direct ? Status::Ok : check_strides(info, index, bound);
}

}  // namespace

bool laid_out_as(std::span<const int64_t> sizes, const int64_t* strides, std::span<const uint8_t> dim_order) {
  int64_t row_major[kMaxRank];
  if (strides == nullptr) {
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      row_major[d] = stride;
      stride *= sizes[d];
    }
    strides = row_major;
  }
  int64_t stride = 1;
  for (size_t i = dim_order.size(); i-- > 0;) {
    const size_t d = dim_order[i];
    if (sizes[d] != 1 && strides[d] != stride) {
      return false;
    }
    stride *= sizes[d];
  }
  return true;
}

Status check_input(const ValueInfo& info, size_t index, const Argument& argument, BoundTensor& bound) {
  if (info.kind != Kind::Tensor) {
    return check_fixed(info, index, argument);
  }
  if (argument.kind != Kind::Tensor) {
    return refuse(Status::InvalidArgument, info, index, argument, "");
  }
  return check_tensor(info, index, argument, bound);
}

}  // namespace etrt
