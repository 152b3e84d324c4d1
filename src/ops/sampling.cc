#include "ops/table.h"

namespace etrt::ops {

Table sampling_ops() { return {}; }

}  // namespace etrt::ops
