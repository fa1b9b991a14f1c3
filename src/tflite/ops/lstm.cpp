// UNIDIRECTIONAL_SEQUENCE_LSTM: ONNX's LSTM, with the gates in another order: input, output, forget, cell.
#include <array>

#include "base/try.hpp"
#include "tflite/state.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;

// The first of four inputs, in the order input, forget, cell, output.
constexpr std::size_t kWeights = 1, kRecurrent = 5, kPeephole = 9, kBias = 12, kProjection = 16, kNorm = 20;
constexpr std::size_t kOutputState = 18, kCellState = 19;
constexpr std::array<std::size_t, 4> kOnnxOrder = {0, 3, 1, 2};

// The matrices or biases of all gates, one below the other, with a dimension for ONNX's directions in front.
Result<std::string> gates(OperatorReader& here, std::size_t first) {
  std::vector<std::string> parts;
  for (const std::size_t gate : kOnnxOrder) parts.push_back(TRY(here.value(first + gate)));
  const std::string all = here.emit("Concat", std::move(parts), {attribute("axis", std::int64_t{0})});
  return here.emit("Unsqueeze", {all, here.graph().integers({0})});
}

Result<void> check_kind(const OperatorReader& here) {
  const auto& options = here.options<wire::UnidirectionalSequenceLSTMOptions>();
  if (options.cell_clip() != 0 || options.proj_clip() != 0) return here.unsupported("it clips its cells");
  if (options.fused_activation_function() != wire::ActivationFunctionType::TANH)
    return here.unsupported("its activation is not TANH");
  for (std::size_t i = 0; i < here.inputs(); ++i) {
    const bool other =
        (i >= kPeephole && i < kBias) || i == kProjection || i == kProjection + 1 || i >= kNorm;
    if (other && here.has(i)) return here.unsupported("it has peepholes, a projection or normalizations");
    if (i >= kWeights && i < kPeephole && !here.has(i))
      return here.unsupported("it couples input and forget gates");
    if (i >= kBias && i < kProjection && !here.has(i)) return here.unsupported("a gate has no bias");
  }
  return {};
}

Result<void> read_lstm(OperatorReader& here) {
  TRY(check_kind(here));
  const bool time_major = here.options<wire::UnidirectionalSequenceLSTMOptions>().time_major();
  const Dims& recurrent = here.in(kRecurrent).dims;
  if (recurrent.size() != 2 || recurrent[1] < 1) return here.invalid("its recurrent weights are no matrix");
  GraphReader& graph = here.graph();
  std::string x = TRY(here.value(0));
  if (!time_major) x = here.emit("Transpose", {x}, {attribute("perm", Dims{1, 0, 2})});
  const std::string weights = TRY(gates(here, kWeights)), again = TRY(gates(here, kRecurrent));
  const std::string bias = TRY(gates(here, kBias));
  const std::string none = here.emit("Sub", {bias, bias});  // ONNX has a second bias
  const std::string biases = here.emit("Concat", {bias, none}, {attribute("axis", std::int64_t{1})});
  const std::string output = TRY(state_before(here, kOutputState)),
                    cell = TRY(state_before(here, kCellState));
  const std::string h = here.emit("Unsqueeze", {output, graph.integers({0})});
  const std::string c = here.emit("Unsqueeze", {cell, graph.integers({0})});
  const auto made = graph.emit_many("LSTM", {x, weights, again, biases, "", h, c}, 3,
                                    {attribute("hidden_size", recurrent[1])});
  std::string y = here.emit("Squeeze", {made[0], graph.integers({1})});
  if (!time_major) y = here.emit("Transpose", {y}, {attribute("perm", Dims{1, 0, 2})});
  TRY(here.define(y));
  TRY(leave_state(here, kOutputState, here.emit("Squeeze", {made[1], graph.integers({0})})));
  return leave_state(here, kCellState, here.emit("Squeeze", {made[2], graph.integers({0})}));
}

}  // namespace

std::span<const Descriptor> lstm_descriptors() {
  static const Descriptor all[] = {{.name = "UNIDIRECTIONAL_SEQUENCE_LSTM",
                                    .code = wire::BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM,
                                    .inputs = 1,
                                    .read = read_lstm}};
  return all;
}

}  // namespace anybit::tflite
