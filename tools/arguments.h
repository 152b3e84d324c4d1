// The words of a command line: options with and without a value, and the rest.
#pragma once

#include <et/error.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etrt::tool {

struct Option {
  std::string_view name;   // "--method"
  std::string_view brief;  // "-m", or empty
  bool takes_value = false;
};

class Arguments {
 public:
  // An unknown option, or one that lacks its value, is an error.
  static et::Result<Arguments> parse(std::span<const std::string_view> words, std::span<const Option> options);

  const std::vector<std::string>& rest() const { return rest_; }
  bool has(std::string_view name) const;
  // The last value that was given, or `fallback`.
  std::string value(std::string_view name, std::string_view fallback = "") const;
  // All values, in order.
  std::vector<std::string> values(std::string_view name) const;
  // The value as a number of at least `least`.
  et::Result<int64_t> number(std::string_view name, int64_t fallback, int64_t least) const;

 private:
  std::vector<std::pair<std::string_view, std::string>> given_;
  std::vector<std::string> rest_;
};

}  // namespace etrt::tool
