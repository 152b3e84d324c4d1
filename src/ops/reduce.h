// Reductions: which elements of a tensor fold into which element of a result, and the loops that do it.
//
// A fold says how elements combine:
//
//   struct Sum {
//     using In = float;                                  // what elements are read as
//     using Acc = double;                                // what is carried along
//     Acc start() const;                                 // before the first element
//     void step(Acc& acc, In x) const;                   // one more element
//     void merge(Acc& acc, const Acc& part) const;       // another part's elements
//   };
//
// A fold that needs places (argmax) or whole runs derives nothing and writes run() and lanes() itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "core/thread_pool.h"
#include "ops/checks.h"
#include "ops/dims.h"
#include "ops/element_io.h"
#include "ops/nest.h"
#include "ops/op.h"

namespace etrt::ops {

// Every dimension of a tensor as a mask.
inline uint32_t all_dims(const Tensor& self) { return (1U << self.rank()) - 1U; }
// The dimensions that a `dim` argument names; absent or empty stands for all of them.
Result<uint32_t> reduced_dims(const Call& call, const Tensor& self, std::optional<IntList> dim);
// The sizes left when those of `mask` are reduced: dropped, or kept as 1.
Dims reduced_sizes(const Tensor& self, uint32_t mask, bool keepdim);
// Refuses a reduction without an identity over no elements at all.
Status check_not_empty(const Call& call, const Tensor& self, uint32_t mask);
// Refuses a tensor with elements but no memory for them.
Status check_memory(const Call& call, const Tensor& tensor);

struct ReduceSpace {
  Nest kept;     // operand 0 is self, 1 and up the outputs
  Nest reduced;  // operand 0 is self
  int64_t outputs = 0;
  int64_t count = 0;  // elements of self per output element
};

enum class FoldOrder { Any, RowMajor };

// The index space of a reduction of `self` over `mask`. Checks the sizes of the outputs.
Result<ReduceSpace> reduce_space(const Call& call, const Tensor& self, uint32_t mask, bool keepdim,
                                 std::initializer_list<const Tensor*> outs, FoldOrder order = FoldOrder::Any);

namespace detail {

// Work of fewer elements than this stays on one thread.
inline constexpr int64_t kReduceGrain = 1 << 15;

template <class Fold>
concept FoldsRuns = requires(const Fold& fold, typename Fold::Acc& acc, const typename Fold::In* x) {
  fold.run(acc, x, int64_t{}, int64_t{});
  fold.lanes(&acc, x, int64_t{}, int64_t{});
};

// Folds `n` elements, the first of which is number `at` of its reduction, into one accumulator.
template <class Fold>
void fold_run(const Fold& fold, typename Fold::Acc& acc, const typename Fold::In* x, int64_t n, int64_t at) {
  if constexpr (FoldsRuns<Fold>) {
    fold.run(acc, x, n, at);
  } else {
    // Independent parts: shorter chains of dependent operations, and smaller rounding errors.
    constexpr int64_t kParts = 8;
    if (n >= 2 * kParts) {
      typename Fold::Acc parts[kParts];
      for (auto& part : parts) {
        part = fold.start();
      }
      const int64_t whole = n - n % kParts;
      for (int64_t i = 0; i < whole; i += kParts) {
        for (int64_t k = 0; k < kParts; ++k) {
          fold.step(parts[k], x[i + k]);
        }
      }
      for (const auto& part : parts) {
        fold.merge(acc, part);
      }
      x += whole;
      n -= whole;
    }
    for (int64_t i = 0; i < n; ++i) {
      fold.step(acc, x[i]);
    }
  }
}

// Folds x[j] into accs[j]; all are number `at` of their reduction.
template <class Fold>
void fold_lanes(const Fold& fold, typename Fold::Acc* accs, const typename Fold::In* x, int64_t n, int64_t at) {
  if constexpr (FoldsRuns<Fold>) {
    fold.lanes(accs, x, n, at);
  } else {
    for (int64_t j = 0; j < n; ++j) {
      fold.step(accs[j], x[j]);
    }
  }
}

// One output after the other: its elements lie closer together than those of neighbouring outputs.
template <class Fold, class Finish>
void reduce_by_output(const ReduceSpace& space, const Fold& fold, const Reader<typename Fold::In>& reader,
                      const std::byte* data, const Finish& finish) {
  Nest outer = space.reduced;
  const Axis inner = outer.take_innermost();
  const int64_t rows = outer.positions();
  const int64_t grain = std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(space.count, 1));
  parallel_for(space.outputs, grain, [&](int64_t begin, int64_t end) {
    typename Fold::In buffer[Reader<typename Fold::In>::kRun];
    Walk output(space.kept, begin);
    for (int64_t o = begin; o < end; ++o, output.next()) {
      typename Fold::Acc acc = fold.start();
      Walk row(outer);
      int64_t at = 0;
      for (int64_t r = 0; r < rows; ++r, row.next()) {
        const int64_t start = output.offset(0) + row.offset(0);
        for (int64_t i = 0; i < inner.size; i += reader.kRun) {
          const int64_t n = std::min(reader.kRun, inner.size - i);
          const std::byte* from = data + (start + i * inner.strides[0]) * reader.element_size();
          fold_run(fold, acc, reader.run(from, inner.strides[0], n, buffer), n, at);
          at += n;
        }
      }
      finish(acc, output);
    }
  });
}

// Many outputs at a time: neighbouring outputs lie closer together than the elements of one.
template <class Fold, class Finish>
void reduce_by_lanes(const ReduceSpace& space, const Fold& fold, const Reader<typename Fold::In>& reader,
                     const std::byte* data, const Finish& finish) {
  constexpr int64_t kLanes = Reader<typename Fold::In>::kRun;
  Nest outer = space.kept;
  const Axis inner = outer.take_innermost();
  const int64_t blocks = (inner.size + kLanes - 1) / kLanes;
  const int64_t work = std::max<int64_t>(space.count, 1) * std::min(inner.size, kLanes);
  const int64_t grain = std::max<int64_t>(1, kReduceGrain / work);
  parallel_for(outer.positions() * blocks, grain, [&](int64_t begin, int64_t end) {
    typename Fold::In buffer[kLanes];
    typename Fold::Acc accs[kLanes];
    for (int64_t b = begin; b < end; ++b) {
      const Walk base(outer, b / blocks);
      const int64_t first = b % blocks * kLanes;
      const int64_t n = std::min(kLanes, inner.size - first);
      std::fill_n(accs, n, fold.start());
      Walk row(space.reduced);
      for (int64_t at = 0; at < space.count; ++at, row.next()) {
        const int64_t start = base.offset(0) + row.offset(0) + first * inner.strides[0];
        fold_lanes(fold, accs, reader.run(data + start * reader.element_size(), inner.strides[0], n, buffer), n, at);
      }
      Walk output(space.kept, b / blocks * inner.size + first);
      for (int64_t j = 0; j < n; ++j, output.next()) {
        finish(accs[j], output);
      }
    }
  });
}

}  // namespace detail

// Folds the elements at `data` and calls finish(accumulator, walk) once for every output; walk.offset(k) is where
// output k (from 1) keeps it. Calls come from several threads.
template <class Fold, class Finish>
void reduce(const ReduceSpace& space, const Fold& fold, const Reader<typename Fold::In>& reader, const std::byte* data,
            const Finish& finish) {
  if (space.outputs == 0) {
    return;
  }
  const int kept = space.kept.depth();
  const int reduced = space.reduced.depth();
  if (kept > 0 && space.count > 0 && space.kept[kept - 1].size > 3 &&
      (reduced == 0 || space.kept[kept - 1].strides[0] < space.reduced[reduced - 1].strides[0])) {
    detail::reduce_by_lanes(space, fold, reader, data, finish);
  } else {
    detail::reduce_by_output(space, fold, reader, data, finish);
  }
}

// The same for one output tensor, which gets value(accumulator), of type R.
template <class R, class Fold, class ValueOf>
Status reduce_into(const Call& call, const ReduceSpace& space, const Fold& fold, const Tensor& self, DType as,
                   const Tensor& out, const ValueOf& value) {
  const Reader<typename Fold::In> reader(self.dtype, as);
  const Writer<R> writer(out);
  if (!reader.ok()) {
    return refuse_dtype(call, self);
  }
  if (!writer.ok()) {
    return refuse_dtype(call, out);
  }
  reduce(space, fold, reader, self.bytes(),
         [&](const typename Fold::Acc& acc, const Walk& at) { writer.put(at.offset(1), value(acc)); });
  return Status::Ok;
}

// Gives every output the sizes of a reduction.
Status resize_reduced(Call& call, const Tensor& self, uint32_t mask, bool keepdim, std::initializer_list<Tensor*> outs);

}  // namespace etrt::ops
