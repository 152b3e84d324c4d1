#include "ops/table.h"

namespace etrt::ops {

Table scan_ops() { return {}; }

}  // namespace etrt::ops
