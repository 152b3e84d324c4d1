#include "ops/elementwise.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "core/scratch.h"

using namespace etrt;

namespace {

// Calls an operator of the table on tensors and numbers.
struct Caller {
  explicit Caller(std::string_view name) : op(find_op(name)) { REQUIRE(op != nullptr); }

  Status operator()(std::vector<Value> values) {
    values.push_back(values.back());  // the return slot
    std::vector<Value*> args;
    for (Value& v : values) {
      args.push_back(&v);
    }
    const ErrorScope errors;
    Call call(*op, args, scratch);
    const Status shaped = op->shape != nullptr ? op->shape(call) : Status::Ok;
    const Status status = shaped == Status::Ok ? op->kernel(call) : shaped;
    scratch.reset();
    return status;
  }

  const Op* op;
  Scratch scratch;
};

template <class T>
Tensor tensor_over(std::vector<T>& data, DType dtype, std::vector<int64_t> sizes, std::vector<uint8_t> order = {}) {
  Tensor t = Tensor::view(data.data(), dtype, sizes, order);
  REQUIRE(t.numel() == static_cast<int64_t>(data.size()));
  return t;
}

}  // namespace

TEST_CASE("broadcasting between layouts") {
  std::vector<float> a(24);
  std::iota(a.begin(), a.end(), 0.0F);
  std::vector<float> b = {100, 200, 300};
  std::vector<float> out(24);
  Tensor self = tensor_over(a, DType::Float32, {2, 3, 4}, {0, 2, 1});
  Tensor other = tensor_over(b, DType::Float32, {3, 1});
  Tensor result = tensor_over(out, DType::Float32, {2, 3, 4}, {2, 1, 0});
  Caller add("aten::add.out");
  REQUIRE(add({Value::of_tensor(&self), Value::of_tensor(&other), Value::of_int(2), Value::of_tensor(&result)}) ==
          Status::Ok);
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      for (int64_t k = 0; k < 4; ++k) {
        const float want = a[static_cast<size_t>(i * 12 + k * 3 + j)] + 2 * b[static_cast<size_t>(j)];
        CHECK(out[static_cast<size_t>(k * 6 + j * 2 + i)] == want);
      }
    }
  }
}

TEST_CASE("large inputs are computed in chunks and in parallel") {
  std::vector<uint8_t> a(200001);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<uint8_t>(i % 251);
  }
  std::vector<int16_t> b(a.size(), 3);
  std::vector<int16_t> out(a.size());
  const auto n = static_cast<int64_t>(a.size());
  Tensor self = tensor_over(a, DType::UInt8, {n});
  Tensor other = tensor_over(b, DType::Int16, {n});
  Tensor result = tensor_over(out, DType::Int16, {n});
  Caller mul("aten::mul.out");
  REQUIRE(mul({Value::of_tensor(&self), Value::of_tensor(&other), Value::of_tensor(&result)}) == Status::Ok);
  size_t wrong = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    wrong += out[i] == a[i] * 3 ? 0U : 1U;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a result in its input's memory") {
  std::vector<float> a = {1, -2, 3, -4};
  Tensor self = tensor_over(a, DType::Float32, {4});
  Caller relu("aten::relu.out");
  REQUIRE(relu({Value::of_tensor(&self), Value::of_tensor(&self)}) == Status::Ok);
  CHECK(a == std::vector<float>{1, 0, 3, 0});
}

TEST_CASE("arguments that don't fit are refused") {
  std::vector<float> a(6);
  std::vector<float> b(4);
  std::vector<int32_t> out(6);
  Tensor self = tensor_over(a, DType::Float32, {2, 3});
  Tensor other = tensor_over(b, DType::Float32, {4});
  Tensor result = tensor_over(out, DType::Int32, {2, 3});
  Caller add("aten::add.out");
  CHECK(add({Value::of_tensor(&self), Value::of_tensor(&other), Value::of_int(1), Value::of_tensor(&self)}) ==
        Status::InvalidArgument);
  CHECK(add({Value::of_tensor(&self), Value::of_tensor(&self), Value::of_int(1), Value::of_tensor(&result)}) ==
        Status::InvalidArgument);
  CHECK(add({Value::of_tensor(&self), Value::of_int(3), Value::of_int(1), Value::of_tensor(&self)}) ==
        Status::InvalidType);
}

TEST_CASE("integers aren't divided by zero") {
  std::vector<int64_t> a = {1, std::numeric_limits<int64_t>::min()};
  std::vector<int64_t> b = {0, -1};
  std::vector<int64_t> out(2);
  Tensor self = tensor_over(a, DType::Int64, {2});
  Tensor other = tensor_over(b, DType::Int64, {2});
  Tensor result = tensor_over(out, DType::Int64, {2});
  for (const char* name : {"aten::floor_divide.out", "aten::remainder.Tensor_out", "aten::fmod.Tensor_out"}) {
    Caller divide(name);
    b[0] = 0;
    CHECK(divide({Value::of_tensor(&self), Value::of_tensor(&other), Value::of_tensor(&result)}) ==
          Status::InvalidArgument);
    b[0] = 1;
    CHECK(divide({Value::of_tensor(&self), Value::of_tensor(&other), Value::of_tensor(&result)}) == Status::Ok);
  }
}
