#include "program/format.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace etrt {
namespace {

// Longer than any header we read.
constexpr size_t kHeadSize = 64;

constexpr size_t kIdentifierAt = 4;
constexpr size_t kMagicAt = 8;

// A number at `at` of the head, which the caller knows to be long enough.
template <class T>
T number_at(std::span<const std::byte> head, size_t at) {
  T value;
  std::memcpy(&value, head.data() + at, sizeof(T));
  return value;
}

std::string_view text_at(std::span<const std::byte> head, size_t at, size_t size) {
  if (at + size > head.size()) {
    return {};
  }
  return {reinterpret_cast<const char*>(head.data()) + at, size};
}

Result<OwnedRegion> read_head(const Source& source) {
  return source.read(0, std::min<uint64_t>(source.size(), kHeadSize));
}

struct Signature {
  size_t at;
  std::string_view bytes;
  const char* what;
};

using namespace std::string_view_literals;
constexpr std::array kSignatures = {
    Signature{4, "ET12"sv, "an ExecuTorch program (.pte)"},
    Signature{4, "FT01"sv, "a .ptd data file, which goes beside a .pte program"},
    Signature{4, "BP08"sv, "a bundled program (.bpte); open it with et_bundle_load"},
    Signature{4, "ED00"sv, "an ETDump profile"},
    Signature{8, "ED00"sv, "an ETDump profile"},
    Signature{4, "XH00"sv, "a bare XNNPACK payload"},
    Signature{4, "XN00"sv, "a bare XNNPACK payload"},
    Signature{4, "XN01"sv, "a bare XNNPACK payload"},
    Signature{4, "TFL3"sv, "a TensorFlow Lite model"},
    Signature{0, "PK\x03\x04"sv, "a zip archive, perhaps a .pt2 or .pt file; export it to .pte first"},
    Signature{0,
              "\x7f"
              "ELF"sv,
              "an ELF binary"},
    Signature{0, "MZ"sv, "a Windows binary"},
    Signature{0, "\xcf\xfa\xed\xfe"sv, "a macOS binary"},
    Signature{0, "GGUF"sv, "a GGUF model"},
    Signature{0, "\x80\x02"sv, "a Python pickle"},
    Signature{0, "\x80\x04"sv, "a Python pickle"},
    Signature{0, "\x1f\x8b"sv, "gzip data; unpack it first"},
    Signature{0, "\x28\xb5\x2f\xfd"sv, "zstd data; unpack it first"},
    Signature{0,
              "\xfd"
              "7zXZ"sv,
              "xz data; unpack it first"},
    Signature{0, "\x93NUMPY"sv, "a .npy array"},
    Signature{0, "\x89PNG"sv, "a PNG image"},
    Signature{0, "%PDF"sv, "a PDF document"},
    Signature{0, "version https://git-lfs"sv, "a Git LFS pointer, not the file itself; fetch it with: git lfs pull"},
    Signature{0, "<!DOCTYPE"sv, "an HTML page; perhaps the download was refused"},
    Signature{0, "<!doctype"sv, "an HTML page; perhaps the download was refused"},
    Signature{0, "<html"sv, "an HTML page; perhaps the download was refused"},
};

bool is_text(std::span<const std::byte> head) {
  return std::all_of(head.begin(), head.end(), [](std::byte b) {
    const auto c = static_cast<unsigned char>(b);
    return (c >= 0x20 && c != 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
}

// "looks like a zip archive", for the end of a refusal.
Status refuse_kind(const Source& source, Status status, std::string_view wanted, std::span<const std::byte> head) {
  const std::string found = describe_file(head);
  note_error({.expected = std::string(wanted), .found = found});
  return fail(status, "{} is not {}; it looks like {}", source.name(), wanted, found);
}

Status refuse_truncated(const Source& source, Status status, std::string_view part, uint64_t expected) {
  note_error({.expected = format_text("{} bytes", expected), .found = format_text("{} bytes", source.size())});
  return fail(status,
              "{} is truncated: expected at least {} bytes up to the end of its {}, found {}; get the whole file",
              source.name(), expected, part, source.size());
}

// Checks what a header says against the file.
Result<FileLayout> checked_layout(const Source& source, Status status, uint64_t flatbuffer_size, uint64_t base,
                                  uint64_t data_size) {
  if (flatbuffer_size < kMagicAt) {
    return fail(status, "{} is damaged: its header gives its flatbuffer {} bytes", source.name(), flatbuffer_size);
  }
  if (flatbuffer_size > source.size()) {
    return refuse_truncated(source, status, "flatbuffer", flatbuffer_size);
  }
  uint64_t end = 0;
  if (!checked_add(base, data_size, end)) {
    return fail(status, "{} is damaged: its header puts {} bytes of segments at offset {}", source.name(), data_size,
                base);
  }
  if (base != 0 && end > source.size()) {
    return refuse_truncated(source, status, "segments", end);
  }
  if (flatbuffer_size >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return fail(status, "{} has a flatbuffer of {} bytes; flatbuffers end at {}", source.name(), flatbuffer_size,
                static_cast<uint64_t>(FLATBUFFERS_MAX_BUFFER_SIZE));
  }
  return FileLayout{flatbuffer_size, base, status};
}

}  // namespace

std::string describe_file(std::span<const std::byte> head) {
  if (head.empty()) {
    return "an empty file";
  }
  for (const Signature& signature : kSignatures) {
    if (text_at(head, signature.at, signature.bytes.size()) == signature.bytes) {
      return signature.what;
    }
  }
  if (std::all_of(head.begin(), head.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return "zeros; perhaps the file was not written to its end";
  }
  if (text_at(head, 8, 1) == "{") {
    return "a safetensors file; export it to .pte first";
  }
  if (is_text(head)) {
    return "text";
  }
  return "something else: no magic number that is known here";
}

bool valid_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) {
      continue;
    }
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || text.size() - i < static_cast<size_t>(more)) {
      return false;
    }
    uint32_t code = lead & (0x3fU >> more);
    for (int k = 0; k < more; ++k, ++i) {
      const auto next = static_cast<unsigned char>(text[i]);
      if ((next & 0xc0U) != 0x80U) {
        return false;
      }
      code = code << 6 | (next & 0x3fU);
    }
    constexpr std::array<uint32_t, 4> kLeast = {0, 0x80, 0x800, 0x10000};
    if (code < kLeast[static_cast<size_t>(more)] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      return false;
    }
  }
  return true;
}

// A .pte begins with its flatbuffer's root offset and identifier. An extended header may follow:
//   8 "eh00"  12 u32 header size from here  16 u64 flatbuffer size  24 u64 segment base  32 u64 segment bytes
Result<FileLayout> read_program_layout(const Source& source) {
  constexpr std::string_view kWanted = "an ExecuTorch program (.pte)";
  constexpr uint32_t kLeastHeader = 24;
  constexpr uint32_t kHeaderWithDataSize = 32;
  ET_ASSIGN(const OwnedRegion region, read_head(source));
  const std::span<const std::byte> head = region.bytes;

  const std::string_view identifier = text_at(head, kIdentifierAt, 4);
  if (identifier.substr(0, 2) == "ET" && identifier != "ET12" && identifier[2] >= '0' && identifier[2] <= '9' &&
      identifier[3] >= '0' && identifier[3] <= '9') {
    note_error({.expected = "ET12", .found = std::string(identifier)});
    return fail(Status::InvalidProgram,
                "{} is an ExecuTorch program of format {}; this runtime reads ET12. Export it again with a release "
                "of ExecuTorch that writes ET12, or use a newer etrt",
                source.name(), identifier);
  }
  if (identifier != "ET12") {
    return refuse_kind(source, Status::InvalidProgram, kWanted, head);
  }
  if (text_at(head, kMagicAt, 4) != "eh00") {
    return checked_layout(source, Status::InvalidProgram, source.size(), 0, 0);
  }
  if (head.size() < kMagicAt + kLeastHeader) {
    return refuse_truncated(source, Status::InvalidProgram, "header", kMagicAt + kLeastHeader);
  }
  const auto header_size = number_at<uint32_t>(head, 12);
  if (header_size < kLeastHeader) {
    return fail(Status::InvalidProgram, "{} is damaged: its header has {} bytes, expected at least {}", source.name(),
                header_size, kLeastHeader);
  }
  const auto base = number_at<uint64_t>(head, 24);
  uint64_t data_size = 0;
  if (header_size >= kHeaderWithDataSize) {
    if (head.size() < kMagicAt + kHeaderWithDataSize) {
      return refuse_truncated(source, Status::InvalidProgram, "header", kMagicAt + kHeaderWithDataSize);
    }
    data_size = number_at<uint64_t>(head, 32);
  }
  return checked_layout(source, Status::InvalidProgram, number_at<uint64_t>(head, 16), base, data_size);
}

// A .ptd begins likewise, and its header is not optional:
//   8 "FH01"  12 u32 header size from here  16 u64 where the rest of the flatbuffer begins  24 u64 its size
//   32 u64 segment base  40 u64 segment bytes
Result<FileLayout> read_data_layout(const Source& source) {
  constexpr std::string_view kWanted = "a .ptd data file";
  constexpr uint32_t kHeader = 40;
  ET_ASSIGN(const OwnedRegion region, read_head(source));
  const std::span<const std::byte> head = region.bytes;

  if (text_at(head, kIdentifierAt, 4) != "FT01") {
    return refuse_kind(source, Status::InvalidExternalData, kWanted, head);
  }
  if (head.size() < kMagicAt + kHeader) {
    return refuse_truncated(source, Status::InvalidExternalData, "header", kMagicAt + kHeader);
  }
  const std::string_view magic = text_at(head, kMagicAt, 4);
  const auto header_size = number_at<uint32_t>(head, 12);
  if (magic != "FH01" || header_size < kHeader) {
    return fail(Status::InvalidExternalData,
                "{} is damaged or of another version: expected a header \"FH01\" of at least {} bytes at offset 8",
                source.name(), kHeader);
  }
  uint64_t flatbuffer_end = 0;
  if (!checked_add(number_at<uint64_t>(head, 16), number_at<uint64_t>(head, 24), flatbuffer_end)) {
    return fail(Status::InvalidExternalData, "{} is damaged: its header gives its flatbuffer more than 2^64 bytes",
                source.name());
  }
  return checked_layout(source, Status::InvalidExternalData, flatbuffer_end, number_at<uint64_t>(head, 32),
                        number_at<uint64_t>(head, 40));
}

Result<std::unique_ptr<SegmentedFile>> SegmentedFile::open(const Source& source, const FileLayout& layout) {
  ET_ASSIGN(OwnedRegion flatbuffer, source.read(0, layout.flatbuffer_size));
  return std::unique_ptr<SegmentedFile>(new SegmentedFile(source, layout, std::move(flatbuffer)));
}

Status SegmentedFile::flatbuffer_damaged() const {
  return fail(layout_.damaged,
              "{} is damaged or truncated: an offset in its flatbuffer leads out of its {} bytes; get or export the "
              "file again",
              name(), flatbuffer_.bytes.size());
}

Status SegmentedFile::add_segment(size_t index, uint64_t offset, uint64_t size) {
  if (layout_.segment_base == 0 && size > 0) {  // an exporter with nothing to store writes an empty one
    return fail(layout_.damaged, "{} is damaged: segment {} has {} bytes, but the header says there are none", name(),
                index, size);
  }
  Segment& segment = segments_[index];
  segment.size = size;
  if (!checked_add(layout_.segment_base, offset, segment.offset) ||
      !range_within(segment.offset, size, source_.size())) {
    note_error({.expected = format_text("at most {} bytes", source_.size())});
    return fail(layout_.damaged,
                "{} is damaged or truncated: segment {} has {} bytes at offset {} from {}, the file ends at {}; get or "
                "export the file again",
                name(), index, size, offset, layout_.segment_base, source_.size());
  }
  return Status::Ok;
}

Result<std::span<const std::byte>> SegmentedFile::segment(size_t index) const {
  Segment& segment = segments_[index];
  if (!segment.ready.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    if (!segment.ready.load(std::memory_order_relaxed)) {
      ET_ASSIGN(segment.region, source_.map(segment.offset, segment.size));
      segment.ready.store(true, std::memory_order_release);
    }
  }
  return segment.region.bytes;
}

}  // namespace etrt
