// The process-wide thread pool behind parallel_for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace etrt {

// A reference to a callable; valid while the callable is.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): what it asks for is required here
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(&f))), call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(static_cast<Args&&>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args&&>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Splits [0, count) into pieces of at least `grain` and runs body(begin, end) on the pool and on this
// thread; returns when all are done. Runs inline when nested, when another thread has the pool, or when
// one piece is enough. fail() inside a piece is captured for the caller. An exception in a piece is
// rethrown here, the first one only.
void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

// Threads used by parallel_for, this one included. The start value is ETRT_NUM_THREADS, else the number
// of cores this process may use. n is clamped to [1, 1024].
void set_thread_count(size_t n);
size_t thread_count();

}  // namespace etrt
