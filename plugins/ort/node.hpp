// Reads a node of ONNX Runtime's graph.
#pragma once

#include <array>

#include "anybit/operator.hpp"
#include "definitions.hpp"

namespace anybit::ort {

// A tensor of ONNX Runtime, described for anybit. Not movable: the view refers to the dims.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  // `value`: null for an input that is left out.
  Result<void> read(const Api& api, const OrtValue* value);
  const TensorView& view() const { return view_; }

 private:
  std::vector<std::int64_t> dims_;
  TensorView view_;
};

// Attributes and constant inputs. `tensors` holds the dims of the constants, and must outlive the result.
Result<OperatorNode> read_node(const Api& api, const Definition& definition, const OrtKernelInfo* info,
                               std::vector<Tensor>& tensors);

}  // namespace anybit::ort
