// Nodes that a single kernel can do together become one.
#pragma once

#include "runtime/program.hpp"

namespace anybit::runtime {

Result<void> fuse(Program& program);

}  // namespace anybit::runtime
