// FakeQuantize of ai.anybit.training: the forward pass of a quantized tensor in training, and its
// straight-through gradient. Two forms:
// - with inputs step and zero_point: integers from `low` to `high`, x̂ = (clamp(round(x / step) + z) - z) ·
// step,
//   where z is zero_point rounded and clamped. Both may be learned (LSQ, LSQ+);
// - with the attribute `format`: that of QuantizeDequantize, whose parameters follow from the values.
// `grouped`: the dimensions in which the tensor is quantized. `axis`: of the steps, in these dimensions.
#include <cmath>

#include "base/checked.hpp"
#include "kernels/codec/fake_quantize.hpp"
#include "ops/gradient.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "ops/training/training.hpp"

namespace anybit::ops {
namespace {

using kernels::FakeQuantization;

Dims grouped_dims(const Frame& frame, const Array& x) {
  const auto grouped = frame.ints("grouped");
  return grouped ? Dims(*grouped) : x.dims();
}

// A tensor seen as [outer, channels, inner], with the steps and ranges of its channels.
struct Steps {
  std::int64_t outer = 1, channels = 1, inner = 1;
  const float* step = nullptr;
  std::vector<float> low, high;  // by channel, relative to the zero point
  FakeQuantization of(std::int64_t channel) const {
    return {low[static_cast<std::size_t>(channel)], high[static_cast<std::size_t>(channel)]};
  }
};

Result<Steps> steps_of(const Frame& frame, const Array& x, std::size_t step_input) {
  const Dims dims = grouped_dims(frame, x);
  Steps steps;
  if (element_count(dims.span()) != x.count())
    return wrong(fmt::format("grouped is [{}], which does not hold {} values", fmt::join(dims.span(), ", "),
                             x.count()));
  const std::int64_t count = x.count();
  const Array& step = frame.in(step_input);
  if (step.type() != ElementType::float32) return wrong_type(frame, step_input);
  steps.channels = step.count();
  steps.inner = count;
  if (const auto axis = frame.integer("axis")) {
    const std::size_t at = TRY(axis_of(*axis, dims.size()));
    if (dims[at] != step.count())
      return wrong(fmt::format("{} steps for an axis of length {}", step.count(), dims[at]));
    for (std::size_t d = 0; d < at; ++d) steps.outer *= dims[d];
    steps.inner = steps.channels * steps.outer == 0 ? 0 : count / steps.channels / steps.outer;
  } else if (step.count() != 1) {
    return wrong(fmt::format("{} steps", step.count()), "one, or the attribute axis");
  }
  steps.step = step.data<float>();
  const auto low = static_cast<float>(frame.integer("low", -128)),
             high = static_cast<float>(frame.integer("high", 127));
  for (std::int64_t c = 0; c < steps.channels; ++c) {
    float zero = 0;
    if (frame.has(step_input + 1)) {
      const Array& zeros = frame.in(step_input + 1);
      if (zeros.type() != ElementType::float32 || zeros.count() != steps.channels)
        return wrong_type(frame, step_input + 1);
      zero = std::clamp(std::nearbyint(zeros.data<float>()[c]), low, high);
    }
    steps.low.push_back(low - zero);
    steps.high.push_back(high - zero);
  }
  return steps;
}

constexpr std::int64_t kPart = 1 << 14;

// Calls body(part, offset, count, channel) for pieces of at most kPart values that have one step.
template <class Body>
void for_pieces(const Frame& frame, const Steps& steps, const Body& body) {
  const std::int64_t rows = steps.outer * steps.channels, cuts = (steps.inner + kPart - 1) / kPart;
  const std::int64_t chunk = std::max<std::int64_t>(kPart / std::max<std::int64_t>(steps.inner, 1), 1);
  frame.pool().run(rows * cuts, chunk, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      const std::int64_t row = part / cuts, begin = part % cuts * kPart;
      body(part, row * steps.inner + begin, std::min(kPart, steps.inner - begin), row % steps.channels);
    }
  });
}

// One step serves all elements, wherever a layout puts them; padding is zero, which stays zero.
bool in_any_layout(const Frame& frame, std::size_t step_input) {
  return frame.in(step_input).count() == 1 && !frame.integer("axis");
}

Result<void> quantize_by_steps(Frame& frame) {
  const bool anywhere = in_any_layout(frame, 1);
  if (!anywhere) TRY(frame.make_plain(0));
  const Array& x = frame.in(0);
  Steps steps = TRY(steps_of(frame, x, 1));
  if (anywhere) steps.inner = x.stored();
  Array& out = *TRY(frame.out(0, x.type(), x.dims(), x.layout()));
  const float* from = x.data<float>();
  auto* to = out.mutable_data<float>();
  if (steps.inner == 1 && steps.channels > 1) {
    parallel(frame, steps.outer, static_cast<double>(steps.channels),
             [&](std::int64_t first, std::int64_t last) {
               for (std::int64_t i = first; i < last; ++i)
                 kernels::fake_quantize_each(steps.low.data(), steps.high.data(), from + i * steps.channels,
                                             steps.channels, steps.step, to + i * steps.channels);
             });
    return {};
  }
  for_pieces(frame, steps, [&](std::int64_t, std::int64_t at, std::int64_t count, std::int64_t channel) {
    kernels::fake_quantize(steps.of(channel), from + at, count, steps.step[channel], to + at);
  });
  return {};
}

Result<void> quantize_by_format(Frame& frame) {
  TRY(frame.make_plain(0));
  if (const auto* prepared = frame.prepared<FormatUse>())
    return quantize_dequantize(frame, *prepared, grouped_dims(frame, frame.in(0)));
  FormatUse format;
  format.use = TRY(formats::read_use(frame.text("format", "")));
  return quantize_dequantize(frame, format, grouped_dims(frame, frame.in(0)));
}

Result<void> run_fake_quantize(Frame& frame) {
  if (frame.in(0).type() != ElementType::float32) return wrong_type(frame, 0);
  return frame.has(1) ? quantize_by_steps(frame) : quantize_by_format(frame);
}

Result<std::shared_ptr<const Prepared>> prepare_fake(const Setup& setup) {
  if (!setup.find("format")) return std::shared_ptr<const Prepared>();
  return prepare_use(setup);
}

// --- the gradient: inputs dy, x, step, zero_point; outputs dx, dstep, dzero_point ---

Result<Values> infer_gradient(const Call& call) {
  Values values = unknown_outputs(call);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = without_contents(call.in(i + 1));
  return values;
}

// LSQ's scale of the gradient of a step, 1 / √(values · largest integer).
double step_weight(const Steps& steps, std::int64_t count, std::int64_t channel) {
  const FakeQuantization as = steps.of(channel);
  const double values = static_cast<double>(count / std::max<std::int64_t>(steps.channels, 1));
  return 1 / std::sqrt(std::max(values, 1.0) * static_cast<double>(std::max({as.high, -as.low, 1.0F})));
}

Result<void> gradient_by_steps(Frame& frame) {
  const bool anywhere = in_any_layout(frame, 2);
  for (const std::size_t i : {0, 1}) {
    if (!anywhere) TRY(frame.make_plain(i));
  }
  const SameLayout both = TRY(in_same_layout(frame, 0, 1));
  const Array &dy = both.first, &x = both.second;
  Steps steps = TRY(steps_of(frame, x, 2));
  if (anywhere) steps.inner = x.stored();
  Array& dx = *TRY(out_like(frame, 0, x));
  const auto channels = static_cast<std::size_t>(steps.channels);
  std::vector<double> by_step(channels), by_zero(channels);
  if (steps.inner == 1 && steps.channels > 1) {
    const std::int64_t rows = part_size(steps.outer, 2 * static_cast<double>(steps.channels));
    const std::int64_t parts = steps.outer == 0 ? 0 : (steps.outer + rows - 1) / rows;
    const std::size_t length = static_cast<std::size_t>(parts) * channels;
    const auto terms = TRY(frame.scratch_of<float>(static_cast<std::int64_t>(2 * length)));
    std::ranges::fill(terms, 0.0F);
    frame.pool().run(steps.outer, rows, [&](std::int64_t first, std::int64_t last) {
      float* sums = terms.data() + static_cast<std::size_t>(first / rows) * channels;
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t at = i * steps.channels;
        kernels::fake_quantize_gradient_each(steps.low.data(), steps.high.data(), x.data<float>() + at,
                                             dy.data<float>() + at, steps.channels, steps.step,
                                             dx.mutable_data<float>() + at, sums, sums + length);
      }
    });
    for (std::size_t i = 0; i < length; ++i) {
      by_step[i % channels] += static_cast<double>(terms[i]);
      by_zero[i % channels] += static_cast<double>(terms[i + length]);
    }
  } else {
    const std::int64_t cuts = (steps.inner + kPart - 1) / kPart;
    std::vector<kernels::StepGradient> parts(static_cast<std::size_t>(steps.outer * steps.channels * cuts));
    for_pieces(
        frame, steps, [&](std::int64_t part, std::int64_t at, std::int64_t count, std::int64_t channel) {
          parts[static_cast<std::size_t>(part)] =
              kernels::fake_quantize_gradient(steps.of(channel), x.data<float>() + at, dy.data<float>() + at,
                                              count, steps.step[channel], dx.mutable_data<float>() + at);
        });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t channel = i / static_cast<std::size_t>(cuts) % channels;
      by_step[channel] += parts[i].step;
      by_zero[channel] += parts[i].zero_point;
    }
  }
  const auto write = [&](std::size_t output, const std::vector<double>& sums) -> Result<void> {
    if (!frame.wants(output)) return {};
    const Array& like = frame.in(output + 1);
    auto* to = TRY(frame.out(output, like.type(), like.dims()))->mutable_data<float>();
    for (std::size_t c = 0; c < channels; ++c)
      to[c] = static_cast<float>(sums[c] * step_weight(steps, x.count(), static_cast<std::int64_t>(c)));
    return {};
  };
  TRY(write(1, by_step));
  return write(2, by_zero);
}

// Formats with thresholds in place of rounding: their largest value is an average, not a bound.
bool has_thresholds(std::string_view family) { return family == "binary" || family == "ternary"; }

// A value outside of the range of its group has no gradient. A weight may be pulled back inside.
Result<void> gradient_by_format(Frame& frame) {
  for (const std::size_t i : {0, 1}) TRY(frame.make_plain(i));
  const Array &dy = frame.in(0), &x = frame.in(1);
  const bool weight = frame.flag("weight");
  FormatUse made;
  const auto* format = frame.prepared<FormatUse>();
  if (!format) {
    made.use = TRY(formats::read_use(frame.text("format", "")));
    format = &made;
  }
  const Dims dims = grouped_dims(frame, x);
  auto codec = format->codecs.find(dims);
  if (!codec) codec = format->codecs.keep(dims, TRY(codec_for(format->use, dims.span())));
  const bool thresholds = has_thresholds(codec->descriptor().family);
  if (weight && thresholds) return frame.share(0, 0, x.dims());
  Array& dx = *TRY(frame.out(0, x.type(), x.dims()));
  const auto parameters = codec->choose(x.elements<float>(), frame.pool());
  const auto outside = weight ? kernels::Outside::inward : kernels::Outside::zero;
  codec->pass_inside(x.elements<float>(), parameters, thresholds ? 2.0F : 1.0F, outside, dy.data<float>(),
                     dx.mutable_data<float>(), frame.pool());
  return {};
}

Result<void> run_fake_quantize_gradient(Frame& frame) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (frame.in(i).type() != ElementType::float32) return wrong_type(frame, i);
  }
  if (!(frame.in(0).dims() == frame.in(1).dims()))
    return wrong(fmt::format("dy is {}, x {}", to_string(frame.in(0)), to_string(frame.in(1))));
  return frame.has(2) ? gradient_by_steps(frame) : gradient_by_format(frame);
}

Result<void> fake_quantize_rule(Gradient& gradient) {
  const graph::Node& node = gradient.node;
  std::vector<std::string> inputs{gradient.dy()};
  inputs.insert(inputs.end(), node.inputs.begin(), node.inputs.end());
  const auto made =
      gradient.add_all("FakeQuantizeGradient", inputs, node.inputs.size(), node.attributes, kTraining);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (gradient.has(i) && gradient.wants(i)) gradient.set(i, made[i]);
  }
  return {};
}

}  // namespace

std::span<const Descriptor> fake_quantize_descriptors() {
  static const Descriptor all[] = {{.name = "FakeQuantize",
                                    .domain = kTraining,
                                    .since = {1},
                                    .infer = infer_same,
                                    .run = run_fake_quantize,
                                    .prepare = prepare_fake,
                                    .layouts = Layouts::each,
                                    .gradient = fake_quantize_rule},
                                   {.name = "FakeQuantizeGradient",
                                    .domain = kTraining,
                                    .since = {1},
                                    .infer = infer_gradient,
                                    .run = run_fake_quantize_gradient,
                                    .prepare = prepare_fake,
                                    .required = 2,
                                    .layouts = Layouts::each}};
  return all;
}

}  // namespace anybit::ops
