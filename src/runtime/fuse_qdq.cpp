// DequantizeLinear → operator → QuantizeLinear becomes one integer operator: ONNX's QLinearConv and
// QLinearMatMul, and ONNX Runtime's for the others. Results are within one quantization step of the unfused
// nodes' (integer operators do not round in between). 16-bit operators are for our kernels only.
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "graph/node.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "runtime/context.hpp"
#include "runtime/qdq.hpp"
#include "runtime/steps_alone.hpp"

namespace anybit::runtime {
namespace {

using graph::as_operator;
using graph::attribute_or;
using ops::Array;
using ops::ElementType;

// The replacement of an operator: a node without names, and its inputs.
struct Replacement {
  graph::Node node;
  std::vector<int> inputs;
  Quantized output;
};

bool runs(std::string_view op, std::string_view domain = "") {
  const ops::Descriptor* found = ops::find(domain, op);
  return found && found->run;
}

// Weights: constant integers, per tensor or with one scale per index of `axis`.
std::optional<Quantized> weights(Qdq& qdq, int slot, std::int64_t axis) {
  auto found = qdq.from(slot);
  if (!found || !qdq.edit.constant(found->value)) return std::nullopt;
  if (auto bytes = qdq.widened(*found); bytes.ok()) found = *bytes;
  if (!qdq.takes(qdq.type_of(found->value))) return std::nullopt;
  return qdq.fit(*found, axis) ? found : std::nullopt;
}

// Whether these constants have 8-bit types.
bool are_bytes(const Qdq& qdq, std::initializer_list<int> slots) {
  return std::ranges::all_of(slots, [&](int slot) { return ops::is_byte(qdq.type_of(slot)); });
}

// The bias as int32 with scale = input scale × weight scale: as stored if it has that scale, else
// requantized. -1 if requantization would change results by more than half a step of y.
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
  if (!qdq.resources.afford(values->count() * 4, values->count())) return -1;  // nodes may share it
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

// Linear operators whose results are quantized like `y`.
std::optional<Replacement> conv_into(Qdq& qdq, const Step& step, const std::optional<Quantized>& y) {
  const auto x = y ? qdq.activation(step.inputs[0]) : std::nullopt;
  const auto w = x ? weights(qdq, step.inputs[1], 0) : std::nullopt;
  if (!w) return std::nullopt;
  const bool biased = step.inputs.size() > 2 && step.inputs[2] >= 0;
  const int bias = biased ? integer_bias(qdq, step.inputs[2], *x, *w, *y) : -1;
  if (biased && bias < 0) return std::nullopt;
  std::vector<int> inputs{x->value, x->scale,      x->zero_point, w->value,
                          w->scale, w->zero_point, y->scale,      y->zero_point};
  if (biased) inputs.push_back(bias);
  // ONNX's QLinearConv is for 8 bits.
  const bool narrow = are_bytes(qdq, {x->zero_point, w->zero_point, y->zero_point});
  return Replacement{as_operator(*step.node, "QLinearConv", narrow ? "" : ops::kAnybit), std::move(inputs),
                     *y};
}

std::optional<Replacement> conv(Qdq& qdq, const Step& step) {
  return conv_into(qdq, step, qdq.into(step.outputs[0]));
}

// The most products of two 8-bit numbers less their zero points, up to 255 · 255, that an int32 accumulator
// holds.
constexpr std::int64_t kLongestSum = 33025;

// Whether each output of a ConvTranspose depends on one input position, and no output is cut off.
bool lie_apart(const Step& step, const Array& weight) {
  const auto list = [&](const char* name) {
    return attribute_or(*step.node, name, std::vector<std::int64_t>());
  };
  const auto all = [&](const char* name, std::int64_t wanted) {
    return std::ranges::all_of(list(name), [&](std::int64_t one) { return one == wanted; });
  };
  return weight.rank() > 2 && std::ranges::equal(list("strides"), weight.dims().span().subspan(2)) &&
         all("dilations", 1) && all("pads", 0) && all("output_padding", 0) && list("output_shape").empty() &&
         !step.node->attribute("auto_pad");
}

std::optional<Replacement> conv_transpose(Qdq& qdq, const Step& step) {
  const auto x = qdq.activation(step.inputs[0]);
  const auto w = x ? weights(qdq, step.inputs[1], 1) : std::nullopt;
  const auto y = w ? qdq.into(step.outputs[0]) : std::nullopt;
  if (!y) return std::nullopt;
  const Array& weight = *qdq.edit.constant(w->value);
  // Sums over several input positions have only 32 bits.
  if (!are_bytes(qdq, {x->zero_point, w->zero_point, y->zero_point}) && !lie_apart(step, weight))
    return std::nullopt;
  const std::int64_t groups = attribute_or<std::int64_t>(*step.node, "group", 1);
  if (weight.rank() < 3 || weight.count() == 0 || groups < 1 || weight.dim(0) % groups != 0 ||
      weight.count() / weight.dim(1) > kLongestSum || (groups > 1 && !w->per_tensor))
    return std::nullopt;
  const std::int64_t channels = groups * weight.dim(1);  // first: adding a bias may reallocate constants
  const bool biased = step.inputs.size() > 2 && step.inputs[2] >= 0;
  const int bias = biased ? integer_bias(qdq, step.inputs[2], *x, *w, *y) : -1;
  if (biased && (bias < 0 || qdq.edit.constant(bias)->count() != channels)) return std::nullopt;
  std::vector<int> inputs{x->value, x->scale,      x->zero_point, w->value,
                          w->scale, w->zero_point, y->scale,      y->zero_point};
  if (biased) inputs.push_back(bias);
  return Replacement{as_operator(*step.node, "QLinearConvTranspose", ops::kAnybit), std::move(inputs), *y};
}

// The second factor is a weight matrix, or another activation.
std::optional<Replacement> matmul_into(Qdq& qdq, const Step& step, const std::optional<Quantized>& y) {
  const auto a = y ? qdq.activation(step.inputs[0]) : std::nullopt;
  if (!a) return std::nullopt;
  auto b = qdq.activation(step.inputs[1]);
  if (!b) {
    const auto held = qdq.from(step.inputs[1]);
    const Array* matrix = held ? qdq.edit.constant(held->value) : nullptr;
    if (matrix && matrix->rank() == 2) b = weights(qdq, step.inputs[1], 1);
  }
  if (!b) return std::nullopt;
  return Replacement{
      as_operator(*step.node, "QLinearMatMul"),
      {a->value, a->scale, a->zero_point, b->value, b->scale, b->zero_point, y->scale, y->zero_point},
      *y};
}
std::optional<Replacement> matmul(Qdq& qdq, const Step& step) {
  return matmul_into(qdq, step, qdq.into(step.outputs[0]));
}

// The output-channel axis of the weights of a Conv or Gemm.
std::int64_t channel_axis(const Step& step) {
  return is(step, "Conv") || attribute_or<std::int64_t>(*step.node, "transB", 0) != 0 ? 0 : 1;
}

std::optional<Replacement> gemm_into(Qdq& qdq, const Step& step, const std::optional<Quantized>& y) {
  if (attribute_or(*step.node, "alpha", 1.0F) != 1.0F || attribute_or(*step.node, "beta", 1.0F) != 1.0F)
    return std::nullopt;
  const auto a = y ? qdq.activation(step.inputs[0]) : std::nullopt;
  const auto b = a ? weights(qdq, step.inputs[1], channel_axis(step)) : std::nullopt;
  if (!b) return std::nullopt;
  const bool biased = step.inputs.size() > 2 && step.inputs[2] >= 0;
  const int bias = biased ? integer_bias(qdq, step.inputs[2], *a, *b, *y) : -1;
  if (biased && bias < 0) return std::nullopt;
  graph::Node node = as_operator(*step.node, "QGemm", ops::kMicrosoft);
  std::erase_if(node.attributes, [](const graph::Attribute& one) { return one.name.str() == "beta"; });
  return Replacement{
      std::move(node),
      {a->value, a->scale, a->zero_point, b->value, b->scale, b->zero_point, bias, y->scale, y->zero_point},
      *y};
}

std::optional<Replacement> gemm(Qdq& qdq, const Step& step) {
  return gemm_into(qdq, step, qdq.into(step.outputs[0]));
}

// Add and Mul of two quantized values; a quantized constant counts as one.
std::optional<Replacement> two(Qdq& qdq, const Step& step, std::string_view op) {
  const auto a = qdq.activation(step.inputs[0]), b = qdq.activation(step.inputs[1]);
  if (!a || !b || qdq.type_of(a->zero_point) != qdq.type_of(b->zero_point)) return std::nullopt;
  const auto y = qdq.into(step.outputs[0]);
  if (!y || qdq.type_of(y->zero_point) != qdq.type_of(a->zero_point)) return std::nullopt;
  return Replacement{
      as_operator(*step.node, op, ops::kMicrosoft),
      {a->value, a->scale, a->zero_point, b->value, b->scale, b->zero_point, y->scale, y->zero_point},
      *y};
}
std::optional<Replacement> add(Qdq& qdq, const Step& step) { return two(qdq, step, "QLinearAdd"); }
std::optional<Replacement> mul(Qdq& qdq, const Step& step) { return two(qdq, step, "QLinearMul"); }

// With the same parameters everywhere, concatenation copies integers.
std::optional<Replacement> concat(Qdq& qdq, const Step& step) {
  const auto y = qdq.into(step.outputs[0]);
  if (!y) return std::nullopt;
  std::vector<int> values, inputs{y->scale, y->zero_point};
  bool moves = true;
  for (const int slot : step.inputs) {
    const auto x = qdq.activation(slot);
    if (!x || qdq.type_of(x->zero_point) != qdq.type_of(y->zero_point)) return std::nullopt;
    moves = moves && qdq.same_parameters(*x, *y);
    values.push_back(x->value);
    inputs.insert(inputs.end(), {x->value, x->scale, x->zero_point});
  }
  if (moves) return Replacement{*step.node, std::move(values), *y};
  if (!ops::is_byte(qdq.type_of(y->zero_point))) return std::nullopt;
  return Replacement{as_operator(*step.node, "QLinearConcat", ops::kMicrosoft), std::move(inputs), *y};
}

// One input, one output, and ONNX Runtime's quantized operator.
std::optional<Replacement> one(Qdq& qdq, const Step& step, std::string_view op) {
  const auto x = qdq.activation(step.inputs[0]);
  const auto y = x ? qdq.into(step.outputs[0]) : std::nullopt;
  if (!y || qdq.type_of(x->zero_point) != qdq.type_of(y->zero_point)) return std::nullopt;
  return Replacement{as_operator(*step.node, op, ops::kMicrosoft),
                     {x->value, x->scale, x->zero_point, y->scale, y->zero_point},
                     *y};
}
std::optional<Replacement> average_pool(Qdq& qdq, const Step& step) {
  return one(qdq, step, "QLinearAveragePool");
}
std::optional<Replacement> global_pool(Qdq& qdq, const Step& step) {
  return one(qdq, step, "QLinearGlobalAveragePool");
}
// Over axes from an attribute or, since version 18, from a constant.
std::optional<Replacement> reduce_mean(Qdq& qdq, const Step& step) {
  std::vector<std::int64_t> axes;
  if (step.inputs.size() > 1 && step.inputs[1] >= 0) {
    const Array* given = qdq.edit.constant(step.inputs[1]);
    if (!given || given->type() != ElementType::int64) return std::nullopt;
    axes.assign(given->elements<std::int64_t>().begin(), given->elements<std::int64_t>().end());
  } else {
    axes = attribute_or(*step.node, "axes", std::vector<std::int64_t>());
  }
  auto found = axes.empty() ? std::nullopt : one(qdq, step, "QLinearReduceMean");
  if (found) set_attribute(found->node, "axes", std::move(axes));
  return found;
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

// Operators that only our kernels have, for 8 and 16 bits.
constexpr Rule kOwnRules[] = {{"ConvTranspose", "QLinearConvTranspose", ops::kAnybit, conv_transpose},
                              {"ReduceMean", "QLinearReduceMean", ops::kMicrosoft, reduce_mean}};
// For 8 and 16 bits.
constexpr Rule kWideRules[] = {
    {"Conv", "QLinearConv", ops::kAnybit, conv},
    {"MatMul", "QLinearMatMul", "", matmul},
    {"Gemm", "QGemm", ops::kMicrosoft, gemm},
    {"Add", "QLinearAdd", ops::kMicrosoft, add},
    {"Mul", "QLinearMul", ops::kMicrosoft, mul},
    {"Concat", "Concat", "", concat},
    {"AveragePool", "QLinearAveragePool", ops::kMicrosoft, average_pool},
    {"GlobalAveragePool", "QLinearGlobalAveragePool", ops::kMicrosoft, global_pool},
};

// Linear operators with weights of any bit width.
constexpr Rule kRulesOfFewBits[] = {
    {"Conv", "QLinearConv", ops::kAnybit, conv},
    {"ConvTranspose", "QLinearConvTranspose", ops::kAnybit, conv_transpose},
    {"MatMul", "QLinearMatMul", "", matmul},
    {"Gemm", "QGemm", ops::kMicrosoft, gemm},
};

Result<void> follow(std::span<const Rule> rules, IntegerTypes accepted, Program& program,
                    const Resources& resources) {
  Qdq qdq(program, resources, accepted);
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

// A linear operator, an elementwise function of its result, and a QuantizeLinear: Conv → HardSwish →
// QuantizeLinear.
struct Function {
  std::size_t linear_step, function, quantizer;  // steps
};

std::optional<Function> function_behind(Qdq& qdq, std::size_t linear_step) {
  const int result = qdq.program.steps[linear_step].outputs[0], next = qdq.edit.only_consumer(result);
  if (next < 0) return std::nullopt;
  const Step& function = qdq.program.steps[static_cast<std::size_t>(next)];
  if (function.descriptor->traits.role != ops::Traits::Role::element || function.inputs.size() != 1 ||
      function.outputs.size() != 1 || !function.descriptor->domain.empty())
    return std::nullopt;
  const int last = qdq.edit.only_consumer(function.outputs[0]);
  if (last < 0 || !quantizes(qdq.program.steps[static_cast<std::size_t>(last)]) ||
      qdq.program.steps[static_cast<std::size_t>(last)].inputs[0] != function.outputs[0] ||
      !qdq.from_quantizer(static_cast<std::size_t>(last)))
    return std::nullopt;
  return Function{linear_step, static_cast<std::size_t>(next), static_cast<std::size_t>(last)};
}

// The largest magnitude of a constant, which may be quantized; empty for other values.
std::optional<double> largest_of(Qdq& qdq, int slot) {
  const auto stored = qdq.from(slot);
  const Array* values = qdq.edit.constant(stored ? stored->value : slot);
  if (!values || values->type() != (stored ? ElementType::int32 : ElementType::float32)) return std::nullopt;
  double largest = 0, scale = stored ? 0 : 1;
  for (std::int64_t i = 0; i < values->count(); ++i) {
    const double value = stored ? static_cast<double>(values->data<std::int32_t>()[i])
                                : static_cast<double>(values->data<float>()[i]);
    largest = std::max(largest, std::abs(value));
  }
  if (!stored) return largest;
  for (const float one : qdq.edit.constant(stored->scale)->elements<float>())
    scale = std::max(scale, static_cast<double>(one));
  return largest * scale;
}

// A scale at which every possible result of the linear operator fits int16.
std::optional<float> scale_for_all(Qdq& qdq, const Step& step) {
  const auto x = qdq.activation(step.inputs[0]);
  const std::int64_t axis = channel_axis(step);
  const auto w = x ? weights(qdq, step.inputs[1], axis) : std::nullopt;
  const bool biased = step.inputs.size() > 2 && step.inputs[2] >= 0;
  const auto bias = biased ? largest_of(qdq, step.inputs[2]) : std::optional(0.0);
  if (!w || !bias) return std::nullopt;
  const Array &quantized = *qdq.edit.constant(w->value), &scales = *qdq.edit.constant(w->scale);
  const Array& zeros = *qdq.edit.constant(w->zero_point);
  if (static_cast<std::int64_t>(quantized.rank()) <= axis) return std::nullopt;
  if (!qdq.resources.afford(0, quantized.count())) return std::nullopt;  // nodes may share them
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t channels = quantized.dim(at), inner = quantized.dims().product(at + 1, quantized.rank());
  const auto pick = [](const Array& of, std::int64_t c) { return of.count() == 1 ? 0 : c; };
  std::vector<double> sums(static_cast<std::size_t>(channels));
  for (std::int64_t i = 0; i < quantized.count(); ++i) {
    const std::int64_t c = i / inner % channels;
    sums[static_cast<std::size_t>(c)] +=
        std::abs(ops::code_at(quantized, i) - ops::code_at(zeros, pick(zeros, c)));
  }
  double largest = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    largest = std::max(largest, sums[static_cast<std::size_t>(c)] *
                                    static_cast<double>(scales.data<float>()[pick(scales, c)]));
  }
  const ops::QuantizedRange range = ops::range_of(qdq.type_of(x->zero_point));
  const std::int64_t far = std::max(qdq.zero(*x) - range.low, range.high - qdq.zero(*x));
  const double all = largest * static_cast<double>(far) * static_cast<double>(qdq.scale(*x)) + *bias;
  const auto scale = static_cast<float>(all / 32767);
  return std::isnormal(scale) ? std::optional(scale) : std::nullopt;
}

constexpr std::int64_t kCount = 65536;  // values of int16
// The function and the quantizer applied to every int16 value, in the order of their bit patterns.
Result<Array> table_behind(Qdq& qdq, const Function& of, float scale) {
  const Program program = steps_alone(qdq.program, {of.function, of.quantizer});
  Context context(program, qdq.resources.memory, qdq.resources.pool);
  Array numbers = TRY(Array::make(*qdq.resources.memory, ElementType::float32, {kCount}));
  for (std::int64_t i = 0; i < kCount; ++i)
    numbers.mutable_data<float>()[i] = static_cast<float>(static_cast<std::int16_t>(i)) * scale;
  context.slot(program.steps[0].inputs[0]) = numbers;
  TRY(context.run_step(0));
  TRY(context.run_step(1));
  return context.slot(program.steps[1].outputs[0]).array.copy(*qdq.resources.memory);
}

// Whether adjacent int16 inputs differ by at most one quantized output step, so that rounding to int16 costs
// at most one step.
bool is_fine(const Array& table) {
  for (int code = -32768; code < 32767; ++code) {
    const auto place = [](int one) { return std::int64_t{static_cast<std::uint16_t>(one)}; };
    const int here = ops::code_at(table, place(code)), next = ops::code_at(table, place(code + 1));
    if (std::abs(next - here) > 1) return false;
  }
  return true;
}

struct LinearRule {
  std::string_view op;
  std::optional<Replacement> (*make)(Qdq& qdq, const Step& step, const std::optional<Quantized>& y);
};
constexpr LinearRule kLinearRules[] = {{"Conv", conv_into}, {"MatMul", matmul_into}, {"Gemm", gemm_into}};

// Quantizing to the output's scale before the function would round twice. So the linear operator produces
// int16 at a much finer scale, and a table applies the function.
Result<void> put_table_behind(Qdq& qdq, const LinearRule& rule, std::size_t linear_step) {
  const auto of = function_behind(qdq, linear_step);
  const Step& step = qdq.program.steps[linear_step];
  // Depthwise convolution into int16 is slower than convolution and function in float.
  if (of && attribute_or<std::int64_t>(*step.node, "group", 1) > 1) return {};
  const auto scale = of ? scale_for_all(qdq, step) : std::nullopt;
  // A dip like HardSwish's, a few units wide, could lie between two int16 values and be missing from the
  // table.
  constexpr float kCoarsest = 1.0F / 16;
  if (!scale || *scale > kCoarsest) return {};
  Quantized between{.step = linear_step};
  Array stored = TRY(Array::make(*qdq.resources.memory, ElementType::float32, {}));
  *stored.mutable_data<float>() = *scale;
  between.scale = qdq.edit.add_constant(std::move(stored));
  between.zero_point = TRY(qdq.code_slot(ElementType::int16, 0));
  auto made = rule.make(qdq, step, between);
  if (!made || !qdq.resources.afford(kCount * 2, kCount * 4)) return {};
  auto table = table_behind(qdq, *of, *scale);
  if (!table.ok() || !is_fine(*table)) return {};  // an error shows again at run time
  graph::Node node = *qdq.program.steps[of->function].node;
  const std::string name = node.op_type.str();
  const int quantized = step.outputs[0], held = qdq.edit.add_constant(std::move(table).value());
  node = as_operator(node, "LookUp", ops::kAnybit);
  node.attributes.clear();
  set_attribute(node, "of", name);
  TRY(qdq.edit.replace(linear_step, std::move(made->node), std::move(made->inputs)));
  return qdq.edit.replace(of->function, of->quantizer, std::move(node), {quantized, held});
}

Result<void> run_functions(Program& program, const Resources& resources) {
  Qdq qdq(program, resources, IntegerTypes::any);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (qdq.edit.removed(i)) continue;
    const auto rule = std::ranges::find_if(
        kLinearRules, [&](const LinearRule& one) { return is(program.steps[i], one.op); });
    if (rule != std::end(kLinearRules)) TRY(put_table_behind(qdq, *rule, i));
  }
  qdq.edit.done();
  return {};
}

Result<void> run(Program& program, const Resources& resources) {
  return follow(kRules, IntegerTypes::bytes, program, resources);
}
Result<void> run_own(Program& program, const Resources& resources) {
  return follow(kOwnRules, IntegerTypes::wide, program, resources);
}
Result<void> run_few(Program& program, const Resources& resources) {
  return follow(kRulesOfFewBits, IntegerTypes::any, program, resources);
}
Result<void> run_wide(Program& program, const Resources& resources) {
  return follow(kWideRules, IntegerTypes::wide, program, resources);
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
       .summary = "the same with anybit's own integer operators",
       .run = run_own,
       .whom = For::running},
      {.name = "qdq-few-bits",
       .order = 10,
       .summary = "the same for weights of fewer than 8 bits, widened",
       .run = run_few,
       .whom = For::running},
      {.name = "qdq-wide", .order = 10, .summary = "the same for integers of 16 bits", .run = run_wide},
      {.name = "qdq-function",
       .order = 12,
       .summary = "the same with an elementwise function before the QuantizeLinear, by a table",
       .run = run_functions,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
