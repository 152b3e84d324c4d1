#include "ops/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "core/convert.h"
#include "core/thread_pool.h"
#include "ops/dims.h"

namespace etrt::ops {
namespace {

// One dimension of the copy; steps in bytes.
struct Loop {
  int64_t size;
  int64_t source;
  int64_t target;
};

// The copy as nested loops, the outermost first, around units of `unit` bytes.
struct Nest {
  int count = 0;
  std::array<Loop, Dims::kCapacity> loops;
  int64_t source_unit = 0;
  int64_t target_unit = 0;

  Loop& operator[](int i) { return loops[static_cast<size_t>(i)]; }
  const Loop& operator[](int i) const { return loops[static_cast<size_t>(i)]; }
};

// Orders the loops so that the target is written front to back, and merges loops that walk as one.
// False when there is nothing to copy.
bool make_nest(Nest& nest, std::span<const int64_t> sizes, std::span<const int64_t> source_strides,
               std::span<const int64_t> target_strides, int64_t source_size, int64_t target_size) {
  nest.source_unit = source_size;
  nest.target_unit = target_size;
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) {
    return false;
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1) {
      nest[nest.count++] = {sizes[d], source_strides[d] * source_size, target_strides[d] * target_size};
    }
  }
  // Insertion sort: few loops, mostly in order.
  for (int i = 1; i < nest.count; ++i) {
    const Loop loop = nest[i];
    int k = i;
    for (; k > 0 && std::abs(nest[k - 1].target) < std::abs(loop.target); --k) {
      nest[k] = nest[k - 1];
    }
    nest[k] = loop;
  }
  int kept = 0;
  for (int i = 1; i < nest.count; ++i) {
    Loop& outer = nest[kept];
    const Loop& inner = nest[i];
    if (outer.source == inner.source * inner.size && outer.target == inner.target * inner.size) {
      outer = {outer.size * inner.size, inner.source, inner.target};
    } else {
      nest[++kept] = inner;
    }
  }
  nest.count = std::min(nest.count, kept + 1);
  return true;
}

// Runs body(source_offset, target_offset, row_begin, row_end) over everything outside the two innermost loops and
// over stretches of the second innermost one, in parallel where that pays.
template <class Body>
void for_each_block(const Nest& nest, const Body& body) {
  const int rows_at = nest.count - 2;
  int64_t rows = 1;
  for (int i = 0; i <= rows_at; ++i) {
    rows *= nest[i].size;
  }
  constexpr int64_t kGrainBytes = int64_t{1} << 17;
  const int64_t row_bytes = std::max<int64_t>(nest[nest.count - 1].size * nest.target_unit, 1);
  const int64_t grain = std::max<int64_t>(kGrainBytes / row_bytes, 1);
  const auto run = [&](int64_t begin, int64_t end) {
    // Where row `begin` is.
    std::array<int64_t, Dims::kCapacity> index{};
    int64_t source = 0;
    int64_t target = 0;
    int64_t rest = begin;
    for (int i = rows_at; i >= 0; --i) {
      const int64_t at = rest % nest[i].size;
      rest /= nest[i].size;
      index[static_cast<size_t>(i)] = at;
      if (i != rows_at) {
        source += at * nest[i].source;
        target += at * nest[i].target;
      }
    }
    int64_t first = index[static_cast<size_t>(rows_at)];
    while (begin < end) {
      const int64_t count = std::min(nest[rows_at].size - first, end - begin);
      body(source, target, first, first + count);
      begin += count;
      first = 0;
      for (int i = rows_at - 1; i >= 0; --i) {
        int64_t& at = index[static_cast<size_t>(i)];
        source += nest[i].source;
        target += nest[i].target;
        if (++at < nest[i].size) {
          break;
        }
        source -= at * nest[i].source;
        target -= at * nest[i].target;
        at = 0;
      }
    }
  };
  if (rows <= grain) {
    run(0, rows);
  } else {
    parallel_for(rows, grain, run);
  }
}

// At least two loops, so that every copy has rows and elements of a row.
void pad_to_two(Nest& nest) {
  while (nest.count < 2) {
    for (int i = nest.count; i > 0; --i) {
      nest[i] = nest[i - 1];
    }
    nest[0] = {1, 0, 0};
    ++nest.count;
  }
}

template <size_t N>
struct Unit {
  std::array<std::byte, N> bytes;
};

template <class T>
void copy_one(const std::byte* source, std::byte* target) {
  T v;
  std::memcpy(&v, source, sizeof(T));
  std::memcpy(target, &v, sizeof(T));
}

// One row of `n` units.
template <class T>
void copy_row(int64_t n, const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step) {
  constexpr int64_t kSize = sizeof(T);
  if (source_step == 0 && target_step == kSize) {
    T v;
    std::memcpy(&v, source, sizeof(T));
    for (int64_t i = 0; i < n; ++i) {
      std::memcpy(target + i * kSize, &v, sizeof(T));
    }
  } else if (target_step == kSize) {
    for (int64_t i = 0; i < n; ++i) {
      copy_one<T>(source + i * source_step, target + i * kSize);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      copy_one<T>(source + i * source_step, target + i * target_step);
    }
  }
}

// Rows of a transposition: the source runs along the rows, the target along a row. Small tiles keep the cache
// lines of both in reach.
template <class T>
void copy_tiled(const Loop& rows, int64_t row_begin, int64_t row_end, const Loop& row, const std::byte* source,
                std::byte* target) {
  constexpr int64_t kTile = 32;
  for (int64_t r0 = row_begin; r0 < row_end; r0 += kTile) {
    const int64_t r1 = std::min(r0 + kTile, row_end);
    for (int64_t c0 = 0; c0 < row.size; c0 += kTile) {
      const int64_t n = std::min(kTile, row.size - c0);
      for (int64_t r = r0; r < r1; ++r) {
        copy_row<T>(n, source + r * rows.source + c0 * row.source, row.source,
                    target + r * rows.target + c0 * row.target, row.target);
      }
    }
  }
}

template <class T>
void copy_units(const Nest& nest, const std::byte* source, std::byte* target) {
  const Loop& rows = nest[nest.count - 2];
  const Loop& row = nest[nest.count - 1];
  const bool transposes = std::abs(rows.source) < std::abs(row.source) && rows.size > 1;
  for_each_block(nest, [&](int64_t s, int64_t t, int64_t begin, int64_t end) {
    if (transposes) {
      copy_tiled<T>(rows, begin, end, row, source + s, target + t);
      return;
    }
    for (int64_t r = begin; r < end; ++r) {
      copy_row<T>(row.size, source + s + r * rows.source, row.source, target + t + r * rows.target, row.target);
    }
  });
}

void copy_chunks(const Nest& nest, size_t chunk, const std::byte* source, std::byte* target) {
  const Loop& rows = nest[nest.count - 2];
  const Loop& row = nest[nest.count - 1];
  for_each_block(nest, [&](int64_t s, int64_t t, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t i = 0; i < row.size; ++i) {
        std::memmove(target + t + r * rows.target + i * row.target, source + s + r * rows.source + i * row.source,
                     chunk);
      }
    }
  });
}

// One run of bytes.
void copy_bytes(const std::byte* source, std::byte* target, int64_t n) {
  constexpr int64_t kParallel = int64_t{1} << 20;
  const auto overlap = source < target + n && target < source + n;
  if (n < kParallel || overlap) {
    std::memmove(target, source, static_cast<size_t>(n));
    return;
  }
  parallel_for(n, kParallel / 2, [&](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
}

// Where the innermost loop is no run in the source but another loop is, that one goes next to it, so that
// copy_tiled sees both.
void bring_source_run_near(Nest& nest) {
  if (nest.count < 3) {
    return;
  }
  int best = nest.count - 2;
  for (int i = 0; i < nest.count - 2; ++i) {
    if (nest[i].source != 0 && std::abs(nest[i].source) < std::abs(nest[best].source)) {
      best = i;
    }
  }
  const Loop& row = nest[nest.count - 1];
  if (best == nest.count - 2 || std::abs(nest[best].source) >= std::abs(row.source)) {
    return;
  }
  const Loop loop = nest[best];
  for (int i = best; i < nest.count - 2; ++i) {
    nest[i] = nest[i + 1];
  }
  nest[nest.count - 2] = loop;
}

// Splits off the innermost loop when it is a run in both memories. Returns the bytes of the run.
int64_t take_run(Nest& nest) {
  int64_t chunk = nest.source_unit;
  while (nest.count > 0 && nest[nest.count - 1].source == chunk && nest[nest.count - 1].target == chunk) {
    chunk *= nest[nest.count - 1].size;
    --nest.count;
  }
  nest.source_unit = chunk;
  nest.target_unit = chunk;
  return chunk;
}

}  // namespace

void strided_copy(size_t element_size, std::span<const int64_t> sizes, const void* source,
                  std::span<const int64_t> source_strides, void* target, std::span<const int64_t> target_strides) {
  const auto unit = static_cast<int64_t>(element_size);
  Nest nest;
  if (!make_nest(nest, sizes, source_strides, target_strides, unit, unit)) {
    return;
  }
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  const int64_t chunk = take_run(nest);
  if (nest.count == 0) {
    copy_bytes(from, to, chunk);
    return;
  }
  bring_source_run_near(nest);
  pad_to_two(nest);
  switch (chunk) {
    case 1:
      copy_units<uint8_t>(nest, from, to);
      break;
    case 2:
      copy_units<uint16_t>(nest, from, to);
      break;
    case 4:
      copy_units<uint32_t>(nest, from, to);
      break;
    case 8:
      copy_units<uint64_t>(nest, from, to);
      break;
    case 16:
      copy_units<Unit<16>>(nest, from, to);
      break;
    default:
      copy_chunks(nest, static_cast<size_t>(chunk), from, to);
      break;
  }
}

bool strided_convert(std::span<const int64_t> sizes, DType source_dtype, const void* source,
                     std::span<const int64_t> source_strides, DType target_dtype, void* target,
                     std::span<const int64_t> target_strides) {
  if (source_dtype == target_dtype) {
    strided_copy(dtype_size(source_dtype), sizes, source, source_strides, target, target_strides);
    return true;
  }
  if (!convert_run(source_dtype, source, 1, target_dtype, target, 1, 0)) {
    return false;
  }
  const auto source_size = static_cast<int64_t>(dtype_size(source_dtype));
  const auto target_size = static_cast<int64_t>(dtype_size(target_dtype));
  Nest nest;
  if (!make_nest(nest, sizes, source_strides, target_strides, source_size, target_size)) {
    return true;
  }
  pad_to_two(nest);
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  const Loop& rows = nest[nest.count - 2];
  const Loop& row = nest[nest.count - 1];
  const int64_t source_step = row.source / source_size;
  const int64_t target_step = row.target / target_size;
  for_each_block(nest, [&](int64_t s, int64_t t, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      (void)convert_run(source_dtype, from + s + r * rows.source, source_step, target_dtype, to + t + r * rows.target,
                        target_step, row.size);
    }
  });
  return true;
}

void strided_fill(size_t element_size, std::span<const int64_t> sizes, const void* value, void* target,
                  std::span<const int64_t> target_strides) {
  Dims still;
  for (size_t i = 0; i < sizes.size(); ++i) {
    still.push_back(0);
  }
  strided_copy(element_size, sizes, value, still, target, target_strides);
}

}  // namespace etrt::ops
