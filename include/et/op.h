// op.h - write an operator.
//
//   et::register_operator("my::scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)",
//                         [](et::Call& call) -> et::Result<void> {
//     const auto x = *call.tensor(0)->values<float>();
//     const double by = *call.number(1);
//     if (auto done = call.resize(2, call.tensor(0)->sizes()); !done) return done;
//     const auto out = *call.tensor(2)->values<float>();
//     for (size_t i = 0; i < x.size(); ++i) out[i] = x[i] * static_cast<float>(by);
//     return {};
//   });
//
// A wrong kind or dtype of an argument throws et::Exception in the * above, which fails the run with that text;
// check each Result instead where exceptions are off.
#pragma once

#include <et.h>
#include <et/call.h>
#include <et/error.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace et {

// Arguments: all of the schema in order, outputs included, then the return slot (the output again, a list of
// outputs, or the place of a result that isn't a tensor). Called on any thread that runs a method, several at a
// time where several methods run.
using Operator = std::function<Result<void>(Call&)>;

// Registers an operator for programs loaded from now on, for good. `name` is "my::scale.out", or the whole schema,
// which says what is written; without one every tensor argument counts as written. Any thread.
// RegistrationAlreadyRegistered when the name is taken.
inline Result<void> register_operator(const std::string& name, Operator body) {
  const auto call_body = [](et_call* call, et_value* args, size_t count, void* user_data) -> et_status {
    return detail::run_callback(call, [&] {
      Call c(call, args, count);
      return (*static_cast<Operator*>(user_data))(c);
    });
  };
  auto kept = std::make_unique<Operator>(std::move(body));
  Result<void> done = detail::outcome(et_register_operator(name.c_str(), call_body, kept.get()));
  if (done) {
    kept.release();  // the library uses it for good
  }
  return done;
}

}  // namespace et
