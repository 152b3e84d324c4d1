#include "ops/index_walk.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "core/thread_pool.h"

namespace etrt::ops {
namespace {

constexpr int64_t kBlock = 256;

// Collects offsets until there are enough for a call of the body.
struct Block {
  std::array<int64_t, kBlock> moving;
  std::array<int64_t, kBlock> still;
  int64_t count = 0;
};

// Rows [begin, end) of the index. Returns false, with the value in `bad`, at an index out of range.
bool walk_rows(const IndexWalk& w, const Tensor& index, LoadRun<int64_t> load, int64_t begin, int64_t end,
               const WalkBody& body, int64_t& bad) {
  const int inner = w.sizes.size() - 1;
  const int64_t row_size = w.sizes[inner];
  const auto index_size = static_cast<int64_t>(index.element_size());
  std::array<int64_t, Dims::kCapacity> at{};
  int64_t from = 0;
  int64_t moving = 0;
  int64_t still = 0;
  int64_t rest = begin;
  for (int d = inner - 1; d >= 0; --d) {
    const int64_t i = rest % w.sizes[d];
    rest /= w.sizes[d];
    at[static_cast<size_t>(d)] = i;
    from += i * w.index_strides[d];
    moving += i * w.moving_strides[d];
    still += i * w.still_strides[d];
  }
  Block block;
  std::array<int64_t, kBlock> indices;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t first = 0; first < row_size;) {
      const int64_t n = std::min(row_size - first, kBlock - block.count);
      load(index.bytes() + (from + first * w.index_strides[inner]) * index_size, w.index_strides[inner], n,
           indices.data());
      for (int64_t i = 0; i < n; ++i) {
        int64_t place = indices[static_cast<size_t>(i)];
        if (w.wraps && place < 0) {
          place += w.limit;
        }
        if (place < 0 || place >= w.limit) {
          bad = indices[static_cast<size_t>(i)];
          return false;
        }
        const auto k = static_cast<size_t>(block.count + i);
        block.moving[k] = moving + (first + i) * w.moving_strides[inner] + place * w.step;
        block.still[k] = still + (first + i) * w.still_strides[inner];
      }
      block.count += n;
      first += n;
      if (block.count == kBlock) {
        body(block.moving.data(), block.still.data(), kBlock);
        block.count = 0;
      }
    }
    for (int d = inner - 1; d >= 0; --d) {
      int64_t& i = at[static_cast<size_t>(d)];
      from += w.index_strides[d];
      moving += w.moving_strides[d];
      still += w.still_strides[d];
      if (++i < w.sizes[d]) {
        break;
      }
      from -= i * w.index_strides[d];
      moving -= i * w.moving_strides[d];
      still -= i * w.still_strides[d];
      i = 0;
    }
  }
  if (block.count > 0) {
    body(block.moving.data(), block.still.data(), block.count);
  }
  return true;
}

template <class T>
void copy_words_at(const void* source, const int64_t* source_offsets, void* target, const int64_t* target_offsets,
                   int64_t n) {
  const auto* from = static_cast<const T*>(source);
  auto* to = static_cast<T*>(target);
  if (target_offsets == nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      to[i] = from[source_offsets[i]];
    }
  } else if (source_offsets == nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      to[target_offsets[i]] = from[i];
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      to[target_offsets[i]] = from[source_offsets[i]];
    }
  }
}

}  // namespace

Status index_out_of_range(const Call& call, int64_t index, int64_t limit, int dim) {
  return call.fail(Status::InvalidArgument, "index {} is out of range for dimension {} of size {}", index, dim, limit);
}

Status check_index_dtype(const Call& call, const Tensor& index) {
  if (index.numel() > 0 && (!is_int(index.dtype) || load_run<int64_t>(index.dtype) == nullptr)) {
    return call.fail(Status::InvalidType, "{} has dtype {}, expected int64 or int32", call.arg_name(index),
                     dtype_name(index.dtype));
  }
  return Status::Ok;
}

Status walk(const Call& call, const IndexWalk& w, const Tensor& index, bool parallel, WalkBody body) {
  int64_t rows = 1;
  for (int d = 0; d + 1 < w.sizes.size(); ++d) {
    rows *= w.sizes[d];
  }
  const int64_t row_size = w.sizes[w.sizes.size() - 1];
  if (rows == 0 || row_size == 0) {
    return Status::Ok;
  }
  ET_TRY(check_index_dtype(call, index));
  const LoadRun<int64_t> load = load_run<int64_t>(index.dtype);
  constexpr int64_t kGrain = 1 << 14;
  const int64_t grain = std::max<int64_t>(kGrain / row_size, 1);
  int64_t bad = 0;
  bool ok = true;
  if (!parallel || rows <= grain) {
    ok = walk_rows(w, index, load, 0, rows, body, bad);
  } else {
    std::atomic<bool> all_ok{true};
    std::atomic<int64_t> any_bad{0};
    parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      int64_t here = 0;
      if (!walk_rows(w, index, load, begin, end, body, here)) {
        any_bad = here;
        all_ok = false;
      }
    });
    ok = all_ok;
    bad = any_bad;
  }
  return ok ? Status::Ok : index_out_of_range(call, bad, w.limit, w.dim);
}

void copy_at(size_t element_size, const void* source, const int64_t* source_offsets, void* target,
             const int64_t* target_offsets, int64_t n) {
  struct Words {
    uint64_t low;
    uint64_t high;
  };
  switch (element_size) {
    case 1:
      copy_words_at<uint8_t>(source, source_offsets, target, target_offsets, n);
      break;
    case 2:
      copy_words_at<uint16_t>(source, source_offsets, target, target_offsets, n);
      break;
    case 4:
      copy_words_at<uint32_t>(source, source_offsets, target, target_offsets, n);
      break;
    case 8:
      copy_words_at<uint64_t>(source, source_offsets, target, target_offsets, n);
      break;
    default:
      copy_words_at<Words>(source, source_offsets, target, target_offsets, n);
      break;
  }
}

Result<const int64_t*> checked_indices(Call& call, const Tensor& index, int64_t limit, int dim, bool wraps) {
  ET_TRY(check_index_dtype(call, index));
  const int64_t n = index.numel();
  auto* places = call.scratch<int64_t>(n);
  if (n == 0) {
    return places;
  }
  load_run<int64_t>(index.dtype)(row_major_data(call, index), 1, n, places);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t given = places[i];
    if (wraps && given < 0) {
      places[i] += limit;
    }
    if (places[i] < 0 || places[i] >= limit) {
      return index_out_of_range(call, given, limit, dim);
    }
  }
  return places;
}

void copy_slices(const View& from, int dim, const int64_t* places, const View& to) {
  if (to.empty()) {
    return;
  }
  const int64_t n = to.sizes[dim];
  const auto size = static_cast<int64_t>(dtype_size(to.dtype));
  // A slice is a run of `run` elements, `from_step` and `to_step` apart, for each place outside it.
  int64_t run = 1;
  int inner = to.rank();
  while (inner - 1 > dim && (from.strides[inner - 1] == run || from.sizes[inner - 1] == 1) &&
         (to.strides[inner - 1] == run || to.sizes[inner - 1] == 1)) {
    run *= to.sizes[--inner];
  }
  // What is neither the indexed dimension nor in the run.
  View outer_from = from;
  View outer_to = to;
  while (outer_from.rank() > inner) {
    drop_dim(outer_from, inner);
    drop_dim(outer_to, inner);
  }
  drop_dim(outer_from, dim);
  drop_dim(outer_to, dim);
  int64_t outer = 1;
  for (const int64_t s : outer_to.sizes) {
    outer *= s;
  }
  const std::byte* source = from.first();
  std::byte* target = to.first();
  const auto copy = [&](int64_t begin, int64_t end) {
    while (begin < end) {
      int64_t rest = begin / n;
      int64_t from_at = 0;
      int64_t to_at = 0;
      for (int d = outer_to.rank() - 1; d >= 0; --d) {
        const int64_t i = rest % outer_to.sizes[d];
        rest /= outer_to.sizes[d];
        from_at += i * outer_from.strides[d];
        to_at += i * outer_to.strides[d];
      }
      const int64_t first = begin % n;
      const int64_t last = std::min(n, first + end - begin);
      for (int64_t i = first; i < last; ++i) {
        std::memmove(target + (to_at + i * to.strides[dim]) * size,
                     source + (from_at + places[i] * from.strides[dim]) * size, static_cast<size_t>(run * size));
      }
      begin += last - first;
    }
  };
  constexpr int64_t kGrainBytes = int64_t{1} << 17;
  const int64_t grain = std::max<int64_t>(kGrainBytes / (run * size), 64);
  if (outer * n <= grain) {
    copy(0, outer * n);
  } else {
    parallel_for(outer * n, grain, copy);
  }
}

}  // namespace etrt::ops
