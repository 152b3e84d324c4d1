#include "ops/table.h"

namespace etrt::ops {

Table fft_ops() { return {}; }

}  // namespace etrt::ops
