#include "ops/table.h"

namespace etrt::ops {

Table linalg_ops() { return {}; }

}  // namespace etrt::ops
