// Memory that a run asks for on its way: temporary memory of operators, and tensors that grow.
#pragma once

#include <cstddef>

namespace etrt {

inline constexpr size_t kAllocationAlignment = 64;

// While it lives, allocate() on this thread refuses a block of more than `bytes`; 0: no limit.
class AllocationLimit {
 public:
  explicit AllocationLimit(size_t bytes);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;

 private:
  size_t before_;
};

// `bytes` bytes, 64-byte aligned, uninitialised. Throws std::bad_alloc; beyond the limit with a line in the error.
void* allocate(size_t bytes);
void deallocate(void* memory);

}  // namespace etrt
