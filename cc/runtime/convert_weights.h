// Casts between float32, float16 and bfloat16: to the nearest, ties to even.
//
// What is too large becomes infinity, what is too small a subnormal or zero, and a NaN stays a NaN.
// The result does not depend on the processor's flags. Plain loops over dense arrays that the
// compiler vectorises; knows no tensor names and no files.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trtmc/dtype.h"

namespace trtmc {

// Is there a cast between the two? (Also of a type to itself.)
bool can_convert(DType from, DType to);

// Converts `count` elements. The arrays do not overlap, each is aligned to its element's size, and
// can_convert(from, to) holds.
void convert_weights(const void* source, DType from, void* target, DType to, std::size_t count);

// The conversions of single values, as bits.
std::uint32_t float32_of_float16(std::uint16_t half);
std::uint16_t float16_of_float32(std::uint32_t bits);
std::uint16_t bfloat16_of_float32(std::uint32_t bits);

}  // namespace trtmc
