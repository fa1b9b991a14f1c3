#include "anybit/modules.hpp"

#include <gtest/gtest.h>

#include "api/model_access.hpp"
#include "graph/modules.hpp"
#include "graph/node.hpp"

namespace anybit {
namespace {

const std::map<std::string, std::string> kClasses = {{"", "m.Net"},
                                                     {"blocks", "m.Blocks"},
                                                     {"blocks.sub", "m.Sub"},
                                                     {"blocks.sub.conv", "Conv2d"},
                                                     {"row", "Sequential"},
                                                     {"row.0", "m.Sub"},
                                                     {"row.0.conv", "Conv2d"},
                                                     {"named", "ModuleDict"},
                                                     {"named.left", "m.Sub"},
                                                     {"named.left.conv", "Conv2d"}};

// The innermost module of a node of this name, with its class, and the number of modules around it.
std::string innermost(const std::string& name, const std::string& weight = {}) {
  graph::Model model;
  model.ir_version = 8;
  model.graph.emplace();
  graph::Node node = graph::make_node("Conv", {"x", weight}, {"y"});
  node.name = graph::Text(name);
  model.graph->nodes.push_back(node);
  const auto noted = with_modules(ModelAccess::made(model, {}), kClasses);
  EXPECT_TRUE(noted.ok());
  const auto modules = graph::modules_of(ModelAccess::content(*noted).model.graph->nodes[0]);
  return modules.empty()
             ? "none"
             : fmt::format("{} {} {}", modules.back().path, modules.back().class_name, modules.size());
}

TEST(WithModules, FollowsTheNamesOfNodes) {
  EXPECT_EQ(innermost("/blocks/sub/conv/Conv"), "blocks.sub.conv Conv2d 4");
  EXPECT_EQ(innermost("/blocks/sub/Relu"), "blocks.sub m.Sub 3");
  EXPECT_EQ(innermost("/row/row.0/conv/Conv"), "row.0.conv Conv2d 4");
  EXPECT_EQ(innermost("/Relu"), " m.Net 1");
}

TEST(WithModules, AModuleThatIsCalledAgainIsTheSame) {
  EXPECT_EQ(innermost("/blocks/sub_1/conv_12/Conv"), "blocks.sub.conv Conv2d 4");
}

TEST(WithModules, AModuleDictIsNotInTheNames) {
  EXPECT_EQ(innermost("/left/conv/Conv"), "named.left.conv Conv2d 4");
}

TEST(WithModules, WeightsNameTheirModule) {
  EXPECT_EQ(innermost("Conv_3", "blocks.sub.conv.weight"), "blocks.sub.conv Conv2d 4");
  EXPECT_EQ(innermost("/Conv", "onnx::Conv_12"), " m.Net 1");
}

}  // namespace
}  // namespace anybit
