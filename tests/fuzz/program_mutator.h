// Changes numbers of a .pte file that mean something: indices of values, sizes, places in planned memory, dtypes,
// arguments. Changing bytes anywhere gives programs that are refused at load; these are mostly run.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <span>
#include <vector>

#include "program/program.h"

namespace etrt::test {

class ProgramMutator {
 public:
  // `bytes`: a program that loads. It must outlive the mutator.
  ProgramMutator(const uint8_t* bytes, size_t size) : bytes_(bytes) {
    flatbuffers::Verifier verifier(bytes, size, 64, 10'000'000);
    if (size < 8 || !verifier.VerifyBuffer<fb::Program>(nullptr)) {
      return;
    }
    const auto* root = flatbuffers::GetRoot<fb::Program>(bytes);
    if (root->execution_plan() == nullptr) {
      return;
    }
    for (const fb::ExecutionPlan* method : *root->execution_plan()) {
      add_method(*method);
    }
  }

  // Nothing to change: not a program.
  bool empty() const { return empty_; }

  // Changes one to six numbers of `bytes`, a copy of the program.
  void mutate(uint8_t* bytes, std::mt19937_64& random) const {
    const uint64_t count = 1 + random() % (random() % 2 == 0 ? 2 : 6);
    for (uint64_t i = 0; i < count && !empty_; ++i) {
      change(bytes, pick(random), random);
    }
  }

 private:
  enum Kind : uint8_t {
    kValueIndex,
    kSize,
    kOffset,
    kBuffer,
    kDType,
    kDynamism,
    kDimOrder,
    kStored,
    kInt,
    kBool,
    kDouble,
    kOperator,
    kTarget,
    kArena,
    kKinds
  };
  struct Place {
    size_t at;
    uint8_t width;
    Kind kind;
  };

  // First a kind, then one of that kind: there are many more indices than dtypes.
  const Place& pick(std::mt19937_64& random) const {
    for (;;) {
      const auto& places = by_kind_[random() % kKinds];
      if (!places.empty()) {
        return places[random() % places.size()];
      }
    }
  }

  static uint64_t read(const uint8_t* bytes, const Place& place) {
    uint64_t value = 0;
    std::memcpy(&value, bytes + place.at, place.width);
    return value;
  }
  static void write(uint8_t* bytes, const Place& place, uint64_t value) {
    std::memcpy(bytes + place.at, &value, place.width);
  }

  void change(uint8_t* bytes, const Place& place, std::mt19937_64& random) const {
    constexpr int64_t kNumbers[] = {0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    5,
                                    7,
                                    8,
                                    16,
                                    64,
                                    1000,
                                    -1,
                                    -2,
                                    -3,
                                    -100,
                                    INT32_MAX,
                                    INT32_MIN,
                                    INT64_MAX,
                                    INT64_MIN,
                                    int64_t{1} << 31,
                                    int64_t{1} << 32,
                                    int64_t{1} << 40,
                                    int64_t{1} << 61,
                                    INT64_MAX - 1};
    constexpr double kReals[] = {0,     -0.0,   1,      -1,      0.5,      2,         1e10, -1e10,
                                 1e300, 1e-300, 9.3e18, -9.3e18, INFINITY, -INFINITY, NAN};
    const auto& alike = by_kind_[place.kind];
    const uint64_t now = read(bytes, place);
    const uint64_t way = random() % 8;
    if (way < 2) {
      write(bytes, place, read(bytes, alike[random() % alike.size()]));
    } else if (place.kind == kValueIndex) {
      write(bytes, place, random() % value_count_);
    } else if (place.kind == kDouble) {
      const double real = kReals[random() % std::size(kReals)];
      std::memcpy(bytes + place.at, &real, sizeof(real));
    } else if (place.kind == kOffset) {
      // Mostly a place that another tensor has, or one beside it: tensors that overlap.
      const uint64_t other = read(bytes, alike[random() % alike.size()]);
      write(bytes, place, way < 6 ? other + random() % 9 * 4 - 16 : random() % 256 * 4);
    } else if (place.kind == kDType) {
      write(bytes, place, random() % 45);
    } else if (way < 4) {
      write(bytes, place, now + (random() % 2 == 0 ? 1 : ~uint64_t{0}));
    } else if (way < 6) {
      write(bytes, place, random() % 8);
    } else {
      write(bytes, place, static_cast<uint64_t>(kNumbers[random() % std::size(kNumbers)]));
    }
  }

  void add(const void* address, size_t width, Kind kind) {
    if (address != nullptr) {
      const auto at = static_cast<size_t>(static_cast<const uint8_t*>(address) - bytes_);
      by_kind_[kind].push_back({at, static_cast<uint8_t>(width), kind});
      empty_ = false;
    }
  }
  template <class T>
  void add_items(const flatbuffers::Vector<T>* items, Kind kind) {
    for (flatbuffers::uoffset_t i = 0; i < count_of(items); ++i) {
      add(items->Data() + i * sizeof(T), sizeof(T), kind);
    }
  }
  // A number of a table, unless it is the default, which isn't stored.
  template <class Table>
  void add_field(const Table& table, flatbuffers::voffset_t field, size_t width, Kind kind) {
    add(reinterpret_cast<const flatbuffers::Table*>(&table)->GetAddressOf(field), width, kind);
  }

  void add_method(const fb::ExecutionPlan& method) {
    value_count_ = std::max<uint64_t>(value_count_, std::max<size_t>(count_of(method.values()), 1));
    add_items(method.inputs(), kValueIndex);
    add_items(method.outputs(), kValueIndex);
    add_items(method.non_const_buffer_sizes(), kArena);
    for (flatbuffers::uoffset_t i = 0; i < count_of(method.values()); ++i) {
      add_value(*method.values()->Get(i));
    }
    for (flatbuffers::uoffset_t c = 0; c < count_of(method.chains()); ++c) {
      const auto* instructions = method.chains()->Get(c)->instructions();
      for (flatbuffers::uoffset_t i = 0; i < count_of(instructions); ++i) {
        add_instruction(*instructions->Get(i));
      }
    }
  }

  void add_value(const fb::EValue& value) {
    if (const auto* tensor = value.val_as_Tensor()) {
      add_tensor(*tensor);
    } else if (const auto* number = value.val_as_Int()) {
      // Thrice: most arguments are ints.
      for (int i = 0; i < 3; ++i) {
        add_field(*number, fb::Int::VT_INT_VAL, 8, kInt);
      }
    } else if (const auto* flag = value.val_as_Bool()) {
      add_field(*flag, fb::Bool::VT_BOOL_VAL, 1, kBool);
    } else if (const auto* real = value.val_as_Double()) {
      add_field(*real, fb::Double::VT_DOUBLE_VAL, 8, kDouble);
    } else if (const auto* ints = value.val_as_IntList()) {
      add_items(ints->items(), kValueIndex);
    } else if (const auto* reals = value.val_as_DoubleList()) {
      add_items(reals->items(), kDouble);
    } else if (const auto* flags = value.val_as_BoolList()) {
      add_items(flags->items(), kBool);
    } else if (const auto* tensors = value.val_as_TensorList()) {
      add_items(tensors->items(), kValueIndex);
    } else if (const auto* optional = value.val_as_OptionalTensorList()) {
      add_items(optional->items(), kValueIndex);
    }
  }

  void add_tensor(const fb::Tensor& tensor) {
    add_field(tensor, fb::Tensor::VT_SCALAR_TYPE, 1, kDType);
    add_field(tensor, fb::Tensor::VT_DATA_BUFFER_IDX, 4, kStored);
    add_field(tensor, fb::Tensor::VT_SHAPE_DYNAMISM, 1, kDynamism);
    add_items(tensor.sizes(), kSize);
    add_items(tensor.dim_order(), kDimOrder);
    if (const auto* allocation = tensor.allocation_info()) {
      add_field(*allocation, fb::AllocationDetails::VT_MEMORY_OFFSET_LOW, 4, kOffset);
      add_field(*allocation, fb::AllocationDetails::VT_MEMORY_ID, 4, kBuffer);
    }
  }

  void add_instruction(const fb::Instruction& instruction) {
    if (const auto* call = instruction.instr_args_as_KernelCall()) {
      add_field(*call, fb::KernelCall::VT_OP_INDEX, 4, kOperator);
      add_items(call->args(), kValueIndex);
    } else if (const auto* move = instruction.instr_args_as_MoveCall()) {
      add_field(*move, fb::MoveCall::VT_MOVE_FROM, 4, kValueIndex);
      add_field(*move, fb::MoveCall::VT_MOVE_TO, 4, kValueIndex);
    } else if (const auto* jump = instruction.instr_args_as_JumpFalseCall()) {
      add_field(*jump, fb::JumpFalseCall::VT_COND_VALUE_INDEX, 4, kValueIndex);
      add_field(*jump, fb::JumpFalseCall::VT_DESTINATION_INSTRUCTION, 4, kTarget);
    }
  }

  const uint8_t* bytes_;
  uint64_t value_count_ = 1;
  bool empty_ = true;
  std::vector<Place> by_kind_[kKinds];
};

}  // namespace etrt::test
