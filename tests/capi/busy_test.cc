// A second thread on a method, or on a method sharing its state; cancelling; freeing while it runs.
#include <et/op.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "support.h"

using namespace etrt::test;
using et::Status;
using et::Tensor;

namespace {

// An operator that waits until it is let go.
struct Gate {
  std::atomic<bool> entered{false};
  std::atomic<bool> open{false};
  std::atomic<bool> fails{false};
};
Gate gate;

et::Result<void> wait_at_gate(et::Call& call) {
  gate.entered = true;
  while (!gate.open) {
    std::this_thread::yield();
  }
  if (gate.fails) {
    return et::Error(Status::InvalidArgument, "the gate stays shut");
  }
  const auto from = call.tensor(0)->values<float>().value();
  const auto to = call.tensor(2)->values<float>().value();
  std::copy(from.begin(), from.end(), to.begin());
  return {};
}

et::Program gated_program() {
  static const bool registered = et::register_operator("waiting::scale.out", wait_at_gate).ok();
  REQUIRE(registered);
  return load_renamed("python/custom.pte", "testing::scale", "waiting::scale");
}

const std::vector<float> kX = {1, 2, 3};
Tensor input() { return Tensor::borrow(kX.data(), {3}); }

// Runs `method` on another thread, up to the gate.
std::thread run_to_gate(et_method* method, et_status& status) {
  gate.entered = false;
  gate.open = false;
  std::thread thread([method, &status] { status = et_method_execute(method); });
  while (!gate.entered) {
    std::this_thread::yield();
  }
  return thread;
}

}  // namespace

TEST_CASE("a second thread on a busy method is refused, and nothing is harmed") {
  et::Method method = et::Method::load(gated_program(), "forward").value();
  REQUIRE(method.set_inputs({input()}).ok());
  et_status status = ET_INTERNAL;
  std::thread thread = run_to_gate(method.raw(), status);
  check_error(method.execute(), Status::InvalidState, {"forward", "thread"});
  check_error(method.set_inputs({input()}), Status::InvalidState, {"forward"});
  check_error(method.set_input(0, input()), Status::InvalidState, {"forward"});
  check_error(method.output(0), Status::InvalidState, {"forward"});
  gate.open = true;
  thread.join();
  CHECK(status == ET_OK);
  CHECK(values<float>(*method.output(0)) == std::vector<float>{2, 3, 4});
}

TEST_CASE("a run is cancelled before its next step") {
  et::Method method = et::Method::load(gated_program(), "forward").value();
  REQUIRE(method.set_inputs({input()}).ok());
  et_status status = ET_OK;
  std::thread thread = run_to_gate(method.raw(), status);
  method.cancel();
  gate.open = true;
  thread.join();
  // The gate may have been the last step: then there was nothing left to stop.
  CHECK((status == ET_INVALID_STATE || status == ET_OK));
  CHECK(method.execute().ok());
}

TEST_CASE("a method freed while another thread runs it goes away when that run ends") {
  et_method* method = nullptr;
  REQUIRE(et_method_load(gated_program().raw(), "forward", nullptr, &method) == ET_OK);
  const et_value x = et::Value(input()).raw();
  const int64_t sizes[] = {3};
  et_value kept = x;
  kept.u.as_tensor.sizes = sizes;
  REQUIRE(et_method_set_input(method, 0, &kept) == ET_OK);
  et_status status = ET_INTERNAL;
  std::thread thread = run_to_gate(method, status);
  SUBCASE("and succeeds") { gate.fails = false; }
  SUBCASE("and fails: the text of its error needs the method too") { gate.fails = true; }
  et_method_free(method);
  gate.open = true;
  thread.join();
  CHECK(status == (gate.fails ? ET_INVALID_ARGUMENT : ET_OK));
  gate.fails = false;
}

TEST_CASE("methods that share a state run one at a time") {
  et::State state = et::State::make().value();
  const et::Program program = gated_program();
  et::Method first = et::Method::load(program, "forward", {.state = &state}).value();
  et::Method second = et::Method::load(program, "forward", {.state = &state}).value();
  REQUIRE(first.set_inputs({input()}).ok());
  REQUIRE(second.set_inputs({input()}).ok());
  et_status status = ET_INTERNAL;
  std::thread thread = run_to_gate(first.raw(), status);
  check_error(second.execute(), Status::InvalidState, {"forward", "state"});
  check_error(state.reset(), Status::InvalidState, {"state"});
  gate.open = true;
  thread.join();
  CHECK(status == ET_OK);
  CHECK(second.execute().ok());
}
