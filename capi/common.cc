// Versions, errors, the log, dtypes, process-wide settings.
#include <algorithm>

#include "core/dtype.h"
#include "core/log.h"
#include "core/random.h"
#include "core/thread_pool.h"
#include "handles.h"

using namespace etrt;

extern "C" {

const char* et_version(void) { return ETRT_VERSION; }
uint32_t et_abi_version(void) { return 1; }

const char* et_status_name(et_status status) { return status_name(static_cast<Status>(status)); }

et_status et_last_error_status(void) { return static_cast<et_status>(last_error().status); }
const char* et_last_error_text(void) { return last_error().text.c_str(); }

et_error* et_last_error_take(void) {
  if (last_error().status == Status::Ok) {
    return nullptr;
  }
  auto* error = new (std::nothrow) et_error;
  if (error != nullptr) {
    error->error = take_last_error();
  }
  return error;
}
void et_error_free(et_error* error) { delete error; }
et_status et_error_status(const et_error* error) {
  return error == nullptr ? ET_OK : static_cast<et_status>(error->error.status);
}
const char* et_error_text(const et_error* error) { return error == nullptr ? "" : error->error.text.c_str(); }
const char* et_error_method(const et_error* error) {
  return error == nullptr ? "" : error->error.detail.method.c_str();
}
const char* et_error_operator(const et_error* error) { return error == nullptr ? "" : error->error.detail.op.c_str(); }
int64_t et_error_argument(const et_error* error) { return error == nullptr ? -1 : error->error.detail.argument; }
const char* et_error_expected(const et_error* error) {
  return error == nullptr ? "" : error->error.detail.expected.c_str();
}
const char* et_error_found(const et_error* error) { return error == nullptr ? "" : error->error.detail.found.c_str(); }

void et_set_log_level(int32_t level) {
  set_log_level(static_cast<LogLevel>(std::clamp(level, int32_t{ET_LOG_DEBUG}, int32_t{ET_LOG_OFF})));
}
void et_set_log_callback(et_log_callback callback, void* user_data) { set_log_callback(callback, user_data); }

const char* et_dtype_name(int32_t dtype) {
  return dtype_valid(dtype) ? dtype_name(static_cast<DType>(dtype)) : nullptr;
}
int32_t et_dtype_from_name(const char* name) {
  const auto dtype = name == nullptr ? std::nullopt : dtype_from_name(name);
  return dtype.has_value() ? static_cast<int32_t>(*dtype) : -1;
}
size_t et_dtype_size(int32_t dtype) { return dtype_valid(dtype) ? dtype_size(static_cast<DType>(dtype)) : 0; }

void et_set_thread_count(size_t count) { set_thread_count(count); }
size_t et_thread_count(void) { return thread_count(); }
void et_set_seed(uint64_t seed) { set_seed(seed); }

}  // extern "C"
