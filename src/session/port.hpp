// What the runtime says of a model's inputs and outputs, for the public.
#pragma once

#include "anybit/executor.hpp"
#include "graph/model.hpp"

namespace anybit {

Port port_of(const graph::ValueInfo& info, bool required);
Port port_of(const graph::Tensor& constant);
// Inputs that a caller may give: not those that only name a constant, as files before IR 4 do.
std::vector<Port> input_ports(const graph::Model& model);

}  // namespace anybit
