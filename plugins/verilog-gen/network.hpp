// A model of neurons as truth tables: what is generated from the nodes of its view.
#pragma once

#include <string>
#include <vector>

#include "view.hpp"

namespace anybit::verilog {

// A bus of integers: element i has bits [i · bits, (i + 1) · bits).
struct Bus {
  std::int64_t count = 0;
  int bits = 1;
  bool is_signed = false;
};

// The input or output of a model as integers: real = (integer - zero_point) · scale.
struct Port {
  std::string name;
  Bus bus;
  double scale = 1;
  std::int64_t zero_point = 0;
  bool is_real = false;  // the model's own type is float32
};

struct NeuronLayer {
  std::string name;  // of the node
  std::int64_t tables = 0, repeats = 0;
  int fan_in = 0, input_bits = 0, output_bits = 0;
  bool is_signed = false;
  std::vector<std::int64_t> connections;  // [tables · repeats][fan_in]; -1: the constant 0
  std::vector<std::vector<int>> results;  // [tables][entries], without sign

  std::int64_t neurons() const { return tables * repeats; }
  int address_bits() const { return fan_in * input_bits; }
};

struct NeuronNetwork {
  Port input, output;
  std::vector<NeuronLayer> layers;
  std::int64_t group = 1;  // neurons of the last layer whose results are added for one output
};

// Whether the model has neurons as truth tables.
bool has_neurons(const anybit_graph& graph);
NeuronNetwork read_neurons(const anybit_graph& graph);

}  // namespace anybit::verilog
