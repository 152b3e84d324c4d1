#include "method/overlap.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.h"
#include "core/extent.h"

namespace etrt {
namespace {

// Every byte that a call may touch. Written tensors may grow up to their capacity.
Extent read_extent(const Tensor& t) {
  const auto begin = reinterpret_cast<uintptr_t>(t.data);
  return {begin, t.data == nullptr ? begin : begin + t.nbytes()};
}
Extent written_extent(const Tensor& t) {
  const auto begin = reinterpret_cast<uintptr_t>(t.data);
  return {begin, t.data == nullptr ? begin : begin + std::max(t.capacity, t.nbytes())};
}

bool is_tensor_list(const Value& v) { return v.kind == Kind::TensorList || v.kind == Kind::OptionalTensorList; }

// Calls f(Tensor&) for the tensor or tensors in `argument` until f returns true; whether it did.
template <class F>
bool any_tensor(const Value& argument, F&& f) {
  if (argument.kind == Kind::Tensor) {
    return f(*argument.as_tensor);
  }
  return is_tensor_list(argument) &&
         std::any_of(argument.as_list->items.begin(), argument.as_list->items.end(),
                     [&](const Value* v) { return v != nullptr && v->kind == Kind::Tensor && f(*v->as_tensor); });
}

// Calls f(index) for the written arguments until f returns true; whether it did.
template <class F>
bool any_written(uint64_t mask, size_t count, F&& f) {
  for (; mask != 0; mask &= mask - 1) {
    const auto k = static_cast<size_t>(std::countr_zero(mask));
    if (k < count && f(k)) {
      return true;
    }
  }
  return false;
}

// Without the return slots, which hold the output again.
size_t argument_count(WrittenArguments written, std::span<Value* const> args) {
  return std::min(args.size(), written.count);
}

// Of an in-place elementwise call with sizes that may change: does no other argument change them?
bool keeps_sizes(const Tensor& out, std::span<Value* const> args) {
  return std::none_of(args.begin(), args.end(), [&](const Value* v) {
    return any_tensor(*v, [&](const Tensor& t) { return !t.same_sizes(out); });
  });
}

// An elementwise kernel reads element i before it writes element i: the two may be one, or have the same bytes.
bool in_place(const Op& op, const Tensor& written, const Tensor& read, std::span<Value* const> args) {
  if ((op.facts & kElementwise) == 0 || written.data != read.data || written.dtype != read.dtype ||
      !written.same_layout(read)) {
    return false;
  }
  return written.dynamism == Dynamism::Static || (&written == &read && keeps_sizes(written, args));
}

bool one_memory(const Tensor& a, const Tensor& b) { return &a == &b || written_extent(a).overlaps(written_extent(b)); }

// Would writing the one change the other?
bool spoils(const Op& op, const Tensor& written, const Tensor& read, std::span<Value* const> args) {
  return (&written == &read || written_extent(written).overlaps(read_extent(read))) &&
         !in_place(op, written, read, args);
}

bool is_written(WrittenArguments written, size_t argument) { return (written.any >> argument & 1U) != 0; }

WrittenArguments written_arguments(const Op& op) {
  WrittenArguments written;
  if ((op.facts & kAliases) != 0) {
    return written;
  }
  const auto& arguments = schema_of(op).arguments;
  const size_t count = std::min<size_t>(arguments.size(), 64);
  for (size_t k = 0; k < count; ++k) {
    written.any |= uint64_t{arguments[k].written} << k;
    written.outputs |= uint64_t{arguments[k].written && arguments[k].keyword_only} << k;
  }
  written.count = written.any != 0 ? count : 0;
  return written;
}

}  // namespace

WrittenArguments overlaps_to_watch(const Op& op, const ValueTable& values, std::span<Value* const> args) {
  const WrittenArguments written = written_arguments(op);
  std::vector<std::pair<const Value*, bool>> places;  // and whether it is written
  for (size_t k = 0; k < argument_count(written, args); ++k) {
    if (!is_tensor_list(*args[k])) {
      places.emplace_back(args[k], is_written(written, k));
      continue;
    }
    for (const Value* item : args[k]->as_list->items) {
      if (item != nullptr) {
        places.emplace_back(item, is_written(written, k));
      }
    }
  }
  constexpr size_t kMany = 256;  // to compare each with each
  if (places.size() > kMany) {
    return written;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    for (size_t j = i + 1; j < places.size(); ++j) {
      if ((places[i].second || places[j].second) && values.may_share_memory(*places[i].first, *places[j].first)) {
        return written;
      }
    }
  }
  return {};
}

bool arguments_overlap(const Op& op, WrittenArguments written, std::span<Value* const> args) {
  const size_t count = argument_count(written, args);
  // Tensor `item` of argument `w`, which is written, against all others.
  const auto shared = [&](size_t w, size_t item, const Tensor& out) {
    for (size_t k = 0; k < count; ++k) {
      const bool both_written = is_written(written, k);
      size_t other = 0;
      if (any_tensor(*args[k], [&](const Tensor& t) {
            if (k == w && other++ == item) {
              return false;
            }
            return both_written ? one_memory(out, t) : spoils(op, out, t, args);
          })) {
        return true;
      }
    }
    return false;
  };
  return any_written(written.any, count, [&](size_t w) {
    // Many items are sorted rather than compared with each other.
    const bool many = is_tensor_list(*args[w]) && args[w]->as_list->items.size() > 16;
    size_t item = 0;
    return many || any_tensor(*args[w], [&](const Tensor& out) { return shared(w, item++, out); });
  });
}

Status SeparateArguments::make(const Op& op, WrittenArguments written, std::span<Value* const> args) {
  args_.assign(args.begin(), args.end());
  ET_TRY(check_written(op, written));
  const size_t count = argument_count(written, args);
  for (size_t k = 0; k < count; ++k) {
    if (!is_written(written, k)) {
      separate(op, written, args, k);
    }
  }
  return Status::Ok;
}

Status SeparateArguments::check_written(const Op& op, WrittenArguments written) const {
  struct Place {
    Extent extent;
    const Tensor* tensor;
    bool output;
  };
  std::vector<Place> places;
  any_written(written.any, args_.size(), [&](size_t k) {
    return any_tensor(*args_[k], [&](const Tensor& t) {
      places.push_back({written_extent(t), &t, (written.outputs >> k & 1U) != 0});
      return false;
    });
  });
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.extent.begin, a.tensor) < std::pair(b.extent.begin, b.tensor);
  });
  const Place* last = nullptr;  // the one that reaches furthest
  for (const Place& place : places) {
    // One that is updated in place may be the output too.
    const bool allowed = last != nullptr && last->tensor == place.tensor && !(last->output && place.output);
    if (last != nullptr && !allowed && (last->tensor == place.tensor || last->extent.overlaps(place.extent))) {
      note_error({.op = std::string(op.name)});
      return fail(Status::InvalidProgram, "{}: two tensors that it writes share memory, values {} ({}) and {} ({})",
                  op.name, last->tensor->value_index, tensor_text(*last->tensor), place.tensor->value_index,
                  tensor_text(*place.tensor));
    }
    if (last == nullptr || place.extent.end >= last->extent.end) {
      last = &place;
    }
  }
  return Status::Ok;
}

// Argument `index` of the list becomes one with copies of the tensors that would be spoilt.
void SeparateArguments::separate(const Op& op, WrittenArguments written, std::span<Value* const> args, size_t index) {
  const auto spoilt = [&](const Tensor& read) {
    return any_written(written.any, args.size(), [&](size_t w) {
      return any_tensor(*args[w], [&](const Tensor& out) { return spoils(op, out, read, args); });
    });
  };
  if (!any_tensor(*args[index], spoilt)) {
    return;
  }
  const Value& original = *args[index];
  if (original.kind == Kind::Tensor) {
    args_[index] = copy(*original.as_tensor);
    return;
  }
  List& list = lists_.emplace_back(*original.as_list);
  for (Value*& item : list.items) {
    if (item != nullptr && item->kind == Kind::Tensor && spoilt(*item->as_tensor)) {
      item = copy(*item->as_tensor);
    }
  }
  args_[index] = &values_.emplace_back(Value::of_list(original.kind, &list));
}

Value* SeparateArguments::copy(const Tensor& tensor) {
  Tensor& t = tensors_.emplace_back(tensor);
  t.growing = nullptr;
  t.dynamism = Dynamism::Static;
  t.capacity = t.nbytes();
  if (t.data != nullptr) {
    t.data = scratch_.allocate(t.nbytes());
    std::memcpy(t.data, tensor.data, t.nbytes());
  }
  return &values_.emplace_back(Value::of_tensor(&t));
}

}  // namespace etrt
