// etrt: runs and describes ExecuTorch programs from the command line.
#include <et/runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "commands.h"

namespace etrt::tool {
namespace {

struct Command {
  std::string_view name;
  int (*run)(Words);
  const char* usage;
  const char* about;
};

const Command kCommands[] = {
    {"run", run, kRunUsage, "run a method on .npy, raw, random or typed-in inputs"},
    {"inspect", inspect, kInspectUsage, "show what is in a program, and whether it can run here"},
    {"ops", ops, kOpsUsage, "list the operators there are"},
    {"info", info, kInfoUsage, "show the version, the processor, threads and backends"},
};

void print_usage(std::FILE* to) {
  std::fprintf(to, "usage: etrt COMMAND …\n\n");
  for (const Command& command : kCommands) {
    std::fprintf(to, "  %-9s %s\n", std::string(command.name).c_str(), command.about);
  }
  std::fprintf(to,
               "\netrt COMMAND --help shows how. Exit status: 0 done, 1 it failed, 2 wrong usage, 3\n"
               "inspect found that the program can't run here.\n"
               "ETRT_LOG_LEVEL=debug says more on stderr.\n");
}

int main(Words words) {
  if (words.empty()) {
    print_usage(stderr);
    return kWrongUsage;
  }
  const std::string_view name = words[0];
  if (name == "--help" || name == "-h" || name == "help") {
    print_usage(stdout);
    return kDone;
  }
  if (name == "--version" || name == "-V") {
    std::printf("etrt %s\n", et::version());
    return kDone;
  }
  for (const Command& command : kCommands) {
    if (command.name == name) {
      const Words rest = words.subspan(1);
      for (const std::string_view word : rest) {
        if (word == "--help" || word == "-h") {
          std::fputs(command.usage, stdout);
          return kDone;
        }
      }
      return command.run(rest);
    }
  }
  std::fprintf(stderr, "etrt: there is no command \"%s\"\n\n", std::string(name).c_str());
  print_usage(stderr);
  return kWrongUsage;
}

}  // namespace

int failed(const et::Error& error) {
  std::fprintf(stderr, "etrt: %s\n", error.text.c_str());
  return kFailed;
}

int wrong_usage(std::string_view problem, const char* usage) {
  std::fprintf(stderr, "etrt: %s\n\n%s", std::string(problem).c_str(), usage);
  return kWrongUsage;
}

}  // namespace etrt::tool

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  try {
    const int status = etrt::tool::main(words);
    // What was printed must have arrived.
    return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? status : etrt::tool::kFailed;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "etrt: %s\n", e.what());
    return etrt::tool::kFailed;
  }
}
