// RNN, GRU, LSTM: one matrix product with the input and one with the state, for each step and direction.
// ONNX: -1 … -22 (layout since 14); ONNX Runtime's DynamicQuantizeLSTM.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct Sizes {
  Dim steps, batch, input, directions, hidden;
  bool batch_first;
};

std::optional<Sizes> sizes_of(const Call& call, const std::optional<Shape>& weight) {
  const auto& x = call.in(0).shape;
  const bool batch_first = call.integer("layout", 0) != 0;
  const std::string_view direction = call.text("direction", "forward");
  Sizes sizes{{}, {}, {}, direction == "bidirectional" ? 2 : 1, {}, batch_first};
  if (const auto hidden = call.integer("hidden_size")) sizes.hidden = *hidden;
  if (!sizes.hidden.known() && weight && weight->size() == 3) sizes.hidden = weight->back();
  if (!x) return sizes;
  if (x->size() != 3) return std::nullopt;
  sizes.steps = (*x)[batch_first ? 1 : 0];
  sizes.batch = (*x)[batch_first ? 0 : 1];
  sizes.input = (*x)[2];
  return sizes;
}

Result<Values> infer(const Call& call) {
  const auto sizes = sizes_of(call, call.in(2).shape);
  if (!sizes) return wrong("the input must have rank 3: steps, batch, features");
  const auto& [steps, batch, input, directions, hidden, batch_first] = *sizes;
  const Shape sequence =
      batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden};
  const Shape state = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  Values values(call.output_count(), tensor(call.in(0).type, state));
  if (!values.empty()) values[0].shape = sequence;
  return values;
}

// Gates: how many matrices the weights hold side by side.
Dim macs(const Call& call, std::int64_t gates) {
  const auto sizes = sizes_of(call, call.in(2).shape);
  if (!sizes) return {};
  const Dim matrices = Dim(gates) * sizes->hidden * (sizes->input + sizes->hidden);
  return sizes->steps * sizes->batch * sizes->directions * matrices;
}
Dim macs_rnn(const Call& call, std::span<const Value>) { return macs(call, 1); }
Dim macs_gru(const Call& call, std::span<const Value>) { return macs(call, 3); }
Dim macs_lstm(const Call& call, std::span<const Value>) { return macs(call, 4); }

}  // namespace

std::span<const Descriptor> recurrent_descriptors() {
  static const Descriptor all[] = {
      {.name = "RNN", .domain = "", .since = {1, 7, 14, 22}, .infer = infer, .macs = macs_rnn},
      {.name = "GRU", .domain = "", .since = {1, 3, 7, 14, 22}, .infer = infer, .macs = macs_gru},
      {.name = "LSTM", .domain = "", .since = {1, 7, 14, 22}, .infer = infer, .macs = macs_lstm},
      {.name = "DynamicQuantizeLSTM",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .macs = macs_lstm,
       .quantized = {{.input = 1, .scale = 8, .zero_point = 9}, {.input = 2, .scale = 10, .zero_point = 11}}},
  };
  return all;
}

}  // namespace anybit::ops
