#include "json.h"

#include <charconv>

namespace etrt::tool {

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : rest_(text) {}

  et::Result<Json> parse() {
    Json value;
    skip_space();
    const bool ok = read_value(value, 0);
    skip_space();
    if (!ok || !rest_.empty()) {
      return et::Error(et::Status::Internal, "not JSON near \"" + std::string(rest_.substr(0, 20)) + "\"");
    }
    return value;
  }

 private:
  static constexpr int kMaxDepth = 64;

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) {
      return false;
    }
    rest_.remove_prefix(word.size());
    skip_space();
    return true;
  }

  bool read_value(Json& out, int depth) {
    if (depth > kMaxDepth) {
      return false;
    }
    if (take("{")) {
      return read_object(out.value_.emplace<Json::Object>(), depth);
    }
    if (take("[")) {
      return read_array(out.value_.emplace<Json::Array>(), depth);
    }
    if (rest_.starts_with('"')) {
      return read_string(out.value_.emplace<std::string>());
    }
    if (take("true")) {
      out.value_ = true;
      return true;
    }
    if (take("false")) {
      out.value_ = false;
      return true;
    }
    if (take("null")) {
      return true;
    }
    double number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc()) {
      return false;
    }
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    skip_space();
    out.value_ = number;
    return true;
  }

  bool read_array(Json::Array& out, int depth) {
    while (!take("]")) {
      if (!out.empty() && !take(",")) {
        return false;
      }
      if (!read_value(out.emplace_back(), depth + 1)) {
        return false;
      }
    }
    return true;
  }

  bool read_object(Json::Object& out, int depth) {
    while (!take("}")) {
      if (!out.empty() && !take(",")) {
        return false;
      }
      auto& [name, value] = out.emplace_back();
      if (!read_string(name) || !take(":") || !read_value(value, depth + 1)) {
        return false;
      }
    }
    return true;
  }

  bool read_string(std::string& out) {
    if (!rest_.starts_with('"')) {
      return false;
    }
    size_t i = 1;
    for (; i < rest_.size() && rest_[i] != '"'; ++i) {
      if (rest_[i] != '\\') {
        out += rest_[i];
      } else if (++i >= rest_.size() || !read_escape(i, out)) {
        return false;
      }
    }
    rest_.remove_prefix(std::min(i + 1, rest_.size()));
    skip_space();
    return true;
  }

  // `i` is at the character after the backslash, and afterwards at the last one of the escape.
  bool read_escape(size_t& i, std::string& out) {
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    if (const size_t at = kFrom.find(rest_[i]); at != std::string_view::npos) {
      out += kTo[at];
      return true;
    }
    unsigned code = 0;
    if (rest_[i] != 'u' || i + 4 >= rest_.size() ||
        std::from_chars(rest_.data() + i + 1, rest_.data() + i + 5, code, 16).ptr != rest_.data() + i + 5) {
      return false;
    }
    i += 4;
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    } else {
      out += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
              static_cast<char>(0x80 | (code & 0x3f))};
    }
    return true;
  }

  std::string_view rest_;
};

et::Result<Json> Json::parse(std::string_view text) { return JsonParser(text).parse(); }

const Json::Array& Json::items() const {
  static const Array none;
  const auto* array = std::get_if<Array>(&value_);
  return array != nullptr ? *array : none;
}

const Json& Json::operator[](std::string_view field) const {
  static const Json none;
  if (const auto* object = std::get_if<Object>(&value_)) {
    for (const auto& [name, value] : *object) {
      if (name == field) {
        return value;
      }
    }
  }
  return none;
}

std::string Json::text() const {
  const auto* text = std::get_if<std::string>(&value_);
  return text != nullptr ? *text : "";
}

double Json::number() const {
  const auto* number = std::get_if<double>(&value_);
  return number != nullptr ? *number : 0;
}

bool Json::truth() const {
  const auto* truth = std::get_if<bool>(&value_);
  return truth != nullptr && *truth;
}

}  // namespace etrt::tool
