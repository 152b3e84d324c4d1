// JsonWriter: JSON as text, with the commas in the right places.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "program/format.h"

namespace etrt::capi {

class JsonWriter {
 public:
  template <class Body>
  JsonWriter& object(Body&& body) {
    return nested('{', '}', body);
  }
  template <class Body>
  JsonWriter& array(Body&& body) {
    return nested('[', ']', body);
  }
  // In an object: what follows is the value of `name`.
  JsonWriter& key(std::string_view name) {
    separate();
    quote(name);
    text_ += ": ";
    after_key_ = true;
    return *this;
  }

  void value(std::string_view text) {
    separate();
    quote(text);
  }
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool truth) { raw(truth ? "true" : "false"); }
  void value(std::integral auto number) { raw(std::to_string(number)); }
  // JSON has no infinities and no NaN: they become strings.
  void value(double number) {
    if (std::isfinite(number)) {
      raw(format_text("{}", number));
    } else {
      value(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
    }
  }
  void null() { raw("null"); }
  template <class T>
  void field(std::string_view name, const T& v) {
    key(name).value(v);
  }
  template <class Numbers>
  void numbers(std::string_view name, const Numbers& all) {
    key(name).array([&] {
      for (const auto number : all) {
        value(static_cast<int64_t>(number));
      }
    });
  }

  std::string take() { return std::move(text_); }

 private:
  template <class Body>
  JsonWriter& nested(char open, char close, Body&& body) {
    separate();
    text_ += open;
    first_ = true;
    body();
    text_ += close;
    first_ = false;
    return *this;
  }
  void raw(std::string_view text) {
    separate();
    text_ += text;
  }
  void separate() {
    if (!first_ && !after_key_) {
      text_ += ", ";
    }
    first_ = false;
    after_key_ = false;
  }
  void quote(std::string_view text) {
    const bool utf8 = valid_utf8(text);
    text_ += '"';
    for (const char c : text) {
      switch (c) {
        case '"':
          text_ += "\\\"";
          break;
        case '\\':
          text_ += "\\\\";
          break;
        case '\n':
          text_ += "\\n";
          break;
        case '\t':
          text_ += "\\t";
          break;
        default:
          if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            text_ += format_text("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
          } else if (!utf8 && static_cast<unsigned char>(c) >= 0x80) {
            text_ += "\\ufffd";
          } else {
            text_ += c;
          }
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool first_ = true;
  bool after_key_ = false;
};

}  // namespace etrt::capi
