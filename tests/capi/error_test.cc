// Errors as texts and objects, and the log.
#include <et/log.h>

#include <atomic>
#include <thread>

#include "support.h"

using namespace etrt::test;

namespace {

et_status fail_to_load(const char* path = "/nowhere/model.pte") {
  et_program* program = nullptr;
  return et_program_load_file(path, nullptr, &program);
}

}  // namespace

TEST_CASE("only a failing call changes the last error") {
  CHECK(fail_to_load() == ET_ACCESS_FAILED);
  CHECK(et_last_error_status() == ET_ACCESS_FAILED);
  const std::string text = et_last_error_text();
  CHECK(contains(text, "Failed to load program /nowhere/model.pte, error: 0x22: "));
  et_program* program = nullptr;
  REQUIRE(et_program_load_file(data_path("digits.pte").c_str(), nullptr, &program) == ET_OK);
  CHECK(et_program_method_count(program) == 1);
  et_program_free(program);
  CHECK(et_last_error_text() == text);
  CHECK(fail_to_load("/elsewhere") == ET_ACCESS_FAILED);
  CHECK_FALSE(contains(et_last_error_text(), "nowhere"));
}

TEST_CASE("each thread has its own") {
  CHECK(fail_to_load() == ET_ACCESS_FAILED);
  std::string text = "unset";
  std::thread([&] { text = et_last_error_text(); }).join();
  CHECK(text.empty());
}

TEST_CASE("an error is taken as an object, once, to any thread") {
  CHECK(fail_to_load() == ET_ACCESS_FAILED);
  const std::string text = et_last_error_text();
  et_error* error = et_last_error_take();
  REQUIRE(error != nullptr);
  CHECK(et_last_error_take() == nullptr);
  CHECK(std::string(et_last_error_text()).empty());
  CHECK(et_last_error_status() == ET_OK);
  std::thread([&] {
    CHECK(et_error_status(error) == ET_ACCESS_FAILED);
    CHECK(et_error_text(error) == text);
    CHECK(et_error_argument(error) == -1);
    et_error_free(error);
  }).join();
}

TEST_CASE("error texts are the same with the log on") {
  CHECK(fail_to_load() == ET_ACCESS_FAILED);
  const std::string silent = et_last_error_text();
  static std::atomic<int> lines{0};
  static std::string last;
  et::set_log_callback([](et::LogLevel level, std::string_view line) {
    CHECK(level == et::LogLevel::Error);
    last = line;
    ++lines;
  });
  et::set_log_level(et::LogLevel::Error);
  CHECK(fail_to_load() == ET_ACCESS_FAILED);
  CHECK(et_last_error_text() == silent);
  CHECK(lines >= 1);
  CHECK(contains(last, "/nowhere/model.pte"));
  et::set_log_level(et::LogLevel::Off);
  const int before = lines;
  CHECK(fail_to_load() == ET_ACCESS_FAILED);
  CHECK(lines == before);
  et::set_log_callback({});
}

TEST_CASE("statuses have ExecuTorch's names and numbers") {
  CHECK(std::string(et_status_name(ET_OK)) == "Ok");
  CHECK(std::string(et_status_name(0x12)) == "InvalidArgument");
  CHECK(std::string(et_status_name(0x14)) == "OperatorMissing");
  CHECK(std::string(et_status_name(0x20)) == "NotFound");
  CHECK(std::string(et_status_name(0x23)) == "InvalidProgram");
  CHECK(std::string(et_status_name(0x32)) == "DelegateInvalidHandle");
}
