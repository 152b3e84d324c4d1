// Source: where the bytes of a file come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/status.h"

namespace etrt {

// Bytes of a source that stay where they are while `owner` lives, aligned to at least 16 bytes.
struct Region {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

// An aligned copy, or room for one. Throws std::bad_alloc.
struct OwnedRegion {
  std::shared_ptr<std::byte> memory;
  std::span<std::byte> bytes;
  explicit OwnedRegion(size_t size);
  operator Region() const { return {memory, bytes}; }
};

// Reads `to.size()` bytes from `offset`, which lie within the source; false when that fails.
using ReadBytes = std::function<bool(uint64_t offset, std::span<std::byte> to)>;

// Copying a source is cheap: copies share the bytes. Any number of threads may use one.
class Source {
 public:
  // A file, mapped: nothing is read until it is touched. `path` is UTF-8. A file that can't be read, a
  // directory and the like are refused with the system's reason.
  static Result<Source> file(const std::string& path);

  // Bytes in memory at any alignment, used in place; they must not change or move before `owner`, whose
  // deleter may call back, is released: when the last user of the bytes has gone, or loading has failed.
  static Source borrow(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name);

  // A copy of bytes in memory.
  static Source copy(std::span<const std::byte> bytes, std::string name);

  // Bytes read by a callback when they are needed, from whichever thread needs them, by one at a time.
  static Source callback(uint64_t size, ReadBytes read, std::string name);

  uint64_t size() const;
  // For messages: the quoted path, or what the caller called it.
  const std::string& name() const;

  // The range must lie within the source. Fails (AccessFailed) only for a callback that fails. Copies
  // the bytes unless they lie in memory, aligned, already.
  Result<Region> map(uint64_t offset, uint64_t size) const;
  // The same, always copied: what is verified must not change afterwards.
  Result<OwnedRegion> read(uint64_t offset, uint64_t size) const;

  class Impl;

 private:
  explicit Source(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace etrt
