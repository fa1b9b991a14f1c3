// NegativeLogLikelihoodLossGradient(dy, targets, shape of the scores, weights): -dy · weight at the target of
// each position, divided by the sum of the weights for the mean; 0 elsewhere. Attributes as the loss has
// them.
#include <cstring>

#include "ops/check.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const auto& sizes = call.in(2).elements;
  return outputs_of(call, tensor(call.in(0).type, sizes ? std::optional<Shape>(*sizes) : std::nullopt));
}

Result<void> run(Frame& frame) {
  const Array &dy = frame.in(0), &targets = frame.in(1);
  const Dims dims = TRY(dims_from(frame.in(2), "the shape"));
  Dims places = dims;
  if (dims.size() >= 2) places.erase(1);
  if (dims.size() < 2 || !(targets.dims() == places)) {
    return wrong(fmt::format("the targets are {}", to_string(targets)),
                 fmt::format("one for each position of the scores, {}", to_string(dims)));
  }
  if (targets.type() != ElementType::int32 && targets.type() != ElementType::int64)
    return wrong_type(frame, 1);
  const std::string_view reduction = frame.text("reduction", "mean");
  const bool reduced = reduction != "none";
  if (!is_float(dy.type())) return wrong_type(frame, 0);
  if (dy.count() != (reduced ? 1 : targets.count()))
    return wrong(fmt::format("the gradient is {}", to_string(dy)), "the shape of the loss");
  const std::int64_t classes = dims[1], inner = dims.product(2, dims.size());
  if (frame.has(3) && (frame.in(3).type() != dy.type() || frame.in(3).count() != classes))
    return wrong(fmt::format("the weights are {}", to_string(frame.in(3))), "one for each class");
  const auto ignored = frame.integer("ignore_index");
  const auto target_at = [&](std::int64_t i) {
    return targets.type() == ElementType::int64 ? targets.data<std::int64_t>()[i]
                                                : std::int64_t{targets.data<std::int32_t>()[i]};
  };
  if (has_elements(targets)) {
    for (std::int64_t i = 0; i < targets.count(); ++i) {
      if (const auto t = target_at(i); t != ignored && (t < 0 || t >= classes))
        return wrong(fmt::format("target {} is not a class", t), fmt::format("0 to {}", classes - 1));
    }
  }
  Array* dx = TRY(frame.out(0, dy.type(), dims));
  if (dx->byte_count() > 0) std::memset(dx->mutable_bytes(), 0, dx->byte_count());
  for_real(dy.type(), [&]<class T>(T) {
    const auto weight = [&](std::int64_t target) {
      return frame.has(3) ? static_cast<double>(static_cast<Computed<T>>(frame.in(3).data<T>()[target]))
                          : 1.0;
    };
    double total = 0;
    for (std::int64_t i = 0; i < targets.count(); ++i) {
      if (target_at(i) != ignored) total += weight(target_at(i));
    }
    for (std::int64_t i = 0; i < targets.count(); ++i) {
      const std::int64_t target = target_at(i);
      if (target == ignored) continue;
      const auto g = static_cast<double>(static_cast<Computed<T>>(dy.data<T>()[reduced ? 0 : i]));
      const double slope = -g * weight(target) / (reduction == "mean" ? total : 1);
      dx->mutable_data<T>()[(i / inner * classes + target) * inner + i % inner] =
          static_cast<T>(static_cast<Computed<T>>(slope));
    }
  });
  return {};
}

}  // namespace

std::span<const Descriptor> likelihood_gradient_descriptors() {
  static const Descriptor all[] = {{.name = "NegativeLogLikelihoodLossGradient",
                                    .domain = kTraining,
                                    .since = {1},
                                    .infer = infer,
                                    .run = run,
                                    .required = 3}};
  return all;
}

}  // namespace anybit::ops
