#include "ops/table.h"

namespace etrt::ops {

Table sort_ops() { return {}; }

}  // namespace etrt::ops
