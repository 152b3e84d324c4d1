// State: the buffers that live from run to run, shared by the methods loaded with it.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "core/tensor.h"
#include "plan/plan.h"

namespace etrt {

class State {
 public:
  struct Buffer {
    std::string name;
    DType dtype = DType::UInt8;
    std::vector<int64_t> sizes;
    std::vector<uint8_t> dim_order;
    size_t nbytes = 0;  // of the tensor it is described by
    uint64_t size = 0;  // of all that lies in it
    GrowingBuffer memory;
    std::vector<std::byte> initial;  // empty: zeros

    uint64_t offset = 0;  // of that tensor
    std::byte* base() const { return static_cast<std::byte*>(memory.data()); }
    std::byte* data() const { return base() + offset; }
    void reset();
  };

  // The buffer of a plan, with its initial contents if it is new. Buffers are found by name, dtype and sizes.
  Result<Buffer*> attach(const Plan& plan, const StateBuffer& wanted);

  size_t count() const;
  // Buffers stay where they are; null past the end.
  const Buffer* at(size_t index) const;

  Status read(size_t index, std::span<std::byte> to) const;
  Status write(size_t index, std::span<const std::byte> from);
  Status reset();
  Result<std::shared_ptr<State>> clone() const;

  // One run, read or write at a time. False when somebody else has it.
  bool try_acquire() const { return !busy_.exchange(true, std::memory_order_acquire); }
  void release() const { busy_.store(false, std::memory_order_release); }

 private:
  Status acquire() const;
  Result<Buffer*> checked(size_t index, size_t size) const;

  mutable std::mutex mutex_;  // of the list
  mutable std::deque<Buffer> buffers_;
  mutable std::atomic<bool> busy_{false};
};

}  // namespace etrt
