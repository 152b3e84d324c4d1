// LoadedProgram: a program with the plans made from it so far.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "method/method_info.h"
#include "plan/plan.h"

namespace etrt {

// Used by any number of threads.
class LoadedProgram {
 public:
  explicit LoadedProgram(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  const std::shared_ptr<const Program>& program() const { return program_; }
  // Made once a method; a failure is not remembered, since an operator may be registered meanwhile.
  Result<std::shared_ptr<const Plan>> plan(size_t method_index) const;
  // Made once a method. Says which inputs are written and what is state where the method can be planned.
  Result<const MethodInfo*> info(size_t method_index) const;

 private:
  std::shared_ptr<const Program> program_;
  mutable std::mutex mutex_;
  mutable std::map<size_t, std::shared_ptr<const Plan>> plans_;
  mutable std::map<size_t, std::unique_ptr<const MethodInfo>> infos_;
};

}  // namespace etrt
