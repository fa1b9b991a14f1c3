// DequantizeLinear → operator → QuantizeLinear becomes one integer operator: ONNX's QLinearConv and
// QLinearMatMul, and those that ONNX Runtime defined for the others. Results are within one step of the
// nodes' by themselves (the integer ones do not round in between).
#include <cmath>

#include "graph/attribute.hpp"
#include "ops/coded.hpp"
#include "runtime/qdq.hpp"

namespace anybit::runtime {
namespace {

using graph::attribute_or;
using ops::Array;
using ops::ElementType;

// What takes the place of an operator: a node without names, and its inputs.
struct Replacement {
  graph::Node node;
  std::vector<int> inputs;
  Quantized output;
};

graph::Node renamed(const graph::Node& node, std::string_view op, std::string_view domain = "") {
  graph::Node result = node;
  result.op_type = graph::Text(std::string(op));
  result.domain = graph::Text(std::string(domain));
  return result;
}

bool runs(std::string_view op, std::string_view domain = "") {
  const ops::Descriptor* found = ops::find(domain, op);
  return found && found->run;
}

// Weights: 8 bits, constant, per tensor or with a scale for each index of `axis`.
std::optional<Quantized> weights(Qdq& qdq, int slot, std::int64_t axis) {
  const auto found = qdq.from(slot);
  if (!found || !is_8_bit(qdq.type_of(found->value))) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(qdq.edit.constant(found->value)->rank());
  const std::int64_t own = found->axis < 0 ? found->axis + rank : found->axis;
  return found->per_tensor || own == axis ? found : std::nullopt;
}

// A bias in units of input scale × weight scale: as it is in the file if it was made so, else rounded anew.
// None if that would move results by more than half a step of y.
int integer_bias(Qdq& qdq, int slot, const Quantized& x, const Quantized& w, const Quantized& y) {
  const auto stored = qdq.from(slot);
  const Array* values = qdq.edit.constant(stored ? stored->value : slot);
  if (!values || values->type() != (stored ? ElementType::int32 : ElementType::float32)) return -1;
  const Array& weight_scale = *qdq.edit.constant(w.scale);
  const bool by_channel = values->rank() > 0 && values->count() == weight_scale.count() &&
                          values->dims()[values->rank() - 1] == values->count();
  if (weight_scale.count() != 1 && !by_channel) return -1;
  const Array* stored_scale = stored ? qdq.edit.constant(stored->scale) : nullptr;
  if (stored_scale && stored_scale->count() != 1 && stored_scale->count() != values->count()) return -1;
  const double most = static_cast<double>(qdq.scale(y)) / 2;
  auto result = Array::make(*qdq.resources.memory, ElementType::int32, values->dims());
  if (!result.ok()) return -1;
  for (std::int64_t i = 0; i < values->count(); ++i) {
    const double unit = static_cast<double>(qdq.scale(x)) *
                        static_cast<double>(weight_scale.data<float>()[weight_scale.count() == 1 ? 0 : i]);
    double real = 0;
    if (stored_scale) {
      real = static_cast<double>(values->data<std::int32_t>()[i]) *
             static_cast<double>(stored_scale->data<float>()[stored_scale->count() == 1 ? 0 : i]);
    } else {
      real = static_cast<double>(values->data<float>()[i]);
    }
    const double units = std::nearbyint(real / unit);
    if (!(std::abs(units) <= 0x7FFFFFFF) || std::abs(units * unit - real) > most) return -1;
    result->mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(units);
  }
  return qdq.edit.add_constant(std::move(result).value());
}

std::optional<Replacement> conv(Qdq& qdq, const Step& step) {
  const auto x = qdq.activation(step.inputs[0]);
  const auto w = x ? weights(qdq, step.inputs[1], 0) : std::nullopt;
  if (!w) return std::nullopt;
  const auto y = qdq.into(step.outputs[0]);
  if (!y) return std::nullopt;
  const bool biased = step.inputs.size() > 2 && step.inputs[2] >= 0;
  const int bias = biased ? integer_bias(qdq, step.inputs[2], *x, *w, *y) : -1;
  if (biased && bias < 0) return std::nullopt;
  std::vector<int> inputs{x->value, x->scale,      x->zero_point, w->value,
                          w->scale, w->zero_point, y->scale,      y->zero_point};
  if (biased) inputs.push_back(bias);
  return Replacement{renamed(*step.node, "QLinearConv"), std::move(inputs), *y};
}

// Sums of 32 bits are exact as far as they are this long.
constexpr std::int64_t kLongestSum = 66311;

std::optional<Replacement> conv_transpose(Qdq& qdq, const Step& step) {
  const auto x = qdq.activation(step.inputs[0]);
  const auto w = x ? weights(qdq, step.inputs[1], 1) : std::nullopt;
  const auto y = w ? qdq.into(step.outputs[0]) : std::nullopt;
  if (!y) return std::nullopt;
  const Array& weight = *qdq.edit.constant(w->value);
  const std::int64_t groups = attribute_or<std::int64_t>(*step.node, "group", 1);
  if (weight.rank() < 3 || weight.count() == 0 || groups < 1 || weight.dim(0) % groups != 0 ||
      weight.count() / weight.dim(1) > kLongestSum || (groups > 1 && !w->per_tensor))
    return std::nullopt;
  const bool biased = step.inputs.size() > 2 && step.inputs[2] >= 0;
  const int bias = biased ? integer_bias(qdq, step.inputs[2], *x, *w, *y) : -1;
  if (biased && (bias < 0 || qdq.edit.constant(bias)->count() != groups * weight.dim(1))) return std::nullopt;
  std::vector<int> inputs{x->value, x->scale,      x->zero_point, w->value,
                          w->scale, w->zero_point, y->scale,      y->zero_point};
  if (biased) inputs.push_back(bias);
  return Replacement{renamed(*step.node, "QLinearConvTranspose", ops::kAnybit), std::move(inputs), *y};
}

// The second factor is a matrix of weights, or another activation.
std::optional<Replacement> matmul(Qdq& qdq, const Step& step) {
  const auto a = qdq.activation(step.inputs[0]);
  if (!a) return std::nullopt;
  auto b = qdq.activation(step.inputs[1]);
  if (!b) {
    const auto held = qdq.from(step.inputs[1]);
    const Array* matrix = held ? qdq.edit.constant(held->value) : nullptr;
    if (matrix && matrix->rank() == 2) b = weights(qdq, step.inputs[1], 1);
  }
  const auto y = b ? qdq.into(step.outputs[0]) : std::nullopt;
  if (!y) return std::nullopt;
  return Replacement{
      renamed(*step.node, "QLinearMatMul"),
      {a->value, a->scale, a->zero_point, b->value, b->scale, b->zero_point, y->scale, y->zero_point},
      *y};
}

std::optional<Replacement> gemm(Qdq& qdq, const Step& step) {
  if (attribute_or(*step.node, "alpha", 1.0F) != 1.0F || attribute_or(*step.node, "beta", 1.0F) != 1.0F)
    return std::nullopt;
  const auto a = qdq.activation(step.inputs[0]);
  const auto b =
      a ? weights(qdq, step.inputs[1], attribute_or<std::int64_t>(*step.node, "transB", 0) != 0 ? 0 : 1)
        : std::nullopt;
  if (!b) return std::nullopt;
  const auto y = qdq.into(step.outputs[0]);
  if (!y) return std::nullopt;
  const bool biased = step.inputs.size() > 2 && step.inputs[2] >= 0;
  const int bias = biased ? integer_bias(qdq, step.inputs[2], *a, *b, *y) : -1;
  if (biased && bias < 0) return std::nullopt;
  graph::Node node = renamed(*step.node, "QGemm", ops::kMicrosoft);
  std::erase_if(node.attributes, [](const graph::Attribute& one) { return one.name.str() == "beta"; });
  return Replacement{
      std::move(node),
      {a->value, a->scale, a->zero_point, b->value, b->scale, b->zero_point, bias, y->scale, y->zero_point},
      *y};
}

// Add and Mul of two quantized values. A constant operand counts as one, too, if it is quantized.
std::optional<Replacement> two(Qdq& qdq, const Step& step, std::string_view op) {
  const auto a = qdq.activation(step.inputs[0]), b = qdq.activation(step.inputs[1]);
  if (!a || !b || qdq.type_of(a->zero_point) != qdq.type_of(b->zero_point)) return std::nullopt;
  const auto y = qdq.into(step.outputs[0]);
  if (!y || qdq.type_of(y->zero_point) != qdq.type_of(a->zero_point)) return std::nullopt;
  return Replacement{
      renamed(*step.node, op, ops::kMicrosoft),
      {a->value, a->scale, a->zero_point, b->value, b->scale, b->zero_point, y->scale, y->zero_point},
      *y};
}
std::optional<Replacement> add(Qdq& qdq, const Step& step) { return two(qdq, step, "QLinearAdd"); }
std::optional<Replacement> mul(Qdq& qdq, const Step& step) { return two(qdq, step, "QLinearMul"); }

std::optional<Replacement> concat(Qdq& qdq, const Step& step) {
  std::vector<int> inputs(2);
  ElementType type = ElementType::undefined;
  for (const int slot : step.inputs) {
    const auto x = qdq.activation(slot);
    if (!x || (type != ElementType::undefined && qdq.type_of(x->zero_point) != type)) return std::nullopt;
    type = qdq.type_of(x->zero_point);
    inputs.insert(inputs.end(), {x->value, x->scale, x->zero_point});
  }
  const auto y = qdq.into(step.outputs[0]);
  if (!y || qdq.type_of(y->zero_point) != type) return std::nullopt;
  inputs[0] = y->scale;
  inputs[1] = y->zero_point;
  return Replacement{renamed(*step.node, "QLinearConcat", ops::kMicrosoft), std::move(inputs), *y};
}

// One value in, one out, and an operator of ONNX Runtime in between.
std::optional<Replacement> one(Qdq& qdq, const Step& step, std::string_view op) {
  const auto x = qdq.activation(step.inputs[0]);
  const auto y = x ? qdq.into(step.outputs[0]) : std::nullopt;
  if (!y || qdq.type_of(x->zero_point) != qdq.type_of(y->zero_point)) return std::nullopt;
  return Replacement{renamed(*step.node, op, ops::kMicrosoft),
                     {x->value, x->scale, x->zero_point, y->scale, y->zero_point},
                     *y};
}
std::optional<Replacement> average_pool(Qdq& qdq, const Step& step) {
  return one(qdq, step, "QLinearAveragePool");
}
std::optional<Replacement> global_pool(Qdq& qdq, const Step& step) {
  return one(qdq, step, "QLinearGlobalAveragePool");
}
std::optional<Replacement> softmax(Qdq& qdq, const Step& step) {
  auto found = one(qdq, step, "QLinearSoftmax");
  if (!found) return found;
  if (!step.node->attribute("axis"))
    set_attribute(found->node, "axis", std::int64_t{step.version >= 13 ? -1 : 1});
  set_attribute(found->node, "opset", step.version);
  return found;
}

struct Rule {
  std::string_view op, result, domain;
  std::optional<Replacement> (*make)(Qdq& qdq, const Step& step);
};

constexpr Rule kRules[] = {
    {"Conv", "QLinearConv", "", conv},
    {"MatMul", "QLinearMatMul", "", matmul},
    {"Gemm", "QGemm", ops::kMicrosoft, gemm},
    {"Add", "QLinearAdd", ops::kMicrosoft, add},
    {"Mul", "QLinearMul", ops::kMicrosoft, mul},
    {"Concat", "QLinearConcat", ops::kMicrosoft, concat},
    {"AveragePool", "QLinearAveragePool", ops::kMicrosoft, average_pool},
    {"GlobalAveragePool", "QLinearGlobalAveragePool", ops::kMicrosoft, global_pool},
    {"Softmax", "QLinearSoftmax", ops::kMicrosoft, softmax},
};

// Operators that only our kernels know.
constexpr Rule kOwnRules[] = {{"ConvTranspose", "QLinearConvTranspose", ops::kAnybit, conv_transpose}};

Result<void> follow(std::span<const Rule> rules, Program& program, const Resources& resources) {
  Qdq qdq(program, resources);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (qdq.edit.removed(i)) continue;
    for (const Rule& rule : rules) {
      if (!is(program.steps[i], rule.op) || !runs(rule.result, rule.domain)) continue;
      auto made = rule.make(qdq, program.steps[i]);
      if (made) TRY(qdq.replace(i, made->output, std::move(made->node), std::move(made->inputs)));
      break;
    }
  }
  qdq.edit.done();
  return {};
}

Result<void> run(Program& program, const Resources& resources) { return follow(kRules, program, resources); }
Result<void> run_own(Program& program, const Resources& resources) {
  return follow(kOwnRules, program, resources);
}

}  // namespace

std::span<const Descriptor> fuse_qdq_descriptors() {
  static const Descriptor all[] = {
      {.name = "qdq",
       .order = 10,
       .summary = "DequantizeLinear, operator, QuantizeLinear become an integer operator",
       .run = run},
      {.name = "qdq-own",
       .order = 10,
       .summary = "the same with integer operators of ours",
       .run = run_own,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
