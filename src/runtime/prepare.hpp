// What is done to a copy of a model before it becomes a program: the passes that quantization uses, too.
#pragma once

#include "graph/budget.hpp"
#include "runtime/build.hpp"

namespace anybit::runtime {

// Calls of our functions become operators, other functions their nodes; constants are folded; what nobody
// needs goes; normalizations go into the weights beside them, if the program may fuse.
Result<graph::Model> prepared(const graph::Model& model, const BuildOptions& options, graph::Budget& budget,
                              const std::shared_ptr<ops::Memory>& memory);

}  // namespace anybit::runtime
