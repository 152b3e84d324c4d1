// backend.h - write a delegate: run the parts of a program that were compiled for a device or library of yours.
//
//   class MyDelegate : public et::Delegate {
//     et::Result<void> execute(et::Call& call) override { … }       // inputs, then outputs
//   };
//   class MyBackend : public et::Backend {
//     et::Result<std::unique_ptr<et::Delegate>> load(et::Call&, std::span<const std::byte> payload,
//                                                    std::span<const et::CompileSpec>) override { … }
//   };
//   et::register_backend("MyBackend", std::make_unique<MyBackend>());
#pragma once

#include <et.h>
#include <et/call.h>
#include <et/error.h>
#include <et/value.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace et {

// What the exporter was told for the backend.
struct CompileSpec {
  std::string_view key;
  std::span<const std::byte> value;
};

// One compiled part of one loaded method. Used by one thread at a time; destroyed with the method.
class Delegate {
 public:
  virtual ~Delegate() = default;
  // Arguments: inputs, then outputs. Resize an output where its sizes follow from the inputs'.
  virtual Result<void> execute(Call& call) = 0;
};

// A kind of delegate. Used by any number of threads; lives as long as the process.
class Backend {
 public:
  virtual ~Backend() = default;
  // Programs that need a backend that isn't available are refused at load.
  virtual bool is_available() { return true; }
  // Called at method load. `payload` and `specs` belong to the program, which outlives the delegate; the span of
  // specs itself doesn't outlive the call.
  virtual Result<std::unique_ptr<Delegate>> load(Call& call, std::span<const std::byte> payload,
                                                 std::span<const CompileSpec> specs) = 0;
  // Keys and what they take are yours.
  virtual Result<void> set_option(std::string_view key, const et_value& /*value*/) { return no_option(key); }
  virtual Result<void> get_option(std::string_view key, et_value& /*value*/) { return no_option(key); }

 private:
  static Error no_option(std::string_view key) {
    return Error(Status::NotSupported, "there is no option \"" + std::string(key) + '"');
  }
};

// Registers a backend under the name that programs use for it, for good. Any thread.
// RegistrationAlreadyRegistered when the name is taken.
inline Result<void> register_backend(const std::string& name, std::unique_ptr<Backend> backend) {
  auto c = detail::options<et_backend>();
  c.name = name.c_str();
  c.user_data = backend.get();
  c.is_available = [](void* self) -> int32_t { return static_cast<Backend*>(self)->is_available() ? 1 : 0; };
  c.init = [](et_call* raw, const void* payload, size_t size, const et_compile_spec* specs, size_t spec_count,
              void** handle, void* self) -> et_status {
    return detail::run_callback(raw, [&]() -> Result<void> {
      std::vector<CompileSpec> all;
      for (size_t i = 0; i < spec_count; ++i) {
        all.push_back({specs[i].key, {static_cast<const std::byte*>(specs[i].value), specs[i].size}});
      }
      Call call(raw, nullptr, 0);
      Result<std::unique_ptr<Delegate>> made =
          static_cast<Backend*>(self)->load(call, {static_cast<const std::byte*>(payload), size}, all);
      if (!made) {
        return made.error();
      }
      *handle = made->release();
      return {};
    });
  };
  c.execute = [](et_call* raw, void* handle, et_value* args, size_t count, void*) -> et_status {
    return detail::run_callback(raw, [&] {
      Call call(raw, args, count);
      return static_cast<Delegate*>(handle)->execute(call);
    });
  };
  c.destroy = [](void* handle, void*) { delete static_cast<Delegate*>(handle); };
  c.set_option = [](const char* key, const et_value* value, void* self) -> et_status {
    return static_cast<et_status>(static_cast<Backend*>(self)->set_option(key, *value).status());
  };
  c.get_option = [](const char* key, et_value* value, void* self) -> et_status {
    return static_cast<et_status>(static_cast<Backend*>(self)->get_option(key, *value).status());
  };
  Result<void> done = detail::outcome(et_register_backend(&c));
  if (done) {
    backend.release();  // the library uses it for good
  }
  return done;
}

}  // namespace et
