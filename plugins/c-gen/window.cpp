#include "window.hpp"

#include <algorithm>

namespace anybit::cgen {
namespace {

std::int64_t number(const Node& node, std::string_view name, std::size_t i, std::int64_t otherwise) {
  const auto all = node.integers(name);
  return all && i < all->size() ? (*all)[i] : otherwise;
}

}  // namespace

std::int64_t WindowAxis::inside_from() const { return std::min(output, (before + stride - 1) / stride); }

std::int64_t WindowAxis::inside_to() const {
  const std::int64_t room = input + before - dilation * (kernel - 1) - 1;  // the last start of a window
  return room < 0 ? inside_from() : std::clamp(room / stride + 1, inside_from(), output);
}

Window window_of(const Node& node, const Value& in, const Value& out, const Dims& kernel) {
  Window window(kernel.size());
  const std::string padding = node.text("auto_pad", "NOTSET");
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    WindowAxis& axis = window[i];
    axis = {in.dims[i + 2], out.dims[i + 2], kernel[i], number(node, "strides", i, 1),
            number(node, "dilations", i, 1)};
    if (padding.starts_with("SAME")) {
      const std::int64_t extent = axis.dilation * (axis.kernel - 1) + 1;
      const std::int64_t all =
          std::max<std::int64_t>(0, (axis.output - 1) * axis.stride + extent - axis.input);
      axis.before = padding == "SAME_UPPER" ? all / 2 : all - all / 2;
      axis.after = all - axis.before;
    } else if (padding != "VALID") {
      axis.before = number(node, "pads", i, 0);
      axis.after = number(node, "pads", kernel.size() + i, 0);
    }
  }
  return window;
}

std::string place_in(const WindowAxis& axis, std::string_view o, std::string_view k) {
  std::string text(o);
  if (axis.stride != 1) text += fmt::format(" * {}", axis.stride);
  if (axis.kernel != 1) {
    text += fmt::format(" + {}", k);
    if (axis.dilation != 1) text += fmt::format(" * {}", axis.dilation);
  }
  if (axis.before != 0) text += fmt::format(" - {}", axis.before);
  return text;
}

std::string outside(const WindowAxis& axis, std::string_view place) {
  std::string text;
  const std::int64_t last = (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation - axis.before;
  if (axis.before > 0) text = fmt::format("{} < 0", place);
  if (last >= axis.input) text += fmt::format("{}{} >= {}", text.empty() ? "" : " || ", place, axis.input);
  return text;
}

}  // namespace anybit::cgen
