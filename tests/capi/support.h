// What the tests of the public API share.
#pragma once

#include <doctest/doctest.h>
#include <et.h>
#include <et/error.h>
#include <et/method.h>
#include <et/program.h>
#include <et/tensor.h>
#include <et/value.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etrt::test {

// A file of tests/data.
inline std::string data_path(const std::string& name) { return std::string(ETRT_TEST_DATA) + "/" + name; }

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline et::Program load(const std::string& name, const et::ProgramOptions& options = {}) {
  return et::Program::load(data_path(name), options).value();
}

inline et::Method load_method(const std::string& program, const std::string& method = "forward",
                              const et::MethodOptions& options = {}) {
  return et::Method::load(load(program), method, options).value();
}

// The program with one name of its text replaced by another of the same length.
inline et::Program load_renamed(const std::string& name, std::string_view from, std::string_view to) {
  std::string bytes = file_text(data_path(name));
  REQUIRE(from.size() == to.size());
  size_t count = 0;
  for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + 1)) {
    bytes.replace(at, from.size(), to);
    ++count;
  }
  REQUIRE(count > 0);
  return et::Program::load_copy(as_bytes(bytes)).value();
}

template <class T>
std::vector<T> values(const et::TensorView& tensor) {
  const std::span<T> all = tensor.values<T>().value();
  return {all.begin(), all.end()};
}
template <class T>
std::vector<T> values(const et::Value& value) {
  return values<T>(value.as_tensor().value());
}

// The elements of a .npy file that numpy.save wrote.
template <class T>
std::vector<T> read_npy(const std::string& name) {
  const std::string file = file_text(data_path(name));
  REQUIRE(file.size() > 10);
  const size_t start = 10 + static_cast<unsigned char>(file[8]) + 256 * static_cast<unsigned char>(file[9]);
  std::vector<T> all((file.size() - start) / sizeof(T));
  std::memcpy(all.data(), file.data() + start, all.size() * sizeof(T));
  return all;
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The text of a failure must name all of these.
template <class T>
void check_error(const et::Result<T>& result, et::Status status, const std::vector<std::string>& parts) {
  REQUIRE_FALSE(result.ok());
  const et::Error& error = result.error();
  CAPTURE(error.text);
  CHECK(std::string(et::status_name(error.status)) == et::status_name(status));
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK(contains(error.text, part));
  }
}

}  // namespace etrt::test
