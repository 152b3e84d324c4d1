#include "method/loaded_program.h"

#include "core/error.h"

namespace etrt {

Result<std::shared_ptr<const Plan>> LoadedProgram::plan(size_t method_index) const {
  const std::lock_guard lock(mutex_);
  auto& cached = plans_[method_index];
  if (cached == nullptr) {
    ET_ASSIGN(cached, plan_as_exported(program_, method_index));
  }
  return cached;
}

Result<const MethodInfo*> LoadedProgram::info(size_t method_index) const {
  std::shared_ptr<const Plan> known;
  {
    // Whether it can run here isn't asked: then nothing is known of writes and state.
    const RecoverableLines lines;
    auto made = plan(method_index);
    if (made.ok()) {
      known = made.take();
    }
  }
  const std::lock_guard lock(mutex_);
  auto& cached = infos_[method_index];
  if (cached == nullptr) {
    auto info = std::make_unique<MethodInfo>(method_info(*program_, method_index));
    if (known != nullptr) {
      add_plan_facts(*known, *info);
    }
    cached = std::move(info);
  }
  return cached.get();
}

}  // namespace etrt
