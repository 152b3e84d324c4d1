// value.h - what goes into a method and comes out of it: a tensor, a number, a bool, a string, None, or a list.
//
//   std::vector<et::Value> inputs = {image, 3, true};
//   et::Result<et::Tensor> scores = outputs[0].as_tensor();
#pragma once

#include <et.h>
#include <et/error.h>
#include <et/tensor.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace et {

enum class Kind : int32_t {
  None = ET_KIND_NONE,
  Int = ET_KIND_INT,
  Double = ET_KIND_DOUBLE,
  Bool = ET_KIND_BOOL,
  String = ET_KIND_STRING,
  Tensor = ET_KIND_TENSOR,
  List = ET_KIND_LIST,
};

// "int", "tensor", …
inline const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::None:
      return "None";
    case Kind::Int:
      return "int";
    case Kind::Double:
      return "double";
    case Kind::Bool:
      return "bool";
    case Kind::String:
      return "string";
    case Kind::Tensor:
      return "tensor";
    case Kind::List:
      return "list";
  }
  return "?";
}

// Keeps what it holds; copies share a tensor's memory.
class Value {
 public:
  Value() = default;  // None
  template <class T>
  requires std::is_arithmetic_v<T> Value(T number) {
    if constexpr (std::is_same_v<T, bool>) {
      state_ = number;
    } else if constexpr (std::is_integral_v<T>) {
      state_ = static_cast<int64_t>(number);
    } else {
      state_ = static_cast<double>(number);
    }
  }
  Value(std::string text) : state_(std::move(text)) {}
  Value(const char* text) : state_(std::string(text)) {}
  Value(Tensor tensor) : state_(std::move(tensor)) {}
  Value(std::vector<Value> items) : state_(std::move(items)) {}

  Kind kind() const {
    constexpr Kind kKinds[] = {Kind::None, Kind::Int, Kind::Double, Kind::Bool, Kind::String, Kind::Tensor, Kind::List};
    return kKinds[state_.index()];
  }
  bool is_none() const { return kind() == Kind::None; }
  bool is_tensor() const { return kind() == Kind::Tensor; }

  // InvalidType when the value is of another kind.
  Result<int64_t> as_int() const { return get<int64_t>(Kind::Int); }
  Result<double> as_double() const { return get<double>(Kind::Double); }
  Result<bool> as_bool() const { return get<bool>(Kind::Bool); }
  Result<std::string> as_string() const { return get<std::string>(Kind::String); }
  Result<Tensor> as_tensor() const { return get<Tensor>(Kind::Tensor); }
  Result<std::vector<Value>> as_list() const { return get<std::vector<Value>>(Kind::List); }

  // For the C functions: valid while this value lives. Lists can't be given to a method, so theirs is empty.
  et_value raw() const {
    et_value out{};
    out.kind = static_cast<int32_t>(kind());
    switch (kind()) {
      case Kind::None:
      case Kind::List:
        break;
      case Kind::Int:
        out.u.as_int = *std::get_if<int64_t>(&state_);
        break;
      case Kind::Double:
        out.u.as_double = *std::get_if<double>(&state_);
        break;
      case Kind::Bool:
        out.u.as_bool = *std::get_if<bool>(&state_) ? 1 : 0;
        break;
      case Kind::String: {
        const auto& text = *std::get_if<std::string>(&state_);
        out.u.as_string = {text.data(), text.size()};
        break;
      }
      case Kind::Tensor:
        out = detail::tensor_value(std::get_if<Tensor>(&state_)->raw(), std::get_if<Tensor>(&state_)->read_only());
        break;
    }
    return out;
  }

 private:
  template <class T>
  Result<T> get(Kind wanted) const {
    if (const T* found = std::get_if<T>(&state_)) {
      return *found;
    }
    return Error(Status::InvalidType,
                 std::string("the value is a ") + kind_name(kind()) + ", asked for as a " + kind_name(wanted));
  }

  std::variant<std::monostate, int64_t, double, bool, std::string, Tensor, std::vector<Value>> state_;
};

}  // namespace et
