#include "program/program.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "core/error.h"
#include "fuzz/walk_program.h"
#include "unit/program_builder.h"

using namespace etrt;
using namespace etrt::test;

namespace {

using ProgramPtr = std::shared_ptr<const Program>;

std::string data_path(const std::string& name) { return format_text("{}/{}", ETRT_TEST_DATA, name); }

Buffer read_data(const std::string& name) {
  std::ifstream file(data_path(name), std::ios::binary);
  REQUIRE(file.good());
  return bytes_of_text({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

Source memory(const Buffer& bytes, std::string name = "the program") { return Source::copy(bytes, std::move(name)); }

// What a load gave, and what was said about it.
struct Loaded {
  Status status = Status::Ok;
  ProgramPtr program;
  std::string text;
  bool says(std::string_view part) const { return text.find(part) != std::string::npos; }
};

Loaded load(const Source& source, const std::vector<Source>& data_files = {}) {
  ErrorScope scope;
  auto result = Program::load(source, data_files);
  return {result.status(), result.ok() ? *result : nullptr, scope.lines().text()};
}
Loaded load(const Buffer& bytes) { return load(memory(bytes)); }
Loaded load(const FileSpec& spec) { return load(build_program(spec)); }

Loaded load_path(const std::string& path) {
  ErrorScope scope;
  const auto source = Source::file(path);
  if (!source.ok()) {
    return {source.status(), nullptr, scope.lines().text()};
  }
  return load(*source);
}

Loaded require_data(const Program& program, size_t method = 0) {
  ErrorScope scope;
  const Status status = program.require_data(method);
  return {status, nullptr, scope.lines().text()};
}

#define CHECK_REFUSED(loaded, expected_status, ...)                                             \
  do {                                                                                          \
    const Loaded refused_ = (loaded);                                                           \
    CHECK(refused_.status == (expected_status));                                                \
    for (const char* part : std::vector<const char*>{__VA_ARGS__}) {                            \
      CHECK_MESSAGE(refused_.says(part), refused_.text, "\n  should say: ", std::string(part)); \
    }                                                                                           \
  } while (false)

// The default program with one thing changed.
Loaded changed(const std::function<void(FileSpec&, MethodSpec&)>& change) {
  FileSpec spec;
  change(spec, spec.methods[0]);
  return load(spec);
}
Loaded changed_tensor(const std::function<void(TensorSpec&)>& change, size_t value = 1) {
  return changed([&](FileSpec&, MethodSpec& method) { change(method.values[value].tensor); });
}

std::vector<float> floats(Result<std::span<const std::byte>> bytes) {
  REQUIRE(bytes.ok());
  std::vector<float> numbers(bytes->size() / sizeof(float));
  if (!numbers.empty()) {
    std::memcpy(numbers.data(), bytes->data(), bytes->size());
  }
  return numbers;
}

const fb::Tensor& tensor_at(const Program& program, size_t value, size_t method = 0) {
  return *program.method(method).values()->Get(static_cast<flatbuffers::uoffset_t>(value))->val_as_Tensor();
}

struct TemporaryFile {
  explicit TemporaryFile(const Buffer& bytes, const std::string& name = "file.pte")
      : path((std::filesystem::temp_directory_path() / format_text("etrt-{}-{}", getpid(), name)).string()) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string path;
};

}  // namespace

// --- files that load ----------------------------------------------------------------------------------

TEST_CASE("exported files load and keep the promises of program.h") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ETRT_TEST_DATA)) {
    if (entry.path().extension() != ".pte") {
      continue;
    }
    CAPTURE(entry.path().string());
    const Loaded loaded = load_path(entry.path().string());
    REQUIRE_MESSAGE(loaded.program != nullptr, loaded.text);
    CHECK(loaded.text.empty());
    CHECK_NOTHROW(ProgramWalk(*loaded.program).run());
    ++count;
  }
  CHECK(count >= 7);
}

TEST_CASE("an exported file says what it holds") {
  const ProgramPtr program = load_path(data_path("add_one__portable.pte")).program;
  REQUIRE(program != nullptr);
  REQUIRE(program->method_count() == 1);
  CHECK(program->method_name(0) == "forward");
  CHECK(program->find_method("forward") == 0);
  CHECK(program->find_method("backward") == std::nullopt);
  const fb::ExecutionPlan& method = program->method(0);
  CHECK(operator_name(*method.operators()->Get(0)) == "aten::add.out");
  CHECK(floats(program->constant(tensor_at(*program, 0))) == std::vector<float>{1});
  CHECK(tensor_storage(tensor_at(*program, 1)) == TensorStorage::Planned);
  CHECK(planned_place(tensor_at(*program, 1)).buffer == 1);
  CHECK(tensor_nbytes(tensor_at(*program, 1)) == 4);
}

TEST_CASE("an unknown method is refused with the names there are") {
  FileSpec spec;
  spec.methods.push_back(spec.methods[0]);
  spec.methods[1].name = "decode";
  const ProgramPtr program = load(spec).program;
  REQUIRE(program != nullptr);
  CHECK(*program->require_method("decode") == 1);
  ErrorScope scope;
  CHECK(program->require_method("encode").status() == Status::InvalidArgument);
  CHECK(scope.lines().text() == "the program has no method \"encode\"; it has \"forward\", \"decode\"");
}

TEST_CASE("a delegate's payload and compile specs, inline and in a segment") {
  FileSpec spec;
  spec.segments.push_back(bytes_of_text("in a segment"));
  spec.inline_data.push_back(bytes_of_text("inline"));
  spec.methods[0].delegates = {{.location = 0, .index = 0}, {.location = 1, .index = 1}};
  const ProgramPtr program = load(spec).program;
  REQUIRE(program != nullptr);
  const auto* delegates = program->method(0).delegates();
  const auto text = [&](flatbuffers::uoffset_t i) {
    const auto bytes = *program->delegate_payload(*delegates->Get(i));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  CHECK(text(0) == "inline");
  CHECK(text(1) == "in a segment");
}

TEST_CASE("stored initial values of planned tensors") {
  const ProgramPtr program = load_path(data_path("state_initialized.pte")).program;
  REQUIRE(program != nullptr);
  int found = 0;
  for (const fb::EValue* value : *program->method(0).values()) {
    const fb::Tensor* tensor = value->val_as_Tensor();
    if (tensor != nullptr && has_initial_bytes(*tensor)) {
      CHECK(program->initial_bytes(*tensor)->size() == static_cast<size_t>(*tensor_nbytes(*tensor)));
      ++found;
    }
  }
  CHECK(found > 0);

  SUBCASE("in the table that the tensor names") {
    FileSpec spec;
    spec.segments = {bytes_of_numbers<float>({1, 2, 3, 4, 5, 6})};
    spec.mutable_segments = {{0, {0, 0}}, {0, {0, 16}}};
    TensorSpec& tensor = spec.methods[0].values[1].tensor;
    tensor.data_buffer_idx = 1;
    const ProgramPtr first = load(spec).program;
    REQUIRE(first != nullptr);
    CHECK(floats(first->initial_bytes(tensor_at(*first, 1))) == std::vector<float>{1, 2});
    tensor.mutable_segment = 1;
    const ProgramPtr second = load(spec).program;
    REQUIRE(second != nullptr);
    CHECK(floats(second->initial_bytes(tensor_at(*second, 1))) == std::vector<float>{5, 6});
    tensor.mutable_segment = 2;
    CHECK_REFUSED(load(spec), Status::InvalidProgram, "value 1", "mutable data segment 2 of 2");
  }
}

TEST_CASE("named data") {
  FileSpec spec;
  spec.segments.push_back(bytes_of_text("one"));
  spec.named_data = {{"a", 1}, {"b", 1}};
  const ProgramPtr program = load(spec).program;
  REQUIRE(program != nullptr);
  CHECK(program->named_data("a")->size() == 3);
  CHECK(program->named_data("b")->data() == program->named_data("a")->data());
  CHECK(program->named_data_keys() == std::vector<std::string_view>{"a", "b"});
  ErrorScope scope;
  CHECK(program->named_data("c").status() == Status::NotFound);
  CHECK(scope.lines().text().empty());
  spec.named_data[1].second = 7;
  CHECK_REFUSED(load(spec), Status::InvalidProgram, "named data \"b\" is in segment 7 of 2");
}

// --- headers ------------------------------------------------------------------------------------------

TEST_CASE("files with and without an extended header") {
  const auto loads = [](const FileSpec& spec) {
    const Loaded loaded = load(spec);
    CHECK_MESSAGE(loaded.program != nullptr, loaded.text);
    if (loaded.program != nullptr) {
      CHECK_NOTHROW(ProgramWalk(*loaded.program).run());
    }
  };
  FileSpec spec;
  SUBCASE("with") { loads(spec); }
  SUBCASE("a longer header than is known") {
    spec.header_size = 48;
    loads(spec);
  }
  SUBCASE("a header that doesn't give the size of segments") {
    spec.header_size = 24;
    spec.data_size_off = 1000000;
    loads(spec);
  }
  SUBCASE("without, constants in the flatbuffer") {
    spec.header = false;
    spec.segments.clear();
    spec.constant_segment.reset();
    spec.constant_buffers = {{}, bytes_of_numbers<float>({10, 20})};
    loads(spec);
    const ProgramPtr program = load(spec).program;
    REQUIRE(program != nullptr);
    CHECK(floats(program->constant(tensor_at(*program, 0))) == std::vector<float>{10, 20});
  }
  SUBCASE("an empty list of offsets means the older constants") {
    spec.constant_segment = {{0, {}}};
    spec.constant_buffers = {{}, bytes_of_numbers<float>({10, 20})};
    loads(spec);
  }
  SUBCASE("smaller than any header") {
    FileSpec tiny;
    tiny.header = false;
    tiny.methods.clear();
    tiny.segments.clear();
    tiny.constant_segment.reset();
    const Buffer bytes = build_program(tiny);
    const Loaded loaded = load(bytes);
    REQUIRE_MESSAGE(loaded.program != nullptr, loaded.text);
    CHECK(loaded.program->method_count() == 0);
  }
  SUBCASE("an empty segment and no segment data") {
    FileSpec none;
    none.segments.clear();
    none.constant_segment.reset();
    none.methods[0].values[0].tensor.data_buffer_idx = 0;
    loads(none);
  }
}

TEST_CASE("headers that say something impossible are refused") {
  FileSpec spec;
  SUBCASE("too short a header") {
    spec.header_size = 23;
    CHECK_REFUSED(load(spec), Status::InvalidProgram, "header has 23 bytes, expected at least 24");
  }
  SUBCASE("a flatbuffer larger than the file") {
    spec.flatbuffer_size_off = 1 << 20;
    CHECK_REFUSED(load(spec), Status::InvalidProgram, "is truncated", "flatbuffer", "get the whole file");
  }
  SUBCASE("a flatbuffer of nothing") {
    spec.flatbuffer_size_off = -static_cast<int64_t>(build_program().size());
    CHECK(load(spec).status == Status::InvalidProgram);
  }
  SUBCASE("segments larger than the file") {
    const size_t size = build_program().size();
    spec.data_size_off = 5;
    const std::string expected = format_text("expected at least {} bytes", size + 5);
    const std::string found = format_text("found {}", size);
    CHECK_REFUSED(load(spec), Status::InvalidProgram, "is truncated", expected.c_str(), found.c_str());
  }
  SUBCASE("segments that wrap around") {
    spec.data_size_off = -100;
    CHECK_REFUSED(load(spec), Status::InvalidProgram, "damaged");
  }
  SUBCASE("a segment outside of the file") {
    spec.segment_offset_off = 1;
    CHECK_REFUSED(load(spec), Status::InvalidProgram, "segment 0 has 8 bytes at offset 1");
  }
  SUBCASE("a segment whose offset wraps around") {
    spec.segment_offset_off = -1;
    CHECK(load(spec).status == Status::InvalidProgram);
  }
  SUBCASE("a segment whose size wraps around") {
    spec.segment_size_off = -9;
    CHECK(load(spec).status == Status::InvalidProgram);
  }
  SUBCASE("another version") {
    spec.identifier = "ET13";
    CHECK_REFUSED(load(spec), Status::InvalidProgram, "format ET13", "reads ET12");
  }
}

// --- files that are no programs -----------------------------------------------------------------------

TEST_CASE("paths that can't be read are refused with the system's reason") {
  CHECK_REFUSED(load_path("/nowhere/model.pte"), Status::AccessFailed, "\"/nowhere/model.pte\"",
                "No such file or directory");
  CHECK_REFUSED(load_path(ETRT_TEST_DATA), Status::AccessFailed, ETRT_TEST_DATA, "is a directory");
  CHECK_REFUSED(load_path("/dev/null"), Status::AccessFailed, "not a regular file");
  CHECK_REFUSED(load_path(""), Status::AccessFailed, "\"\"");
  CHECK_REFUSED(load_path(std::string("/tmp\0x", 6)), Status::AccessFailed, "NUL");
  if (geteuid() != 0) {
    const TemporaryFile file(build_program());
    chmod(file.path.c_str(), 0);
    CHECK_REFUSED(load_path(file.path), Status::AccessFailed, "Permission denied");
  }
}

TEST_CASE("what is no program is refused by its looks") {
  const auto refused = [](const std::string& text, const char* looks) {
    CAPTURE(looks);
    const TemporaryFile file(bytes_of_text(text));
    CHECK_REFUSED(load_path(file.path), Status::InvalidProgram, file.path.c_str(), looks);
  };
  refused("", "an empty file");
  refused("x", "text");
  refused("Lorem ipsum dolor sit amet, consectetur adipiscing elit", "text");
  refused(std::string("PK\x03\x04 more of it", 16), "zip archive");
  refused(
      "\x7f"
      "ELF\x02\x01\x01",
      "ELF binary");
  refused("version https://git-lfs.github.com/spec/v1\noid sha256:12", "git lfs pull");
  refused("<!DOCTYPE html><html>", "HTML page");
  refused(std::string("\x18\0\0\0BP08 and so on", 18), "bundled program");
  refused(std::string(100, '\0'), "zeros");
  refused("\x01\x02\x03\x04\x05\x06\x07\x08\x09", "no magic number that is known");
  const Buffer data_file = read_data("ptd_shared.ptd");
  CHECK_REFUSED(load(data_file), Status::InvalidProgram, "the program is not an ExecuTorch program (.pte)",
                ".ptd data file");
}

TEST_CASE("every truncation of a file is refused or harmless, and says so") {
  for (const char* name : {"add_one__portable.pte", "cond_size.pte", "state_initialized.pte"}) {
    const Buffer whole = read_data(name);
    for (size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(size);
      const Loaded loaded = load(Buffer(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
      if (loaded.program != nullptr) {
        ProgramWalk(*loaded.program).run();
      } else {
        CHECK(loaded.status == Status::InvalidProgram);
        CHECK(loaded.says("the program"));
        CHECK((size < 32 || loaded.says("truncated")));
      }
    }
  }
}

TEST_CASE("every changed byte of a file is refused or harmless") {
  for (const char* name : {"add_one__portable.pte", "map_add.pte", "add_one__xnnpack.pte"}) {
    Buffer bytes = read_data(name);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const std::byte before = bytes[i];
      for (const unsigned mask : {0x01U, 0x10U, 0x80U, 0xffU}) {
        bytes[i] = before ^ static_cast<std::byte>(mask);
        const Loaded loaded = load(Source::borrow(bytes, nullptr, "the program"));
        if (loaded.program != nullptr) {
          CHECK_NOTHROW(ProgramWalk(*loaded.program).run());
        } else {
          CHECK_FALSE(loaded.text.empty());
        }
      }
      bytes[i] = before;
    }
  }
}

// --- the verifier -------------------------------------------------------------------------------------

TEST_CASE("broken tensors are refused") {
  const auto refused = [](const std::function<void(TensorSpec&)>& change, const char* says,
                          Status status = Status::InvalidProgram) {
    CHECK_REFUSED(changed_tensor(change), status, "the program", "method \"forward\"", "value 1", says);
  };
  refused([](TensorSpec& t) { t.dtype = 30; }, "dtype 30 is unknown");
  refused([](TensorSpec& t) { t.dtype = -1; }, "dtype -1 is unknown");
  refused([](TensorSpec& t) { t.sizes = {-2}; }, "size 0 is negative");
  refused([](TensorSpec& t) { t.without_shape = true; }, "sizes or dim_order are missing");
  refused([](TensorSpec& t) { t.dim_order = {}; }, "1 sizes and a dim_order of 0");
  refused([](TensorSpec& t) { t.dim_order = {1}; }, "dim_order [1]");
  refused([](TensorSpec& t) { t.sizes = {1, 1}, t.dim_order = {0, 0}; }, "dim_order [0, 0]");
  refused(
      [](TensorSpec& t) {
        t.sizes.assign(17, 1);
        t.dim_order.resize(17);
      },
      "17 sizes");
  refused([](TensorSpec& t) { t.sizes.assign(3, 0x7fffffff), t.dim_order = {0, 1, 2}; }, "more than 2^63");
  refused(
      [](TensorSpec& t) {
        t.sizes = {0x7fffffff, 0x7fffffff, 0x7fffffff, 0}, t.dim_order = {0, 1, 2, 3};
      },
      "more than 2^63");
  refused([](TensorSpec& t) { t.dynamism = 3; }, "shape_dynamism 3");
  refused([](TensorSpec& t) { t.storage_offset = 4; }, "storage_offset is 4", Status::NotSupported);
  refused([](TensorSpec& t) { t.location = 2; }, "unknown place 2");
  refused([](TensorSpec& t) { t.location = 1; }, "fully qualified name is missing");
  refused([](TensorSpec& t) { t.name = "\xff"; }, "fully qualified name is not UTF-8");
  refused([](TensorSpec& t) { t.device_type = 2; }, "device type 2");
  refused([](TensorSpec& t) { t.planned = {{0, 0}}; }, "buffer 0, the buffers are 1 to 1");
  refused([](TensorSpec& t) { t.planned = {{2, 0}}; }, "buffer 2");
  refused([](TensorSpec& t) { t.planned = {{0xffffffffU, 0}}; }, "buffer 4294967295");
  refused([](TensorSpec& t) { t.planned = {{1, 28}}; }, "8 bytes at offset 28 lead out of buffer 1, which has 32");
  refused([](TensorSpec& t) { t.planned = {{1, ~uint64_t{7}}}; }, "lead out of buffer 1");
  refused([](TensorSpec& t) { t.planned = {{1, 2}}; }, "not aligned", Status::NotSupported);
  refused([](TensorSpec& t) { t.data_buffer_idx = 1; }, "mutable data segment 0 of 0");
}

TEST_CASE("constants that lead out of their segment are refused") {
  const auto refused = [](const std::function<void(FileSpec&, TensorSpec&)>& change, const char* says) {
    CHECK_REFUSED(changed([&](FileSpec& file, MethodSpec& method) { change(file, method.values[0].tensor); }),
                  Status::InvalidProgram, says);
  };
  refused([](FileSpec&, TensorSpec& t) { t.data_buffer_idx = 2; }, "entry 2 of 2");
  refused([](FileSpec&, TensorSpec& t) { t.sizes = {3}; }, "12 bytes at offset 0 lead out of segment 0, which has 8");
  refused([](FileSpec& f, TensorSpec&) { f.constant_segment = {{0, {0, 4}}}; }, "8 bytes at offset 4");
  refused([](FileSpec& f, TensorSpec&) { f.constant_segment = {{0, {0, ~uint64_t{3}}}}; }, "lead out of segment 0");
  refused(
      [](FileSpec& f, TensorSpec&) {
        f.constant_segment = {{1, {0, 0}}};
      },
      "constant_segment is in segment 1 of 1");
  refused([](FileSpec& f, TensorSpec&) { f.constant_segment = {{0, {0}}}; }, "entry 1 of 1");
  refused([](FileSpec& f, TensorSpec&) { f.constant_segment.reset(); }, "constant 1 of 0");
  refused(
      [](FileSpec& f, TensorSpec&) {
        f.constant_segment.reset();
        f.constant_buffers = {{}, bytes_of_numbers<float>({1})};
      },
      "8 bytes, but constant 1 has 4");
}

TEST_CASE("a dynamic input may have bounds that nobody could allocate") {
  const Loaded loaded = changed_tensor([](TensorSpec& t) {
    t.planned.reset();
    t.dynamism = 1;
    t.sizes.assign(3, 0x7fffffff);
    t.dim_order = {0, 1, 2};
  });
  REQUIRE_MESSAGE(loaded.program != nullptr, loaded.text);
  CHECK(tensor_nbytes(tensor_at(*loaded.program, 1)) == std::nullopt);
}

TEST_CASE("broken values are refused") {
  using Kind = fb::KernelTypes;
  const auto refused = [](ValueSpec value, const char* says) {
    CHECK_REFUSED(changed([&](FileSpec&, MethodSpec& m) { m.values.push_back(value); }), Status::InvalidProgram,
                  "value 4", says);
  };
  refused({.kind = static_cast<Kind>(0)}, "kind 0 is unknown");
  refused({.kind = static_cast<Kind>(12)}, "kind 12 is unknown");
  for (int kind = 1; kind <= 11; ++kind) {
    refused({.kind = static_cast<Kind>(kind), .without_content = true}, "");
  }
  refused({.kind = Kind::String, .text = "\xc3\x28"}, "not UTF-8");
  refused(ValueSpec::list(Kind::IntList, {3, 99}), "item 1 is value 99 of 5");
  refused(ValueSpec::list(Kind::IntList, {-1}), "item 0 is value -1");
  refused(ValueSpec::list(Kind::IntList, {0}), "item 0, value 0, should be Int and is Tensor");
  refused(ValueSpec::list(Kind::IntList, {4}), "should be Int and is IntList");
  refused(ValueSpec::list(Kind::TensorList, {3}), "should be Tensor and is Int");
  refused(ValueSpec::list(Kind::TensorList, {-1}), "value -1");
  refused(ValueSpec::list(Kind::OptionalTensorList, {-2}), "value -2");
  refused(ValueSpec::list(Kind::OptionalTensorList, {3}), "should be Tensor and is Int");
}

TEST_CASE("lists may hold what an instruction writes, and optional ones nothing") {
  using Kind = fb::KernelTypes;
  const auto loads = [](const ValueSpec& list, const InstructionSpec& writer) {
    const Loaded loaded = changed([&](FileSpec&, MethodSpec& m) {
      m.values.push_back({.kind = Kind::Null});  // value 4
      m.values.push_back(list);
      m.instructions.push_back(writer);
      m.delegates = {DelegateSpec{}};
      m.delegates[0].location = 1;
    });
    CHECK_MESSAGE(loaded.program != nullptr, loaded.text);
  };
  const InstructionSpec kernel{.args = {1, 4}};
  const InstructionSpec move{.kind = fb::InstructionArguments::MoveCall, .first = 3, .second = 4};
  const InstructionSpec delegate{.kind = fb::InstructionArguments::DelegateCall, .args = {4, 1}};
  for (const InstructionSpec& writer : {kernel, move, delegate}) {
    loads(ValueSpec::list(Kind::IntList, {3, 4}), writer);
    loads(ValueSpec::list(Kind::TensorList, {0, 4}), writer);
  }
  loads(ValueSpec::list(Kind::OptionalTensorList, {-1, 4, 0}), {.args = {1, 1}});
  CHECK_REFUSED(changed([&](FileSpec&, MethodSpec& m) {
                  m.values.push_back({.kind = Kind::Null});
                  m.values.push_back(ValueSpec::list(Kind::IntList, {4}));
                  m.instructions.push_back({.args = {4, 1}});  // reads it only
                }),
                Status::InvalidProgram, "value 5", "should be Int and is Null");
}

TEST_CASE("broken instructions are refused") {
  using Kind = fb::InstructionArguments;
  const auto refused = [](InstructionSpec instruction, const char* says) {
    CHECK_REFUSED(changed([&](FileSpec&, MethodSpec& m) { m.instructions.push_back(instruction); }),
                  Status::InvalidProgram, "chain 0, instruction 1", says);
  };
  refused({.kind = static_cast<Kind>(0)}, "kind 0 is unknown");
  refused({.kind = static_cast<Kind>(6)}, "kind 6 is unknown");
  for (int kind = 1; kind <= 5; ++kind) {
    refused({.kind = static_cast<Kind>(kind), .without_content = true}, "no content");
  }
  refused({.first = 1}, "calls operator 1 of 1");
  refused({.first = -1}, "calls operator -1");
  refused({.args = {0, 4}}, "entry 1 of its arguments is value 4 of 4");
  refused({.args = {-1}}, "value -1");
  refused({.kind = Kind::DelegateCall}, "calls delegate 0 of 0");
  refused({.kind = Kind::MoveCall, .first = 4}, "moves from value 4");
  refused({.kind = Kind::MoveCall, .second = -1}, "moves to value -1");
  refused({.kind = Kind::JumpFalseCall, .first = 9}, "tests value 9");
  refused({.kind = Kind::JumpFalseCall, .first = 3}, "tests value 3, which is Int");
  refused({.kind = Kind::JumpFalseCall, .second = 3}, "jumps to instruction 3 of 2");
  refused({.kind = Kind::JumpFalseCall, .second = -1}, "jumps to instruction -1");
  refused({.kind = Kind::FreeCall, .first = 4}, "frees value 4");
  refused({.kind = Kind::FreeCall, .first = 3}, "frees value 3, which is Int");
  const Loaded to_the_end =
      changed([](FileSpec&, MethodSpec& m) { m.instructions.push_back({.kind = Kind::JumpFalseCall, .second = 2}); });
  CHECK_MESSAGE(to_the_end.program != nullptr, to_the_end.text);
}

TEST_CASE("broken methods are refused") {
  const auto refused = [](const std::function<void(FileSpec&, MethodSpec&)>& change, const char* says) {
    CHECK_REFUSED(changed(change), Status::InvalidProgram, says);
  };
  refused([](FileSpec& f, MethodSpec&) { f.without_methods = true; }, "no list of methods");
  refused([](FileSpec&, MethodSpec& m) { m.name = ""; }, "method 0: its name is missing");
  refused([](FileSpec&, MethodSpec& m) { m.name = "\x80"; }, "method 0: its name is not UTF-8");
  refused([](FileSpec&, MethodSpec& m) { m.name = std::string("a\0b", 3); }, "its name is not");
  refused([](FileSpec& f, MethodSpec&) { f.methods.push_back(f.methods[0]); }, "another method has this name");
  refused([](FileSpec&, MethodSpec& m) { m.without_chains = true; }, "are missing");
  refused([](FileSpec&, MethodSpec& m) { m.without_values = true; }, "are missing");
  refused([](FileSpec&, MethodSpec& m) { m.inputs = {4}; }, "entry 0 of its inputs is value 4 of 4");
  refused([](FileSpec&, MethodSpec& m) { m.outputs = {2, -1}; }, "entry 1 of its outputs is value -1 of 4");
  refused([](FileSpec&, MethodSpec& m) { m.buffer_sizes = {0, -1}; }, "buffer 1 has -1 bytes");
  refused([](FileSpec&, MethodSpec& m) { m.buffer_sizes = {}; }, "buffers are 1 to -1");
  refused([](FileSpec&, MethodSpec& m) { m.devices = {{2, 0}}; }, "device is given for buffer 2");
  refused([](FileSpec&, MethodSpec& m) { m.devices = {{1, 5}}; }, "device type 5");
  refused([](FileSpec&, MethodSpec& m) { m.operators[0].first = ""; }, "operator's name is missing");
  refused([](FileSpec&, MethodSpec& m) { m.delegates = {{.id = ""}}; }, "backend name is missing");
  refused([](FileSpec&, MethodSpec& m) { m.delegates = {{.location = 2}}; }, "unknown place 2");
  refused([](FileSpec&, MethodSpec& m) { m.delegates = {{.location = 0}}; }, "inline data 0 of 0");
  refused([](FileSpec&, MethodSpec& m) { m.delegates = {{.location = 1, .index = 1}}; }, "segment 1 of 1");
  refused(
      [](FileSpec&, MethodSpec& m) {
        m.delegates = {{.location = 1, .compile_specs = {{"", "x"}}}};
      },
      "compile spec is missing");
}

TEST_CASE("a small file whose tables share a long vector doesn't keep the verifier busy") {
  flatbuffers::FlatBufferBuilder to;
  const auto items = to.CreateVector(std::vector<int32_t>(100000, 0));
  const auto tensor = builder::tensor(to, TensorSpec{});
  std::vector<flatbuffers::Offset<fb::EValue>> values = {fb::CreateEValue(to, fb::KernelTypes::Tensor, tensor.Union())};
  for (int i = 0; i < 100000; ++i) {
    values.push_back(fb::CreateEValue(to, fb::KernelTypes::TensorList, fb::CreateTensorList(to, items).Union()));
  }
  const std::vector<flatbuffers::Offset<fb::Chain>> chains = {
      fb::CreateChain(to, 0, 0, to.CreateVector(std::vector<flatbuffers::Offset<fb::Instruction>>{}))};
  const auto none = to.CreateVector(std::vector<int32_t>{});
  const auto method = fb::CreateExecutionPlan(to, to.CreateString("forward"), 0, to.CreateVector(values), none, none,
                                              to.CreateVector(chains), 0, 0, to.CreateVector(std::vector<int64_t>{0}));
  to.Finish(fb::CreateProgram(to, 0, to.CreateVector(std::vector{method})), "ET12");
  const auto* data = reinterpret_cast<const std::byte*>(to.GetBufferPointer());
  CHECK_REFUSED(load(Buffer(data, data + to.GetSize())), Status::InvalidProgram, "same data again and again");
}

// --- sources ------------------------------------------------------------------------------------------

TEST_CASE("borrowed memory at any alignment, released once") {
  const Buffer file = build_program();
  for (size_t shift = 0; shift < 17; ++shift) {
    CAPTURE(shift);
    Buffer shifted(shift + file.size());
    std::copy(file.begin(), file.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift));
    int released = 0;
    {
      std::shared_ptr<const void> owner(&file, [&released](const void*) { ++released; });
      const Loaded loaded =
          load(Source::borrow(std::span(shifted).subspan(shift), std::move(owner), "the borrowed bytes"));
      REQUIRE(loaded.program != nullptr);
      CHECK_NOTHROW(ProgramWalk(*loaded.program).run());
      CHECK(floats(loaded.program->constant(tensor_at(*loaded.program, 0))) == std::vector<float>{10, 20});
      CHECK(released == 0);
    }
    CHECK(released == 1);
  }
}

TEST_CASE("borrowed memory is released when loading fails") {
  int released = 0;
  const Buffer junk = bytes_of_text("junk");
  std::shared_ptr<const void> owner(&junk, [&released](const void*) { ++released; });
  CHECK(load(Source::borrow(junk, std::move(owner), "junk")).status == Status::InvalidProgram);
  CHECK(released == 1);
}

TEST_CASE("aligned borrowed memory is used in place") {
  OwnedRegion file(build_program().size());
  const Buffer bytes = build_program();
  std::copy(bytes.begin(), bytes.end(), file.bytes.begin());
  const ProgramPtr program = load(Source::borrow(file.bytes, file.memory, "bytes")).program;
  REQUIRE(program != nullptr);
  const auto constant = *program->constant(tensor_at(*program, 0));
  CHECK(constant.data() >= file.bytes.data());
  CHECK(constant.data() < file.bytes.data() + file.bytes.size());
}

TEST_CASE("the flatbuffer is a private copy") {
  Buffer bytes = build_program();
  const ProgramPtr program = load(Source::borrow(bytes, nullptr, "bytes")).program;
  REQUIRE(program != nullptr);
  std::fill(bytes.begin(), bytes.begin() + 256, std::byte{0xff});
  CHECK(program->method_name(0) == "forward");
  CHECK(program->method(0).values()->size() == 4);
}

TEST_CASE("constants that are stored misaligned are handed out aligned, one copy each") {
  FileSpec spec;
  spec.segments = {bytes_of_text("x")};
  const Buffer numbers = bytes_of_numbers<float>({10, 20});
  spec.segments[0].insert(spec.segments[0].end(), numbers.begin(), numbers.end());
  spec.constant_segment = {{0, {0, 1}}};
  const ProgramPtr program = load(spec).program;
  REQUIRE(program != nullptr);
  const auto first = *program->constant(tensor_at(*program, 0));
  CHECK(reinterpret_cast<uintptr_t>(first.data()) % 16 == 0);
  CHECK(floats(first) == std::vector<float>{10, 20});
  CHECK(program->constant(tensor_at(*program, 0))->data() == first.data());
}

TEST_CASE("read callbacks are asked for segments when they are needed, once") {
  const Buffer file = build_program();
  std::atomic<int> reads{0};
  std::atomic<bool> broken{false};
  const Source source = Source::callback(
      file.size(),
      [&](uint64_t offset, std::span<std::byte> to) {
        ++reads;
        std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
        return !broken;
      },
      "the callback's file");
  const Loaded loaded = load(source);
  REQUIRE_MESSAGE(loaded.program != nullptr, loaded.text);
  const Program& program = *loaded.program;
  const int reads_for_loading = reads;
  {
    broken = true;
    ErrorScope scope;
    CHECK(program.constant(tensor_at(program, 0)).status() == Status::AccessFailed);
    CHECK(scope.lines().text().find("the callback's file: the read callback failed") != std::string::npos);
    broken = false;
  }
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto bytes = program.constant(tensor_at(program, 0));
      right += bytes.ok() && std::memcmp(bytes->data(), bytes_of_numbers<float>({10, 20}).data(), 8) == 0 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(right == 4);
  CHECK(reads == reads_for_loading + 2);  // the failed one, and one for all threads

  broken = true;
  CHECK_REFUSED(load(source), Status::AccessFailed, "the read callback failed for 64 bytes at offset 0");
}

// --- data files ---------------------------------------------------------------------------------------

namespace {

FileSpec program_with_external() {
  FileSpec spec;
  spec.methods[0].values[0].tensor = {.name = "net.weight", .location = 1};
  spec.methods[0].values.push_back(ValueSpec::of(TensorSpec{.name = "net.bias", .location = 1}));
  spec.methods[0].values.push_back(ValueSpec::of(TensorSpec{.name = "net.bias", .location = 1}));
  return spec;
}

Buffer good_data() {
  return build_data_file({{.key = "net.weight"}, {.key = "net.bias", .segment = 1}, {.key = "blob", .opaque = true}},
                         {bytes_of_numbers<float>({1, 2}), bytes_of_numbers<float>({3, 4})});
}

Source data(const Buffer& bytes, std::string name = "the data file") { return Source::copy(bytes, std::move(name)); }

}  // namespace

TEST_CASE("exported programs with their data files") {
  for (const char* name : {"ptd_external", "ptd_shared"}) {
    const Source source = *Source::file(data_path(format_text("{}.pte", name)));
    const Loaded without = load(source);
    REQUIRE(without.program != nullptr);
    CHECK(require_data(*without.program).status == Status::InvalidState);
    const Loaded with = load(source, {*Source::file(data_path(format_text("{}.ptd", name)))});
    REQUIRE_MESSAGE(with.program != nullptr, with.text);
    const Loaded found = require_data(*with.program);
    CHECK_MESSAGE(found.status == Status::Ok, found.text);
    CHECK_NOTHROW(ProgramWalk(*with.program).run());
  }
}

TEST_CASE("data files give constants and named data") {
  const Buffer file = build_program(program_with_external());
  const Loaded loaded = load(memory(file), {data(good_data())});
  REQUIRE_MESSAGE(loaded.program != nullptr, loaded.text);
  const Program& program = *loaded.program;
  CHECK(program.require_data(0) == Status::Ok);
  CHECK(floats(program.constant(tensor_at(program, 0))) == std::vector<float>{1, 2});
  CHECK(floats(program.constant(tensor_at(program, 5))) == std::vector<float>{3, 4});
  CHECK(program.named_data("blob")->size() == 8);
  CHECK(program.named_data_keys() == std::vector<std::string_view>{"blob", "net.bias", "net.weight"});
  CHECK(program.data_file_names() == std::vector<std::string_view>{"the data file"});
}

TEST_CASE("missing and different data is named") {
  const Source program = memory(build_program(program_with_external()));
  const Loaded without = load(program);
  REQUIRE(without.program != nullptr);
  CHECK_REFUSED(require_data(*without.program), Status::InvalidState, "\"net.bias\", \"net.weight\"",
                "pass the .ptd file that holds them", "no data file was given");
  {
    ErrorScope scope;
    CHECK(without.program->constant(tensor_at(*without.program, 0)).status() == Status::NotFound);
    CHECK_FALSE(scope.lines().text().empty());
  }

  const auto with = [&](std::vector<DataEntrySpec> entries) {
    const Loaded loaded =
        load(program, {data(build_data_file(entries, {bytes_of_numbers<float>({1, 2, 3, 4, 5, 6})}))});
    REQUIRE_MESSAGE(loaded.program != nullptr, loaded.text);
    return require_data(*loaded.program);
  };
  CHECK_REFUSED(with({{.key = "net.weight"}}), Status::NotFound, "\"net.bias\";", "given: the data file");
  CHECK_REFUSED(with({{.key = "net.weight", .dtype = 4}, {.key = "net.bias", .sizes = {3}}}),
                Status::InvalidExternalData, "holds \"net.weight\" as int64[2]; the program needs float32[2]",
                "holds \"net.bias\" as float32[3]; the program needs float32[2]");
  CHECK_REFUSED(with({{.key = "net.weight", .opaque = true}, {.key = "net.bias"}}), Status::InvalidExternalData,
                "without a dtype");
}

TEST_CASE("a dim_order that differs is refused") {
  FileSpec spec;
  spec.methods[0].values[0].tensor = {.sizes = {2, 3}, .dim_order = {0, 1}, .name = "w", .location = 1};
  const auto with = [&](std::vector<uint8_t> order) {
    const Buffer file = build_data_file({{.key = "w", .sizes = {2, 3}, .dim_order = std::move(order)}},
                                        {bytes_of_numbers<float>({1, 2, 3, 4, 5, 6})});
    const Loaded loaded = load(memory(build_program(spec)), {data(file)});
    REQUIRE_MESSAGE(loaded.program != nullptr, loaded.text);
    return require_data(*loaded.program);
  };
  CHECK(with({0, 1}).status == Status::Ok);
  CHECK_REFUSED(with({1, 0}), Status::InvalidExternalData, "float32[2, 3] in dim_order [1, 0]");
}

TEST_CASE("the same key in two data files is refused with both names") {
  CHECK_REFUSED(load(memory(build_program(program_with_external())),
                     {data(good_data(), "\"a.ptd\""), data(good_data(), "\"b.ptd\"")}),
                Status::InvalidArgument, "\"a.ptd\" and \"b.ptd\" both hold");
}

TEST_CASE("broken data files are refused") {
  const Source program = memory(build_program(program_with_external()));
  const auto refused = [&](const Buffer& file, const char* says) {
    CHECK_REFUSED(load(program, {data(file)}), Status::InvalidExternalData, "the data file", says);
  };
  const std::vector<Buffer> two = {bytes_of_numbers<float>({1, 2})};
  refused({}, "an empty file");
  refused(build_program(), "an ExecuTorch program");
  refused(build_data_file({{.key = ""}}, two), "key of entry 0 is missing");
  refused(build_data_file({{.key = "a"}, {.key = "a"}}, two), "holds \"a\" twice");
  refused(build_data_file({{.key = "a", .segment = 1}}, two), "\"a\" is in segment 1 of 1");
  refused(build_data_file({{.key = "a", .dtype = 40}}, two), "\"a\": its dtype 40");
  refused(build_data_file({{.key = "a", .sizes = {3}}}, two), "\"a\" is float32[3], but has 8 bytes");
  refused(build_data_file({{.key = "a", .dim_order = {1}}}, two), "dim_order [1]");
  Buffer file = good_data();
  file[8] = std::byte{'X'};
  refused(file, "expected a header \"FH01\"");
  file = good_data();
  file.resize(file.size() - 1);
  refused(file, "truncated");
}

TEST_CASE("every truncation and every changed byte of a data file is refused or harmless") {
  const Source program = memory(build_program(program_with_external()));
  const Buffer whole = good_data();
  const auto harmless = [&](const Buffer& file) {
    const Loaded loaded = load(program, {Source::borrow(file, nullptr, "the data file")});
    if (loaded.program != nullptr) {
      CHECK_NOTHROW(ProgramWalk(*loaded.program).run());
    } else {
      CHECK_FALSE(loaded.text.empty());
    }
  };
  for (size_t size = 0; size < whole.size(); ++size) {
    harmless(Buffer(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
  }
  Buffer changed_file = whole;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned mask : {0x01U, 0x10U, 0x80U, 0xffU}) {
      changed_file[i] = whole[i] ^ static_cast<std::byte>(mask);
      harmless(changed_file);
    }
    changed_file[i] = whole[i];
  }
}
