#include "method/memory.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/platform.h"

namespace etrt {
namespace {
constexpr size_t kAlignment = 64;
}  // namespace

Result<Arena> Arena::make(size_t size, const Allocator& allocator) {
  const size_t bytes = (size + kAlignment - 1) / kAlignment * kAlignment + (size == 0 ? kAlignment : 0);
  if (bytes < size) {
    return fail(Status::MemoryAllocationFailed, "{} bytes of planned memory are too many", size);
  }
  void* data = nullptr;
  if (allocator.allocate != nullptr) {
    data = allocator.allocate(allocator.user_data, bytes, kAlignment);
    if (data != nullptr && reinterpret_cast<uintptr_t>(data) % kAlignment != 0) {
      if (allocator.free != nullptr) {
        allocator.free(allocator.user_data, data, bytes);
      }
      return fail(Status::MemoryAllocationFailed, "the allocator's memory is not aligned to {} bytes", kAlignment);
    }
    if (data != nullptr) {
      std::memset(data, 0, bytes);
    }
  } else {
    data = platform::allocate_zeroed(bytes);
  }
  if (data == nullptr) {
    return fail(Status::MemoryAllocationFailed, "can't allocate {} bytes of planned memory", bytes);
  }
  return Arena(static_cast<std::byte*>(data), bytes, allocator);
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_), allocator_(other.allocator_) {}

Arena::~Arena() {
  if (data_ == nullptr) {
    return;
  }
  if (allocator_.allocate == nullptr) {
    platform::free_zeroed(data_, size_);
  } else if (allocator_.free != nullptr) {
    allocator_.free(allocator_.user_data, data_, size_);
  }
}

bool RunMemory::contains(const void* pointer) const {
  const auto within = [&](const void* begin, size_t size) {
    const auto p = reinterpret_cast<uintptr_t>(pointer);
    const auto b = reinterpret_cast<uintptr_t>(begin);
    return begin != nullptr && p >= b && p - b < size;
  };
  for (const Arena& arena : arenas) {
    if (within(arena.data(), arena.size())) {
      return true;
    }
  }
  for (const GrowingBuffer& buffer : growing) {
    if (within(buffer.data(), buffer.capacity())) {
      return true;
    }
  }
  return false;
}

std::shared_ptr<RunMemory> RunMemory::hold(const std::shared_ptr<RunMemory>& memory) {
  memory->holds_.fetch_add(1, std::memory_order_relaxed);
  return {memory.get(), [memory](RunMemory* held) { held->holds_.fetch_sub(1, std::memory_order_release); }};
}

Result<std::shared_ptr<RunMemory>> make_run_memory(std::span<const int64_t> sizes, size_t growing_count,
                                                   const Allocator& allocator) {
  auto memory = std::make_shared<RunMemory>();
  for (size_t i = 1; i < sizes.size(); ++i) {
    ET_ASSIGN(Arena arena, Arena::make(static_cast<size_t>(sizes[i]), allocator));
    memory->arenas.push_back(std::move(arena));
  }
  memory->growing.resize(growing_count);
  return memory;
}

}  // namespace etrt
