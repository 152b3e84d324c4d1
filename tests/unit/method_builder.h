// Methods of programs made by program_builder.h, their inputs and results.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <vector>

#include "method/method.h"
#include "unit/program_builder.h"

namespace etrt::test {

inline std::shared_ptr<Method> load_method(const MethodSpec& spec, const MethodOptions& options = {}) {
  FileSpec file;
  file.methods = {spec};
  auto program = Program::load(Source::copy(build_program(file), "a test program"));
  REQUIRE(program.ok());
  auto plan = plan_as_exported(*program, 0);
  REQUIRE(plan.ok());
  auto loaded = Method::load(*plan, options);
  REQUIRE(loaded.ok());
  return *loaded;
}

inline void set_tensor(Method& method, size_t index, DType dtype, void* data, std::span<const int64_t> sizes) {
  Argument argument;
  argument.kind = Kind::Tensor;
  argument.as_tensor.dtype = dtype;
  argument.as_tensor.data = data;
  argument.as_tensor.sizes = sizes;
  REQUIRE(method.set_input(index, argument) == Status::Ok);
}

template <class T>
std::vector<T> output(const Method& method, size_t index = 0) {
  const auto value = method.output(index);
  REQUIRE(value.ok());
  const Tensor& t = *(*value)->as_tensor;
  return {t.as<const T>(), t.as<const T>() + t.numel()};
}

}  // namespace etrt::test
