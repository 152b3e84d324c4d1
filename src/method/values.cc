#include "method/values.h"

#include <algorithm>

#include "core/error.h"

namespace etrt {

Result<std::unique_ptr<ValueTable>> ValueTable::make(std::shared_ptr<const Plan> plan, State& state) {
  std::unique_ptr<ValueTable> table(new ValueTable(std::move(plan)));
  ET_TRY(table->fill(state));
  return table;
}

Status ValueTable::fill(State& state) {
  const auto& file = *plan_->method().values();
  values_.resize(file.size());
  home_of_.resize(file.size(), -1);
  size_t tensor_count = 0;
  for (const fb::EValue* v : file) {
    tensor_count += v->val_type() == fb::KernelTypes::Tensor ? 1 : 0;
  }
  tensors_.reserve(tensor_count);
  homes_.reserve(tensor_count);
  const auto refer = [&](const auto* items) {
    std::vector<Value*> out;
    for (const auto item : items_of(items)) {
      out.push_back(item < 0 ? nullptr : &values_[static_cast<size_t>(item)]);
    }
    return out;
  };
  for (size_t i = 0; i < values_.size(); ++i) {
    const fb::EValue& v = *file.Get(static_cast<flatbuffers::uoffset_t>(i));
    switch (v.val_type()) {
      case fb::KernelTypes::Int:
        values_[i] = Value::of_int(v.val_as_Int()->int_val());
        break;
      case fb::KernelTypes::Bool:
        values_[i] = Value::of_bool(v.val_as_Bool()->bool_val());
        break;
      case fb::KernelTypes::Double:
        values_[i] = Value::of_double(v.val_as_Double()->double_val());
        break;
      case fb::KernelTypes::String:
        values_[i] = Value::of_string(text_of(v.val_as_String()->string_val()));
        break;
      case fb::KernelTypes::Tensor:
        ET_TRY(add_tensor(i, *v.val_as_Tensor()));
        break;
      case fb::KernelTypes::IntList:
        add_list(i, Kind::IntList, refer(v.val_as_IntList()->items()));
        break;
      case fb::KernelTypes::TensorList:
        add_list(i, Kind::TensorList, refer(v.val_as_TensorList()->items()));
        break;
      case fb::KernelTypes::OptionalTensorList:
        add_list(i, Kind::OptionalTensorList, refer(v.val_as_OptionalTensorList()->items()));
        break;
      case fb::KernelTypes::DoubleList: {
        add_list(i, Kind::DoubleList, {});
        const auto items = items_of(v.val_as_DoubleList()->items());
        values_[i].as_list->doubles.assign(items.begin(), items.end());
        break;
      }
      case fb::KernelTypes::BoolList: {
        add_list(i, Kind::BoolList, {});
        for (const auto item : items_of(v.val_as_BoolList()->items())) {
          values_[i].as_list->bools.push_back(item != 0 ? 1 : 0);
        }
        break;
      }
      case fb::KernelTypes::Null:
      case fb::KernelTypes::NONE:
        break;
    }
  }
  for (const StateBuffer& planned : plan_->state) {
    ET_ASSIGN(State::Buffer * buffer, state.attach(*plan_, planned));
    place_state(*buffer, planned);
  }
  find_movable();
  return Status::Ok;
}

// Which values don't stay where the file has them.
void ValueTable::find_movable() {
  is_replaced_.resize(values_.size());
  may_be_callers_.resize(values_.size());
  for (const int32_t index : plan_->replaced) {
    replaced_.emplace_back(index, (*this)[index]);
    is_replaced_[static_cast<size_t>(index)] = true;
  }
  for (const InputPlan& input : plan_->inputs) {
    may_be_callers_[static_cast<size_t>(input.value)] = true;
    for (const auto& view : input.views) {
      may_be_callers_[static_cast<size_t>(view.value)] = true;
    }
  }
}

namespace {

// The sizes that the file gives, which fit the tensor's home; zeros where nobody could allocate them.
void set_file_sizes(Tensor& t, const fb::Tensor& file) {
  std::array<int64_t, kMaxRank> sizes{};
  const auto initial = items_of(file.sizes());
  if (tensor_nbytes(file).has_value()) {
    std::copy(initial.begin(), initial.end(), sizes.begin());
  }
  t.set_sizes(std::span(sizes).first(initial.size()));
}

}  // namespace

Status ValueTable::add_tensor(size_t index, const fb::Tensor& file) {
  Tensor& t = tensors_.emplace_back();
  t.dtype = tensor_dtype(file);
  t.dynamism = static_cast<Dynamism>(file.shape_dynamism());
  const auto sizes = items_of(file.sizes());
  t.rank_ = static_cast<uint8_t>(sizes.size());
  t.value_index = static_cast<int32_t>(index);
  const auto dim_order = items_of(file.dim_order());
  std::copy(dim_order.begin(), dim_order.end(), t.dim_order_.begin());
  set_file_sizes(t, file);

  Home home;
  home.tensor = &t;
  home.size = static_cast<size_t>(tensor_nbytes(file).value_or(0));
  // An input that a file has among its constants, which no exporter does, is given at each run all the same: it may
  // have to be converted, and the file's bytes are no place for that.
  const bool given = std::any_of(plan_->inputs.begin(), plan_->inputs.end(),
                                 [&](const InputPlan& input) { return input.value == static_cast<int32_t>(index); });
  const TensorStorage storage = tensor_storage(file);
  switch (given && storage == TensorStorage::Constant ? TensorStorage::None : storage) {
    case TensorStorage::Constant: {
      ET_ASSIGN(const std::span<const std::byte> bytes, plan_->program->constant(file));
      // Nothing writes it: written constants are state.
      home.fixed = const_cast<std::byte*>(bytes.data());
      break;
    }
    case TensorStorage::Planned: {
      const PlannedPlace place = planned_place(file);
      home.buffer = static_cast<int32_t>(place.buffer) - 1;
      home.offset = place.offset;
      if (t.dynamism != Dynamism::Static) {
        home.growing = static_cast<int32_t>(growing_count_++);
      }
      break;
    }
    case TensorStorage::None:
      home.growing = static_cast<int32_t>(growing_count_++);
      break;
  }
  home_of_[index] = static_cast<int32_t>(homes_.size());
  homes_.push_back(home);
  values_[index] = Value::of_tensor(&t);
  return Status::Ok;
}

void ValueTable::add_list(size_t index, Kind kind, std::vector<Value*> items) {
  List& list = lists_.emplace_back();
  list.items = std::move(items);
  values_[index] = Value::of_list(kind, &list);
}

void ValueTable::place_state(State::Buffer& buffer, const StateBuffer& planned) {
  for (const auto& member : planned.members) {
    Home& home = homes_[static_cast<size_t>(home_of_[static_cast<size_t>(member.value)])];
    home.fixed = buffer.base() + member.offset;
    home.buffer = -1;
  }
}

void ValueTable::settle(Home& home, RunMemory& memory) {
  Tensor& t = *home.tensor;
  t.growing = home.growing >= 0 ? &memory.growing[static_cast<size_t>(home.growing)] : nullptr;
  if (home.fixed != nullptr) {
    t.data = home.fixed;
    t.capacity = home.size;
  } else if (home.buffer >= 0) {
    t.data = memory.arenas[static_cast<size_t>(home.buffer)].data() + home.offset;
    t.capacity = home.size;
  } else {
    t.data = t.growing != nullptr ? t.growing->data() : nullptr;
    t.capacity = t.growing != nullptr ? t.growing->capacity() : 0;
  }
  // The sizes are of the last run, which may have had more memory than this home.
  if (t.nbytes() > t.capacity) {
    if (home.fixed == nullptr && home.buffer < 0) {
      t.data = nullptr;  // unwritten, see check_guarded
      t.capacity = 0;
    } else {
      set_file_sizes(
          t, *plan_->method().values()->Get(static_cast<flatbuffers::uoffset_t>(t.value_index))->val_as_Tensor());
    }
  }
}

void ValueTable::settle(RunMemory& memory) {
  for (Home& home : homes_) {
    settle(home, memory);
  }
}

void ValueTable::settle_one(int32_t value, RunMemory& memory) {
  settle(homes_[static_cast<size_t>(home_of_[static_cast<size_t>(value)])], memory);
}

bool ValueTable::may_lack_memory(const Value& value) const {
  const auto index = static_cast<size_t>(&value - values_.data());
  const int32_t home = home_of_[index];
  return is_replaced_[index] || (home >= 0 && homes_[static_cast<size_t>(home)].fixed == nullptr &&
                                 homes_[static_cast<size_t>(home)].buffer < 0);
}

bool ValueTable::may_share_memory(const Value& a, const Value& b) const {
  const auto i = static_cast<size_t>(&a - values_.data());
  const auto j = static_cast<size_t>(&b - values_.data());
  if (i == j || is_replaced_[i] || is_replaced_[j]) {
    return true;
  }
  if (home_of_[i] < 0 || home_of_[j] < 0) {
    return false;  // no tensor
  }
  const Home& first = homes_[static_cast<size_t>(home_of_[i])];
  const Home& second = homes_[static_cast<size_t>(home_of_[j])];
  // A caller may pass memory of the state; what lies in a run's memory is copied or kept out of the run.
  if ((may_be_callers_[i] && (may_be_callers_[j] || second.fixed != nullptr)) ||
      (may_be_callers_[j] && first.fixed != nullptr)) {
    return true;
  }
  if (first.fixed != nullptr && second.fixed != nullptr) {
    return first.fixed < second.fixed + second.size && second.fixed < first.fixed + first.size;
  }
  return first.fixed == nullptr && second.fixed == nullptr && first.buffer >= 0 && first.buffer == second.buffer &&
         first.offset < second.offset + second.size && second.offset < first.offset + first.size;
}

void ValueTable::restore_replaced(RunMemory& memory) {
  for (const auto& [index, value] : replaced_) {
    (*this)[index] = value;
    // A view lay in other memory, maybe a caller's that is gone by now.
    if (value.kind == Kind::Tensor) {
      settle_one(index, memory);
    }
  }
}

}  // namespace etrt
