// Plan: what one method does, as steps bound to operators and values.
//
// Immutable and shared by every Method made from it. Built as exported (as_exported.cc): one step an
// instruction, with the exporter's memory offsets. memory_flow.h finds out what the exporter leaves
// unsaid: which planned memory is state, and which inputs are written.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ops/op.h"
#include "program/program.h"

namespace etrt {

class Backend;

struct Step {
  enum class Kind : uint8_t { Kernel, Delegate, Move, JumpFalse, Free } kind = Kind::Kernel;
  const Op* op = nullptr;  // Kernel
  uint32_t delegate = 0;   // Delegate: index into the method's delegates
  uint32_t first_arg = 0;  // into Plan::args: the arguments; Move: from, to; JumpFalse: condition; Free: value
  uint32_t arg_count = 0;
  uint32_t target = 0;  // JumpFalse: the next step when the condition is false
};

// A part of planned memory, or a constant, that lives from run to run and has memory of its own.
struct StateBuffer {
  std::string name;    // the fully qualified name, else "#<method>/<value>"
  bool named = false;  // has a name of its own
  int32_t value = 0;   // the value it is described by
  uint64_t size = 0;   // bytes
  // Values that lie in it, with their offsets in bytes.
  struct Member {
    int32_t value;
    uint64_t offset;
  };
  std::vector<Member> members;
};

struct InputPlan {
  int32_t value = 0;
  bool planned = false;
  bool written = false;  // by an instruction, in place
  // Must be copied to its planned memory before each run, since something else reads it from there.
  bool copied = false;
  // Planned values that are views of the input (the exporter leaves no instruction for such a view).
  std::vector<StateBuffer::Member> views;
};

struct Plan {
  std::shared_ptr<const Program> program;
  size_t method_index = 0;
  std::string method_name;
  std::vector<Step> steps;
  std::vector<int32_t> args;  // value indices
  std::vector<InputPlan> inputs;
  std::vector<int32_t> outputs;
  std::vector<StateBuffer> state;
  // Values whose handle an instruction replaces (moves, views, results of shape arithmetic): every run
  // starts with them as the file has them.
  std::vector<int32_t> replaced;

  const fb::ExecutionPlan& method() const { return program->method(method_index); }
};

// OperatorMissing, NotFound or NotSupported with every missing operator and backend and its count, and a missing
// device.
Status check_runnable(const Program& program, size_t method_index);

Result<std::shared_ptr<const Plan>> plan_as_exported(const std::shared_ptr<const Program>& program,
                                                     size_t method_index);

}  // namespace etrt
