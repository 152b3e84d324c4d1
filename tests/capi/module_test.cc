// The C++ API: Module, and the values it takes.
#include <et/module.h>
#include <et/runtime.h>

#include <cstdio>
#include <filesystem>

#include "support.h"

using namespace etrt::test;
using et::Status;
using et::Tensor;

namespace {

Tensor filled(float number) { return Tensor::of(std::vector<float>(6, number), {2, 3}).value(); }

std::vector<float> first(const et::Result<std::vector<et::Value>>& outputs) {
  return values<float>(outputs.value().at(0));
}

}  // namespace

TEST_CASE("a module loads when it is needed") {
  et::Module module(data_path("python/two_methods.pte"));
  CHECK_FALSE(module.is_loaded());
  CHECK(module.method_names().value() == std::vector<std::string>{"forward", "other"});
  CHECK(module.is_loaded());
  CHECK_FALSE(module.is_method_loaded("other"));
  CHECK(first(module.execute("other", {filled(1), filled(2)})) == std::vector<float>(6, 4.0F));
  CHECK(module.is_method_loaded("other"));
  CHECK_FALSE(module.is_method_loaded("forward"));
  CHECK(module.unload_method("other"));
  CHECK_FALSE(module.unload_method("other"));
  CHECK(first(module.forward({filled(1), filled(2)})) == std::vector<float>(6, 3.0F));
  check_error(module.execute("decode"), Status::InvalidArgument, {"decode", "forward", "other"});
}

TEST_CASE("a module of a file that isn't there") {
  et::Module module("/nowhere/model.pte");
  check_error(module.forward({filled(1)}), Status::AccessFailed, {"/nowhere/model.pte"});
  check_error(module.load(), Status::AccessFailed, {"/nowhere/model.pte"});
  CHECK_FALSE(module.is_loaded());
  et::Module read("/nowhere/model.pte", {.load_mode = et::LoadMode::Read});
  check_error(read.load(), Status::AccessFailed, {"/nowhere/model.pte"});
}

TEST_CASE("inputs stay set: fewer than all keep the rest") {
  et::Module module(data_path("python/mul_add_planned_reuse.pte"));  // x * y + 1
  check_error(module.forward({filled(2)}), Status::InvalidState, {"input 1"});
  CHECK(first(module.forward({filled(2), filled(3)})) == std::vector<float>(6, 7.0F));
  CHECK(first(module.forward({filled(5)})) == std::vector<float>(6, 16.0F));
  CHECK(first(module.forward()) == std::vector<float>(6, 16.0F));
  REQUIRE(module.set_input(filled(10), 1).ok());
  CHECK(first(module.forward()) == std::vector<float>(6, 51.0F));
  CHECK(first(module.forward({filled(1)})) == std::vector<float>(6, 11.0F));
  // A refused one leaves everything as it was.
  CHECK_FALSE(module.forward({Tensor::zeros(et::DType::Float32, {4}).value()}).ok());
  CHECK_FALSE(module.set_input(filled(1), 2).ok());
  CHECK(first(module.forward()) == std::vector<float>(6, 11.0F));
  check_error(module.forward({filled(1), filled(1), filled(1)}), Status::InvalidArgument, {"3", "2"});
}

TEST_CASE("a borrowed input is read at each run") {
  et::Module module(data_path("python/add_one.pte"));
  std::vector<float> x(6, 1.0F);
  REQUIRE(module.set_inputs({Tensor::borrow(x.data(), {2, 3})}).ok());
  x.assign(6, 4.0F);
  CHECK(first(module.forward()) == std::vector<float>(6, 5.0F));
}

TEST_CASE("a result given back, then a part of the inputs anew") {
  et::Module module(data_path("python/mul_add_unplanned_reuse.pte"));
  const et::Value r = module.forward({filled(1), filled(1)}).value()[0];  // 2
  CHECK(first(module.forward({filled(1), r})) == std::vector<float>(6, 3.0F));
  CHECK(first(module.forward({filled(5)})) == std::vector<float>(6, 11.0F));
  CHECK(values<float>(r) == std::vector<float>(6, 2.0F));
}

TEST_CASE("outputs in memory of the caller's") {
  et::Module module(data_path("python/add_one.pte"));
  std::vector<float> room(6);
  REQUIRE(module.set_output(Tensor::borrow(room.data(), {2, 3})).ok());
  REQUIRE(module.forward({filled(1)}).ok());
  CHECK(room == std::vector<float>(6, 2.0F));
}

TEST_CASE("methods of a module share state, modules don't") {
  et::Module module(data_path("python/shared_state.pte"));
  const Tensor x = Tensor::of(std::vector<float>{1, 2, 3}, {3}).value();
  REQUIRE(module.forward({x}).ok());
  const Tensor zeros = Tensor::zeros(et::DType::Float32, {3}).value();  // peek returns the total plus its input
  CHECK(first(module.execute("peek", {zeros})) == std::vector<float>{1, 2, 3});
  CHECK(module.state()->count() == 1);
  module.unload_method("forward");
  REQUIRE(module.forward({x}).ok());
  CHECK(first(module.execute("peek")) == std::vector<float>{2, 4, 6});
  et::Module another(module.program().value());  // the same program, its own state
  CHECK(first(another.execute("peek", {zeros})) == std::vector<float>{0, 0, 0});
}

TEST_CASE("a file read whole may go away") {
  const auto path = std::filesystem::temp_directory_path() / "etrt_test_read.pte";
  std::filesystem::copy_file(data_path("python/add_one.pte"), path, std::filesystem::copy_options::overwrite_existing);
  et::Module module(path.string(), {.load_mode = et::LoadMode::Read});
  REQUIRE(module.load().ok());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << "gone";
  CHECK(first(module.forward({filled(1)})) == std::vector<float>(6, 2.0F));
  std::filesystem::remove(path);
}

TEST_CASE("external weights") {
  et::Module module(data_path("python/external.pte"), {.data_paths = {data_path("python/external.ptd")}});
  const Tensor x = Tensor::of(std::vector<float>{1, 1, 1}, {3}).value();
  CHECK(first(module.forward({x})) == std::vector<float>{3.5F, 12.5F});
}

TEST_CASE("values") {
  CHECK(et::Value().is_none());
  CHECK(et::Value(true).kind() == et::Kind::Bool);
  CHECK(et::Value(3).as_int().value() == 3);
  CHECK(et::Value(uint8_t{200}).as_int().value() == 200);
  CHECK(et::Value(2.5F).as_double().value() == 2.5);
  CHECK(et::Value("text").as_string().value() == "text");
  CHECK(et::Value(std::vector<et::Value>{1, 2.0, "x"}).as_list()->size() == 3);
  check_error(et::Value(3).as_double(), Status::InvalidType, {"int", "double"});
  CHECK_THROWS_AS((void)et::Value(3).as_tensor().value(), et::Exception);
}

TEST_CASE("tensors") {
  CHECK(et::dtype_of<float>() == et::DType::Float32);
  CHECK(et::dtype_of<long long>() == et::DType::Int64);
  CHECK(et::dtype_of<unsigned short>() == et::DType::UInt16);
  CHECK(et::dtype_of<const bool>() == et::DType::Bool);
  CHECK(std::string(et::dtype_name(et::DType::Float8E4M3FN)) == "float8_e4m3fn");

  const Tensor zeros = Tensor::zeros(et::DType::BFloat16, {2, 0, 3}).value();
  CHECK(zeros.numel() == 0);
  CHECK(zeros.is_contiguous());
  check_error(Tensor::zeros(et::DType::Float32, {-1}), Status::InvalidArgument, {"sizes"});
  check_error(Tensor::zeros(et::DType::Float32, {INT64_MAX, 8}), Status::InvalidArgument, {"sizes"});
  check_error(Tensor::of(std::vector<float>(5), {2, 3}), Status::InvalidArgument, {"5", "6"});

  Tensor a = filled(1);
  const Tensor b = a;  // shares memory
  a.values<float>().value()[0] = 9;
  CHECK(values<float>(b)[0] == 9);
  CHECK(b.data<double>() == nullptr);
  check_error(b.values<int32_t>(), Status::InvalidType, {"float32", "int32"});
  CHECK(Tensor().numel() == 0);
}

TEST_CASE("results without exceptions, and with") {
  const et::Result<et::Program> missing = et::Program::load("/nowhere/model.pte");
  CHECK_FALSE(missing);
  CHECK(missing.status() == Status::AccessFailed);
  CHECK_THROWS_WITH_AS((void)missing.value(), doctest::Contains("/nowhere/model.pte"), et::Exception);
  CHECK_THROWS_AS((void)missing->method_names(), et::Exception);
}

TEST_CASE("threads and seeds") {
  const size_t before = et::thread_count();
  et::set_thread_count(3);
  CHECK(et::thread_count() == 3);
  et::set_thread_count(before);
  et::set_seed(1);
  CHECK(std::string(et::version()) == et_version());
}
