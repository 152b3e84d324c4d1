// The log. Silent until a level is set; errors are captured for the caller before they get here.
#pragma once

#include <string_view>

namespace etrt {

enum class LogLevel : int { Debug = 0, Info = 1, Error = 2, Fatal = 3, Off = 4 };

// `message` is not NUL-terminated and valid during the call only. May be called from any thread.
using LogCallback = void (*)(int level, const char* message, size_t size, void* user_data);

// Lines below `level` are dropped. The start value comes from ETRT_LOG_LEVEL (debug, info, error,
// fatal, off); off without it.
void set_log_level(LogLevel level);
LogLevel log_level();

// Sends lines to `callback` instead of stderr; null brings stderr back.
void set_log_callback(LogCallback callback, void* user_data);

void log_text(LogLevel level, std::string_view text);

}  // namespace etrt
