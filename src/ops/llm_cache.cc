// llama::update_cache*: key and value caches that grow along the sequence.
#include <array>

#include "ops/compute.h"
#include "ops/dims.h"
#include "ops/llm_rows.h"
#include "ops/shape_of_first.h"
#include "ops/strided_copy.h"

namespace etrt::ops {
namespace {

constexpr int kSequence = 1;  // the dimension of positions

// Everything but the positions, which depend on how they are given.
Status check_tokens(Call& call, const Tensor& value, const Tensor& cache) {
  ET_TRY(check_rank(call, value, 4));
  ET_TRY(check_rank(call, cache, 4));
  for (const int d : {0, 2, 3}) {
    if (value.size(d) != cache.size(d)) {
      return call.fail(Status::InvalidArgument, "{} is {} and {} is {}: dimension {} differs", call.arg_name(value),
                       tensor_text(value), call.arg_name(cache), tensor_text(cache), d);
    }
  }
  if (value.element_size() != cache.element_size()) {
    return call.fail(Status::InvalidArgument, "{} has dtype {} and {} has dtype {}, expected the same",
                     call.arg_name(value), dtype_name(value.dtype), call.arg_name(cache), dtype_name(cache.dtype));
  }
  return Status::Ok;
}

// The caller checks the sizes: a file may give one tensor as cache and output.
Status update_cache(Call& call, const Tensor& value, Tensor& cache, int64_t start_pos, Tensor& /*out*/) {
  ET_TRY(check_cache(call, value, cache, start_pos));
  write_cache(value, cache, start_pos);
  return Status::Ok;
}

// Each token has a position of its own.
Status update_cache_with_indices(Call& call, const Tensor& value, Tensor& cache, int64_t /*start_pos*/,
                                 const Tensor& indices, Tensor& /*out*/) {
  ET_TRY(check_tokens(call, value, cache));
  ET_TRY(check_sizes(call, indices, std::array{value.size(0), value.size(1)}));
  if (indices.dtype != DType::Int64 && indices.dtype != DType::Int32) {
    return call.fail(Status::InvalidArgument, "indices have dtype {}, expected int64 or int32",
                     dtype_name(indices.dtype));
  }
  const auto* positions = load_rows<int64_t>(call, indices);
  for (int64_t i = 0; i < indices.numel(); ++i) {
    if (positions[i] < 0 || positions[i] >= cache.size(kSequence)) {
      return call.fail(Status::InvalidArgument, "index {} is out of range for a cache of {} positions", positions[i],
                       cache.size(kSequence));
    }
  }
  const auto size = static_cast<int64_t>(value.element_size());
  const std::array sizes{value.size(2), value.size(3)};
  const std::array from_strides{value.stride(2), value.stride(3)};
  const std::array to_strides{cache.stride(2), cache.stride(3)};
  for (int64_t b = 0; b < value.size(0); ++b) {
    for (int64_t s = 0; s < value.size(1); ++s) {
      const int64_t from = b * value.stride(0) + s * value.stride(1);
      const int64_t to = b * cache.stride(0) + *positions++ * cache.stride(1);
      strided_copy(value.element_size(), sizes, value.bytes() + from * size, from_strides, cache.bytes() + to * size,
                   to_strides);
    }
  }
  return Status::Ok;
}

// The identity, for nodes that a delegate left to the CPU.
Status fallback(Call& call, const Tensor& input, Tensor& output) {
  ET_TRY(check_sizes(call, output, input.sizes()));
  if (!strided_convert(input.sizes(), input.dtype, input.data, input.strides(), output.dtype, output.data,
                       output.strides())) {
    return call.fail(Status::InvalidArgument, "input {} can't be copied to output {}", tensor_text(input),
                     tensor_text(output));
  }
  return Status::Ok;
}

}  // namespace

Status check_cache(Call& call, const Tensor& value, const Tensor& cache, int64_t start) {
  ET_TRY(check_tokens(call, value, cache));
  const int64_t length = cache.size(kSequence);
  if (start < 0 || start > length || value.size(kSequence) > length - start) {
    return call.fail(Status::InvalidArgument, "start_pos {} and {} positions don't fit {} of {} positions", start,
                     value.size(kSequence), call.arg_name(cache), length);
  }
  return Status::Ok;
}

void write_cache(const Tensor& value, const Tensor& cache, int64_t start) {
  const int64_t at = start * cache.stride(kSequence) * static_cast<int64_t>(cache.element_size());
  strided_copy(value.element_size(), value.sizes(), value.data, value.strides(), cache.bytes() + at, cache.strides());
}

Table llm_cache_rows() {
  static const Op rows[] = {
      // The output is a placeholder that nothing reads.
      {"llama::update_cache.out", "(Tensor value, Tensor(a!) cache, SymInt start_pos, *, Tensor(b!) out) -> Tensor(b!)",
       nullptr, bind<update_cache>, kAnyLayout},
      {"llama::update_cache_with_indices.out",
       "(Tensor value, Tensor(a!) cache, SymInt start_pos, Tensor indices, *, Tensor(b!) out) -> Tensor(b!)", nullptr,
       bind<update_cache_with_indices>, kAnyLayout},
      {"llama::fallback.out", "(Tensor input, *, Tensor(a!) output) -> Tensor(a!)", shape_of_first<1>, bind<fallback>,
       kPure | kAnyLayout},
  };
  return rows;
}

}  // namespace etrt::ops
