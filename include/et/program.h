// program.h - a .pte file, loaded and verified.
//
//   et::Program program = et::Program::load("model.pte", {.data_paths = {"weights.ptd"}}).value();
//   for (const std::string& name : program.method_names()) …
//   if (auto runs = program.can_run(); !runs) puts(runs.error().text.c_str());   // every missing operator
#pragma once

#include <et.h>
#include <et/error.h>
#include <et/info.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace et {

struct ProgramOptions {
  std::vector<std::string> data_paths;  // .ptd files with external weights
};

// Bytes that you provide piecewise.
struct Source {
  uint64_t size = 0;
  // Fills `to` with the bytes from `offset`; false when it can't. Called from any thread, at load and when
  // weights are first needed.
  std::function<bool(uint64_t offset, std::span<std::byte> to)> read;
  std::string name;  // for messages
};

// A handle: copies are the same program. Used by any number of threads. Methods keep it alive.
class Program {
 public:
  // The file stays mapped while the program lives: replace it by renaming another over it, never in place.
  static Result<Program> load(const std::string& path, const ProgramOptions& options = {}) {
    return make(options, [&](const et_program_options& c, et_program** out) {
      return et_program_load_file(path.c_str(), &c, out);
    });
  }
  // Bytes in memory, at any alignment, copied during the call.
  static Result<Program> load_copy(std::span<const std::byte> bytes, const ProgramOptions& options = {}) {
    auto buffer = detail::options<et_buffer>();
    buffer.data = bytes.data();
    buffer.size = bytes.size();
    buffer.copy = 1;
    return make(options, [&](const et_program_options& c, et_program** out) {
      return et_program_load_buffer(&buffer, &c, out);
    });
  }
  // Bytes in memory, at any alignment, used in place; the program keeps `owner` while it needs them.
  static Result<Program> load_shared(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                     const ProgramOptions& options = {}) {
    auto buffer = detail::options<et_buffer>();
    buffer.data = bytes.data();
    buffer.size = bytes.size();
    buffer.user_data = new std::shared_ptr<const void>(std::move(owner));
    buffer.release = [](void* keep) { delete static_cast<std::shared_ptr<const void>*>(keep); };
    return make(options, [&](const et_program_options& c, et_program** out) {
      return et_program_load_buffer(&buffer, &c, out);
    });
  }
  static Result<Program> load(Source source, const ProgramOptions& options = {}) {
    auto* kept = new Source(std::move(source));
    auto c = detail::options<et_source>();
    c.size = kept->size;
    c.name = kept->name.empty() ? nullptr : kept->name.c_str();
    c.user_data = kept;
    c.read = [](void* data, uint64_t offset, void* to, size_t size) -> et_status {
      const auto& read = static_cast<Source*>(data)->read;
      return read && read(offset, {static_cast<std::byte*>(to), size}) ? ET_OK : ET_ACCESS_FAILED;
    };
    c.release = [](void* data) { delete static_cast<Source*>(data); };
    return make(options,
                [&](const et_program_options& o, et_program** out) { return et_program_load_source(&c, &o, out); });
  }

  std::vector<std::string> method_names() const {
    std::vector<std::string> names;
    while (const char* name = et_program_method_name(raw(), names.size())) {
      names.emplace_back(name);
    }
    return names;
  }

  // Are all operators, backends and external data of the method (of all methods without a name) here? The error
  // names every missing one.
  Result<void> can_run() const { return detail::outcome(et_program_can_run(raw(), nullptr)); }
  Result<void> can_run(const std::string& method) const {
    return detail::outcome(et_program_can_run(raw(), method.c_str()));
  }

  // A method's inputs, outputs and named tensors, without loading it.
  Result<std::vector<TensorInfo>> inputs(const std::string& method) const {
    return infos(method, et_program_input_count, et_program_input_info);
  }
  Result<std::vector<TensorInfo>> outputs(const std::string& method) const {
    return infos(method, et_program_output_count, et_program_output_info);
  }
  Result<std::vector<TensorInfo>> attributes(const std::string& method) const {
    return infos(method, et_program_attribute_count, et_program_attribute_info);
  }

  // Everything that `etrt inspect` prints, as JSON.
  Result<std::string> describe() const {
    char* json = nullptr;
    if (const Result<void> done = detail::outcome(et_program_describe(raw(), &json)); !done) {
      return done.error();
    }
    std::string text = json;
    et_text_free(json);
    return text;
  }

  et_program* raw() const { return raw_.get(); }

 private:
  explicit Program(et_program* raw) : raw_(raw, et_program_free) {}

  template <class Load>
  static Result<Program> make(const ProgramOptions& options, Load&& load) {
    std::vector<const char*> paths;
    for (const std::string& path : options.data_paths) {
      paths.push_back(path.c_str());
    }
    auto c = detail::options<et_program_options>();
    c.data_paths = paths.data();
    c.data_path_count = paths.size();
    c.verification = ET_VERIFY_INTERNAL_CONSISTENCY;
    et_program* raw = nullptr;
    if (const Result<void> done = detail::outcome(load(c, &raw)); !done) {
      return done.error();
    }
    return Program(raw);
  }

  template <class Count, class Info>
  Result<std::vector<TensorInfo>> infos(const std::string& method, Count&& count_of, Info&& info_of) const {
    size_t count = 0;
    if (const Result<void> done = detail::outcome(count_of(raw(), method.c_str(), &count)); !done) {
      return done.error();
    }
    std::vector<TensorInfo> all;
    for (size_t i = 0; i < count; ++i) {
      et_tensor_info info{};
      if (const Result<void> done = detail::outcome(info_of(raw(), method.c_str(), i, &info)); !done) {
        return done.error();
      }
      all.emplace_back(info);
    }
    return all;
  }

  std::shared_ptr<et_program> raw_;
};

}  // namespace et
