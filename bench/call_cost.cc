// The cost of loading and calling a program through the C ABI, without Python.
//
//   call_cost PTE SECONDS RELOADS METHOD INPUTS
//
// INPUTS is a file: int32 count, then per input int32 dtype, int32 rank, int32 sizes[rank], int64 nbytes, bytes. Prints
// one JSON object; times are minima over the runs. A run is et_method_set_inputs, et_method_execute and
// et_method_get_outputs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "et.h"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Input {
  std::vector<int64_t> sizes;
  std::vector<char> data;
  int32_t dtype = 0;
};

std::vector<Input> read_inputs(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const auto number = [&]<class T>(T value) {
    file.read(reinterpret_cast<char*>(&value), sizeof(value));
    return value;
  };
  std::vector<Input> inputs(static_cast<size_t>(number(int32_t{})));
  for (Input& input : inputs) {
    input.dtype = number(int32_t{});
    input.sizes.resize(static_cast<size_t>(number(int32_t{})));
    for (int64_t& size : input.sizes) {
      size = number(int32_t{});
    }
    input.data.resize(static_cast<size_t>(number(int64_t{})));
    file.read(input.data.data(), static_cast<std::streamsize>(input.data.size()));
  }
  return inputs;
}

void check(et_status status) {
  if (status != ET_OK) {
    std::printf("{\"error\":\"%s\"}\n", et_last_error_text());
    std::exit(1);
  }
}

et_method* load(const char* path, const char* name) {
  et_program* program = nullptr;
  et_method* method = nullptr;
  check(et_program_load_file(path, nullptr, &program));
  check(et_method_load(program, name, nullptr, &method));
  et_program_free(program);
  return method;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: call_cost PTE SECONDS RELOADS METHOD INPUTS\n");
    return 2;
  }
  std::vector<Input> inputs = read_inputs(argv[5]);
  std::vector<et_value> values(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[i].kind = ET_KIND_TENSOR;
    values[i].u.as_tensor.data = inputs[i].data.data();
    values[i].u.as_tensor.sizes = inputs[i].sizes.data();
    values[i].u.as_tensor.dtype = inputs[i].dtype;
    values[i].u.as_tensor.rank = static_cast<int32_t>(inputs[i].sizes.size());
  }
  double start = now();
  et_method* method = load(argv[1], argv[4]);
  const double first_load = now() - start;
  std::vector<et_value> outputs(et_method_output_count(method));
  double best = 1e9;
  const double end = now() + std::atof(argv[2]);
  for (int n = 0; n < 4 || now() < end; ++n) {
    start = now();
    check(et_method_set_inputs(method, values.data(), values.size()));
    check(et_method_execute(method));
    check(et_method_get_outputs(method, outputs.data(), outputs.size()));
    best = std::min(best, now() - start);
  }
  double best_load = first_load;
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    start = now();
    et_method* again = load(argv[1], argv[4]);
    best_load = std::min(best_load, now() - start);
    et_method_free(again);
  }
  et_method_free(method);
  std::printf("{\"load_ms\":%.4f,\"load_min_ms\":%.4f,\"min_us\":%.3f}\n", first_load * 1e3, best_load * 1e3,
              best * 1e6);
  return 0;
}
