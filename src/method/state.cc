#include "method/state.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace etrt {
namespace {

class Release {
 public:
  explicit Release(const State& state) : state_(state) {}
  ~Release() { state_.release(); }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

 private:
  const State& state_;
};

// What the members of a buffer start with, at their offsets; empty when nothing is stored.
Result<std::vector<std::byte>> initial_bytes(const Plan& plan, const StateBuffer& wanted) {
  std::vector<std::byte> bytes;
  for (const auto& member : wanted.members) {
    const fb::Tensor& tensor =
        *plan.method().values()->Get(static_cast<flatbuffers::uoffset_t>(member.value))->val_as_Tensor();
    std::span<const std::byte> stored;
    if (tensor_storage(tensor) == TensorStorage::Constant) {
      ET_ASSIGN(stored, plan.program->constant(tensor));
    } else if (has_initial_bytes(tensor)) {
      ET_ASSIGN(stored, plan.program->initial_bytes(tensor));
    }
    if (!stored.empty()) {
      bytes.resize(wanted.size);
      std::copy(stored.begin(), stored.end(), bytes.begin() + static_cast<ptrdiff_t>(member.offset));
    }
  }
  return bytes;
}

}  // namespace

void State::Buffer::reset() {
  if (initial.empty()) {
    std::memset(memory.data(), 0, size);
  } else {
    std::memcpy(memory.data(), initial.data(), initial.size());
  }
}

Result<State::Buffer*> State::attach(const Plan& plan, const StateBuffer& wanted) {
  const fb::Tensor& tensor =
      *plan.method().values()->Get(static_cast<flatbuffers::uoffset_t>(wanted.value))->val_as_Tensor();
  const DType dtype = tensor_dtype(tensor);
  const auto file_sizes = items_of(tensor.sizes());
  const std::vector<int64_t> sizes(file_sizes.begin(), file_sizes.end());
  const std::lock_guard lock(mutex_);
  for (Buffer& buffer : buffers_) {
    if (buffer.name == wanted.name && buffer.dtype == dtype && buffer.sizes == sizes && buffer.size == wanted.size) {
      return &buffer;
    }
  }
  ET_ASSIGN(std::vector<std::byte> initial, initial_bytes(plan, wanted));
  Buffer& buffer = buffers_.emplace_back();
  buffer.name = wanted.name;
  buffer.dtype = dtype;
  buffer.sizes = sizes;
  const auto dim_order = items_of(tensor.dim_order());
  buffer.dim_order.assign(dim_order.begin(), dim_order.end());
  buffer.nbytes = static_cast<size_t>(tensor_nbytes(tensor).value_or(0));
  buffer.size = wanted.size;
  for (const auto& member : wanted.members) {
    buffer.offset = member.value == wanted.value ? member.offset : buffer.offset;
  }
  buffer.initial = std::move(initial);
  buffer.memory.reserve(wanted.size);
  buffer.reset();
  return &buffer;
}

size_t State::count() const {
  const std::lock_guard lock(mutex_);
  return buffers_.size();
}

const State::Buffer* State::at(size_t index) const {
  const std::lock_guard lock(mutex_);
  return index < buffers_.size() ? &buffers_[index] : nullptr;
}

Status State::acquire() const {
  if (!try_acquire()) {
    return fail(Status::InvalidState, "the state is in use by a run on another thread");
  }
  return Status::Ok;
}

Result<State::Buffer*> State::checked(size_t index, size_t size) const {
  const std::lock_guard lock(mutex_);
  if (index >= buffers_.size()) {
    return fail(Status::InvalidArgument, "state buffer {} doesn't exist; there are {}", index, buffers_.size());
  }
  Buffer& buffer = buffers_[index];
  if (buffer.nbytes != size) {
    return fail(Status::InvalidArgument, "state buffer {} '{}' has {} bytes, {} were given", index, buffer.name,
                buffer.nbytes, size);
  }
  return &buffer;
}

Status State::read(size_t index, std::span<std::byte> to) const {
  ET_ASSIGN(const Buffer* buffer, checked(index, to.size()));
  ET_TRY(acquire());
  const Release release(*this);
  std::copy_n(buffer->data(), to.size(), to.data());
  return Status::Ok;
}

Status State::write(size_t index, std::span<const std::byte> from) {
  ET_ASSIGN(Buffer * buffer, checked(index, from.size()));
  ET_TRY(acquire());
  const Release release(*this);
  std::copy_n(from.data(), from.size(), buffer->data());
  return Status::Ok;
}

Status State::reset() {
  ET_TRY(acquire());
  const Release release(*this);
  const std::lock_guard lock(mutex_);
  for (Buffer& buffer : buffers_) {
    buffer.reset();
  }
  return Status::Ok;
}

Result<std::shared_ptr<State>> State::clone() const {
  ET_TRY(acquire());
  const Release release(*this);
  const std::lock_guard lock(mutex_);
  auto copy = std::make_shared<State>();
  for (const Buffer& buffer : buffers_) {
    Buffer& to = copy->buffers_.emplace_back();
    to.name = buffer.name;
    to.dtype = buffer.dtype;
    to.sizes = buffer.sizes;
    to.dim_order = buffer.dim_order;
    to.nbytes = buffer.nbytes;
    to.size = buffer.size;
    to.offset = buffer.offset;
    to.initial = buffer.initial;
    std::memcpy(to.memory.reserve(buffer.size), buffer.base(), buffer.size);
  }
  return copy;
}

}  // namespace etrt
