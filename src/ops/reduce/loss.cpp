// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: a single value, or one per target. ONNX:
// NegativeLogLikelihoodLoss-12 … -22, SoftmaxCrossEntropyLoss-12, -13.

#include "base/math.hpp"
#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const bool reduced = call.text("reduction", "mean") != "none";
  Values values(call.output_count(),
                tensor(call.in(0).type, call.in(0).shape));  // output 1: log probabilities
  if (!values.empty()) values[0].shape = reduced ? std::optional(Shape()) : call.in(1).shape;
  return values;
}

struct ClassSizes {
  std::int64_t batch = 0, classes = 0, inner = 0;
};

std::int64_t target_at(const Array& targets, std::int64_t i) {
  return targets.type() == ElementType::int64 ? targets.data<std::int64_t>()[i]
                                              : targets.data<std::int32_t>()[i];
}

// Checks that each target is a class or ignored.
Result<void> check_targets(const Frame& frame, const ClassSizes& sizes) {
  const Array& targets = frame.in(1);
  const auto ignored = frame.integer("ignore_index");
  const auto no_class = [&](std::int64_t target) {
    return wrong(fmt::format("target {} is not a class", target),
                 fmt::format("0 to {}, or ignore_index", sizes.classes - 1));
  };
  if (!has_elements(targets))
    return sizes.classes == 0 && !ignored ? Result<void>(no_class(0)) : Result<void>();
  for (std::int64_t i = 0; i < targets.count(); ++i) {
    const std::int64_t target = target_at(targets, i);
    if (target != ignored && (target < 0 || target >= sizes.classes)) return no_class(target);
  }
  return {};
}

// Scores [batch, classes, …], targets [batch, …], weights [classes].
Result<ClassSizes> sizes_of(const Frame& frame) {
  const Array &scores = frame.in(0), &targets = frame.in(1);
  if (!is_float(scores.type())) return wrong_type(frame, 0);
  if (targets.type() != ElementType::int32 && targets.type() != ElementType::int64)
    return wrong_type(frame, 1);
  Dims wanted = scores.dims();
  if (wanted.size() < 2)
    return wrong(fmt::format("the scores are {}", to_string(scores)), "[batch, classes, …]");
  wanted.erase(1);
  if (!(targets.dims() == wanted)) {
    return wrong(fmt::format("the targets are {}", to_string(targets)),
                 fmt::format("shape {}: one for each position of the scores", to_string(wanted)));
  }
  const std::string_view reduction = frame.text("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return wrong(fmt::format("reduction is '{}'", shown(reduction)), "none, sum or mean");
  const bool weighted = frame.has(2);
  if (weighted && (frame.in(2).type() != scores.type() || frame.in(2).count() != scores.dim(1))) {
    return wrong(fmt::format("the weights are {}", to_string(frame.in(2))),
                 fmt::format("{} of the scores' type", scores.dim(1)));
  }
  const ClassSizes sizes{scores.dim(0), scores.dim(1), scores.dims().product(2, scores.rank())};
  TRY(check_targets(frame, sizes));
  return sizes;
}

// x - log Σ exp x, over the classes of each position.
template <class T>
void log_softmax(const Frame& frame, const ClassSizes& sizes, const T* in, T* out) {
  using Real = Computed<T>;
  const std::int64_t places = sizes.batch * sizes.inner;
  parallel(
      frame, places, 10.0 * static_cast<double>(sizes.classes), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t place = first; place < last; ++place) {
          const std::int64_t start = place / sizes.inner * sizes.classes * sizes.inner + place % sizes.inner;
          const auto at = [&](std::int64_t c) { return static_cast<Real>(in[start + c * sizes.inner]); };
          Real largest = at(0), sum = 0;
          for (std::int64_t c = 1; c < sizes.classes; ++c) largest = std::max(largest, at(c));
          for (std::int64_t c = 0; c < sizes.classes; ++c) sum += math::exp(at(c) - largest);
          const Real shift = math::log(sum);
          for (std::int64_t c = 0; c < sizes.classes; ++c)
            out[start + c * sizes.inner] = static_cast<T>(at(c) - largest - shift);
        }
      });
}

template <class T>
Result<void> lose(Frame& frame, const ClassSizes& sizes, const T* logs) {
  using Real = Computed<T>;
  const std::string_view reduction = frame.text("reduction", "mean");
  const bool reduced = reduction != "none";
  const auto ignored = frame.integer("ignore_index");
  const Array& targets = frame.in(1);
  const T* weights = frame.has(2) ? frame.in(2).data<T>() : nullptr;
  Array* out = TRY(frame.out(0, frame.in(0).type(), reduced ? Dims() : targets.dims()));
  double sum = 0, total = 0;
  for (std::int64_t place = 0; place < sizes.batch * sizes.inner; ++place) {
    const std::int64_t target = target_at(targets, place);
    Real loss = 0;
    if (target != ignored) {
      const Real weight = weights ? static_cast<Real>(weights[target]) : Real(1);
      const std::int64_t at =
          (place / sizes.inner * sizes.classes + target) * sizes.inner + place % sizes.inner;
      loss = -static_cast<Real>(logs[at]) * weight;
      total += static_cast<double>(weight);
    }
    sum += static_cast<double>(loss);
    if (!reduced) out->mutable_data<T>()[place] = static_cast<T>(loss);
  }
  if (reduced)
    *out->mutable_data<T>() = static_cast<T>(static_cast<Real>(reduction == "mean" ? sum / total : sum));
  return {};
}

Result<void> run_likelihood(Frame& frame) {
  const ClassSizes sizes = TRY(sizes_of(frame));
  Result<void> done;
  for_real(frame.in(0).type(), [&]<class T>(T) { done = lose<T>(frame, sizes, frame.in(0).data<T>()); });
  return done;
}

Result<void> run_entropy(Frame& frame) {
  const ClassSizes sizes = TRY(sizes_of(frame));
  const Array& scores = frame.in(0);
  Array* logs = TRY(frame.out(1, scores.type(), scores.dims()));
  Result<void> done;
  for_real(scores.type(), [&]<class T>(T) {
    if (scores.count() > 0) log_softmax<T>(frame, sizes, scores.data<T>(), logs->mutable_data<T>());
    done = lose<T>(frame, sizes, logs->data<T>());
  });
  return done;
}

// The gradient with regard to the log probabilities.
std::string likelihood_slope(Gradient& g, const std::string& dy) {
  const std::string weights = g.has(2) ? g.input(2) : std::string();
  return g.add("NegativeLogLikelihoodLossGradient", {dy, g.input(1), g.shape(g.input(0)), weights},
               attributes_of(g, {"reduction", "ignore_index"}), kTraining);
}

// Class weights are settings of the loss.
Result<void> check_weights(const Gradient& g) {
  if (g.wants(2)) return wrong("there is no gradient with regard to the class weights", "constant weights");
  return {};
}

Result<void> likelihood_gradient(Gradient& g) {
  TRY(check_weights(g));
  g.set(0, likelihood_slope(g, g.dy()));
  return {};
}

// Through the log probabilities, which are an output on demand.
Result<void> entropy_gradient(Gradient& g) {
  TRY(check_weights(g));
  const graph::Attribute axis = graph::attribute("axis", std::int64_t{1});
  const bool there = g.node.outputs.size() > 1 && !g.output(1).empty();
  const std::string logs = there ? g.output(1) : g.add("LogSoftmax", {g.input(0)}, {axis});
  const std::string given = g.dy(1);
  std::string slope = g.dy().empty() ? std::string() : likelihood_slope(g, g.dy());
  if (slope.empty() || given.empty()) {
    slope += given;
  } else {
    slope = g.add("Add", {slope, given});
  }
  g.set(0, g.add("LogSoftmaxGradient", {slope, logs}, {axis}, kTraining));
  return {};
}

}  // namespace

std::span<const Descriptor> loss_descriptors() {
  static const Descriptor all[] = {
      {.name = "NegativeLogLikelihoodLoss",
       .domain = "",
       .since = {12, 13, 22},
       .infer = infer,
       .run = run_likelihood,
       .required = 2,
       .gradient = likelihood_gradient},
      {.name = "SoftmaxCrossEntropyLoss",
       .domain = "",
       .since = {12, 13},
       .infer = infer,
       .run = run_entropy,
       .required = 2,
       .gradient = entropy_gradient},
  };
  return all;
}

}  // namespace anybit::ops
