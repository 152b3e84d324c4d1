#include "files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
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

std::vector<int64_t> column_major(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

}  // namespace

et::Result<Bytes> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0 || size > std::streamoff{1} << 40) {  // a directory says more than that
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
  et::Result<Bytes> read = read_file(path);
  if (!read) {
    return read.error();
  }
  const Bytes& bytes = *read;
  const std::string_view file(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(file[i])); };
  if (!file.starts_with(kMagic) || file.size() < 12) {
    return Error(Status::InvalidArgument, path + " is no .npy file; for raw elements use @" + path);
  }
  const bool long_length = byte(6) >= 2;
  const size_t start = long_length ? 12 : 10;
  const size_t length = byte(8) | byte(9) << 8 | (long_length ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > file.size() - start) {
    return Error(Status::InvalidArgument, path + " is cut off within its header");
  }
  const std::string_view header = file.substr(start, length);
  const std::string_view descr = header_field(header, "descr");
  const auto shape = parse_shape(header_field(header, "shape"));
  const Code* code = std::find_if(std::begin(kCodes), std::end(kCodes), [&](const Code& c) {
    return descr.size() > 3 && descr.substr(2).starts_with(std::string(c.text) + "'");
  });
  if (code == std::end(kCodes) || descr[1] == '>' || !shape) {
    return Error(Status::NotSupported, path + " holds an array of a type that no tensor has: " +
                                           std::string(descr.substr(0, descr.find_first_of(",}"))));
  }
  const int64_t wanted = et::detail::checked_nbytes(*shape, et::dtype_size(code->dtype));
  const size_t found = file.size() - start - length;
  if (wanted < 0 || static_cast<uint64_t>(wanted) > found) {
    return Error(Status::InvalidArgument, path + " holds " + std::to_string(found) +
                                              " bytes of elements, its shape says " +
                                              (wanted < 0 ? "more than there can be" : std::to_string(wanted)));
  }
  const bool fortran = header_field(header, "fortran_order").starts_with("True");
  return et::Tensor::share(code->dtype, bytes->data() + start + length, bytes, *shape,
                           fortran ? column_major(*shape) : std::vector<int64_t>());
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
