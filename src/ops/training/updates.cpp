// Steps of training on any number of tensors at once, in parts of fixed size. Domain ai.anybit.training:
// AdamW(rate, step, x…, g…, m…, v…) -> x…, m…, v…: Adam with decoupled weight decay; steps count from 1.
// SgdMomentum(rate, x…, g…, v…) -> x…, v…: v' = momentum·v + g + weight_decay·x.
// ExponentialAverage(decay, average…, x…) -> average…: decay·average + (1 - decay)·x.
// ClipByGlobalNorm(max, g…) -> g…, norm: scaled so that the norm of all together is at most max.
#include <cmath>
#include <limits>

#include "base/math.hpp"
#include "kernels/elementwise/update.hpp"
#include "ops/norm/stats.hpp"
#include "ops/training/training.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kPartOfStep = 1 << 14;  // elements
constexpr double kUnbounded = -std::numeric_limits<double>::infinity();

// Inputs [first, first + kinds · count): lists of `count` tensors of one type, the lists alike.
struct Lists {
  std::size_t first = 0, count = 0;
  std::int64_t elements = 0;
};

Result<Lists> lists_of(const Frame& frame, std::size_t first, std::size_t kinds) {
  Lists lists{first, (frame.input_count() - first) / kinds};
  if (frame.input_count() <= first || lists.count * kinds + first != frame.input_count()) {
    return wrong(fmt::format("it has {} inputs", frame.input_count()),
                 fmt::format("{}, then {} lists of equal length", first, kinds));
  }
  for (std::size_t i = first; i < frame.input_count(); ++i) {
    if (!frame.has(i)) return wrong(fmt::format("input {} is missing", i), "a tensor");
    if (i < first + lists.count) {
      TRY(expect_trained(frame, i));
      if (frame.in(i).type() != frame.in(first).type()) return wrong_type(frame, i);
      lists.elements += frame.in(i).count();
    } else {
      TRY(expect_like(frame, i, first + (i - first) % lists.count));
    }
  }
  return lists;
}

Result<void> expect_outputs(const Frame& frame, std::size_t most) {
  if (frame.output_count() <= most) return {};
  return wrong(fmt::format("it has {} outputs", frame.output_count()), fmt::format("at most {}", most));
}

// Calls body(tensor, first, last) for all elements of the tensors of a list, on the threads.
template <class Body>
void over_elements(const Frame& frame, const Lists& lists, const Body& body) {
  frame.pool().run(lists.elements, kPartOfStep, [&](std::int64_t first, std::int64_t last) {
    std::int64_t start = 0;  // of tensor t among all elements
    for (std::size_t t = 0; t < lists.count && start < last; ++t) {
      const std::int64_t count = frame.in(lists.first + t).count();
      const std::int64_t from = std::max(first, start), to = std::min(last, start + count);
      if (from < to) body(t, from - start, to - start);
      start += count;
    }
  });
}

// An attribute with a number for each tensor; one for all if it is absent.
struct PerTensor {
  std::optional<std::span<const float>> list;
  double otherwise = 0;
  double of(std::size_t t) const { return list ? static_cast<double>((*list)[t]) : otherwise; }
};

Result<PerTensor> per_tensor(const Frame& frame, std::string_view name, std::size_t count, double otherwise) {
  const auto list = frame.floats(name);
  if (list && list->size() != count)
    return wrong(fmt::format("{} has {} numbers", name, list->size()),
                 fmt::format("{}: one for each tensor", count));
  return PerTensor{list, otherwise};
}

// The outputs of a list: each overwrites its input if nothing else needs that.
Result<std::span<std::byte*>> outputs_over(Frame& frame, const Lists& lists, std::size_t output,
                                           std::size_t kind) {
  const auto places = TRY(frame.scratch_of<std::byte*>(static_cast<std::int64_t>(lists.count)));
  for (std::size_t t = 0; t < lists.count; ++t) {
    const std::size_t over = lists.first + kind * lists.count + t;
    const Array& input = frame.in(over);
    places[t] =
        TRY(frame.out_over(output * lists.count + t, over, input.type(), input.dims()))->mutable_bytes();
  }
  return places;
}

Result<double> rate_of(const Frame& frame) { return scalar_from(frame.in(0), "the learning rate"); }

// Rates, decays and bounds by tensor.
struct Tuning {
  PerTensor scale, decay, lower;

  void set(std::size_t t, double rate, double weight_decay, kernels::UpdateRule& rule) const {
    rule.rate = rate * scale.of(t);
    rule.decay = weight_decay * decay.of(t);
    rule.lower = lower.of(t);
  }
};

Result<Tuning> tuning_of(const Frame& frame, std::size_t count) {
  Tuning tuning;
  tuning.scale = TRY(per_tensor(frame, "rate_scales", count, 1));
  tuning.decay = TRY(per_tensor(frame, "decay_scales", count, 1));
  tuning.lower = TRY(per_tensor(frame, "lower", count, kUnbounded));
  return tuning;
}

// The type of a list's elements at `bytes`, from element `first` on.
template <class T>
T* part_at(std::byte* bytes, std::int64_t first) {
  return reinterpret_cast<T*>(bytes) + first;
}

Result<void> run_adamw(Frame& frame) {
  const Lists lists = TRY(lists_of(frame, 2, 4));
  TRY(expect_outputs(frame, 3 * lists.count));
  for (const std::size_t i : {0, 1}) TRY(expect_number(frame, i));
  const Tuning tuning = TRY(tuning_of(frame, lists.count));
  kernels::AdamRule common;
  common.beta1 = frame.real("beta1", 0.9);
  common.beta2 = frame.real("beta2", 0.999);
  common.epsilon = frame.real("epsilon", 1e-8);
  for (const double beta : {common.beta1, common.beta2}) {
    if (!(beta >= 0 && beta < 1))
      return wrong(fmt::format("beta1 or beta2 is {}", beta), "0 or more, below 1");
  }
  const double weight_decay = frame.real("weight_decay", 0), rate = TRY(rate_of(frame));
  const std::int64_t step = TRY(integer_from(frame.in(1), "the step number"));
  if (step < 1) return wrong(fmt::format("the step number is {}", step), "1 or more");
  common.correction1 = 1 - math::pow(common.beta1, static_cast<double>(step));
  common.correction2 = 1 - math::pow(common.beta2, static_cast<double>(step));
  const auto x = TRY(outputs_over(frame, lists, 0, 0)), m = TRY(outputs_over(frame, lists, 1, 2));
  const auto v = TRY(outputs_over(frame, lists, 2, 3));
  for_trained(frame.in(2).type(), [&]<class T>(T) {
    over_elements(frame, lists, [&](std::size_t t, std::int64_t first, std::int64_t last) {
      const auto input = [&](std::size_t kind) {
        return frame.in(2 + kind * lists.count + t).data<T>() + first;
      };
      kernels::AdamRule rule = common;
      tuning.set(t, rate, weight_decay, rule);
      kernels::adam_step(rule,
                         kernels::AdamPart<T>{input(0), input(1), input(2), input(3), part_at<T>(x[t], first),
                                              part_at<T>(m[t], first), part_at<T>(v[t], first),
                                              static_cast<std::size_t>(last - first)});
    });
  });
  return {};
}

Result<void> run_sgd(Frame& frame) {
  const Lists lists = TRY(lists_of(frame, 1, 3));
  TRY(expect_outputs(frame, 2 * lists.count));
  TRY(expect_number(frame, 0));
  const Tuning tuning = TRY(tuning_of(frame, lists.count));
  const double weight_decay = frame.real("weight_decay", 0), rate = TRY(rate_of(frame));
  kernels::MomentumRule common;
  common.momentum = frame.real("momentum", 0.9);
  common.nesterov = frame.flag("nesterov");
  const auto x = TRY(outputs_over(frame, lists, 0, 0)), v = TRY(outputs_over(frame, lists, 1, 2));
  for_trained(frame.in(1).type(), [&]<class T>(T) {
    over_elements(frame, lists, [&](std::size_t t, std::int64_t first, std::int64_t last) {
      const auto input = [&](std::size_t kind) {
        return frame.in(1 + kind * lists.count + t).data<T>() + first;
      };
      kernels::MomentumRule rule = common;
      tuning.set(t, rate, weight_decay, rule);
      kernels::momentum_step(
          rule, kernels::MomentumPart<T>{input(0), input(1), input(2), part_at<T>(x[t], first),
                                         part_at<T>(v[t], first), static_cast<std::size_t>(last - first)});
    });
  });
  return {};
}

Result<void> run_average_step(Frame& frame) {
  const Lists lists = TRY(lists_of(frame, 1, 2));
  TRY(expect_outputs(frame, lists.count));
  TRY(expect_number(frame, 0));
  const double decay = TRY(scalar_from(frame.in(0), "the decay"));
  if (!(decay >= 0 && decay <= 1)) return wrong(fmt::format("the decay is {}", decay), "0 to 1");
  const auto to = TRY(outputs_over(frame, lists, 0, 0));
  for_trained(frame.in(1).type(), [&]<class T>(T) {
    over_elements(frame, lists, [&](std::size_t t, std::int64_t first, std::int64_t last) {
      const auto input = [&](std::size_t kind) {
        return frame.in(1 + kind * lists.count + t).data<T>() + first;
      };
      kernels::average_step(1 - decay, input(0), input(1), part_at<T>(to[t], first),
                            static_cast<std::size_t>(last - first));
    });
  });
  return {};
}

// The norm of all tensors together: sums of squares by part, added in order.
template <class T>
Result<double> norm_of(Frame& frame, const Lists& lists) {
  const std::int64_t parts = (lists.elements + kPartOfStep - 1) / kPartOfStep;
  const auto sums = TRY(frame.scratch_of<double>(parts));
  std::ranges::fill(sums, 0.0);
  const auto start = TRY(frame.scratch_of<std::int64_t>(static_cast<std::int64_t>(lists.count)));
  std::int64_t before = 0;
  for (std::size_t t = 0; t < lists.count; before += frame.in(lists.first + t++).count()) start[t] = before;
  over_elements(frame, lists, [&](std::size_t t, std::int64_t first, std::int64_t last) {
    const T* from = frame.in(lists.first + t).data<T>() + first;
    sums[static_cast<std::size_t>((start[t] + first) / kPartOfStep)] +=
        row_sum(kernels::Summand::square, from, last - first);
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return std::sqrt(sum);
}

template <class T>
Result<void> clip_as(Frame& frame, const Lists& lists, double most) {
  const double norm = TRY(norm_of<T>(frame, lists));
  if (Array* out = frame.wants(lists.count) ? TRY(frame.out(lists.count, frame.in(1).type(), {})) : nullptr)
    *out->mutable_data<T>() = static_cast<T>(norm);
  if (norm <= most) {
    for (std::size_t t = 0; t < lists.count; ++t) {
      if (frame.wants(t)) TRY(frame.share(t, 1 + t, frame.in(1 + t).dims()));
    }
    return {};
  }
  const auto to = TRY(outputs_over(frame, lists, 0, 0));
  over_elements(frame, lists, [&](std::size_t t, std::int64_t first, std::int64_t last) {
    kernels::scale_step(most / norm, frame.in(1 + t).data<T>() + first, part_at<T>(to[t], first),
                        static_cast<std::size_t>(last - first));
  });
  return {};
}

Result<void> run_clip_by_norm(Frame& frame) {
  const Lists lists = TRY(lists_of(frame, 1, 1));
  TRY(expect_outputs(frame, lists.count + 1));
  TRY(expect_number(frame, 0));
  const double most = TRY(scalar_from(frame.in(0), "the largest norm"));
  if (!(most > 0)) return wrong(fmt::format("the largest norm is {}", most), "above 0");
  Result<void> done;
  for_trained(frame.in(1).type(), [&]<class T>(T) { done = clip_as<T>(frame, lists, most); });
  return done;
}

// Output i is like tensor i of the first list; outputs go round the lists.
Result<Values> infer_update(const Call& call, std::size_t first, std::size_t kinds) {
  Values values = unknown_outputs(call);
  const std::size_t inputs = call.node.inputs.size();
  const std::size_t count = inputs > first ? (inputs - first) / kinds : 0;
  for (std::size_t i = 0; i < values.size() && count > 0; ++i)
    values[i] = tensor(call.in(first + i % count).type, call.in(first + i % count).shape);
  return values;
}

Result<Values> infer_adamw(const Call& call) { return infer_update(call, 2, 4); }
Result<Values> infer_sgd(const Call& call) { return infer_update(call, 1, 3); }
Result<Values> infer_average_step(const Call& call) { return infer_update(call, 1, 2); }
Result<Values> infer_clip_by_norm(const Call& call) {
  Values values = TRY(infer_update(call, 1, 1));
  const std::size_t tensors = call.node.inputs.size() - 1;
  if (tensors < values.size()) values[tensors] = tensor(call.in(1).type, Shape());
  return values;
}

}  // namespace

std::span<const Descriptor> updates_descriptors() {
  static const Descriptor all[] = {
      training_operator("AdamW", infer_adamw, run_adamw, 6),
      training_operator("SgdMomentum", infer_sgd, run_sgd, 4),
      training_operator("ExponentialAverage", infer_average_step, run_average_step, 3),
      training_operator("ClipByGlobalNorm", infer_clip_by_norm, run_clip_by_norm, 2),
  };
  return all;
}

}  // namespace anybit::ops
