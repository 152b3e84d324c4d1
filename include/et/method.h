// method.h - a method of a program, with memory of its own, ready to run.
//
//   et::Method forward = et::Method::load(program, "forward").value();
//   std::vector<et::Value> outputs = forward.run({image}).value();
//
// Inputs are read at each run, from where they are: set them once, change the numbers in place, execute again.
//
//   forward.set_inputs({image}).value();
//   for (;;) { fill(pixels); forward.execute().value(); use(forward.output(0)); }
#pragma once

#include <et.h>
#include <et/error.h>
#include <et/info.h>
#include <et/program.h>
#include <et/state.h>
#include <et/tensor.h>
#include <et/value.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace et {

enum class Plan : int32_t {
  Default = ET_PLAN_DEFAULT,  // ETRT_PLAN, else as exported
  AsExported = ET_PLAN_AS_EXPORTED,
  Optimized = ET_PLAN_OPTIMIZED,
};

struct MethodOptions {
  Plan plan = Plan::Default;
  const State* state = nullptr;             // none: a state of the method's own
  const et_allocator* allocator = nullptr;  // of its arenas; none: the system's
  uint64_t memory_limit = 0;                // bytes of arenas and state, and of a run's blocks; 0: none
  uint64_t step_limit = 0;                  // instructions of one run; 0: ten million
};

struct MethodMemory {
  uint64_t planned_bytes = 0;
  uint64_t state_bytes = 0;
  uint64_t total_bytes = 0;
  size_t arena_count = 0;
};

// Used by one thread at a time: a second one gets InvalidState, and nothing is harmed. Don't destroy it while
// another thread is in a call.
class Method {
 public:
  // Every call makes a new method; weights are shared. Says at once which operators or backends are missing.
  static Result<Method> load(const Program& program, const std::string& name, const MethodOptions& options = {}) {
    const et_method_options c = to_c(options);
    et_method* raw = nullptr;
    if (const Result<void> done = detail::outcome(et_method_load(program.raw(), name.c_str(), &c, &raw)); !done) {
      return done.error();
    }
    return Method(raw);
  }
  // What loading it would take, weights excepted.
  static Result<MethodMemory> memory(const Program& program, const std::string& name,
                                     const MethodOptions& options = {}) {
    const et_method_options c = to_c(options);
    auto info = detail::options<et_memory_info>();
    if (const Result<void> done = detail::outcome(et_method_memory(program.raw(), name.c_str(), &c, &info)); !done) {
      return done.error();
    }
    return MethodMemory{info.planned_bytes, info.state_bytes, info.total_bytes, info.arena_count};
  }

  std::string name() const { return et_method_name(raw()); }
  size_t input_count() const { return et_method_input_count(raw()); }
  size_t output_count() const { return et_method_output_count(raw()); }
  Result<TensorInfo> input_info(size_t index) const { return info(et_method_input_info, index); }
  Result<TensorInfo> output_info(size_t index) const { return info(et_method_output_info, index); }
  std::vector<std::string> attribute_names() const {
    std::vector<std::string> names;
    while (const char* attribute = et_method_attribute_name(raw(), names.size())) {
      names.emplace_back(attribute);
    }
    return names;
  }
  // A view of a named tensor of the program. It belongs to the method.
  Result<TensorView> attribute(const std::string& attribute_name) const {
    et_value value{};
    if (const Result<void> done = detail::outcome(et_method_attribute_get(raw(), attribute_name.c_str(), &value));
        !done) {
      return done.error();
    }
    return TensorView(value.u.as_tensor);
  }

  // Binds an input until it is bound again. The method keeps the value; memory that a tensor borrows must stay.
  // A refused value leaves the input as it was.
  Result<void> set_input(size_t index, Value value) {
    const std::lock_guard lock(kept_->mutex);
    return set_locked(index, std::move(value));
  }
  // All of them; none changes when one is refused.
  Result<void> set_inputs(std::vector<Value> values) {
    const std::lock_guard lock(kept_->mutex);
    return set_all_locked(std::move(values));
  }
  // The first ones, as many as are given; the others keep what was set before.
  Result<void> set_first_inputs(std::vector<Value> values) {
    const std::lock_guard lock(kept_->mutex);
    const size_t given = values.size();
    while (values.size() < kept_->inputs.size() && kept_->inputs[values.size()]) {
      values.push_back(*kept_->inputs[values.size()]);
    }
    if (values.size() >= kept_->inputs.size()) {
      return set_all_locked(std::move(values));
    }
    // Some were never set: take those that were given; the run says which one is missing.
    for (size_t i = 0; i < given; ++i) {
      if (Result<void> done = set_locked(i, std::move(values[i])); !done) {
        return done;
      }
    }
    return {};
  }
  // Makes each run write an output there: the sizes are the room there is. The method keeps the tensor.
  Result<void> set_output(size_t index, Tensor memory) {
    const std::lock_guard lock(kept_->mutex);
    const et_value c = detail::tensor_value(memory.raw(), memory.read_only());
    Result<void> done = detail::outcome(et_method_set_output(raw(), index, &c));
    if (done) {
      kept_->outputs[index] = std::move(memory);
    }
    return done;
  }
  // The output lies in the method's own memory again.
  Result<void> reset_output(size_t index) {
    const std::lock_guard lock(kept_->mutex);
    Result<void> done = detail::outcome(et_method_set_output(raw(), index, nullptr));
    if (done) {
      kept_->outputs[index] = Tensor();
    }
    return done;
  }

  Result<void> execute() { return detail::outcome(et_method_execute(raw())); }
  // From any thread: the run in progress stops before its next step, with InvalidState.
  void cancel() { et_method_cancel(raw()); }

  // An output of the last run. It keeps its numbers as long as it lives: the method takes other memory for its
  // next run.
  Result<Value> output(size_t index) const {
    et_value c{};
    if (const Result<void> done = detail::outcome(et_method_get_output(raw(), index, &c)); !done) {
      return done.error();
    }
    return take(c);
  }
  Result<std::vector<Value>> outputs() const {
    std::vector<Value> all;
    for (size_t i = 0; i < output_count(); ++i) {
      Result<Value> value = output(i);
      if (!value) {
        return value.error();
      }
      all.push_back(*std::move(value));
    }
    return all;
  }
  // A view of an output in the method's memory, without any cost: the next run overwrites it.
  Result<TensorView> output_view(size_t index) const {
    et_value c{};
    if (const Result<void> done = detail::outcome(et_method_get_output(raw(), index, &c)); !done) {
      return done.error();
    }
    if (c.kind != ET_KIND_TENSOR) {
      return Error(Status::InvalidType, std::string("output ") + std::to_string(index) + " is a " +
                                            kind_name(static_cast<Kind>(c.kind)) + ", not a tensor");
    }
    return TensorView(c.u.as_tensor);
  }

  // Sets the inputs, runs, returns the outputs.
  Result<std::vector<Value>> run(std::vector<Value> values) {
    if (const Result<void> done = set_inputs(std::move(values)); !done) {
      return done.error();
    }
    if (const Result<void> done = execute(); !done) {
      return done.error();
    }
    return outputs();
  }

  // The state it uses.
  Result<State> state() const {
    et_state* raw_state = nullptr;
    if (const Result<void> done = detail::outcome(et_method_get_state(raw(), &raw_state)); !done) {
      return done.error();
    }
    return State::adopt(raw_state);
  }

  et_method* raw() const { return raw_.get(); }

 private:
  // What the method was given, so that it stays.
  struct Kept {
    std::mutex mutex;
    std::vector<std::optional<Value>> inputs;  // those that were set
    std::vector<Tensor> outputs;
  };
  struct Free {
    void operator()(et_method* method) const { et_method_free(method); }
  };

  explicit Method(et_method* raw) : kept_(std::make_unique<Kept>()), raw_(raw) {
    kept_->inputs.resize(input_count());
    kept_->outputs.resize(output_count());
  }

  static et_method_options to_c(const MethodOptions& options) {
    auto c = detail::options<et_method_options>();
    c.plan = static_cast<int32_t>(options.plan);
    c.state = options.state != nullptr ? options.state->raw() : nullptr;
    c.allocator = options.allocator;
    c.memory_limit = options.memory_limit;
    c.step_limit = options.step_limit;
    return c;
  }

  Result<void> set_locked(size_t index, Value value) {
    const et_value c = value.raw();
    Result<void> done = detail::outcome(et_method_set_input(raw(), index, &c));
    if (done) {
      kept_->inputs[index] = std::move(value);
    }
    return done;
  }
  Result<void> set_all_locked(std::vector<Value> values) {
    std::vector<et_value> c;
    c.reserve(values.size());
    for (const Value& value : values) {
      c.push_back(value.raw());
    }
    Result<void> done = detail::outcome(et_method_set_inputs(raw(), c.data(), c.size()));
    for (size_t i = 0; done && i < values.size(); ++i) {
      kept_->inputs[i] = std::move(values[i]);
    }
    return done;
  }

  template <class Get>
  Result<TensorInfo> info(Get&& get, size_t index) const {
    et_tensor_info c{};
    if (const Result<void> done = detail::outcome(get(raw(), index, &c)); !done) {
      return done.error();
    }
    return TensorInfo(c);
  }

  Result<Value> take(et_value c) const {
    switch (static_cast<Kind>(c.kind)) {
      case Kind::None:
        return Value();
      case Kind::Int:
        return Value(c.u.as_int);
      case Kind::Double:
        return Value(c.u.as_double);
      case Kind::Bool:
        return Value(c.u.as_bool != 0);
      case Kind::String:
        return Value(std::string(c.u.as_string.data, c.u.as_string.size));
      case Kind::Tensor:
        if (const Result<void> done = detail::outcome(et_value_hold(raw(), &c)); !done) {
          return done.error();
        }
        return Value(Tensor::from_held(c));
      case Kind::List:
        break;
    }
    std::vector<Value> items;
    for (size_t i = 0; i < c.u.as_list.count; ++i) {
      Result<Value> item = take(c.u.as_list.items[i]);
      if (!item) {
        return item.error();
      }
      items.push_back(*std::move(item));
    }
    return Value(std::move(items));
  }

  std::unique_ptr<Kept> kept_;  // outlives raw_
  std::unique_ptr<et_method, Free> raw_;
};

}  // namespace et
