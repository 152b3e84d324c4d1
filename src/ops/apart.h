// `apart<kernel>`: the kernel, with a refusal of outputs that are one and the same tensor as another argument.
//
// A shape function gives outputs their sizes. Were an output an input too, or two outputs one, the sizes that the
// kernel counts on would have changed on the way. (Overlapping memory of different tensors is another matter: it
// spoils values only.)
#pragma once

#include <type_traits>

#include "ops/op.h"

namespace etrt::ops {
namespace detail {

inline bool holds(const Tensor& argument, const Tensor* tensor) { return &argument == tensor; }
inline bool holds(const Tensor* argument, const Tensor* tensor) { return argument == tensor; }
inline bool holds(TensorList argument, const Tensor* tensor) {
  for (const Tensor* t : argument) {
    if (t == tensor) {
      return true;
    }
  }
  return false;
}
template <class T>
bool holds(const T& /*argument*/, const Tensor* /*tensor*/) {
  return false;
}

template <class F>
struct Apart;
template <class... P>
struct Apart<Status (*)(Call&, P...)> {
  // Refuses an argument that is an output and occurs twice.
  template <class A>
  static Status check(const Call& call, const Tensor* tensor, const P&... all) {
    if constexpr (std::is_same_v<A, Tensor&>) {
      if ((static_cast<int>(holds(all, tensor)) + ... + 0) > 1) {
        return call.fail(Status::InvalidArgument, "output {} is another argument too", call.arg_name(*tensor));
      }
    }
    return Status::Ok;
  }
  template <class T>
  static const Tensor* tensor_of(const T& argument) {
    if constexpr (std::is_same_v<T, Tensor>) {
      return &argument;
    } else {
      return nullptr;
    }
  }
  template <auto F>
  static Status run(Call& call, P... args) {
    Status status = Status::Ok;
    ((status = status == Status::Ok ? check<P>(call, tensor_of(args), args...) : status), ...);
    return status == Status::Ok ? F(call, static_cast<P>(args)...) : status;
  }
};

}  // namespace detail

template <auto F>
inline constexpr auto apart = &detail::Apart<decltype(F)>::template run<F>;

}  // namespace etrt::ops
