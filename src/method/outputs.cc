#include "method/outputs.h"

#include <algorithm>

#include "ops/strided_copy.h"

namespace etrt {

Status BoundOutputs::check(size_t index, const ValueInfo& info, const TensorArgument& memory) {
  if (info.kind != Kind::Tensor) {
    return fail(Status::InvalidArgument, "output {} is {}; only tensors can be given memory", index,
                kind_name(info.kind));
  }
  if (memory.dtype != info.dtype || memory.sizes.size() != info.sizes.size()) {
    return fail(Status::InvalidArgument, "output {} is given memory for {}{}, expected {}", index,
                dtype_name(memory.dtype), sizes_text(memory.sizes), expected_text(info));
  }
  if (memory.read_only) {
    return fail(Status::InvalidArgument, "output {} is given memory that may only be read; pass writable memory",
                index);
  }
  ET_ASSIGN(const int64_t numel, checked_numel(memory.sizes));
  if (memory.device_type != 0 || (memory.data == nullptr && numel > 0)) {
    return fail(Status::InvalidArgument, "output {} is given no memory of the CPU", index);
  }
  for (size_t d = 0; d < info.sizes.size(); ++d) {
    if (info.sizes[d] >= 0 && memory.sizes[d] < info.sizes[d]) {
      return fail(Status::InvalidArgument, "output {} is given room for {}, expected at least {}", index,
                  sizes_text(memory.sizes), expected_text(info));
    }
  }
  return Status::Ok;
}

Status BoundOutputs::bind(size_t index, const ValueInfo& info, const TensorArgument* memory) {
  Output bound;
  if (memory != nullptr) {
    ET_TRY(check(index, info, *memory));
    const Tensor row_major = Tensor::view(memory->data, memory->dtype, memory->sizes);
    const std::span<const int64_t> strides =
        memory->strides != nullptr ? std::span(memory->strides, memory->sizes.size()) : row_major.strides();
    bound.set = true;
    bound.dtype = memory->dtype;
    bound.data = static_cast<std::byte*>(memory->data);
    bound.sizes.assign(memory->sizes.begin(), memory->sizes.end());
    bound.strides.assign(strides.begin(), strides.end());
    ET_ASSIGN(bound.extent, checked_extent(bound.strided()));
    if (overlaps_itself(bound.strided())) {
      return fail(Status::InvalidArgument,
                  "output {} is given memory in which elements overlap (sizes {}, strides {}); give each its own",
                  index, sizes_text(bound.sizes), sizes_text(bound.strides));
    }
  }
  outputs_[index] = std::move(bound);
  any_ = std::any_of(outputs_.begin(), outputs_.end(), [](const Output& output) { return output.set; });
  apart_ = false;
  return Status::Ok;
}

Status BoundOutputs::check_apart() {
  for (size_t i = 0; !apart_ && i < outputs_.size(); ++i) {
    for (size_t j = 0; outputs_[i].set && j < i; ++j) {
      if (outputs_[j].set && share_bytes(outputs_[i].strided(), outputs_[j].strided())) {
        note_error({.argument = static_cast<int64_t>(i)});
        return fail(Status::InvalidArgument, "outputs {} and {} are given memory that overlaps; give each its own", j,
                    i);
      }
    }
  }
  apart_ = true;
  return Status::Ok;
}

bool BoundOutputs::touch(const Extent& extent) const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [&](const Output& output) { return output.set && output.extent.overlaps(extent); });
}

Status BoundOutputs::store(size_t index, const Value& result) const {
  const Output& output = outputs_[index];
  if (!output.set || result.kind != Kind::Tensor) {
    return Status::Ok;
  }
  const Tensor& t = *result.as_tensor;
  for (int d = 0; d < t.rank(); ++d) {
    if (t.size(d) > output.sizes[static_cast<size_t>(d)]) {
      return fail(Status::InvalidState, "output {} has the sizes {}, its memory has room for {}", index,
                  sizes_text(t.sizes()), sizes_text(output.sizes));
    }
  }
  if (t.dtype != output.dtype) {
    return fail(Status::InvalidState, "output {} is {}, its memory {}", index, dtype_name(t.dtype),
                dtype_name(output.dtype));
  }
  if (t.numel() > 0) {
    ops::strided_copy(t.element_size(), t.sizes(), t.data, t.strides(), output.data, output.strides);
  }
  return Status::Ok;
}

}  // namespace etrt
