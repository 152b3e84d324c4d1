#include "ops/table.h"

namespace etrt::ops {

Table prim_ops() { return {}; }

}  // namespace etrt::ops
