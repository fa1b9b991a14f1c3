// Fuses nodes that a single kernel can compute.
#pragma once

#include "runtime/program.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {

Result<void> fuse(Program& program, const Resources& resources, Purpose purpose);

}  // namespace anybit::runtime
