// etrt ops, etrt info
#include <et/runtime.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "commands.h"

namespace etrt::tool {

const char* const kOpsUsage =
    "usage: etrt ops [--schema] [TEXT]\n"
    "\n"
    "Lists the operators there are, or those whose name has TEXT in it (status 1 when there are none).\n"
    "\n"
    "  --schema   their arguments and results too\n";

const char* const kInfoUsage =
    "usage: etrt info\n"
    "\n"
    "Shows the version, the processor, the threads that kernels use and the delegate backends there are.\n";

namespace {

// The processor's name and those of its features that matter for kernels, where the system tells.
void print_processor() {
  std::ifstream cpu("/proc/cpuinfo");
  std::string name;
  std::string flags;
  for (std::string line; std::getline(cpu, line) && (name.empty() || flags.empty());) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos && line.starts_with("model name")) {
      name = line.substr(colon + 2);
    } else if (colon != std::string::npos && (line.starts_with("flags") || line.starts_with("Features"))) {
      flags = line.substr(colon + 1) + " ";
    }
  }
  std::printf("processor   %s, %u cores\n", name.empty() ? "unknown" : name.c_str(),
              std::thread::hardware_concurrency());
  std::string found;
  for (const char* flag : {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "amx_int8",
                           "amx_bf16", "asimd", "asimddp", "sve", "i8mm"}) {
    if (flags.find(std::string(" ") + flag + " ") != std::string::npos) {
      found += (found.empty() ? "" : " ") + std::string(flag);
    }
  }
  std::printf("features    %s\n", found.empty() ? "none known" : found.c_str());
}

}  // namespace

int ops(Words words) {
  std::string_view part;
  bool schemas = false;
  for (const std::string_view word : words) {
    if (word == "--schema") {
      schemas = true;
    } else if (word.starts_with("--")) {
      return wrong_usage("unknown option " + std::string(word), kOpsUsage);
    } else if (!part.empty()) {
      return wrong_usage("expected one text at most", kOpsUsage);
    } else {
      part = word;
    }
  }
  bool any = false;
  for (const std::string& name : et::operator_names()) {
    if (name.find(part) != std::string::npos) {
      any = true;
      std::printf("%s%s\n", name.c_str(), schemas ? et::operator_schema(name).c_str() : "");
    }
  }
  if (!any) {
    return failed(et::Error(et::Status::NotFound, "no operator here has \"" + std::string(part) +
                                                      "\" in its name; etrt ops lists all there are"));
  }
  return kDone;
}

int info(Words words) {
  if (!words.empty()) {
    return wrong_usage("info takes no arguments", kInfoUsage);
  }
  std::printf("etrt        %s, ABI %u\n", et::version(), et_abi_version());
  print_processor();
  std::printf("threads     %zu\n", et::thread_count());
  std::printf("operators   %zu\n", et_operator_count());
  std::string backends;
  for (const std::string& name : et::backend_names()) {
    backends += (backends.empty() ? "" : ", ") + name + (et::backend_is_available(name) ? "" : " (not available)");
  }
  std::printf("backends    %s\n", backends.empty() ? "none" : backends.c_str());
  return kDone;
}

}  // namespace etrt::tool
