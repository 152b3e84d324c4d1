#include "program/verifier.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_set>
#include <vector>

#include "core/checked.h"
#include "core/error.h"
#include "core/tensor.h"
#include "program/program.h"

namespace etrt {
namespace {

using flatbuffers::uoffset_t;

template <class T>
bool in_range(int64_t index, const flatbuffers::Vector<T>* vector) {
  return index >= 0 && static_cast<uint64_t>(index) < count_of(vector);
}

// flatbuffers checks that a vector's length is aligned, not that its elements are.
template <class T>
bool elements_aligned(const flatbuffers::Vector<T>* vector) {
  return count_of(vector) == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % alignof(T) == 0;
}

class ProgramVerifier {
 public:
  ProgramVerifier(const fb::Program& program, const SegmentedFile& file) : program_(program), file_(file) {
    budget_ = kBudgetPerByte * static_cast<uint64_t>(file.flatbuffer().size()) + kLeastBudget;
  }

  Status run() {
    ET_TRY(check_segment_tables());
    ET_TRY(check_named_data());
    if (program_.execution_plan() == nullptr) {
      return bad("it has no list of methods");
    }
    std::unordered_set<std::string_view> names;
    for (uoffset_t i = 0; i < program_.execution_plan()->size(); ++i) {
      method_index_ = static_cast<int64_t>(i);
      method_ = program_.execution_plan()->Get(i);
      ET_TRY(check_method());
      if (!names.insert(text_of(method_->name())).second) {
        return bad("another method has this name too");
      }
    }
    return Status::Ok;
  }

 private:
  // --- messages: where we are, what is wrong, what to do

  template <class... Args>
  Status bad(fmt::format_string<Args...> format, Args&&... args) {
    return bad_text(Status::InvalidProgram, format_text(format, std::forward<Args>(args)...));
  }

  Status bad_text(Status status, const std::string& problem) {
    std::string where;
    if (method_ != nullptr) {
      const std::string_view name = text_of(method_->name());
      const bool printable = !name.empty() && valid_utf8(name);
      where = printable ? format_text("method \"{}\": ", name) : format_text("method {}: ", method_index_);
      note_error({.method = printable ? std::string(name) : std::string()});
    }
    if (value_ >= 0) {
      where += format_text("value {}: ", value_);
    } else if (instruction_ >= 0) {
      where += format_text("chain {}, instruction {}: ", chain_, instruction_);
    }
    return fail(status, "{} is damaged or not from the exporter: {}{}; get or export the file again", file_.name(),
                where, problem);
  }

  // What gets looked at, or will be turned into pointers, counts against the file's size, so that a small file
  // whose tables share a long vector can neither keep us busy for hours nor fill the memory.
  static constexpr uint64_t kBudgetPerByte = 16;
  static constexpr uint64_t kLeastBudget = 65536;
  static constexpr uint64_t kPointer = sizeof(void*);

  bool spend(uint64_t cost) {
    const bool affordable = cost <= budget_;
    budget_ -= affordable ? cost : 0;
    return affordable;
  }

  template <class T>
  Status charge(const flatbuffers::Vector<T>* vector, uint64_t each = kPointer) {
    return spend(each * count_of(vector)) ? Status::Ok : bad("its tables refer to the same data again and again");
  }

  Status name_ok(const char* what, const flatbuffers::String* name) {
    ET_TRY(charge(name, 1));
    const std::string problem = check_name(name);
    return problem.empty() ? Status::Ok : bad("{} {}", what, problem);
  }

  // --- the file's own tables

  Status check_segment_tables() {
    if (const auto* constants = program_.constant_segment();
        constants != nullptr && count_of(constants->offsets()) > 0) {
      ET_TRY(check_subsegments("constant_segment", *constants));
    }
    if (const auto* tables = program_.mutable_data_segments(); tables != nullptr) {
      for (uoffset_t i = 0; i < tables->size(); ++i) {
        ET_TRY(check_subsegments("mutable_data_segments", *tables->Get(i)));
      }
    }
    return Status::Ok;
  }

  Status check_subsegments(const char* what, const fb::SubsegmentOffsets& table) {
    if (!elements_aligned(table.offsets())) {
      return bad("the offsets of {} are misaligned", what);
    }
    // One entry is the reserved one: there is no data and the segment may be missing.
    if (count_of(table.offsets()) > 1 && table.segment_index() >= file_.segment_count()) {
      return bad("{} is in segment {} of {}", what, table.segment_index(), file_.segment_count());
    }
    return Status::Ok;
  }

  Status check_named_data() {
    if (program_.named_data() == nullptr) {
      return Status::Ok;
    }
    for (uoffset_t i = 0; i < program_.named_data()->size(); ++i) {
      const fb::NamedData& entry = *program_.named_data()->Get(i);
      ET_TRY(name_ok("the key of a named data entry", entry.key()));
      if (entry.segment_index() >= file_.segment_count()) {
        return bad("the named data \"{}\" is in segment {} of {}", text_of(entry.key()), entry.segment_index(),
                   file_.segment_count());
      }
    }
    return Status::Ok;
  }

  // --- a method

  Status check_method() {
    value_ = instruction_ = -1;
    written_.clear();
    ET_TRY(name_ok("its name", method_->name()));
    if (method_->values() == nullptr || method_->inputs() == nullptr || method_->outputs() == nullptr ||
        method_->non_const_buffer_sizes() == nullptr || count_of(method_->chains()) == 0) {
      return bad("its values, inputs, outputs, buffer sizes or instructions are missing");
    }
    ET_TRY(check_buffers());
    ET_TRY(check_operators());
    ET_TRY(check_delegates());
    ET_TRY(check_value_indices("inputs", method_->inputs()));
    ET_TRY(check_value_indices("outputs", method_->outputs()));
    // Payloads first: lists look at the values they refer to.
    for (uoffset_t i = 0; i < method_->values()->size(); ++i) {
      value_ = i;
      ET_TRY(check_value(*method_->values()->Get(i)));
    }
    value_ = -1;
    for (uoffset_t c = 0; c < method_->chains()->size(); ++c) {
      chain_ = c;
      ET_TRY(check_chain(*method_->chains()->Get(c)));
    }
    instruction_ = -1;
    return Status::Ok;
  }

  Status check_buffers() {
    const auto* sizes = method_->non_const_buffer_sizes();
    if (!elements_aligned(sizes)) {
      return bad("its buffer sizes are misaligned");
    }
    for (uoffset_t i = 1; i < sizes->size(); ++i) {
      if (sizes->Get(i) < 0) {
        return bad("buffer {} has {} bytes", i, sizes->Get(i));
      }
    }
    if (const auto* devices = method_->non_const_buffer_device(); devices != nullptr) {
      for (uoffset_t i = 0; i < devices->size(); ++i) {
        const fb::NonConstBufferDevice& device = *devices->Get(i);
        if (device.buffer_idx() == 0 || !in_range(device.buffer_idx(), sizes)) {
          return bad("a device is given for buffer {}, the buffers are 1 to {}", device.buffer_idx(),
                     static_cast<int64_t>(sizes->size()) - 1);
        }
        ET_TRY(check_device(device.device_type()));
      }
    }
    return Status::Ok;
  }

  Status check_device(fb::DeviceType type) {
    if (type < fb::DeviceType::MIN || type > fb::DeviceType::MAX) {
      return bad("the device type {} is unknown", static_cast<int>(type));
    }
    return Status::Ok;
  }

  Status check_operators() {
    if (method_->operators() == nullptr) {
      return Status::Ok;
    }
    for (uoffset_t i = 0; i < method_->operators()->size(); ++i) {
      const fb::Operator& op = *method_->operators()->Get(i);
      ET_TRY(name_ok("an operator's name", op.name()));
      if (!text_of(op.overload()).empty()) {
        ET_TRY(name_ok("an operator's overload name", op.overload()));
      }
    }
    return Status::Ok;
  }

  Status check_delegates() {
    if (method_->delegates() == nullptr) {
      return Status::Ok;
    }
    for (uoffset_t i = 0; i < method_->delegates()->size(); ++i) {
      const fb::BackendDelegate& delegate = *method_->delegates()->Get(i);
      ET_TRY(name_ok("a delegate's backend name", delegate.id()));
      const fb::BackendDelegateDataReference* payload = delegate.processed();
      if (payload == nullptr) {
        return bad("delegate {} has no payload", i);
      }
      const bool is_inline = payload->location() == fb::DataLocation::INLINE;
      if (!is_inline && payload->location() != fb::DataLocation::SEGMENT) {
        return bad("delegate {} has its payload in the unknown place {}", i, static_cast<int>(payload->location()));
      }
      const size_t count = is_inline ? count_of(program_.backend_delegate_data()) : file_.segment_count();
      if (payload->index() >= count) {
        return bad("delegate {} has its payload in {} {} of {}", i, is_inline ? "inline data" : "segment",
                   payload->index(), count);
      }
      if (delegate.compile_specs() == nullptr) {
        continue;
      }
      ET_TRY(charge(delegate.compile_specs()));
      for (uoffset_t k = 0; k < delegate.compile_specs()->size(); ++k) {
        ET_TRY(name_ok("the key of a compile spec", delegate.compile_specs()->Get(k)->key()));
      }
    }
    return Status::Ok;
  }

  Status check_value_indices(const char* what, const flatbuffers::Vector<int32_t>* indices) {
    ET_TRY(charge(indices));
    for (uoffset_t i = 0; i < indices->size(); ++i) {
      if (!in_range(indices->Get(i), method_->values())) {
        return bad("entry {} of its {} is value {} of {}", i, what, indices->Get(i), method_->values()->size());
      }
    }
    return Status::Ok;
  }

  // --- values

  Status check_value(const fb::EValue& value) {
    if (value.val_type() == fb::KernelTypes::NONE || value.val_type() > fb::KernelTypes::MAX) {
      return bad("its kind {} is unknown", static_cast<int>(value.val_type()));
    }
    if (value.val() == nullptr) {
      return bad("it has no content");
    }
    switch (value.val_type()) {
      case fb::KernelTypes::Tensor:
        return check_tensor(*value.val_as_Tensor());
      case fb::KernelTypes::String:
        return check_string(*value.val_as_String());
      case fb::KernelTypes::IntList:
        return check_list(value.val_as_IntList()->items(), fb::KernelTypes::Int, false);
      case fb::KernelTypes::TensorList:
        return check_list(value.val_as_TensorList()->items(), fb::KernelTypes::Tensor, false);
      case fb::KernelTypes::OptionalTensorList:
        return check_list(value.val_as_OptionalTensorList()->items(), fb::KernelTypes::Tensor, true);
      case fb::KernelTypes::DoubleList:
        return check_plain_list(value.val_as_DoubleList()->items());
      case fb::KernelTypes::BoolList:
        return check_plain_list(value.val_as_BoolList()->items());
      default:
        return Status::Ok;
    }
  }

  Status check_string(const fb::String& string) {
    if (string.string_val() == nullptr) {
      return bad("its text is missing");
    }
    ET_TRY(charge(string.string_val(), 1));
    return valid_utf8(text_of(string.string_val())) ? Status::Ok : bad("its text is not UTF-8");
  }

  template <class T>
  Status check_plain_list(const flatbuffers::Vector<T>* items) {
    if (items == nullptr) {
      return bad("its items are missing");
    }
    ET_TRY(charge(items));
    return elements_aligned(items) ? Status::Ok : bad("its items are misaligned");
  }

  // A list of indices of values of kind `wanted`; `optional` allows -1 and None for "absent".
  template <class T>
  Status check_list(const flatbuffers::Vector<T>* items, fb::KernelTypes wanted, bool optional) {
    ET_TRY(check_plain_list(items));
    for (uoffset_t i = 0; i < items->size(); ++i) {
      const auto index = static_cast<int64_t>(items->Get(i));
      if (optional && index == -1) {
        continue;
      }
      if (!in_range(index, method_->values())) {
        return bad("item {} is value {} of {}", i, index, method_->values()->size());
      }
      const fb::KernelTypes kind = kind_of(index);
      if (kind == wanted || (optional && kind == fb::KernelTypes::Null) || written(index)) {
        continue;
      }
      return bad("item {}, value {}, should be {} and is {}", i, index, fb::EnumNameKernelTypes(wanted),
                 fb::EnumNameKernelTypes(kind));
    }
    return Status::Ok;
  }

  fb::KernelTypes kind_of(int64_t value) const {
    return method_->values()->Get(static_cast<uoffset_t>(value))->val_type();
  }

  Status check_tensor(const fb::Tensor& tensor) {
    const ShapeCheck shape = check_shape(tensor.scalar_type(), tensor.sizes(), tensor.dim_order());
    if (!shape.problem.empty()) {
      return bad("{}", shape.problem);
    }
    if (tensor.storage_offset() != 0) {
      return bad_text(Status::NotSupported,
                      format_text("its storage_offset is {}, expected 0", tensor.storage_offset()));
    }
    if (tensor.shape_dynamism() < fb::TensorShapeDynamism::MIN ||
        tensor.shape_dynamism() > fb::TensorShapeDynamism::MAX) {
      return bad("its shape_dynamism {} is unknown", static_cast<int>(tensor.shape_dynamism()));
    }
    if (const auto* extra = tensor.extra_tensor_info(); extra != nullptr) {
      ET_TRY(check_extra(*extra));
    }
    const TensorStorage storage = tensor_storage(tensor);
    // A bound that was never meant to be reached needs no bytes unless something is stored or planned for it.
    const bool only_a_bound =
        tensor.shape_dynamism() != fb::TensorShapeDynamism::STATIC && storage == TensorStorage::None;
    if (shape.overflows && !only_a_bound) {
      return bad("its sizes {} multiply to more than 2^63", sizes_text(items_of(tensor.sizes())));
    }
    const auto nbytes = static_cast<uint64_t>(shape.nbytes);
    if (storage == TensorStorage::Planned) {
      ET_TRY(check_planned(tensor, nbytes));
    }
    if (is_external(tensor)) {  // matched against the .ptd files when the method is loaded
      return Status::Ok;
    }
    if (storage == TensorStorage::Constant) {
      return check_constant(tensor, nbytes);
    }
    return has_initial_bytes(tensor) ? check_initial(tensor, nbytes) : Status::Ok;
  }

  Status check_extra(const fb::ExtraTensorInfo& extra) {
    if (extra.location() < fb::TensorDataLocation::MIN || extra.location() > fb::TensorDataLocation::MAX) {
      return bad("its data is in the unknown place {}", static_cast<int>(extra.location()));
    }
    ET_TRY(check_device(extra.device_type()));
    if (extra.location() == fb::TensorDataLocation::EXTERNAL || !text_of(extra.fully_qualified_name()).empty()) {
      ET_TRY(name_ok("its fully qualified name", extra.fully_qualified_name()));
    }
    return Status::Ok;
  }

  Status check_planned(const fb::Tensor& tensor, uint64_t nbytes) {
    const auto* sizes = method_->non_const_buffer_sizes();
    const PlannedPlace place = planned_place(tensor);
    if (place.buffer == 0 || place.buffer >= sizes->size()) {
      return bad("its memory is in buffer {}, the buffers are 1 to {}", place.buffer,
                 static_cast<int64_t>(sizes->size()) - 1);
    }
    const auto size = static_cast<uint64_t>(sizes->Get(static_cast<uoffset_t>(place.buffer)));
    if (!range_within(place.offset, nbytes, size)) {
      return bad("its {} bytes at offset {} lead out of buffer {}, which has {}", nbytes, place.offset, place.buffer,
                 size);
    }
    const size_t alignment = std::min<size_t>(dtype_size(tensor_dtype(tensor)), 8);
    if (place.offset % alignment != 0) {
      return bad_text(Status::NotSupported,
                      format_text("its offset {} in buffer {} is not aligned to the {} bytes of {}; plan memory with "
                                  "an alignment of 16",
                                  place.offset, place.buffer, alignment, dtype_name(tensor_dtype(tensor))));
    }
    return Status::Ok;
  }

  Status check_constant(const fb::Tensor& tensor, uint64_t nbytes) {
    if (const auto* table = program_.constant_segment(); table != nullptr && count_of(table->offsets()) > 0) {
      return check_stored(tensor, nbytes, *table);
    }
    const auto* buffers = program_.constant_buffer();
    if (!in_range(tensor.data_buffer_idx(), buffers)) {
      return bad("its data is constant {} of {}", tensor.data_buffer_idx(), count_of(buffers));
    }
    const size_t stored = count_of(buffers->Get(tensor.data_buffer_idx())->storage());
    if (stored < nbytes) {
      return bad("it has {} bytes, but constant {} has {}", nbytes, tensor.data_buffer_idx(), stored);
    }
    return Status::Ok;
  }

  Status check_initial(const fb::Tensor& tensor, uint64_t nbytes) {
    const auto* extra = tensor.extra_tensor_info();
    const uint64_t index = extra == nullptr ? 0 : extra->mutable_data_segments_idx();
    const size_t count = count_of(program_.mutable_data_segments());
    if (index >= count) {
      return bad("its initial data is in mutable data segment {} of {}", index, count);
    }
    return check_stored(tensor, nbytes, *program_.mutable_data_segments()->Get(static_cast<uoffset_t>(index)));
  }

  Status check_stored(const fb::Tensor& tensor, uint64_t nbytes, const fb::SubsegmentOffsets& table) {
    if (!in_range(tensor.data_buffer_idx(), table.offsets())) {
      return bad("its data is entry {} of {}", tensor.data_buffer_idx(), count_of(table.offsets()));
    }
    const uint64_t offset = table.offsets()->Get(tensor.data_buffer_idx());
    const uint64_t size = file_.segment_size(table.segment_index());
    if (!range_within(offset, nbytes, size)) {
      return bad("its {} bytes at offset {} lead out of segment {}, which has {}", nbytes, offset,
                 table.segment_index(), size);
    }
    return Status::Ok;
  }

  // --- instructions

  Status check_chain(const fb::Chain& chain) {
    instruction_ = 0;
    if (chain.instructions() == nullptr) {
      return bad("the chain has no list of instructions");
    }
    for (uoffset_t i = 0; i < chain.instructions()->size(); ++i) {
      instruction_ = i;
      ET_TRY(check_instruction(*chain.instructions()->Get(i), chain.instructions()->size()));
    }
    return Status::Ok;
  }

  Status check_instruction(const fb::Instruction& instruction, size_t count) {
    if (instruction.instr_args_type() == fb::InstructionArguments::NONE ||
        instruction.instr_args_type() > fb::InstructionArguments::MAX || instruction.instr_args() == nullptr) {
      return bad("its kind {} is unknown or it has no content", static_cast<int>(instruction.instr_args_type()));
    }
    switch (instruction.instr_args_type()) {
      case fb::InstructionArguments::KernelCall: {
        const fb::KernelCall& call = *instruction.instr_args_as_KernelCall();
        if (!in_range(call.op_index(), method_->operators())) {
          return bad("it calls operator {} of {}", call.op_index(), count_of(method_->operators()));
        }
        return check_args(call.args());
      }
      case fb::InstructionArguments::DelegateCall: {
        const fb::DelegateCall& call = *instruction.instr_args_as_DelegateCall();
        if (!in_range(call.delegate_index(), method_->delegates())) {
          return bad("it calls delegate {} of {}", call.delegate_index(), count_of(method_->delegates()));
        }
        return check_args(call.args());
      }
      case fb::InstructionArguments::MoveCall: {
        const fb::MoveCall& move = *instruction.instr_args_as_MoveCall();
        ET_TRY(check_operand("moves from", move.move_from()));
        return check_operand("moves to", move.move_to());
      }
      case fb::InstructionArguments::JumpFalseCall:
        return check_jump(*instruction.instr_args_as_JumpFalseCall(), count);
      default:
        return check_free(instruction.instr_args_as_FreeCall()->value_index());
    }
  }

  Status check_args(const flatbuffers::Vector<int32_t>* args) {
    if (args == nullptr) {
      return bad("its arguments are missing");
    }
    return check_value_indices("arguments", args);
  }

  Status check_operand(const char* what, int64_t value) {
    return in_range(value, method_->values()) ? Status::Ok
                                              : bad("it {} value {} of {}", what, value, method_->values()->size());
  }

  Status check_jump(const fb::JumpFalseCall& jump, size_t count) {
    ET_TRY(check_operand("tests", jump.cond_value_index()));
    const fb::KernelTypes kind = kind_of(jump.cond_value_index());
    if (kind != fb::KernelTypes::Bool && kind != fb::KernelTypes::Tensor && !written(jump.cond_value_index())) {
      return bad("it tests value {}, which is {}, not Bool or Tensor", jump.cond_value_index(),
                 fb::EnumNameKernelTypes(kind));
    }
    const int64_t target = jump.destination_instruction();
    if (target < 0 || static_cast<uint64_t>(target) > count) {
      return bad("it jumps to instruction {} of {}", target, count);
    }
    return Status::Ok;
  }

  Status check_free(int64_t value) {
    ET_TRY(check_operand("frees", value));
    if (kind_of(value) != fb::KernelTypes::Tensor && !written(value)) {
      return bad("it frees value {}, which is {}, not Tensor", value, fb::EnumNameKernelTypes(kind_of(value)));
    }
    return Status::Ok;
  }

  // Does some instruction give `value` something else than the file does? Rarely asked.
  bool written(int64_t value) {
    if (written_.empty()) {
      written_.assign(method_->values()->size(), 0);
      for (const fb::Chain* chain : *method_->chains()) {
        if (chain->instructions() != nullptr) {
          for (const fb::Instruction* instruction : *chain->instructions()) {
            mark_written(*instruction);
          }
        }
      }
    }
    return written_[static_cast<size_t>(value)] != 0;
  }

  // The instruction may not have been checked yet.
  void mark_written(const fb::Instruction& instruction) {
    const auto mark = [this](int64_t value) {
      if (in_range(value, method_->values())) {
        written_[static_cast<size_t>(value)] = 1;
      }
    };
    if (const auto* call = instruction.instr_args_as_KernelCall(); call != nullptr && count_of(call->args()) > 0) {
      mark(call->args()->Get(call->args()->size() - 1));  // the result
    } else if (const auto* delegate = instruction.instr_args_as_DelegateCall(); delegate != nullptr) {
      if (!spend(kPointer * count_of(delegate->args()))) {
        return;  // and checking the instruction will fail for it
      }
      for (const int32_t value : items_of(delegate->args())) {  // any of them may be an output
        mark(value);
      }
    } else if (const auto* move = instruction.instr_args_as_MoveCall(); move != nullptr) {
      mark(move->move_to());
    }
  }

  const fb::Program& program_;
  const SegmentedFile& file_;
  uint64_t budget_ = 0;

  // Where we are.
  const fb::ExecutionPlan* method_ = nullptr;
  int64_t method_index_ = -1;
  int64_t value_ = -1;
  int64_t chain_ = -1;
  int64_t instruction_ = -1;

  std::vector<uint8_t> written_;  // by value; empty until asked for
};

}  // namespace

Status verify_program(const fb::Program& program, const SegmentedFile& file) {
  return ProgramVerifier(program, file).run();
}

ShapeCheck check_shape(int scalar_type, const flatbuffers::Vector<int32_t>* sizes,
                       const flatbuffers::Vector<uint8_t>* dim_order) {
  ShapeCheck result;
  if (!dtype_valid(scalar_type)) {
    result.problem = format_text("its dtype {} is unknown, expected 0 to {}", scalar_type, kDTypeCount - 1);
    return result;
  }
  if (sizes == nullptr || dim_order == nullptr) {
    result.problem = "its sizes or dim_order are missing";
    return result;
  }
  const uoffset_t rank = sizes->size();
  if (rank > static_cast<uoffset_t>(kMaxRank) || dim_order->size() != rank) {
    result.problem = format_text("it has {} sizes and a dim_order of {}, expected equal and at most {}", rank,
                                 dim_order->size(), kMaxRank);
    return result;
  }
  uint32_t seen = 0;
  bool empty = false;
  int64_t extent = static_cast<int64_t>(dtype_size(static_cast<DType>(scalar_type)));
  for (uoffset_t i = 0; i < rank; ++i) {
    const int64_t size = sizes->Get(i);
    if (size < 0) {
      result.problem = format_text("its size {} is negative in {}", i, sizes_text(items_of(sizes)));
      return result;
    }
    const uint8_t dim = dim_order->Get(i);
    if (dim >= rank || (seen >> dim & 1U) != 0) {
      result.problem =
          format_text("its dim_order {} is not an order of {} dimensions", sizes_text(items_of(dim_order)), rank);
      return result;
    }
    seen |= 1U << dim;
    // Strides step over empty dimensions as if they had one element, so they overflow even where numel is 0.
    result.overflows = result.overflows || !checked_mul(extent, std::max<int64_t>(size, 1), extent);
    empty = empty || size == 0;
  }
  result.nbytes = result.overflows || empty ? 0 : extent;
  return result;
}

std::string check_name(const flatbuffers::String* name) {
  if (name == nullptr || name->size() == 0) {
    return "is missing";
  }
  const std::string_view text = text_of(name);
  if (text.find('\0') != std::string_view::npos || !valid_utf8(text)) {
    return "is not UTF-8 text";
  }
  return {};
}

}  // namespace etrt
