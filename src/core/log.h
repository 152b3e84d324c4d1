// The log. Silent until a level is set; errors are captured for the caller before they get here.
#pragma once

#include <fmt/core.h>

#include <string_view>

namespace etrt {

enum class LogLevel : int { Debug = 0, Info = 1, Error = 2, Fatal = 3, Off = 4 };

// `message` is not NUL-terminated and valid during the call only. May be called from any thread.
using LogCallback = void (*)(int level, const char* message, size_t size, void* user_data);

// Lines below `level` are dropped. The start value comes from ETRT_LOG_LEVEL (debug, info, error,
// fatal, off), read when it is first asked for; off without it.
void set_log_level(LogLevel level);
LogLevel log_level();

// Sends lines to `callback` instead of stderr; null brings stderr back.
void set_log_callback(LogCallback callback, void* user_data);

// Is a line of this level wanted?
bool logs(LogLevel level);

// A line for the log alone: it is no part of an error's text, which fail() makes.
void log_text(LogLevel level, std::string_view text);
void vlog_line(LogLevel level, fmt::string_view format, fmt::format_args args);

// The same, formatted only when it is wanted.
template <class... Args>
void log_line(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (logs(level)) {
    vlog_line(level, format, fmt::make_format_args(args...));
  }
}

}  // namespace etrt
