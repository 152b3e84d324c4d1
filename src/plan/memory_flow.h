// What the memory plan of a method leaves unsaid, found by following reads and writes of planned memory.
//
//   State   memory that may be read before anything of this run wrote it: it lives from run to run.
//   Views   a value that nothing writes, read where an input's bytes are: the exporter drops the
//           instruction of a static view and plans it at its base's place.
//   Inputs  which are written in place, and which must really be copied to their planned place.
#pragma once

#include "plan/plan.h"

namespace etrt {

// Fills in Plan::state, Plan::inputs and Plan::replaced.
void find_memory_flow(Plan& plan);

}  // namespace etrt
