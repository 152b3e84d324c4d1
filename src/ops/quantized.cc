#include "ops/table.h"

namespace etrt::ops {

Table quantized_ops() { return {}; }

}  // namespace etrt::ops
