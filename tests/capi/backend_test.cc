// Delegates of the caller's. The program is add_one lowered to a backend, whose name the tests replace.
#include <et/backend.h>
#include <et/runtime.h>

#include <algorithm>

#include "support.h"

using namespace etrt::test;
using et::Status;
using et::Tensor;

namespace {

et::Program delegated(std::string_view backend) {
  return load_renamed("add_one__xnnpack.pte", "XnnpackBackend", backend);
}

struct Counts {
  int loaded = 0;
  int destroyed = 0;
};

class AddOne : public et::Delegate {
 public:
  explicit AddOne(Counts& counts) : counts_(counts) {}
  ~AddOne() override { ++counts_.destroyed; }
  et::Result<void> execute(et::Call& call) override {
    // The exporter passes the number 1 as a first input.
    const size_t out = call.arg_count() - 1;
    const et::TensorView in = call.tensor(out - 1).value();
    if (auto done = call.resize(out, in.sizes()); !done) {
      return done;
    }
    const auto from = in.values<float>().value();
    const auto to = call.tensor(out)->values<float>().value();
    std::transform(from.begin(), from.end(), to.begin(), [](float v) { return v + 1; });
    return {};
  }

 private:
  Counts& counts_;
};

class AddOneBackend : public et::Backend {
 public:
  explicit AddOneBackend(Counts& counts) : counts_(counts) {}
  et::Result<std::unique_ptr<et::Delegate>> load(et::Call& call, std::span<const std::byte> payload,
                                                 std::span<const et::CompileSpec>) override {
    CHECK(call.method_name() == "forward");
    CHECK(payload.size() > 100);
    CHECK(payload[0] != std::byte{0xff});
    CHECK_FALSE(call.named_data("no such key").ok());
    ++counts_.loaded;
    return std::unique_ptr<et::Delegate>(std::make_unique<AddOne>(counts_));
  }
  et::Result<void> set_option(std::string_view key, const et_value& value) override {
    if (key != "level") {
      return et::Backend::set_option(key, value);
    }
    level_ = value.u.as_int;
    return {};
  }
  et::Result<void> get_option(std::string_view key, et_value& value) override {
    if (key != "level") {
      return et::Backend::get_option(key, value);
    }
    value = et::Value(level_).raw();
    return {};
  }

 private:
  Counts& counts_;
  int64_t level_ = 0;
};

class Refusing : public et::Backend {
 public:
  et::Result<std::unique_ptr<et::Delegate>> load(et::Call&, std::span<const std::byte>,
                                                 std::span<const et::CompileSpec>) override {
    return et::Error(Status::DelegateInvalidCompatibility, "the payload is for a newer device");
  }
};

class Unavailable : public Refusing {
 public:
  bool is_available() override { return false; }
};

// The shape of add_one's input.
std::vector<int64_t> input_sizes(const et::Program& program) { return program.inputs("forward").value()[0].sizes; }

}  // namespace

TEST_CASE("a missing backend is named with its count, at load") {
  const et::Program program = delegated("MissingBackend");
  const auto method = et::Method::load(program, "forward");
  check_error(method, Status::NotFound, {"forward", "MissingBackend", "1 call", "et_register_backend"});
  check_error(program.can_run(), Status::NotFound, {"MissingBackend"});
  const std::string json = program.describe().value();
  CHECK(contains(json, "\"backend\": \"MissingBackend\", \"calls\": 1"));
}

TEST_CASE("a backend runs its part of a program") {
  static Counts counts;
  REQUIRE(et::register_backend("TestingBackend", std::make_unique<AddOneBackend>(counts)).ok());
  CHECK(et::backend_is_available("TestingBackend"));
  const auto names = et::backend_names();
  CHECK(std::find(names.begin(), names.end(), "TestingBackend") != names.end());
  const et::Program program = delegated("TestingBackend");
  {
    et::Method method = et::Method::load(program, "forward").value();
    CHECK(counts.loaded == 1);
    const std::vector<int64_t> sizes = input_sizes(program);
    Tensor x = Tensor::zeros(et::DType::Float32, sizes).value();
    for (int run = 0; run < 2; ++run) {
      const auto outputs = method.run({x}).value();
      CHECK(values<float>(outputs[0]) == std::vector<float>(static_cast<size_t>(x.numel()), 1.0F));
    }
    CHECK(counts.destroyed == 0);
  }
  CHECK(counts.destroyed == 1);

  const et_value level = et::Value(7).raw();
  CHECK(et_backend_set_option("TestingBackend", "level", &level) == ET_OK);
  et_value got{};
  CHECK(et_backend_get_option("TestingBackend", "level", &got) == ET_OK);
  CHECK(got.u.as_int == 7);
  CHECK(et_backend_set_option("TestingBackend", "depth", &level) == ET_NOT_SUPPORTED);
  CHECK(contains(et_last_error_text(), "depth"));
  CHECK(et_backend_set_option("NoBackend", "level", &level) == ET_NOT_FOUND);

  check_error(et::register_backend("TestingBackend", std::make_unique<Refusing>()),
              Status::RegistrationAlreadyRegistered, {"TestingBackend"});
}

TEST_CASE("what a backend says when it refuses is in the error") {
  REQUIRE(et::register_backend("RefuseBackend1", std::make_unique<Refusing>()).ok());
  check_error(et::Method::load(delegated("RefuseBackend1"), "forward"), Status::DelegateInvalidCompatibility,
              {"Failed to load method forward", "RefuseBackend1", "newer device"});
}

TEST_CASE("a backend that isn't available") {
  REQUIRE(et::register_backend("UnavailBackend", std::make_unique<Unavailable>()).ok());
  CHECK_FALSE(et::backend_is_available("UnavailBackend"));
  CHECK_FALSE(et::backend_is_available("NoBackend"));
  check_error(et::Method::load(delegated("UnavailBackend"), "forward"), Status::NotFound, {"UnavailBackend"});
}

TEST_CASE("a backend needs a name, init and execute") {
  et_backend backend = ET_INIT(et_backend);
  CHECK(et_register_backend(&backend) == ET_INVALID_ARGUMENT);
  backend.name = "Half";
  CHECK(et_register_backend(&backend) == ET_INVALID_ARGUMENT);
  CHECK(contains(et_last_error_text(), "init"));
}
