// Converts element types that numpy lacks to types that it has.
#pragma once

#include "anybit/npy.hpp"

namespace anybit::cli {

// bfloat16 and 8-bit and 4-bit floats become float32, 4-bit and 2-bit integers become 8-bit. Values do not
// change. Other types stay.
Result<Array> widened(const Array& array);

}  // namespace anybit::cli
