// A loaded model holds everything in the file, however unusual its encoding.
#include <gmock/gmock.h>

#include "unit/base/scratch.hpp"
#include "unit/io/onnx/model_bytes.hpp"

namespace anybit::onnx {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::string unknown(const std::string& text) { return block(1000, text); }

TEST(Load, AbsentAndEmptyFieldsStayDistinct) {
  const graph::Model absent = parsed(model_bytes(graph_bytes()));
  const graph::Model empty = parsed(model_bytes(graph_bytes({}, block(3, "")), block(2, "") + number(5, 0)));
  EXPECT_FALSE(absent.producer.present());
  EXPECT_TRUE(empty.producer.present());
  EXPECT_FALSE(absent.model_version.has_value());
  EXPECT_EQ(empty.model_version, 0);
  EXPECT_FALSE(absent.graph->nodes[0].name.present());
  EXPECT_TRUE(empty.graph->nodes[0].name.present());
  EXPECT_NE(serialized(absent), serialized(empty));
}

TEST(Load, UnknownFieldsOfEveryMessageSurvive) {
  const std::string dim = number(1, 2) + unknown("dim");
  const std::string type =
      block(1, number(1, 1) + block(2, block(1, dim) + unknown("shape")) + unknown("tensor type"));
  const std::string info = block(1, "v") + block(2, type + unknown("type")) +
                           block(4, block(1, "k") + unknown("entry")) + unknown("value info");
  const std::string tensor = tensor_bytes(1, 0, block(9, "") + unknown("tensor"));
  const std::string attribute = block(1, "a") + block(5, tensor) + number(20, 4) + unknown("attribute");
  const std::string annotation = block(1, "x") + unknown("annotation");
  const std::string graph =
      graph_bytes(block(13, info) + block(14, annotation) + initializer(tensor) + unknown("graph"),
                  block(5, attribute) + unknown("node"));
  const std::string function = block(1, "f") + block(10, "d") +
                               block(9, number(2, 17) + unknown("function opset")) + unknown("function");
  const std::string bytes =
      model_bytes(graph, block(25, function) + block(8, block(1, "d") + number(2, 1) + unknown("opset")) +
                             block(20, unknown("training")) + unknown("model"));
  const std::string kept = again(bytes);
  for (const char* name :
       {"dim", "shape", "tensor type", "type", "entry", "value info", "tensor", "attribute", "annotation",
        "graph", "node", "function opset", "function", "opset", "training", "model"}) {
    EXPECT_NE(kept.find(unknown(name)), std::string::npos) << name;
  }
  EXPECT_EQ(again(kept), kept);
}

TEST(Load, PartsOfOneMessageAreMerged) {
  const std::string whole = graph_bytes();
  const std::string second =
      block(10, "documentation") + initializer(tensor_bytes(1, 1, block(9, "\0\0\0\0"s)));
  const graph::Model model =
      parsed(number(1, 8) + block(7, whole) + block(8, number(2, 17)) + block(7, second));
  EXPECT_EQ(model.graph->name, "g");
  EXPECT_EQ(model.graph->doc, "documentation");
  EXPECT_EQ(model.graph->nodes.size(), 1u);
  EXPECT_EQ(model.graph->initializers.size(), 1u);
}

TEST(Load, TheLastOfSeveralValuesCounts) {
  const graph::Model model = parsed(model_bytes(graph_bytes(), number(1, 7)));
  EXPECT_EQ(model.ir_version, 7);
}

// Large messages are parsed by hand; order and merging must be as in protobuf.
TEST(Load, LargeRawDataIsNotCopied) {
  const std::string weights(100'000, 'w');
  const Bytes bytes =
      Bytes::own(model_bytes(graph_bytes(initializer(tensor_bytes(2, 100'000, block(9, weights))))));
  const auto model = parse(bytes);
  ASSERT_TRUE(model.ok()) << model.error().text();
  const Bytes& data = model->graph->initializers[0].data;
  EXPECT_EQ(data.text(), weights);
  EXPECT_GE(data.data(), bytes.data());
  EXPECT_LE(data.data() + data.size(), bytes.data() + bytes.size());
}

TEST(Load, InitializersKeepTheirOrderWhateverTheirSize) {
  std::string more;
  for (int i = 0; i < 6; ++i) {
    const std::size_t size = i % 2 == 0 ? 5000 : 3;
    more += initializer(number(1, size) + number(2, 2) + block(8, "w" + std::to_string(i)) +
                        block(9, std::string(size, static_cast<char>('a' + i))));
  }
  const graph::Model model = parsed(model_bytes(graph_bytes(more)));
  ASSERT_EQ(model.graph->initializers.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(model.graph->initializers[i].name, "w" + std::to_string(i));
    EXPECT_EQ(model.graph->initializers[i].data.text()[0], static_cast<char>('a' + i));
  }
}

TEST(Load, TheLastRawDataCountsWhetherLargeOrSmall) {
  const std::string large(8000, 'l'), small(3, 's');
  const auto data = [](std::uint64_t count, const std::string& fields) {
    const graph::Model model = parsed(model_bytes(graph_bytes(initializer(tensor_bytes(2, count, fields)))));
    return std::string(model.graph->initializers.at(0).data.text());
  };
  EXPECT_EQ(data(3, block(9, large) + block(9, small)), small);
  EXPECT_EQ(data(8000, block(9, small) + block(9, large)), large);
  EXPECT_EQ(data(8000, block(9, std::string(9000, 'x')) + block(9, large)), large);
}

TEST(Load, LargeDataInAttributesAndBranchesIsFound) {
  const std::string tensor = tensor_bytes(2, 6000, block(9, std::string(6000, 'q')));
  const std::string constant =
      block(2, "c") + block(4, "Constant") + block(5, block(1, "value") + block(5, tensor) + number(20, 4));
  const std::string branch = block(1, constant) + block(2, "branch") + block(12, block(1, "c"));
  const std::string condition = initializer(number(2, 9) + block(8, "condition") + block(9, "\1"));
  const std::string choice = block(1, "condition") + block(2, "z") + block(4, "If") +
                             block(5, block(1, "then_branch") + block(6, branch) + number(20, 5)) +
                             block(5, block(1, "else_branch") + block(6, branch) + number(20, 5));
  const std::string bytes = model_bytes(graph_bytes(condition + block(1, choice)));
  const graph::Model model = parsed(bytes);
  ASSERT_EQ(model.graph->nodes.size(), 2u);
  const auto& inside = std::get<graph::GraphBox>(model.graph->nodes[1].attributes[1].value);
  const auto& value = std::get<graph::Tensor>(inside->nodes[0].attributes[0].value);
  EXPECT_EQ(value.data.text(), std::string(6000, 'q'));
  expect_kept(bytes, tensor.substr(tensor.size() - 100));
}

TEST(Load, AttributesOfOldFilesHaveNoKind) {
  const std::string bytes = model_bytes(graph_bytes({}, block(5, block(1, "a") + number(3, 5))));
  const graph::Model model = parsed(bytes);
  const graph::Attribute& attribute = model.graph->nodes[0].attributes[0];
  EXPECT_FALSE(attribute.kind.has_value());
  EXPECT_EQ(std::get<std::int64_t>(attribute.value), 5);
  expect_kept(bytes, block(1, "a") + number(3, 5));
}

TEST(Load, ASecondValueOfAnAttributeSurvives) {
  const std::string two = block(1, "a") + number(3, 5) + number(8, 1) + number(8, 2) + number(20, 7);
  const graph::Model model = parsed(model_bytes(graph_bytes({}, block(5, two))));
  const graph::Attribute& attribute = model.graph->nodes[0].attributes[0];
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(attribute.value), (std::vector<std::int64_t>{1, 2}));
  ASSERT_EQ(attribute.others.size(), 1u);
  expect_kept(model_bytes(graph_bytes({}, block(5, two))), number(3, 5));
}

}  // namespace
}  // namespace anybit::onnx
