// BatchNormalizationGradient(dy, x, scale, mean, var) = dx, dscale, dbias. In training mode the statistics
// are those of x, and the inputs mean and var are not used.
#include <cmath>

#include "kernels/reduce/norm_gradient.hpp"
#include "ops/gradient.hpp"
#include "ops/reals.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  Values values(call.output_count(), tensor(call.in(0).type, call.in(2).shape));
  if (!values.empty()) values[0].shape = call.in(1).shape;
  return values;
}

struct ChannelSizes {
  std::int64_t batch = 0, channels = 0, inner = 0;
  std::int64_t count() const { return batch * inner; }
};

// Calls row(offset) for each contiguous row of a channel.
template <class Row>
void for_channel(const ChannelSizes& sizes, std::int64_t channel, const Row& row) {
  for (std::int64_t n = 0; n < sizes.batch; ++n) row((n * sizes.channels + channel) * sizes.inner);
}

struct ChannelStats {
  double mean = 0, variance = 0;
};

template <class T>
ChannelStats stats_of_channel(const ChannelSizes& sizes, std::int64_t channel, const T* x) {
  kernels::GradientSums sums;
  for_channel(sizes, channel,
              [&](std::int64_t at) { kernels::add_gradient_sums(x + at, x + at, T(0), sizes.inner, sums); });
  const auto count = static_cast<double>(sizes.count());
  ChannelStats stats{sums.dy / count, 0};
  for_channel(sizes, channel, [&](std::int64_t at) {
    for (std::int64_t i = 0; i < sizes.inner; ++i) {
      const double away = static_cast<double>(x[at + i]) - stats.mean;
      stats.variance += away * away;
    }
  });
  stats.variance /= count;
  return stats;
}

template <class C>
Result<void> run_as(Frame& frame) {
  const Array& x = frame.in(1);
  const ChannelSizes sizes{x.dim(0), x.dim(1), x.dims().product(2, x.rank())};
  const auto dy = TRY(reals_in<C>(frame, frame.in(0))), from = TRY(reals_in<C>(frame, x));
  const auto scale = TRY(reals_in<C>(frame, frame.in(2)));
  const auto mean = TRY(reals_in<C>(frame, frame.in(3))), variance = TRY(reals_in<C>(frame, frame.in(4)));
  const Dims channels = {sizes.channels};
  Array* dx = frame.wants(0) ? TRY(frame.out(0, x.type(), x.dims())) : nullptr;
  Array* dscale = frame.wants(1) ? TRY(frame.out(1, x.type(), channels)) : nullptr;
  Array* dbias = frame.wants(2) ? TRY(frame.out(2, x.type(), channels)) : nullptr;
  const bool trains = frame.flag("training_mode");
  const double epsilon = static_cast<double>(static_cast<float>(frame.real("epsilon", 1e-5)));
  const auto count = static_cast<double>(sizes.count());
  parallel(frame, sizes.channels, 2 * count, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t c = first; c < last; ++c) {
      const auto at = static_cast<std::size_t>(c);
      ChannelStats stats{static_cast<double>(mean[at]), static_cast<double>(variance[at])};
      if (trains) stats = stats_of_channel(sizes, c, from.data());
      const auto shift = static_cast<C>(stats.mean);
      kernels::GradientSums sums;
      for_channel(sizes, c, [&](std::int64_t row) {
        kernels::add_gradient_sums(dy.data() + row, from.data() + row, shift, sizes.inner, sums);
      });
      const double inverse = 1 / std::sqrt(stats.variance + epsilon);
      if (dscale) dscale->mutable_data<C>()[c] = static_cast<C>(sums.dy_x * inverse);
      if (dbias) dbias->mutable_data<C>()[c] = static_cast<C>(sums.dy);
      if (!dx) continue;
      const double factor = static_cast<double>(scale[at]) * inverse;
      const double of_x = trains ? -factor * inverse * inverse * sums.dy_x / count : 0;
      const double constant = trains ? -factor * sums.dy / count : 0;
      for_channel(sizes, c, [&](std::int64_t row) {
        kernels::combine_gradient(dy.data() + row, from.data() + row, shift, static_cast<C>(factor),
                                  static_cast<C>(of_x), static_cast<C>(constant), sizes.inner,
                                  dx->mutable_data<C>() + row);
      });
    }
  });
  return {};
}

Result<void> run(Frame& frame) {
  const Array &dy = frame.in(0), &x = frame.in(1);
  if (x.rank() < 2 || !(dy.dims() == x.dims()) || dy.type() != x.type()) {
    return wrong(fmt::format("the inputs are {} and {}", to_string(dy), to_string(x)),
                 "the same type and shape, [batch, channels, …]");
  }
  for (std::size_t i = 2; i < 5; ++i) TRY(expect_dims(frame, i, {x.dim(1)}, "one element for each channel"));
  if (x.type() == ElementType::float32) return run_as<float>(frame);
  if (x.type() == ElementType::float64) return run_as<double>(frame);
  return wrong_type(frame, 1);
}

}  // namespace

std::span<const Descriptor> batch_norm_gradient_descriptors() {
  static const Descriptor all[] = {{.name = "BatchNormalizationGradient",
                                    .domain = kTraining,
                                    .since = {1},
                                    .infer = infer,
                                    .run = run,
                                    .required = 5}};
  return all;
}

}  // namespace anybit::ops
