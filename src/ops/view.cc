#include "ops/table.h"

namespace etrt::ops {

Table view_ops() { return {}; }

}  // namespace etrt::ops
