#include "ops/table.h"

namespace etrt::ops {

Table reduction_ops() { return {}; }

}  // namespace etrt::ops
