// Whatever the bytes are, loading them fails with a text or gives a program that keeps its promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/error.h"
#include "fuzz/walk_program.h"
#include "program/program.h"
#include "unit/program_builder.h"

using namespace etrt;

namespace {

void expect(bool true_) {
  if (!true_) {
    std::abort();
  }
}

// A program whose constant lies in a .ptd file.
const test::Buffer& program_without_data() {
  static const test::Buffer bytes = [] {
    test::FileSpec spec;
    spec.methods[0].values[0].tensor = {.name = "weight", .location = 1};
    return test::build_program(spec);
  }();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const Source source = Source::borrow(bytes, nullptr, "the fuzzed bytes");
  const bool is_data_file = size >= 8 && std::memcmp(data + 4, "FT01", 4) == 0;
  ErrorScope scope;
  const auto program = is_data_file
                           ? Program::load(Source::borrow(program_without_data(), nullptr, "the program"), {&source, 1})
                           : Program::load(source);
  if (program.ok()) {
    test::ProgramWalk(**program).run();
  } else {
    expect(!scope.lines().text().empty());
  }
  return 0;
}
