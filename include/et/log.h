// log.h - what the library says while it works. Silent until a level is set.
//
//   et::set_log_level(et::LogLevel::Info);
//   et::set_log_callback([](et::LogLevel level, std::string_view line) { my_log << line; });
//
// Error texts (error.h) are the same whatever the level.
#pragma once

#include <et.h>

#include <deque>
#include <functional>
#include <mutex>
#include <string_view>

namespace et {

enum class LogLevel : int32_t {
  Debug = ET_LOG_DEBUG,
  Info = ET_LOG_INFO,
  Error = ET_LOG_ERROR,
  Fatal = ET_LOG_FATAL,
  Off = ET_LOG_OFF,
};

// Called on any thread, several at a time. `line` is valid during the call only.
using LogCallback = std::function<void(LogLevel level, std::string_view line)>;

// Lines below `level` are dropped. Starts as ETRT_LOG_LEVEL, else Off. Any thread.
inline void set_log_level(LogLevel level) { et_set_log_level(static_cast<int32_t>(level)); }

// Sends lines to `callback` instead of stderr; an empty function brings stderr back. Any thread. The function
// is kept for the life of the process: another thread may be in it while it is replaced.
inline void set_log_callback(LogCallback callback) {
  if (!callback) {
    et_set_log_callback(nullptr, nullptr);
    return;
  }
  const auto call = [](int32_t level, const char* message, size_t size, void* user_data) {
    (*static_cast<LogCallback*>(user_data))(static_cast<LogLevel>(level), std::string_view(message, size));
  };
  static std::mutex mutex;
  static auto* const kept = new std::deque<LogCallback>;  // never freed: threads may log while statics are destroyed
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(callback));
  et_set_log_callback(call, &kept->back());
}

}  // namespace et
