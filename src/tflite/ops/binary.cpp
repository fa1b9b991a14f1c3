// Elementwise operators of two or more inputs, which are broadcast to each other.
#include "base/try.hpp"
#include "tflite/broadcast.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;
using graph::ElementType;
using wire::BuiltinOperator;

bool is_float(const TensorInfo& info) {
  return info.type == ElementType::float32 || info.type == ElementType::float16 || info.quantized();
}

struct NoOptions {
  static wire::ActivationFunctionType activation(OperatorReader&) {
    return wire::ActivationFunctionType::NONE;
  }
};
template <class Table>
struct Fused {
  static wire::ActivationFunctionType activation(OperatorReader& here) {
    return here.options<Table>().fused_activation_function();
  }
};

template <const char* op, class Options = NoOptions>
Result<void> read_pair(OperatorReader& here) {
  const Operands both = TRY(operands(here, 0, 2));
  return here.define_activated(here.emit(op, both.values), Options::activation(here), both.layout);
}

Result<void> read_squared_difference(OperatorReader& here) {
  const Operands both = TRY(operands(here, 0, 2));
  const std::string difference = here.emit("Sub", both.values);
  return here.define(here.emit("Mul", {difference, difference}), both.layout);
}

// Rounded down. ONNX truncates the quotient of integers: the remainder with the divisor's sign is taken off
// first.
Result<void> read_floor_div(OperatorReader& here) {
  const Operands both = TRY(operands(here, 0, 2));
  if (is_float(here.in(0)))
    return here.define(here.emit("Floor", {here.emit("Div", both.values)}), both.layout);
  const std::string rest = here.emit("Mod", both.values);
  return here.define(here.emit("Div", {here.emit("Sub", {both.values[0], rest}), both.values[1]}),
                     both.layout);
}

// The result has the sign of the divisor.
Result<void> read_floor_mod(OperatorReader& here) {
  const Operands both = TRY(operands(here, 0, 2));
  if (!is_float(here.in(0))) return here.define(here.emit("Mod", both.values), both.layout);
  const std::string rest = here.emit("Mod", both.values, {attribute("fmod", std::int64_t{1})});
  const std::string shifted = here.emit("Add", {rest, both.values[1]});
  return here.define(here.emit("Mod", {shifted, both.values[1]}, {attribute("fmod", std::int64_t{1})}),
                     both.layout);
}

Result<void> read_not_equal(OperatorReader& here) {
  const Operands both = TRY(operands(here, 0, 2));
  return here.define(here.emit("Not", {here.emit("Equal", both.values)}), both.layout);
}

Result<void> read_add_n(OperatorReader& here) {
  const Operands all = TRY(operands(here, 0, here.inputs()));
  return here.define(here.emit("Sum", all.values), all.layout);
}

Result<void> read_prelu(OperatorReader& here) {
  const Operands both = TRY(operands(here, 0, 2));
  return here.define(here.emit("PRelu", both.values), both.layout);
}

Result<void> read_select(OperatorReader& here) {
  const Operands all = TRY(operands(here, 0, 3));
  return here.define(here.emit("Where", all.values), all.layout);
}

// SELECT's condition may have one dimension, that of the rows.
Result<void> read_select_rows(OperatorReader& here) {
  if (here.in(0).rank() != 1 || here.in(1).rank() < 2) return read_select(here);
  Dims shape(static_cast<std::size_t>(here.in(1).rank()), 1);
  shape[0] = -1;
  const std::string condition = here.emit("Reshape", {TRY(here.value(0)), here.graph().integers(shape)});
  const std::string yes = TRY(here.value(1)), no = TRY(here.value(2));
  return here.define(here.emit("Where", {condition, yes, no}));
}

constexpr char kAdd[] = "Add", kSub[] = "Sub", kMul[] = "Mul", kDiv[] = "Div", kMax[] = "Max", kMin[] = "Min",
               kPow[] = "Pow", kLess[] = "Less", kLessOrEqual[] = "LessOrEqual", kGreater[] = "Greater",
               kGreaterOrEqual[] = "GreaterOrEqual", kEqual[] = "Equal", kAnd[] = "And", kOr[] = "Or",
               kBitwiseXor[] = "BitwiseXor";

constexpr Descriptor pair(std::string_view name, BuiltinOperator code, Result<void> (*read)(OperatorReader&),
                          std::size_t inputs = 2) {
  return {.name = name, .code = code, .inputs = inputs, .read = read};
}

}  // namespace

std::span<const Descriptor> binary_descriptors() {
  static const Descriptor all[] = {
      pair("ADD", BuiltinOperator::ADD, read_pair<kAdd, Fused<wire::AddOptions>>),
      pair("SUB", BuiltinOperator::SUB, read_pair<kSub, Fused<wire::SubOptions>>),
      pair("MUL", BuiltinOperator::MUL, read_pair<kMul, Fused<wire::MulOptions>>),
      pair("DIV", BuiltinOperator::DIV, read_pair<kDiv, Fused<wire::DivOptions>>),
      pair("MAXIMUM", BuiltinOperator::MAXIMUM, read_pair<kMax>),
      pair("MINIMUM", BuiltinOperator::MINIMUM, read_pair<kMin>),
      pair("POW", BuiltinOperator::POW, read_pair<kPow>),
      pair("SQUARED_DIFFERENCE", BuiltinOperator::SQUARED_DIFFERENCE, read_squared_difference),
      pair("FLOOR_DIV", BuiltinOperator::FLOOR_DIV, read_floor_div),
      pair("FLOOR_MOD", BuiltinOperator::FLOOR_MOD, read_floor_mod),
      pair("LESS", BuiltinOperator::LESS, read_pair<kLess>),
      pair("LESS_EQUAL", BuiltinOperator::LESS_EQUAL, read_pair<kLessOrEqual>),
      pair("GREATER", BuiltinOperator::GREATER, read_pair<kGreater>),
      pair("GREATER_EQUAL", BuiltinOperator::GREATER_EQUAL, read_pair<kGreaterOrEqual>),
      pair("EQUAL", BuiltinOperator::EQUAL, read_pair<kEqual>),
      pair("NOT_EQUAL", BuiltinOperator::NOT_EQUAL, read_not_equal),
      pair("LOGICAL_AND", BuiltinOperator::LOGICAL_AND, read_pair<kAnd>),
      pair("LOGICAL_OR", BuiltinOperator::LOGICAL_OR, read_pair<kOr>),
      pair("BITWISE_XOR", BuiltinOperator::BITWISE_XOR, read_pair<kBitwiseXor>),
      pair("ADD_N", BuiltinOperator::ADD_N, read_add_n, 1),
      pair("PRELU", BuiltinOperator::PRELU, read_prelu),
      pair("SELECT", BuiltinOperator::SELECT, read_select_rows, 3),
      pair("SELECT_V2", BuiltinOperator::SELECT_V2, read_select, 3),
  };
  return all;
}

}  // namespace anybit::tflite
