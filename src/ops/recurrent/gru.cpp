// GRU: one state, three gates (update, reset, hidden). ONNX: -1, -3 (linear_before_reset), -7, -14 (layout),
// -22.
#include "ops/recurrent/recurrent.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

const RecurrentKind kGru{.gates = 3, .activations = {"Sigmoid", "Tanh"}};
const RecurrentKind kGruLinear{.gates = 3, .activations = {"Sigmoid", "Tanh"}, .last_bias_apart = true};

Dim macs(const Call& call, std::span<const Value>) { return recurrent_macs(call, 3); }

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return prepare_recurrent(setup, 3, {2, 1});
}

// The reset gate is applied to the state before the hidden gate's GEMM (which then has to wait for it), or to
// the result of that GEMM.
template <class C>
void step(Direction<C>& d) {
  const std::int64_t n = d.sizes.hidden, width = 3 * n, batch = d.sizes.batch;
  const auto& [f, g, unused] = d.activations;
  const kernels::Spread<C> hidden_inputs{d.inputs.data + 2 * n, d.inputs.row_stride, 1};
  d.weights->state[0]->multiply(batch, d.state, n, d.inputs, d.gates, width, *d.pool);
  for (std::int64_t b = 0; b < batch; ++b) {
    d.clipped(d.gates + b * width, 2 * n);
    f.apply(d.gates + b * width, 2 * n);
  }
  const auto reset = [&](std::int64_t b) { return d.gates + b * width + n; };
  const auto hidden = [&](std::int64_t b) { return d.gates + b * width + 2 * n; };
  if (d.linear_before_reset) {
    const kernels::Spread<C> bias{d.state_bias ? d.state_bias + 2 * n : nullptr, 0, 1};
    d.weights->state[1]->multiply(batch, d.state, n, bias, d.more, n, *d.pool);
    for (std::int64_t b = 0; b < batch; ++b) {
      const C* in = hidden_inputs.data + b * hidden_inputs.row_stride;
      for (std::int64_t i = 0; i < n; ++i) hidden(b)[i] = in[i] + reset(b)[i] * d.more[b * n + i];
    }
  } else {
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t i = 0; i < n; ++i) d.more[b * n + i] = reset(b)[i] * d.state[b * n + i];
    }
    d.weights->state[1]->multiply(batch, d.more, n, hidden_inputs, d.gates + 2 * n, width, *d.pool);
  }
  for (std::int64_t b = 0; b < batch; ++b) {
    d.clipped(hidden(b), n);
    g.apply(hidden(b), n);
    const C* update = d.gates + b * width;
    for (std::int64_t i = 0; i < n; ++i) {
      d.next[b * n + i] = (1 - update[i]) * hidden(b)[i] + update[i] * d.state[b * n + i];
    }
  }
}

Result<void> run(Frame& frame) {
  if (!for_real(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  const RecurrentKind& kind = frame.flag("linear_before_reset") ? kGruLinear : kGru;
  return wants_double(frame.in(0).type()) ? run_real_recurrent<double>(frame, kind, {2, 1}, step<double>)
                                          : run_real_recurrent<float>(frame, kind, {2, 1}, step<float>);
}

}  // namespace

std::span<const Descriptor> gru_descriptors() {
  static const Descriptor all[] = {{.name = "GRU",
                                    .domain = "",
                                    .since = {1, 3, 7, 14, 22},
                                    .infer = infer_recurrent,
                                    .macs = macs,
                                    .run = run,
                                    .prepare = prepare,
                                    .required = 3,
                                    .traits = recurrent_traits()}};
  return all;
}

}  // namespace anybit::ops
