// Operators and backends of the caller's.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "handles.h"
#include "plan/backend.h"

// One call of a user's operator or delegate.
struct et_call {
  std::string_view method;
  const etrt::Program* program = nullptr;
  etrt::Scratch* scratch = nullptr;
  std::span<etrt::Value* const> args;
  et_value* views = nullptr;
  std::string method_text;
  bool explained = false;
};

namespace etrt::capi {
namespace {

// The arguments as et_values, in scratch memory.
Result<et_value*> views_of(std::span<Value* const> args, Scratch& scratch) {
  auto* views = scratch.array<et_value>(std::max<size_t>(args.size(), 1));
  const auto array = [&](size_t count) { return scratch.array<et_value>(count); };
  for (size_t i = 0; i < args.size(); ++i) {
    ET_TRY(to_value(*args[i], array, views[i]));
  }
  return views;
}

Status checked_status(const et_call& call, et_status status, std::string_view who) {
  if (status == ET_OK) {
    return Status::Ok;
  }
  if (!call.explained) {
    (void)fail(static_cast<Status>(status), "{} returned {} (0x{:02x})", who, status_name(static_cast<Status>(status)),
               static_cast<uint32_t>(status));
  }
  return static_cast<Status>(status);
}

// Runs a callback. What it recovered from, calls of this library included, is no part of a later failure's text.
template <class Run>
Status user_call(const et_call& call, std::string_view name, Run&& run) {
  RecoverableLines lines;
  const Status status = checked_status(call, run(), name);
  if (status != Status::Ok) {
    lines.keep();
  }
  return status;
}

struct UserOperator {
  et_operator_fn fn;
  void* user_data;
  std::vector<size_t> only_read;  // places of arguments that the schema doesn't say are written
};

std::vector<size_t> read_arguments(std::string_view schema) {
  std::vector<size_t> places;
  const std::vector<SchemaArgument> arguments = parse_schema(schema).arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].written) {
      places.push_back(i);
    }
  }
  return places;
}

void mark_read_only(et_value& value) {
  value.flags |= ET_VALUE_READ_ONLY;
  if (value.kind == ET_KIND_LIST) {
    for (size_t i = 0; i < value.u.as_list.count; ++i) {
      mark_read_only(const_cast<et_value&>(value.u.as_list.items[i]));  // in the call's scratch memory
    }
  }
}

Status call_operator(Call& call) {
  const auto& op = *static_cast<const UserOperator*>(call.op().user_data);
  et_call c;
  c.method = call.method();
  c.scratch = &call.scratch_memory();
  c.args = call.args();
  ET_ASSIGN(c.views, views_of(c.args, *c.scratch));
  for (const size_t place : op.only_read) {
    mark_read_only(c.views[place]);  // there are as many as the schema says: the plan's builder has seen to it
  }
  return user_call(c, call.op().name, [&] { return op.fn(&c, c.views, c.args.size(), op.user_data); });
}

class UserDelegate : public Delegate {
 public:
  UserDelegate(const et_backend& backend, std::string name, void* handle)
      : backend_(backend), name_(std::move(name)), handle_(handle) {}
  ~UserDelegate() override {
    if (backend_.destroy != nullptr) {
      backend_.destroy(handle_, backend_.user_data);
    }
  }
  Status execute(DelegateCall& call, std::span<Value* const> args) override {
    et_call c;
    c.method = call.method;
    c.program = &call.program;
    c.scratch = &call.scratch;
    c.args = args;
    ET_ASSIGN(c.views, views_of(args, *c.scratch));
    return user_call(c, name_, [&] { return backend_.execute(&c, handle_, c.views, args.size(), backend_.user_data); });
  }

 private:
  const et_backend& backend_;
  std::string name_;
  void* handle_;
};

class UserBackend : public Backend {
 public:
  explicit UserBackend(const et_backend& backend) : name_(backend.name), backend_(backend) {
    backend_.name = name_.c_str();
  }
  bool available() const override {
    return backend_.is_available == nullptr || backend_.is_available(backend_.user_data) != 0;
  }
  Result<std::unique_ptr<Delegate>> load(const DelegateSource& source) override {
    Scratch scratch;
    et_call c;
    c.method = source.method;
    c.program = source.program.get();
    c.scratch = &scratch;
    std::vector<et_compile_spec> specs;
    for (const CompileSpec& spec : source.specs) {
      specs.push_back({spec.key.data(), spec.value.data(), spec.value.size()});
    }
    void* handle = nullptr;
    const et_status status = backend_.init(&c, source.payload.data(), source.payload.size(), specs.data(), specs.size(),
                                           &handle, backend_.user_data);
    ET_TRY(checked_status(c, status, name_));
    return std::unique_ptr<Delegate>(new UserDelegate(backend_, name_, handle));
  }
  Status option(const char* key, const et_value* set, et_value* get) {
    const et_status status =
        set != nullptr && backend_.set_option != nullptr   ? backend_.set_option(key, set, backend_.user_data)
        : get != nullptr && backend_.get_option != nullptr ? backend_.get_option(key, get, backend_.user_data)
                                                           : static_cast<et_status>(ET_NOT_SUPPORTED);
    return status == ET_OK ? Status::Ok
                           : fail(static_cast<Status>(status), "backend {} refused option \"{}\"", name_, key);
  }

 private:
  std::string name_;
  et_backend backend_;
};

Result<UserBackend*> user_backend(const char* name) {
  ET_TRY(require(name, "backend"));
  Backend* backend = find_backend(name);
  if (backend == nullptr) {
    return fail(Status::NotFound, "no backend {} is registered", name);
  }
  auto* user = dynamic_cast<UserBackend*>(backend);
  if (user == nullptr) {
    return fail(Status::NotSupported, "backend {} has no options", name);
  }
  return user;
}

Status check_index(const et_call& call, size_t index) {
  return index < call.args.size()
             ? Status::Ok
             : fail(Status::InvalidArgument, "argument {} doesn't exist; there are {}", index, call.args.size());
}

// Names that stay where they are, for functions that give out pointers by index.
class NameList {
 public:
  const char* at(const std::vector<std::string_view>& names, size_t index) {
    if (index >= names.size()) {
      return nullptr;
    }
    const std::lock_guard lock(mutex_);
    return known_.emplace(names[index], std::string(names[index])).first->second.c_str();
  }

 private:
  std::mutex mutex_;
  std::map<std::string_view, std::string> known_;
};

}  // namespace
}  // namespace etrt::capi

using namespace etrt;
using namespace etrt::capi;

namespace {

// "ns::op" or "ns::op.overload".
Status check_operator_name(std::string_view name) {
  const size_t colons = name.find("::");
  if (colons == std::string_view::npos || colons == 0 || colons + 2 >= name.size() ||
      name.find_first_of(" \t\n") != std::string_view::npos) {
    return fail(Status::InvalidArgument,
                "\"{}\" is no operator; expected a name such as my::op.out, or a schema such as "
                "my::op.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
                name);
  }
  return Status::Ok;
}

}  // namespace

extern "C" {

et_status et_call_fail(et_call* call, et_status status, const char* text) {
  if (call != nullptr) {
    call->explained = true;
  }
  const auto code = status == ET_OK ? Status::Internal : static_cast<Status>(status);
  return static_cast<et_status>(fail_text(code, text != nullptr ? text : ""));
}

void* et_call_temp(et_call* call, size_t size) {
  try {
    return call != nullptr ? call->scratch->allocate(size) : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

et_status et_call_resize(et_call* call, size_t index, const int64_t* sizes, size_t rank) {
  return guarded([&] { return format_text("Failed to resize argument {}", index); },
                 [&]() -> Status {
                   ET_TRY(require(call, "call"));
                   ET_TRY(check_index(*call, index));
                   if (call->args[index]->kind != Kind::Tensor || (rank > 0 && sizes == nullptr)) {
                     return fail(Status::InvalidArgument, "argument {} is {}, expected a tensor and sizes", index,
                                 kind_name(call->args[index]->kind));
                   }
                   if ((call->views[index].flags & ET_VALUE_READ_ONLY) != 0) {
                     return fail(Status::InvalidArgument,
                                 "argument {} is only read, as the operator's schema says; outputs can be resized",
                                 index);
                   }
                   Tensor& tensor = *call->args[index]->as_tensor;
                   ET_TRY(resize(tensor, {sizes, rank}));
                   // The return slot may show it too.
                   for (size_t i = 0; i < call->args.size(); ++i) {
                     if (call->args[i]->kind == Kind::Tensor && call->args[i]->as_tensor == &tensor) {
                       const int32_t flags = call->views[i].flags;
                       to_value(tensor, call->views[i]);
                       call->views[i].flags = flags;
                     }
                   }
                   return Status::Ok;
                 });
}

et_status et_call_set(et_call* call, size_t index, const et_value* value) {
  return guarded([&] { return format_text("Failed to set argument {}", index); },
                 [&]() -> Status {
                   ET_TRY(require(call, "call"));
                   ET_TRY(require(value, "value"));
                   ET_TRY(check_index(*call, index));
                   Value& to = *call->args[index];
                   switch (value->kind) {
                     case ET_KIND_NONE:
                       to = Value();
                       break;
                     case ET_KIND_INT:
                       to = Value::of_int(value->u.as_int);
                       break;
                     case ET_KIND_DOUBLE:
                       to = Value::of_double(value->u.as_double);
                       break;
                     case ET_KIND_BOOL:
                       to = Value::of_bool(value->u.as_bool != 0);
                       break;
                     default:
                       return fail(Status::InvalidArgument, "only a number, a bool or None can be set");
                   }
                   call->views[index] = *value;
                   return Status::Ok;
                 });
}

const char* et_call_method_name(const et_call* call) {
  if (call == nullptr) {
    return "";
  }
  auto* c = const_cast<et_call*>(call);
  c->method_text = c->method;
  return c->method_text.c_str();
}

et_status et_call_named_data(et_call* call, const char* key, const void** data, size_t* size) {
  return guarded([&] { return format_text("Failed to find named data {}", name_or(key, "NULL")); },
                 [&]() -> Status {
                   ET_TRY(require(call, "call"));
                   ET_TRY(require(key, "key"));
                   ET_TRY(require(data, "data"));
                   ET_TRY(require(size, "size"));
                   if (call->program == nullptr) {
                     return fail(Status::NotSupported, "operators have no named data, only delegates");
                   }
                   const auto bytes = call->program->named_data(key);
                   if (!bytes.ok()) {
                     return fail(bytes.status(), "neither the program nor a data file has \"{}\"", key);
                   }
                   *data = (*bytes).data();
                   *size = (*bytes).size();
                   return Status::Ok;
                 });
}

et_status et_register_operator(const char* name, et_operator_fn fn, void* user_data) {
  return guarded([&] { return format_text("Failed to register operator {}", name_or(name, "NULL")); },
                 [&]() -> Status {
                   ET_TRY(require(name, "name"));
                   ET_TRY(require(reinterpret_cast<const void*>(fn), "fn"));
                   const std::string_view text = name;
                   const size_t parenthesis = std::min(text.find('('), text.size());
                   const std::string_view schema = text.substr(parenthesis);
                   ET_TRY(check_operator_name(text.substr(0, parenthesis)));
                   if (!schema.empty()) {
                     ET_TRY(check_schema(schema));
                   }
                   auto op = std::make_unique<UserOperator>(UserOperator{fn, user_data, read_arguments(schema)});
                   ET_TRY(register_op(text.substr(0, parenthesis), schema, call_operator, op.get()));
                   op.release();  // NOLINT: kept by the table for good
                   return Status::Ok;
                 });
}

size_t et_operator_count(void) { return op_names().size(); }
const char* et_operator_name(size_t index) {
  static auto* names = new NameList;
  return names->at(op_names(), index);
}
const char* et_operator_schema(const char* name) {
  const Op* op = name == nullptr ? nullptr : find_op(name);
  return op == nullptr ? nullptr : op->schema.empty() ? "" : op->schema.data();
}

et_status et_register_backend(const et_backend* given) {
  return guarded([&] { return "Failed to register a backend"; },
                 [&]() -> Status {
                   ET_TRY(require(given, "backend"));
                   ET_ASSIGN(const et_backend backend, copy_options(given, "et_backend"));
                   ET_TRY(require(backend.name, "et_backend.name"));
                   ET_TRY(require(reinterpret_cast<const void*>(backend.init), "et_backend.init"));
                   ET_TRY(require(reinterpret_cast<const void*>(backend.execute), "et_backend.execute"));
                   return register_backend(backend.name, std::make_unique<UserBackend>(backend));
                 });
}
size_t et_backend_count(void) { return backend_names().size(); }
const char* et_backend_name(size_t index) {
  static auto* names = new NameList;
  return names->at(backend_names(), index);
}
int32_t et_backend_is_available(const char* name) {
  const Backend* backend = name == nullptr ? nullptr : find_backend(name);
  return backend != nullptr && backend->available() ? 1 : 0;
}
et_status et_backend_set_option(const char* backend, const char* key, const et_value* value) {
  return guarded([&] { return "Failed to set a backend option"; },
                 [&]() -> Status {
                   ET_TRY(require(key, "key"));
                   ET_TRY(require(value, "value"));
                   ET_ASSIGN(UserBackend * user, user_backend(backend));
                   return user->option(key, value, nullptr);
                 });
}
et_status et_backend_get_option(const char* backend, const char* key, et_value* value) {
  return guarded([&] { return "Failed to get a backend option"; },
                 [&]() -> Status {
                   ET_TRY(require(key, "key"));
                   ET_TRY(require(value, "value"));
                   ET_ASSIGN(UserBackend * user, user_backend(backend));
                   return user->option(key, nullptr, value);
                 });
}

}  // extern "C"
