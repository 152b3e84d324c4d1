#include "ops/table.h"

namespace etrt::ops {

Table join_ops() { return {}; }

}  // namespace etrt::ops
