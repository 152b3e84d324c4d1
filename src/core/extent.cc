#include "core/extent.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "core/checked.h"
#include "core/error.h"
#include "core/tensor.h"

namespace etrt {
namespace {

struct Dimension {
  int64_t size;
  int64_t stride;  // in elements, not negative
};

// The dimensions that are walked, the shortest steps first; those that go on evenly from adjacent elements are one run
// with them. Offsets count from the lowest address, so that strides are positive.
class Walked {
 public:
  explicit Walked(const StridedMemory& memory) {
    for (size_t d = 0; d < memory.sizes.size(); ++d) {
      empty_ = empty_ || memory.sizes[d] == 0;
      if (memory.sizes[d] > 1) {
        dims_[end_++] = {memory.sizes[d], std::abs(memory.strides[d])};
      }
    }
    std::sort(dims_.data(), dims_.data() + end_, [](Dimension a, Dimension b) { return a.stride < b.stride; });
    for (; begin_ < end_ && dims_[begin_].stride == run_; ++begin_) {
      run_ *= dims_[begin_].size;
    }
  }

  bool empty() const { return empty_; }
  // Adjacent elements.
  int64_t run() const { return run_; }
  // How the runs follow each other.
  std::span<const Dimension> dims() const { return {dims_.data() + begin_, end_ - begin_}; }

 private:
  std::array<Dimension, kMaxRank> dims_{};
  size_t begin_ = 0;
  size_t end_ = 0;
  int64_t run_ = 1;
  bool empty_ = false;
};

// Adds the addresses of every run of adjacent elements.
void add_runs(const StridedMemory& memory, std::vector<Extent>& runs) {
  const Walked walked(memory);
  if (walked.empty()) {
    return;
  }
  const size_t first = runs.size();
  const uintptr_t begin = extent_of(memory)->begin;
  runs.push_back({begin, begin + static_cast<size_t>(walked.run()) * memory.element_size});
  for (const Dimension& dim : walked.dims()) {
    const size_t count = runs.size() - first;
    for (int64_t i = 1; i < dim.size; ++i) {
      const uintptr_t by = static_cast<size_t>(i * dim.stride) * memory.element_size;
      for (size_t k = 0; k < count; ++k) {
        runs.push_back({runs[first + k].begin + by, runs[first + k].end + by});
      }
    }
  }
}

bool any_overlap(std::vector<Extent>& runs) {
  std::sort(runs.begin(), runs.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  return std::adjacent_find(runs.begin(), runs.end(), [](const Extent& a, const Extent& b) { return a.overlaps(b); }) !=
         runs.end();
}

}  // namespace

std::optional<Extent> extent_of(const StridedMemory& memory) {
  const auto begin = reinterpret_cast<uintptr_t>(memory.data);
  if (std::find(memory.sizes.begin(), memory.sizes.end(), 0) != memory.sizes.end()) {
    return Extent{begin, begin};
  }
  int64_t low = 0;
  int64_t high = 1;
  for (size_t d = 0; d < memory.sizes.size(); ++d) {
    int64_t reach = 0;
    int64_t& side = memory.strides[d] < 0 ? low : high;
    if (!checked_mul(memory.sizes[d] - 1, memory.strides[d], reach) || !checked_add(side, reach, side)) {
      return std::nullopt;
    }
  }
  const auto size = static_cast<int64_t>(memory.element_size);
  if (!checked_mul(low, size, low) || !checked_mul(high, size, high)) {
    return std::nullopt;
  }
  const uintptr_t below = uintptr_t{0} - static_cast<uintptr_t>(low);
  Extent extent;
  if (!checked_sub(begin, below, extent.begin) || !checked_add(begin, static_cast<uintptr_t>(high), extent.end)) {
    return std::nullopt;
  }
  return extent;
}

Result<Extent> checked_extent(const StridedMemory& memory) {
  const std::optional<Extent> extent = extent_of(memory);
  if (!extent) {
    return fail(Status::InvalidArgument, "sizes {} with strides {} (in elements) reach beyond any memory",
                sizes_text(memory.sizes), sizes_text(memory.strides));
  }
  return *extent;
}

bool overlaps_itself(const StridedMemory& memory) {
  const Walked walked(memory);
  if (walked.empty()) {
    return false;
  }
  // Elements that the smaller steps reach, against the next one.
  int64_t reach = walked.run();
  bool apart = true;
  int64_t numel = walked.run();
  for (const Dimension& dim : walked.dims()) {
    apart = apart && dim.stride >= reach;
    reach += (dim.size - 1) * dim.stride;
    if (!checked_mul(numel, dim.size, numel)) {
      return true;
    }
  }
  if (apart || numel > reach) {
    return !apart;  // more elements than places for them: some must meet
  }
  std::vector<Extent> runs;
  add_runs(memory, runs);
  return any_overlap(runs);
}

bool share_bytes(const StridedMemory& a, const StridedMemory& b) {
  if (!extent_of(a)->overlaps(*extent_of(b))) {
    return false;
  }
  std::vector<Extent> runs;
  add_runs(a, runs);
  add_runs(b, runs);
  return any_overlap(runs);
}

}  // namespace etrt
