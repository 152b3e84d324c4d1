// Why a call failed: the lines logged while it ran, kept whether or not a log is on.
//
// Every public entry opens an ErrorScope. Code below it reports a problem with fail(), which logs one
// line, adds it to the innermost scope of the thread and returns the status. When the entry fails, its
// scope turns the context and those lines into the thread's last error; when it succeeds, the lines go.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace etrt {

// What is known of a failure beside its text. Empty strings and -1 mean "not applicable".
struct ErrorDetail {
  std::string method;
  std::string op;
  int64_t argument = -1;  // index of the offending argument, or of the method's input or output
  std::string expected;
  std::string found;
};

// A failure as the caller gets it.
struct LastError {
  Status status = Status::Ok;
  std::string text;
  ErrorDetail detail;
};

// The lines of one call. Threads that work for the call add to the same object.
class ErrorLines {
 public:
  void add(std::string line);
  // The lines so far, for drop_after when a problem was recovered from.
  size_t count() const;
  void drop_after(size_t count);

  // All kept lines joined by newlines; a mark stands for those left out between the first and the last.
  std::string text() const;

  // First writer wins: the deepest code knows best.
  void note(ErrorDetail detail);
  ErrorDetail detail() const;
  void set_detail(ErrorDetail detail);

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  size_t left_out_ = 0;  // lines dropped after the first kHead ones
  ErrorDetail detail_;
};

// One public call on this thread. Scopes nest: a call made inside an operator's callback has its own,
// and its lines go to the outer one too if it fails.
class ErrorScope {
 public:
  ErrorScope();
  ~ErrorScope();
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;

  // Records the failure as the thread's last error and returns `status`. The text is
  // "<context>, error: 0x<code>: <lines>".
  Status failed(Status status, std::string_view context);

  // Made when the first line comes: most calls succeed.
  ErrorLines& lines();

 private:
  std::unique_ptr<ErrorLines> lines_;
  ErrorScope* outer_scope_;
  ErrorLines* outer_lines_;
};

// The lines of the call that this thread works for; null outside any call.
ErrorLines* current_error_lines();

// Makes this thread add to `lines` while it lives: how a capture travels with a job to a worker.
class ErrorLinesOnThisThread {
 public:
  explicit ErrorLinesOnThisThread(ErrorLines* lines);
  ~ErrorLinesOnThisThread();
  ErrorLinesOnThisThread(const ErrorLinesOnThisThread&) = delete;
  ErrorLinesOnThisThread& operator=(const ErrorLinesOnThisThread&) = delete;

 private:
  ErrorLines* before_;
};

// Forgets the lines and facts added since it was made unless keep() was called: for a problem that may be
// recovered from (a retry, a second way).
class RecoverableLines {
 public:
  RecoverableLines();
  ~RecoverableLines();
  void keep() { kept_ = true; }
  RecoverableLines(const RecoverableLines&) = delete;
  RecoverableLines& operator=(const RecoverableLines&) = delete;

 private:
  size_t count_ = 0;
  ErrorDetail detail_;
  bool kept_ = false;
};

// This thread's last error: changed by failing calls only.
const LastError& last_error();
LastError take_last_error();

// Logs `text` at error level, captures it, returns `status`.
Status fail_text(Status status, std::string text);
Status vfail(Status status, fmt::string_view format, fmt::format_args args);
std::string vformat_text(fmt::string_view format, fmt::format_args args);

// fmt::format, compiled once in core.
template <class... Args>
std::string format_text(fmt::format_string<Args...> format, Args&&... args) {
  return vformat_text(format, fmt::make_format_args(args...));
}

// `return fail(Status::InvalidArgument, "input {} has {} elements, expected {}", i, found, expected);`
template <class... Args>
Status fail(Status status, fmt::format_string<Args...> format, Args&&... args) {
  return vfail(status, format, fmt::make_format_args(args...));
}

// Adds facts to the current call's error: `note_error({.op = "aten::add.out", .argument = 1});`
void note_error(ErrorDetail detail);

// "[2, 3, 4]".
std::string sizes_text(std::span<const int64_t> sizes);
std::string sizes_text(std::span<const int32_t> sizes);
std::string sizes_text(std::span<const uint8_t> dim_order);

}  // namespace etrt
