// Method: a plan with memory, ready to run.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/scratch.h"
#include "core/thread_pool.h"
#include "method/argument.h"
#include "method/inputs.h"
#include "method/memory.h"
#include "method/method_info.h"
#include "method/outputs.h"
#include "method/overlap.h"
#include "method/state.h"
#include "method/values.h"
#include "plan/backend.h"
#include "plan/plan.h"

namespace etrt {

struct MethodOptions {
  std::shared_ptr<State> state;  // null: one of the method's own
  Allocator allocator;
  uint64_t memory_limit = 0;  // bytes of arenas and state, and of any block that a run asks for; 0: none
  uint64_t step_limit = 0;    // 0: ten million
};

struct MemoryNeeds {
  uint64_t planned_bytes = 0;
  uint64_t state_bytes = 0;
  size_t arena_count = 0;
};
// Overflow of a file's sizes is refused.
Result<MemoryNeeds> memory_needs(const Plan& plan);

// What keeps a held output alive.
struct OutputHold {
  std::shared_ptr<RunMemory> memory;    // the run's memory, shared
  std::shared_ptr<GrowingBuffer> copy;  // or a copy, where the output lies elsewhere (state, constant, input)
};

// Used by one thread at a time: while one is in a function that changes the method, or in alone(), such a call from
// another thread returns InvalidState. cancel() is for any thread.
class Method {
 public:
  static Result<std::shared_ptr<Method>> load(std::shared_ptr<const Plan> plan, const MethodOptions& options);

  const MethodInfo& info() const { return info_; }
  const std::shared_ptr<State>& state() const { return state_; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }

  Status set_input(size_t index, const Argument& argument);
  // All or none. `argument` gives each in turn.
  Status set_inputs(size_t count, FunctionRef<Status(size_t, Argument&)> argument);
  // Null: take the output's memory back.
  Status set_output(size_t index, const TensorArgument* memory);
  Status execute();
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  // What follows gives pointers into the method. While another thread may use it, call these from within alone(),
  // which keeps that one out until `work` is done.
  Status alone(FunctionRef<Status()> work) const;
  // The value of an output after a run, valid until the next one.
  Result<const Value*> output(size_t index) const;
  // Keeps the bytes of output tensor `data`, which `run` wrote (0: the last one), as they are; may move them: `data` is
  // where they are then.
  Result<OutputHold> hold(const void*& data, size_t nbytes, uint64_t run = 0) const;
  Result<const Tensor*> attribute(std::string_view name) const;
  // The number of the last run.
  uint64_t run() const { return run_; }

 private:
  // A step with its arguments looked up.
  struct BoundStep {
    Step::Kind kind;
    uint32_t arg_count;
    uint32_t target;
    Value** args;
    const Op* op;
    Delegate* delegate;
    uint32_t first_guarded;  // into guarded_
    uint32_t guarded_count;
    WrittenArguments written;
  };
  class Use;

  Method(std::shared_ptr<const Plan> plan, const MethodOptions& options);
  Status init(const MethodOptions& options);
  Status load_delegates();
  void log_loaded() const;
  Status bind_steps();
  void guard_reads(const Step& step);
  Status bind_input(size_t index, const Argument& argument, const BoundTensor& tensor);
  Status renew_memory();
  Status settle_inputs();
  Status settle_input(size_t index);
  Status run_steps();
  Status run_kernel(const BoundStep& step);
  Status call_separated(const BoundStep& step, std::span<Value* const> args);
  Status call_kernel(const BoundStep& step, std::span<Value* const> args);
  Status check_guarded(const BoundStep& step) const;
  Result<bool> condition(const Value& value) const;
  Status step_failed(Status status, size_t index);
  Status write_back_inputs();
  Status store_outputs();
  Status check_output_index(size_t index) const;
  bool lies_in_bound_output(const BoundTensor& tensor, size_t element_size) const;

  std::shared_ptr<const Plan> plan_;
  MethodInfo info_;
  std::shared_ptr<State> state_;
  Allocator allocator_;
  uint64_t memory_limit_;
  uint64_t step_limit_;
  std::unique_ptr<ValueTable> values_;
  std::shared_ptr<RunMemory> memory_;
  std::vector<std::shared_ptr<RunMemory>> spare_;  // earlier ones, used again when nobody holds them
  std::vector<Value*> args_;
  std::vector<BoundStep> steps_;
  std::vector<const Value*> guarded_;  // what a step reads and may be without memory, step by step
  std::vector<std::unique_ptr<Delegate>> delegates_;
  std::vector<Input> inputs_;
  BoundOutputs outputs_;
  bool ran_ = false;
  uint64_t run_ = 0;
  Scratch scratch_;
  mutable std::atomic<bool> busy_{false};
  std::atomic<bool> cancelled_{false};
};

}  // namespace etrt
