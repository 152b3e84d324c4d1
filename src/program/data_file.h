// DataFile: a verified .ptd file, named bytes for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/status.h"
#include "program/format.h"
#include "program/source.h"
#include "schema/flat_tensor_generated.h"

namespace etrt {

class DataFile {
 public:
  static Result<std::unique_ptr<const DataFile>> load(const Source& source);

  const std::string& name() const { return file_->name(); }
  // In no order.
  const std::unordered_map<std::string_view, const fb::ptd::NamedData*>& entries() const { return entries_; }
  // Null when there is none. Its key is never null, its layout, where it has one, is sound and its bytes lie
  // within its segment.
  const fb::ptd::NamedData* find(std::string_view key) const;

  // All bytes of an entry; valid while this object lives, 16-byte aligned.
  Result<std::span<const std::byte>> bytes(const fb::ptd::NamedData& entry) const;

 private:
  explicit DataFile(std::unique_ptr<SegmentedFile> file) : file_(std::move(file)) {}
  Status verify(const fb::ptd::FlatTensor& root);
  Status verify_entry(const fb::ptd::NamedData& entry, size_t index);

  std::unique_ptr<SegmentedFile> file_;
  std::unordered_map<std::string_view, const fb::ptd::NamedData*> entries_;  // keys lie in the flatbuffer
};

}  // namespace etrt
