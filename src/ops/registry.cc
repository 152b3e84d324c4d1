// The operator table and calls.
#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <unordered_map>

#include "ops/op.h"
#include "ops/table.h"

namespace etrt {
namespace {

// A user's operator with the strings it owns.
struct OwnedOp {
  std::string name;
  std::string schema;
  Op op{};
};

class Registry {
 public:
  Registry() {
    for (const ops::Table table : ops::all_tables()) {
      for (const Op& op : table) {
        by_name_.emplace(op.name, &op);
      }
    }
  }

  const Op* find(std::string_view name) const {
    const std::shared_lock lock(mutex_);
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
  }

  Status add(std::string_view name, std::string_view schema, Invoke kernel, void* user_data) {
    if (name.empty()) {
      return fail(Status::InvalidArgument, "an operator needs a name such as \"my::op.out\"");
    }
    auto owned = std::make_unique<OwnedOp>(OwnedOp{std::string(name), std::string(schema)});
    owned->op = {owned->name, owned->schema, nullptr, kernel, kNoFacts, user_data};
    const std::unique_lock lock(mutex_);
    if (!by_name_.emplace(owned->name, &owned->op).second) {
      return fail(Status::RegistrationAlreadyRegistered, "operator {} is registered already; give it another name",
                  name);
    }
    owned_.push_back(std::move(owned));
    return Status::Ok;
  }

  const Schema& schema(const Op& op) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto it = schemas_.find(&op); it != schemas_.end()) {
        return it->second;
      }
    }
    Schema parsed = parse_schema(op.schema);
    const std::unique_lock lock(mutex_);
    return schemas_.emplace(&op, std::move(parsed)).first->second;
  }

  std::vector<std::string_view> names() const {
    const std::shared_lock lock(mutex_);
    std::vector<std::string_view> out;
    out.reserve(by_name_.size());
    for (const auto& [name, op] : by_name_) {
      out.push_back(name);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string_view, const Op*> by_name_;
  std::unordered_map<const Op*, Schema> schemas_;  // of those asked for
  std::vector<std::unique_ptr<OwnedOp>> owned_;
};

// Never destroyed: programs may outlive static destruction.
Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

}  // namespace

const Op* find_op(std::string_view name) { return registry().find(name); }

const Schema& schema_of(const Op& op) { return registry().schema(op); }

Status register_op(std::string_view name, std::string_view schema, Invoke kernel, void* user_data) {
  return registry().add(name, schema, kernel, user_data);
}

std::vector<std::string_view> op_names() { return registry().names(); }

Status Call::resize(Tensor& out, std::span<const int64_t> sizes) const {
  if (out.data != nullptr && out.same_sizes(sizes)) {
    return Status::Ok;
  }
  const Status status = etrt::resize(out, sizes);
  if (status != Status::Ok) {
    note_error({.op = std::string(op_.name)});
    return fail(Status::InvalidArgument, "output {} can't take the computed sizes {}", arg_name(out),
                sizes_text(sizes));
  }
  return status;
}

Tensor Call::scratch_tensor(DType dtype, std::span<const int64_t> sizes) {
  if (!checked_nbytes(sizes, dtype).ok()) {
    throw std::bad_alloc();
  }
  Tensor t = Tensor::view(nullptr, dtype, sizes);
  t.data = scratch_.allocate(t.nbytes());
  return t;
}

std::string Call::arg_name(size_t index) const {
  const Schema schema = parse_schema(op_.schema);
  if (index < schema.arguments.size()) {
    return std::string(schema.arguments[index].name);
  }
  return "argument " + std::to_string(index);
}

std::string Call::arg_name(const Tensor& tensor) const {
  for (size_t i = 0; i < args_.size(); ++i) {
    if (args_[i]->kind == Kind::Tensor && args_[i]->as_tensor == &tensor) {
      return arg_name(i);
    }
    if (args_[i]->kind == Kind::TensorList || args_[i]->kind == Kind::OptionalTensorList) {
      const auto& items = args_[i]->as_list->items;
      for (size_t k = 0; k < items.size(); ++k) {
        if (items[k] != nullptr && items[k]->kind == Kind::Tensor && items[k]->as_tensor == &tensor) {
          return arg_name(i) + "[" + std::to_string(k) + "]";
        }
      }
    }
  }
  return "a temporary";
}

Status Call::fail_with(Status status, std::string text) const {
  note_error({.op = std::string(op_.name)});
  return fail_text(status, std::string(op_.name) + ": " + text);
}

Status Call::wrong_kind(size_t index, const char* expected) const {
  note_error({.op = std::string(op_.name),
              .argument = static_cast<int64_t>(index),
              .expected = expected,
              .found = kind_name(args_[index]->kind)});
  return fail(Status::InvalidType, "{} is {}, expected {}", arg_name(index), kind_name(args_[index]->kind), expected);
}

}  // namespace etrt
