#include "program/source.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/platform.h"

namespace etrt {
namespace {

constexpr std::align_val_t kCopyAlignment{64};
constexpr uintptr_t kRegionAlignment = 16;

}  // namespace

OwnedRegion::OwnedRegion(size_t size)
    : memory(static_cast<std::byte*>(::operator new(std::max<size_t>(size, 1), kCopyAlignment)),
             [](std::byte* p) { ::operator delete(p, kCopyAlignment); }),
      bytes(memory.get(), size) {}

class Source::Impl {
 public:
  explicit Impl(std::string name) : name_(std::move(name)) {}
  virtual ~Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const std::string& name() const { return name_; }
  virtual uint64_t size() const = 0;
  // The bytes where they lie; null when they are not in memory.
  virtual const std::byte* in_memory(uint64_t offset) const = 0;
  virtual std::shared_ptr<const void> owner() const = 0;
  virtual Status read(uint64_t offset, std::span<std::byte> to) const = 0;

 private:
  std::string name_;
};

namespace {

class MemorySource final : public Source::Impl {
 public:
  MemorySource(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name)
      : Impl(std::move(name)), bytes_(bytes), owner_(std::move(owner)) {}

  uint64_t size() const override { return bytes_.size(); }
  const std::byte* in_memory(uint64_t offset) const override { return bytes_.data() + offset; }
  std::shared_ptr<const void> owner() const override { return owner_; }
  Status read(uint64_t offset, std::span<std::byte> to) const override {
    if (!to.empty()) {
      std::memcpy(to.data(), bytes_.data() + offset, to.size());
    }
    return Status::Ok;
  }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

class CallbackSource final : public Source::Impl {
 public:
  CallbackSource(uint64_t size, ReadBytes read, std::string name)
      : Impl(std::move(name)), size_(size), read_(std::move(read)) {}

  uint64_t size() const override { return size_; }
  const std::byte* in_memory(uint64_t) const override { return nullptr; }
  std::shared_ptr<const void> owner() const override { return nullptr; }
  Status read(uint64_t offset, std::span<std::byte> to) const override {
    if (to.empty()) {
      return Status::Ok;
    }
    const std::lock_guard lock(mutex_);
    if (!read_(offset, to)) {
      return fail(Status::AccessFailed, "{}: the read callback failed for {} bytes at offset {}", name(), to.size(),
                  offset);
    }
    return Status::Ok;
  }

 private:
  uint64_t size_;
  ReadBytes read_;
  mutable std::mutex mutex_;
};

}  // namespace

Result<Source> Source::file(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return fail(Status::AccessFailed, "the path \"{}\" has a NUL in it", path.c_str());
  }
  ET_ASSIGN(std::shared_ptr<const platform::MappedFile> mapped, platform::MappedFile::open(path));
  const std::span<const std::byte> bytes = mapped->bytes();
  return Source(std::make_shared<MemorySource>(bytes, std::move(mapped), format_text("\"{}\"", path)));
}

Source Source::borrow(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name) {
  return Source(std::make_shared<MemorySource>(bytes, std::move(owner), std::move(name)));
}

Source Source::copy(std::span<const std::byte> bytes, std::string name) {
  OwnedRegion copied(bytes.size());
  if (!bytes.empty()) {
    std::memcpy(copied.bytes.data(), bytes.data(), bytes.size());
  }
  return Source(std::make_shared<MemorySource>(copied.bytes, copied.memory, std::move(name)));
}

Source Source::callback(uint64_t size, ReadBytes read, std::string name) {
  return Source(std::make_shared<CallbackSource>(size, std::move(read), std::move(name)));
}

uint64_t Source::size() const { return impl_->size(); }

const std::string& Source::name() const { return impl_->name(); }

Result<Region> Source::map(uint64_t offset, uint64_t size) const {
  const std::byte* in_place = impl_->in_memory(offset);
  if (in_place != nullptr && reinterpret_cast<uintptr_t>(in_place) % kRegionAlignment == 0) {
    return Region{impl_->owner(), {in_place, static_cast<size_t>(size)}};
  }
  ET_ASSIGN(const OwnedRegion copied, read(offset, size));
  return Region(copied);
}

Result<OwnedRegion> Source::read(uint64_t offset, uint64_t size) const {
  OwnedRegion region(static_cast<size_t>(size));
  ET_TRY(impl_->read(offset, region.bytes));
  return region;
}

}  // namespace etrt
