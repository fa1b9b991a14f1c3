// LSTM: a state and a cell, four gates (input, output, forget, cell). ONNX: -1, -7, -14 (layout), -22.
#include "ops/recurrent/recurrent.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Dim macs(const Call& call, std::span<const Value>) { return recurrent_macs(call, 4); }

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return prepare_recurrent(setup, 4, {4});
}

Result<void> run(Frame& frame) {
  if (!for_real(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  return wants_double(frame.in(0).type()) ? run_real_recurrent<double>(frame, kLstm, {4}, lstm_step<double>)
                                          : run_real_recurrent<float>(frame, kLstm, {4}, lstm_step<float>);
}

// Peephole connection: x += weight · cell.
template <class C>
void peep(const C* weight, const C* cell, std::int64_t n, C* x) {
  for (std::int64_t i = 0; weight && i < n; ++i) x[i] += weight[i] * cell[i];
}

// One sample, from the sums of its gates.
template <class C>
void finish(const Direction<C>& d, C* gates, const C* cell, C* next_cell, C* next) {
  const std::int64_t n = d.sizes.hidden;
  const auto& [f, g, h] = d.activations;
  C *input = gates, *output = gates + n, *forget = gates + 2 * n, *fresh = gates + 3 * n;
  const C* peepholes = d.peepholes;
  peep(peepholes, cell, n, input);
  peep(peepholes ? peepholes + 2 * n : nullptr, cell, n, forget);
  d.clipped(input, n);
  d.clipped(forget, 2 * n);  // and the cell gate after it
  f.apply(input, n);
  if (d.input_forget) {
    for (std::int64_t i = 0; i < n; ++i) forget[i] = 1 - input[i];
  } else {
    f.apply(forget, n);
  }
  g.apply(fresh, n);
  for (std::int64_t i = 0; i < n; ++i) next_cell[i] = forget[i] * cell[i] + input[i] * fresh[i];
  peep(peepholes ? peepholes + n : nullptr, next_cell, n, output);
  d.clipped(output, n);
  f.apply(output, n);
  std::copy_n(next_cell, n, next);
  h.apply(next, n);
  for (std::int64_t i = 0; i < n; ++i) next[i] *= output[i];
}

}  // namespace

template <class C>
void lstm_step(Direction<C>& d) {
  const std::int64_t n = d.sizes.hidden, width = 4 * n;
  d.weights->state[0]->multiply(d.sizes.batch, d.state, n, d.inputs, d.gates, width, *d.pool);
  for (std::int64_t b = 0; b < d.sizes.batch; ++b) {
    finish(d, d.gates + b * width, d.cell + b * n, d.next_cell + b * n, d.next + b * n);
  }
}
template void lstm_step(Direction<float>&);
template void lstm_step(Direction<double>&);

std::span<const Descriptor> lstm_descriptors() {
  static const Descriptor all[] = {{.name = "LSTM",
                                    .domain = "",
                                    .since = {1, 7, 14, 22},
                                    .infer = infer_recurrent,
                                    .macs = macs,
                                    .run = run,
                                    .prepare = prepare,
                                    .required = 3,
                                    .traits = recurrent_traits()}};
  return all;
}

}  // namespace anybit::ops
