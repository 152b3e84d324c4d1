#include "ops/table.h"

namespace etrt::ops {

Table conv_ops() { return {}; }

}  // namespace etrt::ops
