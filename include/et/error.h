// error.h - outcomes: Result<T> holds a value or an Error that says why there is none.
//
//   et::Result<et::Program> program = et::Program::load("model.pte");
//   if (!program) { std::cerr << program.error().text << '\n'; return 1; }
//   program->method_names();
//
// Where you would rather have exceptions, leave the check out: touching the value of a failed Result throws
// et::Exception with the same text. Nothing here needs exceptions to be enabled.
#pragma once

#include <et.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace et {

// The codes and names of ExecuTorch's Error.
enum class Status : et_status {
  Ok = ET_OK,
  Internal = ET_INTERNAL,
  InvalidState = ET_INVALID_STATE,
  EndOfMethod = ET_END_OF_METHOD,
  AlreadyLoaded = ET_ALREADY_LOADED,
  NotSupported = ET_NOT_SUPPORTED,
  NotImplemented = ET_NOT_IMPLEMENTED,
  InvalidArgument = ET_INVALID_ARGUMENT,
  InvalidType = ET_INVALID_TYPE,
  OperatorMissing = ET_OPERATOR_MISSING,
  RegistrationExceedingMaxKernels = ET_REGISTRATION_EXCEEDING_MAX_KERNELS,
  RegistrationAlreadyRegistered = ET_REGISTRATION_ALREADY_REGISTERED,
  NotFound = ET_NOT_FOUND,
  MemoryAllocationFailed = ET_MEMORY_ALLOCATION_FAILED,
  AccessFailed = ET_ACCESS_FAILED,
  InvalidProgram = ET_INVALID_PROGRAM,
  InvalidExternalData = ET_INVALID_EXTERNAL_DATA,
  OutOfResources = ET_OUT_OF_RESOURCES,
  DelegateInvalidCompatibility = ET_DELEGATE_INVALID_COMPATIBILITY,
  DelegateMemoryAllocationFailed = ET_DELEGATE_MEMORY_ALLOCATION_FAILED,
  DelegateInvalidHandle = ET_DELEGATE_INVALID_HANDLE,
};

// "InvalidArgument"; "Unknown" for a number that is no code.
inline const char* status_name(Status status) { return et_status_name(static_cast<et_status>(status)); }

// Why a call failed.
struct Error {
  Status status = Status::Internal;
  std::string text;       // what failed, and why: several lines perhaps
  std::string method;     // the method it was about; "" where that doesn't apply, as below
  std::string op;         // the operator that failed
  int64_t argument = -1;  // index of the argument, input or output at fault
  std::string expected;   // what would have been right
  std::string found;      // what was given

  // An error of your own, for operators and delegates to return.
  Error(Status why, std::string what) : status(why), text(std::move(what)) {}

  // This thread's last failure of a C function. It is moved out: a second call finds none.
  static Error take_last(Status status) {
    Error error(status, status_name(status));
    if (et_error* raw = et_last_error_take()) {
      error.status = static_cast<Status>(et_error_status(raw));
      error.text = et_error_text(raw);
      error.method = et_error_method(raw);
      error.op = et_error_operator(raw);
      error.argument = et_error_argument(raw);
      error.expected = et_error_expected(raw);
      error.found = et_error_found(raw);
      et_error_free(raw);
      error.from_library = true;
    }
    return error;
  }

  // True for take_last(): the library knows the lines of this text already.
  bool from_library = false;
};

// What touching the value of a failed Result throws.
class Exception : public std::runtime_error {
 public:
  explicit Exception(Error error) : std::runtime_error(error.text), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

namespace detail {

[[noreturn]] inline void no_value(const Error& error) {
#if defined(__cpp_exceptions)
  throw Exception(error);
#else
  std::fprintf(stderr, "%s\n", error.text.c_str());
  std::abort();
#endif
}

}  // namespace detail

// A T, or the Error that says why there is none. The value functions throw et::Exception when there is none
// (built without exceptions: they write the text to stderr and abort).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    check();
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    check();
    return *std::get_if<0>(&state_);
  }
  // By value, so that `for (x : f().value())` may keep it.
  T value() && {
    check();
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Only for a Result that isn't ok().
  const Error& error() const { return *std::get_if<1>(&state_); }
  Status status() const { return ok() ? Status::Ok : error().status; }

 private:
  void check() const {
    if (!ok()) {
      detail::no_value(error());
    }
  }
  std::variant<T, Error> state_;
};

// Done, or the Error that says why not.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Throws et::Exception unless ok().
  void value() const {
    if (!ok()) {
      detail::no_value(error());
    }
  }
  const Error& error() const { return *std::get_if<1>(&state_); }
  Status status() const { return ok() ? Status::Ok : error().status; }

 private:
  std::variant<std::monostate, Error> state_;
};

namespace detail {

// An options struct of the C functions, with its size filled in and the rest zero.
template <class T>
T options() {
  T made{};
  made.struct_size = sizeof(T);
  return made;
}

// The outcome of a C function.
inline Result<void> outcome(et_status status) {
  if (status == ET_OK) {
    return {};
  }
  return Error::take_last(static_cast<Status>(status));
}

}  // namespace detail
}  // namespace et
