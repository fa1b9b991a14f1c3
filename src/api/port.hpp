// The public description of a model's inputs and outputs.
#pragma once

#include "anybit/executor.hpp"
#include "graph/model.hpp"

namespace anybit {

Port port_of(const graph::ValueInfo& info, bool required);
Port port_of(const graph::Tensor& constant);
// Inputs that a caller may set; without those that only declare an initializer, as in files before IR 4.
std::vector<Port> input_ports(const graph::Model& model);

}  // namespace anybit
