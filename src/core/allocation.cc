#include "core/allocation.h"

#include <new>

#include "core/error.h"

namespace etrt {
namespace {
constexpr std::align_val_t kAlignment{kAllocationAlignment};
thread_local size_t limit = 0;
}  // namespace

AllocationLimit::AllocationLimit(size_t bytes) : before_(limit) { limit = bytes; }
AllocationLimit::~AllocationLimit() { limit = before_; }

void* allocate(size_t bytes) {
  if (limit != 0 && bytes > limit) {
    (void)fail(Status::MemoryAllocationFailed, "the run asks for {} bytes at once, the limit is {}", bytes, limit);
    throw std::bad_alloc();
  }
  // A sanitizer's throwing form ends the program where there is no memory.
  void* memory = ::operator new(bytes, kAlignment, std::nothrow);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void deallocate(void* memory) { ::operator delete(memory, kAlignment); }

}  // namespace etrt
