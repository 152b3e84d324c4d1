// The table of llama::* and preprocess::*.
#include <vector>

#include "ops/llm_rows.h"
#include "ops/table.h"

namespace etrt::ops {

Table llm_ops() {
  static const std::vector<Op> rows = [] {
    std::vector<Op> all;
    for (const Table part :
         {llm_attention_rows(), llm_cache_rows(), llm_delta_rule_rows(), llm_moe_rows(), llm_transform_rows()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return rows;
}

}  // namespace etrt::ops
