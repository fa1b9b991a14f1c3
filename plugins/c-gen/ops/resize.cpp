// Resize and Upsample: tables hold the taps and weights of each output.
#include "numbers.hpp"
#include "resize_axis.hpp"

namespace anybit::cgen {
namespace {

bool extrapolates(const ResizeAxis& axis) {
  for (const std::int32_t place : axis.first) {
    if (place < 0) return true;
  }
  return false;
}

// Integer results are rounded and saturated.
std::string rounded(const Value& value) {
  if (is_real(value)) return "s";
  return fmt::format("s <= {0} ? {0} : s >= {1} ? {1} : rintf(s)", lowest(value), largest(value));
}

void emit_resize(Node& node) {
  const Value &x = node.in(0), &y = node.out();
  const std::vector<ResizeAxis> axes = resize_axes(node);
  const bool nearest = node.text("mode", "nearest") == "nearest";
  if (y.count() == 0) return;
  std::string from = "0", to = "0", weight, outside;
  std::size_t taps = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    node.loop(fmt::format("i{}", i), axes[i].out);
    to += fmt::format(" + i{} * {}", i, y.stride(i));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const ResizeAxis& axis = axes[i];
    if (axis.still) {
      from += fmt::format(" + i{} * {}", i, x.stride(i));
      continue;
    }
    const std::string first = fmt::format("{}[i{}]", node.int32s(axis.first), i);
    if (extrapolates(axis)) outside += fmt::format("{}{} < 0", outside.empty() ? "" : " || ", first);
    from += fmt::format(" + ({}{}) * {}", first, nearest ? "" : fmt::format(" + k{}", i), x.stride(i));
    if (!nearest) weight += fmt::format("{}[i{} * {} + k{}] * ", node.floats(axis.weights), i, axis.taps, i);
  }
  if (!outside.empty()) {
    node.open("if ({})", outside);
    node.line("{}", store(node, y, node.y(), to, number(y, node.real("extrapolation_value", 0))));
    node.line("continue;");
    node.close();
  }
  if (nearest) {
    node.line("{}[{}] = {}[{}];", node.y(), to, node.x(0), from);
  } else {
    const std::string_view type = x.type == Element::float64 ? "double" : "float";
    node.line("{} s = 0;", type);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].still) continue;
      node.loop(fmt::format("k{}", i), axes[i].taps);
      ++taps;
    }
    node.line("s += {}({}){};", weight, type, load(node, x, node.x(0), from));
    for (std::size_t i = 0; i < taps; ++i) node.end();
    node.line("{}", store(node, y, node.y(), to, rounded(y)));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) node.end();
}

}  // namespace

std::span<const Descriptor> resize_descriptors() {
  static constexpr Descriptor all[] = {{"Resize", "", emit_resize}, {"Upsample", "", emit_resize}};
  return all;
}

}  // namespace anybit::cgen
