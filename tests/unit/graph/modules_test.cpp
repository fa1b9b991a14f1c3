#include "graph/modules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace anybit::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Node node_with(const std::string& scopes, const std::string& classes = {}) {
  Node node;
  const auto add = [&](const char* key, const std::string& value) {
    Property property;
    property.key = Text(key);
    property.value = Text(value);
    node.metadata.push_back(property);
  };
  if (!scopes.empty()) add("pkg.torch.onnx.name_scopes", scopes);
  if (!classes.empty()) add("pkg.torch.onnx.class_hierarchy", classes);
  return node;
}

std::vector<std::string> paths(const Node& node) {
  std::vector<std::string> all;
  for (const Module& one : modules_of(node)) all.push_back(one.path);
  return all;
}

std::vector<std::string> classes(const Node& node) {
  std::vector<std::string> all;
  for (const Module& one : modules_of(node)) all.push_back(one.class_name);
  return all;
}

TEST(Modules, AreReadAsTorchWritesThem) {
  const Node node = node_with("['', 'blocks', 'blocks.sub', 'conv2d_1']",
                              "['models.Net', 'models.Blocks', 'models.Sub', 'aten.conv2d.default']");
  EXPECT_THAT(paths(node), ElementsAre("", "blocks", "blocks.sub"));
  EXPECT_THAT(classes(node), ElementsAre("models.Net", "models.Blocks", "models.Sub"));
}

TEST(Modules, QuotesAndBackslashesInsideNamesAreRead) {
  EXPECT_THAT(paths(node_with(R"(["it's", 'a\\b', 'c\'d', 'op'])")), ElementsAre("it's", R"(a\b)", "c'd"));
}

TEST(Modules, ClassesOfAnotherNumberThanPathsAreLeftOut) {
  EXPECT_THAT(classes(node_with("['', 'a', 'op']", "['Net']")), ElementsAre("", ""));
}

TEST(Modules, MetadataThatIsNoListGivesNone) {
  for (const char* text : {"", "[", "]", "[]", "['a'", "['a, 'b']", "[a]", "['a', 1]", "[']", "['a\\']",
                           "['only the operator']"})
    EXPECT_THAT(paths(node_with(text)), IsEmpty()) << text;
}

TEST(Modules, AreReadAsTheyWereWritten) {
  Node node = node_with("['old']");
  const std::vector<Module> modules = {{"", "m.Net"}, {"it's", "m.A\\B"}};
  set_modules(node, modules);
  EXPECT_THAT(paths(node), ElementsAre("", "it's"));
  EXPECT_THAT(classes(node), ElementsAre("m.Net", "m.A\\B"));
  EXPECT_EQ(node.metadata.size(), 2U);
}

TEST(Modules, ANodeTakesThoseOfAnotherIfItHasNone) {
  const Node call = node_with("['', 'a', 'op']", "['Net', 'A', 'op']");
  Node bare, own = node_with("['', 'b', 'op']");
  take_modules(bare, call);
  take_modules(own, call);
  EXPECT_THAT(paths(bare), ElementsAre("", "a"));
  EXPECT_THAT(paths(own), ElementsAre("", "b"));
  EXPECT_EQ(module_bytes(call), module_bytes(bare));
}

TEST(Modules, APathDoesNotRepeatTheParentsOfASequential) {
  EXPECT_EQ(module_path("/seq/seq.0/seq.0.0/Gemm"), "seq/0/0/Gemm");
  EXPECT_EQ(module_path("/lst.0/lst.0.1/lin/Gemm"), "lst/0/1/lin/Gemm");
  EXPECT_EQ(module_path("/0/0.1/Relu"), "0/1/Relu");
  EXPECT_EQ(module_path("/a/ab/a.b/Relu"), "a/ab/a/b/Relu");
  EXPECT_EQ(module_path("blocks.0"), "blocks/0");
  EXPECT_EQ(module_path("a//b/"), "a//b/");
  EXPECT_EQ(module_path(""), "");
}

}  // namespace
}  // namespace anybit::graph
