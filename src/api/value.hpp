// Converts public values to the runtime's values and back.
#pragma once

#include "anybit/executor.hpp"
#include "ops/array.hpp"

namespace anybit {

// Errors for impossible shapes, and for more dimensions than a run can have.
Result<ops::Dims> checked_dims(std::span<const std::int64_t> dims);
Result<graph::ElementType> element_type(std::string_view name);

// Shares the bytes if they are suitably aligned and laid out.
Result<ops::Datum> to_datum(const Value& value);
Value to_value(const ops::Datum& datum);

}  // namespace anybit
