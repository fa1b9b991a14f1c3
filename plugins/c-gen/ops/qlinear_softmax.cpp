// ONNX Runtime's QLinearSoftmax: a table of exp by the distance from the largest integer. Sums are in double
// in anybit's order: by element for short rows, by histogram of the integers for long rows.
#include <cmath>

#include "numbers.hpp"
#include "quantized.hpp"

namespace anybit::cgen {
namespace {

constexpr std::int64_t kLong = 256;

constexpr std::string_view kShort =
    R"(static void softmax_$S(const $T *x, $T *y, int32_t count, int32_t stride,
                       const float *powers, float scale, int32_t low, int32_t high, int32_t zero) {
  int32_t top = x[0];
  double sum = 0;
  float factor;
  for (int32_t i = 1; i < count; ++i) top = x[i * stride] > top ? x[i * stride] : top;
  for (int32_t i = 0; i < count; ++i) sum += (double)powers[top - x[i * stride]];
  factor = (float)(1.0 / (sum * (double)scale));
  for (int32_t i = 0; i < count; ++i)
    y[i * stride] = ($T)to_code(powers[top - x[i * stride]] * factor, low, high, zero);
})";

constexpr std::string_view kCounted = R"(static void softmax_$S_counted(const $T *x, $T *y, int32_t count,
                               int32_t stride, const float *powers, float scale, int32_t low, int32_t high, int32_t zero) {
  int32_t counts[256], top = 255;
  double sum = 0;
  float factor;
  for (int32_t i = 0; i < 256; ++i) counts[i] = 0;
  for (int32_t i = 0; i < count; ++i) ++counts[x[i * stride] - ($low)];
  while (counts[top] == 0) --top;
  for (int32_t i = 0; i <= top; ++i) sum += (double)counts[i] * (double)powers[top - i];
  factor = (float)(1.0 / (sum * (double)scale));
  for (int32_t i = 0; i < count; ++i)
    y[i * stride] = ($T)to_code(powers[top + ($low) - x[i * stride]] * factor, low, high, zero);
})";

void softmax(Node& node) {
  const Value& x = node.in(0);
  if (!is_byte(x) || node.out().type != x.type) node.refuse("unsupported type {}", x.info().name);
  const Quantization from = quantization_at(node, 1, 2), to = quantization_at(node, 3, 4);
  const bool flat = node.integer("opset", 13) < 13;
  const std::size_t axis = x.rank() == 0 ? 0 : node.axis(node.integer("axis", flat ? 1 : -1), x.rank());
  const std::int64_t n = x.rank() == 0 ? 1 : flat ? x.product(axis, x.rank()) : x.dims[axis];
  const std::int64_t stride = flat || x.rank() == 0 ? 1 : x.stride(axis);
  if (x.count() == 0) return;
  std::vector<float> powers;
  for (int k = 0; k < 256; ++k) powers.push_back(std::exp(-static_cast<float>(k) * from.scale));
  const bool counted = n >= kLong;
  const std::string name = fmt::format("softmax_{}{}", short_name(x), counted ? "_counted" : "");
  need_to_code(node);
  node.helper(name, filled(counted ? kCounted : kShort, {{"S", std::string(short_name(x))},
                                                         {"T", std::string(x.c())},
                                                         {"low", literal(x.info().low)}}));
  node.loop("o", x.count() / n / stride);
  if (stride > 1) node.loop("r", stride);
  const std::string at = fmt::format("o * {}{}", n * stride, stride > 1 ? " + r" : "");
  node.line("{}({} + {}, {} + {}, {}, {}, {}, {}, {});", name, node.x(0), at, node.y(), at, n, stride,
            node.floats(powers), literal(to.scale), code_arguments(to.zero_point, x.info()));
  if (stride > 1) node.end();
  node.end();
}

}  // namespace

std::span<const Descriptor> qlinear_softmax_descriptors() {
  static const Descriptor all[] = {{.op = "QLinearSoftmax", .domain = "com.microsoft", .emit = softmax}};
  return all;
}

}  // namespace anybit::cgen
