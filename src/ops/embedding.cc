// Rows of a table by index, alone or reduced in bags.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/convert.h"
#include "ops/apart.h"
#include "ops/compute.h"
#include "ops/index_walk.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

Status check_table(const Call& call, const Tensor& weight) {
  return weight.rank() == 2 ? Status::Ok
                            : call.fail(Status::InvalidArgument, "weight has {} dimensions, expected 2", weight.rank());
}

Result<Dims> embedded_sizes(const Call& call, const Tensor& weight, const Tensor& indices) {
  ET_TRY(check_table(call, weight));
  Dims sizes(indices.sizes());
  sizes.push_back(weight.size(1));
  return sizes;
}

Status embedding_shape(Call& call, const Tensor& weight, const Tensor& indices, int64_t /*padding_idx*/,
                       bool /*scale_grad_by_freq*/, bool /*sparse*/, Tensor& out) {
  ET_ASSIGN(const Dims sizes, embedded_sizes(call, weight, indices));
  return call.resize(out, sizes);
}

Status embedding(Call& call, const Tensor& weight, const Tensor& indices, int64_t /*padding_idx*/,
                 bool /*scale_grad_by_freq*/, bool /*sparse*/, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, weight));
  ET_ASSIGN(const Dims sizes, embedded_sizes(call, weight, indices));
  ET_TRY(check_sizes(call, out, sizes));
  ET_ASSIGN(const int64_t* places, checked_indices(call, indices, weight.size(0), 0));
  const Tensor flat = is_row_major(out) ? out : call.scratch_tensor(out.dtype, sizes);
  const std::array<int64_t, 2> rows{indices.numel(), weight.size(1)};
  copy_slices(view_of(weight), 0, places, row_major_view(flat.data, flat.dtype, rows));
  return flat.data == out.data ? Status::Ok : copy_view(call, view_of(flat), view_of(out));
}

// ---------------------------------------------------------------------------------------------------------
// The gradient with respect to the table.

Status embedding_backward_shape(Call& call, const Tensor& grad_output, const Tensor& /*indices*/, int64_t num_weights,
                                int64_t /*padding_idx*/, bool /*scale_grad_by_freq*/, Tensor& out) {
  if (grad_output.rank() == 0) {
    return call.fail(Status::InvalidArgument, "grad_output is a scalar");
  }
  return call.resize(out, std::array{num_weights, grad_output.size(grad_output.rank() - 1)});
}

// out[place] += scale * grad for one row; C is the computing type.
template <class C>
void add_row(const std::byte* grad, C scale, std::byte* out, int64_t out_stride, DType dtype, int64_t n, C* buffer) {
  load_run<C>(dtype)(grad, 1, n, buffer);
  load_run<C>(dtype)(out, out_stride, n, buffer + n);
  for (int64_t i = 0; i < n; ++i) {
    buffer[n + i] += scale * buffer[i];
  }
  store_run<C>(dtype)(buffer + n, out, out_stride, n);
}

template <class C>
void add_rows(Call& call, const std::byte* grad, const int64_t* places, int64_t count, int64_t padding,
              const int64_t* frequencies, Tensor& out) {
  const int64_t n = out.size(1);
  auto* buffer = call.scratch<C>(2 * n);
  const auto size = static_cast<int64_t>(out.element_size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = places[i];
    if (place == padding) {
      continue;
    }
    const C scale = frequencies == nullptr ? C{1} : C{1} / static_cast<C>(frequencies[place]);
    add_row<C>(grad + i * n * size, scale, out.bytes() + place * out.stride(0) * size, out.stride(1), out.dtype, n,
               buffer);
  }
}

Status embedding_backward(Call& call, const Tensor& grad_output, const Tensor& indices, int64_t num_weights,
                          int64_t padding_idx, bool scale_grad_by_freq, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, grad_output));
  Dims expected(indices.sizes());
  expected.push_back(grad_output.rank() > 0 ? grad_output.size(grad_output.rank() - 1) : 0);
  ET_TRY(check_sizes(call, grad_output, expected));
  ET_TRY(check_sizes(call, out, std::array{num_weights, expected[expected.size() - 1]}));
  if (!is_real(out.dtype) || !is_float(out.dtype)) {
    return call.fail(Status::InvalidType, "grad_output has dtype {}, expected a float", dtype_name(out.dtype));
  }
  ET_ASSIGN(const int64_t* places, checked_indices(call, indices, num_weights, 0));
  int64_t* frequencies = nullptr;
  if (scale_grad_by_freq) {
    frequencies = call.scratch<int64_t>(num_weights);
    std::fill_n(frequencies, num_weights, 0);
    for (int64_t i = 0; i < indices.numel(); ++i) {
      ++frequencies[places[i]];
    }
  }
  const std::byte* grad = row_major_data(call, grad_output);
  zero_fill(out);
  if (out.dtype == DType::Float64) {
    add_rows<double>(call, grad, places, indices.numel(), padding_idx, frequencies, out);
  } else {
    add_rows<float>(call, grad, places, indices.numel(), padding_idx, frequencies, out);
  }
  return Status::Ok;
}

// ---------------------------------------------------------------------------------------------------------
// embedding_renorm: rows that are used and longer than max_norm are scaled down to it.

Status embedding_renorm_shape(Call& call, const Tensor& self, const Tensor& /*indices*/, double /*max_norm*/,
                              double /*norm_type*/, Tensor& out) {
  return call.resize(out, self.sizes());
}

template <class C>
double norm_of(const C* row, int64_t n, double p) {
  double sum = 0;
  double largest = 0;
  for (int64_t k = 0; k < n; ++k) {
    const double size = std::abs(static_cast<double>(row[k]));
    sum += p == 2 ? size * size : p == 1 ? size : p == 0 ? (size != 0 ? 1 : 0) : std::pow(size, p);
    largest = size > largest || size != size ? size : largest;
  }
  return std::isinf(p) ? largest : p == 2 ? std::sqrt(sum) : p == 1 || p == 0 ? sum : std::pow(sum, 1 / p);
}

Status embedding_renorm(Call& call, const Tensor& self, const Tensor& indices, double max_norm, double norm_type,
                        Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_table(call, self));
  ET_TRY(check_sizes(call, out, self.sizes()));
  ET_ASSIGN(const int64_t* places, checked_indices(call, indices, self.size(0), 0));
  ET_TRY(copy_view(call, view_of(self), view_of(out)));
  auto* done = call.scratch<bool>(self.size(0));
  std::fill_n(done, self.size(0), false);
  return visit_float(call, self.dtype, [&]<class C>() {
    const int64_t n = out.size(1);
    auto* row = call.scratch<C>(n);
    for (int64_t i = 0; i < indices.numel(); ++i) {
      if (std::exchange(done[places[i]], true)) {
        continue;
      }
      std::byte* at = out.bytes() + places[i] * out.stride(0) * static_cast<int64_t>(out.element_size());
      load_run<C>(out.dtype)(at, out.stride(1), n, row);
      const double norm = norm_of(row, n, norm_type);
      if (norm > max_norm) {
        const auto scale = static_cast<C>(max_norm / (norm + 1e-7));
        std::transform(row, row + n, row, [scale](C x) { return x * scale; });
        store_run<C>(out.dtype)(row, at, out.stride(1), n);
      }
    }
    return Status::Ok;
  });
}

// ---------------------------------------------------------------------------------------------------------
// embedding_bag

enum class BagMode : uint8_t { Sum = 0, Mean = 1, Max = 2 };

struct Bags {
  BagMode mode = BagMode::Sum;
  int64_t count = 0;
  const int64_t* places = nullptr;  // rows of the table
  const int64_t* starts = nullptr;  // count + 1 positions in places
  int64_t padding = -1;             // a row that doesn't count
};

// Bag i holds the indices from offsets[i] to offsets[i + 1], the last one up to the end.
Result<Bags> bags_of(Call& call, const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
                     bool include_last_offset, int64_t padding_idx) {
  ET_TRY(check_table(call, weight));
  if (indices.rank() != 1 || offsets.rank() != 1 || (include_last_offset && offsets.numel() == 0)) {
    return call.fail(Status::InvalidArgument, "indices of sizes {} and offsets of sizes {} must be vectors",
                     sizes_text(indices.sizes()), sizes_text(offsets.sizes()));
  }
  if (mode < 0 || mode > 2) {
    return call.fail(Status::InvalidArgument, "mode {} is none of 0 (sum), 1 (mean) and 2 (max)", mode);
  }
  Bags bags;
  bags.mode = static_cast<BagMode>(mode);
  bags.count = offsets.numel() - (include_last_offset ? 1 : 0);
  bags.padding = padding_idx < 0 ? padding_idx + weight.size(0) : padding_idx;
  if (padding_idx == -1) {
    bags.padding = -1;  // the default: none
  }
  ET_ASSIGN(bags.places, checked_indices(call, indices, weight.size(0), 0));
  ET_ASSIGN(const int64_t* given, checked_indices(call, offsets, indices.numel() + 1, 0));
  auto* starts = call.scratch<int64_t>(bags.count + 1);
  std::copy_n(given, bags.count, starts);
  starts[bags.count] = include_last_offset ? given[bags.count] : indices.numel();
  bags.starts = starts;
  if (!std::is_sorted(starts, starts + bags.count + 1) || (bags.count > 0 && starts[0] != 0)) {
    return call.fail(Status::InvalidArgument, "offsets must start with 0 and never fall");
  }
  return bags;
}

// Reduces one bag into `sum`; returns how many indices counted. `best` takes the rows of the maxima.
template <class C>
int64_t reduce_bag(const Bags& bags, int64_t bag, const Tensor& weight, const C* factors, C* row, C* sum,
                   int64_t* best) {
  const int64_t n = weight.size(1);
  const auto size = static_cast<int64_t>(weight.element_size());
  std::fill_n(sum, n, C{});
  std::fill_n(best, bags.mode == BagMode::Max ? n : 0, 0);
  int64_t counted = 0;
  for (int64_t i = bags.starts[bag]; i < bags.starts[bag + 1]; ++i) {
    const int64_t place = bags.places[i];
    if (place == bags.padding) {
      continue;
    }
    load_run<C>(weight.dtype)(weight.bytes() + place * weight.stride(0) * size, weight.stride(1), n, row);
    const C factor = factors == nullptr ? C{1} : factors[i];
    for (int64_t k = 0; k < n; ++k) {
      if (bags.mode != BagMode::Max) {
        sum[k] += factor * row[k];
      } else if (counted == 0 || row[k] > sum[k]) {
        sum[k] = row[k];
        best[k] = place;
      }
    }
    ++counted;
  }
  for (int64_t k = 0; bags.mode == BagMode::Mean && counted > 0 && k < n; ++k) {
    sum[k] /= static_cast<C>(counted);
  }
  return counted;
}

// An auxiliary output of integers; a static one keeps the program's sizes, which differ with how it was traced.
Status resize_auxiliary(const Call& call, Tensor& out, std::span<const int64_t> sizes) {
  if (out.dtype != DType::Int64 && out.dtype != DType::Int32) {
    return call.fail(Status::InvalidType, "{} has dtype {}, expected int64 or int32", call.arg_name(out),
                     dtype_name(out.dtype));
  }
  if (out.dynamism != Dynamism::Static) {
    ET_TRY(call.resize(out, sizes));
  }
  zero_fill(out);
  return Status::Ok;
}

void set_auxiliary(const Tensor& out, int64_t i, int64_t value) {
  if (out.rank() == 1 && i < out.numel()) {
    store_one<int64_t>(out.dtype, out.bytes() + i * static_cast<int64_t>(out.element_size()), value);
  }
}

void set_max_row(const Tensor& out, int64_t bag, int64_t column, int64_t value) {
  if (out.rank() == 2 && bag < out.size(0) && column < out.size(1)) {
    const int64_t offset = bag * out.stride(0) + column * out.stride(1);
    store_one<int64_t>(out.dtype, out.bytes() + offset * static_cast<int64_t>(out.element_size()), value);
  }
}

struct BagOutputs {
  Tensor& sums;
  Tensor& bag_of_index;
  Tensor& bag_sizes;
  Tensor& max_rows;
};

template <class C>
Status run_bags(Call& call, const Bags& bags, const Tensor& weight, const Tensor* factors, int64_t index_count,
                const BagOutputs& out) {
  const int64_t n = weight.size(1);
  auto* row = call.scratch<C>(n);
  auto* sum = call.scratch<C>(n);
  auto* best = call.scratch<int64_t>(n);
  C* numbers = nullptr;
  if (factors != nullptr) {
    numbers = call.scratch<C>(index_count);
    load_run<C>(factors->dtype)(factors->data, 1, index_count, numbers);
  }
  const auto size = static_cast<int64_t>(out.sums.element_size());
  for (int64_t bag = 0; bag < bags.count; ++bag) {
    const int64_t counted = reduce_bag<C>(bags, bag, weight, numbers, row, sum, best);
    store_run<C>(out.sums.dtype)(sum, out.sums.bytes() + bag * out.sums.stride(0) * size, out.sums.stride(1), n);
    if (bags.mode == BagMode::Sum) {
      continue;
    }
    set_auxiliary(out.bag_sizes, bag, counted);
    if (bags.mode == BagMode::Mean) {
      set_auxiliary(out.max_rows, bag, counted);
    }
    for (int64_t k = 0; bags.mode == BagMode::Max && k < n; ++k) {
      set_max_row(out.max_rows, bag, k, best[k]);
    }
  }
  for (int64_t bag = 0; bag < bags.count; ++bag) {
    for (int64_t i = bags.starts[bag]; i < bags.starts[bag + 1]; ++i) {
      set_auxiliary(out.bag_of_index, i, bag);
    }
  }
  return Status::Ok;
}

Status embedding_bag(Call& call, const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                     bool /*scale_grad_by_freq*/, int64_t mode, bool /*sparse*/, const Tensor* per_sample_weights,
                     bool include_last_offset, int64_t padding_idx, Tensor& out0, Tensor& out1, Tensor& out2,
                     Tensor& out3) {
  ET_TRY(check_same_dtype(call, out0, weight));
  if (!is_real(weight.dtype) || !is_float(weight.dtype)) {
    return call.fail(Status::InvalidType, "weight has dtype {}, expected a float", dtype_name(weight.dtype));
  }
  for (const Tensor* out : {&out0, &out1, &out2, &out3}) {
    if (out == &weight || out == per_sample_weights) {
      return call.fail(Status::InvalidArgument, "an output is an input too");
    }
  }
  ET_ASSIGN(const Bags bags, bags_of(call, weight, indices, offsets, mode, include_last_offset, padding_idx));
  const int64_t index_count = indices.numel();
  if (per_sample_weights != nullptr) {
    ET_TRY(check_same_dtype(call, *per_sample_weights, weight));
    ET_TRY(check_sizes(call, *per_sample_weights, std::array{index_count}));
    if (bags.mode != BagMode::Sum) {
      return call.fail(Status::InvalidArgument, "per_sample_weights need mode 0 (sum), not {}", mode);
    }
  }
  // Where eager sums by its fast path, which has no padding and no float64, there is no map from indices to bags.
  const bool no_map =
      bags.mode == BagMode::Sum && bags.padding < 0 && weight.dtype != DType::Float64 && weight.stride(1) == 1;
  ET_TRY(call.resize(out0, std::array{bags.count, weight.size(1)}));
  ET_TRY(resize_auxiliary(call, out1, std::array{no_map ? 0 : index_count}));
  ET_TRY(resize_auxiliary(call, out2, std::array{bags.count}));
  if (bags.mode == BagMode::Max) {
    ET_TRY(resize_auxiliary(call, out3, std::array{bags.count, weight.size(1)}));
  } else {
    ET_TRY(resize_auxiliary(call, out3, std::array{bags.count}));
  }
  // Again, should an output be the same tensor as another.
  ET_TRY(check_sizes(call, out0, std::array{bags.count, weight.size(1)}));
  const BagOutputs outputs{out0, out1, out2, out3};
  return weight.dtype == DType::Float64 ? run_bags<double>(call, bags, weight, per_sample_weights, index_count, outputs)
                                        : run_bags<float>(call, bags, weight, per_sample_weights, index_count, outputs);
}

constexpr std::string_view kBagSchema =
    "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1, *, Tensor(a!) out0, "
    "Tensor(b!) out1, Tensor(c!) out2, Tensor(d!) out3) -> (Tensor(a!), Tensor(b!), Tensor(c!), Tensor(d!))";

constexpr Op kOps[] = {
    {"aten::embedding.out",
     "(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<embedding_shape>, bind<embedding>, kPure | kAnyLayout},
    {"aten::embedding_dense_backward.out",
     "(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     bind<embedding_backward_shape>, bind<embedding_backward>, kPure | kAnyLayout},
    {"aten::embedding_renorm.out",
     "(Tensor self, Tensor indices, float max_norm, float norm_type, *, Tensor(a!) out) -> Tensor(a!)",
     bind<embedding_renorm_shape>, bind<apart<embedding_renorm>>, kPure | kAnyLayout},
    {"aten::_embedding_bag.out", kBagSchema, nullptr, bind<embedding_bag>, kPure | kAnyLayout},
    {"aten::_embedding_bag_forward_only.out", kBagSchema, nullptr, bind<embedding_bag>, kPure | kAnyLayout},
};

}  // namespace

Table embedding_ops() { return kOps; }

}  // namespace etrt::ops
