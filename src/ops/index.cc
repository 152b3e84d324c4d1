#include "ops/table.h"

namespace etrt::ops {

Table index_ops() { return {}; }

}  // namespace etrt::ops
