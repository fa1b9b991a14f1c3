// Names from graph/function_body.hpp that the formulas use.
#pragma once

#include "graph/function_body.hpp"

namespace anybit::portable {

using graph::concat;
using graph::ElementType;
using graph::FunctionBody;
using graph::Term;

}  // namespace anybit::portable
