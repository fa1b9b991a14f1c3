// The shapes and sizes that a caller gives for a model's inputs.
#pragma once

#include "ops/infer.hpp"

namespace anybit::ops {

// The given ones, checked against what the model declares. Symbols of dimensions that given shapes fix hold
// everywhere, so they are among the sizes.
Result<InferOptions> checked_options(const graph::Model& model, const InferOptions& options);

}  // namespace anybit::ops
