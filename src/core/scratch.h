// Scratch: temporary memory of one operator call, kept from call to call so that steady state allocates nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "core/allocation.h"

namespace etrt {

class Scratch {
 public:
  // `bytes` bytes, 64-byte aligned, uninitialised, valid until reset(). Throws std::bad_alloc.
  void* allocate(size_t bytes);
  template <class T>
  T* array(size_t count) {
    if (count > static_cast<size_t>(-1) / sizeof(T)) {
      throw std::bad_alloc();
    }
    return static_cast<T*>(allocate(count * sizeof(T)));
  }
  // Frees everything handed out. After the first run of a shape one block serves all.
  void reset();

 private:
  struct Free {
    void operator()(std::byte* p) const { deallocate(p); }
  };
  struct Block {
    std::unique_ptr<std::byte, Free> data;
    size_t size = 0;
  };
  Block add_block(size_t size);

  std::vector<Block> blocks_;  // the last one is in use
  size_t used_ = 0;            // of the last block
  size_t total_ = 0;           // handed out since reset
};

}  // namespace etrt
