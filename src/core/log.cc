#include "core/log.h"

#define SPDLOG_HEADER_ONLY
#define FMT_HEADER_ONLY
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

namespace etrt {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Error:
      return spdlog::level::err;
    case LogLevel::Fatal:
      return spdlog::level::critical;
    case LogLevel::Off:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

LogLevel from_environment() {
  const char* text = std::getenv("ETRT_LOG_LEVEL");
  if (text == nullptr) {
    return LogLevel::Off;
  }
  constexpr const char* kNames[] = {"debug", "info", "error", "fatal", "off"};
  for (int i = 0; i < 5; ++i) {
    if (std::strcmp(text, kNames[i]) == 0) {
      return static_cast<LogLevel>(i);
    }
  }
  return LogLevel::Off;
}

std::atomic<int>& level_cell() {
  static std::atomic<int> level{static_cast<int>(from_environment())};
  return level;
}

struct Target {
  LogCallback callback = nullptr;
  void* user_data = nullptr;
};

std::mutex& target_mutex() {
  static std::mutex mutex;
  return mutex;
}

Target& target() {
  static Target t;
  return t;
}

// Never destroyed: a worker may log while the process exits.
spdlog::logger& stderr_logger() {
  static auto* logger = [] {
    auto* made = new spdlog::logger("etrt", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::trace);
    made->set_pattern("%L %H:%M:%S.%f etrt] %v");
    return made;
  }();
  return *logger;
}

}  // namespace

void set_log_level(LogLevel level) { level_cell().store(static_cast<int>(level), std::memory_order_relaxed); }

LogLevel log_level() { return static_cast<LogLevel>(level_cell().load(std::memory_order_relaxed)); }

void set_log_callback(LogCallback callback, void* user_data) {
  const std::lock_guard lock(target_mutex());
  target() = {callback, user_data};
}

void log_text(LogLevel level, std::string_view text) {
  if (level < log_level() || level == LogLevel::Off) {
    return;
  }
  Target to;
  {
    const std::lock_guard lock(target_mutex());
    to = target();
  }
  if (to.callback != nullptr) {
    to.callback(static_cast<int>(level), text.data(), text.size(), to.user_data);
    return;
  }
  stderr_logger().log(to_spdlog(level), spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace etrt
