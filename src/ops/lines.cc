#include "ops/lines.h"

#include "ops/reduce.h"

namespace etrt::ops {
namespace {

constexpr int64_t kTileElements = 1 << 14;  // of a tile: it stays in the second-level cache
constexpr int64_t kMostLanes = 64;
constexpr int64_t kGrain = 1 << 13;  // elements worth a thread of their own

}  // namespace

Result<Lines> Lines::along(const Call& call, int dim, std::initializer_list<const Tensor*> tensors) {
  const Tensor& first = **tensors.begin();
  for (const Tensor* t : tensors) {
    ET_TRY(check_memory(call, *t));
    bool fits = t->rank() == first.rank();
    for (int d = 0; fits && d < first.rank(); ++d) {
      fits = d == dim || t->size(d) == first.size(d);
    }
    if (!fits) {
      return call.fail(Status::InvalidArgument, "{} has sizes {}, which do not match {} of {} outside dimension {}",
                       call.arg_name(*t), sizes_text(t->sizes()), sizes_text(first.sizes()), call.arg_name(first), dim);
    }
  }
  Lines lines;
  for (int d = 0; d < first.rank(); ++d) {
    Axis axis{first.size(d), {}};
    size_t operand = 0;
    for (const Tensor* t : tensors) {
      axis.strides[operand++] = t->stride(d);
    }
    if (d == dim) {
      lines.along_ = axis;
    } else {
      lines.others_.push_back(axis);
    }
  }
  lines.count_ = lines.others_.positions();
  lines.others_.sort_by_stride();
  lines.others_.coalesce();
  const int depth = lines.others_.depth();
  // Neighbouring lines together, where they lie closer than the elements of one.
  const bool together =
      depth > 0 && lines.others_[depth - 1].strides[0] < lines.along_.strides[0] && lines.others_[depth - 1].size > 3;
  if (together) {
    lines.lane_ = lines.others_.take_innermost();
  }
  lines.plan_tiles(
      together ? std::clamp<int64_t>(kTileElements / std::max<int64_t>(lines.along_.size, 1), 8, kMostLanes) : 1);
  return lines;
}

void Lines::plan_tiles(int64_t most_lanes) {
  max_lanes_ = std::max<int64_t>(1, std::min(most_lanes, lane_.size));
  blocks_ = (lane_.size + max_lanes_ - 1) / max_lanes_;
  tile_count_ = others_.positions() * blocks_;
}

void Lines::take_single_lines() { plan_tiles(1); }

Lines::Tile Lines::tile(int64_t index) const {
  const Walk base(others_, index / blocks_);
  const int64_t first = index % blocks_ * max_lanes_;
  Tile tile{{}, std::min(max_lanes_, lane_.size - first)};
  for (size_t k = 0; k < tile.offsets.size(); ++k) {
    tile.offsets[k] = base.offset(static_cast<int>(k)) + first * lane_.strides[k];
  }
  return tile;
}

void for_each_tile(Call& call, const Lines& lines, int64_t buffer_bytes,
                   FunctionRef<void(const Lines::Tile&, std::byte*)> body) {
  const int64_t tiles = lines.tile_count();
  if (tiles == 0 || lines.length() == 0) {
    return;
  }
  const int64_t work = tiles * lines.max_lanes() * std::max<int64_t>(lines.length(), 1);
  const auto threads = static_cast<int64_t>(thread_count());
  const int64_t tasks = std::clamp<int64_t>(std::min(work / kGrain, 4 * threads), 1, tiles);
  auto* const buffers = call.scratch<std::byte>(tasks * buffer_bytes);
  parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      for (int64_t t = task * tiles / tasks; t < (task + 1) * tiles / tasks; ++t) {
        body(lines.tile(t), buffers + task * buffer_bytes);
      }
    }
  });
}

}  // namespace etrt::ops
