// digits.cc - reads a handwritten digit with a small trained network, through the C++ API.
//
//   digits tests/data/digits.pte tests/data/digit_7.pgm
#include <et/module.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

constexpr int kSide = 8;
constexpr int kWhite = 16;

// A grey picture as text ("P2"), 8 by 8: white is 16, ink is dark. The network wants ink as large numbers.
// Empty when it isn't one.
std::vector<float> read_picture(const char* path) {
  std::ifstream file(path);
  std::string kind;
  int width = 0;
  int height = 0;
  int white = 0;
  file >> kind >> width >> height >> white;
  if (kind != "P2" || width != kSide || height != kSide || white != kWhite) {
    return {};
  }
  std::vector<float> pixels;
  for (int grey = 0; file >> grey;) {
    pixels.push_back(static_cast<float>(kWhite - grey));
  }
  return pixels.size() == kSide * kSide ? pixels : std::vector<float>();
}

int main(int argc, char** argv) {
  const std::vector<float> pixels = argc == 3 ? read_picture(argv[2]) : std::vector<float>();
  if (pixels.empty()) {
    std::fprintf(stderr, "usage: digits MODEL.pte PICTURE.pgm    (8x8 pixels, white 16)\n");
    return 2;
  }

  et::Module model(argv[1]);
  const et::Tensor image = et::Tensor::borrow(pixels.data(), {1, 1, kSide, kSide});  // no copy
  if (const auto loaded = model.load_method("forward"); !loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().text.c_str());
    return 1;
  }
  const auto began = std::chrono::steady_clock::now();
  const et::Result<std::vector<et::Value>> outputs = model.forward({image});
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  if (!outputs) {
    std::fprintf(stderr, "%s\n", outputs.error().text.c_str());
    return 1;
  }

  // The output: the probability of each digit, float32[1, 10].
  const et::Tensor result = *(*outputs)[0].as_tensor();
  const std::span<float> probability = *result.values<float>();
  const auto best = std::max_element(probability.begin(), probability.end());
  std::printf("This is a %d (%.1f %% sure), read in %.3f ms.\n", static_cast<int>(best - probability.begin()),
              100.0 * static_cast<double>(*best), took.count());
  return 0;
}
