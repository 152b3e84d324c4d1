// The parts of the family of language model operators. llm_ops() joins them.
#pragma once

#include "ops/table.h"

namespace etrt::ops {

Table llm_attention_rows();
Table llm_cache_rows();
Table llm_delta_rule_rows();
Table llm_moe_rows();
Table llm_transform_rows();  // Hadamard transform, tiles of an image

// A cache [batches, length, heads, features] takes `value` at positions start, start + 1, … of its second dimension.
Status check_cache(Call& call, const Tensor& value, const Tensor& cache, int64_t start);
void write_cache(const Tensor& value, const Tensor& cache, int64_t start);

}  // namespace etrt::ops
