// Public values to those of the runtime, and back.
#pragma once

#include "anybit/executor.hpp"
#include "ops/array.hpp"

namespace anybit {

// Shares the bytes where they lie well in memory.
Result<ops::Datum> to_datum(const Value& value);
Value to_value(const ops::Datum& datum);

}  // namespace anybit
