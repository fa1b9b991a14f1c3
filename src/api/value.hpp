// Converts public values to the runtime's values and back.
#pragma once

#include "anybit/executor.hpp"
#include "ops/array.hpp"

namespace anybit {

// Shares the bytes if they are suitably aligned and laid out.
Result<ops::Datum> to_datum(const Value& value);
Value to_value(const ops::Datum& datum);

}  // namespace anybit
