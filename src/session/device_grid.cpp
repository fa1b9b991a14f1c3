#include "session/device_grid.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "graph/index.hpp"
#include "ops/convert.hpp"
#include "ops/quantization.hpp"

namespace anybit {
namespace {

using graph::ElementType;

// The parameters of a QuantizeLinear or DequantizeLinear, if they are constants for the whole tensor and the
// codes are integers of 8 or 16 bits.
std::optional<Grid> grid_of(const graph::Node& node, const graph::Index& index) {
  const graph::Tensor* scale = node.inputs.size() > 1 ? index.constant(node.inputs[1]) : nullptr;
  const graph::Tensor* zero = node.inputs.size() > 2 ? index.constant(node.inputs[2]) : nullptr;
  if (!scale || !zero || scale->type() != ElementType::float32 || scale->count() != 1 || zero->count() != 1)
    return std::nullopt;
  Grid grid{zero->type(), scale->data.at<float>(0), 0};
  switch (grid.type) {
    case ElementType::uint8:
      grid.zero_point = zero->data.at<std::uint8_t>(0);
      return grid;
    case ElementType::int8:
      grid.zero_point = zero->data.at<std::int8_t>(0);
      return grid;
    case ElementType::uint16:
      grid.zero_point = zero->data.at<std::uint16_t>(0);
      return grid;
    case ElementType::int16:
      grid.zero_point = zero->data.at<std::int16_t>(0);
      return grid;
    default:
      return std::nullopt;
  }
}

// Codes are handled in parts of this size, on the stack.
constexpr std::size_t kPart = 256;

}  // namespace

std::vector<Grid> input_grids(const graph::Model& model, const std::vector<Port>& inputs) {
  const graph::Index index(*model.graph);
  std::vector<Grid> grids(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].element_type != "float32") continue;
    std::optional<Grid> found;
    bool one_way = true;
    for (const graph::Index::Use& use : index.uses(inputs[i].name)) {
      if (use.node < 0 || use.input != 0) continue;
      const graph::Node& node = model.graph->nodes[static_cast<std::size_t>(use.node)];
      if (node.op_type != "QuantizeLinear") continue;
      const auto grid = grid_of(node, index);
      one_way = one_way && grid && (!found || *found == *grid);
      found = grid;
    }
    if (found && one_way) grids[i] = *found;
  }
  return grids;
}

std::vector<Grid> output_grids(const graph::Model& model, const std::vector<Port>& outputs) {
  const graph::Index index(*model.graph);
  std::vector<Grid> grids(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const int producer = index.producer(outputs[i].name);
    if (producer < 0 || outputs[i].element_type != "float32") continue;
    const graph::Node& node = model.graph->nodes[static_cast<std::size_t>(producer)];
    if (node.op_type == "DequantizeLinear") grids[i] = grid_of(node, index).value_or(Grid{});
  }
  return grids;
}

void to_codes(std::span<const float> values, const Grid& grid, std::byte* codes) {
  const ops::WholeRange range = ops::range_of(grid.type);
  const std::size_t size = ops::element_bytes(grid.type);
  std::int32_t whole[kPart];
  std::int16_t aligned[kPart];  // the caller's bytes may lie anywhere
  for (std::size_t i = 0; i < values.size(); i += kPart) {
    const std::size_t n = std::min(kPart, values.size() - i);
    for (std::size_t k = 0; k < n; ++k) {
      const float quotient = values[i + k] / grid.scale;
      whole[k] = ops::quantized(static_cast<double>(quotient), grid.zero_point, range);
    }
    ops::convert(ElementType::int32, reinterpret_cast<const std::byte*>(whole), grid.type,
                 reinterpret_cast<std::byte*>(aligned), static_cast<std::int64_t>(n));
    std::memcpy(codes + i * size, aligned, n * size);
  }
}

void from_codes(const std::byte* codes, const Grid& grid, std::span<float> values) {
  const std::size_t size = ops::element_bytes(grid.type);
  std::int32_t whole[kPart];
  std::int16_t aligned[kPart];
  for (std::size_t i = 0; i < values.size(); i += kPart) {
    const std::size_t n = std::min(kPart, values.size() - i);
    std::memcpy(aligned, codes + i * size, n * size);
    ops::convert(grid.type, reinterpret_cast<const std::byte*>(aligned), ElementType::int32,
                 reinterpret_cast<std::byte*>(whole), static_cast<std::int64_t>(n));
    for (std::size_t k = 0; k < n; ++k)
      values[i + k] = static_cast<float>(whole[k] - grid.zero_point) * grid.scale;
  }
}

}  // namespace anybit
