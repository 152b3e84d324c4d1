#include "ops/table.h"

namespace etrt::ops {

Table unique_ops() { return {}; }

}  // namespace etrt::ops
