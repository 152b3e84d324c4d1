// The commands of `etrt`. Each takes the words after its name and returns the exit status.
#pragma once

#include <et/error.h>

#include <span>
#include <string_view>

#include "arguments.h"

namespace etrt::tool {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kCannotRun = 3;  // inspect: something is missing here

using Words = std::span<const std::string_view>;

int run(Words words);
int inspect(Words words);
int ops(Words words);
int info(Words words);

extern const char* const kRunUsage;
extern const char* const kInspectUsage;
extern const char* const kOpsUsage;
extern const char* const kInfoUsage;

// Writes the error to stderr; returns kFailed.
int failed(const et::Error& error);
// The same for a wrong command line, with `usage`; returns kWrongUsage.
int wrong_usage(std::string_view problem, const char* usage);

}  // namespace etrt::tool
