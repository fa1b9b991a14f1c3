// Gradients of convolutions where oneDNN may not be used: GEMM, transposed and depthwise kernels against
// plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/reproducible.hpp"
#include "graph/node.hpp"
#include "kernels/conv/conv_gradient.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/conv/window.hpp"
#include "plain_frame.hpp"

namespace anybit::ops {
namespace {

struct Shaped {
  Dims x, w;
  std::int64_t groups, stride, dilation, pad;
};

constexpr std::uint64_t kSeed = 27;

Array random_array(const Dims& dims, std::mt19937_64& random) {
  Array array = testing::exact_array(ElementType::float32, dims).value();
  std::normal_distribution<float> normal;
  for (float& one : array.elements<float>()) one = normal(random);
  return array;
}

Array sizes_array(const Dims& dims) {
  Array array = testing::exact_array(ElementType::int64, {static_cast<std::int64_t>(dims.size())}).value();
  std::ranges::copy(dims, array.mutable_data<std::int64_t>());
  return array;
}

graph::Node node_of(std::string_view op, const Shaped& shaped) {
  graph::Node node;
  node.op_type = std::string(op);
  node.inputs = {"a", "b", "c"};
  node.outputs = {"y"};
  const std::size_t axes = shaped.x.size() - 2;
  using Numbers = std::vector<std::int64_t>;
  node.attributes = {graph::attribute("group", shaped.groups),
                     graph::attribute("strides", Numbers(axes, shaped.stride)),
                     graph::attribute("dilations", Numbers(axes, shaped.dilation)),
                     graph::attribute("pads", Numbers(2 * axes, shaped.pad))};
  return node;
}

std::vector<double> doubles(const Array& array) {
  const auto elements = array.elements<float>();
  return {elements.begin(), elements.end()};
}

// The operator on these inputs, without oneDNN, in the plain layout.
std::vector<double> run_alone(const graph::Node& node, const Array& a, const Array& b, const Dims& dims) {
  const ReproducibleScope scope(true);
  const Datum data[] = {a, b, sizes_array(dims)};
  const Datum* pointers[] = {&data[0], &data[1], &data[2]};
  const bool constant[3] = {};
  testing::PlainFrame frame(node, 1, pointers, constant, nullptr, nullptr);
  const auto done = find("ai.anybit.training", node.op_type.str())->run(frame);
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().text());
  Array plain = testing::exact_array(ElementType::float32, dims).value();
  convert_layout(frame.outputs[0].array, plain);
  return doubles(plain);
}

void expect_near(const std::vector<double>& found, const std::vector<double>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  double largest = 0;
  for (const double one : wanted) largest = std::max(largest, std::abs(one));
  for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 3e-6 * largest) << i;
}

TEST(ConvGradient, WithoutOneDnnIsThatOfPlainLoops) {
  const Shaped all[] = {
      {{3, 5, 9, 8}, {7, 5, 3, 2}, 1, 1, 1, 1},       {{2, 16, 7, 9}, {24, 16, 3, 3}, 1, 2, 1, 1},
      {{2, 6, 8, 8}, {4, 3, 3, 3}, 2, 1, 2, 2},       {{3, 12, 9, 7}, {12, 1, 3, 3}, 12, 1, 1, 1},
      {{9, 16, 10, 11}, {16, 1, 5, 5}, 16, 2, 1, 2},  {{1, 10, 13}, {10, 1, 4}, 10, 3, 1, 0},
      {{2, 8, 5, 6, 7}, {8, 1, 3, 3, 3}, 8, 1, 1, 1}, {{2, 8, 4, 4}, {8, 1, 3, 3}, 8, 1, 3, 3},
  };
  std::mt19937_64 random(kSeed);
  for (const Shaped& shaped : all) {
    SCOPED_TRACE(fmt::format("seed {}, x {}, w {}", kSeed, to_string(shaped.x), to_string(shaped.w)));
    const graph::Node by_input = node_of("ConvGradientInput", shaped);
    const graph::Node by_weight = node_of("ConvGradientWeight", shaped);
    const testing::PlainFrame attributes(by_input, 1, {}, {}, nullptr, nullptr);
    const auto sizes = conv_sizes(attributes, shaped.x, shaped.w);
    ASSERT_TRUE(sizes.ok());
    const Dims y = output_dims(sizes->batch, sizes->out_channels, sizes->window, shaped.x.size());
    const Array x = random_array(shaped.x, random), w = random_array(shaped.w, random);
    const Array dy = random_array(y, random);
    std::vector<double> dx(static_cast<std::size_t>(x.count())), dw(static_cast<std::size_t>(w.count()));
    const auto xs = doubles(x), ws = doubles(w), dys = doubles(dy);
    kernels::gradient_by_input(*sizes, dys.data(), ws.data(), 0, sizes->batch * sizes->in_channels,
                               dx.data());
    kernels::gradient_by_weight(*sizes, dys.data(), xs.data(), 0, sizes->out_channels * sizes->in_per_group(),
                                dw.data());
    expect_near(run_alone(by_input, dy, w, shaped.x), dx);
    expect_near(run_alone(by_weight, dy, x, shaped.w), dw);
  }
}

}  // namespace
}  // namespace anybit::ops
