// The reference plan: one step an instruction.
#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "plan/backend.h"
#include "plan/memory_flow.h"
#include "plan/plan.h"

namespace etrt {
namespace {

std::string join(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? "" : ", ") + item;
  }
  return text;
}

// "aten::foo.out (3 times)" for each entry.
std::vector<std::string> with_counts(const std::map<std::string, int>& counts) {
  std::vector<std::string> out;
  out.reserve(counts.size());
  for (const auto& [name, n] : counts) {
    out.push_back(format_text("{} ({} {})", name, n, n == 1 ? "call" : "calls"));
  }
  return out;
}

std::string present_backends() {
  std::vector<std::string> names;
  for (const std::string_view name : backend_names()) {
    names.emplace_back(name);
  }
  return names.empty() ? "none is registered" : "registered are " + join(names);
}

// A memory buffer that the method wants somewhere else than on the CPU.
std::optional<int32_t> buffer_on_device(const fb::ExecutionPlan& method) {
  if (method.non_const_buffer_device() != nullptr) {
    for (const auto* device : *method.non_const_buffer_device()) {
      if (device->device_type() != fb::DeviceType::CPU) {
        return device->buffer_idx();
      }
    }
  }
  return std::nullopt;
}

void count_missing(const fb::ExecutionPlan& method, std::map<std::string, int>& operators,
                   std::map<std::string, int>& backends) {
  for (const fb::Chain* chain : *method.chains()) {
    for (const fb::Instruction* instruction : *chain->instructions()) {
      if (const fb::KernelCall* call = instruction->instr_args_as_KernelCall()) {
        const std::string name =
            operator_name(*method.operators()->Get(static_cast<flatbuffers::uoffset_t>(call->op_index())));
        if (find_op(name) == nullptr) {
          ++operators[name];
        }
      } else if (const fb::DelegateCall* delegate = instruction->instr_args_as_DelegateCall()) {
        const auto* d = method.delegates()->Get(static_cast<flatbuffers::uoffset_t>(delegate->delegate_index()));
        const Backend* backend = find_backend(text_of(d->id()));
        if (backend == nullptr || !backend->available()) {
          ++backends[std::string(text_of(d->id()))];
        }
      }
    }
  }
}

class Builder {
 public:
  Builder(std::shared_ptr<const Program> program, size_t index) : plan_(std::make_shared<Plan>()) {
    plan_->program = std::move(program);
    plan_->method_index = index;
    plan_->method_name = plan_->program->method_name(index);
  }

  Result<std::shared_ptr<const Plan>> build() {
    for (const fb::Chain* chain : *plan_->method().chains()) {
      ET_TRY(add_chain(*chain));
    }
    for (const int32_t value : items_of(plan_->method().inputs())) {
      InputPlan input;
      input.value = value;
      plan_->inputs.push_back(input);
    }
    for (const int32_t value : items_of(plan_->method().outputs())) {
      plan_->outputs.push_back(value);
    }
    find_memory_flow(*plan_);
    return std::shared_ptr<const Plan>(plan_);
  }

 private:
  Status add_chain(const fb::Chain& chain) {
    const size_t chain_begin = plan_->steps.size();
    std::vector<uint32_t> first_step;  // of each instruction, and the end
    for (const fb::Instruction* instruction : *chain.instructions()) {
      first_step.push_back(static_cast<uint32_t>(plan_->steps.size()));
      Step step;
      step.first_arg = static_cast<uint32_t>(plan_->args.size());
      switch (instruction->instr_args_type()) {
        case fb::InstructionArguments::KernelCall:
          ET_TRY(add_kernel(*instruction->instr_args_as_KernelCall(), step));
          break;
        case fb::InstructionArguments::DelegateCall: {
          const auto* call = instruction->instr_args_as_DelegateCall();
          step.kind = Step::Kind::Delegate;
          step.delegate = static_cast<uint32_t>(call->delegate_index());
          add_args(items_of(call->args()));
          break;
        }
        case fb::InstructionArguments::MoveCall: {
          const auto* move = instruction->instr_args_as_MoveCall();
          step.kind = Step::Kind::Move;
          plan_->args.push_back(move->move_from());
          plan_->args.push_back(move->move_to());
          break;
        }
        case fb::InstructionArguments::JumpFalseCall: {
          const auto* jump = instruction->instr_args_as_JumpFalseCall();
          step.kind = Step::Kind::JumpFalse;
          step.target = static_cast<uint32_t>(jump->destination_instruction());
          plan_->args.push_back(jump->cond_value_index());
          break;
        }
        case fb::InstructionArguments::FreeCall:
          step.kind = Step::Kind::Free;
          plan_->args.push_back(instruction->instr_args_as_FreeCall()->value_index());
          break;
        case fb::InstructionArguments::NONE:
          return fail(Status::Internal, "an instruction of method '{}' is empty", plan_->method_name);
      }
      step.arg_count = static_cast<uint32_t>(plan_->args.size()) - step.first_arg;
      plan_->steps.push_back(step);
      add_returned_self(step);
    }
    first_step.push_back(static_cast<uint32_t>(plan_->steps.size()));
    for (size_t i = chain_begin; i < plan_->steps.size(); ++i) {
      if (plan_->steps[i].kind == Step::Kind::JumpFalse) {
        plan_->steps[i].target = first_step[plan_->steps[i].target];
      }
    }
    return Status::Ok;
  }

  // An in-place operator returns the tensor it wrote: the value in the return slot becomes that tensor. An operator
  // with an out argument returns that one, whatever else it writes.
  void add_returned_self(const Step& step) {
    if (step.kind != Step::Kind::Kernel || step.op->schema.empty()) {
      return;
    }
    const Schema& schema = schema_of(*step.op);
    const auto is_out = [](const SchemaArgument& a) { return a.written && a.keyword_only; };
    if (!schema.out_variant || std::any_of(schema.arguments.begin(), schema.arguments.end(), is_out)) {
      return;
    }
    const auto written = std::find_if(schema.arguments.begin(), schema.arguments.end(),
                                      [](const SchemaArgument& a) { return a.written; });
    const int32_t self = plan_->args[step.first_arg + static_cast<size_t>(written - schema.arguments.begin())];
    const int32_t returned = plan_->args[step.first_arg + step.arg_count - 1];
    if (self == returned) {
      return;
    }
    Step move;
    move.kind = Step::Kind::Move;
    move.first_arg = static_cast<uint32_t>(plan_->args.size());
    move.arg_count = 2;
    plan_->args.push_back(self);
    plan_->args.push_back(returned);
    plan_->steps.push_back(move);
  }

  Status add_kernel(const fb::KernelCall& call, Step& step) {
    const auto* op = plan_->method().operators()->Get(static_cast<flatbuffers::uoffset_t>(call.op_index()));
    const std::string name = operator_name(*op);
    step.op = find_op(name);
    if (step.op == nullptr) {
      return fail(Status::OperatorMissing, "operator {} is missing", name);
    }
    add_args(items_of(call.args()));
    return check_arity(*step.op, items_of(call.args()).size());
  }

  // Values of a call after its arguments: the output again, nothing, or a place for each result.
  static size_t return_slots(const Op& op, const Schema& schema) {
    if (schema.returns_nothing || schema.out_variant) {
      return schema.out_variant ? 1 : 0;
    }
    const std::string_view returns = op.schema.substr(op.schema.rfind("->"));
    return 1 + static_cast<size_t>(std::count(returns.begin(), returns.end(), ','));
  }

  Status check_arity(const Op& op, size_t found) const {
    if (op.schema.empty()) {
      return Status::Ok;
    }
    const Schema& schema = schema_of(op);
    const size_t expected = schema.arguments.size() + return_slots(op, schema);
    if (found != expected) {
      note_error({.op = std::string(op.name), .expected = std::to_string(expected), .found = std::to_string(found)});
      return fail(Status::InvalidProgram, "instruction {} passes {} values to {}, expected {}", plan_->steps.size(),
                  found, op.name, expected);
    }
    return Status::Ok;
  }

  void add_args(std::span<const int32_t> args) { plan_->args.insert(plan_->args.end(), args.begin(), args.end()); }

  std::shared_ptr<Plan> plan_;
};

}  // namespace

Status check_runnable(const Program& program, size_t method_index) {
  std::map<std::string, int> operators;
  std::map<std::string, int> backends;
  count_missing(program.method(method_index), operators, backends);
  const std::optional<int32_t> elsewhere = buffer_on_device(program.method(method_index));
  if (operators.empty() && backends.empty() && !elsewhere) {
    return Status::Ok;
  }
  const std::string_view method = program.method_name(method_index);
  note_error({.method = std::string(method)});
  if (!operators.empty()) {
    note_error({.op = operators.begin()->first});
    (void)fail(Status::OperatorMissing,
               "method '{}' of {} needs {} missing here: {}; register what is missing with et_register_operator",
               method, program.name(), operators.size() == 1 ? "an operator" : "operators",
               join(with_counts(operators)));
  }
  if (!backends.empty()) {
    (void)fail(Status::NotFound,
               "method '{}' of {} is lowered to {} not available here: {} ({}); register what is missing with "
               "et_register_backend, or export the program without it",
               method, program.name(), backends.size() == 1 ? "a backend" : "backends", join(with_counts(backends)),
               present_backends());
  }
  if (elsewhere) {
    (void)fail(Status::NotSupported,
               "method '{}' of {} plans its memory buffer {} on device CUDA, which isn't available here; export the "
               "program with memory planned on the CPU",
               method, program.name(), *elsewhere);
  }
  return !operators.empty() ? Status::OperatorMissing : !backends.empty() ? Status::NotFound : Status::NotSupported;
}

Result<std::shared_ptr<const Plan>> plan_as_exported(const std::shared_ptr<const Program>& program,
                                                     size_t method_index) {
  ET_TRY(check_runnable(*program, method_index));
  return Builder(program, method_index).build();
}

}  // namespace etrt
