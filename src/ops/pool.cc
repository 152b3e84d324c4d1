#include "ops/table.h"

namespace etrt::ops {

Table pool_ops() { return {}; }

}  // namespace etrt::ops
