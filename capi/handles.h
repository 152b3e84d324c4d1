// What the opaque handles of et.h hold, and the guard at every entry.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/thread_pool.h"
#include "et.h"
#include "method/loaded_program.h"
#include "method/method.h"

struct et_error {
  etrt::LastError error;
};
struct et_program {
  std::shared_ptr<const etrt::LoadedProgram> loaded;
};
struct et_state {
  std::shared_ptr<etrt::State> state;
};
struct et_method {
  std::shared_ptr<etrt::Method> method;
  std::shared_ptr<const etrt::LoadedProgram> program;
  mutable std::map<size_t, std::vector<et_value>> lists;  // items of list outputs, by output
};

namespace etrt::capi {

// Runs `body` (which returns a Status) as one public call: errors are captured, exceptions become statuses.
// `context` gives the start of the error text, "Failed to …", and is asked for on a failure only.
template <class Context, class Body>
et_status guarded(Context&& context, Body&& body) noexcept {
  try {
    ErrorScope scope;
    Status status = Status::Ok;
    try {
      status = body();
    } catch (const std::bad_alloc&) {
      status = fail(Status::MemoryAllocationFailed, "out of memory");
    } catch (const std::exception& e) {
      status = fail(Status::Internal, "unexpected: {}", e.what());
    }
    if (status != Status::Ok) {
      return static_cast<et_status>(scope.failed(status, context()));
    }
    return ET_OK;
  } catch (...) {
    return ET_MEMORY_ALLOCATION_FAILED;  // no memory even for the text
  }
}

// A pointer that the caller must give.
inline Status require(const void* pointer, const char* name) {
  return pointer != nullptr ? Status::Ok : fail(Status::InvalidArgument, "{} is NULL", name);
}

// Options of an older or newer caller: the fields that both know, the rest zero.
template <class Options>
Result<Options> copy_options(const Options* options, const char* name) {
  Options copy{};
  copy.struct_size = sizeof(Options);
  if (options == nullptr) {
    return copy;
  }
  if (options->struct_size < sizeof(size_t) || options->struct_size > 65536) {
    return fail(Status::InvalidArgument, "{}.struct_size is {}; set it to sizeof({})", name, options->struct_size,
                name);
  }
  std::memcpy(&copy, options, std::min(options->struct_size, sizeof(Options)));
  copy.struct_size = sizeof(Options);
  return copy;
}

inline std::string name_or(const char* name, const char* fallback) { return name != nullptr ? name : fallback; }

// What an et_value's `hold` points to: it keeps `what` alive, and the sizes and strides the value refers to.
struct Hold {
  std::shared_ptr<const void> what;
  std::array<int64_t, kMaxRank> sizes{};
  std::array<int64_t, kMaxRank> strides{};
};
// Makes `value`, a tensor, refer to a new hold.
void take_hold(et_value& value, std::shared_ptr<const void> what);

et_tensor_info to_info(const ValueInfo& info);
Status info_at(const std::vector<ValueInfo>& infos, size_t index, const char* what, et_tensor_info* out);
// A view of `value`. `array` gives memory for the items of a list, which must outlive the view.
using NewArray = FunctionRef<et_value*(size_t)>;
Status to_value(const Value& value, NewArray array, et_value& out);
void to_value(const Tensor& tensor, et_value& out);
Result<Argument> to_argument(const et_value& value);
Allocator to_allocator(const et_allocator* allocator);

}  // namespace etrt::capi
