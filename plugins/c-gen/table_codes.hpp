// Packed codes with a table of values: TableDecode of ai.anybit (docs/codegen.md).
#pragma once

#include "node.hpp"

namespace anybit::cgen {

// The body of a function that decodes row `r` of a matrix; false if the tensor is not packed as that matrix.
bool emit_table_row(Node& decode);

}  // namespace anybit::cgen
