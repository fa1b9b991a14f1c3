// ChannelSum(dy): the sum over all axes but the second, [channels]: the gradient of a bias. Domain
// ai.anybit.training. Parts of the batch are added up one after the other, whatever the number of threads.
#include "kernels/reduce/reduce.hpp"
#include "ops/norm/stats.hpp"
#include "ops/training/training.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kBlock = 8;

// The sums of one image, [channels], of a plain array.
template <class T>
void sum_image(const T* image, std::int64_t channels, std::int64_t space, double* sums) {
  for (std::int64_t c = 0; c < channels; ++c)
    sums[c] = row_sum(kernels::Summand::value, image + c * space, space);
}

// The same of Layout::blocked8: [channels / 8][space][8].
void sum_blocks(const float* image, std::int64_t channels, std::int64_t space, double* sums) {
  for (std::int64_t c = 0; c < channels; c += kBlock) {
    double block[kBlock];
    kernels::column_sums(kernels::Summand::value, image + c * space, static_cast<std::size_t>(space), kBlock,
                         kBlock, block);
    std::copy_n(block, std::min(kBlock, channels - c), sums + c);
  }
}

Result<void> run_channel_sum(Frame& frame) {
  TRY(expect_trained(frame, 0));
  if (frame.in(0).rank() < 2)
    return wrong(fmt::format("input 0 is {}", to_string(frame.in(0))), "two axes or more");
  if (frame.in(0).layout() != Layout::blocked8) TRY(frame.make_plain(0));
  const Array& dy = frame.in(0);
  const std::int64_t batch = dy.dim(0), channels = dy.dim(1), space = dy.dims().product(2, dy.rank());
  Array* out = TRY(frame.out(0, dy.type(), {channels}));
  const bool blocked = dy.layout() == Layout::blocked8;
  const std::int64_t image = (blocked ? (channels + kBlock - 1) / kBlock * kBlock : channels) * space;
  const auto sums = TRY(frame.scratch_of<double>(batch * channels));
  for_trained(dy.type(), [&]<class T>(T) {
    parallel(frame, batch, 0.3 * static_cast<double>(image), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        double* const to = sums.data() + i * channels;
        if constexpr (std::is_same_v<T, float>) {
          if (blocked) {
            sum_blocks(dy.data<float>() + i * image, channels, space, to);
            continue;
          }
        }
        sum_image(dy.data<T>() + i * image, channels, space, to);
      }
    });
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t i = 0; i < batch; ++i) sum += sums[static_cast<std::size_t>(i * channels + c)];
      out->mutable_data<T>()[c] = static_cast<T>(sum);
    }
  });
  return {};
}

Result<Values> infer_channel_sum(const Call& call) {
  const auto& shape = call.in(0).shape;
  if (!shape || shape->size() < 2) return outputs_of(call, tensor(call.in(0).type, unknown_shape(1)));
  return outputs_of(call, tensor(call.in(0).type, Shape{(*shape)[1]}));
}

}  // namespace

std::span<const Descriptor> channel_sum_descriptors() {
  static const Descriptor all[] = {
      training_operator("ChannelSum", infer_channel_sum, run_channel_sum, 1, Layouts::each)};
  return all;
}

}  // namespace anybit::ops
