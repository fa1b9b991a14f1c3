#include "graph/quantization.hpp"

namespace anybit::graph {
namespace {

bool is_either(const Node& node, std::string_view op_type) {
  return is(node, op_type) || is(node, op_type, kMicrosoft);
}

// Values below 8 bits are packed, the first in the lowest bits.
std::int32_t packed_at(const Tensor& tensor, const IntegerRange& range, std::size_t i) {
  const auto bits = static_cast<std::size_t>(range.bits), each = 8 / bits;
  const int shifted = tensor.data.at<std::uint8_t>(i / each) >> (i % each * bits);
  const int value = shifted & ((1 << range.bits) - 1);
  return value > range.high ? value - (1 << range.bits) : value;
}

}  // namespace

bool quantizes(const Node& node) { return is_either(node, "QuantizeLinear"); }
bool dequantizes(const Node& node) { return is_either(node, "DequantizeLinear"); }

IntegerRange integer_range(ElementType type) {
  switch (type) {
    case ElementType::int2:
      return {2, -2, 1};
    case ElementType::uint2:
      return {2, 0, 3};
    case ElementType::int4:
      return {4, -8, 7};
    case ElementType::uint4:
      return {4, 0, 15};
    case ElementType::int8:
      return {8, -128, 127};
    case ElementType::uint8:
      return {8, 0, 255};
    case ElementType::int16:
      return {16, -32768, 32767};
    case ElementType::uint16:
      return {16, 0, 65535};
    case ElementType::int32:
      return {32, INT32_MIN, INT32_MAX};
    default:
      return {};
  }
}

std::optional<std::int32_t> integer_at(const Tensor& tensor, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  switch (tensor.type()) {
    case ElementType::int8:
      return tensor.data.at<std::int8_t>(at);
    case ElementType::uint8:
      return tensor.data.at<std::uint8_t>(at);
    case ElementType::int16:
      return tensor.data.at<std::int16_t>(at);
    case ElementType::uint16:
      return tensor.data.at<std::uint16_t>(at);
    case ElementType::int32:
      return tensor.data.at<std::int32_t>(at);
    default:
      break;
  }
  const IntegerRange range = integer_range(tensor.type());
  return range.bits == 0 ? std::nullopt : std::optional(packed_at(tensor, range, at));
}

ElementType type_without_zero_point(const Node& quantizer) {
  const std::int64_t said = integer(quantizer, "output_dtype", 0);
  return said == 0 ? ElementType::uint8 : static_cast<ElementType>(said);
}

std::optional<std::int64_t> axis_in(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

const Tensor* QdqView::constant(std::string_view name) const {
  if (name.empty()) return nullptr;
  if (index_.exists(name) || !around_) return index_.constant(name);
  return around_->constant(name);
}

const Node* QdqView::dequantizer(std::string_view value) const {
  const int producer = index_.producer(value);
  const Node* node = producer < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(producer)];
  return node && dequantizes(*node) ? node : nullptr;
}

const Node* QdqView::quantizer(std::string_view quantized) const {
  const int producer = index_.producer(quantized);
  const Node* node = producer < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(producer)];
  return node && quantizes(*node) ? node : nullptr;
}

int QdqView::only_quantizer(std::string_view value) const {
  const int user = index_.only_user(value);
  if (user < 0) return -1;
  const Node& node = graph_.nodes[static_cast<std::size_t>(user)];
  return quantizes(node) && input(node, QdqInputs::value) == value ? user : -1;
}

const Tensor* QdqView::stored(std::string_view value) const {
  const Node* node = dequantizer(value);
  return node ? constant(input(*node, QdqInputs::value)) : nullptr;
}

QdqView::Parameters QdqView::parameters(const Node& node) const {
  return read_qdq<Tensor>(node, [&](std::size_t i) { return constant(input(node, i)); });
}

}  // namespace anybit::graph
