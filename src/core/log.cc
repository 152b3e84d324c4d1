#include "core/log.h"

#define SPDLOG_HEADER_ONLY
#define FMT_HEADER_ONLY
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
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

constexpr const char* kNames[] = {"debug", "info", "error", "fatal", "off"};
constexpr int kUnread = -1;  // neither set nor read from the environment yet

std::atomic<int> g_level{kUnread};

void level_from_environment() {
  const char* text = std::getenv("ETRT_LOG_LEVEL");
  LogLevel level = LogLevel::Off;
  bool wrong = false;
  if (text != nullptr && *text != '\0') {
    const auto* name = std::find_if(std::begin(kNames), std::end(kNames),
                                    [&](const char* known) { return std::strcmp(text, known) == 0; });
    wrong = name == std::end(kNames);
    // Whoever sets it wants to see something: errors, and that it is wrong.
    level = wrong ? LogLevel::Error : static_cast<LogLevel>(name - std::begin(kNames));
  }
  int unread = kUnread;
  if (g_level.compare_exchange_strong(unread, static_cast<int>(level)) && wrong) {
    log_line(LogLevel::Error, "ETRT_LOG_LEVEL is \"{}\", expected debug, info, error, fatal or off; error is used",
             text);
  }
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

void set_log_level(LogLevel level) { g_level.store(static_cast<int>(level), std::memory_order_relaxed); }

LogLevel log_level() {
  if (g_level.load(std::memory_order_relaxed) == kUnread) {
    level_from_environment();
  }
  return static_cast<LogLevel>(g_level.load(std::memory_order_relaxed));
}

void set_log_callback(LogCallback callback, void* user_data) {
  const std::lock_guard lock(target_mutex());
  target() = {callback, user_data};
}

bool logs(LogLevel level) { return level >= log_level() && level != LogLevel::Off; }

void log_text(LogLevel level, std::string_view text) {
  if (!logs(level)) {
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

void vlog_line(LogLevel level, fmt::string_view format, fmt::format_args args) {
  log_text(level, fmt::vformat(format, args));
}

}  // namespace etrt
