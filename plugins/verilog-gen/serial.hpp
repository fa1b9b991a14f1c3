// A network of quantized integers, such as a fixed-point model: each layer has one multiplier and works off
// its outputs one by one, from the memory of another layer into its own.
#pragma once

#include <string>
#include <vector>

#include "logic.hpp"
#include "text.hpp"

namespace anybit::verilog {

// A window over two spatial axes; vectors and matrices are images of one pixel.
struct Window {
  std::int64_t channels = 1, height = 1, width = 1;              // of the input
  std::int64_t out_channels = 1, out_height = 1, out_width = 1;  // of the output
  std::int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, pad[2] = {0, 0};
  std::int64_t taken = 1;  // input channels that an output channel depends on
  bool own = false;        // an output channel depends on the input channels of its own group only

  std::int64_t taps() const { return taken * kernel[0] * kernel[1]; }
  std::int64_t outputs() const { return out_channels * out_height * out_width; }
};

// real = integer · mantissa · 2^-shift, as a float32 multiplier has it.
struct Multiplier {
  std::int64_t mantissa = 1;
  int shift = 0;
  static Multiplier of(float m);
  bool power_of_two() const { return (mantissa & (mantissa - 1)) == 0; }
};

enum class SerialKind { products, largest, sum, addition };

struct SerialLayer {
  SerialKind kind = SerialKind::products;
  std::string name;         // of its output in the model
  std::vector<int> inputs;  // layers; -1: the network's input
  Window window;
  std::vector<std::int64_t> zeros;           // of the inputs
  std::vector<std::int64_t> weights;         // [out_channels][taps], without zero points
  std::vector<std::int64_t> biases;          // by output channel
  std::vector<Multiplier> multipliers;       // by output channel, or one; of an addition: by input
  std::int64_t zero = 0, low = 0, high = 0;  // of the result
  Bus result;
  std::int64_t most = 0;  // the largest magnitude of an accumulator
};

struct SerialNetwork {
  Port input, output;
  std::vector<SerialLayer> layers;
};

SerialNetwork read_serial(const anybit_graph& graph);
Design serial_design(const SerialNetwork& network, const anybit_view& view, const Settings& settings);
// The module of a layer; `buses`: those that it reads.
void write_serial_layer(Text& out, const std::string& name, const SerialLayer& layer,
                        const std::vector<Bus>& buses);
int bits_of(std::int64_t count);  // of numbers below `count`

}  // namespace anybit::verilog
