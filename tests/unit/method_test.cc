// What a method does with planned memory: reused bytes, views without an instruction, state, jumps, hostile programs.
#include "method/method.h"

#include <doctest/doctest.h>

#include <array>

#include "core/error.h"
#include "unit/method_builder.h"

using namespace etrt;
using namespace etrt::test;

namespace {

constexpr std::array<int64_t, 1> kTwo = {2};

ValueSpec planned(uint64_t offset, std::vector<int32_t> sizes = {2}) {
  std::vector<uint8_t> dim_order;
  for (size_t d = 0; d < sizes.size(); ++d) {
    dim_order.push_back(static_cast<uint8_t>(d));
  }
  return ValueSpec::of(TensorSpec{.sizes = std::move(sizes), .dim_order = dim_order, .planned = {{1, offset}}});
}

InstructionSpec call(int32_t op, std::vector<int32_t> args) { return {.first = op, .args = std::move(args)}; }
InstructionSpec jump_false(int32_t condition, int32_t target) {
  return {.kind = fb::InstructionArguments::JumpFalseCall, .first = condition, .second = target};
}

// Operators of every program here, by index.
enum : int32_t { kNeg, kAdd, kCopyInPlace, kEtView };

// A method of float32 values; values are numbered as given, the int 1 and the bool false come after them.
std::shared_ptr<Method> method_of(std::vector<ValueSpec> values, std::vector<int32_t> inputs,
                                  std::vector<int32_t> outputs, std::vector<InstructionSpec> instructions,
                                  MethodOptions options = {}) {
  values.push_back(ValueSpec::of(int64_t{1}));
  values.push_back({.kind = fb::KernelTypes::Bool, .number = 0});
  MethodSpec method;
  method.values = std::move(values);
  method.inputs = std::move(inputs);
  method.outputs = std::move(outputs);
  method.operators = {
      {"aten::neg", "out"}, {"aten::add", "out"}, {"aten::copy_", ""}, {"executorch_prim::et_view", "default"}};
  method.instructions = std::move(instructions);
  method.buffer_sizes = {0, 128};
  return load_method(method, options);
}

void set(Method& method, size_t index, float* data, std::span<const int64_t> sizes = kTwo) {
  set_tensor(method, index, DType::Float32, data, sizes);
}

ValueSpec flag_tensor() { return ValueSpec::of(TensorSpec{.dtype = static_cast<int>(DType::Bool), .sizes = {1}}); }

void set_flag(Method& method, size_t index, bool& flag) {
  constexpr std::array<int64_t, 1> kOne = {1};
  set_tensor(method, index, DType::Bool, &flag, kOne);
}

std::vector<float> run(Method& method) {
  REQUIRE(method.execute() == Status::Ok);
  return output<float>(method);
}

}  // namespace

TEST_CASE("bytes of an input that the plan uses again are the method's, never the caller's") {
  // 1 = -0; 2 = -1, planned where 0 is.
  const auto method =
      method_of({planned(0), planned(16), planned(0)}, {0}, {2}, {call(kNeg, {0, 1, 1}), call(kNeg, {1, 2, 2})});
  float x[] = {1, 2};
  set(*method, 0, x);
  CHECK(!method->plan()->inputs[0].copied);
  for (int i = 0; i < 3; ++i) {
    CHECK(run(*method) == std::vector<float>{1, 2});
    CHECK(x[0] == 1);
  }
  x[0] = 5;
  CHECK(run(*method) == std::vector<float>{5, 2});
}

TEST_CASE("a view of an input has no instruction: it is read from the caller's memory too") {
  // 1 lies where 0 does and nothing writes it; 2 = -1.
  const auto method =
      method_of({planned(0), planned(0, {2, 1}), planned(32, {2, 1})}, {0}, {2}, {call(kNeg, {1, 2, 2})});
  REQUIRE(method->plan()->inputs[0].views.size() == 1);
  CHECK(method->plan()->state.empty());
  float x[] = {1, 2};
  set(*method, 0, x);
  CHECK(run(*method) == std::vector<float>{-1, -2});
  float y[] = {7, 8};
  set(*method, 0, y);
  CHECK(run(*method) == std::vector<float>{-7, -8});
}

TEST_CASE("a view of what replaced the input is not a view of the input") {
  // 1 = 0 + 0 at 16; 2 = 1 + 1 where 0 was; 3 is a view of 2; 4 = -3.
  const auto method = method_of({planned(0), planned(16), planned(0), planned(0, {2, 1}), planned(32, {2, 1})}, {0},
                                {4}, {call(kAdd, {0, 0, 5, 1, 1}), call(kAdd, {1, 1, 5, 2, 2}), call(kNeg, {3, 4, 4})});
  CHECK(method->plan()->inputs[0].views.empty());
  float x[] = {1, 2};
  set(*method, 0, x);
  CHECK(run(*method) == std::vector<float>{-4, -8});
  CHECK(run(*method) == std::vector<float>{-4, -8});
}

TEST_CASE("a view that a run jumps over is not the last run's") {
  // 2 = a view of 0 unless 1 is false; 3 = -2. Values 4 and 5 are the view's sizes, 6 is 1.
  const auto method = method_of({planned(0), flag_tensor(), planned(16, {2, 1}), planned(32, {2, 1}),
                                 ValueSpec::of(int64_t{2}), ValueSpec::list(fb::KernelTypes::IntList, {4, 6})},
                                {0, 1}, {3}, {jump_false(1, 2), call(kEtView, {0, 5, 2}), call(kNeg, {2, 3, 3})});
  bool taken = true;
  set_flag(*method, 1, taken);
  {
    std::vector<float> x = {1, 2};
    set(*method, 0, x.data());
    CHECK(run(*method) == std::vector<float>{-1, -2});
  }
  std::vector<float> y = {5, 6};
  set(*method, 0, y.data());
  taken = false;
  CHECK(run(*method) == std::vector<float>{0, 0});  // its own planned memory, which nothing has written
  taken = true;
  CHECK(run(*method) == std::vector<float>{-5, -6});
}

TEST_CASE("sizes of one run are not read from the smaller memory of another") {
  // 2 = -0, in memory of its own, unless 1 is false; 3 = -2.
  const auto unbound = [] { return ValueSpec::of(TensorSpec{.sizes = {0}, .dynamism = 2}); };
  const auto method = method_of({unbound(), flag_tensor(), unbound(), unbound()}, {0, 1}, {3},
                                {jump_false(1, 2), call(kNeg, {0, 2, 2}), call(kNeg, {2, 3, 3})});
  bool taken = true;
  set_flag(*method, 1, taken);
  std::vector<float> x(1000, 1);
  const auto run_with = [&](int64_t size) {
    const std::array<int64_t, 1> sizes = {size};
    set(*method, 0, x.data(), sizes);
    return method->execute();
  };
  const auto held = [&] {
    const auto value = method->output(0);
    REQUIRE(value.ok());
    const void* data = (*value)->as_tensor->data;
    const auto hold = method->hold(data, (*value)->as_tensor->nbytes());
    REQUIRE(hold.ok());
    return hold->memory;
  };
  REQUIRE(run_with(1) == Status::Ok);
  auto small = held();
  REQUIRE(run_with(1000) == Status::Ok);
  const auto large = held();
  small.reset();
  taken = false;  // the run comes to read 2 in the memory of the first run
  CHECK(run_with(1000) == Status::InvalidProgram);
}

TEST_CASE("a named buffer without planned memory is state") {
  // 2 = 0 + 1; 0 = 2.
  const ValueSpec named = ValueSpec::of(TensorSpec{.name = "total"});
  const auto method = method_of({named, planned(0), planned(16)}, {1}, {2},
                                {call(kAdd, {0, 1, 3, 2, 2}), call(kCopyInPlace, {0, 2, 4, 0})});
  REQUIRE(method->state()->count() == 1);
  CHECK(method->state()->at(0)->name == "total");
  float x[] = {1, 10};
  set(*method, 0, x);
  CHECK(run(*method) == std::vector<float>{1, 10});
  CHECK(run(*method) == std::vector<float>{2, 20});
  CHECK(method->state()->reset() == Status::Ok);
  CHECK(run(*method) == std::vector<float>{1, 10});
}

TEST_CASE("memory that is read before it is written is state") {
  // 2 = 0 + 1; 0 = 2.
  const auto make = [](MethodOptions options = {}) {
    return method_of({planned(0), planned(16), planned(32)}, {1}, {2},
                     {call(kAdd, {0, 1, 3, 2, 2}), call(kCopyInPlace, {0, 2, 4, 0})}, options);
  };
  const auto method = make();
  REQUIRE(method->plan()->state.size() == 1);
  CHECK(method->state()->count() == 1);
  float x[] = {1, 10};
  set(*method, 0, x);
  CHECK(run(*method) == std::vector<float>{1, 10});
  CHECK(run(*method) == std::vector<float>{2, 20});

  SUBCASE("it is read, written and reset") {
    float now[2] = {};
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(now));
    REQUIRE(method->state()->read(0, bytes) == Status::Ok);
    CHECK(now[1] == 20);
    now[1] = 100;
    REQUIRE(method->state()->write(0, bytes) == Status::Ok);
    CHECK(run(*method) == std::vector<float>{3, 110});
    REQUIRE(method->state()->reset() == Status::Ok);
    CHECK(run(*method) == std::vector<float>{1, 10});
  }
  SUBCASE("a clone goes on from there, on its own") {
    auto clone = method->state()->clone();
    REQUIRE(clone.ok());
    const auto other = make({.state = *clone});
    set(*other, 0, x);
    CHECK(run(*other) == std::vector<float>{3, 30});
    CHECK(run(*method) == std::vector<float>{3, 30});
  }
  SUBCASE("a held output doesn't move it") {
    const auto value = method->output(0);
    REQUIRE(value.ok());
    const void* data = (*value)->as_tensor->data;
    const auto hold = method->hold(data, 8);
    REQUIRE(hold.ok());
    CHECK(run(*method) == std::vector<float>{3, 30});
    CHECK(static_cast<const float*>(data)[1] == 20);
  }
}

TEST_CASE("memory that only one branch writes is state") {
  // if false: 0 = -1.  2 = -0.
  const auto method = method_of({planned(0), planned(16), planned(32)}, {1}, {2},
                                {jump_false(4, 2), call(kNeg, {1, 0, 0}), call(kNeg, {0, 2, 2})});
  REQUIRE(method->plan()->state.size() == 1);
  float x[] = {1, 2};
  set(*method, 0, x);
  CHECK(run(*method) == std::vector<float>{0, 0});
}

TEST_CASE("an input that is written in place starts over when planned, keeps the write when not") {
  for (const bool is_planned : {true, false}) {
    // 0 += 0 by way of 1: 1 = 0 + 0; 0 = 1.
    ValueSpec input = is_planned ? planned(0) : ValueSpec::of(TensorSpec{});
    const auto method =
        method_of({input, planned(16)}, {0}, {1}, {call(kAdd, {0, 0, 2, 1, 1}), call(kCopyInPlace, {0, 1, 3, 0})});
    CHECK(method->info().inputs[0].written);
    float x[] = {1, 2};
    set(*method, 0, x);
    CHECK(run(*method) == std::vector<float>{2, 4});
    CHECK(x[1] == (is_planned ? 2 : 4));
    CHECK(run(*method) == (is_planned ? std::vector<float>{2, 4} : std::vector<float>{4, 8}));
  }
}

TEST_CASE("a constant that the program writes is a copy of the method's own") {
  // 0 (stored: 10, 20) = -1; 2 = -0.
  const auto make = [] {
    return method_of({ValueSpec::of(TensorSpec{.data_buffer_idx = 1}), planned(0), planned(16)}, {1}, {2},
                     {call(kAdd, {0, 1, 3, 2, 2}), call(kNeg, {1, 0, 0})});
  };
  const auto method = make();
  float x[] = {1, 2};
  set(*method, 0, x);
  CHECK(run(*method) == std::vector<float>{11, 22});
  CHECK(run(*method) == std::vector<float>{0, 0});
}

TEST_CASE("an input that is a constant of the file is given, and the file stays as it is") {
  // 2 = -0 (stored: 10, 20), 3 = -another value of the same bytes.
  const auto stored = [] { return ValueSpec::of(TensorSpec{.data_buffer_idx = 1}); };
  const auto method = method_of({stored(), stored(), planned(0), planned(16)}, {0}, {2, 3},
                                {call(kNeg, {0, 2, 2}), call(kNeg, {1, 3, 3})});
  float x[] = {1, 0, 2};
  Argument strided;  // has to be converted
  strided.kind = Kind::Tensor;
  constexpr std::array<int64_t, 1> kStrides = {2};
  strided.as_tensor = {.data = x, .dtype = DType::Float32, .sizes = kTwo, .strides = kStrides.data()};
  REQUIRE(method->set_input(0, strided) == Status::Ok);
  for (int i = 0; i < 2; ++i) {
    CHECK(run(*method) == std::vector<float>{-1, -2});
    CHECK(output<float>(*method, 1) == std::vector<float>{-10, -20});
  }
}

TEST_CASE("hostile programs end with a status") {
  ErrorScope scope;
  float x[] = {1, 2};
  SUBCASE("a tensor that nothing wrote is read") {
    const auto method =
        method_of({planned(0), ValueSpec::of(TensorSpec{}), planned(16)}, {0}, {2}, {call(kNeg, {1, 2, 2})});
    set(*method, 0, x);
    CHECK(method->execute() == Status::InvalidProgram);
    CHECK(scope.lines().text().find("value 1") != std::string::npos);
  }
  SUBCASE("a loop without an end") {
    const auto method =
        method_of({planned(0), planned(16)}, {0}, {1}, {call(kNeg, {0, 1, 1}), jump_false(3, 0)}, {.step_limit = 1000});
    set(*method, 0, x);
    CHECK(method->execute() == Status::InvalidProgram);
    CHECK(scope.lines().text().find("1000 instructions") != std::string::npos);
  }
  SUBCASE("an output that no run writes") {
    const auto method = method_of({planned(0), ValueSpec::of(TensorSpec{})}, {0}, {1}, {});
    set(*method, 0, x);
    REQUIRE(method->execute() == Status::Ok);
    CHECK(method->output(0).status() == Status::InvalidState);
  }
  SUBCASE("memory beyond the limit") {
    const auto method = method_of({planned(0), planned(16)}, {0}, {1}, {call(kNeg, {0, 1, 1})});
    CHECK(Method::load(method->plan(), {.memory_limit = 100}).status() == Status::MemoryAllocationFailed);
  }
}

TEST_CASE("memory planned on a device that isn't here is named together with what else is missing") {
  FileSpec file;
  file.methods[0].devices = {{1, 1}};
  const auto status_of = [](const FileSpec& spec, std::initializer_list<const char*> parts) {
    auto program = Program::load(Source::copy(build_program(spec), "a test program"));
    REQUIRE(program.ok());
    ErrorScope scope;
    const Status status = scope.failed(check_runnable(**program, 0), "Failed");
    for (const char* part : parts) {
      CHECK_MESSAGE(last_error().text.find(part) != std::string::npos, last_error().text);
    }
    return status;
  };
  CHECK(status_of(file, {"memory buffer 1 on device CUDA"}) == Status::NotSupported);
  file.methods[0].operators = {{"missing::op", "out"}};
  CHECK(status_of(file, {"missing::op.out", "memory buffer 1 on device CUDA"}) == Status::OperatorMissing);
}
