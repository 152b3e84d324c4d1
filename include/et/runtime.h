// runtime.h - settings of the whole process, and what this build of the library has.
#pragma once

#include <et.h>

#include <cstdint>
#include <string>
#include <vector>

namespace et {

// "0.1.0".
inline const char* version() { return et_version(); }

// Threads that kernels may use, the calling one included. Starts as ETRT_NUM_THREADS, else the cores this
// process may use. Any thread; not while a method runs.
inline void set_thread_count(size_t count) { et_set_thread_count(count); }
inline size_t thread_count() { return et_thread_count(); }

// Makes random operators repeat: the same seed and calls give the same numbers.
inline void set_seed(uint64_t seed) { et_set_seed(seed); }

// The operators there are, yours included, sorted: "aten::add.out", …
inline std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  while (const char* name = et_operator_name(names.size())) {
    names.emplace_back(name);
  }
  return names;
}

// Arguments and results of an operator: "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"; "" of one without a schema,
// and of one that there isn't.
inline std::string operator_schema(const std::string& name) {
  const char* schema = et_operator_schema(name.c_str());
  return schema == nullptr ? "" : schema;
}

// The delegate backends there are, yours included, sorted.
inline std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  while (const char* name = et_backend_name(names.size())) {
    names.emplace_back(name);
  }
  return names;
}
inline bool backend_is_available(const std::string& name) { return et_backend_is_available(name.c_str()) != 0; }

}  // namespace et
