// ValueTable: the values of a method while it runs, and where their bytes are at home.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/value.h"
#include "method/memory.h"
#include "method/state.h"
#include "plan/plan.h"

namespace etrt {

class ValueTable {
 public:
  // Makes every value as the file has it. Tensors have no memory until settle().
  static Result<std::unique_ptr<ValueTable>> make(std::shared_ptr<const Plan> plan, State& state);

  // Points every tensor to its home in `memory`, in the state, or among the constants.
  void settle(RunMemory& memory);
  // Brings back the handles, numbers and memory that the last run replaced.
  void restore_replaced(RunMemory& memory);
  // Points one tensor to its home.
  void settle_one(int32_t value, RunMemory& memory);

  // Is there a moment at which the tensor in `value` has no memory? Also true for a place that a run fills.
  bool may_lack_memory(const Value& value) const;

  // Can the tensors in two places come to share memory, in any run? Only where that is sure: false.
  bool may_share_memory(const Value& a, const Value& b) const;

  // Tensors that take a GrowingBuffer of a RunMemory.
  size_t growing_count() const { return growing_count_; }

  Value& operator[](int32_t index) { return values_[static_cast<size_t>(index)]; }
  const Value& operator[](int32_t index) const { return values_[static_cast<size_t>(index)]; }
  size_t size() const { return values_.size(); }
  // The tensor of value `index` as the file has it, whatever a run put in its place.
  Tensor& tensor(int32_t index) { return *homes_[static_cast<size_t>(home_of_[static_cast<size_t>(index)])].tensor; }

 private:
  struct Home {
    Tensor* tensor = nullptr;
    int32_t buffer = -1;  // planned: index among the arenas
    uint64_t offset = 0;
    std::byte* fixed = nullptr;  // state or constant
    size_t size = 0;             // bytes there
    int32_t growing = -1;        // index among the growing buffers
  };

  explicit ValueTable(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  Status fill(State& state);
  Status add_tensor(size_t index, const fb::Tensor& tensor);
  void add_list(size_t index, Kind kind, std::vector<Value*> items);
  void find_movable();
  void place_state(State::Buffer& buffer, const StateBuffer& planned);
  void settle(Home& home, RunMemory& memory);

  std::shared_ptr<const Plan> plan_;
  std::vector<Value> values_;  // never resized once filled: lists point into it
  std::vector<Tensor> tensors_;
  std::deque<List> lists_;
  std::vector<Home> homes_;       // one a tensor
  std::vector<int32_t> home_of_;  // by value; -1: no tensor
  std::vector<std::pair<int32_t, Value>> replaced_;
  std::vector<bool> is_replaced_;     // by value
  std::vector<bool> may_be_callers_;  // by value: inputs and views of them, which may lie in a caller's memory
  size_t growing_count_ = 0;
};

}  // namespace etrt
