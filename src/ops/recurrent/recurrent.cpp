#include "ops/recurrent/recurrent.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"
#include "ops/check.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct Inferred {
  Dim steps, batch, input, directions, hidden;
  bool batch_first;
};

std::optional<Inferred> inferred_of(const Call& call, const std::optional<Shape>& weight) {
  const auto& x = call.in(0).shape;
  const bool batch_first = call.integer("layout", 0) != 0;
  const std::string_view direction = call.text("direction", "forward");
  Inferred sizes{{}, {}, {}, direction == "bidirectional" ? 2 : 1, {}, batch_first};
  if (const auto hidden = call.integer("hidden_size")) sizes.hidden = *hidden;
  // The recurrent weight is [directions, gates, hidden], or [directions, hidden, gates] if it is quantized.
  const std::size_t axis = call.node.op_type.str() == "DynamicQuantizeLSTM" ? 1 : 2;
  if (!sizes.hidden.known() && weight && weight->size() == 3) sizes.hidden = (*weight)[axis];
  if (!x) return sizes;
  if (x->size() != 3) return std::nullopt;
  sizes.steps = (*x)[batch_first ? 1 : 0];
  sizes.batch = (*x)[batch_first ? 0 : 1];
  sizes.input = (*x)[2];
  return sizes;
}

enum Input : std::size_t { kX, kW, kR, kB, kLengths, kState, kCell, kPeepholes };

// Offset in a state: [directions, batch, hidden], or [batch, directions, hidden].
std::int64_t state_at(const RecurrentSizes& s, std::int64_t d, std::int64_t b) {
  return (s.batch_first ? b * s.directions + d : d * s.batch + b) * s.hidden;
}
// Offset in the output: [steps, directions, batch, hidden], or [batch, steps, directions, hidden].
std::int64_t output_at(const RecurrentSizes& s, std::int64_t t, std::int64_t d, std::int64_t b) {
  return s.batch_first ? ((b * s.steps + t) * s.directions + d) * s.hidden
                       : ((t * s.directions + d) * s.batch + b) * s.hidden;
}

// Data shared by all directions.
template <class C>
struct RecurrentCall {
  RecurrentSizes s;
  std::int64_t width;                     // gates · hidden
  const C* x;                             // the input
  const std::int32_t* lengths = nullptr;  // length of each sequence; null: all are `steps`
  std::int64_t longest;                   // longest sequence: later steps have nothing to do
  C* bias;                                // [directions, width]
  C* projected;                           // [directions, rows of x, width]
  C* gathered;                            // [directions, batch, width]
  C* y = nullptr;                         // may be null
  bool reverse_only = false;

  bool backward(std::int64_t d) const { return reverse_only || d == 1; }
  std::int64_t length(std::int64_t b) const { return lengths ? lengths[b] : s.steps; }
  // The time step of x that sequence b reads at its step t.
  std::int64_t position(std::int64_t d, std::int64_t b, std::int64_t t) const {
    return backward(d) ? length(b) - 1 - t : t;
  }
};

// Input GEMM for all steps at once, so that each step only multiplies the state. With steps first, steps
// beyond the longest sequence are left out: dynamically quantized weights compute the input range without
// them.
template <class C>
void project(const RecurrentCall<C>& all, const Direction<C>& one, std::int64_t d) {
  const RecurrentSizes& s = all.s;
  const std::int64_t rows = (s.batch_first ? s.steps : all.longest) * s.batch;
  one.weights->input->multiply(rows, all.x, s.input, {all.bias + d * all.width, 0, 1},
                               all.projected + d * s.steps * s.batch * all.width, all.width, *one.pool);
}

// The input contribution to the gates at step t.
template <class C>
kernels::Spread<C> inputs_at(const RecurrentCall<C>& all, std::int64_t d, std::int64_t t) {
  const RecurrentSizes& s = all.s;
  const C* projected = all.projected + d * s.steps * s.batch * all.width;
  const std::int64_t step = (s.batch_first ? 1 : s.batch) * all.width,
                     sample = (s.batch_first ? s.steps : 1) * all.width;
  if (!all.lengths) return {projected + all.position(d, 0, t) * step, sample, 1};
  C* rows = all.gathered + d * s.batch * all.width;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const std::int64_t at =
        t < all.length(b) ? all.position(d, b, t) : 0;  // results after the end are unused
    std::copy_n(projected + at * step + b * sample, all.width, rows + b * all.width);
  }
  return {rows, all.width, 1};
}

template <class C>
void run_direction(const RecurrentCall<C>& all, Direction<C>& one, std::int64_t d, RecurrentStep<C> step) {
  const RecurrentSizes& s = all.s;
  project(all, one, d);
  for (std::int64_t t = 0; t < all.longest; ++t) {
    one.inputs = inputs_at(all, d, t);
    step(one);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      C *state = one.state + b * s.hidden, *next = one.next + b * s.hidden;
      if (t < all.length(b)) {
        if (all.y) std::copy_n(next, s.hidden, all.y + output_at(s, all.position(d, b, t), d, b));
        continue;
      }
      std::copy_n(state, s.hidden, next);  // the sequence has ended: its state stays
      if (one.cell) std::copy_n(one.cell + b * s.hidden, s.hidden, one.next_cell + b * s.hidden);
      if (all.y) std::fill_n(all.y + output_at(s, t, d, b), s.hidden, C(0));
    }
    std::swap(one.state, one.next);
    std::swap(one.cell, one.next_cell);
  }
  for (std::int64_t t = all.longest; all.y && t < s.steps; ++t) {
    for (std::int64_t b = 0; b < s.batch; ++b) std::fill_n(all.y + output_at(s, t, d, b), s.hidden, C(0));
  }
}

// An initial state as [directions, batch, hidden]; zeros if it is not given.
template <class C>
Result<C*> initial(Frame& frame, std::size_t input, const RecurrentSizes& s) {
  const auto made = TRY(frame.scratch_of<C>(s.directions * s.batch * s.hidden));
  std::fill(made.begin(), made.end(), C(0));
  if (!frame.has(input)) return made.data();
  const C* given = TRY(reals_in<C>(frame, frame.in(input))).data();
  for (std::int64_t i = 0; i < s.directions * s.batch; ++i) {
    std::copy_n(given + state_at(s, i / s.batch, i % s.batch), s.hidden, made.data() + i * s.hidden);
  }
  return made.data();
}

template <class C>
Result<void> write_states(Frame& frame, std::size_t output, const RecurrentSizes& s,
                          std::span<Direction<C>> all, bool cells) {
  if (!frame.wants(output)) return {};
  const Dims dims =
      s.batch_first ? Dims{s.batch, s.directions, s.hidden} : Dims{s.directions, s.batch, s.hidden};
  auto to = TRY(RealOutput<C>::make(frame, TRY(frame.out(output, frame.in(kX).type(), dims))));
  for (std::int64_t i = 0; i < s.directions * s.batch; ++i) {
    const auto& one = all[static_cast<std::size_t>(i / s.batch)];
    std::copy_n((cells ? one.cell : one.state) + i % s.batch * s.hidden, s.hidden,
                to.data() + state_at(s, i / s.batch, i % s.batch));
  }
  to.finish();
  return {};
}

// Sum of input bias and state bias per direction; `apart`: without the state bias of the last gate.
template <class C>
Result<C*> joint_bias(Frame& frame, const RecurrentSizes& s, std::int64_t width, bool apart) {
  const auto sums = TRY(frame.scratch_of<C>(s.directions * width));
  std::fill(sums.begin(), sums.end(), C(0));
  if (!frame.has(kB)) return sums.data();
  const C* given = TRY(reals_in<C>(frame, frame.in(kB))).data();
  for (std::int64_t i = 0; i < s.directions * width; ++i) {
    const std::int64_t d = i / width, g = i % width;
    const bool with_state = !apart || g < width - s.hidden;
    sums[static_cast<std::size_t>(i)] =
        given[d * 2 * width + g] + (with_state ? given[d * 2 * width + width + g] : C(0));
  }
  return sums.data();
}

Result<const std::int32_t*> lengths_of(const Frame& frame, const RecurrentSizes& s) {
  if (!frame.has(kLengths)) return nullptr;
  const Array& lengths = frame.in(kLengths);
  if (lengths.type() != ElementType::int32) return wrong_type(frame, kLengths);
  TRY(expect_dims(frame, kLengths, {s.batch}, "sequence_lens"));
  if (!has_elements(lengths)) return nullptr;
  for (const std::int32_t length : lengths.elements<std::int32_t>()) {
    if (length < 0 || length > s.steps) {
      return wrong(fmt::format("sequence_lens holds {}", length), fmt::format("0 to {}", s.steps));
    }
  }
  return lengths.data<std::int32_t>();
}

// The weights have one row per output, so B of the GEMM is transposed.
class PackedWeight final : public GateWeight<float> {
 public:
  PackedWeight(const float* rows, std::int64_t k, std::int64_t n)
      : packed_({rows, 1, k}, k, n), k_(k), n_(n) {}
  void multiply(std::int64_t m, const float* a, std::int64_t a_row, kernels::Spread<float> addend, float* c,
                std::int64_t c_row, ThreadPool& pool) const override {
    kernels::FloatGemmWork work{
        .m = m, .n = n_, .k = k_, .a = {a, a_row, 1}, .b = &packed_, .c = c, .c_stride = c_row};
    work.epilogue.addend = addend;
    kernels::gemm(work, pool);
  }

 private:
  kernels::PackedFloats packed_;
  std::int64_t k_, n_;
};

class PlainWeight final : public GateWeight<double> {
 public:
  PlainWeight(const double* rows, std::int64_t k, std::int64_t n) : rows_(rows), k_(k), n_(n) {}
  void multiply(std::int64_t m, const double* a, std::int64_t a_row, kernels::Spread<double> addend,
                double* c, std::int64_t c_row, ThreadPool&) const override {
    for (std::int64_t i = 0; i < m * n_; ++i) {
      const std::int64_t r = i / n_, j = i % n_;
      double sum = addend.data ? addend.data[r * addend.row_stride + j * addend.column_stride] : 0;
      for (std::int64_t p = 0; p < k_; ++p) sum += a[r * a_row + p] * rows_[j * k_ + p];
      c[r * c_row + j] = sum;
    }
  }

 private:
  const double* rows_;
  std::int64_t k_, n_;
};

struct Packs : Prepared {
  std::vector<GateWeights<float>> directions;
  std::int64_t elements = 0;
  std::int64_t bytes() const override { return elements * 4; }
};

template <class C>
std::vector<GateWeights<C>> weights_of(const C* w, const C* r, std::int64_t directions, std::int64_t input,
                                       std::int64_t hidden, std::span<const std::int64_t> parts) {
  using Weight = std::conditional_t<std::is_same_v<C, float>, PackedWeight, PlainWeight>;
  std::vector<GateWeights<C>> all(static_cast<std::size_t>(directions));
  const std::int64_t gates = std::accumulate(parts.begin(), parts.end(), std::int64_t(0));
  for (GateWeights<C>& one : all) {
    one.input = std::make_unique<Weight>(w, input, gates * hidden);
    w += gates * hidden * input;
    for (const std::int64_t part : parts) {
      one.state.push_back(std::make_unique<Weight>(r, hidden, part * hidden));
      r += part * hidden * hidden;
    }
  }
  return all;
}

}  // namespace

Result<Values> infer_recurrent(const Call& call) {
  const auto sizes = inferred_of(call, call.in(2).shape);
  if (!sizes) return wrong("the input must have rank 3: steps, batch, features");
  const auto& [steps, batch, input, directions, hidden, batch_first] = *sizes;
  const Shape sequence =
      batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden};
  const Shape state = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  Values values(call.output_count(), tensor(call.in(0).type, state));
  if (!values.empty()) values[0].shape = sequence;
  return values;
}

Dim recurrent_macs(const Call& call, std::int64_t gates) {
  const auto sizes = inferred_of(call, call.in(2).shape);
  if (!sizes) return {};
  const Dim matrices = Dim(gates) * sizes->hidden * (sizes->input + sizes->hidden);
  return sizes->steps * sizes->batch * sizes->directions * matrices;
}
Result<RecurrentSizes> recurrent_sizes(const Frame& frame, std::int64_t hidden) {
  const Dims& x = frame.in(kX).dims();
  if (x.size() != 3)
    return wrong(fmt::format("input 0 is {}", to_string(frame.in(kX))), "steps, batch, features");
  const std::string_view direction = frame.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return wrong(fmt::format("direction is '{}'", shown(direction)), "forward, reverse or bidirectional");
  }
  const bool batch_first = frame.flag("layout");
  const RecurrentSizes s{x[batch_first ? 1 : 0],
                         x[batch_first ? 0 : 1],
                         x[2],
                         direction == "bidirectional" ? 2 : 1,
                         frame.integer("hidden_size", hidden),
                         batch_first};
  if (s.hidden != hidden || hidden < 1) {
    return wrong(fmt::format("hidden_size is {}, but the weights have {}", s.hidden, hidden));
  }
  return s;
}

Result<std::array<GateActivations, 2>> check_recurrent(const Frame& frame, const RecurrentKind& kind,
                                                       const RecurrentSizes& s) {
  const std::int64_t width = kind.gates * s.hidden;
  const auto rows = checked_mul(s.directions, checked_mul(s.steps, s.batch).value_or(INT64_MAX));
  if (!rows || !checked_mul(*rows, 16 * width)) return wrong("the sizes of the gates overflow");
  const auto real = [&](std::size_t input) -> Result<void> {
    const ElementType type = frame.in(kX).type();
    const bool fits = frame.in(input).type() == type && for_real(type, [](auto) {});
    if (!frame.has(input) || fits) return {};
    return wrong_type(frame, input);
  };
  for (const std::size_t input : {kX, kB, kState}) TRY(real(input));
  TRY(lengths_of(frame, s));
  if (frame.has(kB)) TRY(expect_dims(frame, kB, {s.directions, 2 * width}, "bias"));
  const Dims state =
      s.batch_first ? Dims{s.batch, s.directions, s.hidden} : Dims{s.directions, s.batch, s.hidden};
  if (frame.has(kState)) TRY(expect_dims(frame, kState, state, "initial state"));
  if (kind.has_cell) {
    for (const std::size_t input : {kCell, kPeepholes}) TRY(real(input));
    if (frame.has(kCell)) TRY(expect_dims(frame, kCell, state, "initial state"));
    if (frame.has(kPeepholes)) TRY(expect_dims(frame, kPeepholes, {s.directions, 3 * s.hidden}, "peepholes"));
  }
  const auto named = static_cast<std::size_t>(
      std::ranges::count_if(kind.activations, [](std::string_view name) { return !name.empty(); }));
  return gate_activations(frame, static_cast<std::size_t>(s.directions),
                          std::span(kind.activations).first(named));
}

template <class C>
Result<void> run_recurrent(Frame& frame, const RecurrentKind& kind, const RecurrentSizes& s,
                           const std::vector<GateWeights<C>>& weights, RecurrentStep<C> step) {
  const std::int64_t width = kind.gates * s.hidden, states = s.batch * s.hidden;
  const auto activations = TRY(check_recurrent(frame, kind, s));
  const auto x = TRY(reals_in<C>(frame, frame.in(kX)));
  const auto lengths = TRY(lengths_of(frame, s));
  const auto joint = TRY(joint_bias<C>(frame, s, width, kind.last_bias_apart));
  const auto projected = TRY(frame.scratch_of<C>(s.directions * s.steps * s.batch * width));
  RecurrentCall<C> all{.s = s,
                       .width = width,
                       .x = x.data(),
                       .lengths = lengths,
                       .longest = s.steps,
                       .bias = joint,
                       .projected = projected.data(),
                       .gathered = nullptr};
  if (all.lengths) {
    all.gathered = TRY(frame.scratch_of<C>(s.directions * s.batch * width)).data();
    all.longest = s.batch > 0 ? *std::max_element(all.lengths, all.lengths + s.batch) : 0;
  }
  all.reverse_only = frame.text("direction", "forward") == "reverse";
  std::optional<RealOutput<C>> y;
  if (frame.wants(0)) {
    const Dims dims = s.batch_first ? Dims{s.batch, s.steps, s.directions, s.hidden}
                                    : Dims{s.steps, s.directions, s.batch, s.hidden};
    y = TRY(RealOutput<C>::make(frame, TRY(frame.out(0, frame.in(kX).type(), dims))));
    all.y = y->data();
  }
  C* first = TRY(initial<C>(frame, kState, s));
  C* first_cell = kind.has_cell ? TRY(initial<C>(frame, kCell, s)) : nullptr;
  const C* peepholes = nullptr;
  if (kind.has_cell && frame.has(kPeepholes)) {
    peepholes = TRY(reals_in<C>(frame, frame.in(kPeepholes))).data();
  }
  const C* bias = frame.has(kB) ? TRY(reals_in<C>(frame, frame.in(kB))).data() : nullptr;
  std::array<Direction<C>, 2> ones{};
  for (std::int64_t d = 0; d < s.directions; ++d) {
    Direction<C>& one = ones[static_cast<std::size_t>(d)];
    one.sizes = s;
    one.pool = &frame.pool();
    one.weights = &weights[static_cast<std::size_t>(d)];
    one.activations = activations[static_cast<std::size_t>(d)];
    one.clip = frame.real("clip", 0);
    one.state_bias = bias ? bias + (2 * d + 1) * width : nullptr;
    one.peepholes = peepholes ? peepholes + d * 3 * s.hidden : nullptr;
    one.input_forget = frame.flag("input_forget");
    one.linear_before_reset = frame.flag("linear_before_reset");
    one.state = first + d * states;
    one.cell = first_cell ? first_cell + d * states : nullptr;
    one.next = TRY(frame.scratch_of<C>(states)).data();
    one.next_cell = first_cell ? TRY(frame.scratch_of<C>(states)).data() : nullptr;
    one.gates = TRY(frame.scratch_of<C>(s.batch * width)).data();
    one.more = TRY(frame.scratch_of<C>(states)).data();
  }
  if (s.batch > 0) {
    // A single direction uses the threads inside its GEMMs.
    if (s.directions == 1)
      run_direction(all, ones[0], 0, step);
    else
      frame.pool().run(2, 1, [&](std::int64_t d, std::int64_t) {
        run_direction(all, ones[static_cast<std::size_t>(d)], d, step);
      });
  }
  if (y) y->finish();
  const auto used = std::span(ones).first(static_cast<std::size_t>(s.directions));
  TRY(write_states<C>(frame, 1, s, used, false));
  if (kind.has_cell) TRY(write_states<C>(frame, 2, s, used, true));
  return {};
}
template Result<void> run_recurrent(Frame&, const RecurrentKind&, const RecurrentSizes&,
                                    const std::vector<GateWeights<float>>&, RecurrentStep<float>);
template Result<void> run_recurrent(Frame&, const RecurrentKind&, const RecurrentSizes&,
                                    const std::vector<GateWeights<double>>&, RecurrentStep<double>);

Result<std::shared_ptr<const Prepared>> prepare_recurrent(const Setup& setup, std::int64_t gates,
                                                          std::initializer_list<std::int64_t> parts) {
  const Array *w = setup.constant(kW), *r = setup.constant(kR);
  const auto is_float = [](const Array* a) {
    return a && a->type() == ElementType::float32 && a->rank() == 3;
  };
  if (!is_float(w) || !is_float(r)) return std::shared_ptr<const Prepared>();
  const std::int64_t directions = w->dim(0), hidden = r->dim(2), input = w->dim(2);
  const bool fit = directions == r->dim(0) && r->dim(1) == gates * hidden && w->dim(1) == gates * hidden;
  if (!fit) return std::shared_ptr<const Prepared>();  // the run reports the error
  auto packs = std::make_shared<Packs>();
  packs->directions = weights_of(w->data<float>(), r->data<float>(), directions, input, hidden, parts);
  packs->elements = w->count() + r->count();
  return std::shared_ptr<const Prepared>(std::move(packs));
}

template <class C>
Result<void> run_real_recurrent(Frame& frame, const RecurrentKind& kind,
                                std::initializer_list<std::int64_t> parts, RecurrentStep<C> step) {
  if (frame.in(kR).rank() != 3) return wrong(fmt::format("input 2 is {}", to_string(frame.in(kR))), "rank 3");
  const RecurrentSizes s = TRY(recurrent_sizes(frame, frame.in(kR).dim(2)));
  TRY(expect_dims(frame, kR, {s.directions, kind.gates * s.hidden, s.hidden}, "weights of the state"));
  TRY(expect_dims(frame, kW, {s.directions, kind.gates * s.hidden, s.input}, "weights of the input"));
  for (const std::size_t input : {kW, kR}) {
    if (frame.in(input).type() != frame.in(kX).type()) return wrong_type(frame, input);
  }
  const auto w = TRY(reals_in<C>(frame, frame.in(kW))), r = TRY(reals_in<C>(frame, frame.in(kR)));
  if (only_checks(frame)) {
    TRY(check_recurrent(frame, kind, s));
    return {};
  }
  if constexpr (std::is_same_v<C, float>) {
    if (const auto* kept = frame.prepared<Packs>())
      return run_recurrent<C>(frame, kind, s, kept->directions, step);
  }
  return run_recurrent<C>(frame, kind, s,
                          weights_of(w.data(), r.data(), s.directions, s.input, s.hidden, parts), step);
}
template Result<void> run_real_recurrent(Frame&, const RecurrentKind&, std::initializer_list<std::int64_t>,
                                         RecurrentStep<float>);
template Result<void> run_real_recurrent(Frame&, const RecurrentKind&, std::initializer_list<std::int64_t>,
                                         RecurrentStep<double>);

}  // namespace anybit::ops
