// A model as Verilog: all modules, and what a test bench needs.
#pragma once

#include "bench.hpp"
#include "network.hpp"
#include "settings.hpp"

namespace anybit::verilog {

struct Design {
  std::string text;
  Port input, output;
  Device device;
};

Design design_of(const anybit_view& view, const Settings& settings);

// A network of neurons: combinational layers, with registers between them.
Design neuron_design(const NeuronNetwork& network, const anybit_view& view, const Settings& settings);

// The comment at the head of a file.
std::string head_of(const anybit_view& view, const Port& input, const Port& output);

}  // namespace anybit::verilog
