#include "ops/table.h"

namespace etrt::ops {

Table creation_ops() { return {}; }

}  // namespace etrt::ops
