#include "program/data_file.h"

#include "core/error.h"
#include "program/program.h"
#include "program/verifier.h"

namespace etrt {
namespace {

template <class... Args>
Status bad(const DataFile& file, fmt::format_string<Args...> format, Args&&... args) {
  return fail(Status::InvalidExternalData, "{} is damaged or not from the exporter: {}; get or export the file again",
              file.name(), format_text(format, std::forward<Args>(args)...));
}

}  // namespace

Result<std::unique_ptr<const DataFile>> DataFile::load(const Source& source) {
  ET_ASSIGN(const FileLayout layout, read_data_layout(source));
  ET_ASSIGN(std::unique_ptr<SegmentedFile> file, SegmentedFile::open(source, layout));
  ET_ASSIGN(const fb::ptd::FlatTensor* const root, file->verified_root<fb::ptd::FlatTensor>());
  ET_TRY(file->add_segments(root->segments()));
  std::unique_ptr<DataFile> data_file(new DataFile(std::move(file)));
  ET_TRY(data_file->verify(*root));
  return std::unique_ptr<const DataFile>(std::move(data_file));
}

Status DataFile::verify(const fb::ptd::FlatTensor& root) {
  const size_t count = count_of(root.named_data());
  entries_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const fb::ptd::NamedData& entry = *root.named_data()->Get(static_cast<flatbuffers::uoffset_t>(i));
    ET_TRY(verify_entry(entry, i));
    if (!entries_.emplace(text_of(entry.key()), &entry).second) {
      return bad(*this, "it holds \"{}\" twice", text_of(entry.key()));
    }
  }
  return Status::Ok;
}

Status DataFile::verify_entry(const fb::ptd::NamedData& entry, size_t index) {
  if (const std::string problem = check_name(entry.key()); !problem.empty()) {
    return bad(*this, "the key of entry {} {}", index, problem);
  }
  const std::string_view key = text_of(entry.key());
  if (entry.segment_index() >= file_->segment_count()) {
    return bad(*this, "\"{}\" is in segment {} of {}", key, entry.segment_index(), file_->segment_count());
  }
  const fb::ptd::TensorLayout* layout = entry.tensor_layout();
  if (layout == nullptr) {
    return Status::Ok;
  }
  const ShapeCheck shape = check_shape(layout->scalar_type(), layout->sizes(), layout->dim_order());
  if (!shape.problem.empty()) {
    return bad(*this, "\"{}\": {}", key, shape.problem);
  }
  const uint64_t stored = file_->segment_size(entry.segment_index());
  if (shape.overflows || static_cast<uint64_t>(shape.nbytes) > stored) {
    return bad(*this, "\"{}\" is {}{}, but has {} bytes", key, dtype_name(static_cast<DType>(layout->scalar_type())),
               sizes_text(items_of(layout->sizes())), stored);
  }
  return Status::Ok;
}

const fb::ptd::NamedData* DataFile::find(std::string_view key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second;
}

Result<std::span<const std::byte>> DataFile::bytes(const fb::ptd::NamedData& entry) const {
  return file_->segment(entry.segment_index());
}

}  // namespace etrt
