// RunMemory: the memory of a method's runs. Held results share it, and the method takes a new one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "core/status.h"
#include "core/tensor.h"

namespace etrt {

// Where arenas come from. Null functions: the system.
struct Allocator {
  void* (*allocate)(void* user_data, size_t size, size_t alignment) = nullptr;
  void (*free)(void* user_data, void* memory, size_t size) = nullptr;
  void* user_data = nullptr;
};

// Zero-filled memory, 64-byte aligned. Big ones from the system are touched only where they are used.
class Arena {
 public:
  static Result<Arena> make(size_t size, const Allocator& allocator);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  Arena(std::byte* data, size_t size, const Allocator& allocator) : data_(data), size_(size), allocator_(allocator) {}
  std::byte* data_;
  size_t size_;
  Allocator allocator_;
};

struct RunMemory {
  std::vector<Arena> arenas;          // by buffer index less one
  std::deque<GrowingBuffer> growing;  // one for each tensor that may need more than its plan, or has none

  // Does `pointer` lie in here?
  bool contains(const void* pointer) const;

  // Keeps `memory`, and what was written there, as long as the result is alive.
  static std::shared_ptr<RunMemory> hold(const std::shared_ptr<RunMemory>& memory);
  // Once false, what other threads did with the memory they held is over.
  bool is_held() const { return holds_.load(std::memory_order_acquire) > 0; }

 private:
  std::atomic<int64_t> holds_{0};
};

// `sizes`: the file's non_const_buffer_sizes.
Result<std::shared_ptr<RunMemory>> make_run_memory(std::span<const int64_t> sizes, size_t growing_count,
                                                   const Allocator& allocator);

}  // namespace etrt
