// Sizes for random inputs where the model leaves them open.
#pragma once

#include <cstddef>
#include <cstdint>

#include "anybit/executor.hpp"

namespace anybit::cli {

// A size that an input of this type and rank usually has along a dynamic axis.
std::int64_t likely_size(const Port& port, std::size_t axis);

}  // namespace anybit::cli
