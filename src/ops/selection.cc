#include "ops/table.h"

namespace etrt::ops {

Table selection_ops() { return {}; }

}  // namespace etrt::ops
