// What the operating system is asked for. No other file calls it directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/status.h"

namespace etrt::platform {

// Cores this process may use: its affinity mask, and the CPU quota of its container where it has one.
// At least 1.
size_t usable_cores();

// `handler` runs in the child of every later fork(), on its only thread. It may do no more than a
// signal handler may.
void at_fork_in_child(void (*handler)());

// Blocks all signals on this thread while it lives, so that a thread started meanwhile never runs the
// application's signal handlers.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  struct Mask;
  std::unique_ptr<Mask> before_;
};

// Shown by debuggers and top; at most 15 characters.
void name_this_thread(const char* name);

// Tells the core that this thread waits for memory to change.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// `size` zero bytes, 64-byte aligned; null when there are none. Big blocks are pages that are touched, and
// count as used, only where they are written.
void* allocate_zeroed(size_t size);
// `size` as it was allocated.
void free_zeroed(void* memory, size_t size);

// A whole file, mapped read-only. Pages are read when they are touched. Whoever shortens the file while
// it is mapped makes its lost pages fault: replace such files by renaming a new one over them.
class MappedFile {
 public:
  // `path` is UTF-8. AccessFailed with the path and the system's reason.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}
  void* data_;  // null when the file is empty
  size_t size_;
};

}  // namespace etrt::platform
