// Functions of single elements, and activations. They keep the layout of their input.
#include "base/try.hpp"
#include "graph/constant.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;
using wire::BuiltinOperator;

// `compute` turns the name of the input into the name of the result.
template <class Compute>
Result<void> map_elements(OperatorReader& here, const Compute& compute) {
  const Layout layout = here.common_layout();
  const std::string x = TRY(here.value(0, layout));
  return here.define(compute(x), layout);
}

// An operator of ONNX that does the same.
template <const char* op>
Result<void> read_same(OperatorReader& here) {
  return map_elements(here, [&](const std::string& x) { return here.emit(op, {x}); });
}

template <int low, int high>
Result<void> read_clip(OperatorReader& here) {
  return map_elements(here, [&](const std::string& x) {
    return here.emit("Clip", {x, here.graph().number(low), here.graph().number(high)});
  });
}

Result<void> read_rsqrt(OperatorReader& here) {
  return map_elements(
      here, [&](const std::string& x) { return here.emit("Reciprocal", {here.emit("Sqrt", {x})}); });
}

Result<void> read_square(OperatorReader& here) {
  return map_elements(here, [&](const std::string& x) { return here.emit("Mul", {x, x}); });
}

Result<void> read_leaky_relu(OperatorReader& here) {
  const float alpha = here.options<wire::LeakyReluOptions>().alpha();
  return map_elements(
      here, [&](const std::string& x) { return here.emit("LeakyRelu", {x}, {attribute("alpha", alpha)}); });
}

Result<void> read_gelu(OperatorReader& here) {
  const bool tanh = here.options<wire::GeluOptions>().approximate();
  return map_elements(here, [&](const std::string& x) {
    return here.emit("Gelu", {x}, {attribute("approximate", std::string(tanh ? "tanh" : "none"))});
  });
}

Result<void> read_zeros_like(OperatorReader& here) {
  const graph::ElementTypeInfo* type = graph::find(here.in(0).type);
  if (!type || type->bits % 8 != 0) return here.unsupported("zeros of this type");
  graph::Tensor zero;
  zero.element = static_cast<std::int32_t>(type->type);
  zero.dims = {1};
  zero.data = Bytes::own(std::string(static_cast<std::size_t>(type->bits) / 8, '\0'));
  const std::string shape = here.emit("Shape", {TRY(here.graph().stored(here.input(0)))});
  return here.define(here.emit("ConstantOfShape", {shape}, {attribute("value", std::move(zero))}));
}

// The last dimension; beta scales the input.
template <const char* op>
Result<void> softmax(OperatorReader& here, float beta) {
  const Layout layout = here.common_layout();
  std::string x = TRY(here.value(0, layout));
  if (beta != 1) x = here.emit("Mul", {x, here.graph().number(beta)});
  const std::int64_t axis = layout == Layout::channels_first ? 1 : -1;
  return here.define(here.emit(op, {x}, {attribute("axis", axis)}), layout);
}

constexpr char kSoftmax[] = "Softmax", kLogSoftmax[] = "LogSoftmax";

Result<void> read_softmax(OperatorReader& here) {
  return softmax<kSoftmax>(here, here.options<wire::SoftmaxOptions>().beta());
}
Result<void> read_log_softmax(OperatorReader& here) { return softmax<kLogSoftmax>(here, 1); }

constexpr char kRelu[] = "Relu", kSigmoid[] = "Sigmoid", kTanh[] = "Tanh", kElu[] = "Elu",
               kHardSwish[] = "HardSwish", kAbs[] = "Abs", kNeg[] = "Neg", kExp[] = "Exp", kLog[] = "Log",
               kSqrt[] = "Sqrt", kSin[] = "Sin", kCos[] = "Cos", kFloor[] = "Floor", kCeil[] = "Ceil",
               kRound[] = "Round", kSign[] = "Sign", kNot[] = "Not";

constexpr Descriptor same(std::string_view name, BuiltinOperator code,
                          Result<void> (*read)(OperatorReader&)) {
  return {.name = name, .code = code, .inputs = 1, .read = read};
}

}  // namespace

std::span<const Descriptor> unary_descriptors() {
  static const Descriptor all[] = {
      same("RELU", BuiltinOperator::RELU, read_same<kRelu>),
      same("RELU6", BuiltinOperator::RELU6, read_clip<0, 6>),
      same("RELU_N1_TO_1", BuiltinOperator::RELU_N1_TO_1, read_clip<-1, 1>),
      same("RELU_0_TO_1", BuiltinOperator::RELU_0_TO_1, read_clip<0, 1>),
      same("LEAKY_RELU", BuiltinOperator::LEAKY_RELU, read_leaky_relu),
      same("ELU", BuiltinOperator::ELU, read_same<kElu>),
      same("GELU", BuiltinOperator::GELU, read_gelu),
      same("HARD_SWISH", BuiltinOperator::HARD_SWISH, read_same<kHardSwish>),
      same("LOGISTIC", BuiltinOperator::LOGISTIC, read_same<kSigmoid>),
      same("TANH", BuiltinOperator::TANH, read_same<kTanh>),
      same("SOFTMAX", BuiltinOperator::SOFTMAX, read_softmax),
      same("LOG_SOFTMAX", BuiltinOperator::LOG_SOFTMAX, read_log_softmax),
      same("ABS", BuiltinOperator::ABS, read_same<kAbs>),
      same("NEG", BuiltinOperator::NEG, read_same<kNeg>),
      same("EXP", BuiltinOperator::EXP, read_same<kExp>),
      same("LOG", BuiltinOperator::LOG, read_same<kLog>),
      same("SQRT", BuiltinOperator::SQRT, read_same<kSqrt>),
      same("RSQRT", BuiltinOperator::RSQRT, read_rsqrt),
      same("SQUARE", BuiltinOperator::SQUARE, read_square),
      same("SIN", BuiltinOperator::SIN, read_same<kSin>),
      same("COS", BuiltinOperator::COS, read_same<kCos>),
      same("FLOOR", BuiltinOperator::FLOOR, read_same<kFloor>),
      same("CEIL", BuiltinOperator::CEIL, read_same<kCeil>),
      same("ROUND", BuiltinOperator::ROUND, read_same<kRound>),
      same("SIGN", BuiltinOperator::SIGN, read_same<kSign>),
      same("LOGICAL_NOT", BuiltinOperator::LOGICAL_NOT, read_same<kNot>),
      same("ZEROS_LIKE", BuiltinOperator::ZEROS_LIKE, read_zeros_like),
  };
  return all;
}

}  // namespace anybit::tflite
