#include "ops/table.h"

namespace etrt::ops {

Table unary_ops() { return {}; }

}  // namespace etrt::ops
