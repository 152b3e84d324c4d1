// Values: between et_value and the library's own, holds, clones, DLPack.
#include <algorithm>
#include <cstring>

#include "core/convert.h"
#include "dlpack.h"
#include "handles.h"
#include "ops/strided_copy.h"

namespace etrt::capi {

void take_hold(et_value& value, std::shared_ptr<const void> what) {
  auto hold = std::make_unique<Hold>();
  hold->what = std::move(what);
  et_tensor_view& t = value.u.as_tensor;
  std::copy_n(t.sizes, t.rank, hold->sizes.begin());
  int64_t stride = 1;
  for (int32_t d = t.rank; d-- > 0;) {
    const auto i = static_cast<size_t>(d);
    hold->strides[i] = t.strides != nullptr ? t.strides[d] : stride;
    stride *= std::max<int64_t>(t.sizes[d], 1);
  }
  t.sizes = hold->sizes.data();
  t.strides = hold->strides.data();
  value.hold = hold.release();
}

void to_value(const Tensor& tensor, et_value& out) {
  out = et_value{};
  out.kind = ET_KIND_TENSOR;
  out.u.as_tensor = {tensor.data,
                     tensor.sizes_.data(),
                     tensor.strides_.data(),
                     static_cast<int32_t>(tensor.dtype),
                     tensor.rank(),
                     ET_DEVICE_CPU,
                     0};
}

namespace {

et_value int_value(int64_t v) {
  et_value out{};
  out.kind = ET_KIND_INT;
  out.u.as_int = v;
  return out;
}
et_value double_value(double v) {
  et_value out{};
  out.kind = ET_KIND_DOUBLE;
  out.u.as_double = v;
  return out;
}
et_value bool_value(bool v) {
  et_value out{};
  out.kind = ET_KIND_BOOL;
  out.u.as_bool = v ? 1 : 0;
  return out;
}

template <class Items, class Make>
void list_value(const Items& items, Make&& make, NewArray array, et_value& out) {
  out.kind = ET_KIND_LIST;
  out.u.as_list = {nullptr, items.size()};
  if (items.empty()) {
    return;
  }
  et_value* to = array(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    to[i] = make(items[i]);
  }
  out.u.as_list.items = to;
}

}  // namespace

Status to_value(const Value& value, NewArray array, et_value& out) {
  out = et_value{};
  switch (value.kind) {
    case Kind::None:
      return Status::Ok;
    case Kind::Int:
      out = int_value(value.as_int);
      return Status::Ok;
    case Kind::Double:
      out = double_value(value.as_double);
      return Status::Ok;
    case Kind::Bool:
      out = bool_value(value.as_bool);
      return Status::Ok;
    case Kind::String:
      out.kind = ET_KIND_STRING;
      out.u.as_string = {value.as_string.data(), value.as_string.size()};
      return Status::Ok;
    case Kind::Tensor:
      to_value(*value.as_tensor, out);
      return Status::Ok;
    case Kind::IntList: {
      ET_ASSIGN(const std::span<const int64_t> ints, value.as_list->ints());
      list_value(ints, int_value, array, out);
      return Status::Ok;
    }
    case Kind::DoubleList:
      list_value(value.as_list->doubles, double_value, array, out);
      return Status::Ok;
    case Kind::BoolList:
      list_value(
          value.as_list->bools, [](uint8_t b) { return bool_value(b != 0); }, array, out);
      return Status::Ok;
    case Kind::TensorList:
    case Kind::OptionalTensorList: {
      ET_ASSIGN(const std::span<Tensor* const> tensors, value.as_list->optional_tensors());
      const auto make = [](const Tensor* t) {
        et_value item{};
        if (t != nullptr) {
          to_value(*t, item);
        }
        return item;
      };
      list_value(tensors, make, array, out);
      return Status::Ok;
    }
  }
  return Status::Internal;
}

Result<Argument> to_argument(const et_value& value) {
  Argument a;
  switch (value.kind) {
    case ET_KIND_NONE:
      return a;
    case ET_KIND_INT:
      a.kind = Kind::Int;
      a.as_int = value.u.as_int;
      return a;
    case ET_KIND_DOUBLE:
      a.kind = Kind::Double;
      a.as_double = value.u.as_double;
      return a;
    case ET_KIND_BOOL:
      a.kind = Kind::Bool;
      a.as_bool = value.u.as_bool != 0;
      return a;
    case ET_KIND_STRING:
      a.kind = Kind::String;
      a.as_string = value.u.as_string.data == nullptr
                        ? std::string_view{}
                        : std::string_view(value.u.as_string.data, value.u.as_string.size);
      return a;
    case ET_KIND_TENSOR:
      break;
    case ET_KIND_LIST:
      return fail(Status::NotSupported, "a list can't be passed; exported programs take its elements one by one");
    default:
      return fail(Status::InvalidArgument, "a value has the kind {}, which is none", value.kind);
  }
  const et_tensor_view& t = value.u.as_tensor;
  if (!dtype_valid(t.dtype)) {
    return fail(Status::InvalidArgument, "a tensor has the dtype {}, which is none", t.dtype);
  }
  if (t.rank < 0 || t.rank > kMaxRank || (t.rank > 0 && t.sizes == nullptr)) {
    return fail(Status::InvalidArgument, "a tensor has {} dimensions{}, up to {} are possible", t.rank,
                t.rank > 0 && t.sizes == nullptr ? " but no sizes" : "", kMaxRank);
  }
  a.kind = Kind::Tensor;
  a.as_tensor = {t.data,
                 static_cast<DType>(t.dtype),
                 {t.sizes, static_cast<size_t>(t.rank)},
                 t.strides,
                 t.device_type,
                 (value.flags & ET_VALUE_READ_ONLY) != 0};
  return a;
}

namespace {

// A row-major copy of a tensor argument with a hold of its own.
Status clone_tensor(const TensorArgument& from, et_value& out) {
  ET_ASSIGN(const int64_t nbytes, checked_nbytes(from.sizes, from.dtype));
  if (from.device_type != 0) {
    return fail(Status::NotSupported, "the tensor lies on device type {}, only the CPU's can be copied",
                from.device_type);
  }
  auto memory = std::make_shared<GrowingBuffer>();
  const Tensor copy = Tensor::view(memory->reserve(static_cast<size_t>(nbytes)), from.dtype, from.sizes);
  if (copy.numel() > 0) {
    ET_TRY(require(from.data, "the tensor's data"));
    const std::span<const int64_t> strides =
        from.strides != nullptr ? std::span(from.strides, from.sizes.size()) : copy.strides();
    ET_TRY(checked_extent({from.data, from.sizes, strides, copy.element_size()}).status());
    ops::strided_copy(copy.element_size(), copy.sizes(), from.data, strides, copy.data, copy.strides());
  }
  to_value(copy, out);
  take_hold(out, std::move(memory));
  return Status::Ok;
}

// The same with the elements as `dtype`.
Status convert_tensor(const TensorArgument& from, DType dtype, et_value& out) {
  ET_ASSIGN([[maybe_unused]] const int64_t nbytes, checked_nbytes(from.sizes, dtype));
  et_value dense{};
  ET_TRY(clone_tensor(from, dense));
  const std::unique_ptr<Hold> release(static_cast<Hold*>(dense.hold));
  auto memory = std::make_shared<GrowingBuffer>();
  Tensor copy = Tensor::view(nullptr, dtype, from.sizes);
  copy.data = memory->reserve(copy.nbytes());
  if (!convert_run(from.dtype, dense.u.as_tensor.data, 1, dtype, copy.data, 1, copy.numel())) {
    return fail(Status::NotSupported, "{} has no conversion to {}", dtype_name(from.dtype), dtype_name(dtype));
  }
  to_value(copy, out);
  take_hold(out, std::move(memory));
  return Status::Ok;
}

// --- DLPack ---

// What an exported DLPack tensor keeps.
template <class Managed>
struct Exported {
  Managed managed{};
  Hold hold;
};

template <class Managed>
void* export_tensor(const et_value& value, dlpack::DataType dtype) {
  auto* out = new Exported<Managed>;
  const auto& hold = *static_cast<const Hold*>(value.hold);
  const et_tensor_view& t = value.u.as_tensor;
  out->hold.what = hold.what;
  std::copy_n(t.sizes, t.rank, out->hold.sizes.begin());
  std::copy_n(t.strides, t.rank, out->hold.strides.begin());
  int64_t numel = 1;
  for (int32_t d = 0; d < t.rank; ++d) {
    numel *= t.sizes[d];
  }
  out->managed.tensor = {numel == 0 ? nullptr : t.data, {1, 0}, t.rank, dtype, out->hold.sizes.data(),
                         out->hold.strides.data(),      0};
  out->managed.manager_ctx = out;
  out->managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->manager_ctx); };
  return &out->managed;
}

template <class Managed>
std::shared_ptr<const void> owner_of(Managed* managed) {
  return {managed, [](Managed* m) {
            if (m->deleter != nullptr) {
              m->deleter(m);
            }
          }};
}

Status import_tensor(const dlpack::Tensor& t, et_value& out, std::array<int64_t, kMaxRank>& row_major) {
  const auto* code = std::find_if(std::begin(dlpack::kCodes), std::end(dlpack::kCodes), [&](const dlpack::Code& c) {
    return c.code == t.dtype.code && c.bits == t.dtype.bits;
  });
  if (code == std::end(dlpack::kCodes) || t.dtype.lanes != 1) {
    return fail(Status::NotSupported,
                "a DLPack tensor has the type code {} with {} bits and {} lanes, which is no "
                "dtype here",
                t.dtype.code, t.dtype.bits, t.dtype.lanes);
  }
  if (t.ndim < 0 || t.ndim > kMaxRank || (t.ndim > 0 && t.shape == nullptr)) {
    return fail(Status::InvalidArgument, "a DLPack tensor has {} dimensions, up to {} are possible", t.ndim, kMaxRank);
  }
  ET_ASSIGN([[maybe_unused]] const int64_t nbytes, checked_nbytes({t.shape, static_cast<size_t>(t.ndim)}, code->dtype));
  const bool host = t.device.type == 1 || t.device.type == 3;  // CUDA's pinned host memory is the CPU's
  const bool cuda = t.device.type == 2 || t.device.type == 13;
  if (!host && !cuda) {
    return fail(Status::NotSupported, "a DLPack tensor lies on device type {}; copy it to the CPU first",
                t.device.type);
  }
  int64_t stride = 1;
  for (int32_t d = t.ndim; d-- > 0;) {
    row_major[static_cast<size_t>(d)] = stride;
    stride *= std::max<int64_t>(t.shape[d], 1);
  }
  out = et_value{};
  out.kind = ET_KIND_TENSOR;
  out.u.as_tensor = {t.data == nullptr ? nullptr : static_cast<std::byte*>(t.data) + t.byte_offset,
                     t.shape,
                     t.strides != nullptr ? t.strides : row_major.data(),
                     static_cast<int32_t>(code->dtype),
                     t.ndim,
                     cuda ? ET_DEVICE_CUDA : ET_DEVICE_CPU,
                     t.device.id};
  return Status::Ok;
}

}  // namespace
}  // namespace etrt::capi

using namespace etrt;
using namespace etrt::capi;

extern "C" {

size_t et_sizeof_value(void) { return sizeof(et_value); }
size_t et_sizeof_tensor_info(void) { return sizeof(et_tensor_info); }

void et_value_release(et_value* value) {
  if (value == nullptr || value->hold == nullptr) {
    return;
  }
  delete static_cast<Hold*>(value->hold);
  value->hold = nullptr;
}

et_status et_value_clone(const et_value* value, et_value* copy) {
  return guarded([] { return "Failed to copy a value"; },
                 [&]() -> Status {
                   ET_TRY(require(value, "value"));
                   ET_TRY(require(copy, "copy"));
                   if (value->kind == ET_KIND_STRING || value->kind == ET_KIND_LIST) {
                     return fail(Status::NotSupported, "strings and lists can't be cloned; copy their parts");
                   }
                   ET_ASSIGN(const Argument argument, to_argument(*value));
                   if (argument.kind == Kind::Tensor) {
                     return clone_tensor(argument.as_tensor, *copy);
                   }
                   *copy = *value;
                   copy->hold = nullptr;
                   return Status::Ok;
                 });
}

et_status et_value_convert(const et_value* value, int32_t dtype, et_value* copy) {
  return guarded([] { return "Failed to convert a value"; },
                 [&]() -> Status {
                   ET_TRY(require(value, "value"));
                   ET_TRY(require(copy, "copy"));
                   if (value->kind != ET_KIND_TENSOR || !dtype_valid(dtype)) {
                     return fail(Status::InvalidArgument,
                                 "only a tensor can be converted, and to a dtype that there is");
                   }
                   ET_ASSIGN(const Argument argument, to_argument(*value));
                   return convert_tensor(argument.as_tensor, static_cast<DType>(dtype), *copy);
                 });
}

et_status et_value_from_dlpack(void* managed, int32_t versioned, et_value* value) {
  return guarded([] { return "Failed to take a DLPack tensor"; },
                 [&]() -> Status {
                   ET_TRY(require(managed, "managed"));
                   ET_TRY(require(value, "value"));
                   std::array<int64_t, kMaxRank> row_major{};
                   et_value out{};
                   if (versioned == 0) {
                     auto* m = static_cast<dlpack::ManagedTensor*>(managed);
                     ET_TRY(import_tensor(m->tensor, out, row_major));
                     take_hold(out, owner_of(m));
                   } else {
                     auto* m = static_cast<dlpack::ManagedTensorVersioned*>(managed);
                     if (m->version.major != dlpack::kMajor) {
                       return fail(Status::NotSupported, "a DLPack tensor has version {}.{}, expected {}.x",
                                   m->version.major, m->version.minor, dlpack::kMajor);
                     }
                     ET_TRY(import_tensor(m->tensor, out, row_major));
                     out.flags = (m->flags & dlpack::kReadOnly) != 0 ? ET_VALUE_READ_ONLY : 0;
                     take_hold(out, owner_of(m));
                   }
                   *value = out;
                   return Status::Ok;
                 });
}

et_status et_value_to_dlpack(const et_value* value, int32_t versioned, void** managed) {
  return guarded([] { return "Failed to give a DLPack tensor"; },
                 [&]() -> Status {
                   ET_TRY(require(value, "value"));
                   ET_TRY(require(managed, "managed"));
                   if (value->kind != ET_KIND_TENSOR || value->hold == nullptr) {
                     return fail(Status::InvalidArgument, "only a tensor with a hold can be given; see et_value_hold");
                   }
                   const et_tensor_view& t = value->u.as_tensor;
                   const auto* code =
                       std::find_if(std::begin(dlpack::kCodes), std::end(dlpack::kCodes),
                                    [&](const dlpack::Code& c) { return static_cast<int32_t>(c.dtype) == t.dtype; });
                   if (code == std::end(dlpack::kCodes)) {
                     return fail(Status::NotSupported, "DLPack has no type for {}", et_dtype_name(t.dtype));
                   }
                   const dlpack::DataType dtype{code->code, code->bits, 1};
                   if (versioned == 0) {
                     *managed = export_tensor<dlpack::ManagedTensor>(*value, dtype);
                   } else {
                     *managed = export_tensor<dlpack::ManagedTensorVersioned>(*value, dtype);
                     auto* m = static_cast<dlpack::ManagedTensorVersioned*>(*managed);
                     m->version = {dlpack::kMajor, 0};
                     m->flags = (value->flags & ET_VALUE_READ_ONLY) != 0 ? dlpack::kReadOnly : 0;
                   }
                   return Status::Ok;
                 });
}

}  // extern "C"
