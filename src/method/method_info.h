// MethodInfo: what a method takes, gives and names, for people and for checks.
#pragma once

#include <string>
#include <vector>

#include "core/value.h"
#include "plan/plan.h"
#include "program/program.h"

namespace etrt {

struct ValueInfo {
  Kind kind = Kind::None;
  std::string name;
  // Tensors
  DType dtype = DType::UInt8;
  Dynamism dynamism = Dynamism::Static;
  std::vector<int64_t> sizes;  // the bound of each dimension; -1: none
  std::vector<uint8_t> dim_order;
  int64_t nbytes = 0;
  bool planned = false;
  bool written = false;
  bool is_state = false;
  int32_t device_type = 0;
  int32_t device_index = 0;
  int32_t value = 0;  // index in the method's value table
  // The others: the value the program was exported with.
  int64_t as_int = 0;
  double as_double = 0;
  bool as_bool = false;
  std::string as_string;
};

struct MethodInfo {
  std::string name;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> attributes;  // tensors with a name
};

// "float32[1, 3]" or "float32[≤8, 3]": what may be passed.
std::string expected_text(const ValueInfo& info);

ValueInfo value_info(const fb::ExecutionPlan& method, int32_t value);
// Without what only a plan knows: `written` and `is_state`.
MethodInfo method_info(const Program& program, size_t method_index);
void add_plan_facts(const Plan& plan, MethodInfo& info);

}  // namespace etrt
