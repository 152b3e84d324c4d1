// What .pte and .ptd files have in common: a flatbuffer with a header in it, then segments.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "core/checked.h"
#include "core/error.h"
#include "core/status.h"
#include "program/source.h"

namespace etrt {

// What a file seems to be, for refusing it: "a zip archive", "text", "a .ptd data file". `head` is its start, up
// to 64 bytes. With advice where there is some: "an HTML page (was the download refused?)".
std::string describe_file(std::span<const std::byte> head);

bool valid_utf8(std::string_view text);

// Where the parts of a file lie. Checked: the flatbuffer, the base and the data lie within the file.
struct FileLayout {
  uint64_t flatbuffer_size = 0;             // from the start of the file
  uint64_t segment_base = 0;                // 0: there are no segments
  Status damaged = Status::InvalidProgram;  // what a file of this kind fails with
};
// Refuse what isn't a .pte or a .ptd file.
Result<FileLayout> read_program_layout(const Source& source);
Result<FileLayout> read_data_layout(const Source& source);

// A file: the private copy of its flatbuffer, and segments that are mapped or read when first asked for.
class SegmentedFile {
 public:
  // Copies the flatbuffer. Segments come with add_segments().
  static Result<std::unique_ptr<SegmentedFile>> open(const Source& source, const FileLayout& layout);

  const std::string& name() const { return source_.name(); }
  std::span<const std::byte> flatbuffer() const { return flatbuffer_.bytes; }

  // Runs flatbuffers' own verifier: afterwards every table, vector and string lies within the flatbuffer.
  template <class Root>
  Result<const Root*> verified_root() const;

  // Takes the table of segments; each must lie within the file.
  template <class Segments>
  Status add_segments(const Segments* segments);
  size_t segment_count() const { return segment_count_; }
  uint64_t segment_size(size_t index) const { return segments_[index].size; }

  // The bytes of a segment; valid while this object lives, 16-byte aligned. Any number of threads may call.
  Result<std::span<const std::byte>> segment(size_t index) const;

 private:
  struct Segment {
    uint64_t offset = 0;  // from the start of the file
    uint64_t size = 0;
    std::atomic<bool> ready{false};
    Region region;
  };

  SegmentedFile(const Source& source, const FileLayout& layout, OwnedRegion flatbuffer)
      : source_(source), layout_(layout), flatbuffer_(std::move(flatbuffer)) {}
  Status flatbuffer_damaged() const;
  Status add_segment(size_t index, uint64_t offset, uint64_t size);

  Source source_;
  FileLayout layout_;
  OwnedRegion flatbuffer_;
  size_t segment_count_ = 0;
  std::unique_ptr<Segment[]> segments_;
  mutable std::mutex mutex_;  // guards the segments that are not ready
};

template <class Root>
Result<const Root*> SegmentedFile::verified_root() const {
  const auto* data = reinterpret_cast<const uint8_t*>(flatbuffer_.bytes.data());
  const size_t size = flatbuffer_.bytes.size();
  flatbuffers::Verifier::Options options;
  // Tables that are referred to twice count twice, so this bounds the work by the file's size.
  options.max_tables = static_cast<flatbuffers::uoffset_t>(std::max<size_t>(size, 1000000));
  flatbuffers::Verifier verifier(data, size, options);
  if (!verifier.VerifyBuffer<Root>(nullptr)) {
    return flatbuffer_damaged();
  }
  return flatbuffers::GetRoot<Root>(data);
}

template <class Segments>
Status SegmentedFile::add_segments(const Segments* segments) {
  segment_count_ = segments == nullptr ? 0 : segments->size();
  segments_ = std::make_unique<Segment[]>(segment_count_);
  for (size_t i = 0; i < segment_count_; ++i) {
    const auto* segment = segments->Get(static_cast<flatbuffers::uoffset_t>(i));
    ET_TRY(add_segment(i, segment->offset(), segment->size()));
  }
  return Status::Ok;
}

}  // namespace etrt
