// RNN: one state, one gate. ONNX: -1, -7, -14 (layout), -22.
#include "ops/recurrent/recurrent.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

const RecurrentKind kRnn{.gates = 1, .activations = {"Tanh"}};

Dim macs(const Call& call, std::span<const Value>) { return recurrent_macs(call, 1); }

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return prepare_recurrent(setup, 1, {1});
}

template <class C>
void step(Direction<C>& d) {
  const std::int64_t n = d.sizes.hidden, all = d.sizes.batch * n;
  d.weights->state[0]->multiply(d.sizes.batch, d.state, n, d.inputs, d.next, n, *d.pool);
  d.clipped(d.next, all);
  d.activations[0].apply(d.next, all);
}

Result<void> run(Frame& frame) {
  if (!for_real(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  return wants_double(frame.in(0).type()) ? run_real_recurrent<double>(frame, kRnn, {1}, step<double>)
                                          : run_real_recurrent<float>(frame, kRnn, {1}, step<float>);
}

}  // namespace

std::span<const Descriptor> rnn_descriptors() {
  static const Descriptor all[] = {{.name = "RNN",
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
