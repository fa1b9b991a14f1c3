// Which addresses of a neuron can occur: values that no input gives, and values that exclude each other
// because they come from the same input, are don't-cares.
#pragma once

#include <vector>

#include "network.hpp"

namespace anybit::verilog {

// For each layer and neuron, the addresses that can occur.
class Reachable {
 public:
  explicit Reachable(const Bus& input);

  // The addresses of each neuron of the next layer, one layer after the other; `layer` must outlive this.
  std::vector<std::vector<bool>> next(const NeuronLayer& layer);

 private:
  std::vector<bool> independent(const NeuronLayer& layer, std::int64_t neuron) const;
  void exclude_pairs(const NeuronLayer& layer, std::int64_t neuron, std::vector<bool>& addresses) const;

  Bus bus_;
  std::vector<std::vector<bool>> values_;  // [element of the bus][value]
  // The layer before, if its neurons have one input each: encoders, whose results depend on each other.
  const NeuronLayer* encoder_ = nullptr;
  Bus encoder_input_;
  std::vector<std::vector<bool>> encoder_inputs_;  // [element][value]
};

}  // namespace anybit::verilog
