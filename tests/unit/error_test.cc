// What a failing call's text keeps: whose lines, which of them, how much of each.
#include "core/error.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>

using namespace etrt;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string text_of(Status status, ErrorScope& scope) {
  static_cast<void>(scope.failed(status, "Failed to try"));
  return last_error().text;
}

}  // namespace

TEST_CASE("a text is the context, the code and the lines of this call only") {
  static_cast<void>(fail(Status::Internal, "outside any call"));
  {
    ErrorScope earlier;
    static_cast<void>(fail(Status::Internal, "of a call that went well in the end"));
  }
  ErrorScope scope;
  static_cast<void>(fail(Status::InvalidArgument, "the cause"));
  static_cast<void>(fail(Status::InvalidArgument, "its consequence"));
  std::thread([] { static_cast<void>(fail(Status::Internal, "of another thread")); }).join();
  CHECK(text_of(Status::InvalidArgument, scope) == "Failed to try, error: 0x12: the cause\nits consequence");
}

TEST_CASE("without a line the status is named") {
  ErrorScope scope;
  CHECK(text_of(Status::NotFound, scope) ==
        "Failed to try, error: 0x" + format_text("{:02x}", static_cast<uint32_t>(Status::NotFound)) + ": NotFound");
}

TEST_CASE("of many lines the first and the last stay, with a mark between them") {
  ErrorScope scope;
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(fail(Status::Internal, "line {}.", i));
  }
  const std::string text = text_of(Status::Internal, scope);
  for (const char* kept : {"line 0.", "line 23.", "line 976.", "line 999.", "[… 952 more lines …]"}) {
    CHECK_MESSAGE(has(text, kept), kept);
  }
  CHECK_FALSE(has(text, "line 24."));
  CHECK_FALSE(has(text, "line 975."));
  CHECK(text.find("line 23.") < text.find("more lines"));
  CHECK(text.find("more lines") < text.find("line 976."));
}

TEST_CASE("a long line is cut at a character") {
  for (int shift = 0; shift < 4; ++shift) {
    ErrorScope scope;
    std::string line(static_cast<size_t>(shift), 'x');
    while (line.size() < 5000) {
      line += "\xF0\x9F\x98\x80";  // four bytes
    }
    static_cast<void>(fail_text(Status::Internal, line));
    const std::string text = text_of(Status::Internal, scope);
    CHECK(text.size() < 2100);
    const size_t begin = text.find(": ", text.find("0x")) + 2;
    const std::string kept = text.substr(begin, text.rfind(" …") - begin);
    CHECK((kept.size() - static_cast<size_t>(shift)) % 4 == 0);
    CHECK(line.compare(0, kept.size(), kept) == 0);
    CHECK(kept.size() > 1990);
  }
}

TEST_CASE("lines and facts of a problem that was recovered from are forgotten") {
  ErrorScope scope;
  static_cast<void>(fail(Status::Internal, "before"));
  {
    const RecoverableLines lines;
    static_cast<void>(fail(Status::NotFound, "the first way"));
    note_error({.op = "first.way"});
  }
  {
    RecoverableLines lines;
    static_cast<void>(fail(Status::NotFound, "the second way"));
    note_error({.op = "second.way"});
    lines.keep();
  }
  CHECK(text_of(Status::NotFound, scope) == "Failed to try, error: 0x" +
                                                format_text("{:02x}", static_cast<uint32_t>(Status::NotFound)) +
                                                ": before\nthe second way");
  CHECK(last_error().detail.op == "second.way");
}

TEST_CASE("however much was recovered from, the cause stays") {
  ErrorScope scope;
  for (int i = 0; i < 500; ++i) {
    const RecoverableLines lines;
    static_cast<void>(fail(Status::Internal, "noise"));
  }
  static_cast<void>(fail(Status::InvalidArgument, "the cause"));
  for (int i = 0; i < 500; ++i) {
    static_cast<void>(fail(Status::Internal, "consequence"));
  }
  const std::string text = text_of(Status::InvalidArgument, scope);
  CHECK(has(text, "0x12: the cause\n"));
  CHECK_FALSE(has(text, "noise"));
}

TEST_CASE("a call within a call: its failure is a line of the outer one, its success none") {
  ErrorScope outer;
  {
    ErrorScope inner;
    static_cast<void>(fail(Status::Internal, "went well in the end"));
  }
  {
    ErrorScope inner;
    static_cast<void>(fail(Status::NotFound, "deep down"));
    static_cast<void>(inner.failed(Status::NotFound, "Failed within"));
  }
  const std::string text = text_of(Status::Internal, outer);
  CHECK(has(text, "Failed to try, error: 0x"));
  CHECK(has(text, "Failed within, error: 0x"));
  CHECK(has(text, "deep down"));
  CHECK_FALSE(has(text, "went well"));
}
