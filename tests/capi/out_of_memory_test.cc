// Whichever allocation fails, the call says so, nothing leaks (under a sanitizer), and everything stays usable.
#include <cstdlib>
#include <new>

#include "support.h"

using namespace etrt::test;

namespace {

// Of this thread: how many allocations still succeed. Negative: all do.
thread_local int64_t allowed = -1;
thread_local bool fails_on = false;  // and every later one fails too

void* take(size_t size, size_t alignment) noexcept {
  if (allowed == 0) {
    allowed = fails_on ? 0 : -1;
    return nullptr;
  }
  allowed -= allowed > 0 ? 1 : 0;
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}
void* take_or_throw(size_t size, size_t alignment) {
  void* memory = take(size, alignment);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

constexpr size_t kUsual = alignof(std::max_align_t);

}  // namespace

// The library's too: the program's own come first.
void* operator new(size_t size) { return take_or_throw(size, kUsual); }
void* operator new[](size_t size) { return take_or_throw(size, kUsual); }
void* operator new(size_t size, const std::nothrow_t& /*t*/) noexcept { return take(size, kUsual); }
void* operator new[](size_t size, const std::nothrow_t& /*t*/) noexcept { return take(size, kUsual); }
void* operator new(size_t size, std::align_val_t a) { return take_or_throw(size, static_cast<size_t>(a)); }
void* operator new[](size_t size, std::align_val_t a) { return take_or_throw(size, static_cast<size_t>(a)); }
void* operator new(size_t size, std::align_val_t a, const std::nothrow_t& /*t*/) noexcept {
  return take(size, static_cast<size_t>(a));
}
void* operator new[](size_t size, std::align_val_t a, const std::nothrow_t& /*t*/) noexcept {
  return take(size, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t /*size*/) noexcept { std::free(p); }
void operator delete[](void* p, size_t /*size*/) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t& /*t*/) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t& /*t*/) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t /*a*/) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t /*a*/) noexcept { std::free(p); }
void operator delete(void* p, size_t /*size*/, std::align_val_t /*a*/) noexcept { std::free(p); }
void operator delete[](void* p, size_t /*size*/, std::align_val_t /*a*/) noexcept { std::free(p); }

namespace {

// Calls `call` with the first allocation failing, then the second, …, until it succeeds. How often it failed.
template <class F>
int64_t fail_each(bool on, F&& call) {
  for (int64_t n = 0;; ++n) {
    fails_on = on;
    allowed = n;
    const et_status status = call();
    const bool reached = allowed <= 0 && (on ? allowed == 0 : true);
    allowed = -1;
    if (status == ET_OK) {
      return n;
    }
    if (status != ET_MEMORY_ALLOCATION_FAILED) {
      INFO(std::string(et_last_error_text()));
      CAPTURE(n);
      CHECK(std::string(et_status_name(status)) == "MemoryAllocationFailed");
      return n;
    }
    REQUIRE(reached);
    REQUIRE(n < 100000);
  }
}

struct Case {
  const char* file;
  std::vector<int64_t> sizes;
  int inputs;
};

}  // namespace

TEST_CASE("any allocation may fail") {
  const Case cases[] = {{"digits.pte", {1, 1, 8, 8}, 1},
                        {"python/mul_add_planned_reuse.pte", {2, 3}, 2},
                        {"python/mul_add_unplanned_naive.pte", {2, 3}, 2}};
  for (const Case& c : cases) {
    CAPTURE(c.file);
    const std::string bytes = file_text(data_path(c.file));
    const std::vector<float> x(64, 1.0F);
    for (const bool on : {false, true}) {
      CAPTURE(on);
      et_program* program = nullptr;
      et_buffer buffer = ET_INIT(et_buffer);
      buffer.data = bytes.data();
      buffer.size = bytes.size();
      buffer.copy = 1;
      CHECK(fail_each(on, [&] { return et_program_load_buffer(&buffer, nullptr, &program); }) > 0);
      REQUIRE(program != nullptr);
      et_method* method = nullptr;
      CHECK(fail_each(on, [&] { return et_method_load(program, "forward", nullptr, &method); }) > 0);
      REQUIRE(method != nullptr);
      std::vector<et_value> inputs(static_cast<size_t>(c.inputs));
      for (et_value& input : inputs) {
        input.kind = ET_KIND_TENSOR;
        input.u.as_tensor.data = const_cast<float*>(x.data());
        input.u.as_tensor.sizes = c.sizes.data();
        input.u.as_tensor.rank = static_cast<int32_t>(c.sizes.size());
        input.u.as_tensor.dtype = ET_DTYPE_FLOAT32;
      }
      fail_each(on, [&] { return et_method_set_inputs(method, inputs.data(), inputs.size()); });
      fail_each(on, [&] { return et_method_execute(method); });
      et_value output = {};
      fail_each(on, [&] { return et_method_get_output(method, 0, &output); });
      REQUIRE(output.kind == ET_KIND_TENSOR);
      std::vector<float> first(static_cast<const float*>(output.u.as_tensor.data),
                               static_cast<const float*>(output.u.as_tensor.data) + 6);
      REQUIRE(et_method_execute(method) == ET_OK);
      REQUIRE(et_method_get_output(method, 0, &output) == ET_OK);
      CHECK(std::equal(first.begin(), first.end(), static_cast<const float*>(output.u.as_tensor.data)));
      et_method_free(method);
      et_program_free(program);
    }
  }
}

TEST_CASE("an error whose text finds no memory is still an error") {
  for (const bool on : {false, true}) {
    for (int64_t n = 0; n < 40; ++n) {
      et_program* program = nullptr;
      fails_on = on;
      allowed = n;
      const et_status status = et_program_load_file("/no/such/file.pte", nullptr, &program);
      const char* text = et_last_error_text();
      allowed = -1;
      CHECK((status == ET_ACCESS_FAILED || status == ET_MEMORY_ALLOCATION_FAILED));
      CHECK(text != nullptr);
      CHECK(program == nullptr);
    }
  }
}
