// Value: what a place in a method's value table holds.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/tensor.h"

namespace etrt {

enum class Kind : uint8_t {
  None,
  Int,
  Double,
  Bool,
  String,
  Tensor,
  IntList,
  DoubleList,
  BoolList,
  TensorList,
  OptionalTensorList,
};

// "None", "Int", … as used in messages.
const char* kind_name(Kind kind);

struct Value;

// The elements of a list value. Int and tensor lists refer to other values of the table, which a move
// or a shape computation may change between uses: they are read anew each time.
class List {
 public:
  // One of these is filled, by kind of the list.
  std::vector<Value*> items;  // IntList, TensorList, OptionalTensorList (null: absent)
  std::vector<double> doubles;
  std::vector<uint8_t> bools;

  // The elements as they are now. The span is valid until the next call on this list.
  // InvalidType when an element is of another kind.
  Result<std::span<const int64_t>> ints();
  Result<std::span<Tensor* const>> tensors();           // every element present
  Result<std::span<Tensor* const>> optional_tensors();  // null where absent

 private:
  std::vector<int64_t> ints_;
  std::vector<Tensor*> tensors_;
};

// Copying a value copies the handle: two values may share one tensor or list.
struct Value {
  Kind kind = Kind::None;
  union {
    int64_t as_int;
    double as_double;
    bool as_bool;
    std::string_view as_string;
    Tensor* as_tensor;  // never null for Kind::Tensor
    List* as_list;      // never null for the list kinds
  };

  constexpr Value() : as_int(0) {}

  static Value of_int(int64_t v) {
    Value x;
    x.kind = Kind::Int;
    x.as_int = v;
    return x;
  }
  static Value of_double(double v) {
    Value x;
    x.kind = Kind::Double;
    x.as_double = v;
    return x;
  }
  static Value of_bool(bool v) {
    Value x;
    x.kind = Kind::Bool;
    x.as_bool = v;
    return x;
  }
  static Value of_string(std::string_view v) {
    Value x;
    x.kind = Kind::String;
    x.as_string = v;
    return x;
  }
  static Value of_tensor(Tensor* v) {
    Value x;
    x.kind = Kind::Tensor;
    x.as_tensor = v;
    return x;
  }
  static Value of_list(Kind kind, List* v) {
    Value x;
    x.kind = kind;
    x.as_list = v;
    return x;
  }
};

// A number argument that may be any of int, float and bool.
struct Scalar {
  enum class Kind : uint8_t { Bool, Int, Float } kind = Kind::Int;
  union {
    int64_t i = 0;
    double d;
  };

  static Scalar of(int64_t v) {
    Scalar s;
    s.kind = Kind::Int;
    s.i = v;
    return s;
  }
  static Scalar of(double v) {
    Scalar s;
    s.kind = Kind::Float;
    s.d = v;
    return s;
  }
  static Scalar of(bool v) {
    Scalar s;
    s.kind = Kind::Bool;
    s.i = v ? 1 : 0;
    return s;
  }

  bool is_float() const { return kind == Kind::Float; }
  bool is_bool() const { return kind == Kind::Bool; }
  double as_double() const { return kind == Kind::Float ? d : static_cast<double>(i); }
  // Truncates a float; out of range gives the nearest int64_t, NaN gives 0.
  int64_t as_int() const;
  bool as_bool() const { return kind == Kind::Float ? d != 0.0 : i != 0; }
  ScalarKind category() const {
    return kind == Kind::Float ? ScalarKind::Float : kind == Kind::Int ? ScalarKind::Int : ScalarKind::Bool;
  }
};

}  // namespace etrt
