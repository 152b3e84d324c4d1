#include "method/method_info.h"

#include "core/error.h"

namespace etrt {
namespace {

void describe_tensor(const fb::Tensor& tensor, ValueInfo& info) {
  info.kind = Kind::Tensor;
  info.name = tensor_name(tensor);
  info.dtype = tensor_dtype(tensor);
  info.dynamism = static_cast<Dynamism>(tensor.shape_dynamism());
  const auto sizes = items_of(tensor.sizes());
  info.sizes.assign(sizes.begin(), sizes.end());
  if (info.dynamism == Dynamism::Unbound) {
    std::fill(info.sizes.begin(), info.sizes.end(), -1);
  } else {
    info.nbytes = tensor_nbytes(tensor).value_or(0);
  }
  const auto dim_order = items_of(tensor.dim_order());
  info.dim_order.assign(dim_order.begin(), dim_order.end());
  info.planned = tensor_storage(tensor) != TensorStorage::None;
  if (const auto* extra = tensor.extra_tensor_info()) {
    info.device_type = static_cast<int32_t>(extra->device_type());
    info.device_index = extra->device_index();
  }
}

}  // namespace

ValueInfo value_info(const fb::ExecutionPlan& method, int32_t value) {
  const fb::EValue& v = *method.values()->Get(static_cast<flatbuffers::uoffset_t>(value));
  ValueInfo info;
  info.value = value;
  switch (v.val_type()) {
    case fb::KernelTypes::NONE:
    case fb::KernelTypes::Null:
      break;
    case fb::KernelTypes::Int:
      info.kind = Kind::Int;
      info.as_int = v.val_as_Int()->int_val();
      break;
    case fb::KernelTypes::Bool:
      info.kind = Kind::Bool;
      info.as_bool = v.val_as_Bool()->bool_val();
      break;
    case fb::KernelTypes::Double:
      info.kind = Kind::Double;
      info.as_double = v.val_as_Double()->double_val();
      break;
    case fb::KernelTypes::String:
      info.kind = Kind::String;
      info.as_string = text_of(v.val_as_String()->string_val());
      break;
    case fb::KernelTypes::Tensor:
      describe_tensor(*v.val_as_Tensor(), info);
      break;
    case fb::KernelTypes::IntList:
      info.kind = Kind::IntList;
      break;
    case fb::KernelTypes::DoubleList:
      info.kind = Kind::DoubleList;
      break;
    case fb::KernelTypes::BoolList:
      info.kind = Kind::BoolList;
      break;
    case fb::KernelTypes::TensorList:
      info.kind = Kind::TensorList;
      break;
    case fb::KernelTypes::OptionalTensorList:
      info.kind = Kind::OptionalTensorList;
      break;
  }
  return info;
}

MethodInfo method_info(const Program& program, size_t method_index) {
  const fb::ExecutionPlan& method = program.method(method_index);
  MethodInfo info;
  info.name = program.method_name(method_index);
  for (const int32_t value : items_of(method.inputs())) {
    info.inputs.push_back(value_info(method, value));
  }
  for (const int32_t value : items_of(method.outputs())) {
    info.outputs.push_back(value_info(method, value));
  }
  for (flatbuffers::uoffset_t i = 0; i < method.values()->size(); ++i) {
    const fb::Tensor* tensor = method.values()->Get(i)->val_as_Tensor();
    if (tensor != nullptr && !tensor_name(*tensor).empty()) {
      info.attributes.push_back(value_info(method, static_cast<int32_t>(i)));
    }
  }
  return info;
}

void add_plan_facts(const Plan& plan, MethodInfo& info) {
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    info.inputs[i].written = plan.inputs[i].written;
  }
  const auto is_state = [&](int32_t value) {
    for (const StateBuffer& buffer : plan.state) {
      for (const auto& member : buffer.members) {
        if (member.value == value) {
          return true;
        }
      }
    }
    return false;
  };
  for (auto* infos : {&info.inputs, &info.outputs, &info.attributes}) {
    for (ValueInfo& value : *infos) {
      value.is_state = is_state(value.value);
    }
  }
}

std::string expected_text(const ValueInfo& info) {
  if (info.kind != Kind::Tensor) {
    switch (info.kind) {
      case Kind::Int:
        return format_text("the int {}", info.as_int);
      case Kind::Double:
        return format_text("the float {}", info.as_double);
      case Kind::Bool:
        return info.as_bool ? "True" : "False";
      case Kind::String:
        return format_text("the string \"{}\"", info.as_string);
      default:
        return kind_name(info.kind);
    }
  }
  std::string text = dtype_name(info.dtype);
  text += '[';
  for (size_t d = 0; d < info.sizes.size(); ++d) {
    text += d > 0 ? ", " : "";
    if (info.sizes[d] < 0) {
      text += "any";
    } else {
      text += (info.dynamism == Dynamism::Static ? "" : "≤") + std::to_string(info.sizes[d]);
    }
  }
  return text + ']';
}

}  // namespace etrt
