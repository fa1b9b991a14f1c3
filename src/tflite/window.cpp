#include "tflite/window.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.hpp"

namespace anybit::tflite {
namespace {

Result<void> check_positive(const OperatorReader& here, const Dims& sizes, std::string_view what) {
  for (const std::int64_t size : sizes) {
    if (size < 1) return here.invalid(fmt::format("its {} is {}", what, size), "it is 1 or more");
  }
  return {};
}

}  // namespace

std::int64_t same_padding(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation) {
  const std::int64_t outputs = (size + stride - 1) / stride;
  return std::max<std::int64_t>((outputs - 1) * stride + (kernel - 1) * dilation + 1 - size, 0);
}

Result<std::vector<graph::Attribute>> window_attributes(const OperatorReader& here, std::size_t i,
                                                        const Window& window, bool dilated) {
  TRY(check_positive(here, window.kernel, "kernel size"));
  TRY(check_positive(here, window.strides, "stride"));
  TRY(check_positive(here, window.dilations, "dilation"));
  const std::size_t axes = window.kernel.size();
  const Dims& dims = here.in(i).dims;
  if (dims.size() != axes + 2)
    return here.invalid(fmt::format("input {} has {} dimensions", i, dims.size()),
                        fmt::format("it takes {}", axes + 2));
  std::vector<graph::Attribute> attributes{graph::attribute("kernel_shape", window.kernel),
                                           graph::attribute("strides", window.strides)};
  if (dilated) attributes.push_back(graph::attribute("dilations", window.dilations));
  if (window.padding == wire::Padding::VALID) return attributes;
  Dims pads(2 * axes, 0);
  for (std::size_t a = 0; a < axes; ++a) {
    if (dims[a + 1] < 0) {
      attributes.push_back(graph::attribute("auto_pad", std::string("SAME_UPPER")));
      return attributes;
    }
    const std::int64_t total =
        same_padding(dims[a + 1], window.kernel[a], window.strides[a], window.dilations[a]);
    pads[a] = total / 2;
    pads[axes + a] = total - total / 2;
  }
  attributes.push_back(graph::attribute("pads", pads));
  return attributes;
}

}  // namespace anybit::tflite
