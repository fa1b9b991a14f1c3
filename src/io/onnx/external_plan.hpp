// Chooses the tensors whose data goes to an external file, and its layout.
#pragma once

#include <vector>

#include "base/atomic_file.hpp"
#include "io/onnx/encode.hpp"
#include "io/onnx/save.hpp"

namespace anybit::onnx {

// Data with its offset: a large tensor begins on a page boundary, so that it can be mapped by itself.
struct ExternalPiece {
  std::uint64_t offset;
  Bytes data;
};

struct ExternalLayout {
  ExternalPlan plan;
  std::vector<ExternalPiece> pieces;  // sorted by offset; shared data is written once
};

// Lays out the tensors that `options` makes external. `overflow`: with `keep`, also those that `always`
// would.
ExternalLayout lay_out(const graph::Model& model, const SaveOptions& options, bool overflow);

// Writes the pieces to an empty file.
Result<void> write_pieces(const std::vector<ExternalPiece>& pieces, AtomicFile& file);

}  // namespace anybit::onnx
