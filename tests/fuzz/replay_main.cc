// Runs a fuzz target without libFuzzer: over files, and over mutations of them.
//   load_fuzzer [-mutations=N] [-seed=N] [-first=N] [-write=FILE] file-or-folder…
// What breaks is named with its file and the number of its mutation: -first=NUMBER -mutations=1 does it again, and
// -write keeps what it ran last.
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// A target's own mutations, if it has some.
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                                unsigned int seed);

namespace {

constexpr unsigned kSecondsEach = 60;

using Bytes = std::vector<uint8_t>;

struct Options {
  uint64_t mutations = 0;
  uint64_t first = 0;
  uint64_t seed = 1;
  std::string write;
};

char now[4096];  // what runs, for the signal handler

extern "C" void say_what_broke(int signal) {
  const char* text = signal == SIGALRM ? "took too long: " : "broke: ";
  (void)!write(2, text, std::strlen(text));
  (void)!write(2, now, std::strlen(now));
  std::signal(signal == SIGALRM ? SIGABRT : signal, SIG_DFL);
  std::raise(signal == SIGALRM ? SIGABRT : signal);
}

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Changes one to four places: a byte, a bit, a 32-bit number that looks interesting, or the length.
void mutate(Bytes& bytes, std::mt19937_64& random) {
  constexpr uint32_t kInteresting[] = {0, 1, 4, 0x7f, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  const uint64_t count = 1 + random() % 4;
  for (uint64_t i = 0; i < count && !bytes.empty(); ++i) {
    const size_t at = random() % bytes.size();
    switch (random() % 8) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
      case 2:
        bytes[at] = static_cast<uint8_t>(random());
        break;
      case 3:
      case 4:
        bytes[at] ^= static_cast<uint8_t>(1U << random() % 8);
        break;
      default: {
        const uint32_t number = kInteresting[random() % std::size(kInteresting)];
        for (size_t k = 0; k < 4 && (at & ~size_t{3}) + k < bytes.size(); ++k) {
          bytes[(at & ~size_t{3}) + k] = static_cast<uint8_t>(number >> 8 * k);
        }
      }
    }
  }
}

void run_bytes(const Bytes& bytes, const std::filesystem::path& path, const std::string& what, const Options& options) {
  std::snprintf(now, sizeof(now), "%s, %s\n", path.c_str(), what.c_str());
  if (!options.write.empty()) {
    std::ofstream(options.write, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  alarm(kSecondsEach);
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void run(const std::filesystem::path& path, const Options& options) {
  const Bytes original = read_file(path);
  if (options.first == 0) {
    run_bytes(original, path, "as it is", options);
  }
  for (uint64_t i = options.first; i < options.first + options.mutations; ++i) {
    std::mt19937_64 random(options.seed * 1'000'003 + i);
    // A heap block of just this size, so that reading past its end is seen by the sanitizer.
    Bytes changed(original);
    if (LLVMFuzzerCustomMutator != nullptr) {
      changed.resize(LLVMFuzzerCustomMutator(changed.data(), changed.size(), changed.size(), random()));
    } else {
      mutate(changed, random);
    }
    changed.shrink_to_fit();
    run_bytes(changed, path, "mutation " + std::to_string(i) + " of seed " + std::to_string(options.seed), options);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int files = 0;
  std::signal(SIGABRT, say_what_broke);
  std::signal(SIGALRM, say_what_broke);
#if !defined(__SANITIZE_ADDRESS__)
  std::signal(SIGSEGV, say_what_broke);
  std::signal(SIGFPE, say_what_broke);
#endif
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = [&] { return std::string(argument.substr(argument.find('=') + 1)); };
    if (argument.starts_with("-mutations=")) {
      options.mutations = std::stoull(value());
    } else if (argument.starts_with("-seed=")) {
      options.seed = std::stoull(value());
    } else if (argument.starts_with("-first=")) {
      options.first = std::stoull(value());
    } else if (argument.starts_with("-write=")) {
      options.write = value();
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) {
        if (entry.is_regular_file()) {
          run(entry.path(), options);
          ++files;
        }
      }
    } else {
      run(argument, options);
      ++files;
    }
  }
  std::printf("%d files, %llu mutations each: nothing broke\n", files,
              static_cast<unsigned long long>(options.mutations));
  return files > 0 ? 0 : 1;
}
