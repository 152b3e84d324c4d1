#include "ops/table.h"

#include <vector>

namespace etrt::ops {

std::span<const Table> all_tables() {
  static const std::vector<Table> tables = {
      unary_ops(),     special_ops(),  binary_ops(),      comparison_ops(), pointwise_ops(), creation_ops(),
      cast_ops(),      random_ops(),   reduction_ops(),   statistics_ops(), scan_ops(),      sort_ops(),
      selection_ops(), unique_ops(),   softmax_ops(),     norm_ops(),       view_ops(),      index_ops(),
      pad_ops(),       join_ops(),     prim_ops(),        matmul_ops(),     conv_ops(),      pool_ops(),
      resize_ops(),    sampling_ops(), linalg_ops(),      fft_ops(),        distance_ops(),  quantized_ops(),
      torchao_ops(),   llm_ops(),      device_copy_ops(), scatter_ops(),    mask_ops(),      embedding_ops(),
  };
  return tables;
}

}  // namespace etrt::ops
