#include "ops/table.h"

namespace etrt::ops {

Table llm_ops() { return {}; }

}  // namespace etrt::ops
