// Program: a verified .pte file with the .ptd files that belong to it.
//
// The road from bytes to a Program:
//   source.h    where the bytes come from: a mapped file, memory, callbacks
//   format.h    what kind of file it is, its header, where its segments lie
//   verifier.h  every index, offset, size, enum and string of the flatbuffer is checked
//   data_file.h the same for .ptd files
// The flatbuffer that was verified is a private copy; segments (weights, delegate payloads) are mapped
// or read when they are asked for, and stay while the Program lives.
//
// What later stages may rely on, whatever the file was:
//   - Never null: name, values, inputs, outputs, chains (at least one) and non_const_buffer_sizes of a
//     method; the payload of every value and instruction; instructions, args; sizes and dim_order of a
//     tensor; items of a list; string_val; an operator's name; a delegate's id and processed; a compile
//     spec's key; the fully qualified name of an external tensor. Other vectors and strings may be null:
//     see items_of() and text_of().
//   - Indices of values, operators, delegates, lists' items, segments and buffers are in range. A jump goes
//     to an instruction of its chain or one past the last.
//   - Items of a list are of the kind the list wants, or a value that some instruction writes; -1 occurs in
//     optional tensor lists only. A jump's condition is a bool or a tensor or such a value.
//   - Tensors: known dtype, rank up to 16, sizes >= 0, dim_order a permutation, storage_offset 0, numel and
//     strides and bytes fit int64_t. One exception: the upper bounds of a dynamic input without memory of its
//     own may multiply past that (tensor_nbytes() gives nothing then).
//   - Planned tensors lie within their buffer, aligned to their dtype. Stored tensors lie within their segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "program/source.h"
#include "schema/program_generated.h"

namespace etrt {

// Kept for callers of ExecuTorch's API. Both mean the whole check: it costs less than a page fault a tensor,
// and nothing after it could stand without it.
enum class Verification : uint8_t { Minimal = 0, InternalConsistency = 1 };

// --- reading tables -----------------------------------------------------------------------------------

// The elements of a vector of numbers; none for null. (An empty one may be misaligned.)
template <class T>
std::span<const T> items_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr || vector->size() == 0 ? std::span<const T>{}
                                                  : std::span<const T>{vector->data(), vector->size()};
}
inline std::string_view text_of(const flatbuffers::String* string) {
  return string == nullptr ? std::string_view{} : std::string_view{string->data(), string->size()};
}
template <class T>
size_t count_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// Where a tensor's bytes are when the method starts.
enum class TensorStorage : uint8_t {
  None,      // nowhere: bound as input or output, or made by an operator
  Constant,  // in the .pte or a .ptd: Program::constant()
  Planned,   // in planned memory
};
TensorStorage tensor_storage(const fb::Tensor& tensor);
// Planned with bytes to start from: Program::initial_bytes().
bool has_initial_bytes(const fb::Tensor& tensor);
// Stored in a .ptd file, under its name.
bool is_external(const fb::Tensor& tensor);
// The fully qualified name; empty for most.
std::string_view tensor_name(const fb::Tensor& tensor);
inline DType tensor_dtype(const fb::Tensor& tensor) { return static_cast<DType>(tensor.scalar_type()); }
// Bytes at the sizes in the file; see the exception above.
std::optional<int64_t> tensor_nbytes(const fb::Tensor& tensor);

struct PlannedPlace {
  size_t buffer;    // index into non_const_buffer_sizes, at least 1
  uint64_t offset;  // bytes
};
// For TensorStorage::Planned only.
PlannedPlace planned_place(const fb::Tensor& tensor);

// "aten::add.out"; the name alone without an overload.
std::string operator_name(const fb::Operator& op);

// --- the program --------------------------------------------------------------------------------------

class DataFile;
class SegmentedFile;

class Program {
 public:
  // Reads and verifies `source` and `data_files`, which may hold what the program lacks. Data files are
  // matched against the program by require_data(), when a method is loaded.
  static Result<std::shared_ptr<const Program>> load(const Source& source, std::span<const Source> data_files = {},
                                                     Verification verification = Verification::InternalConsistency);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // For messages: the quoted path, or what the caller called it.
  const std::string& name() const;
  const fb::Program& root() const { return *root_; }

  size_t method_count() const { return count_of(root_->execution_plan()); }
  const fb::ExecutionPlan& method(size_t index) const {
    return *root_->execution_plan()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }
  std::string_view method_name(size_t index) const { return text_of(method(index).name()); }
  std::optional<size_t> find_method(std::string_view name) const;
  // InvalidArgument, with the names there are, for an unknown one.
  Result<size_t> require_method(std::string_view name) const;

  // Does the program, with its data files, hold every external tensor of the method, with its dtype, sizes and
  // dim_order? The error names all that are missing or different.
  Status require_data(size_t method_index) const;

  // The bytes of a TensorStorage::Constant tensor of this program: tensor_nbytes() of them, 16-byte aligned.
  // External tensors need require_data() first (NotFound otherwise).
  Result<std::span<const std::byte>> constant(const fb::Tensor& tensor) const;
  // What a planned tensor starts with; empty when the file stores nothing. Same rules.
  Result<std::span<const std::byte>> initial_bytes(const fb::Tensor& tensor) const;

  // The blob a delegate was compiled to. In a mapped file it may change while the file is edited: copy what
  // gets verified.
  Result<std::span<const std::byte>> delegate_payload(const fb::BackendDelegate& delegate) const;

  // Named bytes for delegates: those of the data files first, then the program's own. NotFound without a line
  // in the error when `key` is in neither.
  Result<std::span<const std::byte>> named_data(std::string_view key) const;
  // The keys of the data files and of the program itself, in that order.
  std::vector<std::string_view> named_data_keys() const;
  // The data files' names, for messages.
  std::vector<std::string_view> data_file_names() const;

 private:
  Program();
  Status add_data_file(const Source& source);
  std::string data_files_text() const;
  Result<std::span<const std::byte>> stored_bytes(const fb::Tensor& tensor, const fb::SubsegmentOffsets& table) const;
  Result<std::span<const std::byte>> external_bytes(const fb::Tensor& tensor) const;
  // The bytes, or their copy on a 16-byte boundary where they don't lie on one.
  Result<std::span<const std::byte>> aligned(std::span<const std::byte> bytes) const;
  const DataFile* data_file_with(std::string_view key) const;

  std::unique_ptr<const SegmentedFile> file_;
  const fb::Program* root_ = nullptr;  // in file_'s private copy
  std::vector<std::unique_ptr<const DataFile>> data_files_;
  std::map<std::string_view, uint32_t> named_;  // own keys to segments

  // Copies that aligned() made.
  mutable std::mutex aligned_mutex_;
  mutable std::map<std::pair<const std::byte*, size_t>, OwnedRegion> aligned_;
};

}  // namespace etrt
