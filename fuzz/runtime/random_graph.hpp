// Makes models and inputs for several runs from random bytes. Shared by this fuzzer and
// tests/unit/runtime/random_graph_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "choices.hpp"
#include "runtime/executor.hpp"

namespace anybit::runtime::testing {

using graph::Attribute;
using ops::Array;
using ops::Datum;
using ops::Dims;
using ops::ElementType;

struct Case {
  std::shared_ptr<graph::Model> model;
  std::vector<std::string> watch;
  std::vector<std::map<std::string, Datum>> runs;
  // Contains integer operators, whose results may be off by one quantization step.
  bool quantized = false;
};

class CaseMaker {
 public:
  explicit CaseMaker(std::span<const unsigned char> bytes) : choices_(bytes) {}

  Case make() {
    channels_ = choices_.of<std::int64_t>({3, 8, 16, 5, 1, 24});
    width_ = choices_.of<std::int64_t>({6, 8, 5, 1, 16});
    special_ = choices_.below(3) == 0;
    values_.push_back({"x", {-1, channels_, -1, width_}, 0});
    const std::int64_t count = 2 + choices_.below(10);
    for (std::int64_t i = 0; i < count && !(i > 2 && choices_.ended()); ++i) add_any();
    Case made;
    made.quantized = quantized_;
    finish(made);
    for (int i = 0; i < 4; ++i) add_run(made, i);
    return made;
  }

 private:
  struct Value {
    std::string name;
    std::vector<std::int64_t> dims;  // -1: depends on the run
    int shape;                       // values with the same number have the same dims
  };

  static Attribute attribute(std::string name, Attribute::Value value) {
    Attribute result;
    result.name = graph::Text(std::move(name));
    result.value = std::move(value);
    return result;
  }

  static graph::Node node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                          std::vector<Attribute> attributes) {
    graph::Node result;
    result.op_type = graph::Text(std::move(op));
    result.inputs = std::move(inputs);
    result.outputs = std::move(outputs);
    result.attributes = std::move(attributes);
    return result;
  }

  static graph::ValueInfo info(std::string name, const std::vector<std::int64_t>& dims, ElementType type) {
    graph::TensorType tensor;
    tensor.element = static_cast<std::int32_t>(type);
    tensor.shape.emplace();
    for (const std::int64_t dim : dims) {
      graph::Dimension one;
      if (dim >= 0) one.value = dim;
      tensor.shape->dims.push_back(one);
    }
    graph::ValueInfo result;
    result.name = graph::Text(std::move(name));
    result.type.emplace();
    result.type->kind = std::move(tensor);
    return result;
  }

  std::string fresh() { return "v" + std::to_string(next_++); }

  template <class T>
  std::string constant(ElementType type, std::vector<std::int64_t> dims, std::vector<T> values) {
    graph::Tensor tensor;
    tensor.name = graph::Text(fresh());
    tensor.element = static_cast<std::int32_t>(type);
    tensor.dims = std::move(dims);
    tensor.data = Bytes::own(std::move(values));
    graph_.initializers.push_back(std::move(tensor));
    return graph_.initializers.back().name.str();
  }
  std::string integers(std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return constant(ElementType::int64, {count}, std::move(values));
  }
  std::string scalar(float value) { return constant(ElementType::float32, {}, std::vector<float>{value}); }
  std::vector<float> numbers(std::int64_t count, float scale, float center = 0) {
    std::vector<float> result;
    for (std::int64_t i = 0; i < count; ++i) result.push_back(center + scale * choices_.number());
    return result;
  }
  std::string reals(std::vector<std::int64_t> dims, float scale, float center = 0) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    std::vector<float> values = numbers(count, scale, center);
    return constant(ElementType::float32, std::move(dims), std::move(values));
  }

  std::string step(std::string op, std::vector<std::string> inputs, std::vector<Attribute> attributes = {}) {
    std::string name = fresh();
    graph_.nodes.push_back(node(std::move(op), std::move(inputs), {name}, std::move(attributes)));
    return name;
  }

  void put(std::string name, std::vector<std::int64_t> dims, std::optional<int> shape = std::nullopt) {
    values_.push_back({std::move(name), std::move(dims), shape ? *shape : ++shapes_});
  }

  // Mostly the last value: chains of nodes are what fusions look for.
  Value pick() {
    if (in_layer_ || choices_.below(4) != 0) return values_.back();
    return values_[static_cast<std::size_t>(choices_.below(static_cast<std::int64_t>(values_.size())))];
  }

  void add_any() {
    switch (choices_.below(20)) {
      case 0:
      case 1:
        return add_conv();
      case 2:
      case 3:
        return add_function();
      case 4:
      case 5:
        return add_binary();
      case 6:
        return add_rounding();
      case 7:
        return add_matmul();
      case 8:
        return add_pool();
      case 9:
        return add_norm();
      case 10:
        return add_passthrough();
      case 11:
        return add_slice();
      case 12:
        return add_if();
      case 13:
        return add_reduction();
      case 14:
        return add_gate();
      case 15:
        return add_sequence();
      default:
        return add_layer();
    }
  }

  // An operator between Q/DQ pairs, which fusions turn into an integer operator.
  void add_layer() {
    in_layer_ = true;
    add_rounding();
    const std::int64_t kind = choices_.below(8);
    if (kind < 3) {
      add_conv();
    } else if (kind < 5) {
      add_matmul();
    } else if (kind == 5) {
      add_function();
    } else if (kind == 6) {
      add_pool();
    } else {
      add_sum();
    }
    add_rounding();
    in_layer_ = false;
  }

  // Add or Mul of two values that are both quantized.
  void add_sum() {
    const Value x = values_.back();
    const char* const functions[] = {"Relu", "Neg", "Identity"};
    put(step(choices_.of(functions), {x.name}), x.dims, x.shape);
    add_rounding();
    const char* const ops[] = {"Add", "Mul"};
    put(step(choices_.of(ops), {x.name, values_.back().name}), x.dims, x.shape);
  }

  void add_function() {
    const Value x = pick();
    const auto real = [](const char* name, float value) { return attribute(name, value); };
    switch (choices_.below(14)) {
      case 0:
        return put(step("Relu", {x.name}), x.dims, x.shape);
      case 1:
        return put(step("Clip", {x.name, scalar(-0.5f), scalar(0.75f)}), x.dims, x.shape);
      case 2:
        return put(step("Clip", {x.name, scalar(0), scalar(6)}), x.dims, x.shape);
      case 3:
        return put(step("LeakyRelu", {x.name}, {real("alpha", 0.1f)}), x.dims, x.shape);
      case 4:
        return put(step("HardSigmoid", {x.name}, {real("alpha", 0.25f)}), x.dims, x.shape);
      case 5:
        return put(step("Elu", {x.name}), x.dims, x.shape);
      case 6: {
        const std::string half =
            step("Cast", {x.name}, {attribute("to", std::int64_t{static_cast<int>(ElementType::float16)})});
        const std::string back =
            step("Cast", {half}, {attribute("to", std::int64_t{static_cast<int>(ElementType::float32)})});
        return put(back, x.dims, x.shape);
      }
      default: {
        const char* const plain[] = {"Sigmoid", "Tanh", "HardSwish", "Abs", "Neg", "Identity", "Erf"};
        return put(step(choices_.of(plain), {x.name}), x.dims, x.shape);
      }
    }
  }

  void add_binary() {
    const Value x = pick();
    const char* const ops[] = {"Add", "Mul", "Sub", "Max", "Min"};
    const std::string op = choices_.of(ops);
    std::vector<const Value*> same;
    for (const Value& one : values_) {
      if (one.shape == x.shape) same.push_back(&one);
    }
    std::string other;
    switch (choices_.below(4)) {
      case 0:
        other = scalar(choices_.number());
        break;
      case 1:
        if (x.dims.size() == 4 && x.dims[1] > 0) {
          other = reals({1, x.dims[1], 1, 1}, 1);
          break;
        }
        [[fallthrough]];
      default:
        other = same[static_cast<std::size_t>(choices_.below(static_cast<std::int64_t>(same.size())))]->name;
    }
    const bool turned = choices_.below(2) == 1;
    put(turned ? step(op, {other, x.name}) : step(op, {x.name, other}), x.dims, x.shape);
  }

  // Weights as stored: float, or integers with a DequantizeLinear, per tensor or per channel of `axis`.
  std::string weights(std::vector<std::int64_t> dims, std::size_t axis, float scale) {
    if (choices_.below(in_layer_ ? 8 : 2) == 0) return reals(std::move(dims), scale);
    quantized_ = true;
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    std::vector<std::int8_t> integers;
    for (std::int64_t i = 0; i < count; ++i)
      integers.push_back(static_cast<std::int8_t>(choices_.number() * 127));
    const std::int64_t scales = choices_.below(2) == 0 ? 1 : dims[axis];
    const std::string held = constant(ElementType::int8, dims, std::move(integers));
    const std::string steps = scales == 1 ? scalar(scale / 127) : reals({scales}, scale / 254, scale / 127);
    return step("DequantizeLinear", {held, steps}, {attribute("axis", static_cast<std::int64_t>(axis))});
  }

  void add_conv() {
    const Value x = pick();
    if (x.dims.size() != 4 || x.dims[1] < 1 || x.dims[3] < 1) return add_function();
    const std::int64_t in = x.dims[1];
    const std::int64_t kind = choices_.below(4);
    const std::int64_t groups = kind == 0 ? in : kind == 1 && in % 2 == 0 ? 2 : 1;
    const std::int64_t out = groups == in ? in : groups * choices_.of<std::int64_t>({8, 4, 1, 3, 16});
    const std::int64_t taps = choices_.of<std::int64_t>({1, 3});
    const std::int64_t stride = 1 + choices_.below(2), pad = taps / 2;
    const float scale = 1.0f / std::sqrt(static_cast<float>(taps * taps * in / groups));
    std::vector<std::string> inputs{x.name, weights({out, in / groups, taps, taps}, 0, scale)};
    if (choices_.below(2) == 1) inputs.push_back(reals({out}, 0.5f));
    using Ints = std::vector<std::int64_t>;
    std::string y = step("Conv", std::move(inputs),
                         {attribute("group", groups), attribute("pads", Ints{pad, pad, pad, pad}),
                          attribute("strides", Ints{stride, stride})});
    const bool same = stride == 1 && out == in;
    std::vector<std::int64_t> dims{x.dims[0], out, x.dims[2] < 0 ? -1 : (x.dims[2] - 1) / stride + 1,
                                   (x.dims[3] - 1) / stride + 1};
    put(std::move(y), std::move(dims), same ? std::optional(x.shape) : std::nullopt);
    if (choices_.below(2) == 1) add_function();
  }

  // x · sigmoid(x), as exporters write it.
  void add_gate() {
    const Value x = pick();
    const std::string sigmoid = step("Sigmoid", {x.name});
    put(step("Mul", {x.name, sigmoid}), x.dims, x.shape);
  }

  // A Q/DQ pair.
  void add_rounding() {
    quantized_ = true;
    const Value x = pick();
    const std::string scale = scalar(choices_.of({0.02f, 0.05f, 0.01f}));
    const bool is_signed = choices_.below(2) == 1;
    const std::string zero =
        is_signed ? constant(ElementType::int8, {}, std::vector<std::int8_t>{static_cast<std::int8_t>(3)})
                  : constant(ElementType::uint8, {}, std::vector<std::uint8_t>{128});
    const std::string integers = step("QuantizeLinear", {x.name, scale, zero});
    put(step("DequantizeLinear", {integers, scale, zero}), x.dims, x.shape);
  }

  // A MatMul as dynamic quantization writes it.
  std::string dynamic_matmul(const Value& x, std::int64_t columns, float scale) {
    quantized_ = true;
    const std::string integers = fresh(), x_scale = fresh(), zero = fresh();
    graph_.nodes.push_back(node("DynamicQuantizeLinear", {x.name}, {integers, x_scale, zero}, {}));
    std::vector<std::int8_t> held;
    for (std::int64_t i = 0; i < x.dims.back() * columns; ++i)
      held.push_back(static_cast<std::int8_t>(choices_.number() * 127));
    const std::string w = constant(ElementType::int8, {x.dims.back(), columns}, std::move(held));
    const std::string w_zero = constant(ElementType::int8, {}, std::vector<std::int8_t>{0});
    const std::string sums = step("MatMulInteger", {integers, w, zero, w_zero});
    const auto real = std::int64_t{static_cast<int>(ElementType::float32)};
    const std::string scales = step("Mul", {x_scale, scalar(scale / 127)});
    return step("Mul", {step("Cast", {sums}, {attribute("to", real)}), scales});
  }

  void add_matmul() {
    const Value x = pick();
    if (x.dims.size() < 2 || x.dims.back() < 1) return add_function();
    const std::int64_t columns = choices_.of<std::int64_t>({8, 5, 16, 33});
    const float scale = 1.0f / std::sqrt(static_cast<float>(x.dims.back()));
    std::vector<std::int64_t> dims = x.dims;
    dims.back() = columns;
    std::string y = choices_.below(3) == 2
                        ? dynamic_matmul(x, columns, scale)
                        : step("MatMul", {x.name, weights({x.dims.back(), columns}, 1, scale)});
    if (choices_.below(2) == 1) y = step("Add", {y, reals({columns}, 0.5f)});
    put(std::move(y), std::move(dims));
  }

  void add_pool() {
    const Value x = pick();
    if (x.dims.size() != 4) return add_function();
    using Ints = std::vector<std::int64_t>;
    std::vector<std::int64_t> dims = x.dims;
    if (choices_.below(3) == 0) {
      dims[2] = dims[3] = 1;
      return put(step("GlobalAveragePool", {x.name}), std::move(dims));
    }
    const char* const ops[] = {"MaxPool", "AveragePool"};
    put(step(choices_.of(ops), {x.name},
             {attribute("kernel_shape", Ints{3, 3}), attribute("pads", Ints{1, 1, 1, 1})}),
        x.dims, x.shape);
  }

  void add_norm() {
    const Value x = pick();
    const bool by_channel = x.dims.size() == 4 && x.dims[1] > 0 && choices_.below(2) == 0;
    if (by_channel) {
      const std::int64_t c = x.dims[1];
      return put(step("BatchNormalization",
                      {x.name, reals({c}, 0.5f, 1), reals({c}, 0.5f), reals({c}, 0.5f), reals({c}, 0.5f, 1)}),
                 x.dims, x.shape);
    }
    if (x.dims.empty() || x.dims.back() < 1) return add_function();
    if (choices_.below(2) == 0) return put(step("Softmax", {x.name}), x.dims, x.shape);
    const std::int64_t n = x.dims.back();
    put(step("LayerNormalization", {x.name, reals({n}, 0.5f, 1), reals({n}, 0.5f)}), x.dims, x.shape);
  }

  void add_passthrough() {
    const Value x = pick();
    using Ints = std::vector<std::int64_t>;
    if (x.dims.size() != 4) return put(step("Identity", {x.name}), x.dims, x.shape);
    const auto& d = x.dims;
    switch (choices_.below(5)) {
      case 0:
        return put(step("Transpose", {x.name}, {attribute("perm", Ints{0, 2, 3, 1})}),
                   {d[0], d[2], d[3], d[1]});
      case 1:
        return put(step("Transpose", {x.name}, {attribute("perm", Ints{0, 1, 3, 2})}),
                   {d[0], d[1], d[3], d[2]});
      case 2:
        return put(step("Reshape", {x.name, integers({0, 0, -1})}), {d[0], d[1], -1});
      case 3: {
        const std::int64_t c = d[1] < 0 ? -1 : 2 * d[1];
        return put(step("Concat", {x.name, x.name}, {attribute("axis", std::int64_t{1})}),
                   {d[0], c, d[2], d[3]});
      }
      default: {
        const std::string wide = step("Unsqueeze", {x.name, integers({0})});
        return put(step("Squeeze", {wide, integers({0})}), d, x.shape);
      }
    }
  }

  // A shape that depends on the value of an input, not only on input shapes.
  void add_slice() {
    const Value x = pick();
    if (x.dims.size() != 4) return add_function();
    std::vector<std::int64_t> dims = x.dims;
    dims[2] = -1;
    put(step("Slice", {x.name, integers({0}), "n", integers({2})}), std::move(dims));
  }

  void add_if() {
    const Value x = pick();
    const std::string small = step("Less", {"n", integers({3})});
    const std::string condition = step("Squeeze", {small, integers({0})});
    const auto branch = [&](const char* op, const char* after) {
      graph::Graph graph;
      const std::string inside = fresh(), out = fresh();
      graph.nodes = {node(op, {x.name}, {inside}, {}), node(after, {inside}, {out}, {})};
      graph.outputs = {info(out, x.dims, ElementType::float32)};
      graph.name = graph::Text("branch");
      return graph::GraphBox(std::move(graph));
    };
    put(step("If", {condition},
             {attribute("then_branch", branch("Relu", "Identity")),
              attribute("else_branch", branch("Identity", "Neg"))}),
        x.dims, x.shape);
  }

  void add_reduction() {
    const Value x = pick();
    if (x.dims.empty()) return add_function();
    std::vector<std::int64_t> dims = x.dims;
    dims.back() = 1;
    const char* const ops[] = {"ReduceMean", "ReduceMax", "ReduceMin"};
    put(step(choices_.of(ops), {x.name, integers({-1})}), std::move(dims));
  }

  void add_sequence() {
    const Value x = pick(), y = pick();
    const std::string both = step("SequenceConstruct", {x.name, y.name});
    const bool second = choices_.below(2) == 1;
    const std::string at = constant(ElementType::int64, {}, std::vector<std::int64_t>{second ? 1 : 0});
    const Value& taken = second ? y : x;
    put(step("SequenceAt", {both, at}), taken.dims, taken.shape);
  }

  void finish(Case& made) {
    graph_.name = graph::Text("random");
    graph_.inputs = {info("x", values_[0].dims, ElementType::float32), info("n", {1}, ElementType::int64)};
    // The last value, and some intermediate ones.
    for (std::size_t i = 1; i < values_.size(); ++i) {
      const bool last = i + 1 == values_.size();
      if (last || choices_.below(6) == 1) {
        const std::vector<std::int64_t> unknown(values_[i].dims.size(), -1);
        graph_.outputs.push_back(info(values_[i].name, unknown, ElementType::float32));
      } else if (choices_.below(4) == 1) {
        made.watch.push_back(values_[i].name);
      }
    }
    made.model = std::make_shared<graph::Model>();
    made.model->ir_version = 9;
    graph::OpsetImport opset;
    opset.version = 18;
    made.model->opsets.push_back(opset);
    made.model->graph = std::move(graph_);
  }

  void add_run(Case& made, int index) {
    static const std::shared_ptr<ops::Memory> memory = ops::Memory::make();
    // Runs with the same shapes reuse the plan of the first.
    const std::int64_t batch = index == 3 ? 2 : 1, height = index == 3 ? 7 : 5;
    Array x = Array::make(*memory, ElementType::float32, {batch, channels_, height, width_}).value();
    for (float& one : x.elements<float>()) one = 2 * choices_.number();
    constexpr float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity()};
    for (int i = 0; special_ && i < 2; ++i) {
      const std::int64_t place = choices_.below(256) * choices_.below(256) % x.count();
      x.mutable_data<float>()[place] = choices_.of(kSpecial);
    }
    Array n = Array::make(*memory, ElementType::int64, {1}).value();
    *n.mutable_data<std::int64_t>() = 1 + (choices_.below(5) + 2 * index) % 5;
    made.runs.push_back({{"x", Datum(x)}, {"n", Datum(n)}});
  }

  Choices choices_;
  graph::Graph graph_;
  std::vector<Value> values_;
  std::int64_t channels_ = 1, width_ = 1;
  int next_ = 0, shapes_ = 0;
  bool special_ = false, quantized_ = false, in_layer_ = false;
};

}  // namespace anybit::runtime::testing
