// What a kernel reads does not lie in what it writes.
//
// A kernel may check an argument (that indices are in range, how many elements there are), write its output and
// then read the argument again. A file decides where planned tensors lie: it can put the one over the other. Such an
// argument is read from a copy made before the call, so that kernels needn't think of it.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "method/values.h"
#include "ops/op.h"

namespace etrt {

// Which arguments an operator writes, by place; the return slot isn't among them.
struct WrittenArguments {
  size_t count = 0;  // of all arguments; 0: nothing to look at
  uint64_t any = 0;
  uint64_t outputs = 0;  // of these, what it overwrites whole and never reads
};
// Of a call with these arguments; none when no written one can come to share memory with another, in any run. Mostly
// so: the exporter plans each tensor a place of its own.
WrittenArguments overlaps_to_watch(const Op& op, const ValueTable& values, std::span<Value* const> args);

// Do written arguments share memory with any other? Cheap: what every call pays.
// No: in-place calls of elementwise operators, and operators whose purpose is to share memory.
bool arguments_overlap(const Op& op, WrittenArguments written, std::span<Value* const> args);

// Copies of those arguments that are read and lie in what is written; a copy of a call's argument list with them.
class SeparateArguments {
 public:
  explicit SeparateArguments(Scratch& scratch) : scratch_(scratch) {}
  // InvalidProgram where two written arguments overlap: nothing can put that right.
  Status make(const Op& op, WrittenArguments written, std::span<Value* const> args);
  // Valid as long as this object, and `scratch` isn't reset.
  std::span<Value* const> args() const { return args_; }

 private:
  Status check_written(const Op& op, WrittenArguments written) const;
  void separate(const Op& op, WrittenArguments written, std::span<Value* const> args, size_t index);
  Value* copy(const Tensor& tensor);

  Scratch& scratch_;
  std::vector<Value*> args_;
  std::deque<Value> values_;
  std::deque<Tensor> tensors_;
  std::deque<List> lists_;
};

}  // namespace etrt
