// State: buffers that live from run to run.
#include "support.h"

using namespace etrt::test;
using et::Status;
using et::Tensor;

namespace {

const std::vector<float> kZeros(6);

// x + the number of runs.
float next_count(et::Method& method) {
  return values<float>(method.run({Tensor::borrow(kZeros.data(), {2, 3})}).value()[0])[0];
}

}  // namespace

TEST_CASE("state is listed, read, written, reset and cloned") {
  et::Method method = load_method("python/counter.pte");
  et::State state = method.state().value();
  REQUIRE(state.count() == 1);
  const et::TensorInfo info = state.info(0).value();
  CHECK(contains(info.name, "runs"));
  CHECK(info.dtype == et::DType::Float32);
  CHECK(info.sizes == std::vector<int64_t>{2, 3});
  CHECK(info.nbytes == 24);
  CHECK(info.is_state);
  CHECK(state.find(info.name) == 0);
  CHECK_FALSE(state.find("nothing").has_value());

  CHECK(next_count(method) == 1);
  CHECK(next_count(method) == 2);
  std::vector<float> runs(6);
  const auto bytes = std::as_writable_bytes(std::span(runs));
  REQUIRE(state.read(0, bytes).ok());
  CHECK(runs == std::vector<float>(6, 2.0F));

  runs.assign(6, 10.0F);
  REQUIRE(state.write(0, bytes).ok());
  CHECK(next_count(method) == 11);

  et::State copy = state.clone().value();
  REQUIRE(state.reset().ok());
  CHECK(next_count(method) == 1);
  REQUIRE(copy.read(0, bytes).ok());
  CHECK(runs == std::vector<float>(6, 11.0F));

  check_error(state.read(0, bytes.first(4)), Status::InvalidArgument, {"24", "4"});
  check_error(state.write(1, bytes), Status::InvalidArgument, {"1"});
}

TEST_CASE("every method has a state of its own unless it is given one") {
  const et::Program program = load("python/counter.pte");
  et::Method first = et::Method::load(program, "forward").value();
  et::Method second = et::Method::load(program, "forward").value();
  CHECK(next_count(first) == 1);
  CHECK(next_count(first) == 2);
  CHECK(next_count(second) == 1);

  et::State shared = et::State::make().value();
  CHECK(shared.count() == 0);
  et::Method third = et::Method::load(program, "forward", {.state = &shared}).value();
  et::Method fourth = et::Method::load(program, "forward", {.state = &shared}).value();
  CHECK(shared.count() == 1);
  CHECK(next_count(third) == 1);
  CHECK(next_count(fourth) == 2);
  CHECK(next_count(third) == 3);
}

TEST_CASE("methods of a program share buffers of equal name") {
  const et::Program program = load("python/shared_state.pte");
  et::State state = et::State::make().value();
  et::Method add = et::Method::load(program, "forward", {.state = &state}).value();
  et::Method peek = et::Method::load(program, "peek", {.state = &state}).value();
  const std::vector<float> x = {1, 2, 3};
  const Tensor input = Tensor::borrow(x.data(), {3});
  REQUIRE(add.run({input}).ok());
  REQUIRE(add.run({input}).ok());
  // peek returns the total plus its input.
  CHECK(values<float>(peek.run({input}).value()[0]) == std::vector<float>{3, 6, 9});
  REQUIRE(state.reset().ok());
  CHECK(values<float>(peek.run({input}).value()[0]) == std::vector<float>{1, 2, 3});
}

TEST_CASE("a clone goes its own way") {
  const et::Program program = load("python/counter.pte");
  et::State state = et::State::make().value();
  et::Method method = et::Method::load(program, "forward", {.state = &state}).value();
  CHECK(next_count(method) == 1);
  et::State fork = state.clone().value();
  et::Method other = et::Method::load(program, "forward", {.state = &fork}).value();
  CHECK(next_count(method) == 2);
  CHECK(next_count(method) == 3);
  CHECK(next_count(other) == 2);
}

TEST_CASE("state outlives its methods") {
  et::State state = et::State::make().value();
  for (int run = 1; run <= 3; ++run) {
    et::Method method = load_method("python/counter.pte", "forward", {.state = &state});
    CHECK(next_count(method) == static_cast<float>(run));
  }
}
