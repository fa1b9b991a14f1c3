// Prepares a copy of a model for becoming a program, with the passes that quantization uses, too.
#pragma once

#include "graph/budget.hpp"
#include "runtime/build.hpp"

namespace anybit::runtime {

// Calls of anybit's functions become operators, other functions are inlined; constants are folded; unused
// nodes are removed; normalizations are folded into neighbouring weights if fusion is on.
Result<graph::Model> prepared(const graph::Model& model, const BuildOptions& options, graph::Budget& budget,
                              const std::shared_ptr<ops::Memory>& memory);

}  // namespace anybit::runtime
