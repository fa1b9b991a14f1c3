#include "device/grid.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "graph/quantization.hpp"
#include "ops/convert.hpp"
#include "ops/quantized/quantization.hpp"

namespace anybit {
namespace {

using graph::ElementType;

// The parameters of a QuantizeLinear or DequantizeLinear, if they are per-tensor constants and the type is an
// 8-bit or 16-bit integer.
std::optional<Grid> grid_of(const graph::Node& node, const graph::QdqView& view) {
  const graph::QdqView::Parameters read = view.parameters(node);
  const int bits = graph::integer_range(read.type).bits;
  if (!read.known() || !read.has_zero_point || !read.per_tensor() || (bits != 8 && bits != 16))
    return std::nullopt;
  return Grid{read.type, read.scale->data.at<float>(0), *graph::integer_at(*read.zero_point, 0)};
}

// Values are converted in chunks of this size, on the stack.
constexpr std::size_t kPart = 256;

}  // namespace

std::vector<Grid> input_grids(const graph::Model& model, const std::vector<Port>& inputs) {
  const graph::QdqView view(*model.graph);
  std::vector<Grid> grids(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].element_type != "float32") continue;
    std::optional<Grid> found;
    bool one_way = true;
    for (const graph::Index::Use& use : view.index().uses(inputs[i].name)) {
      if (use.node < 0 || use.input != 0) continue;
      const graph::Node& node = model.graph->nodes[static_cast<std::size_t>(use.node)];
      if (!graph::quantizes(node)) continue;
      const auto grid = grid_of(node, view);
      one_way = one_way && grid && (!found || *found == *grid);
      found = grid;
    }
    if (found && one_way) grids[i] = *found;
  }
  return grids;
}

std::vector<Grid> output_grids(const graph::Model& model, const std::vector<Port>& outputs) {
  const graph::QdqView view(*model.graph);
  std::vector<Grid> grids(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const graph::Node* node = view.dequantizer(outputs[i].name);
    if (node && outputs[i].element_type == "float32") grids[i] = grid_of(*node, view).value_or(Grid{});
  }
  return grids;
}

void to_quantized(std::span<const float> values, const Grid& grid, std::byte* quantized) {
  const ops::QuantizedRange range = ops::range_of(grid.type);
  const std::size_t size = ops::element_bytes(grid.type);
  std::int32_t integers[kPart];
  std::int16_t aligned[kPart];  // the caller's buffer may be unaligned
  for (std::size_t i = 0; i < values.size(); i += kPart) {
    const std::size_t n = std::min(kPart, values.size() - i);
    for (std::size_t k = 0; k < n; ++k) {
      const float quotient = values[i + k] / grid.scale;
      integers[k] = ops::quantized(static_cast<double>(quotient), grid.zero_point, range);
    }
    ops::convert(ElementType::int32, reinterpret_cast<const std::byte*>(integers), grid.type,
                 reinterpret_cast<std::byte*>(aligned), static_cast<std::int64_t>(n));
    std::memcpy(quantized + i * size, aligned, n * size);
  }
}

void from_quantized(const std::byte* quantized, const Grid& grid, std::span<float> values) {
  const std::size_t size = ops::element_bytes(grid.type);
  std::int32_t integers[kPart];
  std::int16_t aligned[kPart];
  for (std::size_t i = 0; i < values.size(); i += kPart) {
    const std::size_t n = std::min(kPart, values.size() - i);
    std::memcpy(aligned, quantized + i * size, n * size);
    ops::convert(grid.type, reinterpret_cast<const std::byte*>(aligned), ElementType::int32,
                 reinterpret_cast<std::byte*>(integers), static_cast<std::int64_t>(n));
    for (std::size_t k = 0; k < n; ++k)
      values[i + k] = static_cast<float>(integers[k] - grid.zero_point) * grid.scale;
  }
}

}  // namespace anybit
