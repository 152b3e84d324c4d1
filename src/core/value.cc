#include "core/value.h"

#include <cmath>
#include <limits>

#include "core/error.h"

namespace etrt {

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::None:
      return "None";
    case Kind::Int:
      return "Int";
    case Kind::Double:
      return "Double";
    case Kind::Bool:
      return "Bool";
    case Kind::String:
      return "String";
    case Kind::Tensor:
      return "Tensor";
    case Kind::IntList:
      return "IntList";
    case Kind::DoubleList:
      return "DoubleList";
    case Kind::BoolList:
      return "BoolList";
    case Kind::TensorList:
      return "TensorList";
    case Kind::OptionalTensorList:
      return "OptionalTensorList";
  }
  return "?";
}

Result<std::span<const int64_t>> List::ints() {
  ints_.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const Value& v = *items[i];
    if (v.kind != Kind::Int) {
      return fail(Status::InvalidType, "element {} of an int list is {}, expected Int", i, kind_name(v.kind));
    }
    ints_[i] = v.as_int;
  }
  return std::span<const int64_t>(ints_);
}

Result<std::span<Tensor* const>> List::tensors() {
  tensors_.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i] == nullptr || items[i]->kind != Kind::Tensor) {
      return fail(Status::InvalidType, "element {} of a tensor list is {}, expected Tensor", i,
                  items[i] == nullptr ? "None" : kind_name(items[i]->kind));
    }
    tensors_[i] = items[i]->as_tensor;
  }
  return std::span<Tensor* const>(tensors_);
}

Result<std::span<Tensor* const>> List::optional_tensors() {
  tensors_.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i] == nullptr || items[i]->kind == Kind::None) {
      tensors_[i] = nullptr;
    } else if (items[i]->kind == Kind::Tensor) {
      tensors_[i] = items[i]->as_tensor;
    } else {
      return fail(Status::InvalidType, "element {} of an optional tensor list is {}, expected Tensor or None", i,
                  kind_name(items[i]->kind));
    }
  }
  return std::span<Tensor* const>(tensors_);
}

int64_t Scalar::as_int() const {
  if (kind != Kind::Float) {
    return i;
  }
  if (std::isnan(d)) {
    return 0;
  }
  if (d >= 9223372036854775808.0) {
    return std::numeric_limits<int64_t>::max();
  }
  if (d <= -9223372036854775808.0) {
    return std::numeric_limits<int64_t>::min();
  }
  return static_cast<int64_t>(d);
}

}  // namespace etrt
