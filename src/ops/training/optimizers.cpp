// Adagrad, Adam, Momentum: one optimizer step for any number of tensors. ONNX: ai.onnx.preview.training,
// version 1 of each. Inputs: learning rate, step number, then all tensors, all gradients, all states.
#include <cmath>

#include "base/math.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  Values values = unknown_outputs(call);
  const std::size_t count = call.node.op_type.str() == "Adam" ? values.size() / 3 : values.size() / 2;
  for (std::size_t i = 0; i < values.size() && count > 0; ++i)
    values[i] = tensor(call.in(2 + i % count).type, call.in(2 + i % count).shape);
  return values;
}

struct Step {
  double rate = 0;
  std::int64_t number = 0;
  std::size_t tensors = 0;
};

// `kinds`: number of equally long lists in the inputs (tensors, gradients, states).
Result<Step> step_of(const Frame& frame, std::size_t kinds) {
  Step step;
  step.rate = TRY(scalar_from(frame.in(0), "the learning rate"));
  step.number = TRY(integer_from(frame.in(1), "the step number"));
  step.tensors = (frame.input_count() - 2) / kinds;
  if (step.tensors * kinds + 2 != frame.input_count() || frame.output_count() > step.tensors * (kinds - 1)) {
    return wrong(fmt::format("it has {} inputs and {} outputs", frame.input_count(), frame.output_count()),
                 "equal numbers of tensors, gradients and states");
  }
  for (std::size_t i = 2; i < frame.input_count(); ++i) {
    const Array& first = frame.in(2 + (i - 2) % step.tensors);
    if (!is_float(frame.in(i).type())) return wrong_type(frame, i);
    if (frame.in(i).type() != first.type() || !(frame.in(i).dims() == first.dims())) {
      return wrong(fmt::format("input {} is {}", i, to_string(frame.in(i))),
                   fmt::format("like its tensor: {}", to_string(first)));
    }
  }
  return step;
}

// Calls update(x, g, states[]) for each element; update changes x and the states.
template <std::size_t States, class Update>
Result<void> each(Frame& frame, const Step& step, const Update& update) {
  const std::size_t n = step.tensors;
  for (std::size_t t = 0; t < n; ++t) {
    const Array &x = frame.in(2 + t), &g = frame.in(2 + n + t);
    Array* out[States + 1];
    for (std::size_t s = 0; s <= States; ++s) out[s] = TRY(frame.out(t + s * n, x.type(), x.dims()));
    for_real(x.type(), [&]<class T>(T) {
      for (std::int64_t i = 0; i < x.count(); ++i) {
        const auto read = [&](const Array& from) {
          return static_cast<double>(static_cast<Computed<T>>(from.data<T>()[i]));
        };
        double value = read(x), states[States];
        for (std::size_t s = 0; s < States; ++s) states[s] = read(frame.in(2 + (2 + s) * n + t));
        update(value, read(g), states);
        const auto write = [&](Array* to, double number) {
          to->mutable_data<T>()[i] = static_cast<T>(static_cast<Computed<T>>(number));
        };
        write(out[0], value);
        for (std::size_t s = 0; s < States; ++s) write(out[s + 1], states[s]);
      }
    });
  }
  return {};
}

Result<void> run_adagrad(Frame& frame) {
  const Step step = TRY(step_of(frame, 3));
  const double rate = step.rate / (1 + static_cast<double>(step.number) * frame.real("decay_factor", 0));
  const double norm = frame.real("norm_coefficient", 0), epsilon = frame.real("epsilon", 1e-6);
  return each<1>(frame, step, [&](double& x, double g, double(&h)[1]) {
    const double gradient = norm * x + g;
    h[0] += gradient * gradient;
    x -= rate * gradient / (std::sqrt(h[0]) + epsilon);
  });
}

Result<void> run_adam(Frame& frame) {
  const Step step = TRY(step_of(frame, 4));
  const double alpha = frame.real("alpha", 0.9), beta = frame.real("beta", 0.999);
  const double norm = frame.real("norm_coefficient", 0), after = frame.real("norm_coefficient_post", 0);
  const double epsilon = frame.real("epsilon", 1e-6), count = static_cast<double>(step.number);
  const double rate = step.number > 0
                          ? step.rate * std::sqrt(1 - math::pow(beta, count)) / (1 - math::pow(alpha, count))
                          : step.rate;
  return each<2>(frame, step, [&](double& x, double g, double(&states)[2]) {
    const double gradient = norm * x + g;
    states[0] = alpha * states[0] + (1 - alpha) * gradient;
    states[1] = beta * states[1] + (1 - beta) * gradient * gradient;
    x = (1 - after) * (x - rate * states[0] / (std::sqrt(states[1]) + epsilon));
  });
}

Result<void> run_momentum(Frame& frame) {
  const Step step = TRY(step_of(frame, 3));
  const std::string_view mode = frame.text("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    return wrong(fmt::format("mode is '{}'", shown(mode)), "standard or nesterov");
  const double alpha = frame.real("alpha", 0), norm = frame.real("norm_coefficient", 0);
  const double beta = step.number > 0 ? frame.real("beta", 1) : 1.0;
  return each<1>(frame, step, [&](double& x, double g, double(&v)[1]) {
    const double gradient = norm * x + g;
    v[0] = alpha * v[0] + beta * gradient;
    x -= step.rate * (mode == "nesterov" ? gradient + alpha * v[0] : v[0]);
  });
}

constexpr Descriptor trainer(std::string_view name, Run run) {
  return {.name = name,
          .domain = "ai.onnx.preview.training",
          .since = {1},
          .infer = infer,
          .run = run,
          .required = 3};
}

}  // namespace

std::span<const Descriptor> optimizers_descriptors() {
  static const Descriptor all[] = {trainer("Adagrad", run_adagrad), trainer("Adam", run_adam),
                                   trainer("Momentum", run_momentum)};
  return all;
}

}  // namespace anybit::ops
