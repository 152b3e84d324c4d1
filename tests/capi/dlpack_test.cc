// DLPack both ways. The structures are declared here from the published layout.
#include <et/module.h>

#include <cstdint>

#include "support.h"

using namespace etrt::test;
using et::Status;
using et::Tensor;

namespace {

struct Device {
  int32_t type;
  int32_t id;
};
struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct Managed {
  DLTensor tensor;
  void* manager;
  void (*deleter)(Managed*);
};
struct ManagedVersioned {
  uint32_t major;
  uint32_t minor;
  void* manager;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  DLTensor tensor;
};

constexpr DataType kFloat32{2, 32, 1};

// A producer of a float32[2, 3] that counts how often it is told to let go.
struct Producer {
  float data[7] = {-1, 0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  int deleted = 0;
  Managed managed{};
  ManagedVersioned versioned{};

  Producer() {
    const DLTensor tensor{data, {1, 0}, 2, kFloat32, shape, strides, sizeof(float)};
    managed = {tensor, this, [](Managed* self) { ++static_cast<Producer*>(self->manager)->deleted; }};
    versioned = {1, 0,     this, [](ManagedVersioned* self) { ++static_cast<Producer*>(self->manager)->deleted; },
                 0, tensor};
  }
};

}  // namespace

TEST_CASE("a DLPack tensor is an input, and let go once") {
  for (const bool versioned : {false, true}) {
    CAPTURE(versioned);
    Producer producer;
    {
      void* raw = versioned ? static_cast<void*>(&producer.versioned) : static_cast<void*>(&producer.managed);
      const Tensor tensor = Tensor::from_dlpack(raw, versioned).value();
      CHECK(tensor.dtype() == et::DType::Float32);
      CHECK(tensor.data() == producer.data + 1);  // byte_offset counts
      et::Method method = load_method("python/add_one.pte");
      CHECK(values<float>(method.run({tensor}).value()[0]) == std::vector<float>{1, 2, 3, 4, 5, 6});
      CHECK(producer.deleted == 0);
    }
    CHECK(producer.deleted == 1);
  }
}

TEST_CASE("a DLPack tensor that is refused stays the caller's") {
  Producer producer;
  producer.managed.tensor.dtype.lanes = 4;
  check_error(Tensor::from_dlpack(&producer.managed, false), Status::NotSupported, {"DLPack"});
  producer.managed.tensor.dtype = {2, 128, 1};
  CHECK_FALSE(Tensor::from_dlpack(&producer.managed, false).ok());
  producer.managed.tensor.dtype = kFloat32;
  producer.managed.tensor.ndim = 99;
  CHECK_FALSE(Tensor::from_dlpack(&producer.managed, false).ok());
  producer.versioned.major = 7;
  check_error(Tensor::from_dlpack(&producer.versioned, true), Status::NotSupported, {"7"});
  CHECK(producer.deleted == 0);
}

TEST_CASE("a result as a DLPack tensor outlives its value and method") {
  for (const bool versioned : {false, true}) {
    CAPTURE(versioned);
    void* raw = nullptr;
    {
      et::Method method = load_method("python/add_one.pte");
      const std::vector<float> x = {0, 1, 2, 3, 4, 5};
      REQUIRE(method.set_inputs({Tensor::borrow(x.data(), {2, 3})}).ok());
      REQUIRE(method.execute().ok());
      et_value value{};
      REQUIRE(et_method_get_output(method.raw(), 0, &value) == ET_OK);
      CHECK(et_value_to_dlpack(&value, versioned, &raw) == ET_INVALID_ARGUMENT);  // not held
      REQUIRE(et_value_hold(method.raw(), &value) == ET_OK);
      REQUIRE(et_value_to_dlpack(&value, versioned, &raw) == ET_OK);
      et_value_release(&value);
    }
    const DLTensor& tensor =
        versioned ? static_cast<ManagedVersioned*>(raw)->tensor : static_cast<Managed*>(raw)->tensor;
    CHECK(tensor.ndim == 2);
    CHECK(tensor.shape[1] == 3);
    CHECK(tensor.dtype.code == 2);
    CHECK(tensor.dtype.bits == 32);
    CHECK((static_cast<const float*>(tensor.data))[5] == 6.0F);
    if (versioned) {
      CHECK(static_cast<ManagedVersioned*>(raw)->major == 1);
      static_cast<ManagedVersioned*>(raw)->deleter(static_cast<ManagedVersioned*>(raw));
    } else {
      static_cast<Managed*>(raw)->deleter(static_cast<Managed*>(raw));
    }
  }
}

TEST_CASE("a copy of a value is row-major and its own") {
  const std::vector<float> x = {0, 3, 1, 4, 2, 5};
  const Tensor by_columns = Tensor::borrow(x.data(), {2, 3}, {1, 2});
  CHECK_FALSE(by_columns.is_contiguous());
  check_error(by_columns.values<float>(), Status::NotSupported, {"copy_of"});
  const Tensor copy = Tensor::copy_of(by_columns).value();
  CHECK(values<float>(copy) == std::vector<float>{0, 1, 2, 3, 4, 5});
}
