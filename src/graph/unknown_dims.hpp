// Dimensions that are declared as -1, or called "?".
#pragma once

#include "graph/model.hpp"

namespace anybit::graph {

// Makes them unknown ones: exporters that think in -1 write it (Paddle), and ONNX Runtime takes it for that.
// So are "?", "None" and "-1" as names: they stand beside several sizes of one model. For models that are not
// verified yet; other negative numbers stay, and are refused.
void open_unknown_dims(Model& model);

}  // namespace anybit::graph
