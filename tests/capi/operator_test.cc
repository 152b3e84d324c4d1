// Operators of the caller's.
#include <et/op.h>
#include <et/runtime.h>

#include <algorithm>
#include <stdexcept>

#include "support.h"

using namespace etrt::test;
using et::Status;
using et::Tensor;

namespace {

// The program runs testing::scale.out(x + 1, 3.0) under another name of 14 letters.
et::Program custom(std::string_view name) { return load_renamed("python/custom.pte", "testing::scale", name); }

const std::vector<float> kX = {0, 1, 2};

et::Result<std::vector<et::Value>> run(const et::Program& program) {
  et::Result<et::Method> method = et::Method::load(program, "forward");
  if (!method) {
    return method.error();
  }
  return method->run({Tensor::borrow(kX.data(), {3})});
}

et::Result<void> scale(et::Call& call) {
  const auto x = call.tensor(0).value();
  const auto by = static_cast<float>(call.number(1).value());
  if (auto done = call.resize(2, x.sizes()); !done) {
    return done;
  }
  const auto from = x.values<float>().value();
  const auto to = call.tensor(2)->values<float>().value();
  std::transform(from.begin(), from.end(), to.begin(), [by](float v) { return v * by; });
  return {};
}

}  // namespace

TEST_CASE("a missing operator is named with its count, at load") {
  const et::Program program = custom("missing::scale");
  const auto method = et::Method::load(program, "forward");
  check_error(method, Status::OperatorMissing, {"forward", "missing::scale.out", "1 call", "et_register_operator"});
  CHECK(method.error().op == "missing::scale.out");
  check_error(program.can_run("forward"), Status::OperatorMissing, {"missing::scale.out"});
  check_error(program.can_run(), Status::OperatorMissing, {"missing::scale.out"});
}

TEST_CASE("an operator with a schema") {
  const et::Program program = custom("schema1::scale");
  CHECK_FALSE(run(program).ok());
  REQUIRE(et::register_operator("schema1::scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)", scale).ok());
  // The same program, now that there is one.
  CHECK(values<float>(run(program).value()[0]) == std::vector<float>{3, 6, 9});
  const auto names = et::operator_names();
  CHECK(std::binary_search(names.begin(), names.end(), "schema1::scale.out"));
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(names.size() == et_operator_count());
  CHECK(et_operator_name(names.size()) == nullptr);
  CHECK(et::operator_schema("schema1::scale.out") == "(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)");
  CHECK(et::operator_schema("aten::relu.out") == "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
  CHECK(et_operator_schema("schema1::scale") == nullptr);
  CHECK(et_operator_schema(nullptr) == nullptr);
}

TEST_CASE("an operator without a schema") {
  REQUIRE(et::register_operator("noschem::scale.out", scale).ok());
  CHECK(values<float>(run(custom("noschem::scale")).value()[0]) == std::vector<float>{3, 6, 9});
  CHECK(et_operator_schema("noschem::scale.out") == std::string());
}

TEST_CASE("a schema that is none") {
  const char* bad[] = {"schema2::scale.out(Tensor x",
                       "schema2::scale.out(Tensor x)",
                       "schema2::scale.out(Tensor x) ->",
                       "schema2::scale.out(Tensr x) -> Tensor",
                       "schema2::scale.out(Tensor) -> Tensor",
                       "schema2::scale.out(Tensor x y) -> Tensor",
                       "schema2::scale.out(Tensor x,, Tensor y) -> Tensor",
                       "schema2::scale.out(Tensor x, Tensor x) -> Tensor",
                       "schema2::scale.out(Tensor 2x) -> Tensor",
                       "schema2::scale.out(Tensor x) -> (Tensor",
                       "schema2::scale.out(Tensor[ x) -> Tensor"};
  for (const char* schema : bad) {
    CAPTURE(schema);
    check_error(et::register_operator(schema, scale), Status::InvalidArgument, {"schema"});
  }
  CHECK(et::register_operator("schema2::scale.out(Tensor x, Tensor? y=None, int[2] dims=[0, 1], *, Scalar alpha=1, "
                              "Tensor(a!)[] out) -> (Tensor(a!)[])",
                              scale)
            .ok());
}

TEST_CASE("arguments that are only read say so, and can't be resized") {
  const auto look = [](et::Call& call) -> et::Result<void> {
    CHECK(call.raw_args()[0].flags == ET_VALUE_READ_ONLY);
    CHECK(call.raw_args()[2].flags == 0);
    const std::vector<int64_t> sizes = {2};
    check_error(call.resize(0, sizes), Status::InvalidArgument, {"argument 0", "only read"});
    return scale(call);
  };
  REQUIRE(et::register_operator("schema3::scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)", look).ok());
  CHECK(values<float>(run(custom("schema3::scale")).value()[0]) == std::vector<float>{3, 6, 9});
}

TEST_CASE("a name that is taken, or none") {
  REQUIRE(et::register_operator("taken::op.out", scale).ok());
  check_error(et::register_operator("taken::op.out", scale), Status::RegistrationAlreadyRegistered, {"taken::op.out"});
  check_error(et::register_operator("aten::add.out", scale), Status::RegistrationAlreadyRegistered, {"aten::add.out"});
  check_error(et::register_operator("", scale), Status::InvalidArgument, {"operator"});
  check_error(et::register_operator("broken::op.out(Tensor x", scale), Status::InvalidArgument, {"broken::op.out"});
}

TEST_CASE("what an operator says when it fails is in the error") {
  REQUIRE(et::register_operator("failing::scal2.out", [](et::Call&) -> et::Result<void> {
            return et::Error(Status::NotSupported, "the flux is too low");
          }).ok());
  et::register_operator("fail001::scale.out", [](et::Call&) -> et::Result<void> {
    return et::Error(Status::NotSupported, "the flux is too low");
  }).value();
  const auto failed = run(custom("fail001::scale"));
  check_error(failed, Status::NotSupported,
              {"Failed to execute method forward", "fail001::scale.out", "the flux is too low"});
  CHECK(failed.error().op == "fail001::scale.out");
}

TEST_CASE("an operator that throws fails the run") {
  et::register_operator("throw01::scale.out", [](et::Call&) -> et::Result<void> {
    throw std::runtime_error("thrown on purpose");
  }).value();
  check_error(run(custom("throw01::scale")), Status::Internal, {"throw01::scale.out", "thrown on purpose"});
}

TEST_CASE("a status without a text") {
  const et_operator_fn fn = [](et_call*, et_value*, size_t, void*) -> et_status { return ET_NOT_FOUND; };
  REQUIRE(et_register_operator("quiet01::scale.out", fn, nullptr) == ET_OK);
  check_error(run(custom("quiet01::scale")), Status::NotFound, {"quiet01::scale.out", "NotFound"});
}

TEST_CASE("arguments, temporary memory, resizing") {
  et::register_operator("poke001::scale.out", [](et::Call& call) -> et::Result<void> {
    CHECK(call.arg_count() == 4);  // x, by, out, and the return slot
    CHECK(call.method_name() == "forward");
    CHECK(call.kind(1) == et::Kind::Double);
    CHECK(call.raw_args()[2].u.as_tensor.data == call.raw_args()[3].u.as_tensor.data);
    check_error(call.integer(0), Status::InvalidType, {"argument 0", "tensor", "int"});
    check_error(call.tensor(9), Status::InvalidArgument, {"argument 9", "4"});
    auto* temp = static_cast<char*>(call.temp(1000));
    CHECK(temp != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(temp) % 64 == 0);
    std::memset(temp, 1, 1000);
    CHECK(call.temp(SIZE_MAX / 2) == nullptr);
    const int64_t too_many[] = {2, 2};
    CHECK_FALSE(call.resize(2, too_many).ok());
    CHECK_FALSE(call.resize(1, {}).ok());
    check_error(call.named_data("key"), Status::NotSupported, {"delegates"});
    return scale(call);
  }).value();
  CHECK(values<float>(run(custom("poke001::scale")).value()[0]) == std::vector<float>{3, 6, 9});
}

TEST_CASE("an operator may run another method") {
  et::register_operator("nested1::scale.out", [](et::Call& call) -> et::Result<void> {
    // Its failure is its own affair: nothing of it may show in this call's outcome.
    CHECK_FALSE(et::Program::load("/nowhere").ok());
    et::Method inner = load_method("python/add_one.pte");
    const std::vector<float> zeros(6);
    CHECK(inner.run({Tensor::borrow(zeros.data(), {2, 3})}).ok());
    return scale(call);
  }).value();
  CHECK(run(custom("nested1::scale")).ok());
}
