// Input shapes and dimension sizes given by the caller.
#pragma once

#include "ops/infer.hpp"

namespace anybit::ops {

// Checks the options against the model's declarations. A symbolic dimension fixed by a given shape has that
// size everywhere, so it is added to `dims`.
Result<InferOptions> checked_options(const graph::Model& model, const InferOptions& options);

}  // namespace anybit::ops
