// BatchNormalization: scales and shifts each channel by given statistics, or by the batch's own in training.
// ONNX: -7 (spatial), -9, -14 (training_mode), -15.
#include <algorithm>
#include <cmath>

#include "ops/gradient.hpp"
#include "ops/norm/channel_rows.hpp"
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

// Without `spatial`, each element of a sample is a channel.
ChannelRows rows_of(const Frame& frame) {
  const Array& x = frame.in(0);
  const Dims& dims = x.dims();
  if (frame.version < 9 && !frame.flag("spatial", true) && dims.size() >= 2)
    return {.batch = dims[0], .channels = dims.product(1, dims.size())};
  return channel_rows(x);
}

struct BatchStatistics {
  std::span<const double> mean, variance;
};

// The statistics of this batch, and the running statistics that are outputs.
template <class C>
Result<BatchStatistics> train(Frame& frame, const C* x, const ChannelRows& rows, std::span<const C> mean,
                              std::span<const C> variance) {
  const auto means = TRY(frame.scratch_of<double>(rows.channels));
  const auto variances = TRY(frame.scratch_of<double>(rows.channels));
  moments_of_channels(frame, rows, x, means, variances);
  const double momentum = frame.real("momentum", 0.9);
  for (const std::size_t output : {1, 2, 3, 4}) {
    if (!frame.wants(output)) continue;
    const bool of_mean = output % 2 == 1;
    Array* array = TRY(frame.out(output, frame.in(3).type(), frame.in(3).dims()));
    auto to = TRY(RealOutput<C>::make(frame, array));
    for (std::size_t c = 0; c < means.size(); ++c) {
      const double own = of_mean ? means[c] : variances[c];
      const auto before = static_cast<double>(of_mean ? mean[c] : variance[c]);
      to.data()[c] = static_cast<C>(output < 3 ? before * momentum + own * (1 - momentum) : own);
    }
    to.finish();
  }
  return BatchStatistics{means, variances};
}

// y = x · factor + shift
struct Line {
  double factor = 0, shift = 0;
};

template <class C>
void apply_lines(const Frame& frame, const ChannelRows& rows, const C* x, std::span<const Line> lines, C* y) {
  over_channel_rows(frame, rows, [&](std::int64_t at, std::int64_t n, std::int64_t channel) {
    const Line* line = lines.data() + channel;
    if constexpr (std::is_same_v<C, float>) {
      if (rows.lanes == 8) {
        const Eight factor([&](std::size_t i) { return line[i].factor; });
        const Eight shift([&](std::size_t i) { return line[i].shift; });
        kernels::scale_rows_of_8(x + at, static_cast<std::size_t>(n), factor.data, shift.data, y + at);
        return;
      }
    }
    scale_row(x + at, n, line->factor, line->shift, y + at);
  });
}

template <class C>
Result<void> run_in(Frame& frame) {
  const Array& x = frame.in(0);
  const ChannelRows rows = rows_of(frame);
  for (const std::size_t i : {1, 2, 3, 4}) {
    if (frame.in(i).count() != rows.channels) {
      return wrong(fmt::format("input {} is {}", i, to_string(frame.in(i))),
                   fmt::format("one number for each of {} channels", rows.channels));
    }
  }
  const auto scale = TRY(reals_in<C>(frame, frame.in(1))), shift = TRY(reals_in<C>(frame, frame.in(2)));
  const auto mean = TRY(reals_in<C>(frame, frame.in(3))), variance = TRY(reals_in<C>(frame, frame.in(4)));
  const auto from = TRY(reals_in<C>(frame, x));
  const bool training = frame.version >= 14 ? frame.flag("training_mode") : frame.output_count() > 1;
  BatchStatistics now;
  if (training) now = TRY(train<C>(frame, from.data(), rows, mean, variance));
  Array* y = TRY(frame.out_over(0, 0, x.type(), x.dims()));
  auto to = TRY(RealOutput<C>::make(frame, y));
  const double epsilon = frame.real("epsilon", 1e-5);
  const auto lines = TRY(frame.scratch_of<Line>(rows.channels));
  for (std::size_t c = 0; c < lines.size(); ++c) {
    const double spread = training ? now.variance[c] : static_cast<double>(variance[c]);
    const double center = training ? now.mean[c] : static_cast<double>(mean[c]);
    lines[c].factor = static_cast<double>(scale[c]) / std::sqrt(spread + epsilon);
    lines[c].shift = static_cast<double>(shift[c]) - center * lines[c].factor;
  }
  apply_lines<C>(frame, rows, from.data(), lines, to.data());
  to.finish();
  return {};
}

Result<void> run(Frame& frame) {
  if (!for_real(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  const bool kept = is_by_channel(frame.in(0)) && frame.version >= 9;
  for (std::size_t i = kept ? 1 : 0; i < frame.input_count(); ++i) TRY(frame.make_plain(i));
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
                                    .layouts = Layouts::each,
                                    .raise = {{9, raise_to_9}, {14, raise_to_14}},
                                    .traits = normalizes(false).called("batch_norm2d"),
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
