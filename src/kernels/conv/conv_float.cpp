// Axes and weights of direct float convolution (conv_float.hpp).
#include "kernels/conv/conv_float.hpp"

#include "kernels/conv/activate.hpp"

namespace anybit::kernels {
namespace {

// The class of a phase, on one axis: its taps k have k · dilation ≡ class modulo the stride.
std::int64_t class_of(const WindowAxis& window, std::int64_t first) {
  return (first + window.before) % window.stride;
}

std::vector<std::int64_t> taps_of_class(const WindowAxis& window, std::int64_t tap_class) {
  std::vector<std::int64_t> taps;
  for (std::int64_t k = 0; k < window.kernel; ++k) {
    if (k * window.dilation % window.stride == tap_class) taps.push_back(k);
  }
  return taps;
}

ConvAxis phase_of(const WindowAxis& window, std::int64_t first) {
  ConvAxis axis{.input = window.output,
                .output = window.input,
                .count = (window.input - first - 1) / window.stride + 1,
                .first = first,
                .step = window.stride,
                .in_step = 1,
                .taps = {},
                .kernel_index = taps_of_class(window, class_of(window, first))};
  for (const std::int64_t k : axis.kernel_index)
    axis.taps.push_back((first + window.before - k * window.dilation) / window.stride);
  return axis;
}

}  // namespace

ConvRange::ConvRange(const Activation& activation, const ConvFinish* finish) : finish_(finish) {
  using Kind = Activation::Kind;
  if (activation.kind == Kind::relu) {
    low = 0;
  } else if (activation.kind == Kind::clip) {
    low = activation.a, high = activation.b;
  } else if (activation.kind != Kind::none) {
    activation_ = &activation;
  }
  more = activation_ || finish_;
}

void ConvRange::apply(std::span<float> results) const {
  if (activation_) activate(*activation_, results);
  if (finish_) (*finish_)(results);
}

ConvAxes conv_axes(const Window& window) {
  ConvAxes axes;
  for (std::size_t i = 0; i < 3; ++i) {
    const WindowAxis& from = window[i];
    axes[i] = {.input = from.input,
               .output = from.output,
               .count = from.output,
               .in_step = from.stride,
               .taps = {},
               .kernel_index = {}};
    for (std::int64_t k = 0; k < from.kernel; ++k) {
      axes[i].taps.push_back(k * from.dilation - from.before);
      axes[i].kernel_index.push_back(k);
    }
  }
  return axes;
}

std::vector<TransposedPhase> transposed_phases(const Window& window) {
  const auto& [d, h, w] = window;
  std::vector<TransposedPhase> all;
  for (std::int64_t fd = 0; fd < std::min(d.stride, d.input); ++fd) {
    for (std::int64_t fh = 0; fh < std::min(h.stride, h.input); ++fh) {
      for (std::int64_t fw = 0; fw < std::min(w.stride, w.input); ++fw) {
        const std::int64_t tap_class =
            (class_of(d, fd) * h.stride + class_of(h, fh)) * w.stride + class_of(w, fw);
        all.push_back({{phase_of(d, fd), phase_of(h, fh), phase_of(w, fw)}, tap_class});
      }
    }
  }
  return all;
}

std::vector<ConvAxes> transposed_classes(const Window& window) {
  const auto& [d, h, w] = window;
  std::vector<ConvAxes> all;
  for (std::int64_t i = 0; i < d.stride * h.stride * w.stride; ++i) {
    ConvAxes axes;
    axes[0].kernel_index = taps_of_class(d, i / (h.stride * w.stride));
    axes[1].kernel_index = taps_of_class(h, i / w.stride % h.stride);
    axes[2].kernel_index = taps_of_class(w, i % w.stride);
    all.push_back(std::move(axes));
  }
  return all;
}

std::int64_t conv_bias_size(std::int64_t groups, std::int64_t outputs) {
  return groups * ((outputs + 15) / 16 * 16);
}

void conv_bias(std::int64_t groups, std::int64_t outputs, const float* bias, float* to) {
  for (std::int64_t group = 0; group < groups; ++group, bias += outputs, to += (outputs + 15) / 16 * 16) {
    std::copy_n(bias, outputs, to);
    std::fill(to + outputs, to + (outputs + 15) / 16 * 16, 0.0F);
  }
}

std::int64_t conv_panels_size(std::int64_t groups, std::int64_t outputs, std::int64_t inputs,
                              std::int64_t taps) {
  return groups * ((outputs + 15) / 16 * 16) * channel_blocks(inputs) * 8 * taps;
}

void conv_panels(const WeightView& weights, const ConvAxes& axes, const Window& window, std::int64_t groups,
                 std::int64_t outputs, std::int64_t inputs, float* to) {
  const std::int64_t panels = (outputs + 15) / 16;
  for (std::int64_t at = 0; at < groups * panels; ++at) {
    const std::int64_t group = at / panels, o0 = at % panels * 16;
    for (std::int64_t block = 0; block < channel_blocks(inputs); ++block) {
      for (const std::int64_t kd : axes[0].kernel_index) {
        for (const std::int64_t kh : axes[1].kernel_index) {
          for (const std::int64_t kw : axes[2].kernel_index) {
            const std::int64_t tap = (kd * window[1].kernel + kh) * window[2].kernel + kw;
            for (std::int64_t i = block * 8; i < block * 8 + 8; ++i, to += 16) {
              for (std::int64_t o = 0; o < 16; ++o) {
                const bool real = i < inputs && o0 + o < outputs;
                to[o] = real ? weights.data[group * weights.group + (o0 + o) * weights.output +
                                            i * weights.input + tap]
                             : 0;
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace anybit::kernels
