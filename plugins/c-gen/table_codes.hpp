// Packed codes with a table of their values: TableDecode of ai.anybit, as docs/codegen.md tells.
#pragma once

#include "node.hpp"

namespace anybit::cgen {

// The body of a function of row `r` of a matrix; false if it was not coded as that matrix.
bool emit_table_row(Node& decode);

}  // namespace anybit::cgen
