// Running methods: answers, memory of inputs and outputs, threads.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "support.h"

#if defined(__unix__)
#include <sys/mman.h>
#include <unistd.h>
#endif

using namespace etrt::test;
using et::Status;
using et::Tensor;

namespace {

constexpr int64_t kImages = 64;

et::Method mul_add() { return load_method("python/mul_add_planned_reuse.pte"); }

}  // namespace

TEST_CASE("the digit classifier answers as eager PyTorch does") {
  const std::vector<float> images = read_npy<float>("digits_images.npy");
  const std::vector<float> expected = read_npy<float>("digits_expected.npy");
  const std::vector<int64_t> labels = read_npy<int64_t>("digits_labels.npy");
  et::Method method = load_method("digits.pte");
  // All at once, and one by one.
  for (const int64_t batch : {kImages, int64_t{1}}) {
    int64_t right = 0;
    for (int64_t first = 0; first < kImages; first += batch) {
      const auto outputs = method.run({Tensor::borrow(images.data() + first * 64, {batch, 1, 8, 8})}).value();
      const std::vector<float> got = values<float>(outputs[0]);
      REQUIRE(got.size() == static_cast<size_t>(batch * 10));
      for (size_t i = 0; i < got.size(); ++i) {
        CHECK(got[i] == doctest::Approx(expected[static_cast<size_t>(first * 10) + i]).epsilon(1e-4));
      }
      for (int64_t row = 0; row < batch; ++row) {
        const auto begin = got.begin() + row * 10;
        right += std::max_element(begin, begin + 10) - begin == labels[static_cast<size_t>(first + row)] ? 1 : 0;
      }
    }
    CHECK(right >= 63);
  }
}

TEST_CASE("inputs are read at each run, from where they are") {
  for (const char* program : {"python/mul_add_planned_reuse.pte", "python/mul_add_planned_naive.pte",
                              "python/mul_add_unplanned_reuse.pte", "python/mul_add_unplanned_naive.pte"}) {
    CAPTURE(program);
    et::Method method = load_method(program);
    std::vector<float> x(6, 1.0F);
    std::vector<float> y(6, 2.0F);
    REQUIRE(method.set_inputs({Tensor::borrow(x.data(), {2, 3}), Tensor::borrow(y.data(), {2, 3})}).ok());
    for (int run = 0; run < 4; ++run) {
      std::fill(x.begin(), x.end(), static_cast<float>(run));
      REQUIRE(method.execute().ok());
      CHECK(values<float>(*method.output(0)) == std::vector<float>(6, static_cast<float>(2 * run + 1)));
      CHECK(x == std::vector<float>(6, static_cast<float>(run)));  // never written
    }
  }
}

#if defined(__unix__)
TEST_CASE("giving inputs reads nothing of them: a run does, once they must be converted too") {
  et::Method method = mul_add();
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* memory = static_cast<float*>(mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(memory != MAP_FAILED);
  const int64_t sizes[] = {2, 3};
  const int64_t transposed[] = {1, 2};
  et_value given[2] = {};
  for (int i = 0; i < 2; ++i) {
    given[i].kind = ET_KIND_TENSOR;
    given[i].u.as_tensor = {memory, sizes, i == 0 ? nullptr : transposed, et_dtype_from_name("float32"), 2, 0, 0};
  }
  REQUIRE(et_method_set_inputs(method.raw(), given, 2) == ET_OK);  // touching the memory would end the process
  REQUIRE(mprotect(memory, page, PROT_READ | PROT_WRITE) == 0);
  std::iota(memory, memory + 6, 0.0F);
  REQUIRE(method.execute().ok());
  CHECK(values<float>(*method.output(0)) == std::vector<float>{1, 3, 9, 4, 13, 26});
  CHECK(munmap(memory, page) == 0);
}
#endif

TEST_CASE("misaligned memory gives the same answer") {
  et::Method method = mul_add();
  std::vector<char> bytes(6 * sizeof(float) + 1);
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  std::memcpy(bytes.data() + 1, numbers.data(), 6 * sizeof(float));
  const Tensor x = Tensor::borrow(et::DType::Float32, bytes.data() + 1, {2, 3});
  const auto outputs = method.run({x, x}).value();  // the same one twice
  CHECK(values<float>(outputs[0]) == std::vector<float>{2, 5, 10, 17, 26, 37});
}

TEST_CASE("a result keeps its numbers as long as it is held, and after the method has gone") {
  std::vector<et::Value> kept;
  {
    et::Method method = mul_add();
    for (int run = 0; run < 5; ++run) {
      const std::vector<float> x(6, static_cast<float>(run));
      kept.push_back(method.run({Tensor::borrow(x.data(), {2, 3}), Tensor::borrow(x.data(), {2, 3})}).value()[0]);
    }
  }
  for (int run = 0; run < 5; ++run) {
    CHECK(values<float>(kept[static_cast<size_t>(run)]) == std::vector<float>(6, static_cast<float>(run * run + 1)));
  }
}

TEST_CASE("a held result given back as the input") {
  et::Method method = load_method("python/add_one.pte");
  const std::vector<float> zeros(6);
  const et::Value first = method.run({Tensor::borrow(zeros.data(), {2, 3})}).value()[0];
  REQUIRE(method.set_input(0, first).ok());
  for (int run = 0; run < 3; ++run) {
    REQUIRE(method.execute().ok());
    CHECK(values<float>(*method.output(0)) == std::vector<float>(6, 2.0F));
  }
  CHECK(values<float>(first) == std::vector<float>(6, 1.0F));
}

TEST_CASE("a borrowed output given back as the input is copied") {
  et::Method method = load_method("python/add_one.pte");
  const std::vector<float> zeros(6);
  REQUIRE(method.set_input(0, Tensor::borrow(zeros.data(), {2, 3})).ok());
  REQUIRE(method.execute().ok());
  et_value output{};
  REQUIRE(et_method_get_output(method.raw(), 0, &output) == ET_OK);
  CHECK(output.hold == nullptr);
  REQUIRE(et_method_set_input(method.raw(), 0, &output) == ET_OK);
  for (int run = 0; run < 3; ++run) {
    REQUIRE(method.execute().ok());
    CHECK(values<float>(*method.output(0)) == std::vector<float>(6, 2.0F));
  }
}

TEST_CASE("an output in the caller's memory") {
  et::Method method = mul_add();
  std::vector<float> x(6, 2.0F);
  std::vector<float> room(8, -1.0F);
  REQUIRE(method.set_inputs({Tensor::borrow(x.data(), {2, 3}), Tensor::borrow(x.data(), {2, 3})}).ok());
  REQUIRE(method.set_output(0, Tensor::borrow(room.data() + 1, {2, 3})).ok());
  REQUIRE(method.execute().ok());
  CHECK(room == std::vector<float>{-1, 5, 5, 5, 5, 5, 5, -1});
  CHECK(values<float>(*method.output_view(0)) == std::vector<float>(6, 5.0F));
  // Where an input is, too.
  REQUIRE(method.set_output(0, Tensor::borrow(x.data(), {2, 3})).ok());
  REQUIRE(method.execute().ok());
  CHECK(x == std::vector<float>(6, 5.0F));
  // Back in the method's own.
  REQUIRE(method.reset_output(0).ok());
  REQUIRE(method.execute().ok());
  CHECK(x == std::vector<float>(6, 5.0F));
  CHECK(values<float>(*method.output(0)) == std::vector<float>(6, 26.0F));
}

TEST_CASE("memory that may only be read isn't written") {
  et::Method method = mul_add();
  const std::vector<float> room(6, -1.0F);
  check_error(method.set_output(0, Tensor::borrow(room.data(), {2, 3})), Status::InvalidArgument,
              {"output 0", "may only be read"});
  const std::vector<float> x(6, 2.0F);
  REQUIRE(method.run({Tensor::borrow(x.data(), {2, 3}), Tensor::borrow(x.data(), {2, 3})}).ok());
  CHECK(room[0] == -1.0F);

  et::Method writes = load_method("python/write_unplanned.pte");
  check_error(writes.set_inputs({Tensor::borrow(x.data(), {3}), Tensor::borrow(x.data(), {3})}),
              Status::InvalidArgument, {"input 0", "read-only", "pass a copy"});
}

TEST_CASE("what is written has memory of its own for each element") {
  float memory[12] = {};
  et::Method method = mul_add();
  const Tensor x = Tensor::borrow(memory, {2, 3}, {0, 1});  // read: the same row twice
  const auto bind = [&](std::vector<int64_t> strides) {
    return method.set_output(0, Tensor::borrow(memory, {2, 3}, std::move(strides)));
  };
  REQUIRE(method.set_inputs({x, x}).ok());
  for (const auto& strides : std::vector<std::vector<int64_t>>{{0, 1}, {1, 1}, {2, 1}, {3, 0}, {-2, 1}, {2, 2}}) {
    CAPTURE(strides[0]);
    check_error(bind(strides), Status::InvalidArgument, {"output 0", "overlap", "give each its own"});
  }
  for (const auto& strides : std::vector<std::vector<int64_t>>{{3, 1}, {1, 2}, {6, 2}, {3, 2}}) {
    CAPTURE(strides[0]);
    REQUIRE(bind(strides).ok());
    std::fill(std::begin(memory), std::end(memory), 2.0F);
    REQUIRE(method.execute().ok());
    CHECK(std::count(std::begin(memory), std::end(memory), 5.0F) == 6);  // 2 * 2 + 1
  }
  et::Method writes = load_method("python/write_unplanned.pte");
  check_error(writes.set_inputs({Tensor::borrow(memory, {3}, {0}), Tensor::borrow(memory, {3})}),
              Status::InvalidArgument, {"input 0", "overlap", "pass a copy"});
  et::Method planned = load_method("python/write_planned.pte");
  CHECK(planned.set_inputs({Tensor::borrow(memory, {3}, {0}), Tensor::borrow(memory, {3})}).ok());
}

TEST_CASE("bound outputs do not share memory") {
  et::Method method = load_method("python/outputs.pte");  // outputs 0 and 3 are tensors of 3
  float memory[6] = {1, 2, 3, 0, 0, 0};
  const std::vector<float> x = {1, 2, 3};
  REQUIRE(method.set_inputs({Tensor::borrow(x.data(), {3})}).ok());
  REQUIRE(method.set_output(0, Tensor::borrow(memory, {3})).ok());
  REQUIRE(method.set_output(3, Tensor::borrow(memory + 2, {3})).ok());
  check_error(method.execute(), Status::InvalidArgument, {"outputs 0 and 3", "overlaps", "give each its own"});
  REQUIRE(method.set_output(3, Tensor::borrow(memory + 3, {3})).ok());
  REQUIRE(method.execute().ok());
  CHECK(std::vector<float>(memory, memory + 6) == std::vector<float>{2, 3, 4, 1, 2, 3});
  // Columns of one matrix are apart, and two may change places.
  REQUIRE(method.set_output(0, Tensor::borrow(memory, {3}, {2})).ok());
  REQUIRE(method.set_output(3, Tensor::borrow(memory + 1, {3}, {2})).ok());
  REQUIRE(method.execute().ok());
  CHECK(std::vector<float>(memory, memory + 6) == std::vector<float>{2, 1, 3, 2, 4, 3});
  REQUIRE(method.set_output(0, Tensor::borrow(memory + 1, {3}, {2})).ok());
  check_error(method.execute(), Status::InvalidArgument, {"outputs 0 and 3"});
  REQUIRE(method.set_output(3, Tensor::borrow(memory, {3}, {2})).ok());
  REQUIRE(method.execute().ok());
  CHECK(std::vector<float>(memory, memory + 6) == std::vector<float>{1, 2, 2, 3, 3, 4});
}

TEST_CASE("an output that is an input, in memory that overlaps it") {
  et::Method method = load_method("python/outputs.pte");  // output 3 is x
  std::vector<float> memory = {1, 2, 3, 0, 0, 0};
  REQUIRE(method.set_inputs({Tensor::borrow(memory.data(), {3})}).ok());
  const int64_t sizes[] = {3};
  const int64_t strides[] = {2};
  et_value room{};
  room.kind = ET_KIND_TENSOR;
  room.u.as_tensor = {memory.data() + 1, sizes, strides, et_dtype_from_name("float32"), 1, 0, 0};
  REQUIRE(et_method_set_output(method.raw(), 3, &room) == ET_OK);
  REQUIRE(method.execute().ok());
  CHECK(memory == std::vector<float>{1, 1, 3, 2, 0, 3});
  CHECK(values<float>(*method.output(0)) == std::vector<float>{2, 3, 4});
  REQUIRE(method.execute().ok());  // x is {1, 1, 3} now
  CHECK(memory == std::vector<float>{1, 1, 3, 1, 0, 3});
}

TEST_CASE("outputs of every kind") {
  et::Method method = load_method("python/outputs.pte");  // x + 1, None, 3, x, 2.5
  const std::vector<float> x = {1, 2, 3};
  const std::vector<et::Value> outputs = method.run({Tensor::borrow(x.data(), {3})}).value();
  REQUIRE(outputs.size() == 5);
  CHECK(values<float>(outputs[0]) == std::vector<float>{2, 3, 4});
  CHECK(outputs[1].is_none());
  CHECK(outputs[2].as_int().value() == 3);
  CHECK(values<float>(outputs[3]) == x);
  CHECK(outputs[4].as_double().value() == 2.5);
  check_error(outputs[2].as_tensor(), Status::InvalidType, {"int", "tensor"});
}

TEST_CASE("a written input: planned starts over, not planned keeps the write") {
  for (const bool planned : {true, false}) {
    CAPTURE(planned);
    const et::Program program = load(planned ? "python/write_planned.pte" : "python/write_unplanned.pte");
    const auto infos = program.inputs("forward").value();
    CHECK(infos[0].written);
    CHECK(infos[0].planned == planned);
    CHECK_FALSE(infos[1].written);
    et::Method method = et::Method::load(program, "forward").value();
    std::vector<float> x(3, 1.0F);
    std::vector<float> y(3, 1.0F);
    REQUIRE(method.set_inputs({Tensor::borrow(x.data(), {3}), Tensor::borrow(y.data(), {3})}).ok());
    for (int run = 1; run <= 3; ++run) {
      REQUIRE(method.execute().ok());
      CHECK(x == std::vector<float>(3, planned ? 1.0F : static_cast<float>(1 + run)));
    }
  }
}

TEST_CASE("memory is known before anything is allocated, and limited") {
  const et::Program program = load("digits.pte");
  const et::MethodMemory memory = et::Method::memory(program, "forward").value();
  CHECK(memory.planned_bytes > 0);
  CHECK(memory.total_bytes == memory.planned_bytes + memory.state_bytes);
  CHECK(memory.arena_count >= 1);
  check_error(et::Method::load(program, "forward", {.memory_limit = 100}), Status::MemoryAllocationFailed,
              {"forward", "100", std::to_string(memory.total_bytes)});
  CHECK(et::Method::load(program, "forward", {.memory_limit = memory.total_bytes}).ok());
}

TEST_CASE("an allocator of the caller's") {
  struct Counts {
    size_t allocated = 0;
    size_t freed = 0;
    bool empty = false;
  } counts;
  et_allocator allocator{};
  allocator.user_data = &counts;
  allocator.allocate = [](void* user, size_t size, size_t alignment) -> void* {
    auto& c = *static_cast<Counts*>(user);
    if (c.empty) {
      return nullptr;
    }
    ++c.allocated;
    return ::operator new(size, std::align_val_t(alignment));
  };
  allocator.free = [](void* user, void* memory, size_t) {
    ++static_cast<Counts*>(user)->freed;
    ::operator delete(memory, std::align_val_t(64));
  };
  {
    et::Method method = load_method("digits.pte", "forward", {.allocator = &allocator});
    const std::vector<float> image(64);
    CHECK(method.run({Tensor::borrow(image.data(), {1, 1, 8, 8})}).ok());
    CHECK(counts.allocated > 0);
  }
  CHECK(counts.allocated == counts.freed);
  counts.empty = true;
  check_error(et::Method::load(load("digits.pte"), "forward", {.allocator = &allocator}),
              Status::MemoryAllocationFailed, {"forward"});
}

TEST_CASE("an allocator that frees nothing, and gives misaligned memory") {
  static std::vector<std::byte> memory(1 << 20);
  et_allocator allocator{};
  allocator.allocate = [](void*, size_t, size_t) -> void* {
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    return memory.data() + (64 - begin % 64) + 1;
  };
  check_error(et::Method::load(load("digits.pte"), "forward", {.allocator = &allocator}),
              Status::MemoryAllocationFailed, {"aligned to 64 bytes"});
}

TEST_CASE("a step limit") {
  et::Method method = load_method("digits.pte", "forward", {.step_limit = 3});
  const std::vector<float> image(64);
  check_error(method.run({Tensor::borrow(image.data(), {1, 1, 8, 8})}), Status::InvalidProgram, {"forward", "3"});
}

TEST_CASE("one program, many threads") {
  const et::Program program = load("digits.pte");
  const std::vector<float> images = read_npy<float>("digits_images.npy");
  const std::vector<float> expected = read_npy<float>("digits_expected.npy");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      et::Method method = et::Method::load(program, "forward").value();
      for (size_t i = t; i < 64; i += 4) {
        const auto outputs = method.run({Tensor::borrow(images.data() + i * 64, {1, 1, 8, 8})}).value();
        const std::vector<float> got = values<float>(outputs[0]);
        for (size_t k = 0; k < 10; ++k) {
          wrong += std::abs(got[k] - expected[i * 10 + k]) > 1e-4F ? 1 : 0;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("handles may be freed in any order") {
  et_program* program = nullptr;
  et_method* method = nullptr;
  et_state* state = nullptr;
  REQUIRE(et_program_load_file(data_path("python/counter.pte").c_str(), nullptr, &program) == ET_OK);
  REQUIRE(et_method_load(program, "forward", nullptr, &method) == ET_OK);
  et_program_free(program);
  REQUIRE(et_method_get_state(method, &state) == ET_OK);
  const std::vector<float> x(6);
  const int64_t sizes[] = {2, 3};
  et_value input{};
  input.kind = ET_KIND_TENSOR;
  input.u.as_tensor = {const_cast<float*>(x.data()), sizes, nullptr, ET_DTYPE_FLOAT32, 2, 0, 0};
  REQUIRE(et_method_set_input(method, 0, &input) == ET_OK);
  REQUIRE(et_method_execute(method) == ET_OK);
  et_value output{};
  REQUIRE(et_method_get_output(method, 0, &output) == ET_OK);
  REQUIRE(et_value_hold(method, &output) == ET_OK);
  et_method_free(method);
  CHECK(static_cast<const float*>(output.u.as_tensor.data)[5] == 1.0F);
  CHECK(et_state_count(state) == 1);
  et_value_release(&output);
  et_value_release(&output);  // again: nothing
  CHECK(output.hold == nullptr);
  et_state_free(state);
}
