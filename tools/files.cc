#include "files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

namespace etrt::tool {
namespace {

using et::DType;
using et::Error;
using et::Status;

struct Code {
  std::string_view text;  // as in .npy headers, without the byte order
  DType dtype;
};
constexpr Code kCodes[] = {
    {"f2", DType::Float16},   {"f4", DType::Float32},     {"f8", DType::Float64}, {"i1", DType::Int8},
    {"i2", DType::Int16},     {"i4", DType::Int32},       {"i8", DType::Int64},   {"u1", DType::UInt8},
    {"u2", DType::UInt16},    {"u4", DType::UInt32},      {"u8", DType::UInt64},  {"b1", DType::Bool},
    {"c8", DType::Complex64}, {"c16", DType::Complex128},
};

constexpr size_t kShown = 40;  // characters of a header in a message

constexpr std::string_view kMagic = "\x93NUMPY";

// What follows `'key': ` in the header, which is a Python dictionary.
std::string_view header_field(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) {
    return {};
  }
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

std::optional<std::vector<int64_t>> parse_shape(std::string_view text) {
  if (!text.starts_with('(')) {
    return std::nullopt;
  }
  std::vector<int64_t> shape;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size();
  while (at < end && *at != ')') {
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0) {
      return std::nullopt;
    }
    shape.push_back(size);
    at = next;
    while (at < end && (*at == ',' || *at == ' ')) {
      ++at;
    }
  }
  return at < end ? std::optional(shape) : std::nullopt;
}

// Of sizes whose product fits.
std::vector<int64_t> column_major(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) {
    return strides;  // no element is ever looked for
  }
  int64_t stride = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    strides[d] = stride;
    stride *= sizes[d];
  }
  return strides;
}

// What is wrong with an array's element type, as it stands in the header, and what to save instead.
std::string wrong_type(std::string_view descr) {
  const std::string quoted(descr.substr(0, std::min(descr.find_first_of(",}"), kShown)));
  if (descr.starts_with('[')) {
    return " holds a structured array, expected numbers; save one of its fields, as in numpy.save(file, "
           "array[\"name\"])";
  }
  if (descr.size() > 2 && descr[2] == 'O') {
    return " holds Python objects (dtype " + quoted +
           "), expected numbers; save array.astype(\"float32\"), or another dtype that fits";
  }
  if (descr.size() > 1 && descr[1] == '>') {
    return " is big-endian (dtype " + quoted +
           "), expected little-endian; save array.astype(array.dtype.newbyteorder(\"<\"))";
  }
  return " holds elements of dtype " + quoted +
         ", expected bool, integers, floats or complex numbers; save it with astype as one of these";
}

std::string first_bytes(std::string_view file) {
  std::string text;
  for (const char c : file.substr(0, kMagic.size())) {
    char byte[4];
    std::snprintf(byte, sizeof(byte), "%s%02x", text.empty() ? "" : " ", static_cast<unsigned char>(c));
    text += byte;
  }
  return text;
}

struct NpyHeader {
  DType dtype;
  std::vector<int64_t> shape;
  bool fortran;
  size_t end;  // where the elements start
};

// Error texts go after the file's name.
et::Result<NpyHeader> read_npy_header(std::string_view file) {
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(file[i])); };
  if (!file.starts_with(kMagic)) {
    return Error(Status::InvalidArgument,
                 " is no .npy file: it " + (file.empty() ? "is empty" : "starts with the bytes " + first_bytes(file)) +
                     ", expected " + first_bytes(kMagic) + "; save it with numpy.save, or for raw elements use @FILE");
  }
  constexpr size_t kShortest = 12;  // a long header's length ends here
  const bool long_length = file.size() >= kShortest && byte(6) >= 2;
  const size_t start = long_length ? 12 : 10;
  const size_t length = file.size() < kShortest
                            ? file.size()
                            : byte(8) | byte(9) << 8 | (long_length ? byte(10) << 16 | byte(11) << 24 : 0);
  if (file.size() < kShortest || length > file.size() - start) {
    return Error(Status::InvalidArgument,
                 " is cut off within its header, after " + std::to_string(file.size()) + " bytes; save it again");
  }
  const std::string_view header = file.substr(start, length);
  const std::string_view descr = header_field(header, "descr");
  if (descr.empty()) {
    return Error(Status::InvalidArgument,
                 " has no 'descr' in its header, which says what the elements are; save it again");
  }
  const Code* code = std::find_if(std::begin(kCodes), std::end(kCodes), [&](const Code& c) {
    return descr.size() > 3 && descr.substr(2).starts_with(std::string(c.text) + "'");
  });
  if (code == std::end(kCodes) || descr[1] == '>') {
    return Error(Status::NotSupported, wrong_type(descr));
  }
  const std::string_view shape_text = header_field(header, "shape");
  const auto shape = parse_shape(shape_text);
  if (!shape) {
    return Error(Status::InvalidArgument, " has no sizes from 0 up in its header, as in 'shape': (2, 3), but \"" +
                                              std::string(shape_text.substr(0, kShown)) + "\"; save it again");
  }
  return NpyHeader{code->dtype, *shape, header_field(header, "fortran_order").starts_with("True"), start + length};
}

}  // namespace

et::Result<Bytes> read_file(const std::string& path) {
  if (std::error_code unknown; std::filesystem::is_directory(path, unknown)) {
    return Error(Status::AccessFailed, "can't read " + path + ": it is a folder");
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) {
    return Error(Status::AccessFailed, "can't read " + path + ": " + std::strerror(errno));
  }
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes->data()), size)) {
    return Error(Status::AccessFailed, "can't read " + path + ": " + std::strerror(errno));
  }
  return bytes;
}

et::Result<void> write_file(const std::string& path, std::string_view head, const void* data, size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(head.data(), static_cast<std::streamsize>(head.size()));
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  file.close();
  if (!file) {
    return Error(Status::AccessFailed, "can't write " + path + ": " + std::strerror(errno));
  }
  return {};
}

et::Result<et::Tensor> read_npy(const std::string& path) {
  et::Result<Bytes> bytes = read_file(path);
  if (!bytes) {
    return bytes.error();
  }
  const std::string_view file(reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size());
  const et::Result<NpyHeader> header = read_npy_header(file);
  if (!header) {
    return Error(header.status(), path + header.error().text);
  }
  const int64_t wanted = et::detail::checked_nbytes(header->shape, et::dtype_size(header->dtype));
  const size_t found = file.size() - header->end;
  if (wanted < 0) {
    return Error(Status::InvalidArgument, path + " has a shape in its header with more elements than there can be");
  }
  if (static_cast<uint64_t>(wanted) > found) {
    return Error(Status::InvalidArgument, path + " is cut off: it holds " + std::to_string(found) +
                                              " bytes of elements, expected " + std::to_string(wanted) +
                                              " for its shape; save it again");
  }
  return et::Tensor::share(header->dtype, (*bytes)->data() + header->end, *bytes, header->shape,
                           header->fortran ? column_major(header->shape) : std::vector<int64_t>());
}

bool numpy_has(DType dtype) {
  return std::any_of(std::begin(kCodes), std::end(kCodes), [&](const Code& c) { return c.dtype == dtype; });
}

DType word_dtype(size_t size) {
  return size == 1 ? DType::UInt8 : size == 2 ? DType::UInt16 : size == 4 ? DType::UInt32 : DType::UInt64;
}

et::Result<void> write_npy(const std::string& path, const et::TensorView& view) {
  et::Result<et::Tensor> tensor = et::Tensor::copy_of(view);
  if (!tensor) {
    return tensor.error();
  }
  const DType saved = numpy_has(view.dtype()) ? view.dtype() : word_dtype(et::dtype_size(view.dtype()));
  const Code* code =
      std::find_if(std::begin(kCodes), std::end(kCodes), [&](const Code& c) { return c.dtype == saved; });
  std::string header = "{'descr': '" + std::string(et::dtype_size(saved) == 1 ? "|" : "<") + std::string(code->text) +
                       "', 'fortran_order': False, 'shape': (";
  for (const int64_t size : tensor->sizes()) {
    header += std::to_string(size) + (tensor->rank() == 1 ? "," : ", ");
  }
  header += "), }";
  // Elements start at a multiple of 64; the header ends in a newline.
  header.resize((header.size() + 11 + 63) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string head(kMagic);
  head += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return write_file(path, head + header, tensor->data(), tensor->nbytes());
}

}  // namespace etrt::tool
