// Single elements of a tensor's memory: reading them as numbers, writing numbers as them.
#pragma once

#include <et/tensor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace etrt::tool {

// Can read_number and write_number handle the dtype? All but complex, quantized, bits and float8 ones.
bool is_number(et::DType dtype);
bool is_integer(et::DType dtype);  // bool and quantized ones are none

// For is_number() dtypes. An element that doesn't fit is clamped (integers) or rounded (floats).
double read_number(et::DType dtype, const void* from);
void write_number(et::DType dtype, double number, void* to);
// The same for whole numbers, exactly.
void write_integer(et::DType dtype, int64_t number, void* to);

// For people: "0.25", "-3", "true"; complex ones as "1+2j", others as hexadecimal words.
std::string element_text(et::DType dtype, const void* from);

}  // namespace etrt::tool
