// One tensor of a subgraph, checked: type, sizes, quantization, constant data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "graph/element_type.hpp"
#include "tflite/file.hpp"

namespace anybit::tflite {

// real = scale · (stored − zero point), with one pair for the tensor, or one for each index of the axis.
struct Quantization {
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;  // as many as scales
  std::int64_t axis = 0;
  bool per_tensor() const { return scales.size() == 1; }
};

struct TensorInfo {
  std::string name;  // as in the file; may be empty, and need not be unique
  graph::ElementType type = graph::ElementType::undefined;
  std::vector<std::int64_t> dims;  // -1: unknown before the model runs
  bool has_rank = true;            // otherwise dims are empty and mean nothing
  std::optional<Quantization> quantization;
  bool constant = false, variable = false;
  Bytes data;  // of constants
  const wire::SparsityParameters* sparsity = nullptr;

  std::int64_t rank() const { return static_cast<std::int64_t>(dims.size()); }
  // Quantized by the file's parameters; int32 with a scale is not, see is_quantized_type.
  bool quantized() const;
};

Result<TensorInfo> read_tensor(File& file, const wire::Tensor& tensor);

}  // namespace anybit::tflite
