#include "ops/table.h"

namespace etrt::ops {

Table torchao_ops() { return {}; }

}  // namespace etrt::ops
