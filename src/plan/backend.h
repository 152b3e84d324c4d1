// How a delegate is written, and the table of those there are.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/scratch.h"
#include "core/status.h"
#include "core/value.h"
#include "program/program.h"

namespace etrt {

struct CompileSpec {
  std::string_view key;
  std::span<const std::byte> value;
};

// What a delegate is made from. The payload and the specs live as long as `program`.
struct DelegateSource {
  std::shared_ptr<const Program> program;
  std::string_view method;
  std::span<const std::byte> payload;
  std::vector<CompileSpec> specs;
};

// What a delegate may use while it runs.
struct DelegateCall {
  std::string_view method;
  const Program& program;
  Scratch& scratch;
};

// A delegate of one loaded method. Used by one thread at a time.
class Delegate {
 public:
  virtual ~Delegate() = default;
  // `args`: inputs, then outputs. Outputs are resized by etrt::resize().
  virtual Status execute(DelegateCall& call, std::span<Value* const> args) = 0;
};

// A kind of delegate. Used by any number of threads.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual bool available() const { return true; }
  virtual Result<std::unique_ptr<Delegate>> load(const DelegateSource& source) = 0;
  // `key` and what it takes are the backend's own.
  virtual Status set_option(std::string_view key, const Value& value);
  virtual Status get_option(std::string_view key, Value& value);
};

// Null when there is none. Backends stay for the process.
Backend* find_backend(std::string_view name);
// RegistrationAlreadyRegistered when the name is taken.
Status register_backend(std::string_view name, std::unique_ptr<Backend> backend);
// Sorted. The views stay valid for the process.
std::vector<std::string_view> backend_names();

}  // namespace etrt
