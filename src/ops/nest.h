// Loop nests over several strided tensors that share an index space.
#pragma once

#include <array>
#include <cstdint>

#include "core/tensor.h"

namespace etrt::ops {

// One loop: how many steps, and how far each operand moves in a step (in elements).
struct Axis {
  static constexpr int kOperands = 4;
  int64_t size = 1;
  std::array<int64_t, kOperands> strides{};
};

// Loops from the outermost to the innermost.
class Nest {
 public:
  int depth() const { return depth_; }
  const Axis& operator[](int i) const { return axes_[static_cast<size_t>(i)]; }
  Axis& operator[](int i) { return axes_[static_cast<size_t>(i)]; }
  void push_back(const Axis& axis) { axes_[static_cast<size_t>(depth_++)] = axis; }

  // The number of positions. The caller vouches that it fits: the sizes are those of a tensor.
  int64_t positions() const;
  // Orders the loops so that operand 0 moves least in the innermost one.
  void sort_by_stride();
  // Drops loops of one step and joins neighbours that together are one evenly strided loop.
  void coalesce();
  // Takes the innermost loop off; one of a single step when there is none.
  Axis take_innermost();

 private:
  int depth_ = 0;
  std::array<Axis, kMaxRank> axes_;
};

// A position in a nest and the operands' offsets there.
class Walk {
 public:
  // Starts at position `at` of the row-major order. A position past the end may be held, not used.
  Walk(const Nest& nest, int64_t at);
  explicit Walk(const Nest& nest) : Walk(nest, 0) {}

  int64_t offset(int operand) const { return offsets_[static_cast<size_t>(operand)]; }
  void next() {
    for (int i = nest_.depth() - 1; i >= 0; --i) {
      const Axis& axis = nest_[i];
      int64_t& index = index_[static_cast<size_t>(i)];
      if (++index < axis.size) {
        move(axis, 1);
        return;
      }
      move(axis, 1 - axis.size);
      index = 0;
    }
  }

 private:
  void move(const Axis& axis, int64_t steps) {
    for (size_t k = 0; k < offsets_.size(); ++k) {
      offsets_[k] += axis.strides[k] * steps;
    }
  }

  const Nest& nest_;
  std::array<int64_t, kMaxRank> index_{};
  std::array<int64_t, Axis::kOperands> offsets_{};
};

}  // namespace etrt::ops
