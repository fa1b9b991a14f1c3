// Tensors from one layout to another.
#pragma once

#include "ops/array.hpp"

namespace anybit::ops {

// `to` has the same type and dims as `from`; one of the two is plain.
void relay(const Array& from, Array& to);

}  // namespace anybit::ops
