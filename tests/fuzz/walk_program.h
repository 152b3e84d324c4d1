// Uses everything that program.h promises about a loaded program, as later stages would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/tensor.h"
#include "program/program.h"

namespace etrt::test {

class ProgramWalk {
 public:
  explicit ProgramWalk(const Program& program) : program_(program) {}

  // Throws std::logic_error where a promise is broken. Returns a sum over all bytes, so that all were read.
  uint64_t run() {
    for (size_t i = 0; i < program_.method_count(); ++i) {
      method_ = &program_.method(i);
      promise(program_.find_method(program_.method_name(i)) == i, "method names differ");
      const bool has_data = program_.require_data(i) == Status::Ok;
      for (const fb::EValue* value : *method_->values()) {
        walk_value(*value, has_data);
      }
      walk_indices(items_of(method_->inputs()));
      walk_indices(items_of(method_->outputs()));
      walk_tables();
      for (const fb::Chain* chain : *method_->chains()) {
        for (const fb::Instruction* instruction : *chain->instructions()) {
          walk_instruction(*instruction, chain->instructions()->size());
        }
      }
    }
    for (const std::string_view key : program_.named_data_keys()) {
      add(*program_.named_data(key));
    }
    return sum_;
  }

 private:
  static void promise(bool kept, const char* what) {
    if (!kept) {
      throw std::logic_error(format_text("a promise of program.h is broken: {}", what));
    }
  }

  void add(std::span<const std::byte> bytes) {
    promise(bytes.empty() || reinterpret_cast<uintptr_t>(bytes.data()) % 16 == 0, "bytes are aligned");
    for (const std::byte b : bytes) {
      sum_ = sum_ * 31 + static_cast<uint8_t>(b);
    }
  }

  size_t value_count() const { return method_->values()->size(); }

  template <class T>
  void walk_indices(std::span<const T> indices, int64_t least = 0) {
    for (const T index : indices) {
      promise(index >= least && index < static_cast<int64_t>(value_count()), "value indices");
    }
  }

  void walk_value(const fb::EValue& value, bool has_data) {
    switch (value.val_type()) {
      case fb::KernelTypes::Null:
        break;
      case fb::KernelTypes::Int:
        sum_ += static_cast<uint64_t>(value.val_as_Int()->int_val());
        break;
      case fb::KernelTypes::Bool:
        sum_ += value.val_as_Bool()->bool_val() ? 1 : 0;
        break;
      case fb::KernelTypes::Double:
        sum_ += value.val_as_Double()->double_val() > 0 ? 1 : 0;
        break;
      case fb::KernelTypes::String:
        sum_ += value.val_as_String()->string_val()->str().size();
        break;
      case fb::KernelTypes::Tensor:
        walk_tensor(*value.val_as_Tensor(), has_data);
        break;
      case fb::KernelTypes::IntList:
        walk_indices(items_of(value.val_as_IntList()->items()));
        break;
      case fb::KernelTypes::TensorList:
        walk_indices(items_of(value.val_as_TensorList()->items()));
        break;
      case fb::KernelTypes::OptionalTensorList:
        walk_indices(items_of(value.val_as_OptionalTensorList()->items()), -1);
        break;
      case fb::KernelTypes::DoubleList:
        for (const double item : items_of(value.val_as_DoubleList()->items())) {
          sum_ += item > 0 ? 1 : 0;
        }
        break;
      case fb::KernelTypes::BoolList:
        for (const uint8_t item : items_of(value.val_as_BoolList()->items())) {
          sum_ += item;
        }
        break;
      default:
        promise(false, "value kinds");
    }
  }

  void walk_tensor(const fb::Tensor& stored, bool has_data) {
    const std::vector<int64_t> sizes(stored.sizes()->begin(), stored.sizes()->end());
    const std::optional<int64_t> nbytes = tensor_nbytes(stored);
    const TensorStorage storage = tensor_storage(stored);
    if (!nbytes) {
      promise(storage == TensorStorage::None && stored.shape_dynamism() != fb::TensorShapeDynamism::STATIC,
              "only bounds overflow");
      return;
    }
    // Strides and counts are multiplied unchecked in there.
    const Tensor tensor = Tensor::view(nullptr, tensor_dtype(stored), sizes, items_of(stored.dim_order()));
    promise(tensor.nbytes() == static_cast<size_t>(*nbytes), "sizes");
    if (storage == TensorStorage::Planned) {
      const PlannedPlace place = planned_place(stored);
      const auto size = static_cast<uint64_t>(
          method_->non_const_buffer_sizes()->Get(static_cast<flatbuffers::uoffset_t>(place.buffer)));
      promise(
          place.buffer > 0 && place.offset + tensor.nbytes() >= place.offset && place.offset + tensor.nbytes() <= size,
          "planned memory");
    }
    if (is_external(stored) && !has_data) {
      promise(!tensor_name(stored).empty(), "names of external tensors");
      return;
    }
    if (storage == TensorStorage::Constant) {
      const auto bytes = program_.constant(stored);
      promise(bytes.ok() && bytes->size() == tensor.nbytes(), "constants");
      add(*bytes);
    }
    const auto bytes = program_.initial_bytes(stored);
    promise(bytes.ok() && bytes->size() == (has_initial_bytes(stored) ? tensor.nbytes() : 0), "initial data");
    add(*bytes);
  }

  void walk_tables() {
    for (size_t i = 0; i < count_of(method_->operators()); ++i) {
      sum_ += operator_name(*method_->operators()->Get(static_cast<flatbuffers::uoffset_t>(i))).size();
    }
    for (size_t i = 0; i < count_of(method_->delegates()); ++i) {
      const fb::BackendDelegate& delegate = *method_->delegates()->Get(static_cast<flatbuffers::uoffset_t>(i));
      add(*program_.delegate_payload(delegate));
      for (size_t k = 0; k < count_of(delegate.compile_specs()); ++k) {
        sum_ += delegate.compile_specs()->Get(static_cast<flatbuffers::uoffset_t>(k))->key()->size();
      }
    }
  }

  void walk_instruction(const fb::Instruction& instruction, size_t count) {
    if (const auto* call = instruction.instr_args_as_KernelCall(); call != nullptr) {
      promise(static_cast<size_t>(call->op_index()) < count_of(method_->operators()), "operator indices");
      walk_indices(items_of(call->args()));
    } else if (const auto* delegate = instruction.instr_args_as_DelegateCall(); delegate != nullptr) {
      promise(static_cast<size_t>(delegate->delegate_index()) < count_of(method_->delegates()), "delegate indices");
      walk_indices(items_of(delegate->args()));
    } else if (const auto* move = instruction.instr_args_as_MoveCall(); move != nullptr) {
      walk_indices<int32_t>(std::vector<int32_t>{move->move_from(), move->move_to()});
    } else if (const auto* jump = instruction.instr_args_as_JumpFalseCall(); jump != nullptr) {
      walk_indices<int32_t>(std::vector<int32_t>{jump->cond_value_index()});
      promise(jump->destination_instruction() >= 0 && static_cast<size_t>(jump->destination_instruction()) <= count,
              "jump targets");
    } else {
      promise(instruction.instr_args_as_FreeCall() != nullptr, "instruction kinds");
      walk_indices<int32_t>(std::vector<int32_t>{instruction.instr_args_as_FreeCall()->value_index()});
    }
  }

  const Program& program_;
  const fb::ExecutionPlan* method_ = nullptr;
  uint64_t sum_ = 0;
};

}  // namespace etrt::test
