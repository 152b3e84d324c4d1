// How an operator is written.
//
// A kernel is a plain function over typed arguments in schema order, out arguments last:
//
//   Status add(Call& call, const Tensor& self, const Tensor& other, Scalar alpha, Tensor& out);
//
// Its shape function has the same parameters and gives the outputs their sizes; it runs first. Both
// stand in one row of the family's table:
//
//   {"aten::add.out", "(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
//    bind<shape_of_broadcast>, bind<add>, kPure | kElementwise},
//
// A kernel checks what its shape function has not, always with a message that names the argument and
// both values: `return call.fail(Status::InvalidArgument, "other has dtype {}, expected {}", …)`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/scratch.h"
#include "core/value.h"

namespace etrt {

class Call;
using Invoke = Status (*)(Call&);

// What a planner may assume of an operator.
enum Facts : uint32_t {
  kNoFacts = 0,
  kPure = 1U << 0,         // the outputs depend on the arguments only; nothing else is written
  kElementwise = 1U << 1,  // output element i needs input elements i only (after broadcasting)
  kInPlaceOk = 1U << 2,    // the output may lie in the first tensor argument's memory
  kAnyLayout = 1U << 3,    // takes and gives every dim_order
  kView = 1U << 4,         // only moves or renames elements, any dtype
  kRandom = 1U << 5,       // draws from the generator
  kAliases = 1U << 6,      // copies nothing: the written argument comes to lie in the first argument's memory
};

struct Op {
  std::string_view name;    // with overload: "aten::add.out"
  std::string_view schema;  // argument list and return, as in PyTorch; `Tensor(a!)` marks what is written
  Invoke shape;             // null: the kernel sizes its outputs itself, from data
  Invoke kernel;
  uint32_t facts = kNoFacts;
  void* user_data = nullptr;  // of operators registered by the user
};

// Parsed form of a schema's argument list.
struct SchemaArgument {
  std::string_view type;  // "Tensor", "Tensor?", "int[]", "Scalar", …, without the alias mark
  std::string_view name;
  bool written = false;
  bool keyword_only = false;  // after the `*`; what is written there is overwritten whole, never read
};
struct Schema {
  std::vector<SchemaArgument> arguments;
  bool out_variant = false;      // an argument is written and returned: the return slot repeats it
  bool returns_nothing = false;  // "-> ()": calls have no return slot
};
// Empty when `text` is empty (an operator of the user's without a schema).
Schema parse_schema(std::string_view text);
// Refuses (InvalidArgument) what isn't a schema.
Status check_schema(std::string_view text);
// The same of an operator in the table, parsed once.
const Schema& schema_of(const Op& op);

// The table. Names are unique; lookups are safe from any thread.
const Op* find_op(std::string_view name);
// A user's operator. Copies the strings. RegistrationAlreadyRegistered when the name is taken.
Status register_op(std::string_view name, std::string_view schema, Invoke kernel, void* user_data);
// All names, sorted. The views stay valid for the process.
std::vector<std::string_view> op_names();

// One call of one operator: its arguments and services.
class Call {
 public:
  Call(const Op& op, std::span<Value* const> args, Scratch& scratch, std::string_view method = {})
      : op_(op), args_(args), scratch_(scratch), method_(method) {}

  const Op& op() const { return op_; }
  // The method being run; empty outside one.
  std::string_view method() const { return method_; }
  Scratch& scratch_memory() { return scratch_; }
  // Every schema argument in order, outputs included, then the return slot.
  std::span<Value* const> args() const { return args_; }

  // Logs "<operator>: <text>" and returns `status`.
  template <class... A>
  Status fail(Status status, fmt::format_string<A...> format, A&&... args) const {
    return fail_with(status, format_text(format, std::forward<A>(args)...));
  }

  // Gives an output its sizes; the message of a refusal names the output.
  Status resize(Tensor& out, std::span<const int64_t> sizes) const;

  // Temporary memory, 64-byte aligned, uninitialised, freed when the call ends. Throws bad_alloc.
  template <class T>
  T* scratch(int64_t count) {
    return scratch_.array<T>(static_cast<size_t>(count));
  }
  // A row-major temporary tensor.
  Tensor scratch_tensor(DType dtype, std::span<const int64_t> sizes);

  // The schema's name of argument `index`; "argument 3" without a schema.
  std::string arg_name(size_t index) const;
  // The schema's name of the argument that holds `tensor`.
  std::string arg_name(const Tensor& tensor) const;

  Status fail_with(Status status, std::string text) const;
  Status wrong_kind(size_t index, const char* expected) const;

 private:
  const Op& op_;
  std::span<Value* const> args_;
  Scratch& scratch_;
  std::string_view method_;
};

using IntList = std::span<const int64_t>;
using DoubleList = std::span<const double>;
using BoolList = std::span<const uint8_t>;
using TensorList = std::span<Tensor* const>;
// Absent elements are null. A type of its own so that a signature tells the two lists apart.
struct OptionalTensorList {
  std::span<Tensor* const> items;
};

namespace detail {

// Unpack<P> turns a Value into a parameter of type P. `get` returns false on a wrong kind.
template <class P>
struct Unpack;

template <>
struct Unpack<const Tensor&> {
  using Stored = const Tensor*;
  static constexpr const char* kExpected = "a tensor";
  static bool get(Value& v, Stored& out) {
    if (v.kind != Kind::Tensor) {
      return false;
    }
    out = v.as_tensor;
    return true;
  }
  static const Tensor& pass(Stored s) { return *s; }
};
template <>
struct Unpack<Tensor&> {
  using Stored = Tensor*;
  static constexpr const char* kExpected = "a tensor";
  static bool get(Value& v, Stored& out) {
    if (v.kind != Kind::Tensor) {
      return false;
    }
    out = v.as_tensor;
    return true;
  }
  static Tensor& pass(Stored s) { return *s; }
};
// Tensor? : null when absent.
template <>
struct Unpack<const Tensor*> {
  using Stored = const Tensor*;
  static constexpr const char* kExpected = "a tensor or None";
  static bool get(Value& v, Stored& out) {
    if (v.kind == Kind::None) {
      out = nullptr;
      return true;
    }
    return Unpack<const Tensor&>::get(v, out);
  }
  static const Tensor* pass(Stored s) { return s; }
};

template <class T>
struct UnpackByValue {
  using Stored = T;
  static T pass(const T& s) { return s; }
};
template <>
struct Unpack<int64_t> : UnpackByValue<int64_t> {
  static constexpr const char* kExpected = "an int";
  static bool get(Value& v, int64_t& out) {
    out = v.as_int;
    return v.kind == Kind::Int;
  }
};
template <>
struct Unpack<double> : UnpackByValue<double> {
  static constexpr const char* kExpected = "a float";
  static bool get(Value& v, double& out) {
    if (v.kind == Kind::Int) {
      out = static_cast<double>(v.as_int);
      return true;
    }
    out = v.as_double;
    return v.kind == Kind::Double;
  }
};
template <>
struct Unpack<bool> : UnpackByValue<bool> {
  static constexpr const char* kExpected = "a bool";
  static bool get(Value& v, bool& out) {
    if (v.kind == Kind::Int) {
      out = v.as_int != 0;
      return true;
    }
    out = v.kind == Kind::Bool && v.as_bool;
    return v.kind == Kind::Bool;
  }
};
template <>
struct Unpack<Scalar> : UnpackByValue<Scalar> {
  static constexpr const char* kExpected = "a number";
  static bool get(Value& v, Scalar& out) {
    switch (v.kind) {
      case Kind::Int:
        out = Scalar::of(v.as_int);
        return true;
      case Kind::Double:
        out = Scalar::of(v.as_double);
        return true;
      case Kind::Bool:
        out = Scalar::of(v.as_bool);
        return true;
      default:
        return false;
    }
  }
};
template <>
struct Unpack<std::string_view> : UnpackByValue<std::string_view> {
  static constexpr const char* kExpected = "a string";
  static bool get(Value& v, std::string_view& out) {
    if (v.kind != Kind::String) {
      return false;
    }
    out = v.as_string;
    return true;
  }
};
template <>
struct Unpack<DType> : UnpackByValue<DType> {
  static constexpr const char* kExpected = "a dtype";
  static bool get(Value& v, DType& out) {
    if (v.kind != Kind::Int || !dtype_valid(v.as_int)) {
      return false;
    }
    out = static_cast<DType>(v.as_int);
    return true;
  }
};
template <>
struct Unpack<IntList> : UnpackByValue<IntList> {
  static constexpr const char* kExpected = "a list of ints";
  static bool get(Value& v, IntList& out) {
    if (v.kind != Kind::IntList) {
      return false;
    }
    auto ints = v.as_list->ints();
    if (!ints.ok()) {
      return false;
    }
    out = *ints;
    return true;
  }
};
template <>
struct Unpack<DoubleList> : UnpackByValue<DoubleList> {
  static constexpr const char* kExpected = "a list of floats";
  static bool get(Value& v, DoubleList& out) {
    if (v.kind != Kind::DoubleList) {
      return false;
    }
    out = v.as_list->doubles;
    return true;
  }
};
template <>
struct Unpack<BoolList> : UnpackByValue<BoolList> {
  static constexpr const char* kExpected = "a list of bools";
  static bool get(Value& v, BoolList& out) {
    if (v.kind != Kind::BoolList) {
      return false;
    }
    out = v.as_list->bools;
    return true;
  }
};
template <>
struct Unpack<TensorList> : UnpackByValue<TensorList> {
  static constexpr const char* kExpected = "a list of tensors";
  static bool get(Value& v, TensorList& out) {
    if (v.kind != Kind::TensorList && v.kind != Kind::OptionalTensorList) {
      return false;
    }
    auto tensors = v.as_list->tensors();
    if (!tensors.ok()) {
      return false;
    }
    out = *tensors;
    return true;
  }
};
template <>
struct Unpack<OptionalTensorList> : UnpackByValue<OptionalTensorList> {
  static constexpr const char* kExpected = "a list of tensors or None";
  static bool get(Value& v, OptionalTensorList& out) {
    if (v.kind != Kind::TensorList && v.kind != Kind::OptionalTensorList) {
      return false;
    }
    auto tensors = v.as_list->optional_tensors();
    if (!tensors.ok()) {
      return false;
    }
    out.items = *tensors;
    return true;
  }
};
template <class T>
struct Unpack<std::optional<T>> : UnpackByValue<std::optional<T>> {
  static constexpr const char* kExpected = Unpack<T>::kExpected;
  static bool get(Value& v, std::optional<T>& out) {
    if (v.kind == Kind::None) {
      out.reset();
      return true;
    }
    T value{};
    if (!Unpack<T>::get(v, value)) {
      return false;
    }
    out = value;
    return true;
  }
};
// The place itself: the result of an operator that isn't an out variant, or an argument of any kind.
template <>
struct Unpack<Value&> {
  using Stored = Value*;
  static constexpr const char* kExpected = "a value";
  static bool get(Value& v, Stored& out) {
    out = &v;
    return true;
  }
  static Value& pass(Stored s) { return *s; }
};

template <class F>
struct Binder;
template <class... P>
struct Binder<Status (*)(Call&, P...)> {
  template <auto F>
  static Status invoke(Call& call) {
    return with_index<F>(call, std::index_sequence_for<P...>{});
  }
  template <auto F, size_t... I>
  static Status with_index(Call& call, std::index_sequence<I...> /*indices*/) {
    const auto args = call.args();
    if (args.size() < sizeof...(P)) {
      return call.fail(Status::InvalidProgram, "has {} arguments, expected {}", args.size(), sizeof...(P));
    }
    [[maybe_unused]] std::tuple<typename Unpack<P>::Stored...> stored{};
    size_t wrong = sizeof...(P);
    const char* expected = "";
    ((wrong == sizeof...(P) && !Unpack<P>::get(*args[I], std::get<I>(stored))
          ? (wrong = I, expected = Unpack<P>::kExpected, 0)
          : 0),
     ...);
    if (wrong != sizeof...(P)) {
      return call.wrong_kind(wrong, expected);
    }
    return F(call, Unpack<P>::pass(std::get<I>(stored))...);
  }
};
template <>
struct Binder<Status (*)(Call&)> {
  template <auto F>
  static Status invoke(Call& call) {
    return F(call);
  }
};

}  // namespace detail

// A typed kernel or shape function as a table entry. A function of `Call&` alone reads the arguments itself.
template <auto F>
inline constexpr Invoke bind = &detail::Binder<decltype(F)>::template invoke<F>;

}  // namespace etrt
