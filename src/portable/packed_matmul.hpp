// DecodeMatMul in model files: a MatMul or Gemm and the Decode of its constant weight as one node. ONNX
// Runtime folds no operators of other domains, and would decode the weight in every run; with
// libanybit_ort.so this node keeps it packed. anybit itself works on the two nodes.
#pragma once

#include "graph/model.hpp"

namespace anybit::portable {

// Joins each pair. The attributes `op` and `weight` of the result keep the operator and the name of its
// weight.
void join_packed_matmuls(graph::Model& model);
// The inverse. Nodes without these attributes stay.
void split_packed_matmuls(graph::Model& model);

}  // namespace anybit::portable
