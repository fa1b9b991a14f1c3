// Shared code of RNN, GRU, LSTM and DynamicQuantizeLSTM: the loop over directions, steps and sequences.
#pragma once

#include <memory>
#include <vector>

#include "kernels/gemm/gemm.hpp"
#include "ops/reals.hpp"
#include "ops/recurrent/gate_activation.hpp"

namespace anybit::ops {

Result<Values> infer_recurrent(const Call& call);
// `gates`: number of gate matrices that the weights concatenate.
Dim recurrent_macs(const Call& call, std::int64_t gates);

// Only the two weight matrices are quantized.
constexpr Traits recurrent_traits() {
  return {.role = Traits::Role::compute,
          .data = {},
          .weights = {{1, second_axis, last_axis}, {2, second_axis, last_axis}}};
}

struct RecurrentSizes {
  std::int64_t steps = 0, batch = 0, input = 0, directions = 1, hidden = 0;
  bool batch_first = false;
};

// A weight matrix: c = a·weight + addend for m rows; `*_row` is the row stride in elements.
template <class C>
class GateWeight {
 public:
  virtual ~GateWeight() = default;
  virtual void multiply(std::int64_t m, const C* a, std::int64_t a_row, kernels::Spread<C> addend, C* c,
                        std::int64_t c_row, ThreadPool& pool) const = 0;
};

// The weights of one direction: for the input, and for the state in one or two parts.
template <class C>
struct GateWeights {
  std::unique_ptr<GateWeight<C>> input;
  std::vector<std::unique_ptr<GateWeight<C>>> state;
};

// One direction at run time. Rows of states are the sequences of the batch.
template <class C>
struct Direction {
  RecurrentSizes sizes;
  ThreadPool* pool = nullptr;
  const GateWeights<C>* weights = nullptr;
  GateActivations activations = {};
  double clip = 0;                // 0: none
  const C* state_bias = nullptr;  // [gates, hidden]; null: zero
  const C* peepholes = nullptr;   // [3, hidden]: input, output, forget; null: none
  bool input_forget = false, linear_before_reset = false;

  kernels::Spread<C> inputs = {};           // input · weights + bias, [batch, gates · hidden]
  C *state = nullptr, *cell = nullptr;      // [batch, hidden], before the step
  C *next = nullptr, *next_cell = nullptr;  // after it
  C *gates = nullptr, *more = nullptr;      // scratch for [batch, gates · hidden], [batch, hidden]

  void clipped(C* x, std::int64_t n) const {
    if (clip <= 0) return;
    const auto most = static_cast<C>(clip);
    for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] > most ? most : x[i] < -most ? -most : x[i];
  }
};

// Properties in which the operators differ.
struct RecurrentKind {
  std::int64_t gates = 1;
  bool has_cell = false;
  std::array<std::string_view, 3> activations = {};  // defaults for one direction; empty: it has fewer
  bool last_bias_apart = false;  // the state bias of the last gate is not merged into the input bias
};

template <class C>
using RecurrentStep = void (*)(Direction<C>&);

// Checks the inputs other than the weights; returns the activations of each direction.
Result<std::array<GateActivations, 2>> check_recurrent(const Frame& frame, const RecurrentKind& kind,
                                                       const RecurrentSizes& sizes);

template <class C>
Result<void> run_recurrent(Frame& frame, const RecurrentKind& kind, const RecurrentSizes& sizes,
                           const std::vector<GateWeights<C>>& weights, RecurrentStep<C> step);
extern template Result<void> run_recurrent(Frame&, const RecurrentKind&, const RecurrentSizes&,
                                           const std::vector<GateWeights<float>>&, RecurrentStep<float>);
extern template Result<void> run_recurrent(Frame&, const RecurrentKind&, const RecurrentSizes&,
                                           const std::vector<GateWeights<double>>&, RecurrentStep<double>);

// Sizes from input 0 and the attributes; `hidden` is the hidden size of the weights. The shapes of the
// weights are not checked.
Result<RecurrentSizes> recurrent_sizes(const Frame& frame, std::int64_t hidden);

// Packs float weights W [directions, gates · hidden, input] and R [directions, gates · hidden, hidden].
// `parts`: number of gates in each part of R.
Result<std::shared_ptr<const Prepared>> prepare_recurrent(const Setup& setup, std::int64_t gates,
                                                          std::initializer_list<std::int64_t> parts);
// Runs an operator with such weights, packed ahead or not.
template <class C>
Result<void> run_real_recurrent(Frame& frame, const RecurrentKind& kind,
                                std::initializer_list<std::int64_t> parts, RecurrentStep<C> step);
extern template Result<void> run_real_recurrent(Frame&, const RecurrentKind&,
                                                std::initializer_list<std::int64_t>, RecurrentStep<float>);
extern template Result<void> run_real_recurrent(Frame&, const RecurrentKind&,
                                                std::initializer_list<std::int64_t>, RecurrentStep<double>);

// One step of an LSTM.
template <class C>
void lstm_step(Direction<C>& d);
extern template void lstm_step(Direction<float>&);
extern template void lstm_step(Direction<double>&);
inline const RecurrentKind kLstm{.gates = 4, .has_cell = true, .activations = {"Sigmoid", "Tanh", "Tanh"}};

}  // namespace anybit::ops
