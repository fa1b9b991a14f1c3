#include "conv_shape.hpp"

#include <algorithm>

namespace anybit::cgen {
namespace {

Window three_axes(Window space) {
  space.insert(space.begin(), 3 - space.size(), WindowAxis{});
  return space;
}

}  // namespace

bool ConvShape::pointwise() const {
  return std::ranges::all_of(space, [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.before == 0 && axis.output == axis.input;
  });
}

ConvShape conv_shape(const Node& node, const Value& weights) {
  const Value& x = node.in(0);
  if (x.rank() < 3 || x.rank() > 5) node.refuse("a tensor of rank {}", x.rank());
  ConvShape conv;
  conv.batch = x.dims[0];
  conv.groups = node.integer("group", 1);
  conv.channels = weights.dims[1];
  conv.outputs = weights.dims[0] / conv.groups;
  conv.space = three_axes(window_of(node, x, node.out(), Dims(weights.dims.begin() + 2, weights.dims.end())));
  return conv;
}

Padded padded_of(const ConvShape& conv) {
  const auto size = [](const WindowAxis& axis) {
    return std::max((axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1,
                    axis.input + axis.before);
  };
  return {size(conv.space[1]), size(conv.space[2])};
}

Cut cut_of(std::int64_t rows, std::int64_t width) {
  Cut best{rows, width};
  double most = 0;
  for (const std::int64_t chunk : {16, 8, 4}) {
    const Cut next{rows, width, chunk};
    const double used = static_cast<double>(width) / static_cast<double>(next.in_row() * chunk);
    // Small chunks need more copies: use them only if they pay off.
    const double worth = used * (chunk == 16 ? 1.0 : chunk == 8 ? 0.9 : 0.75);
    if (worth > most) best = next, most = worth;
  }
  return best;
}

void emit_chunk(Node& node, const ConvShape& conv, const Cut& cut, bool as_it_is) {
  node.line("const int32_t row = number / {0}, place = number % {0} * {1};", cut.in_row(), cut.chunk);
  const std::int64_t last = std::max<std::int64_t>(cut.width - cut.chunk, 0);
  node.line("const int32_t column = place < {0} ? place : {0};", last);
  node.line("to[q] = row * {} + column;", cut.width);
  if (!as_it_is)
    node.line("from[q] = row * {} + column * {};", conv.space[1].stride * padded_of(conv).width,
              conv.space[2].stride);
}

void emit_places(Node& node, const ConvShape& conv, const Cut& cut, bool as_it_is, std::int64_t chunks) {
  node.line("int32_t {}to[{}];", as_it_is ? "" : fmt::format("from[{}], ", chunks), chunks);
  node.line("const int32_t left = {0} - first < {1} ? {0} - first : {1};", cut.count(), chunks);
  node.line("const int32_t tiles = (left + {0}) / {1};", cut.in_tile() - 1, cut.in_tile());
  node.open("for (int32_t q = 0; q < tiles * {}; ++q)", cut.in_tile());
  node.line("const int32_t number = q < left ? first + q : first + left - 1;");
  emit_chunk(node, conv, cut, as_it_is);
  node.end();
}

}  // namespace anybit::cgen
