#include "ops/table.h"

namespace etrt::ops {

Table cast_ops() { return {}; }

}  // namespace etrt::ops
