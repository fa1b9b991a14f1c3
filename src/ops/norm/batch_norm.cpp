// BatchNormalization: scales and shifts each channel by given statistics, or by the batch's own in training.
// ONNX: -7 (spatial), -9, -14 (training_mode), -15.
#include <algorithm>

#include "ops/gradient.hpp"
#include "ops/norm/stats.hpp"
#include "ops/raise.hpp"
#include "ops/reals.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// In training, or before version 14, further outputs hold means and variances per channel.
Result<Values> infer(const Call& call) {
  Values values(call.output_count(), tensor(call.in(3).type, call.in(3).shape));
  if (!values.empty()) values[0] = tensor(call.in(0).type, call.in(0).shape);
  return values;
}

// [batch, channels, inner]. Without `spatial`, each element of a sample is a channel.
struct Sizes {
  std::int64_t batch = 1, channels = 1, inner = 1;
};

Sizes sizes_of(const Frame& frame) {
  const Dims& dims = frame.in(0).dims();
  if (dims.size() < 2) return {dims.count(), 1, 1};
  if (frame.version < 9 && !frame.flag("spatial", true)) return {dims[0], dims.product(1, dims.size()), 1};
  return {dims[0], dims[1], dims.product(2, dims.size())};
}

// Mean and variance of a channel over the batch.
template <class C>
kernels::Moments channel_moments(const C* x, const Sizes& sizes, std::int64_t channel) {
  const std::int64_t batch = sizes.batch, inner = sizes.inner;
  const auto count = static_cast<double>(batch * inner);
  double mean = 0, variance = 0;
  const auto row = [&](std::int64_t b) { return x + (b * sizes.channels + channel) * inner; };
  for (std::int64_t b = 0; b < batch; ++b) mean += row_sum(kernels::Summand::value, row(b), inner);
  mean /= count;
  for (std::int64_t b = 0; b < batch; ++b) variance += row_deviation(row(b), inner, mean);
  return {mean, variance / count};
}

// The statistics of this batch, and the running statistics that are outputs.
template <class C>
Result<std::span<kernels::Moments>> train(Frame& frame, const C* x, const Sizes& sizes,
                                          std::span<const C> mean, std::span<const C> variance) {
  const auto now = TRY(frame.scratch_of<kernels::Moments>(sizes.channels));
  parallel(frame, sizes.channels, static_cast<double>(sizes.batch * sizes.inner),
           [&](std::int64_t first, std::int64_t last) {
             for (std::int64_t c = first; c < last; ++c)
               now[static_cast<std::size_t>(c)] = channel_moments(x, sizes, c);
           });
  const double momentum = frame.real("momentum", 0.9);
  for (const std::size_t output : {1, 2, 3, 4}) {
    if (!frame.wants(output)) continue;
    const bool of_mean = output % 2 == 1;
    Array* array = TRY(frame.out(output, frame.in(3).type(), frame.in(3).dims()));
    auto to = TRY(RealOutput<C>::make(frame, array));
    for (std::size_t c = 0; c < now.size(); ++c) {
      const double own = of_mean ? now[c].mean : now[c].variance;
      const auto before = static_cast<double>(of_mean ? mean[c] : variance[c]);
      to.data()[c] = static_cast<C>(output < 3 ? before * momentum + own * (1 - momentum) : own);
    }
    to.finish();
  }
  return now;
}

template <class C>
Result<void> run_in(Frame& frame) {
  const Array& x = frame.in(0);
  const Sizes sizes = sizes_of(frame);
  for (const std::size_t i : {1, 2, 3, 4}) {
    if (frame.in(i).count() != sizes.channels) {
      return wrong(fmt::format("input {} is {}", i, to_string(frame.in(i))),
                   fmt::format("one number for each of {} channels", sizes.channels));
    }
  }
  const auto scale = TRY(reals_in<C>(frame, frame.in(1))), shift = TRY(reals_in<C>(frame, frame.in(2)));
  const auto mean = TRY(reals_in<C>(frame, frame.in(3))), variance = TRY(reals_in<C>(frame, frame.in(4)));
  const auto from = TRY(reals_in<C>(frame, x));
  const bool training = frame.version >= 14 ? frame.flag("training_mode") : frame.output_count() > 1;
  std::span<kernels::Moments> now;
  if (training) now = TRY(train<C>(frame, from.data(), sizes, mean, variance));
  Array* y = TRY(frame.out_over(0, 0, x.type(), x.dims()));
  auto to = TRY(RealOutput<C>::make(frame, y));
  const double epsilon = frame.real("epsilon", 1e-5);
  const std::int64_t channels = sizes.channels, inner = sizes.inner;
  parallel(frame, sizes.batch * channels, 0.3 * static_cast<double>(inner) + 10,
           [&](std::int64_t first, std::int64_t last) {
             for (std::int64_t r = first; r < last; ++r) {
               const auto c = static_cast<std::size_t>(r % channels);
               const auto spread = training ? now[c].variance : static_cast<double>(variance[c]);
               const auto center = training ? now[c].mean : static_cast<double>(mean[c]);
               const double factor = static_cast<double>(scale[c]) / std::sqrt(spread + epsilon);
               scale_row(from.data() + r * inner, inner, factor,
                         static_cast<double>(shift[c]) - center * factor, to.data() + r * inner);
             }
           });
  to.finish();
  return {};
}

Result<void> run(Frame& frame) {
  if (!for_real(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  return wants_double(frame.in(0).type()) ? run_in<double>(frame) : run_in<float>(frame);
}

Result<void> raise_to_9(Raising& raising) {
  if (raising.integer("spatial", 1) == 0) {
    return error_at(Code::unsupported, {},
                    "statistics per element (spatial = 0) have no equivalent in newer opsets");
  }
  raising.remove("spatial");
  return {};
}

// More outputs than one meant training mode.
Result<void> raise_to_14(Raising& raising) {
  std::vector<std::string>& outputs = raising.edited.outputs;
  for (std::size_t i = 3; i < outputs.size(); ++i) {
    if (!outputs[i].empty())
      return error_at(Code::unsupported, {},
                      fmt::format("output {} (saved statistics) has no equivalent in newer opsets", i));
  }
  outputs.resize(std::min<std::size_t>(outputs.size(), 3));
  const auto wanted = [](const std::string& name) { return !name.empty(); };
  if (std::any_of(outputs.begin() + 1, outputs.end(), wanted)) raising.set("training_mode", std::int64_t{1});
  return {};
}

// The statistics of the inference form are values like others; in training mode they follow from x.
Result<void> gradient(Gradient& g) {
  if (g.dy().empty()) return {};
  const auto attributes = attributes_of(g, {"epsilon", "training_mode"});
  const auto all =
      g.add_all("BatchNormalizationGradient", {g.dy(), g.input(0), g.input(1), g.input(3), g.input(4)}, 3,
                attributes, kTraining);
  for (std::size_t i = 0; i < 3; ++i) g.set(i, all[i]);
  if (g.flag("training_mode") || !(g.wants(3) || g.wants(4))) return {};
  const std::string variance = g.add("Add", {g.input(4), g.number(g.real("epsilon", 1e-5), g.in(4).type)});
  const std::string scale = g.add("Div", {g.input(1), g.add("Sqrt", {variance})});
  if (g.wants(3)) g.set(3, g.add("Neg", {g.add("Mul", {all[2], scale})}));
  if (g.wants(4)) {
    const std::string half = g.add("Mul", {variance, g.number(-2, g.in(4).type)});
    g.set(4, g.add("Div", {g.add("Mul", {all[1], g.input(1)}), half}));
  }
  return {};
}

}  // namespace

std::span<const Descriptor> batch_norm_descriptors() {
  static const Descriptor all[] = {{.name = "BatchNormalization",
                                    .domain = "",
                                    .since = {1, 6, 7, 9, 14, 15},
                                    .infer = infer,
                                    .run = run,
                                    .required = 5,
                                    .raise = {{9, raise_to_9}, {14, raise_to_14}},
                                    .traits = normalizes(false).called("batch_norm2d"),
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
