#include "inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "element.h"
#include "files.h"

namespace etrt::tool {

namespace {

using et::DType;
using et::Error;
using et::Status;

using Sizes = std::vector<int64_t>;

// "2x3=" at the start of a spec: takes it off.
std::optional<Sizes> take_sizes(std::string_view& spec) {
  Sizes sizes;
  const char* at = spec.data();
  const char* const end = spec.data() + spec.size();
  for (;;) {
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || next == end || size < 0) {
      return std::nullopt;
    }
    sizes.push_back(size);
    at = next + 1;
    if (*next == '=') {
      spec.remove_prefix(static_cast<size_t>(at - spec.data()));
      return sizes;
    }
    if (*next != 'x') {
      return std::nullopt;
    }
  }
}

std::optional<double> parse_number(std::string_view text) {
  if (text == "true" || text == "false") {
    return text == "true" ? 1 : 0;
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// Numbers between commas; nothing when one isn't a number.
std::optional<std::vector<std::string_view>> split_numbers(std::string_view spec) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t comma = spec.find(',');
    const std::string_view word = spec.substr(0, comma);
    if (!parse_number(word)) {
      return std::nullopt;
    }
    words.push_back(word);
    if (comma == std::string_view::npos) {
      return words;
    }
    spec.remove_prefix(comma + 1);
  }
}

// The sizes to use where a form has none: those in the file, 1 where they have no bound.
Sizes default_sizes(const et::TensorInfo& info) {
  Sizes sizes = info.sizes;
  for (int64_t& size : sizes) {
    size = size < 0 ? 1 : size;
  }
  return sizes;
}

void write_word(DType dtype, std::string_view word, void* to) {
  int64_t whole = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), whole);
  if (error == std::errc() && end == word.data() + word.size()) {
    write_integer(dtype, whole, to);
  } else {
    write_number(dtype, *parse_number(word), to);
  }
}

et::Result<et::Tensor> from_numbers(const std::vector<std::string_view>& words, const et::TensorInfo& info,
                                    const std::optional<Sizes>& given) {
  const auto count = static_cast<int64_t>(words.size());
  Sizes sizes = given.value_or(default_sizes(info));
  if (!given && info.dynamism != et::Dynamism::Static && info.sizes.size() == 1 && count > 1) {
    sizes = {count};
  }
  et::Result<et::Tensor> made = et::Tensor::zeros(info.dtype, sizes);
  if (!made) {
    return made;
  }
  if (count != 1 && count != made->numel()) {
    return Error(Status::InvalidArgument, std::to_string(count) + " numbers for " + std::to_string(made->numel()) +
                                              " elements; give one for each, or one for all, or the sizes too");
  }
  const size_t step = et::dtype_size(info.dtype);
  for (int64_t i = 0; i < made->numel(); ++i) {
    write_word(info.dtype, words[count == 1 ? 0 : static_cast<size_t>(i)],
               static_cast<char*>(made->data()) + static_cast<size_t>(i) * step);
  }
  return made;
}

et::Result<et::Tensor> from_raw_file(const std::string& path, const et::TensorInfo& info,
                                     const std::optional<Sizes>& given) {
  et::Result<Bytes> bytes = read_file(path);
  if (!bytes) {
    return bytes.error();
  }
  const Sizes sizes = given.value_or(default_sizes(info));
  const int64_t wanted = et::detail::checked_nbytes(sizes, et::dtype_size(info.dtype));
  if (wanted < 0 || (*bytes)->size() != static_cast<uint64_t>(wanted)) {
    return Error(Status::InvalidArgument, path + " has " + std::to_string((*bytes)->size()) + " bytes, expected " +
                                              std::to_string(wanted) + " for " + describe(info) +
                                              (given ? "" : "; sizes may be given, as in 2x3=@FILE"));
  }
  return et::Tensor::share(info.dtype, (*bytes)->data(), *bytes, sizes);
}

et::Result<et::Tensor> from_npy(const std::string& path, const et::TensorInfo& info) {
  et::Result<et::Tensor> array = read_npy(path);
  if (!array || numpy_has(info.dtype) || array->dtype() != word_dtype(et::dtype_size(info.dtype))) {
    return array;
  }
  // Words of a dtype that NumPy lacks.
  const auto sizes = array->sizes();
  Sizes strides;
  for (int d = 0; d < array->rank(); ++d) {
    strides.push_back(array->stride(d));
  }
  return et::Tensor::share(info.dtype, array->data(), array->owner(), Sizes(sizes.begin(), sizes.end()), strides);
}

struct Range {
  double low;
  double high;
};

// ":LOW:HIGH", or nothing for `fallback`.
et::Result<Range> parse_range(std::string_view text, Range fallback) {
  if (text.empty()) {
    return fallback;
  }
  const size_t colon = std::min(text.find(':', 1), text.size());
  const double low = parse_number(text.substr(1, colon - 1)).value_or(NAN);
  const double high = parse_number(text.substr(std::min(colon + 1, text.size()))).value_or(NAN);
  if (!(low <= high)) {
    return Error(Status::InvalidArgument, "expected random:LOW:HIGH, as in random:-1:1");
  }
  return Range{low, high};
}

et::Result<et::Tensor> from_random(std::string_view range_text, const et::TensorInfo& info,
                                   const std::optional<Sizes>& given, std::mt19937_64& random) {
  const bool whole = is_integer(info.dtype);
  const et::Result<Range> range = parse_range(range_text, whole ? Range{0, 9} : Range{0, 1});
  if (!range) {
    return range.error();
  }
  const auto [low, high] = *range;
  if (!is_number(info.dtype)) {
    return Error(Status::NotSupported,
                 std::string("there are no random numbers of ") + et::dtype_name(info.dtype) + "; give a file");
  }
  et::Result<et::Tensor> made = et::Tensor::zeros(info.dtype, given.value_or(default_sizes(info)));
  const size_t step = et::dtype_size(info.dtype);
  for (int64_t i = 0; made && i < made->numel(); ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;  // [0, 1)
    double number = low + unit * (high - low);
    if (whole) {
      number = std::floor(low + unit * (high - low + 1));
    } else if (info.dtype == DType::Bool) {
      number = unit < 0.5 ? 0 : 1;
    }
    write_number(info.dtype, number, static_cast<char*>(made->data()) + static_cast<size_t>(i) * step);
  }
  return made;
}

et::Result<et::Tensor> make_tensor(std::string_view spec, const et::TensorInfo& info, std::mt19937_64& random) {
  const std::optional<Sizes> sizes = take_sizes(spec);
  if (spec.starts_with('@')) {
    return from_raw_file(std::string(spec.substr(1)), info, sizes);
  }
  if (spec.ends_with(".npy")) {
    return from_npy(std::string(spec), info);
  }
  if (spec == "random" || spec.starts_with("random:")) {
    return from_random(spec.substr(6), info, sizes, random);
  }
  if (spec == "zeros") {
    return et::Tensor::zeros(info.dtype, sizes.value_or(default_sizes(info)));
  }
  const auto words = spec == "ones" ? std::optional(std::vector<std::string_view>{"1"}) : split_numbers(spec);
  if (words && !is_number(info.dtype)) {
    return Error(Status::NotSupported,
                 std::string("numbers can't be written as ") + et::dtype_name(info.dtype) + "; give a file");
  }
  if (words) {
    return from_numbers(*words, info, sizes);
  }
  return Error(Status::InvalidArgument,
               "\"" + std::string(spec) + "\" is none of the forms; a file of raw elements is @FILE");
}

et::Result<et::Value> make_scalar(const std::string& spec, const et::TensorInfo& info) {
  if (info.kind == et::Kind::String) {
    return et::Value(spec);
  }
  const auto number = parse_number(spec);
  if (!number) {
    return Error(Status::InvalidArgument, "\"" + spec + "\" is no " + kind_name(info.kind));
  }
  switch (info.kind) {
    case et::Kind::Int:
      return et::Value(static_cast<int64_t>(*number));
    case et::Kind::Bool:
      return et::Value(*number != 0);
    case et::Kind::Double:
      return et::Value(*number);
    default:
      return Error(Status::NotSupported, std::string("an input that is a ") + kind_name(info.kind));
  }
}

}  // namespace

et::Result<et::Value> make_input(const std::string& spec, const et::TensorInfo& info, std::mt19937_64& random) {
  if (spec == "none") {
    return et::Value();
  }
  if (info.kind == et::Kind::None) {  // None, or a string: the exporter doesn't keep what it was
    return spec.empty() ? et::Value() : et::Value(spec);
  }
  if (info.kind != et::Kind::Tensor) {
    return spec.empty() ? et::Result<et::Value>(info.fixed) : make_scalar(spec, info);
  }
  et::Result<et::Tensor> tensor = make_tensor(spec.empty() ? "random" : spec, info, random);
  if (!tensor) {
    return tensor.error();
  }
  return et::Value(*std::move(tensor));
}

}  // namespace etrt::tool
