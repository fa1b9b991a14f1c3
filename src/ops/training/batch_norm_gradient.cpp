// BatchNormalizationGradient(dy, x, scale, mean, variance [, saved mean, saved variance]; epsilon,
// training_mode) -> dx, dscale, dbias. In training mode the normalization used the batch's own statistics:
// they are computed again unless they are given as saved ones. Otherwise it used mean and variance, which are
// constants. Domain ai.anybit.training.
#include <cmath>

#include "ops/norm/channel_rows.hpp"
#include "ops/training/training.hpp"

namespace anybit::ops {
namespace {

// Numbers of one channel: dx = dy · a + x · b + c.
struct Mix {
  double a = 0, b = 0, c = 0;
};

struct Statistics {
  std::span<const double> mean, variance;
};

Result<std::span<double>> as_doubles(Frame& frame, std::size_t i) {
  const auto numbers = TRY(frame.scratch_of<double>(frame.in(i).count()));
  for_trained(frame.in(i).type(), [&]<class T>(T) {
    for (std::size_t c = 0; c < numbers.size(); ++c)
      numbers[c] = static_cast<double>(frame.in(i).data<T>()[c]);
  });
  return numbers;
}

template <class T>
Result<Statistics> statistics_of(Frame& frame, const ChannelRows& rows, const T* x) {
  const bool own = frame.flag("training_mode"), saved = own && frame.has(5);
  if (!own || saved) {
    const std::size_t first = saved ? 5 : 3;
    const std::span<const double> mean = TRY(as_doubles(frame, first));
    const std::span<const double> variance = TRY(as_doubles(frame, first + 1));
    return Statistics{mean, variance};
  }
  const auto mean = TRY(frame.scratch_of<double>(rows.channels)),
             variance = TRY(frame.scratch_of<double>(rows.channels));
  moments_of_channels(frame, rows, x, mean, variance);
  return Statistics{mean, variance};
}

template <class T>
Result<void> gradients(Frame& frame, const Array& dy, const Array& x) {
  const ChannelRows rows = channel_rows(x);
  const Statistics of = TRY(statistics_of<T>(frame, rows, x.data<T>()));
  const std::span<const double> scale = TRY(as_doubles(frame, 2));
  const auto sums = TRY(frame.scratch_of<kernels::PairSums>(rows.channels));
  pair_sums_of_channels(frame, rows, dy.data<T>(), x.data<T>(), of.mean, sums);
  const double epsilon = frame.real("epsilon", 1e-5);
  const double count = static_cast<double>(rows.batch * rows.space);
  const bool own = frame.flag("training_mode");
  T* outputs[3] = {};
  for (const std::size_t i : {1, 2}) {
    if (frame.wants(i)) outputs[i] = TRY(frame.out(i, x.type(), {rows.channels}))->template mutable_data<T>();
  }
  const auto mix = TRY(frame.scratch_of<Mix>(rows.channels));
  for (std::size_t c = 0; c < mix.size(); ++c) {
    const double inverse = 1 / std::sqrt(of.variance[c] + epsilon);
    const double a = scale[c] * inverse;
    mix[c] = {.a = a};
    if (own) {
      mix[c].b = -a * inverse * inverse * sums[c].weighted / count;
      mix[c].c = -a * sums[c].plain / count - mix[c].b * of.mean[c];
    }
    if (outputs[1]) outputs[1][c] = static_cast<T>(sums[c].weighted * inverse);
    if (outputs[2]) outputs[2][c] = static_cast<T>(sums[c].plain);
  }
  if (!frame.wants(0)) return {};
  Array* dx = TRY(out_like(frame, 0, dy));
  mix_channels<T, Mix>(frame, rows, dy.data<T>(), x.data<T>(), mix, dx->mutable_data<T>());
  return {};
}

Result<void> check_channels(const Frame& frame) {
  const Dims& dims = frame.in(1).dims();
  const std::int64_t channels = dims.size() < 2 ? 1 : dims[1];
  if (frame.has(5) != frame.has(6))
    return wrong("only one of the saved mean and variance is given", "both or none");
  for (std::size_t i = 2; i < 7; ++i) {
    if (i >= 5 && !frame.has(i)) continue;
    TRY(expect_trained(frame, i));
    if (frame.in(i).count() == channels && frame.in(i).rank() == 1) continue;
    return wrong(fmt::format("input {} is {}", i, to_string(frame.in(i))),
                 fmt::format("one number for each of {} channels", channels));
  }
  return {};
}

Result<void> run_batch_norm_gradient(Frame& frame) {
  TRY(expect_trained(frame, 1));
  TRY(expect_like(frame, 0, 1));
  TRY(check_channels(frame));
  for (std::size_t i = 0; i < frame.input_count(); ++i) {
    if (i > 1 || !is_by_channel(frame.in(i))) TRY(frame.make_plain(i));
  }
  const auto [dy, x] = TRY(in_same_layout(frame, 0, 1));
  Result<void> done;
  for_trained(x.type(), [&]<class T>(T) { done = gradients<T>(frame, dy, x); });
  return done;
}

Result<Values> infer_batch_norm_gradient(const Call& call) {
  Values values = unknown_outputs(call);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = tensor(call.in(1).type, i == 0 ? call.in(1).shape : call.in(2).shape);
  return values;
}

}  // namespace

std::span<const Descriptor> batch_norm_gradient_descriptors() {
  static const Descriptor all[] = {training_operator("BatchNormalizationGradient", infer_batch_norm_gradient,
                                                     run_batch_norm_gradient, 5, Layouts::each)};
  return all;
}

}  // namespace anybit::ops
