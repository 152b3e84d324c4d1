// Bad input gets a status and a text that names the method or file, what was expected, what was found, and what to
// do; and whatever was given it, the object stays usable.
#include <et/module.h>

#include <cstdio>
#include <filesystem>
#include <iterator>
#include <limits>

#include "support.h"

using namespace etrt::test;
using et::Status;
using et::Tensor;

namespace {

// A file with that content, gone with the test.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, std::string_view content)
      : path_((std::filesystem::temp_directory_path() / ("etrt_test_" + name)).string()) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const std::vector<float> kOnes(6, 1.0F);

Tensor ones(std::vector<int64_t> sizes = {2, 3}) { return Tensor::borrow(kOnes.data(), std::move(sizes)); }

// forward(x, y) = x * y + 1, float32[2, 3] each.
et::Method mul_add() { return load_method("python/mul_add_planned_reuse.pte"); }

void check_usable(et::Method& method) {
  const auto outputs = method.run({ones(), ones()});
  REQUIRE(outputs.ok());
  CHECK(values<float>((*outputs)[0]) == std::vector<float>(6, 2.0F));
}

}  // namespace

TEST_CASE("a missing file") {
  check_error(et::Program::load("/nowhere/model.pte"), Status::AccessFailed,
              {"Failed to load program", "/nowhere/model.pte", "No such file"});
}

TEST_CASE("a directory") {
  check_error(et::Program::load(data_path("")), Status::AccessFailed, {data_path(""), "directory"});
}

TEST_CASE("an empty file") {
  const TemporaryFile file("empty.pte", "");
  check_error(et::Program::load(file.path()), Status::InvalidProgram, {file.path(), "empty"});
}

TEST_CASE("a truncated file, at every length") {
  const std::string whole = file_text(data_path("digits.pte"));
  for (size_t size = 0; size < whole.size(); size += 97) {
    const auto program = et::Program::load_copy(as_bytes(whole).first(size));
    check_error(program, Status::InvalidProgram, {"Failed to load program"});
  }
  const TemporaryFile file("truncated.pte", whole.substr(0, whole.size() / 2));
  check_error(et::Program::load(file.path()), Status::InvalidProgram,
              {file.path(), std::to_string(whole.size() / 2), std::to_string(whole.size())});
}

TEST_CASE("a .ptd where a .pte belongs") {
  check_error(et::Program::load(data_path("python/external.ptd")), Status::InvalidProgram,
              {"external.ptd", "a .ptd data file"});
}

TEST_CASE("a .pte where a .ptd belongs") {
  check_error(et::Program::load(data_path("python/external.pte"), {.data_paths = {data_path("python/external.pte")}}),
              Status::InvalidExternalData, {"external.pte"});
}

TEST_CASE("a wrong magic") {
  check_error(et::Program::load(data_path("make_digits.py")), Status::InvalidProgram, {"make_digits.py", "text"});
  std::string other = file_text(data_path("digits.pte"));
  other.replace(4, 4, "XX12");
  check_error(et::Program::load_copy(as_bytes(other)), Status::InvalidProgram, {"not an ExecuTorch program"});
}

TEST_CASE("a missing .ptd names the keys that it should have") {
  const et::Program program = load("python/external.pte");
  check_error(et::Method::load(program, "forward"), Status::InvalidState, {"weight", "bias", ".ptd"});
  check_error(program.can_run(), Status::InvalidState, {"weight", "bias"});
  check_error(et::Program::load(data_path("python/external.pte"), {.data_paths = {"/nowhere/weights.ptd"}}),
              Status::AccessFailed, {"/nowhere/weights.ptd"});

  const et::Program whole = load("python/external.pte", {.data_paths = {data_path("python/external.ptd")}});
  auto outputs = et::Method::load(whole, "forward")->run({ones({3})});
  CHECK(values<float>((*outputs)[0]) == std::vector<float>{3.5F, 12.5F});  // rows 0 1 2 and 3 4 5, plus 0.5
}

TEST_CASE("an unknown method names those there are") {
  const et::Program program = load("python/two_methods.pte");
  const auto method = et::Method::load(program, "decode");
  check_error(method, Status::InvalidArgument, {"decode", "forward", "other"});
  CHECK(method.error().method == "decode");
  CHECK(et::Method::load(program, "other").ok());
}

TEST_CASE("a wrong count of inputs") {
  et::Method method = mul_add();
  check_error(method.set_inputs({ones()}), Status::InvalidArgument, {"forward", "1", "2"});
  check_error(method.set_inputs({ones(), ones(), ones()}), Status::InvalidArgument, {"forward", "3", "2"});
  check_error(method.set_input(2, ones()), Status::InvalidArgument, {"forward", "2"});
  check_usable(method);
}

TEST_CASE("a wrong dtype names both") {
  et::Method method = mul_add();
  const std::vector<int64_t> integers(6);
  const auto refused = method.set_inputs({ones(), Tensor::borrow(integers.data(), {2, 3})});
  check_error(refused, Status::InvalidArgument, {"forward", "input 1", "int64", "float32"});
  CHECK(refused.error().argument == 1);
  CHECK(contains(refused.error().expected, "float32"));
  CHECK(contains(refused.error().found, "int64"));
  check_usable(method);
}

TEST_CASE("a wrong rank") {
  et::Method method = mul_add();
  check_error(method.set_inputs({ones({6}), ones()}), Status::InvalidArgument,
              {"input 0", "float32[2, 3]", "float32[6]"});
  check_usable(method);
}

TEST_CASE("a wrong size of a static dimension") {
  et::Method method = mul_add();
  check_error(method.set_inputs({ones({2, 2}), ones()}), Status::InvalidArgument,
              {"input 0", "float32[2, 3]", "float32[2, 2]"});
  check_error(method.set_inputs({ones({3, 2}), ones()}), Status::InvalidArgument, {"float32[3, 2]"});
  check_usable(method);
}

TEST_CASE("a size out of the range of a dynamic dimension") {
  et::Method method = load_method("python/dynamic.pte");
  const std::vector<float> many(27, 1.0F);
  check_error(method.set_inputs({Tensor::borrow(many.data(), {9, 3})}), Status::InvalidArgument, {"input 0", "9", "8"});
  // As many elements as there may be, but not in these dimensions.
  check_error(method.set_inputs({Tensor::borrow(many.data(), {6, 4})}), Status::InvalidArgument, {"input 0", "4", "3"});
  for (const int64_t n : {1, 8, 3}) {
    const auto outputs = method.run({Tensor::borrow(many.data(), {n, 3})});
    CHECK(values<float>((*outputs)[0]) == std::vector<float>(static_cast<size_t>(3 * n), 2.0F));
  }
}

TEST_CASE("any layout is right: it is read as what it says") {
  et::Method method = mul_add();
  const std::vector<float> x = {0, 3, 1, 4, 2, 5};  // [2, 3] by columns: 0 1 2, 3 4 5
  auto outputs = method.run({Tensor::borrow(x.data(), {2, 3}, {1, 2}), ones()});
  CHECK(values<float>((*outputs)[0]) == std::vector<float>{1, 2, 3, 4, 5, 6});
  outputs = method.run({Tensor::borrow(x.data() + 5, {2, 3}, {-3, -1}), ones()});  // backwards
  CHECK(values<float>((*outputs)[0]) == std::vector<float>{6, 3, 5, 2, 4, 1});
  outputs = method.run({Tensor::borrow(x.data() + 1, {2, 3}, {0, 0}), ones()});  // one element for all
  CHECK(values<float>((*outputs)[0]) == std::vector<float>(6, 4.0F));
}

TEST_CASE("no data, or sizes that can't be") {
  et::Method method = mul_add();
  check_error(method.set_inputs({Tensor::borrow(static_cast<float*>(nullptr), {2, 3}), ones()}),
              Status::InvalidArgument, {"input 0"});
  check_error(method.set_inputs({ones({-2, -3}), ones()}), Status::InvalidArgument, {"input 0"});
  check_error(method.set_inputs({ones(std::vector<int64_t>(40, 1)), ones()}), Status::InvalidArgument, {"input 0"});
  check_usable(method);
}

TEST_CASE("another kind of value") {
  et::Method method = mul_add();
  check_error(method.set_inputs({3, ones()}), Status::InvalidArgument, {"input 0", "float32[2, 3]"});
  check_error(method.set_inputs({ones(), et::Value()}), Status::InvalidArgument, {"input 1", "None"});
  check_error(method.set_inputs({ones(), "text"}), Status::InvalidArgument, {"input 1"});
  check_error(method.set_inputs({ones(), std::vector<et::Value>{1, 2}}), Status::NotSupported, {"input 1", "list"});
  check_usable(method);
}

TEST_CASE("a number other than the program was exported with") {
  et::Method method = load_method("python/scalars.pte");  // x + 2 * 0.5 if true
  const auto infos = load("python/scalars.pte").inputs("forward").value();
  REQUIRE(infos.size() == 4);
  CHECK(infos[1].fixed.as_int().value() == 2);
  CHECK(infos[2].fixed.as_double().value() == 0.5);
  CHECK(infos[3].fixed.as_bool().value());
  check_error(method.set_inputs({ones({3}), 3, 0.5, true}), Status::InvalidArgument, {"input 1", "2", "3"});
  check_error(method.set_inputs({ones({3}), 2, 0.25, true}), Status::InvalidArgument, {"input 2", "0.5", "0.25"});
  check_error(method.set_inputs({ones({3}), 2, 0.5, false}), Status::InvalidArgument, {"input 3"});
  const auto outputs = method.run({ones({3}), 2, 0.5, true});
  CHECK(values<float>((*outputs)[0]) == std::vector<float>(3, 2.0F));
}

TEST_CASE("an input before it was set") {
  et::Method method = mul_add();
  check_error(method.execute(), Status::InvalidState, {"Failed to execute method forward", "input 0"});
  REQUIRE(method.set_input(0, ones()).ok());
  check_error(method.execute(), Status::InvalidState, {"input 1"});
  check_error(method.output(0), Status::InvalidState, {"forward"});
  check_usable(method);
}

TEST_CASE("a refused input leaves the one before it") {
  et::Method method = mul_add();
  REQUIRE(method.set_inputs({ones(), ones()}).ok());
  const std::vector<float> threes(6, 3.0F);
  // The first one is fine, the second isn't: neither changes.
  CHECK_FALSE(method.set_inputs({Tensor::borrow(threes.data(), {2, 3}), ones({6})}).ok());
  REQUIRE(method.execute().ok());
  CHECK(values<float>(*method.output(0)) == std::vector<float>(6, 2.0F));
}

TEST_CASE("an output, attribute or state buffer that doesn't exist") {
  et::Method method = mul_add();
  check_usable(method);
  check_error(method.output(1), Status::InvalidArgument, {"output 1", "1"});
  check_error(method.output_info(7), Status::InvalidArgument, {"output 7"});
  check_error(method.input_info(2), Status::InvalidArgument, {"input 2"});
  check_error(method.attribute("weight"), Status::NotFound, {"weight"});
  check_error(method.state()->info(0), Status::InvalidArgument, {"0"});
  et_value two[2];
  CHECK(et_method_get_outputs(method.raw(), two, 2) == ET_INVALID_ARGUMENT);
}

TEST_CASE("memory that an output doesn't fit") {
  et::Method method = mul_add();
  std::vector<float> room(6);
  check_error(method.set_output(0, Tensor::borrow(room.data(), {5})), Status::InvalidArgument, {"output 0"});
  std::vector<double> doubles(6);
  check_error(method.set_output(0, Tensor::borrow(doubles.data(), {2, 3})), Status::InvalidArgument,
              {"output 0", "float64", "float32"});
  check_error(method.set_output(1, Tensor::borrow(room.data(), {2, 3})), Status::InvalidArgument, {"output 1"});
  check_usable(method);
}

TEST_CASE("options") {
  const et::Program program = load("digits.pte");
  et_method_options options = ET_INIT(et_method_options);
  et_method* method = nullptr;
  options.struct_size = 3;
  CHECK(et_method_load(program.raw(), "forward", &options, &method) == ET_INVALID_ARGUMENT);
  options.struct_size = sizeof(options);
  options.plan = 17;
  CHECK(et_method_load(program.raw(), "forward", &options, &method) == ET_INVALID_ARGUMENT);
  CHECK(contains(et_last_error_text(), "17"));
  CHECK(method == nullptr);
  // A caller of an older version, whose struct ends early.
  options.plan = ET_PLAN_AS_EXPORTED;
  options.struct_size = offsetof(et_method_options, state);
  REQUIRE(et_method_load(program.raw(), "forward", &options, &method) == ET_OK);
  et_method_free(method);
}

TEST_CASE("NULL is refused, or does nothing") {
  et_program* program = nullptr;
  CHECK(et_program_load_file(nullptr, nullptr, &program) == ET_INVALID_ARGUMENT);
  CHECK(et_program_load_file("x", nullptr, nullptr) != ET_OK);
  CHECK(et_program_load_buffer(nullptr, nullptr, &program) == ET_INVALID_ARGUMENT);
  CHECK(et_program_load_source(nullptr, nullptr, &program) == ET_INVALID_ARGUMENT);
  CHECK(et_program_method_count(nullptr) == 0);
  CHECK(et_program_method_name(nullptr, 0) == nullptr);
  CHECK(et_program_can_run(nullptr, nullptr) == ET_INVALID_ARGUMENT);
  CHECK(et_program_describe(nullptr, nullptr) == ET_INVALID_ARGUMENT);
  et_method* method = nullptr;
  CHECK(et_method_load(nullptr, "forward", nullptr, &method) == ET_INVALID_ARGUMENT);
  CHECK(et_method_execute(nullptr) == ET_INVALID_ARGUMENT);
  CHECK(et_method_set_input(nullptr, 0, nullptr) == ET_INVALID_ARGUMENT);
  CHECK(et_method_set_inputs(nullptr, nullptr, 0) == ET_INVALID_ARGUMENT);
  CHECK(et_method_set_output(nullptr, 0, nullptr) == ET_INVALID_ARGUMENT);
  CHECK(et_method_get_output(nullptr, 0, nullptr) == ET_INVALID_ARGUMENT);
  CHECK(et_method_input_count(nullptr) == 0);
  CHECK(et_state_new(nullptr) == ET_INVALID_ARGUMENT);
  CHECK(et_state_count(nullptr) == 0);
  CHECK(et_state_reset(nullptr) == ET_INVALID_ARGUMENT);
  CHECK(et_value_clone(nullptr, nullptr) == ET_INVALID_ARGUMENT);
  CHECK(et_value_hold(nullptr, nullptr) == ET_INVALID_ARGUMENT);
  CHECK(et_value_from_dlpack(nullptr, 0, nullptr) == ET_INVALID_ARGUMENT);
  CHECK(et_register_operator(nullptr, nullptr, nullptr) == ET_INVALID_ARGUMENT);
  CHECK(et_register_backend(nullptr) == ET_INVALID_ARGUMENT);
  et_program_free(nullptr);
  et_method_free(nullptr);
  et_state_free(nullptr);
  et_error_free(nullptr);
  et_value_release(nullptr);
  et_text_free(nullptr);
  et_method_cancel(nullptr);
}

TEST_CASE("numbers that are no dtype or status") {
  CHECK(et_dtype_name(-1) == nullptr);
  CHECK(et_dtype_name(30) == nullptr);
  CHECK(et_dtype_size(99) == 0);
  CHECK(et_dtype_from_name("float33") == -1);
  CHECK(et_dtype_from_name(nullptr) == -1);
  CHECK(std::string(et_status_name(0x7777)) == "Unknown");
  for (int32_t dtype = 0; dtype < 30; ++dtype) {
    CHECK(et_dtype_from_name(et_dtype_name(dtype)) == dtype);
    CHECK(et_dtype_size(dtype) > 0);
  }
}

TEST_CASE("strides that reach beyond any memory") {
  et::Method method = mul_add();
  float memory[6] = {};
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
  const std::vector<std::vector<int64_t>> impossible = {{kFar, 1},     {-kFar - 1, 1}, {kFar / 4, kFar / 4},
                                                        {kFar / 2, 1}, {-kFar / 4, 1}, {1, -kFar / 2}};
  for (const auto& strides : impossible) {
    CAPTURE(strides[0]);
    const Tensor far = Tensor::borrow(memory, {2, 3}, strides);
    check_error(method.set_inputs({far, ones()}), Status::InvalidArgument, {"input 0", "strides"});
    check_error(method.set_output(0, far), Status::InvalidArgument, {"strides", "beyond any memory"});
    check_error(Tensor::copy_of(far), Status::InvalidArgument, {"strides", "beyond any memory"});
  }
  check_usable(method);
}

TEST_CASE("values with fields out of range") {
  et::Method method = mul_add();
  float memory[6] = {};
  const int64_t sizes[] = {2, 3};
  et_value good{};
  good.kind = ET_KIND_TENSOR;
  good.u.as_tensor = {memory, sizes, nullptr, ET_DTYPE_FLOAT32, 2, ET_DEVICE_CPU, 0};
  const auto wrong = [&](auto change) {
    et_value value = good;
    change(value);
    return value;
  };
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  const int64_t negative[] = {-1, 3};
  const et_value bad[] = {
      wrong([](et_value& v) { v.kind = 99; }),
      wrong([](et_value& v) { v.kind = -1; }),
      wrong([](et_value& v) { v.u.as_tensor.dtype = 99; }),
      wrong([](et_value& v) { v.u.as_tensor.dtype = -1; }),
      wrong([](et_value& v) { v.u.as_tensor.rank = -1; }),
      wrong([](et_value& v) { v.u.as_tensor.rank = 1 << 20; }),
      wrong([](et_value& v) { v.u.as_tensor.sizes = nullptr; }),
      wrong([](et_value& v) { v.u.as_tensor.device_type = 77; }),
      wrong([](et_value& v) { v.u.as_tensor.data = nullptr; }),
      wrong([&](et_value& v) { v.u.as_tensor.sizes = huge; }),
      wrong([&](et_value& v) { v.u.as_tensor.sizes = negative; }),
  };
  for (size_t i = 0; i < std::size(bad); ++i) {
    CAPTURE(i);
    et_value out{};
    const et_value both[] = {good, bad[i]};
    CHECK(et_method_set_input(method.raw(), 1, &bad[i]) != ET_OK);
    CHECK(et_method_set_inputs(method.raw(), both, 2) != ET_OK);
    CHECK(et_method_set_output(method.raw(), 0, &bad[i]) != ET_OK);
    CHECK(et_value_clone(&bad[i], &out) != ET_OK);
    CHECK(et_value_convert(&bad[i], ET_DTYPE_INT32, &out) != ET_OK);
    CHECK_FALSE(std::string(et_last_error_text()).empty());
    CHECK(out.hold == nullptr);
  }
  et_value out{};
  for (const int32_t dtype : {-1, 30, 99, 12}) {  // 12: quantized, which has no values
    CHECK(et_value_convert(&good, dtype, &out) != ET_OK);
  }
  void* managed = nullptr;
  CHECK(et_value_to_dlpack(&good, 0, &managed) == ET_INVALID_ARGUMENT);  // it has no hold
  check_usable(method);
}

TEST_CASE("places, counts and names out of range") {
  const et::Program program = load("digits.pte");
  et::Method method = et::Method::load(program, "forward").value();
  constexpr size_t kNone = std::numeric_limits<size_t>::max() / 2;  // some are added to
  et_tensor_info info{};
  et_value value{};
  for (const size_t index : {size_t{1}, size_t{100}, kNone}) {
    CHECK(et_program_input_info(program.raw(), "forward", index, &info) == ET_INVALID_ARGUMENT);
    CHECK(et_program_output_info(program.raw(), "forward", index, &info) == ET_INVALID_ARGUMENT);
    CHECK(et_program_attribute_info(program.raw(), "forward", index + 1000, &info) == ET_INVALID_ARGUMENT);
    CHECK(et_method_input_info(method.raw(), index, &info) == ET_INVALID_ARGUMENT);
    CHECK(et_method_output_info(method.raw(), index, &info) == ET_INVALID_ARGUMENT);
    CHECK(et_method_set_input(method.raw(), index, &value) == ET_INVALID_ARGUMENT);
    CHECK(et_method_set_output(method.raw(), index, nullptr) == ET_INVALID_ARGUMENT);
    CHECK(et_method_get_output(method.raw(), index, &value) == ET_INVALID_ARGUMENT);
    CHECK(et_method_set_inputs(method.raw(), nullptr, index) == ET_INVALID_ARGUMENT);
    CHECK(et_method_get_outputs(method.raw(), nullptr, index) == ET_INVALID_ARGUMENT);
    CHECK(et_program_method_name(program.raw(), index) == nullptr);
    CHECK(et_method_attribute_name(method.raw(), index + 1000) == nullptr);
    CHECK(et_operator_name(index + 100000) == nullptr);
    CHECK(et_backend_name(index + 1000) == nullptr);
  }
  CHECK(et_operator_schema("no::such") == nullptr);
  CHECK(et_backend_is_available("NoSuchBackend") == 0);
  CHECK(et_backend_set_option("NoSuchBackend", "key", &value) == ET_NOT_FOUND);
  CHECK(et_backend_get_option("NoSuchBackend", "key", &value) == ET_NOT_FOUND);
  CHECK(et_method_attribute_get(method.raw(), "no such", &value) == ET_NOT_FOUND);

  et::State state = et::State::make().value();
  char bytes[4] = {};
  CHECK(et_state_info(state.raw(), 0, &info) == ET_INVALID_ARGUMENT);
  CHECK(et_state_read(state.raw(), kNone, bytes, 4) == ET_INVALID_ARGUMENT);
  CHECK(et_state_write(state.raw(), 0, bytes, kNone) == ET_INVALID_ARGUMENT);

  et_program_options options = ET_INIT(et_program_options);
  et_program* none = nullptr;
  options.verification = 5;
  CHECK(et_program_load_file(data_path("digits.pte").c_str(), &options, &none) == ET_INVALID_ARGUMENT);
  options.verification = ET_VERIFY_MINIMAL;
  options.struct_size = 1;
  CHECK(et_program_load_file(data_path("digits.pte").c_str(), &options, &none) == ET_INVALID_ARGUMENT);
  CHECK(none == nullptr);
}
