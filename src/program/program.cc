#include "program/program.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/log.h"
#include "program/data_file.h"
#include "program/format.h"
#include "program/verifier.h"

namespace etrt {
namespace {

using flatbuffers::uoffset_t;
using Bytes = std::span<const std::byte>;

Bytes bytes_of(const flatbuffers::Vector<uint8_t>* vector) { return std::as_bytes(items_of(vector)); }

// "a", "b" and 3 more.
std::string quoted_list(const std::vector<std::string_view>& names) {
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += format_text("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  }
  return names.size() > kShown ? format_text("{} and {} more", text, names.size() - kShown) : text;
}

// "float32[2, 3]", with the dim_order when it isn't row-major.
template <class LayoutTable>
std::string layout_text(const LayoutTable& layout) {
  std::string text =
      format_text("{}{}", dtype_name(static_cast<DType>(layout.scalar_type())), sizes_text(items_of(layout.sizes())));
  const auto order = items_of(layout.dim_order());
  return std::is_sorted(order.begin(), order.end()) ? text : format_text("{} in dim_order {}", text, sizes_text(order));
}

bool same_layout(const fb::Tensor& tensor, const fb::ptd::TensorLayout& layout) {
  return tensor.scalar_type() == layout.scalar_type() &&
         std::ranges::equal(items_of(tensor.sizes()), items_of(layout.sizes())) &&
         std::ranges::equal(items_of(tensor.dim_order()), items_of(layout.dim_order()));
}

}  // namespace

// --- reading tables -----------------------------------------------------------------------------------

TensorStorage tensor_storage(const fb::Tensor& tensor) {
  if (tensor.allocation_info() != nullptr) {
    return TensorStorage::Planned;
  }
  return tensor.data_buffer_idx() > 0 || is_external(tensor) ? TensorStorage::Constant : TensorStorage::None;
}

bool has_initial_bytes(const fb::Tensor& tensor) {
  return tensor.allocation_info() != nullptr && (tensor.data_buffer_idx() > 0 || is_external(tensor));
}

bool is_external(const fb::Tensor& tensor) {
  const auto* extra = tensor.extra_tensor_info();
  return extra != nullptr && extra->location() == fb::TensorDataLocation::EXTERNAL;
}

std::string_view tensor_name(const fb::Tensor& tensor) {
  const auto* extra = tensor.extra_tensor_info();
  return extra == nullptr ? std::string_view{} : text_of(extra->fully_qualified_name());
}

std::optional<int64_t> tensor_nbytes(const fb::Tensor& tensor) {
  const ShapeCheck shape = check_shape(tensor.scalar_type(), tensor.sizes(), tensor.dim_order());
  return shape.overflows ? std::nullopt : std::optional(shape.nbytes);
}

PlannedPlace planned_place(const fb::Tensor& tensor) {
  const fb::AllocationDetails& details = *tensor.allocation_info();
  return {details.memory_id(), static_cast<uint64_t>(details.memory_offset_high()) << 32 | details.memory_offset_low()};
}

std::string operator_name(const fb::Operator& op) {
  std::string name(text_of(op.name()));
  if (const std::string_view overload = text_of(op.overload()); !overload.empty()) {
    name.append(".").append(overload);
  }
  return name;
}

// --- the program --------------------------------------------------------------------------------------

Program::Program() = default;
Program::~Program() = default;

Result<std::shared_ptr<const Program>> Program::load(const Source& source, std::span<const Source> data_files,
                                                     Verification) {
  const std::shared_ptr<Program> program(new Program);
  ET_ASSIGN(const FileLayout layout, read_program_layout(source));
  ET_ASSIGN(std::unique_ptr<SegmentedFile> file, SegmentedFile::open(source, layout));
  ET_ASSIGN(program->root_, file->verified_root<fb::Program>());
  ET_TRY(file->add_segments(program->root_->segments()));
  ET_TRY(verify_program(*program->root_, *file));
  program->file_ = std::move(file);
  if (const auto* named = program->root_->named_data(); named != nullptr) {
    for (uoffset_t i = 0; i < named->size(); ++i) {
      program->named_.emplace(text_of(named->Get(i)->key()), named->Get(i)->segment_index());
    }
  }
  for (const Source& data_source : data_files) {
    ET_TRY(program->add_data_file(data_source));
  }
  log_line(LogLevel::Debug, "loaded program {}: {} bytes, {} methods, {} segments, {} data files", source.name(),
           source.size(), program->method_count(), program->file_->segment_count(), data_files.size());
  return std::shared_ptr<const Program>(program);
}

Status Program::add_data_file(const Source& source) {
  ET_ASSIGN(std::unique_ptr<const DataFile> added, DataFile::load(source));
  for (const auto& [key, entry] : added->entries()) {
    if (const DataFile* other = data_file_with(key); other != nullptr) {
      return fail(Status::InvalidArgument,
                  "the data files {} and {} both hold \"{}\"; pass only the one that belongs to {}", other->name(),
                  added->name(), key, name());
    }
  }
  data_files_.push_back(std::move(added));
  return Status::Ok;
}

const std::string& Program::name() const { return file_->name(); }

std::optional<size_t> Program::find_method(std::string_view name) const {
  for (size_t i = 0; i < method_count(); ++i) {
    if (method_name(i) == name) {
      return i;
    }
  }
  return std::nullopt;
}

Result<size_t> Program::require_method(std::string_view name) const {
  if (const std::optional<size_t> index = find_method(name)) {
    return *index;
  }
  std::vector<std::string_view> names;
  for (size_t i = 0; i < method_count(); ++i) {
    names.push_back(method_name(i));
  }
  note_error({.expected = quoted_list(names), .found = std::string(name)});
  return fail(Status::InvalidArgument, "{} has no method \"{}\"; it has {}", this->name(), name,
              names.empty() ? "none" : quoted_list(names));
}

Status Program::require_data(size_t method_index) const {
  std::vector<std::string_view> missing;
  std::map<std::string_view, std::string> different;  // what to say by key
  for (const fb::EValue* value : *method(method_index).values()) {
    const fb::Tensor* tensor = value->val_as_Tensor();
    if (tensor == nullptr || !is_external(*tensor)) {
      continue;
    }
    const std::string_view key = tensor_name(*tensor);
    const DataFile* file = data_file_with(key);
    if (file == nullptr) {
      missing.push_back(key);
    } else if (const auto* layout = file->find(key)->tensor_layout(); layout == nullptr) {
      different.emplace(key, format_text("{} holds \"{}\" without a dtype and sizes; the program needs {}",
                                         file->name(), key, layout_text(*tensor)));
    } else if (!same_layout(*tensor, *layout)) {
      different.emplace(key, format_text("{} holds \"{}\" as {}; the program needs {}", file->name(), key,
                                         layout_text(*layout), layout_text(*tensor)));
    }
  }
  Status status = Status::Ok;
  for (const auto& [key, text] : different) {
    status = fail(Status::InvalidExternalData, "{}: method \"{}\": {}; pass the .ptd file that was exported with it",
                  name(), method_name(method_index), text);
  }
  if (!missing.empty()) {
    std::ranges::sort(missing);
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    const std::string keys = quoted_list(missing);
    note_error({.method = std::string(method_name(method_index)), .expected = keys});
    status = fail(data_files_.empty() ? Status::InvalidState : Status::NotFound,
                  "{}: method \"{}\" needs data that is stored outside of the program and was not given: {}; pass the "
                  ".ptd file that holds {} ({})",
                  name(), method_name(method_index), keys, missing.size() == 1 ? "it" : "them", data_files_text());
  }
  return status;
}

std::string Program::data_files_text() const {
  if (data_files_.empty()) {
    return "no data file was given";
  }
  std::string text = "given:";
  for (const auto& file : data_files_) {
    text.append(" ").append(file->name());
  }
  return text;
}

const DataFile* Program::data_file_with(std::string_view key) const {
  for (const auto& file : data_files_) {
    if (file->find(key) != nullptr) {
      return file.get();
    }
  }
  return nullptr;
}

Result<Bytes> Program::constant(const fb::Tensor& tensor) const {
  if (is_external(tensor)) {
    return external_bytes(tensor);
  }
  const auto* table = root_->constant_segment();
  if (table != nullptr && count_of(table->offsets()) > 0) {
    return stored_bytes(tensor, *table);
  }
  const auto* storage = root_->constant_buffer()->Get(tensor.data_buffer_idx())->storage();
  return aligned(bytes_of(storage).first(static_cast<size_t>(*tensor_nbytes(tensor))));
}

Result<Bytes> Program::initial_bytes(const fb::Tensor& tensor) const {
  if (!has_initial_bytes(tensor)) {
    return Bytes{};
  }
  if (is_external(tensor)) {
    return external_bytes(tensor);
  }
  const auto* extra = tensor.extra_tensor_info();
  const auto index = static_cast<uoffset_t>(extra == nullptr ? 0 : extra->mutable_data_segments_idx());
  return stored_bytes(tensor, *root_->mutable_data_segments()->Get(index));
}

Result<Bytes> Program::stored_bytes(const fb::Tensor& tensor, const fb::SubsegmentOffsets& table) const {
  ET_ASSIGN(const Bytes segment, file_->segment(table.segment_index()));
  const auto offset = static_cast<size_t>(table.offsets()->Get(tensor.data_buffer_idx()));
  return aligned(segment.subspan(offset, static_cast<size_t>(*tensor_nbytes(tensor))));
}

Result<Bytes> Program::external_bytes(const fb::Tensor& tensor) const {
  const std::string_view key = tensor_name(tensor);
  const DataFile* file = data_file_with(key);
  if (file == nullptr) {
    return fail(Status::NotFound, "\"{}\" is not in {} or a data file ({})", key, name(), data_files_text());
  }
  ET_ASSIGN(const Bytes stored, file->bytes(*file->find(key)));
  const auto nbytes = static_cast<size_t>(*tensor_nbytes(tensor));
  if (stored.size() < nbytes) {  // when require_data() was not asked
    return fail(Status::InvalidExternalData, "\"{}\" has {} bytes in {}, expected {}", key, stored.size(), file->name(),
                nbytes);
  }
  return stored.first(nbytes);
}

Result<Bytes> Program::delegate_payload(const fb::BackendDelegate& delegate) const {
  const fb::BackendDelegateDataReference& payload = *delegate.processed();
  if (payload.location() == fb::DataLocation::SEGMENT) {
    return file_->segment(payload.index());
  }
  return aligned(bytes_of(root_->backend_delegate_data()->Get(payload.index())->data()));
}

Result<Bytes> Program::named_data(std::string_view key) const {
  if (const DataFile* file = data_file_with(key); file != nullptr) {
    return file->bytes(*file->find(key));
  }
  const auto own = named_.find(key);
  if (own == named_.end()) {
    return Status::NotFound;
  }
  return file_->segment(own->second);
}

std::vector<std::string_view> Program::named_data_keys() const {
  std::vector<std::string_view> keys;
  for (const auto& file : data_files_) {
    for (const auto& [key, entry] : file->entries()) {
      keys.push_back(key);
    }
  }
  std::ranges::sort(keys);
  for (const auto& [key, segment] : named_) {
    keys.push_back(key);
  }
  return keys;
}

std::vector<std::string_view> Program::data_file_names() const {
  std::vector<std::string_view> names;
  for (const auto& file : data_files_) {
    names.push_back(file->name());
  }
  return names;
}

Result<Bytes> Program::aligned(Bytes bytes) const {
  if (bytes.empty() || reinterpret_cast<uintptr_t>(bytes.data()) % 16 == 0) {
    return bytes;
  }
  const std::lock_guard lock(aligned_mutex_);
  const auto key = std::pair(bytes.data(), bytes.size());
  auto found = aligned_.find(key);
  if (found == aligned_.end()) {
    found = aligned_.emplace(key, OwnedRegion(bytes.size())).first;
    std::memcpy(found->second.bytes.data(), bytes.data(), bytes.size());
  }
  return Bytes(found->second.bytes);
}

}  // namespace etrt
