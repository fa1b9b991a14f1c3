#include "ops/conv/conv_call.hpp"

#include <limits>

#include "base/checked.hpp"
#include "ops/conv/window.hpp"

namespace anybit::ops {

Result<kernels::ConvSizes> conv_sizes(const Attributes& node, const Dims& x, const Dims& w) {
  if (x.size() < 3 || w.size() != x.size()) {
    return wrong(fmt::format("the input is {}, the weight {}", to_string(x), to_string(w)),
                 "the same rank, 3 to 5");
  }
  kernels::ConvSizes sizes;
  sizes.batch = x[0];
  sizes.in_channels = x[1];
  sizes.out_channels = w[0];
  sizes.groups = node.integer("group", 1);
  if (sizes.groups < 1 || sizes.in_channels % sizes.groups != 0 || sizes.out_channels % sizes.groups != 0 ||
      sizes.in_channels / sizes.groups != w[1]) {
    return wrong(
        fmt::format("the input is {}, the weight {}, in {} groups", to_string(x), to_string(w), sizes.groups),
        "input channels = weight's second size times groups; groups divide the weight's first");
  }
  const auto kernel = w.span().subspan(2);
  if (const auto given = node.ints("kernel_shape"); given && !std::ranges::equal(*given, kernel)) {
    return wrong(fmt::format("kernel_shape is [{}], the weight {}", fmt::join(*given, ", "), to_string(w)),
                 "the weight's spatial sizes");
  }
  if (sizes.in_channels == 0) return wrong("the input has no channels");
  sizes.window = TRY(window_over(node, kernel, x.span().subspan(2)));
  if (!element_count(output_dims(sizes.batch, sizes.out_channels, sizes.window, x.size()).span())) {
    return wrong("the output is too large");
  }
  return sizes;
}

std::optional<kernels::ConvSizes> weight_sizes(const Attributes& node, const Dims& w) {
  const std::int64_t groups = node.integer("group", 1);
  if (w.size() < 3 || w.size() > 5 || groups < 1 || w[0] % groups != 0 || w.count() == 0) return std::nullopt;
  const auto channels = checked_mul(w[1], groups);
  if (!channels) return std::nullopt;
  kernels::ConvSizes sizes{.in_channels = *channels, .out_channels = w[0], .groups = groups, .window = {}};
  for (std::size_t i = 2; i < w.size(); ++i) sizes.window[3 - w.size() + i].kernel = w[i];
  return sizes;
}

Result<void> check_bias(const Array& bias, ElementType type, std::int64_t channels) {
  if (bias.type() == type && bias.count() == channels && bias.rank() == 1) return {};
  return wrong(fmt::format("the bias is {}", to_string(bias)),
               fmt::format("{}[{}]", graph::name_of(type), channels));
}

Result<kernels::Activation> activation_of(const Attributes& node) {
  return activation_named(node.text("activation", ""),
                          node.floats("activation_params").value_or(std::span<const float>()));
}

Result<kernels::Activation> activation_named(std::string_view name, std::span<const float> given) {
  using Kind = kernels::Activation::Kind;
  const auto parameter = [&](std::size_t i, float otherwise) {
    return i < given.size() ? given[i] : otherwise;
  };
  if (name.empty()) return kernels::Activation{};
  if (name == "Relu") return kernels::Activation{Kind::relu};
  if (name == "LeakyRelu") return kernels::Activation{Kind::leaky_relu, parameter(0, 0.01f)};
  if (name == "Sigmoid") return kernels::Activation{Kind::sigmoid};
  if (name == "Tanh") return kernels::Activation{Kind::tanh};
  if (name == "HardSigmoid")
    return kernels::Activation{Kind::hard_sigmoid, parameter(0, 0.2f), parameter(1, 0.5f)};
  if (name == "HardSwish") return kernels::Activation{Kind::hard_swish};
  if (name == "Silu") return kernels::Activation{Kind::silu};
  if (name == "Clip") {
    constexpr float kMost = std::numeric_limits<float>::max();
    return kernels::Activation{Kind::clip, parameter(0, -kMost), parameter(1, kMost)};
  }
  return wrong(fmt::format("the activation is '{}'", name),
               "Relu, LeakyRelu, Clip, Sigmoid, Tanh, HardSigmoid, HardSwish, Silu");
}

}  // namespace anybit::ops
