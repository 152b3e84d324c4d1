#include "plan/backend.h"

#include <map>
#include <mutex>

#include "core/error.h"

namespace etrt {
namespace {

struct Backends {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Backend>, std::less<>> by_name;
};

// Never destroyed: methods may outlive static destruction.
Backends& backends() {
  static auto* b = new Backends;
  return *b;
}

}  // namespace

Status Backend::set_option(std::string_view key, const Value& /*value*/) {
  return fail(Status::NotSupported, "this backend has no option \"{}\"", key);
}

Status Backend::get_option(std::string_view key, Value& /*value*/) {
  return fail(Status::NotSupported, "this backend has no option \"{}\"", key);
}

Backend* find_backend(std::string_view name) {
  Backends& all = backends();
  const std::lock_guard lock(all.mutex);
  const auto it = all.by_name.find(name);
  return it == all.by_name.end() ? nullptr : it->second.get();
}

Status register_backend(std::string_view name, std::unique_ptr<Backend> backend) {
  if (name.empty()) {
    return fail(Status::InvalidArgument, "a backend needs the name that programs use for it");
  }
  Backends& all = backends();
  const std::lock_guard lock(all.mutex);
  if (!all.by_name.emplace(std::string(name), std::move(backend)).second) {
    return fail(Status::RegistrationAlreadyRegistered, "backend {} is registered already", name);
  }
  return Status::Ok;
}

std::vector<std::string_view> backend_names() {
  Backends& all = backends();
  const std::lock_guard lock(all.mutex);
  std::vector<std::string_view> names;
  for (const auto& [name, backend] : all.by_name) {
    names.push_back(name);
  }
  return names;
}

}  // namespace etrt
