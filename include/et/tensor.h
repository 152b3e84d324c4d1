// tensor.h - memory seen as a tensor: a dtype, sizes, strides and a pointer.
//
//   std::vector<float> pixels(3 * 224 * 224);
//   et::Tensor image = et::Tensor::borrow(pixels.data(), {1, 3, 224, 224});   // reads pixels, copies nothing
//   et::Tensor zeros = et::Tensor::zeros(et::DType::Float32, {2, 3}).value();  // has memory of its own
//   for (float x : *result.values<float>()) …
#pragma once

#include <et.h>
#include <et/error.h>

#include <algorithm>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace et {

// The numbers that programs use.
enum class DType : int32_t {
  UInt8 = 0,
  Int8 = 1,
  Int16 = 2,
  Int32 = 3,
  Int64 = 4,
  Float16 = 5,
  Float32 = 6,
  Float64 = 7,
  Complex32 = 8,
  Complex64 = 9,
  Complex128 = 10,
  Bool = 11,
  QInt8 = 12,
  QUInt8 = 13,
  QInt32 = 14,
  BFloat16 = 15,
  QUInt4x2 = 16,
  QUInt2x4 = 17,
  Bits1x8 = 18,
  Bits2x4 = 19,
  Bits4x2 = 20,
  Bits8 = 21,
  Bits16 = 22,
  Float8E5M2 = 23,
  Float8E4M3FN = 24,
  Float8E5M2FNUZ = 25,
  Float8E4M3FNUZ = 26,
  UInt16 = 27,
  UInt32 = 28,
  UInt64 = 29,
};

// "float32"; "?" for a number that is no dtype.
inline const char* dtype_name(DType dtype) {
  const char* name = et_dtype_name(static_cast<int32_t>(dtype));
  return name == nullptr ? "?" : name;
}
// Bytes of an element; 0 for a number that is no dtype.
inline size_t dtype_size(DType dtype) { return et_dtype_size(static_cast<int32_t>(dtype)); }

// The dtype that a C++ type is.
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) {
    return DType::Bool;
  } else if constexpr (std::is_same_v<U, float>) {
    return DType::Float32;
  } else if constexpr (std::is_same_v<U, double>) {
    return DType::Float64;
  } else if constexpr (std::is_same_v<U, std::complex<float>>) {
    return DType::Complex64;
  } else if constexpr (std::is_same_v<U, std::complex<double>>) {
    return DType::Complex128;
  } else {
    static_assert(std::is_integral_v<U>, "no dtype is made of this type");
    constexpr DType kSigned[] = {DType::Int8, DType::Int16, DType::Int32, DType::Int64};
    constexpr DType kUnsigned[] = {DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64};
    constexpr size_t kLog2 = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
    return std::is_signed_v<U> ? kSigned[kLog2] : kUnsigned[kLog2];
  }
}

// A tensor in memory that somebody else keeps. Copying it copies the pointer.
class TensorView {
 public:
  TensorView() = default;
  explicit TensorView(const et_tensor_view& raw) : raw_(raw) {}

  DType dtype() const { return static_cast<DType>(raw_.dtype); }
  int rank() const { return raw_.rank; }
  std::span<const int64_t> sizes() const { return {raw_.sizes, static_cast<size_t>(raw_.rank)}; }
  int64_t size(int dim) const { return raw_.sizes[dim]; }
  // In elements; may be 0 or negative.
  int64_t stride(int dim) const { return raw_.strides != nullptr ? raw_.strides[dim] : row_major_stride(dim); }
  int64_t numel() const {
    int64_t n = 1;
    for (const int64_t size : sizes()) {
      n *= size;
    }
    return n;
  }
  size_t nbytes() const { return static_cast<size_t>(numel()) * dtype_size(dtype()); }
  // Row-major without gaps.
  bool is_contiguous() const {
    int64_t expected = 1;
    for (int d = rank() - 1; d >= 0; --d) {
      if (size(d) != 1 && stride(d) != expected) {
        return numel() == 0;
      }
      expected *= size(d);
    }
    return true;
  }

  void* data() const { return raw_.data; }
  // Null when the dtype isn't T's.
  template <class T>
  T* data() const {
    return dtype() == dtype_of<T>() ? static_cast<T*>(raw_.data) : nullptr;
  }
  // All elements in order. Refused (InvalidType) when the dtype isn't T's, or (NotSupported) when they don't lie
  // in row-major order; Tensor::copy_of makes them.
  template <class T>
  Result<std::span<T>> values() const {
    if (dtype() != dtype_of<T>()) {
      return Error(Status::InvalidType,
                   std::string("the tensor is ") + dtype_name(dtype()) + ", asked for as " + dtype_name(dtype_of<T>()));
    }
    if (!is_contiguous()) {
      return Error(Status::NotSupported, "the tensor isn't row-major; Tensor::copy_of makes a copy that is");
    }
    return std::span<T>(static_cast<T*>(raw_.data), static_cast<size_t>(numel()));
  }

  const et_tensor_view& raw() const { return raw_; }

 private:
  int64_t row_major_stride(int dim) const {
    int64_t stride = 1;
    for (int d = rank() - 1; d > dim; --d) {
      stride *= size(d);
    }
    return stride;
  }

  et_tensor_view raw_{};
};

namespace detail {

inline et_value tensor_value(const et_tensor_view& view, bool read_only = false) {
  et_value value{};
  value.kind = ET_KIND_TENSOR;
  value.flags = read_only ? ET_VALUE_READ_ONLY : 0;
  value.u.as_tensor = view;
  return value;
}

// A value with a hold, released once.
struct HeldValue {
  et_value value;
  explicit HeldValue(const et_value& held) : value(held) {}
  ~HeldValue() { et_value_release(&value); }
  HeldValue(const HeldValue&) = delete;
  HeldValue& operator=(const HeldValue&) = delete;
};

// The product of sizes and an element's bytes; -1 when a size is negative or it doesn't fit.
inline int64_t checked_nbytes(std::span<const int64_t> sizes, size_t element) {
  int64_t n = static_cast<int64_t>(element);
  for (const int64_t size : sizes) {
    if (size < 0 || (size > 0 && n > std::numeric_limits<int64_t>::max() / size)) {
      return -1;
    }
    n *= size;
  }
  return n;
}

}  // namespace detail

// A tensor that keeps its sizes, and its memory unless it was borrowed. Copies share both.
class Tensor : public TensorView {
 public:
  // No elements, no memory.
  Tensor() : Tensor(DType::Float32, nullptr, nullptr, std::vector<int64_t>{0}, {}) {}

  // Memory of yours: it must stay while this tensor, a copy of it, or a method it was given to uses it.
  // `strides` are in elements, any sign; none means row-major.
  static Tensor borrow(DType dtype, void* data, std::vector<int64_t> sizes, std::vector<int64_t> strides = {}) {
    return Tensor(dtype, data, nullptr, std::move(sizes), std::move(strides));
  }
  // Const memory makes a read-only tensor: refused where it would be written (a bound output, or an input with
  // TensorInfo::written that isn't planned).
  template <class T>
  static Tensor borrow(T* data, std::vector<int64_t> sizes, std::vector<int64_t> strides = {}) {
    Tensor tensor = borrow(dtype_of<T>(), const_cast<std::remove_cv_t<T>*>(data), std::move(sizes), std::move(strides));
    tensor.read_only_ = std::is_const_v<T>;
    return tensor;
  }
  // Memory that `owner` keeps.
  static Tensor share(DType dtype, void* data, std::shared_ptr<const void> owner, std::vector<int64_t> sizes,
                      std::vector<int64_t> strides = {}) {
    return Tensor(dtype, data, std::move(owner), std::move(sizes), std::move(strides));
  }

  // Memory of its own, 64-byte aligned, all zero. Throws std::bad_alloc when there is none.
  static Result<Tensor> zeros(DType dtype, std::vector<int64_t> sizes) {
    const int64_t nbytes = detail::checked_nbytes(sizes, dtype_size(dtype));
    if (nbytes < 0 || dtype_size(dtype) == 0) {
      return Error(Status::InvalidArgument, "a tensor can't have these sizes or this dtype");
    }
    constexpr std::align_val_t kAlignment{64};
    const auto size = static_cast<size_t>(std::max<int64_t>(nbytes, 1));
    std::shared_ptr<void> memory(::operator new(size, kAlignment), [](void* p) { ::operator delete(p, kAlignment); });
    std::memset(memory.get(), 0, size);
    return Tensor(dtype, memory.get(), memory, std::move(sizes), {});
  }
  // A copy of elements in row-major order, as many as the sizes say.
  template <class T>
  static Result<Tensor> of(std::span<const T> elements, const std::vector<int64_t>& sizes) {
    Result<Tensor> made = zeros(dtype_of<T>(), sizes);
    if (made.ok() && static_cast<size_t>(made->numel()) != elements.size()) {
      return Error(Status::InvalidArgument, std::to_string(elements.size()) + " elements were given, the sizes say " +
                                                std::to_string(made->numel()));
    }
    if (made.ok() && !elements.empty()) {
      std::memcpy(made->TensorView::data(), elements.data(), elements.size_bytes());
    }
    return made;
  }
  template <class T>
  requires(!std::same_as<T, bool>)  // vector<bool> has no elements in memory
      static Result<Tensor> of(const std::vector<T>& elements, std::vector<int64_t> sizes) {
    return of(std::span<const T>(elements), std::move(sizes));
  }
  // A row-major copy with memory of its own.
  static Result<Tensor> copy_of(const TensorView& view) {
    const et_value from = detail::tensor_value(view.raw());
    et_value copy{};
    if (const Result<void> done = detail::outcome(et_value_clone(&from, &copy)); !done) {
      return done.error();
    }
    return from_held(copy);
  }

  // Takes over a tensor value with a hold; it is released with the last copy of the tensor.
  static Tensor from_held(const et_value& held) {
    auto owner = std::make_shared<detail::HeldValue>(held);
    Tensor tensor(owner->value.u.as_tensor, owner);
    tensor.read_only_ = (held.flags & ET_VALUE_READ_ONLY) != 0;
    return tensor;
  }
  // Takes a DLPack tensor over (a DLManagedTensor*, or a DLManagedTensorVersioned* where `versioned`): its deleter
  // is called once, by the last copy. On a failure it is still yours.
  static Result<Tensor> from_dlpack(void* managed, bool versioned) {
    et_value value{};
    if (const Result<void> done = detail::outcome(et_value_from_dlpack(managed, versioned ? 1 : 0, &value)); !done) {
      return done.error();
    }
    return from_held(value);
  }

  const std::shared_ptr<const void>& owner() const { return owner_; }
  // May its memory only be read?
  bool read_only() const { return read_only_; }

 private:
  struct Shape {
    std::shared_ptr<const void> memory;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
  };

  Tensor(DType dtype, void* data, std::shared_ptr<const void> memory, std::vector<int64_t> sizes,
         std::vector<int64_t> strides)
      : Tensor(dtype, data,
               std::make_shared<const Shape>(Shape{std::move(memory), std::move(sizes), std::move(strides)})) {}
  Tensor(DType dtype, void* data, const std::shared_ptr<const Shape>& shape)
      : Tensor(et_tensor_view{data, shape->sizes.data(), shape->strides.empty() ? nullptr : shape->strides.data(),
                              static_cast<int32_t>(dtype), static_cast<int32_t>(shape->sizes.size()), ET_DEVICE_CPU, 0},
               shape) {}
  Tensor(const et_tensor_view& view, std::shared_ptr<const void> owner) : TensorView(view), owner_(std::move(owner)) {}

  std::shared_ptr<const void> owner_;  // of the sizes, the strides and the memory
  bool read_only_ = false;
};

}  // namespace et
