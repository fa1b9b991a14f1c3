#include "ops/conv/conv_rules.hpp"

#include "ops/conv/window.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {

Result<std::optional<Shape>> conv_shape(const Call& call, const Value& x, const Value& w) {
  const std::size_t rank = x.shape ? x.shape->size() : w.shape ? w.shape->size() : 0;
  if (!x.shape && !w.shape) return std::optional<Shape>();
  if (rank < 3)
    return wrong(fmt::format("the input has rank {}; a convolution needs batch, channels and space", rank));
  if (w.shape && w.shape->size() != rank) {
    return wrong(fmt::format("the weight has rank {}, the input {}", w.shape->size(), rank));
  }
  const Shape input = x.shape.value_or(unknown_shape(rank));
  const auto kernel = TRY(kernel_of(call, w.shape, rank - 2));
  if (w.shape) {
    const Dim channels = (*w.shape)[1] * Dim(call.integer("group", 1));
    if (channels.known() && input[1].known() && !same(channels, input[1])) {
      return wrong(
          fmt::format("the input has {} channels, the weight expects {}", *input[1].size, *channels.size));
    }
  }
  Shape shape = TRY(slide(TRY(window_of(call, kernel)), std::span(input).subspan(2)));
  shape.insert(shape.begin(), {input[0], w.shape ? (*w.shape)[0] : Dim()});
  return std::optional(std::move(shape));
}

Dim conv_macs(const Value& w, std::span<const Value> outputs) {
  if (!w.shape || outputs.empty() || !outputs[0].shape) return {};
  return product(*outputs[0].shape) * product(std::span(*w.shape).subspan(1));
}

}  // namespace anybit::ops
