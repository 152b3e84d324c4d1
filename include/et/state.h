// state.h - the buffers of a program that live from run to run: caches, counters.
//
//   et::State session = et::State::make().value();
//   et::Method prefill = et::Method::load(program, "prefill", {.state = &session}).value();
//   et::Method decode = et::Method::load(program, "decode", {.state = &session}).value();   // the same buffers
//   session.reset();                                                                        // as the file has them
#pragma once

#include <et.h>
#include <et/error.h>
#include <et/info.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace et {

// A handle: copies are the same state. Used by one thread at a time; a second one, or a call while a method runs
// on it, gets InvalidState.
class State {
 public:
  // An empty one. Methods loaded with it add their buffers and share those of equal name, dtype and sizes.
  static Result<State> make() {
    et_state* raw = nullptr;
    if (const Result<void> done = detail::outcome(et_state_new(&raw)); !done) {
      return done.error();
    }
    return adopt(raw);
  }
  // Takes over a handle of the C functions.
  static State adopt(et_state* raw) { return State(std::shared_ptr<et_state>(raw, et_state_free)); }

  size_t count() const { return et_state_count(raw()); }
  Result<TensorInfo> info(size_t index) const {
    et_tensor_info info{};
    if (const Result<void> done = detail::outcome(et_state_info(raw(), index, &info)); !done) {
      return done.error();
    }
    return TensorInfo(info);
  }
  // The index of the buffer of that name.
  std::optional<size_t> find(std::string_view name) const {
    for (size_t i = 0; i < count(); ++i) {
      et_tensor_info info{};
      if (et_state_info(raw(), i, &info) == ET_OK && info.name == name) {
        return i;
      }
    }
    return std::nullopt;
  }

  // Copies a buffer's bytes, as many as its info's nbytes.
  Result<void> read(size_t index, std::span<std::byte> to) const {
    return detail::outcome(et_state_read(raw(), index, to.data(), to.size()));
  }
  Result<void> write(size_t index, std::span<const std::byte> from) {
    return detail::outcome(et_state_write(raw(), index, from.data(), from.size()));
  }
  // Back to the values in the file, zeros where it has none.
  Result<void> reset() { return detail::outcome(et_state_reset(raw())); }
  // Another state with the same buffers and contents.
  Result<State> clone() const {
    et_state* copy = nullptr;
    if (const Result<void> done = detail::outcome(et_state_clone(raw(), &copy)); !done) {
      return done.error();
    }
    return adopt(copy);
  }

  et_state* raw() const { return raw_.get(); }

 private:
  explicit State(std::shared_ptr<et_state> raw) : raw_(std::move(raw)) {}
  std::shared_ptr<et_state> raw_;
};

}  // namespace et
