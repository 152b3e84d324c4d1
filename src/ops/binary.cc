#include "ops/table.h"

namespace etrt::ops {

Table binary_ops() { return {}; }

}  // namespace etrt::ops
