// Status and Result: the outcome of everything that can fail.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace etrt {

// The codes and names of ExecuTorch's Error, so that scripts and logs written for it keep their meaning.
enum class [[nodiscard]] Status : int32_t{
    Ok = 0x00,
    Internal = 0x01,
    InvalidState = 0x02,
    EndOfMethod = 0x03,
    AlreadyLoaded = 0x04,
    NotSupported = 0x10,
    NotImplemented = 0x11,
    InvalidArgument = 0x12,
    InvalidType = 0x13,
    OperatorMissing = 0x14,
    RegistrationExceedingMaxKernels = 0x15,
    RegistrationAlreadyRegistered = 0x16,
    NotFound = 0x20,
    MemoryAllocationFailed = 0x21,
    AccessFailed = 0x22,
    InvalidProgram = 0x23,
    InvalidExternalData = 0x24,
    OutOfResources = 0x25,
    DelegateInvalidCompatibility = 0x30,
    DelegateMemoryAllocationFailed = 0x31,
    DelegateInvalidHandle = 0x32,
};

// "InvalidArgument"; "Unknown" for a number that is no code. Static storage.
const char* status_name(Status status);

// A value, or why there is none. Never holds Status::Ok without a value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(status == Status::Ok ? Status::Internal : status) {}

  bool ok() const { return value_.has_value(); }
  Status status() const { return ok() ? Status::Ok : status_; }

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T take() { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Status status_ = Status::Ok;
};

}  // namespace etrt

// Returns the status of `expression` from the enclosing function unless it is Ok.
#define ET_TRY(expression)                                                                  \
  do {                                                                                      \
    if (const ::etrt::Status et_status_ = (expression); et_status_ != ::etrt::Status::Ok) { \
      return et_status_;                                                                    \
    }                                                                                       \
  } while (false)

#define ET_CONCAT_INNER(a, b) a##b
#define ET_CONCAT(a, b) ET_CONCAT_INNER(a, b)

// `ET_ASSIGN(auto x, f());` declares x from a Result, or returns its status.
#define ET_ASSIGN(declaration, expression)             \
  auto ET_CONCAT(et_result_, __LINE__) = (expression); \
  if (!ET_CONCAT(et_result_, __LINE__).ok()) {         \
    return ET_CONCAT(et_result_, __LINE__).status();   \
  }                                                    \
  declaration = ET_CONCAT(et_result_, __LINE__).take()
