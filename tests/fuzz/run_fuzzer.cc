// Whatever numbers a program has, running its methods fails with a text or ends, touches no memory but its own, and
// leaves the file's constants alone.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "fuzz/program_mutator.h"
#include "method/method.h"
#include "program/program.h"

using namespace etrt;

namespace {

constexpr uint64_t kStepLimit = 300;
constexpr uint64_t kMemoryLimit = 64 << 20;
constexpr int64_t kLargestInput = 8 << 20;  // bytes

void expect(bool true_, const char* what) {
  if (!true_) {
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
  }
}

uint64_t hash_of(const uint8_t* data, size_t size) {
  uint64_t hash = 1469598103934665603U;
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ data[i]) * 1099511628211U;
  }
  return hash;
}

// Heap memory of just this size, so that reading or writing past its end is seen.
class Memory {
 public:
  explicit Memory(size_t size) : bytes_(std::make_unique<uint8_t[]>(size)), size_(size) {}
  uint8_t* data() const { return bytes_.get(); }
  size_t size() const { return size_; }

 private:
  std::unique_ptr<uint8_t[]> bytes_;
  size_t size_;
};

// Numbers an operator might trip over, mostly small ones that are in range as indices.
template <class T>
T number(std::mt19937_64& random) {
  const uint64_t way = random() % 64;
  if constexpr (std::is_floating_point_v<T>) {
    constexpr double kOdd[] = {INFINITY, -INFINITY, NAN, 1e38, -1e38, 0, -0.0, 1e-40, 9.3e18};
    return way == 0 ? static_cast<T>(kOdd[random() % std::size(kOdd)])
                    : static_cast<T>(static_cast<double>(random() % 2000) / 500 - 2);
  } else {
    if (way == 0) {
      return random() % 2 == 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
    }
    return static_cast<T>(way == 1   ? -1
                          : way == 2 ? static_cast<int64_t>(random())
                                     : static_cast<int64_t>(random() % 5));
  }
}
template <class T>
void fill_as(const Memory& memory, std::mt19937_64& random) {
  for (size_t i = 0; i + sizeof(T) <= memory.size(); i += sizeof(T)) {
    const T x = number<T>(random);
    std::memcpy(memory.data() + i, &x, sizeof(T));
  }
}
void fill(const Memory& memory, DType dtype, std::mt19937_64& random) {
  switch (dtype) {
    case DType::Float32:
    case DType::Complex64:
      return fill_as<float>(memory, random);
    case DType::Float64:
    case DType::Complex128:
      return fill_as<double>(memory, random);
    case DType::Bool:
      for (size_t i = 0; i < memory.size(); ++i) {
        memory.data()[i] = random() % 2;
      }
      return;
    case DType::Int64:
    case DType::UInt64:
      return fill_as<int64_t>(memory, random);
    case DType::Int32:
    case DType::UInt32:
      return fill_as<int32_t>(memory, random);
    case DType::Int16:
    case DType::UInt16:
      return fill_as<int16_t>(memory, random);
    case DType::Float16:
    case DType::BFloat16:
      for (size_t i = 0; i + 1 < memory.size(); i += 2) {
        const auto x = static_cast<uint16_t>(0x3c00 + random() % 0x800 + (random() % 2 << 15));
        std::memcpy(memory.data() + i, &x, 2);
      }
      return;
    default:
      return fill_as<int8_t>(memory, random);
  }
}

class Run {
 public:
  Run(Method& method, uint64_t seed) : method_(method), random_(seed) {}

  void run() {
    for (int turn = 0; turn < 3; ++turn) {
      if (turn != 1 && !set_inputs()) {
        return;
      }
      ErrorScope scope;
      if (method_.execute() == Status::Ok) {
        read_outputs(turn == 1);
      } else {
        expect(!scope.lines().text().empty(), "a failing run says why");
      }
    }
  }

 private:
  bool set_inputs() {
    const auto& inputs = method_.info().inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Argument argument;
      argument.kind = inputs[i].kind;
      argument.as_int = inputs[i].as_int;
      argument.as_double = inputs[i].as_double;
      argument.as_bool = inputs[i].as_bool;
      argument.as_string = inputs[i].as_string;
      std::vector<int64_t> sizes;
      std::vector<int64_t> strides;
      if (inputs[i].kind == Kind::Tensor && !make_tensor(inputs[i], sizes, strides, argument.as_tensor)) {
        return false;
      }
      ErrorScope scope;
      if (method_.set_input(i, argument) != Status::Ok) {
        return false;
      }
    }
    return true;
  }

  bool make_tensor(const ValueInfo& info, std::vector<int64_t>& sizes, std::vector<int64_t>& strides,
                   TensorArgument& tensor) {
    sizes = info.sizes;
    for (int64_t& size : sizes) {
      size = size < 0 ? static_cast<int64_t>(random_() % 4) : size;
      if (info.dynamism != Dynamism::Static && random_() % 2 == 0) {
        size = static_cast<int64_t>(random_() % static_cast<uint64_t>(size + 1));
      }
    }
    ErrorScope scope;
    const auto nbytes = checked_nbytes(sizes, info.dtype);
    if (!nbytes.ok() || *nbytes > kLargestInput) {
      return false;
    }
    Memory& memory = *memories_.emplace_back(std::make_unique<Memory>(static_cast<size_t>(*nbytes)));
    fill(memory, info.dtype, random_);
    tensor.data = memory.data();
    tensor.dtype = info.dtype;
    tensor.sizes = sizes;
    // As the program has it, or row-major; sometimes the wrong way round.
    std::vector<uint8_t> order = info.dim_order;
    if (random_() % 4 == 0) {
      std::reverse(order.begin(), order.end());
    }
    const Tensor laid_out = Tensor::view(nullptr, info.dtype, sizes, order);
    strides.assign(laid_out.strides().begin(), laid_out.strides().end());
    tensor.strides = random_() % 2 == 0 ? strides.data() : nullptr;
    return true;
  }

  void read_outputs(bool hold) {
    for (size_t i = 0; i < method_.info().outputs.size(); ++i) {
      ErrorScope scope;
      const auto value = method_.output(i);
      if (!value.ok() || (*value)->kind != Kind::Tensor) {
        continue;
      }
      const Tensor& t = *(*value)->as_tensor;
      sum_ = sum_ + hash_of(reinterpret_cast<const uint8_t*>(t.data), t.nbytes());
      if (hold) {
        const void* data = t.data;
        auto held = method_.hold(data, t.nbytes());
        if (held.ok()) {
          held_.push_back(held.take());
        }
      }
    }
  }

  Method& method_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Memory>> memories_;  // kept: inputs are read at each run
  std::vector<OutputHold> held_;
  volatile uint64_t sum_ = 0;
};

void run_method(const std::shared_ptr<const Program>& program, size_t index, uint64_t seed) {
  ErrorScope scope;
  const auto plan = plan_as_exported(program, index);
  if (!plan.ok()) {
    expect(!scope.lines().text().empty(), "a program that can't run says why");
    return;
  }
  MethodOptions options;
  options.step_limit = kStepLimit;
  options.memory_limit = kMemoryLimit;
  const auto method = Method::load(*plan, options);
  if (!method.ok()) {
    expect(!scope.lines().text().empty(), "a method that can't be loaded says why");
    return;
  }
  Run(**method, seed).run();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const uint64_t before = hash_of(data, size);
  try {
    ErrorScope scope;
    const auto program = Program::load(Source::borrow(std::as_bytes(std::span(data, size)), nullptr, "fuzzed bytes"));
    for (size_t i = 0; program.ok() && i < (*program)->method_count(); ++i) {
      run_method(*program, i, before);
    }
  } catch (const std::bad_alloc&) {
    // What the C API turns into ET_MEMORY_ALLOCATION_FAILED.
  }
  expect(hash_of(data, size) == before, "a run doesn't change the file");
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t /*max_size*/, unsigned int seed) {
  std::mt19937_64 random(seed);
  const std::vector<uint8_t> original(data, data + size);
  test::ProgramMutator(original.data(), size).mutate(data, random);
  return size;
}
