// A JSON text, read: enough for what et_program_describe writes.
#pragma once

#include <et/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace etrt::tool {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  static et::Result<Json> parse(std::string_view text);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // Empty, 0 or null where the value is of another kind or there is no such field.
  const Array& items() const;
  const Json& operator[](std::string_view field) const;
  std::string text() const;
  double number() const;
  int64_t integer() const { return static_cast<int64_t>(number()); }
  bool truth() const;

 private:
  friend class JsonParser;
  std::variant<std::monostate, bool, double, std::string, Array, Object> value_;
};

}  // namespace etrt::tool
