#include "serial.hpp"

#include "parts.hpp"

namespace anybit::verilog {
namespace {

class SerialTop {
 public:
  SerialTop(const SerialNetwork& network, const Settings& settings)
      : network_(network), settings_(settings) {}

  Design write(const anybit_view& view) {
    Text text;
    for (std::size_t i = 0; i < network_.layers.size(); ++i) {
      std::vector<Bus> buses;
      for (const int from : network_.layers[i].inputs) buses.push_back(bus_of(from));
      write_serial_layer(text, module(i), network_.layers[i], buses);
    }
    const Bus& out = network_.output.bus;
    write_argmax(text, settings_.name + "_argmax", out, false);
    top(text);
    Design design{{}, network_.input, network_.output, {}};
    design.device = {settings_.name, {}, network_.input.bus, out, index_bits(out.count), 0, true};
    design.text = head_of(view, design.input, design.output) + text.text();
    return design;
  }

 private:
  std::string module(std::size_t i) const { return fmt::format("{}_layer{}", settings_.name, i); }
  const Bus& bus_of(int layer) const {
    return layer < 0 ? network_.input.bus : network_.layers[static_cast<std::size_t>(layer)].result;
  }

  // The address at which the memory of `layer` is read: that of the reader that runs.
  std::string address_of(int layer) const {
    std::string text;
    for (std::size_t i = 0; i < network_.layers.size(); ++i) {
      for (std::size_t k = 0; k < network_.layers[i].inputs.size(); ++k) {
        if (network_.layers[i].inputs[k] == layer)
          text += fmt::format("running{} ? {}_address{} : ", i, "ab"[k], i);
      }
    }
    return text + fmt::format("{}'d0", bits_of(bus_of(layer).count));
  }

  void instance(Text& out, std::size_t i) const {
    const SerialLayer& layer = network_.layers[i];
    const Bus& bus = layer.result;
    const int bits = bits_of(bus.count);
    out.line("wire running{0}, done{0}, write{0};", i);
    out.line("wire {} write_address{};", range(bits), i);
    out.line("wire {0} write_data{1}, data{1};", range(bus.bits), i);
    std::string ports;
    for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
      const int from = layer.inputs[k];
      out.line("wire {} {}_address{};", range(bits_of(bus_of(from).count)), "ab"[k], i);
      ports += fmt::format(".{0}_address({0}_address{1}), .{0}_data({2}), ", "ab"[k], i,
                           from < 0 ? "x_data" : fmt::format("data{}", from));
    }
    out.line("{} layer{}(.clk(clk), .reset(reset), .start({}), .running(running{}), .done(done{}), {}",
             module(i), i, i == 0 ? "start" : fmt::format("done{}", i - 1), i, i, ports);
    out.line(
        "  .read_address(read_address{0}), .read_data(data{0}), .write(write{0}), "
        ".write_address(write_address{0}), "
        ".write_data(write_data{0}));",
        i);
  }

  void top(Text& out) const {
    const Bus &in = network_.input.bus, &result = network_.output.bus;
    const std::size_t last = network_.layers.size() - 1;
    out.line("// start: take x; done: y and index are there");
    out.line("module {} (", settings_.name);
    out.deeper();
    out.line("input wire clk, input wire reset, input wire start, output wire done,");
    out.line("input wire {} x,", range(in.count * in.bits));
    out.line("output reg {} y,", range(result.count * result.bits));
    out.line("output wire {} index", range(index_bits(result.count)));
    out.back();
    out.line(");");
    out.deeper();
    out.line("reg {} held;", range(in.count * in.bits));
    out.line("reg {} x_data;", range(in.bits));
    for (std::size_t i = 0; i <= last; ++i)
      out.line("wire {} read_address{};", range(bits_of(bus_of(static_cast<int>(i)).count)), i);
    for (std::size_t i = 0; i <= last; ++i) instance(out, i);
    out.line("wire {} x_address = {};", range(bits_of(in.count)), address_of(-1));
    for (std::size_t i = 0; i <= last; ++i)
      out.line("assign read_address{} = {};", i, address_of(static_cast<int>(i)));
    out.line("always @(posedge clk) begin");
    out.line("  if (start) held <= x;");
    out.line("  x_data <= held[x_address * {0} +: {0}];", in.bits);
    out.line("  if (write{0}) y[write_address{0} * {1} +: {1}] <= write_data{0};", last, result.bits);
    out.line("end");
    out.line("reg finished;");
    out.line("always @(posedge clk) finished <= done{} && !reset;", last);
    out.line("assign done = finished;");
    out.line("{}_argmax largest(y, index);", settings_.name);
    out.back();
    out.line("endmodule");
  }

  const SerialNetwork& network_;
  const Settings& settings_;
};

}  // namespace

Design serial_design(const SerialNetwork& network, const anybit_view& view, const Settings& settings) {
  return SerialTop(network, settings).write(view);
}

}  // namespace anybit::verilog
