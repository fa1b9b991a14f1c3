// Dimensions that are declared as -1 or named "?".
#pragma once

#include "graph/model.hpp"

namespace anybit::graph {

// Makes them unknown dimensions: exporters write -1 (Paddle), and ONNX Runtime reads it that way. The same
// holds for the names "?", "None" and "-1", which stand for several sizes in one model. For models that are
// not verified yet; other negative numbers stay, and the verifier rejects them.
void open_unknown_dims(Model& model);

}  // namespace anybit::graph
