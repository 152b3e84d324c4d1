// Where programs come from, and what they say of themselves.
#include <atomic>
#include <memory>

#include "support.h"

using namespace etrt::test;
using et::Status;
using et::Tensor;

namespace {

void check_runs(const et::Program& program) {
  et::Method method = et::Method::load(program, "forward").value();
  const std::vector<float> image(64, 3.0F);
  const std::vector<float> got = values<float>(method.run({Tensor::borrow(image.data(), {1, 1, 8, 8})}).value()[0]);
  float sum = 0;
  for (const float probability : got) {
    sum += probability;
  }
  CHECK(sum == doctest::Approx(1.0));
}

}  // namespace

TEST_CASE("from a buffer that is copied") {
  et::Result<et::Program> program = [] {
    const std::string bytes = file_text(data_path("digits.pte"));
    return et::Program::load_copy(as_bytes(bytes));
  }();
  check_runs(*program);
}

TEST_CASE("from a buffer used in place, at any alignment, released once") {
  const std::string file = file_text(data_path("digits.pte"));
  for (size_t shift = 0; shift < 17; shift += 3) {
    auto bytes = std::make_shared<std::string>(std::string(shift, 'x') + file);
    const std::weak_ptr<std::string> watch = bytes;
    {
      const et::Program program =
          et::Program::load_shared(as_bytes(*bytes).subspan(shift), std::shared_ptr<const void>(bytes)).value();
      bytes.reset();
      check_runs(program);
      CHECK_FALSE(watch.expired());
    }
    CHECK(watch.expired());
  }
}

TEST_CASE("a refused buffer is released too") {
  auto bytes = std::make_shared<std::string>("not a program");
  const std::weak_ptr<std::string> watch = bytes;
  const auto view = as_bytes(*bytes);
  CHECK_FALSE(et::Program::load_shared(view, std::move(bytes)).ok());
  CHECK(watch.expired());
}

TEST_CASE("from callbacks") {
  const auto file = std::make_shared<std::string>(file_text(data_path("digits.pte")));
  const std::weak_ptr<std::string> watch = file;
  std::atomic<uint64_t> bytes_read{0};
  {
    et::Source source;
    source.size = file->size();
    source.name = "the test's own";
    source.read = [file, &bytes_read](uint64_t offset, std::span<std::byte> to) {
      if (offset + to.size() > file->size()) {
        return false;
      }
      bytes_read += to.size();
      std::memcpy(to.data(), file->data() + offset, to.size());
      return true;
    };
    const et::Program program = et::Program::load(std::move(source)).value();
    check_runs(program);
    CHECK(bytes_read > 0);
  }
  CHECK(watch.use_count() == 1);
}

TEST_CASE("callbacks that fail, at every read") {
  const std::string file = file_text(data_path("digits.pte"));
  for (int good_reads = 0;; ++good_reads) {
    int reads = 0;
    et::Source source;
    source.size = file.size();
    source.name = "a broken disk";
    source.read = [&](uint64_t offset, std::span<std::byte> to) {
      std::memcpy(to.data(), file.data() + offset, to.size());
      return reads++ < good_reads;
    };
    const auto program = et::Program::load(std::move(source));
    if (!program) {
      check_error(program, Status::AccessFailed, {"a broken disk"});
      continue;
    }
    const auto method = et::Method::load(*program, "forward");
    if (!method) {
      check_error(method, Status::AccessFailed, {"a broken disk"});
      continue;
    }
    CHECK(reads <= good_reads);
    break;
  }
}

TEST_CASE("a program's methods, inputs and outputs, without loading one") {
  const et::Program program = load("digits.pte");
  CHECK(program.method_names() == std::vector<std::string>{"forward"});
  CHECK(program.can_run().ok());
  const auto inputs = program.inputs("forward").value();
  REQUIRE(inputs.size() == 1);
  CHECK(et::describe(inputs[0]) == "float32[≤64, ≤1, ≤8, ≤8]");
  CHECK(inputs[0].dim_order == std::vector<uint8_t>{0, 1, 2, 3});
  CHECK(inputs[0].nbytes == 64 * 64 * 4);
  CHECK_FALSE(inputs[0].written);
  const auto outputs = program.outputs("forward").value();
  REQUIRE(outputs.size() == 1);
  CHECK(outputs[0].sizes == std::vector<int64_t>{64, 10});
  check_error(program.inputs("backward"), Status::InvalidArgument, {"backward", "forward"});
}

TEST_CASE("the description is JSON with everything in it") {
  const std::string digits = load("digits.pte").describe().value();
  CHECK(digits.front() == '{');
  CHECK(digits.back() == '}');
  for (const char* part : {"\"methods\": [{\"name\": \"forward\"", "\"can_run\": true", "\"dtype\": \"float32\"",
                           "\"name\": \"aten::convolution.out\", \"calls\": 2, \"available\": true", "\"arenas\": [",
                           "\"state\": []", "\"segments\": [", "\"delegates\": []"}) {
    CAPTURE(part);
    CHECK(contains(digits, part));
  }
  const std::string counter = load("python/counter.pte").describe().value();
  CHECK(contains(counter, "runs"));
  CHECK(contains(counter, "\"nbytes\": 24"));
  const std::string custom = load_renamed("python/custom.pte", "testing::scale", "nowhere::scale").describe().value();
  CHECK(contains(custom, "\"name\": \"nowhere::scale.out\", \"calls\": 1, \"available\": false"));
  CHECK(contains(custom, "\"can_run\": false"));
  CHECK(contains(custom, "\"state\": null"));
}

TEST_CASE("versions and sizes that bindings check") {
  CHECK(std::string(et_version()).find('.') != std::string::npos);
  CHECK(et_abi_version() >= 1);
  CHECK(et_sizeof_value() == 64);
  CHECK(sizeof(et_value) == 64);
  CHECK(et_sizeof_tensor_info() == 128);
  CHECK(sizeof(et_tensor_info) == 128);
}
