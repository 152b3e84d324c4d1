#define FMT_HEADER_ONLY
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/log.h"

namespace etrt {
namespace {

// A failing call's cause is logged first and its consequences last, so both ends are kept.
constexpr size_t kHead = 24;
constexpr size_t kTail = 24;
constexpr size_t kMaxLine = 2000;

// Where this thread's lines go: to the innermost scope, unless it works for another thread's call.
thread_local ErrorScope* t_scope = nullptr;
thread_local ErrorLines* t_lines = nullptr;
thread_local LastError t_last_error;

// `text` cut to `limit` bytes at a UTF-8 character boundary.
void cut(std::string& text, size_t limit) {
  if (text.size() <= limit) {
    return;
  }
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) {
    --limit;
  }
  text.resize(limit);
  text += " …";
}

template <class T>
std::string join(std::span<const T> values) {
  return fmt::format("[{}]", fmt::join(values.begin(), values.end(), ", "));
}

}  // namespace

void ErrorLines::add(std::string line) {
  cut(line, kMaxLine);
  const std::lock_guard lock(mutex_);
  if (lines_.size() == kHead + kTail) {
    lines_.erase(lines_.begin() + kHead);
    ++left_out_;
  }
  lines_.push_back(std::move(line));
}

size_t ErrorLines::count() const {
  const std::lock_guard lock(mutex_);
  return lines_.size() + left_out_;
}

void ErrorLines::drop_after(size_t count) {
  const std::lock_guard lock(mutex_);
  // Lines between head and tail that are gone already can't come back; what is asked away goes from the end.
  const size_t now = lines_.size() + left_out_;
  if (count >= now) {
    return;
  }
  size_t surplus = now - count;
  const size_t from_tail = std::min(surplus, lines_.size() > kHead ? lines_.size() - kHead : 0);
  lines_.resize(lines_.size() - from_tail);
  surplus -= from_tail;
  const size_t from_gap = std::min(surplus, left_out_);
  left_out_ -= from_gap;
  surplus -= from_gap;
  lines_.resize(lines_.size() - std::min(surplus, lines_.size()));
}

std::string ErrorLines::text() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (i > 0) {
      out += '\n';
    }
    if (i == kHead && left_out_ > 0) {
      out += fmt::format("[… {} more lines …]\n", left_out_);
    }
    out += lines_[i];
  }
  return out;
}

void ErrorLines::note(ErrorDetail detail) {
  const std::lock_guard lock(mutex_);
  const auto keep = [](std::string& mine, std::string& theirs) {
    if (mine.empty()) {
      mine = std::move(theirs);
    }
  };
  keep(detail_.method, detail.method);
  keep(detail_.op, detail.op);
  keep(detail_.expected, detail.expected);
  keep(detail_.found, detail.found);
  if (detail_.argument < 0) {
    detail_.argument = detail.argument;
  }
}

ErrorDetail ErrorLines::detail() const {
  const std::lock_guard lock(mutex_);
  return detail_;
}

void ErrorLines::set_detail(ErrorDetail detail) {
  const std::lock_guard lock(mutex_);
  detail_ = std::move(detail);
}

ErrorScope::ErrorScope() : outer_scope_(t_scope), outer_lines_(t_lines) {
  t_scope = this;
  t_lines = nullptr;
}

ErrorScope::~ErrorScope() {
  t_scope = outer_scope_;
  t_lines = outer_lines_;
}

ErrorLines& ErrorScope::lines() {
  if (lines_ == nullptr) {
    lines_ = std::make_unique<ErrorLines>();
  }
  return *lines_;
}

Status ErrorScope::failed(Status status, std::string_view context) {
  const std::string text = lines().text();
  t_last_error.status = status;
  t_last_error.text = fmt::format("{}, error: 0x{:02x}: {}", context, static_cast<uint32_t>(status),
                                  text.empty() ? status_name(status) : text);
  t_last_error.detail = lines().detail();
  if (outer_lines_ != nullptr) {
    outer_lines_->add(t_last_error.text);
  } else if (outer_scope_ != nullptr) {
    outer_scope_->lines().add(t_last_error.text);
  }
  return status;
}

ErrorLines* current_error_lines() {
  if (t_lines != nullptr) {
    return t_lines;
  }
  return t_scope != nullptr ? &t_scope->lines() : nullptr;
}

ErrorLinesOnThisThread::ErrorLinesOnThisThread(ErrorLines* lines) : before_(t_lines) { t_lines = lines; }
ErrorLinesOnThisThread::~ErrorLinesOnThisThread() { t_lines = before_; }

RecoverableLines::RecoverableLines() {
  if (const ErrorLines* lines = current_error_lines()) {
    count_ = lines->count();
    detail_ = lines->detail();
  }
}
RecoverableLines::~RecoverableLines() {
  ErrorLines* lines = kept_ ? nullptr : current_error_lines();
  if (lines != nullptr) {
    lines->drop_after(count_);
    lines->set_detail(std::move(detail_));
  }
}

const LastError& last_error() { return t_last_error; }

LastError take_last_error() { return std::exchange(t_last_error, LastError{}); }

Status fail_text(Status status, std::string text) {
  log_text(LogLevel::Error, text);
  if (ErrorLines* lines = current_error_lines()) {
    lines->add(std::move(text));
  }
  return status;
}

Status vfail(Status status, fmt::string_view format, fmt::format_args args) {
  return fail_text(status, fmt::vformat(format, args));
}

std::string vformat_text(fmt::string_view format, fmt::format_args args) { return fmt::vformat(format, args); }

void note_error(ErrorDetail detail) {
  if (ErrorLines* lines = current_error_lines()) {
    lines->note(std::move(detail));
  }
}

std::string sizes_text(std::span<const int64_t> sizes) { return join(sizes); }
std::string sizes_text(std::span<const int32_t> sizes) { return join(sizes); }
std::string sizes_text(std::span<const uint8_t> dim_order) { return join(dim_order); }

}  // namespace etrt
