// Methods and their state.
#include <cstdlib>
#include <string_view>

#include "handles.h"

namespace etrt::capi {
namespace {

// ETRT_PLAN and the option agree on a plan that exists.
Status check_plan(int32_t plan) {
  if (plan == ET_PLAN_DEFAULT) {
    const char* name = std::getenv("ETRT_PLAN");
    const std::string_view wanted = name != nullptr ? name : "as_exported";
    if (wanted == "as_exported") {
      return Status::Ok;
    }
    if (wanted != "optimized") {
      return fail(Status::InvalidArgument, "ETRT_PLAN is \"{}\", expected as_exported or optimized", wanted);
    }
    plan = ET_PLAN_OPTIMIZED;
  }
  if (plan == ET_PLAN_AS_EXPORTED) {
    return Status::Ok;
  }
  if (plan == ET_PLAN_OPTIMIZED) {
    return fail(Status::NotImplemented, "the optimized plan doesn't exist yet; use as_exported");
  }
  return fail(Status::InvalidArgument, "plan {} is none of ET_PLAN_...", plan);
}

Result<std::shared_ptr<const Plan>> plan_of(const et_program* program, const char* name, int32_t plan) {
  ET_TRY(require(program, "program"));
  ET_TRY(require(name, "method"));
  note_error({.method = name});
  ET_TRY(check_plan(plan));
  ET_ASSIGN(const size_t index, program->loaded->program()->require_method(name));
  return program->loaded->plan(index);
}

std::string failed_to(const char* what, const Method* method) {
  return format_text("Failed to {} method {}", what, method != nullptr ? method->info().name : "NULL");
}
std::string failed_to(const char* what, const et_method* method) {
  return failed_to(what, method != nullptr ? method->method.get() : nullptr);
}

// Adds the method's name to a failure.
Status named(const Method& method, Status status) {
  if (status != Status::Ok) {
    note_error({.method = method.info().name});
  }
  return status;
}

Status set_input(Method& method, size_t index, const et_value& value) {
  ET_ASSIGN(const Argument argument, to_argument(value));
  return method.set_input(index, argument);
}

Status set_inputs(Method& method, const et_value* values, size_t count) {
  if (count > 0) {
    ET_TRY(require(values, "values"));
  }
  return method.set_inputs(count, [&](size_t i, Argument& to) -> Status {
    auto argument = to_argument(values[i]);
    if (!argument.ok()) {
      note_error({.method = method.info().name, .argument = static_cast<int64_t>(i)});
      return fail(argument.status(), "input {} of method '{}' can't be used", i, method.info().name);
    }
    to = *argument;
    return Status::Ok;
  });
}

// reserved1 of an output value is the number of its run, for et_value_hold.
// NOLINTNEXTLINE(performance-no-int-to-ptr): never followed.
void stamp(et_value& value, uint64_t run) { value.reserved1 = reinterpret_cast<void*>(static_cast<uintptr_t>(run)); }

// Within Method::alone.
Status get_output(const et_method* method, size_t index, et_value* value) {
  ET_ASSIGN(const Value* output, method->method->output(index));
  const auto array = [&](size_t count) {
    auto& items = method->lists[index];
    items.resize(count);
    return items.data();
  };
  ET_TRY(to_value(*output, array, *value));
  stamp(*value, method->method->run());
  if (value->kind == ET_KIND_LIST) {
    for (et_value& item : method->lists[index]) {
      stamp(item, method->method->run());
    }
  }
  return Status::Ok;
}

// Within Method::alone.
Status hold_output(const Method& method, et_value& value) {
  ET_ASSIGN(const Argument argument, to_argument(value));
  ET_ASSIGN(const int64_t nbytes, checked_nbytes(argument.as_tensor.sizes, argument.as_tensor.dtype));
  const void* data = argument.as_tensor.data;
  const auto run = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(value.reserved1));
  ET_ASSIGN(const OutputHold hold, method.hold(data, static_cast<size_t>(nbytes), run));
  value.u.as_tensor.data = const_cast<void*>(data);
  if (hold.memory != nullptr) {
    take_hold(value, hold.memory);
  } else {
    take_hold(value, hold.copy);
  }
  return Status::Ok;
}

}  // namespace

Allocator to_allocator(const et_allocator* allocator) {
  if (allocator == nullptr || allocator->allocate == nullptr) {
    return {};
  }
  return {allocator->allocate, allocator->free, allocator->user_data};
}

}  // namespace etrt::capi

using namespace etrt;
using namespace etrt::capi;

extern "C" {

// --- methods ----------------------------------------------------------------------------------------------

et_status et_method_memory(const et_program* program, const char* method, const et_method_options* given,
                           et_memory_info* info) {
  return guarded([&] { return format_text("Failed to measure method {}", name_or(method, "NULL")); },
                 [&]() -> Status {
                   ET_TRY(require(info, "info"));
                   ET_ASSIGN(const et_method_options options, copy_options(given, "et_method_options"));
                   ET_ASSIGN(et_memory_info out, copy_options(info, "et_memory_info"));
                   ET_ASSIGN(const std::shared_ptr<const Plan> plan, plan_of(program, method, options.plan));
                   ET_ASSIGN(const MemoryNeeds needs, memory_needs(*plan));
                   const size_t size = std::min(info->struct_size, sizeof(out));
                   out.struct_size = info->struct_size;
                   out.planned_bytes = needs.planned_bytes;
                   out.state_bytes = needs.state_bytes;
                   out.total_bytes = needs.planned_bytes + needs.state_bytes;
                   out.arena_count = needs.arena_count;
                   std::memcpy(info, &out, size);
                   return Status::Ok;
                 });
}

et_status et_method_load(const et_program* program, const char* method_name, const et_method_options* given,
                         et_method** method) {
  return guarded([&] { return format_text("Failed to load method {}", name_or(method_name, "NULL")); },
                 [&]() -> Status {
                   ET_TRY(require(method, "method"));
                   ET_ASSIGN(const et_method_options options, copy_options(given, "et_method_options"));
                   ET_ASSIGN(const std::shared_ptr<const Plan> plan, plan_of(program, method_name, options.plan));
                   MethodOptions load;
                   load.state = options.state != nullptr ? options.state->state : nullptr;
                   load.allocator = to_allocator(options.allocator);
                   load.memory_limit = options.memory_limit;
                   load.step_limit = options.step_limit;
                   ET_ASSIGN(std::shared_ptr<Method> loaded, Method::load(plan, load));
                   *method = new et_method{std::move(loaded), program->loaded, {}};
                   return Status::Ok;
                 });
}

void et_method_free(et_method* method) { delete method; }

const char* et_method_name(const et_method* method) {
  return method == nullptr ? nullptr : method->method->info().name.c_str();
}
size_t et_method_input_count(const et_method* method) {
  return method == nullptr ? 0 : method->method->info().inputs.size();
}
size_t et_method_output_count(const et_method* method) {
  return method == nullptr ? 0 : method->method->info().outputs.size();
}
size_t et_method_attribute_count(const et_method* method) {
  return method == nullptr ? 0 : method->method->info().attributes.size();
}
const char* et_method_attribute_name(const et_method* method, size_t index) {
  return index < et_method_attribute_count(method) ? method->method->info().attributes[index].name.c_str() : nullptr;
}

et_status et_method_input_info(const et_method* method, size_t index, et_tensor_info* info) {
  return guarded([&] { return failed_to("describe", method); },
                 [&]() -> Status {
                   ET_TRY(require(method, "method"));
                   return info_at(method->method->info().inputs, index, "input", info);
                 });
}
et_status et_method_output_info(const et_method* method, size_t index, et_tensor_info* info) {
  return guarded([&] { return failed_to("describe", method); },
                 [&]() -> Status {
                   ET_TRY(require(method, "method"));
                   return info_at(method->method->info().outputs, index, "output", info);
                 });
}
et_status et_method_attribute_get(const et_method* method, const char* name, et_value* value) {
  return guarded([&] { return failed_to("get an attribute of", method); },
                 [&]() -> Status {
                   ET_TRY(require(method, "method"));
                   ET_TRY(require(name, "name"));
                   ET_TRY(require(value, "value"));
                   return method->method->alone([&]() -> Status {
                     ET_ASSIGN(const Tensor* tensor, method->method->attribute(name));
                     to_value(*tensor, *value);
                     return Status::Ok;
                   });
                 });
}
et_status et_method_get_state(const et_method* method, et_state** state) {
  return guarded([&] { return failed_to("get the state of", method); },
                 [&]() -> Status {
                   ET_TRY(require(method, "method"));
                   ET_TRY(require(state, "state"));
                   *state = new et_state{method->method->state()};
                   return Status::Ok;
                 });
}

et_status et_method_set_input(et_method* method, size_t index, const et_value* value) {
  return guarded([&] { return failed_to("set an input of", method); },
                 [&]() -> Status {
                   ET_TRY(require(method, "method"));
                   ET_TRY(require(value, "value"));
                   return named(*method->method, set_input(*method->method, index, *value));
                 });
}
et_status et_method_set_inputs(et_method* method, const et_value* values, size_t count) {
  return guarded([&] { return failed_to("set the inputs of", method); },
                 [&]() -> Status {
                   ET_TRY(require(method, "method"));
                   return named(*method->method, set_inputs(*method->method, values, count));
                 });
}
et_status et_method_set_output(et_method* method, size_t index, const et_value* value) {
  return guarded([&] { return failed_to("set an output of", method); },
                 [&]() -> Status {
                   ET_TRY(require(method, "method"));
                   if (value == nullptr) {
                     return method->method->set_output(index, nullptr);
                   }
                   ET_ASSIGN(const Argument argument, to_argument(*value));
                   if (argument.kind != Kind::Tensor) {
                     return fail(Status::InvalidArgument, "output {} is given {}, expected a tensor's memory", index,
                                 kind_name(argument.kind));
                   }
                   return method->method->set_output(index, &argument.as_tensor);
                 });
}

et_status et_method_execute(et_method* method) {
  // Freed meanwhile, the method ends with this call; the handle may be gone before it.
  const std::shared_ptr<Method> alive = method != nullptr ? method->method : nullptr;
  return guarded([&] { return failed_to("execute", alive.get()); },
                 [&]() -> Status {
                   ET_TRY(require(alive.get(), "method"));
                   return alive->execute();
                 });
}
void et_method_cancel(et_method* method) {
  if (method != nullptr) {
    method->method->cancel();
  }
}

et_status et_method_get_output(const et_method* method, size_t index, et_value* value) {
  return guarded([&] { return failed_to("get an output of", method); },
                 [&]() -> Status {
                   ET_TRY(require(method, "method"));
                   ET_TRY(require(value, "value"));
                   return method->method->alone([&] { return get_output(method, index, value); });
                 });
}
et_status et_method_get_outputs(const et_method* method, et_value* values, size_t count) {
  return guarded([&] { return failed_to("get the outputs of", method); },
                 [&]() -> Status {
                   ET_TRY(require(method, "method"));
                   if (count != method->method->info().outputs.size()) {
                     return fail(Status::InvalidArgument, "room for {} outputs was given, the method has {}", count,
                                 method->method->info().outputs.size());
                   }
                   return method->method->alone([&]() -> Status {
                     for (size_t i = 0; i < count; ++i) {
                       ET_TRY(require(values, "values"));
                       ET_TRY(get_output(method, i, &values[i]));
                     }
                     return Status::Ok;
                   });
                 });
}
et_status et_value_hold(const et_method* method, et_value* value) {
  return guarded([&] { return failed_to("hold an output of", method); },
                 [&]() -> Status {
                   ET_TRY(require(method, "method"));
                   ET_TRY(require(value, "value"));
                   if (value->kind != ET_KIND_TENSOR || value->hold != nullptr) {
                     return value->kind == ET_KIND_TENSOR ? Status::Ok
                                                          : fail(Status::InvalidArgument, "only a tensor can be held");
                   }
                   return method->method->alone([&] { return hold_output(*method->method, *value); });
                 });
}

// --- state ------------------------------------------------------------------------------------------------

et_status et_state_new(et_state** state) {
  return guarded([] { return "Failed to make a state"; },
                 [&]() -> Status {
                   ET_TRY(require(state, "state"));
                   *state = new et_state{std::make_shared<State>()};
                   return Status::Ok;
                 });
}
void et_state_free(et_state* state) { delete state; }
size_t et_state_count(const et_state* state) { return state == nullptr ? 0 : state->state->count(); }

et_status et_state_info(const et_state* state, size_t index, et_tensor_info* info) {
  return guarded([&] { return format_text("Failed to describe state buffer {}", index); },
                 [&]() -> Status {
                   ET_TRY(require(state, "state"));
                   ET_TRY(require(info, "info"));
                   const State::Buffer* buffer = state->state->at(index);
                   if (buffer == nullptr) {
                     return fail(Status::InvalidArgument, "state buffer {} doesn't exist; there are {}", index,
                                 state->state->count());
                   }
                   *info = et_tensor_info{};
                   info->name = buffer->name.c_str();
                   info->sizes = buffer->sizes.data();
                   info->dim_order = buffer->dim_order.data();
                   info->nbytes = static_cast<int64_t>(buffer->nbytes);
                   info->kind = ET_KIND_TENSOR;
                   info->dtype = static_cast<int32_t>(buffer->dtype);
                   info->rank = static_cast<int32_t>(buffer->sizes.size());
                   info->planned = 1;
                   info->is_state = 1;
                   return Status::Ok;
                 });
}
et_status et_state_read(const et_state* state, size_t index, void* to, size_t size) {
  return guarded([&] { return format_text("Failed to read state buffer {}", index); },
                 [&]() -> Status {
                   ET_TRY(require(state, "state"));
                   if (size > 0) {
                     ET_TRY(require(to, "to"));
                   }
                   return state->state->read(index, {static_cast<std::byte*>(to), size});
                 });
}
et_status et_state_write(et_state* state, size_t index, const void* from, size_t size) {
  return guarded([&] { return format_text("Failed to write state buffer {}", index); },
                 [&]() -> Status {
                   ET_TRY(require(state, "state"));
                   if (size > 0) {
                     ET_TRY(require(from, "from"));
                   }
                   return state->state->write(index, {static_cast<const std::byte*>(from), size});
                 });
}
et_status et_state_reset(et_state* state) {
  return guarded([] { return "Failed to reset a state"; },
                 [&]() -> Status {
                   ET_TRY(require(state, "state"));
                   return state->state->reset();
                 });
}
et_status et_state_clone(const et_state* state, et_state** copy) {
  return guarded([] { return "Failed to clone a state"; },
                 [&]() -> Status {
                   ET_TRY(require(state, "state"));
                   ET_TRY(require(copy, "copy"));
                   ET_ASSIGN(std::shared_ptr<State> made, state->state->clone());
                   *copy = new et_state{std::move(made)};
                   return Status::Ok;
                 });
}

}  // extern "C"
