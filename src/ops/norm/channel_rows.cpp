#include "ops/norm/channel_rows.hpp"

#include "ops/norm/stats.hpp"

namespace anybit::ops {
namespace {

// Calls body(channel) for the first channel of each row's kind; it goes over the batch in order.
template <class Body>
void over_channels(const Frame& frame, const ChannelRows& rows, const Body& body) {
  const std::int64_t blocks = rows.channels / rows.lanes;
  const double cost = 0.5 * static_cast<double>(rows.batch * rows.space * rows.lanes);
  parallel(frame, blocks, cost, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) body(block * rows.lanes);
  });
}

// The first element of a channel's row in an image.
std::int64_t row_at(const ChannelRows& rows, std::int64_t image, std::int64_t channel) {
  return (image * rows.channels + channel) * rows.space;
}

}  // namespace

bool is_by_channel(const Array& array) {
  if (array.layout() == Layout::plain) return true;
  return array.layout() == Layout::blocked8 && array.type() == ElementType::float32 && array.dim(1) % 8 == 0;
}

ChannelRows channel_rows(const Array& array) {
  const Dims& dims = array.dims();
  if (dims.size() < 2) return {.batch = dims.count()};
  return {.batch = dims[0],
          .channels = dims[1],
          .space = dims.product(2, dims.size()),
          .lanes = array.layout() == Layout::blocked8 ? 8 : 1};
}

template <class T>
void moments_of_channels(const Frame& frame, const ChannelRows& rows, const T* x, std::span<double> mean,
                         std::span<double> variance) {
  const double count = static_cast<double>(rows.batch * rows.space);
  over_channels(frame, rows, [&](std::int64_t channel) {
    double *means = mean.data() + channel, *variances = variance.data() + channel;
    std::fill_n(means, rows.lanes, 0.0);
    std::fill_n(variances, rows.lanes, 0.0);
    if constexpr (std::is_same_v<T, float>) {
      if (rows.lanes == 8) {
        const auto n = static_cast<std::size_t>(rows.space);
        for (std::int64_t b = 0; b < rows.batch; ++b)
          kernels::sums_of_8(x + row_at(rows, b, channel), n, means);
        for (std::int64_t i = 0; i < 8; ++i) means[i] /= count;
        const Eight center([&](std::size_t i) { return means[i]; });
        for (std::int64_t b = 0; b < rows.batch; ++b)
          kernels::deviations_of_8(x + row_at(rows, b, channel), center.data, n, variances);
        for (std::int64_t i = 0; i < 8; ++i) variances[i] /= count;
        return;
      }
    }
    for (std::int64_t b = 0; b < rows.batch; ++b)
      *means += row_sum(kernels::Summand::value, x + row_at(rows, b, channel), rows.space);
    *means /= count;
    for (std::int64_t b = 0; b < rows.batch; ++b)
      *variances += row_deviation(x + row_at(rows, b, channel), rows.space, *means);
    *variances /= count;
  });
}
template void moments_of_channels(const Frame&, const ChannelRows&, const float*, std::span<double>,
                                  std::span<double>);
template void moments_of_channels(const Frame&, const ChannelRows&, const double*, std::span<double>,
                                  std::span<double>);

template <class T>
void pair_sums_of_channels(const Frame& frame, const ChannelRows& rows, const T* dy, const T* x,
                           std::span<const double> mean, std::span<kernels::PairSums> sums) {
  over_channels(frame, rows, [&](std::int64_t channel) {
    const double* center = mean.data() + channel;
    kernels::PairSums* to = sums.data() + channel;
    std::fill_n(to, rows.lanes, kernels::PairSums{});
    for (std::int64_t b = 0; b < rows.batch; ++b) {
      const std::int64_t at = row_at(rows, b, channel);
      if constexpr (std::is_same_v<T, float>) {
        const auto n = static_cast<std::size_t>(rows.space);
        if (rows.lanes == 8) {
          const Eight centers([&](std::size_t i) { return center[i]; });
          kernels::pair_sums_of_8(dy + at, x + at, centers.data, n, to);
        } else {
          const kernels::PairSums row = kernels::pair_sums(dy + at, x + at, static_cast<float>(*center), n);
          to->plain += row.plain;
          to->weighted += row.weighted;
        }
      } else {
        for (std::int64_t i = at; i < at + rows.space; ++i) {
          to->plain += dy[i];
          to->weighted += dy[i] * (x[i] - *center);
        }
      }
    }
  });
}
template void pair_sums_of_channels(const Frame&, const ChannelRows&, const float*, const float*,
                                    std::span<const double>, std::span<kernels::PairSums>);
template void pair_sums_of_channels(const Frame&, const ChannelRows&, const double*, const double*,
                                    std::span<const double>, std::span<kernels::PairSums>);

}  // namespace anybit::ops
