// Types that numpy lacks, as those that it has.
#pragma once

#include "anybit/npy.hpp"

namespace anybit::cli {

// bfloat16 and floats of 8 and 4 bits as float32, integers of 4 and 2 bits as those of 8: every value is the
// same. Other types as they are.
Result<Array> widened(const Array& array);

}  // namespace anybit::cli
