// module.h - a model file and its methods, loaded when they are first needed. The simplest way to run one.
//
//   et::Module model("model.pte");
//   std::vector<et::Value> outputs = model.forward({image}).value();
//
// Methods of one module share weights and state. Inputs stay set: fewer than a method takes keep the rest of the
// last call, and none at all runs it again.
#pragma once

#include <et.h>
#include <et/error.h>
#include <et/method.h>
#include <et/program.h>
#include <et/state.h>
#include <et/value.h>

#include <cstddef>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace et {

enum class LoadMode {
  Map,   // the file stays mapped, weights are read when they are touched: fast, but don't change the file
  Read,  // the file is read into memory first: it may change or go away afterwards
};

struct ModuleOptions {
  LoadMode load_mode = LoadMode::Map;
  std::vector<std::string> data_paths;  // .ptd files with external weights
  Plan plan = Plan::Default;
};

// Any thread may load methods. Running is for one thread at a time, since methods share their state; a second one
// gets InvalidState.
class Module {
 public:
  // Reads nothing yet.
  explicit Module(std::string path, ModuleOptions options = {})
      : path_(std::move(path)), options_(std::move(options)) {}
  // Of a program that is loaded already, shared with other modules.
  explicit Module(Program program, Plan plan = Plan::Default) : program_(std::move(program)) { options_.plan = plan; }

  // Loads the program. Every function that needs it does so itself.
  Result<void> load() {
    const std::lock_guard lock(mutex_);
    return load_locked();
  }
  bool is_loaded() const {
    const std::lock_guard lock(mutex_);
    return program_.has_value();
  }
  Result<Program> program() {
    if (const Result<void> done = load(); !done) {
      return done.error();
    }
    return *program_;
  }
  Result<std::vector<std::string>> method_names() {
    Result<Program> loaded = program();
    if (!loaded) {
      return loaded.error();
    }
    return loaded->method_names();
  }

  Result<void> load_method(const std::string& name) {
    const Result<Method*> loaded = method(name);
    return loaded ? Result<void>() : Result<void>(loaded.error());
  }
  bool is_method_loaded(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return methods_.count(name) > 0;
  }
  // False when it wasn't loaded. State stays with the module. Not while the method runs.
  bool unload_method(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return methods_.erase(name) > 0;
  }
  // The method itself, loaded. It belongs to the module, until it is unloaded.
  Result<Method*> method(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = methods_.find(name);
    if (found != methods_.end()) {
      return &found->second;
    }
    if (const Result<void> done = load_locked(); !done) {
      return done.error();
    }
    Result<Method> loaded = Method::load(*program_, name, {.plan = options_.plan, .state = &*state_});
    if (!loaded) {
      return loaded.error();
    }
    return &methods_.emplace(name, *std::move(loaded)).first->second;
  }

  // Runs a method. `inputs` replace the first ones, as many as are given; the others keep what was set before.
  Result<std::vector<Value>> execute(const std::string& name, const std::vector<Value>& inputs = {}) {
    const Result<Method*> loaded = method(name);
    if (!loaded) {
      return loaded.error();
    }
    if (!inputs.empty()) {
      if (const Result<void> done = (*loaded)->set_first_inputs(inputs); !done) {
        return done.error();
      }
    }
    if (const Result<void> done = (*loaded)->execute(); !done) {
      return done.error();
    }
    return (*loaded)->outputs();
  }
  Result<std::vector<Value>> forward(const std::vector<Value>& inputs = {}) { return execute("forward", inputs); }

  // Inputs and outputs of later runs. A refused one changes nothing.
  Result<void> set_input(const Value& value, size_t index, const std::string& name = "forward") {
    const Result<Method*> loaded = method(name);
    return loaded ? (*loaded)->set_input(index, value) : Result<void>(loaded.error());
  }
  Result<void> set_inputs(const std::vector<Value>& values, const std::string& name = "forward") {
    const Result<Method*> loaded = method(name);
    return loaded ? (*loaded)->set_inputs(values) : Result<void>(loaded.error());
  }
  Result<void> set_output(Tensor memory, size_t index = 0, const std::string& name = "forward") {
    const Result<Method*> loaded = method(name);
    return loaded ? (*loaded)->set_output(index, std::move(memory)) : Result<void>(loaded.error());
  }

  // The buffers that its methods share.
  Result<State> state() {
    if (const Result<void> done = load(); !done) {
      return done.error();
    }
    return *state_;
  }

 private:
  Result<void> load_locked() {
    if (!state_) {
      Result<State> made = State::make();
      if (!made) {
        return made.error();
      }
      state_ = *std::move(made);
    }
    if (program_) {
      return {};
    }
    const ProgramOptions options{options_.data_paths};
    Result<Program> loaded = options_.load_mode == LoadMode::Map ? Program::load(path_, options) : read_file(options);
    if (!loaded) {
      return loaded.error();
    }
    program_ = *std::move(loaded);
    return {};
  }

  Result<Program> read_file(const ProgramOptions& options) const {
    std::ifstream file(path_, std::ios::binary | std::ios::ate);
    const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
    if (size < 0) {
      return Program::load(path_, options);  // it knows why
    }
    auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(size));
    file.seekg(0);
    if (!file.read(reinterpret_cast<char*>(bytes->data()), size)) {
      return Program::load(path_, options);
    }
    return Program::load_shared(*bytes, bytes, options);
  }

  std::string path_;
  ModuleOptions options_;
  mutable std::mutex mutex_;  // of what follows, but not of a method's run
  std::optional<Program> program_;
  std::optional<State> state_;
  std::map<std::string, Method> methods_;
};

}  // namespace et
