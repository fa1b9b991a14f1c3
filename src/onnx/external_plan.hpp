// Decides which tensors' data goes to a file beside the model, and where in it.
#pragma once

#include <vector>

#include "base/atomic_file.hpp"
#include "onnx/encode.hpp"
#include "onnx/save.hpp"

namespace anybit::onnx {

// Data at a place of its own: a large tensor begins on a page, so that it can be mapped by itself.
struct ExternalPiece {
  std::uint64_t offset;
  Bytes data;
};

struct ExternalLayout {
  ExternalPlan plan;
  std::vector<ExternalPiece> pieces;  // in the order of their offsets; data that tensors share comes once
};

// The tensors that `options` sends out. `overflow`: under `keep`, also those that `always` would.
ExternalLayout lay_out(const graph::Model& model, const SaveOptions& options, bool overflow);

// Writes the pieces to an empty file.
Result<void> write_pieces(const std::vector<ExternalPiece>& pieces, AtomicFile& file);

}  // namespace anybit::onnx
