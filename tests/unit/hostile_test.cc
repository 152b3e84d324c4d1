// Programs that mean harm: what a kernel reads is planned over what it writes, memory without end.
#include <doctest/doctest.h>

#include <new>
#include <numeric>

#include "core/error.h"
#include "method/method.h"
#include "method/overlap.h"
#include "unit/method_builder.h"

using namespace etrt;
using namespace etrt::test;

namespace {

constexpr int kFloat32 = 6;
constexpr int kInt64 = 4;

ValueSpec tensor(int dtype, std::vector<int32_t> sizes, std::optional<uint64_t> offset, int dynamism = 0) {
  TensorSpec spec{.dtype = dtype, .sizes = std::move(sizes)};
  spec.dim_order.resize(spec.sizes.size());
  std::iota(spec.dim_order.begin(), spec.dim_order.end(), uint8_t{0});
  spec.dynamism = dynamism;
  if (offset) {
    spec.planned = {{1, *offset}};
  }
  return ValueSpec::of(spec);
}

struct OneMethod {
  std::vector<ValueSpec> values;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<std::pair<std::string, std::string>> operators;
  std::vector<InstructionSpec> instructions;
};

std::shared_ptr<Method> load(const OneMethod& spec, const MethodOptions& options = {}) {
  return load_method({.values = spec.values,
                      .inputs = spec.inputs,
                      .outputs = spec.outputs,
                      .operators = spec.operators,
                      .instructions = spec.instructions,
                      .buffer_sizes = {0, 1024}},
                     options);
}

template <class T>
void set(Method& method, size_t index, std::vector<T>& data, std::vector<int64_t> sizes) {
  set_tensor(method, index, std::is_same_v<T, float> ? DType::Float32 : DType::Int64, data.data(), sizes);
}

}  // namespace

TEST_CASE("indices that lie in the cache that they index") {
  // 2 = -0: indices, over positions 0 and 1 of cache 3.
  const auto method = load({{tensor(kInt64, {1, 2}, 512), tensor(kInt64, {1, 2, 1, 1}, 256), tensor(kInt64, {1, 2}, 0),
                             tensor(kInt64, {1, 4, 1, 1}, 0), ValueSpec::of(int64_t{0}), tensor(kInt64, {1}, 768)},
                            {0, 1},
                            {3},
                            {{"aten::neg", "out"}, {"llama::update_cache_with_indices", "out"}},
                            {{.first = 0, .args = {0, 2, 2}}, {.first = 1, .args = {1, 3, 4, 2, 5, 5}}}});
  std::vector<int64_t> negated = {-1, 0};
  std::vector<int64_t> value = {int64_t{1} << 40, 7};
  set(*method, 0, negated, {1, 2});
  set(*method, 1, value, {1, 2, 1, 1});
  REQUIRE(method->execute() == Status::Ok);
  const std::vector<int64_t> cache = output<int64_t>(*method);
  CHECK(cache[1] == int64_t{1} << 40);
  CHECK(cache[0] == 7);
}

TEST_CASE("indices that lie in the output") {
  // 2 = -0: indices, 3 = self[indices], over the indices.
  const auto method = load({{tensor(kInt64, {3}, 512), tensor(kInt64, {3}, 256), tensor(kInt64, {3}, 0),
                             tensor(kInt64, {3}, 8), ValueSpec::of(int64_t{0})},
                            {0, 1},
                            {3},
                            {{"aten::neg", "out"}, {"aten::index_select", "out"}},
                            {{.first = 0, .args = {0, 2, 2}}, {.first = 1, .args = {1, 4, 2, 3, 3}}}});
  std::vector<int64_t> negated = {-2, -1, 0};
  std::vector<int64_t> self = {int64_t{1} << 40, int64_t{1} << 41, int64_t{1} << 42};
  set(*method, 0, negated, {3});
  set(*method, 1, self, {3});
  REQUIRE(method->execute() == Status::Ok);
  CHECK(output<int64_t>(*method) == std::vector<int64_t>{self[2], self[1], self[0]});
}

TEST_CASE("indices in a list that lie in the output, and are the output") {
  // 2 = -0; 3 = [2]; index_put_(2, 3, 1): the indices are what is written.
  const auto method = load({{tensor(kInt64, {2}, 512),
                             tensor(kInt64, {2}, 256),
                             tensor(kInt64, {2}, 0),
                             ValueSpec::list(fb::KernelTypes::OptionalTensorList, {2}),
                             {.kind = fb::KernelTypes::Bool, .number = 0}},
                            {0, 1},
                            {2},
                            {{"aten::neg", "out"}, {"aten::index_put_", ""}},
                            {{.first = 0, .args = {0, 2, 2}}, {.first = 1, .args = {2, 3, 1, 4, 2}}}});
  std::vector<int64_t> negated = {-1, 0};
  std::vector<int64_t> values = {int64_t{1} << 40, int64_t{1} << 41};
  set(*method, 0, negated, {2});
  set(*method, 1, values, {2});
  REQUIRE(method->execute() == Status::Ok);
  CHECK(output<int64_t>(*method) == std::vector<int64_t>{values[1], values[0]});
}

TEST_CASE("two outputs that share memory are refused") {
  const auto program = [](uint64_t offset) {
    return OneMethod{{tensor(kInt64, {4}, 512),
                      tensor(kInt64, {4}, 0),
                      tensor(kInt64, {4}, offset),
                      ValueSpec::of(int64_t{0}),
                      {.kind = fb::KernelTypes::Bool, .number = 0},
                      ValueSpec::list(fb::KernelTypes::TensorList, {1, 2})},
                     {0},
                     {1, 2},
                     {{"aten::sort", "values"}},
                     {{.first = 0, .args = {0, 3, 4, 1, 2, 5}}}};
  };
  std::vector<int64_t> x = {4, int64_t{1} << 40, 2, 1};
  for (const uint64_t offset : {0, 8, 24}) {
    const auto method = load(program(offset));
    set(*method, 0, x, {4});
    ErrorScope scope;
    CHECK(method->execute() == Status::InvalidProgram);
    CHECK(scope.lines().text().find("share memory") != std::string::npos);
  }
  const auto method = load(program(32));
  set(*method, 0, x, {4});
  REQUIRE(method->execute() == Status::Ok);
  CHECK(output<int64_t>(*method, 1) == std::vector<int64_t>{3, 2, 0, 1});
}

TEST_CASE("elementwise: a part of the input lies in the output") {
  for (const uint64_t offset : {0, 4, 8}) {
    // 1 = -0 at 4; 2 = -1 before, in and after its place.
    const auto method = load({{tensor(kFloat32, {4}, 512), tensor(kFloat32, {4}, 4), tensor(kFloat32, {4}, offset)},
                              {0},
                              {2},
                              {{"aten::neg", "out"}},
                              {{.first = 0, .args = {0, 1, 1}}, {.first = 0, .args = {1, 2, 2}}}});
    std::vector<float> x = {1, 2, 3, 4};
    set(*method, 0, x, {4});
    REQUIRE(method->execute() == Status::Ok);
    CHECK(output<float>(*method) == x);
  }
}

TEST_CASE("elementwise: an output that grows is an input too") {
  // 1 = 0 (one element, may grow to three); 1 = 1 + 2 (three).
  const auto method = load(
      {{tensor(kFloat32, {1}, 512), tensor(kFloat32, {3}, 0, 1), tensor(kFloat32, {3}, 256), ValueSpec::of(int64_t{1})},
       {0, 2},
       {1},
       {{"aten::neg", "out"}, {"aten::add", "out"}},
       {{.first = 0, .args = {0, 1, 1}}, {.first = 1, .args = {1, 2, 3, 1, 1}}}});
  std::vector<float> x = {-10};
  std::vector<float> y = {1, 2, 3};
  set(*method, 0, x, {1});
  set(*method, 1, y, {3});
  REQUIRE(method->execute() == Status::Ok);
  CHECK(output<float>(*method) == std::vector<float>{11, 12, 13});
}

TEST_CASE("a run's own memory is limited too") {
  // 1 = bincount(0, minlength 2): temporary memory and an output without bounds.
  const auto program = [](int64_t minlength) {
    return OneMethod{{tensor(kInt64, {2}, 0),
                      tensor(kInt64, {0}, std::nullopt, 2),
                      {.kind = fb::KernelTypes::Null},
                      ValueSpec::of(minlength)},
                     {0},
                     {1},
                     {{"aten::bincount", "out"}},
                     {{.first = 0, .args = {0, 2, 3, 1, 1}}}};
  };
  std::vector<int64_t> x = {3, 3};
  const auto small = load(program(100), {.memory_limit = 64 << 10});
  set(*small, 0, x, {2});
  REQUIRE(small->execute() == Status::Ok);
  CHECK(output<int64_t>(*small)[3] == 2);

  const auto large = load(program(1 << 20), {.memory_limit = 64 << 10});
  set(*large, 0, x, {2});
  ErrorScope scope;
  CHECK_THROWS_AS((void)large->execute(), std::bad_alloc);
  CHECK(scope.lines().text().find("the limit is 65536") != std::string::npos);
  CHECK_THROWS_AS((void)large->execute(), std::bad_alloc);  // it stays usable
}
