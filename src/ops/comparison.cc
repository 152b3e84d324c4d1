#include "ops/table.h"

namespace etrt::ops {

Table comparison_ops() { return {}; }

}  // namespace etrt::ops
