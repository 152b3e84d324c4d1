// Lines of tensors along one dimension, taken in tiles of neighbouring lines: the engine of softmax, scans,
// sorts and other operators whose results depend on a whole line.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "core/thread_pool.h"
#include "ops/element_io.h"
#include "ops/nest.h"
#include "ops/op.h"

namespace etrt::ops {

class Lines {
 public:
  // Some neighbouring lines. A buffer holds element i of line j at [i * lanes + j].
  struct Tile {
    std::array<int64_t, Axis::kOperands> offsets;
    int64_t lanes;
  };

  // The lines of `tensors` along `dim` (one of a tensor without dimensions). Checks that all tensors have
  // memory and the sizes of the first one but for `dim`.
  static Result<Lines> along(const Call& call, int dim, std::initializer_list<const Tensor*> tensors);

  int64_t length() const { return along_.size; }  // of the first tensor
  int64_t count() const { return count_; }
  int64_t tile_count() const { return tile_count_; }
  int64_t max_lanes() const { return max_lanes_; }
  // Takes one line at a time: for work that gains nothing from neighbours.
  void take_single_lines();

  Tile tile(int64_t index) const;
  template <class C>
  void load(const Tile& tile, int operand, const Reader<C>& reader, const std::byte* data, int64_t n, C* to) const {
    const auto k = static_cast<size_t>(operand);
    const std::byte* from = data + tile.offsets[k] * reader.element_size();
    if (tile.lanes == 1) {
      reader.load(from, along_.strides[k], n, to);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      reader.load(from + i * along_.strides[k] * reader.element_size(), lane_.strides[k], tile.lanes,
                  to + i * tile.lanes);
    }
  }
  template <class C>
  void store(const Tile& tile, int operand, const Writer<C>& writer, int64_t n, const C* from) const {
    const auto k = static_cast<size_t>(operand);
    if (tile.lanes == 1) {
      writer.run(tile.offsets[k], along_.strides[k], n, from);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      writer.run(tile.offsets[k] + i * along_.strides[k], lane_.strides[k], tile.lanes, from + i * tile.lanes);
    }
  }

 private:
  void plan_tiles(int64_t most_lanes);

  Nest others_;  // the dimensions that neither `along_` nor `lane_` covers
  Axis along_;
  Axis lane_;  // from a line to its neighbour
  int64_t count_ = 0;
  int64_t max_lanes_ = 1;
  int64_t blocks_ = 1;  // tiles that `lane_` is cut into
  int64_t tile_count_ = 0;
};

// Runs body(tile, buffer) for every tile, in parallel; each thread's buffer has `buffer_bytes` bytes, 64-byte
// aligned.
void for_each_tile(Call& call, const Lines& lines, int64_t buffer_bytes,
                   FunctionRef<void(const Lines::Tile&, std::byte*)> body);

// Bytes of `elements` items of T for every lane of a tile, rounded up so that another array may follow.
template <class T>
int64_t tile_bytes(const Lines& lines, int64_t elements) {
  return (elements * lines.max_lanes() * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
}

}  // namespace etrt::ops
