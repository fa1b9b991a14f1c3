// Quantized operators of the fused view as layers of a serial network.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "serial.hpp"

namespace anybit::verilog {
namespace {

constexpr std::string_view kMicrosoftDomain = "com.microsoft";

struct Quantized {
  std::vector<float> scales;
  std::vector<std::int64_t> zeros;
  float scale() const { return scales[0]; }
  std::int64_t zero() const { return zeros[0]; }
  float scale_of(std::int64_t channel) const {
    return scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  }
  std::int64_t zero_of(std::int64_t channel) const {
    return zeros[zeros.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  }
};

Quantized quantized_at(const Node& node, std::size_t scale, std::size_t zero) {
  return {node.reals_in(scale, "the scale"),
          node.has(zero) ? node.integers_in(zero, "the zero point") : std::vector<std::int64_t>{0}};
}

// The engine's factor of a requantization.
float factor(double x_scale, double w_scale, double y_scale) {
  return static_cast<float>(x_scale * w_scale / y_scale);
}

class SerialReader {
 public:
  explicit SerialReader(const anybit_graph& graph) : graph_(graph) {
    if (graph.input_count != 1 || graph.output_count != 1)
      throw Refusal(fmt::format("verilog-gen takes models with one input and one output, not {} and {}",
                                graph.input_count, graph.output_count));
    for (std::size_t i = 0; i < graph.node_count; ++i) {
      for (std::size_t k = 0; k < graph.nodes[i].input_count; ++k) ++uses_[graph.nodes[i].inputs[k]];
    }
    for (std::size_t i = 0; i < graph.output_count; ++i) ++uses_[graph.outputs[i]];
    const Value input(graph.values[graph.inputs[0]]);
    network_.input.name = input.name();
    network_.input.is_real = input.is_float();
    const auto type = integer_type(input.type());
    if (!input.is_float()) take_input(input, type);
  }

  SerialNetwork read() {
    for (std::size_t i = 0; i < graph_.node_count; ++i) take(Node(graph_, graph_.nodes[i]));
    const Value output(graph_.values[graph_.outputs[0]]);
    const auto found = made_.find(graph_.outputs[0]);
    if (found == made_.end() || found->second != static_cast<int>(network_.layers.size()) - 1 ||
        found->second < 0)
      throw Refusal("verilog-gen: the output is not the result of the last layer");
    network_.output.name = output.name();
    network_.output.is_real = output.is_float();
    network_.output.bus = network_.layers.back().result;
    return std::move(network_);
  }

 private:
  void take_input(const Value& value, std::optional<IntegerType> type) {
    if (!type || type->bits > 16)
      throw Refusal(fmt::format("verilog-gen: input '{}' is {}: it must be quantized to at most 16 bits",
                                value.name(), value.type()));
    network_.input.bus = {value.count(), type->bits, type->is_signed};
    made_[graph_.inputs[0]] = -1;
  }

  void take(const Node& node) {
    if (node.is("QuantizeLinear") && node.index(0) == graph_.inputs[0]) return quantize(node);
    if (node.is("QLinearConv") || node.is("QLinearConv", "ai.anybit")) return conv(node);
    if (node.is("QGemm", kMicrosoftDomain)) return gemm(node);
    if (node.is("QLinearMatMul")) return matmul(node);
    if (node.is("QLinearAdd", kMicrosoftDomain)) return add(node);
    if (node.is("MaxPool")) return max_pool(node);
    if (node.is("QLinearGlobalAveragePool", kMicrosoftDomain)) return mean(node);
    if (node.is("Clip") || node.is("Relu")) return clip(node);
    if (node.is("Reshape") || node.is("Flatten") || node.is("Squeeze") || node.is("Unsqueeze") ||
        node.is("Identity")) {
      made_[node.out_index()] = source(node, 0);
      return;
    }
    if (node.is("DequantizeLinear") && node.out_index() == graph_.outputs[0]) return dequantize(node);
    node.refuse(
        "it is no layer of quantized integers: quantize all operators to fixed point or int8, with "
        "calibrated "
        "ranges and --emit qdq");
  }

  int source(const Node& node, std::size_t i) const {
    const auto found = made_.find(node.index(i));
    if (found == made_.end()) node.refuse("input {} is not the result of a layer", i);
    return found->second;
  }

  const Bus& bus_of(int layer) const {
    return layer < 0 ? network_.input.bus : network_.layers[static_cast<std::size_t>(layer)].result;
  }

  void quantize(const Node& node) {
    const auto q = quantized_at(node, 1, 2);
    if (q.scales.size() != 1) node.refuse("the input has several scales");
    network_.input.scale = static_cast<double>(q.scale());
    network_.input.zero_point = q.zero();
    const Value out = node.out();
    const auto type = integer_type(out.type());
    if (!type || type->bits > 16) node.refuse("it quantizes to {}", out.type());
    network_.input.bus = {out.count(), type->bits, type->is_signed};
    made_[node.out_index()] = -1;
  }

  void dequantize(const Node& node) {
    const auto q = quantized_at(node, 1, 2);
    if (q.scales.size() != 1) node.refuse("the output has several scales");
    network_.output.scale = static_cast<double>(q.scale());
    network_.output.zero_point = q.zero();
    made_[node.out_index()] = source(node, 0);
  }

  SerialLayer begin(const Node& node, SerialKind kind, std::vector<int> inputs) {
    SerialLayer layer;
    layer.kind = kind;
    layer.name = node.out().name();
    layer.inputs = std::move(inputs);
    const auto type = integer_type(node.out().type());
    if (!type || type->bits > 16) node.refuse("its result is {}", node.out().type());
    layer.result = {node.out().count(), type->bits, type->is_signed};
    layer.low = type->is_signed ? -(std::int64_t{1} << (type->bits - 1)) : 0;
    layer.high = layer.low + (std::int64_t{1} << type->bits) - 1;
    return layer;
  }

  void finish(const Node& node, SerialLayer layer) {
    if (layer.window.outputs() != layer.result.count)
      node.refuse("its shape does not fit its result: it needs a batch of 1");
    made_[node.out_index()] = static_cast<int>(network_.layers.size());
    network_.layers.push_back(std::move(layer));
  }

  // The image that a value is: [1, channels, height, width], or without axes at the end.
  static void shape(const Node& node, Window& window) {
    const auto in = node.in(0).dims(), out = node.out().dims();
    if (in.size() < 2 || in.size() > 4 || in[0] != 1 || out.size() != in.size())
      node.refuse("it needs a batch of 1 and at most two spatial axes");
    const auto at = [](const std::vector<std::int64_t>& dims, std::size_t back) {
      return dims.size() > back + 2 ? dims[dims.size() - 1 - back] : 1;
    };
    window.channels = in[1];
    window.width = at(in, 0);
    window.height = at(in, 1);
    window.out_channels = out[1];
    window.out_width = at(out, 0);
    window.out_height = at(out, 1);
  }

  static void slide(const Node& node, Window& window, const std::vector<std::int64_t>& kernel) {
    if (node.text("auto_pad", "NOTSET") != "NOTSET") node.refuse("auto_pad is not supported: give pads");
    const auto list = [&](const char* name, std::int64_t otherwise, std::int64_t* to) {
      const auto given = node.integers(name).value_or(std::vector<std::int64_t>(kernel.size(), otherwise));
      for (std::size_t i = 0; i < kernel.size() && i < given.size(); ++i)
        to[i + 2 - kernel.size()] = given[i];
    };
    for (std::size_t i = 0; i < kernel.size(); ++i) window.kernel[i + 2 - kernel.size()] = kernel[i];
    list("strides", 1, window.stride);
    list("dilations", 1, window.dilation);
    list("pads", 0, window.pad);
  }

  // Weights and what scales the results; `weight(output, tap)` is the index of a weight.
  template <class Index>
  void multiply(const Node& node, SerialLayer& layer, std::size_t x, std::size_t w, std::size_t y,
                std::size_t bias, const Index& weight) {
    const Quantized a = quantized_at(node, x + 1, x + 2), b = quantized_at(node, w + 1, w + 2),
                    out = quantized_at(node, y, y + 1);
    if (a.scales.size() != 1 || out.scales.size() != 1) node.refuse("an activation has several scales");
    const auto all = node.integers_in(w, "the weights");
    const Bus& bus = bus_of(layer.inputs[0]);
    const std::int64_t low = bus.is_signed ? -(std::int64_t{1} << (bus.bits - 1)) : 0,
                       high = low + (std::int64_t{1} << bus.bits) - 1;
    const std::int64_t most = std::max(high - a.zero(), a.zero() - low);
    layer.zeros = {a.zero()};
    layer.zero = out.zero();
    layer.biases = node.has(bias) ? node.integers_in(bias, "the bias") : std::vector<std::int64_t>{0};
    layer.biases.resize(static_cast<std::size_t>(layer.window.out_channels),
                        layer.biases.size() == 1 ? layer.biases[0] : 0);
    for (std::int64_t o = 0; o < layer.window.out_channels; ++o) {
      std::int64_t sum = std::abs(layer.biases[static_cast<std::size_t>(o)]);
      for (std::int64_t tap = 0; tap < layer.window.taps(); ++tap) {
        layer.weights.push_back(all[static_cast<std::size_t>(weight(o, tap))] - b.zero_of(o));
        sum += std::abs(layer.weights.back()) * most;
      }
      layer.most = std::max(layer.most, sum);
      layer.multipliers.push_back(
          Multiplier::of(factor(static_cast<double>(a.scale()), static_cast<double>(b.scale_of(o)),
                                static_cast<double>(out.scale()))));
    }
  }

  void conv(const Node& node) {
    SerialLayer layer = begin(node, SerialKind::products, {source(node, 0)});
    shape(node, layer.window);
    const auto dims = node.in(3).dims();
    slide(node, layer.window, {dims.begin() + 2, dims.end()});
    layer.window.taken = dims[1];
    layer.window.own = node.integer("group", 1) != 1;
    const std::int64_t taps = layer.window.taps();
    multiply(node, layer, 0, 3, 6, 8, [&](std::int64_t o, std::int64_t tap) { return o * taps + tap; });
    finish(node, std::move(layer));
  }

  SerialLayer matrix(const Node& node, std::int64_t k, std::int64_t n) {
    SerialLayer layer = begin(node, SerialKind::products, {source(node, 0)});
    if (node.in(0).count() != k) node.refuse("it needs a batch of 1");
    layer.window.channels = layer.window.taken = k;
    layer.window.out_channels = n;
    return layer;
  }

  void gemm(const Node& node) {
    const auto dims = node.in(3).dims();
    const bool turned = node.integer("transB", 0) != 0;
    if (node.integer("transA", 0) != 0 || dims.size() != 2) node.refuse("only A · B with a matrix B");
    const std::int64_t n = dims[turned ? 0 : 1], k = dims[turned ? 1 : 0];
    SerialLayer layer = matrix(node, k, n);
    multiply(node, layer, 0, 3, 7, 6,
             [&](std::int64_t o, std::int64_t tap) { return turned ? o * k + tap : tap * n + o; });
    finish(node, std::move(layer));
  }

  void matmul(const Node& node) {
    const auto dims = node.in(3).dims();
    if (dims.size() != 2) node.refuse("only a matrix of weights");
    SerialLayer layer = matrix(node, dims[0], dims[1]);
    multiply(node, layer, 0, 3, 6, 8, [&](std::int64_t o, std::int64_t tap) { return tap * dims[1] + o; });
    finish(node, std::move(layer));
  }

  void max_pool(const Node& node) {
    SerialLayer layer = begin(node, SerialKind::largest, {source(node, 0)});
    shape(node, layer.window);
    const auto kernel = node.integers("kernel_shape");
    if (!kernel || node.integer("storage_order", 0) != 0) node.refuse("only the values of a window");
    slide(node, layer.window, *kernel);
    layer.window.own = true;
    finish(node, std::move(layer));
  }

  void mean(const Node& node) {
    if (node.integer("channels_last", 0) != 0) node.refuse("channels must be axis 1");
    SerialLayer layer = begin(node, SerialKind::sum, {source(node, 0)});
    const Quantized a = quantized_at(node, 1, 2), out = quantized_at(node, 3, 4);
    shape(node, layer.window);
    layer.window.kernel[0] = layer.window.height;
    layer.window.kernel[1] = layer.window.width;
    layer.window.own = true;
    layer.zeros = {a.zero()};
    layer.zero = out.zero();
    const std::int64_t count = layer.window.taps();
    layer.most = count << bus_of(layer.inputs[0]).bits;
    layer.multipliers = {Multiplier::of(static_cast<float>(
        static_cast<double>(a.scale()) / (static_cast<double>(out.scale()) * static_cast<double>(count))))};
    finish(node, std::move(layer));
  }

  void add(const Node& node) {
    SerialLayer layer = begin(node, SerialKind::addition, {source(node, 0), source(node, 3)});
    const Quantized a = quantized_at(node, 1, 2), b = quantized_at(node, 4, 5),
                    out = quantized_at(node, 6, 7);
    if (node.in(0).count() != node.out().count() || node.in(3).count() != node.out().count())
      node.refuse("an operand is broadcast");
    for (const Quantized& one : {a, b}) {
      layer.zeros.push_back(one.zero());
      layer.multipliers.push_back(Multiplier::of(
          static_cast<float>(static_cast<double>(one.scale()) / static_cast<double>(out.scale()))));
      if (!layer.multipliers.back().power_of_two())
        node.refuse("the ratio of its scales is no power of two: use a fixed-point recipe");
    }
    layer.zero = out.zero();
    layer.window.out_width = layer.window.width = layer.result.count;
    finish(node, std::move(layer));
  }

  void clip(const Node& node) {
    const int from = source(node, 0);
    const auto type = integer_type(node.in(0).type());
    if (from < 0 || uses_[node.index(0)] != 1 || !type)
      node.refuse("it does not follow a layer that only it reads");
    SerialLayer& layer = network_.layers[static_cast<std::size_t>(from)];
    if (node.is("Relu")) {
      layer.low = std::max<std::int64_t>(layer.low, 0);
    } else {
      layer.low = std::max(layer.low, node.integer_in(1, "the lowest value", layer.low));
      layer.high = std::min(layer.high, node.integer_in(2, "the highest value", layer.high));
    }
    if (layer.kind == SerialKind::largest) node.refuse("it follows a MaxPool");
    made_[node.out_index()] = from;
  }

  const anybit_graph& graph_;
  SerialNetwork network_;
  std::map<int, int> made_;  // layers by the index of a value; -1: the input
  std::map<int, int> uses_;
};

}  // namespace

Multiplier Multiplier::of(float m) {
  constexpr int kDigits = 24;
  int exponent = 0;
  auto mantissa =
      static_cast<std::int64_t>(std::ldexp(std::frexp(static_cast<double>(m), &exponent), kDigits));
  int shift = kDigits - exponent;
  if (!(m > 0) || !std::isfinite(m)) throw Refusal(fmt::format("verilog-gen: a factor of scales is {}", m));
  const int zeros = std::min(std::countr_zero(static_cast<std::uint64_t>(mantissa)), kDigits);
  mantissa >>= zeros;
  shift -= zeros;
  if (shift < 0) {
    if (shift < -16) throw Refusal(fmt::format("verilog-gen: a factor of scales is {}", m));
    mantissa <<= -shift;
    shift = 0;
  }
  return {mantissa, shift};
}

SerialNetwork read_serial(const anybit_graph& graph) { return SerialReader(graph).read(); }

}  // namespace anybit::verilog
