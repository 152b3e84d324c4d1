#include "ops/nest.h"

#include <algorithm>

namespace etrt::ops {

int64_t Nest::positions() const {
  int64_t n = 1;
  for (int i = 0; i < depth_; ++i) {
    n *= (*this)[i].size;
  }
  return n;
}

void Nest::sort_by_stride() {
  // Insertion: nests are short, and equal strides must keep their order.
  for (int i = 1; i < depth_; ++i) {
    for (int j = i; j > 0 && (*this)[j - 1].strides[0] < (*this)[j].strides[0]; --j) {
      std::swap((*this)[j - 1], (*this)[j]);
    }
  }
}

void Nest::coalesce() {
  int kept = 0;
  for (int i = 0; i < depth_; ++i) {
    const Axis axis = (*this)[i];
    if (axis.size == 1) {
      continue;
    }
    if (kept > 0) {
      Axis& outer = (*this)[kept - 1];
      bool even = true;
      for (size_t k = 0; k < axis.strides.size(); ++k) {
        even = even && outer.strides[k] == axis.strides[k] * axis.size;
      }
      if (even) {
        outer.size *= axis.size;
        outer.strides = axis.strides;
        continue;
      }
    }
    (*this)[kept++] = axis;
  }
  depth_ = kept;
}

Axis Nest::take_innermost() { return depth_ == 0 ? Axis{} : (*this)[--depth_]; }

Walk::Walk(const Nest& nest, int64_t at) : nest_(nest) {
  for (int i = nest.depth() - 1; i >= 0 && at > 0; --i) {
    const Axis& axis = nest[i];
    if (axis.size == 0) {
      return;
    }
    const int64_t index = at % axis.size;
    index_[static_cast<size_t>(i)] = index;
    move(axis, index);
    at /= axis.size;
  }
}

}  // namespace etrt::ops
