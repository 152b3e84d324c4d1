// The structural check of a program: what program.h promises to later stages.
#pragma once

#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "core/status.h"
#include "program/format.h"
#include "schema/program_generated.h"

namespace etrt {

// Checks all of `program`, whose tables lie within file.flatbuffer() (verified_root) and whose segments lie
// within the file. Takes time linear in the flatbuffer's size.
Status verify_program(const fb::Program& program, const SegmentedFile& file);

// What is wrong with a stored shape; shared with .ptd files.
struct ShapeCheck {
  std::string problem;     // empty: nothing
  bool overflows = false;  // numel, a stride or the bytes don't fit int64_t; nbytes is unset
  int64_t nbytes = 0;
};
ShapeCheck check_shape(int scalar_type, const flatbuffers::Vector<int32_t>* sizes,
                       const flatbuffers::Vector<uint8_t>* dim_order);

// What is wrong with a name that a user will read or type; empty: nothing.
std::string check_name(const flatbuffers::String* name);

}  // namespace etrt
