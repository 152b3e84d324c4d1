// Runs a fuzz target without libFuzzer: over files, and over simple mutations of them.
//   load_fuzzer [-mutations=N] [-seed=N] file-or-folder…
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

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

void run(const std::filesystem::path& path, int mutations, uint64_t seed) {
  const Bytes original = read_file(path);
  LLVMFuzzerTestOneInput(original.data(), original.size());
  std::mt19937_64 random(seed);
  for (int i = 0; i < mutations; ++i) {
    // A heap block of just this size, so that reading past its end is seen by the sanitizer.
    Bytes changed(original);
    mutate(changed, random);
    changed.shrink_to_fit();
    LLVMFuzzerTestOneInput(changed.data(), changed.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  int mutations = 0;
  uint64_t seed = 1;
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.rfind("-mutations=", 0) == 0) {
      mutations = std::stoi(std::string(argument.substr(11)));
    } else if (argument.rfind("-seed=", 0) == 0) {
      seed = std::stoull(std::string(argument.substr(6)));
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) {
        if (entry.is_regular_file()) {
          run(entry.path(), mutations, seed);
          ++files;
        }
      }
    } else {
      run(argument, mutations, seed);
      ++files;
    }
  }
  std::printf("%d files, %d mutations each: nothing broke\n", files, mutations);
  return files > 0 ? 0 : 1;
}
