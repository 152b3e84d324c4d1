// call.h - one call of an operator (op.h) or a delegate (backend.h) of yours.
#pragma once

#include <et.h>
#include <et/error.h>
#include <et/tensor.h>
#include <et/value.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>

namespace et {

// Valid during the call, on its thread. Arguments are views of the method's memory.
class Call {
 public:
  Call(et_call* raw, et_value* args, size_t count) : raw_(raw), args_(args, count) {}

  size_t arg_count() const { return args_.size(); }
  Kind kind(size_t index) const { return index < args_.size() ? static_cast<Kind>(args_[index].kind) : Kind::None; }
  bool is_none(size_t index) const { return kind(index) == Kind::None; }

  // InvalidType, with the index, when the argument is of another kind.
  Result<TensorView> tensor(size_t index) const {
    if (kind(index) != Kind::Tensor) {
      return wrong_kind(index, Kind::Tensor);
    }
    return TensorView(args_[index].u.as_tensor);
  }
  Result<int64_t> integer(size_t index) const {
    if (kind(index) != Kind::Int) {
      return wrong_kind(index, Kind::Int);
    }
    return args_[index].u.as_int;
  }
  Result<bool> boolean(size_t index) const {
    if (kind(index) != Kind::Bool) {
      return wrong_kind(index, Kind::Bool);
    }
    return args_[index].u.as_bool != 0;
  }
  // An int counts as a number too.
  Result<double> number(size_t index) const {
    if (kind(index) == Kind::Int) {
      return static_cast<double>(args_[index].u.as_int);
    }
    if (kind(index) != Kind::Double) {
      return wrong_kind(index, Kind::Double);
    }
    return args_[index].u.as_double;
  }
  // The values of a list argument, as C has them.
  Result<std::span<const et_value>> list(size_t index) const {
    if (kind(index) != Kind::List) {
      return wrong_kind(index, Kind::List);
    }
    return std::span<const et_value>(args_[index].u.as_list.items, args_[index].u.as_list.count);
  }

  // Gives a tensor argument new sizes. Ask tensor(index) again afterwards: it may have other memory.
  Result<void> resize(size_t index, std::span<const int64_t> sizes) {
    return detail::outcome(et_call_resize(raw_, index, sizes.data(), sizes.size()));
  }
  // Writes a number, a bool or None to an argument, such as the result of an operator without outputs.
  Result<void> set(size_t index, const Value& value) {
    const et_value c = value.raw();
    return detail::outcome(et_call_set(raw_, index, &c));
  }

  // Temporary memory, 64-byte aligned, until the call ends; null when there is none.
  void* temp(size_t size) { return et_call_temp(raw_, size); }
  // The method being run or loaded.
  std::string method_name() const { return et_call_method_name(raw_); }
  // Bytes stored under `key` in the program or its .ptd files. For delegates. They belong to the program.
  Result<std::span<const std::byte>> named_data(const std::string& key) const {
    const void* data = nullptr;
    size_t size = 0;
    if (const Result<void> done = detail::outcome(et_call_named_data(raw_, key.c_str(), &data, &size)); !done) {
      return done.error();
    }
    return std::span<const std::byte>(static_cast<const std::byte*>(data), size);
  }

  et_call* raw() const { return raw_; }
  std::span<et_value> raw_args() const { return args_; }

 private:
  Error wrong_kind(size_t index, Kind wanted) const {
    if (index >= args_.size()) {
      return Error(Status::InvalidArgument,
                   "argument " + std::to_string(index) + " doesn't exist; there are " + std::to_string(args_.size()));
    }
    return Error(Status::InvalidType, "argument " + std::to_string(index) + " is a " + kind_name(kind(index)) +
                                          ", expected a " + kind_name(wanted));
  }

  et_call* raw_;
  std::span<et_value> args_;
};

namespace detail {

// Runs the C++ body of a callback: what it returns or throws becomes a status and the text of the error.
template <class Body>
et_status run_callback(et_call* call, Body&& body) noexcept {
  const auto report = [call](const Error& error) -> et_status {
    const auto status = static_cast<et_status>(error.status);
    // The library has seen the lines of its own errors already.
    return error.from_library ? status : et_call_fail(call, status, error.text.c_str());
  };
#if defined(__cpp_exceptions)
  try {
    const Result<void> result = body();
    return result ? ET_OK : report(result.error());
  } catch (const Exception& e) {
    return report(e.error());
  } catch (const std::exception& e) {
    return et_call_fail(call, ET_INTERNAL, e.what());
  } catch (...) {
    return et_call_fail(call, ET_INTERNAL, "an exception of an unknown kind");
  }
#else
  const Result<void> result = body();
  return result ? ET_OK : report(result.error());
#endif
}

}  // namespace detail
}  // namespace et
