#include "arguments.h"

#include <charconv>

namespace etrt::tool {

et::Result<Arguments> Arguments::parse(std::span<const std::string_view> words, std::span<const Option> options) {
  Arguments out;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.size() < 2 || word[0] != '-') {
      out.rest_.emplace_back(word);
      continue;
    }
    const size_t equals = word.find('=');  // --name=value, -n=value
    const std::string_view name = word.substr(0, equals);
    const Option* found = nullptr;
    for (const Option& option : options) {
      if (option.name == name || option.brief == name) {
        found = &option;
      }
    }
    const bool attached = equals != std::string_view::npos;
    if (found == nullptr) {
      return et::Error(et::Status::InvalidArgument, "unknown option " + std::string(name));
    }
    if (!found->takes_value && attached) {
      return et::Error(et::Status::InvalidArgument, std::string(name) + " takes no value");
    }
    if (found->takes_value && !attached && i + 1 == words.size()) {
      return et::Error(et::Status::InvalidArgument, std::string(name) + " needs a value");
    }
    std::string_view value = attached ? word.substr(equals + 1) : "";
    if (found->takes_value && !attached) {
      value = words[++i];
    }
    out.given_.emplace_back(found->name, value);
  }
  return out;
}

bool Arguments::has(std::string_view name) const {
  for (const auto& [given, value] : given_) {
    if (given == name) {
      return true;
    }
  }
  return false;
}

std::string Arguments::value(std::string_view name, std::string_view fallback) const {
  const auto all = values(name);
  return all.empty() ? std::string(fallback) : all.back();
}

std::vector<std::string> Arguments::values(std::string_view name) const {
  std::vector<std::string> all;
  for (const auto& [given, value] : given_) {
    if (given == name) {
      all.push_back(value);
    }
  }
  return all;
}

et::Result<int64_t> Arguments::number(std::string_view name, int64_t fallback, int64_t least) const {
  const std::string text = value(name, std::to_string(fallback));
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least) {
    return et::Error(et::Status::InvalidArgument, std::string(name) + " is \"" + text + "\", expected a number from " +
                                                      std::to_string(least) + " up");
  }
  return number;
}

}  // namespace etrt::tool
