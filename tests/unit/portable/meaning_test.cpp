// anybit recognises its functions if they are unmodified, and only then.
#include <functional>

#include "formats/table.hpp"
#include "portable/portable.hpp"

namespace anybit::portable {
namespace {

using graph::Function;
using graph::Text;

formats::Use use_of(std::string_view text) { return formats::read_use(text).value(); }

Function quantizer() { return quantize_dequantize(use_of("mxfp8_e4m3 axis=0 block_size=16")).value(); }
Function decoder() { return decode(use_of("int5 symmetric=false granularity=channel")).value(); }

TEST(RecognisedFunction, TheFunctionsOfEveryFormatAreRecognised) {
  for (const formats::Descriptor* format : formats::table()) {
    const formats::Use use = use_of(format->name);
    const auto quantize = quantize_dequantize(use);
    if (quantize.ok()) {
      const auto meaning = recognise_function(*quantize);
      ASSERT_TRUE(meaning) << format->name;
      EXPECT_EQ(meaning->op, "QuantizeDequantize");
      EXPECT_EQ(meaning->use, use);
    }
    const auto meaning = recognise_function(decode(use).value());
    ASSERT_TRUE(meaning) << format->name;
    EXPECT_EQ(meaning->op, "Decode");
    EXPECT_EQ(meaning->use, use);
  }
}

TEST(RecognisedFunction, AFunctionRaisedToANewerOpsetIsRecognised) {
  Function function = quantizer();
  *function.opsets[0].version += 3;
  EXPECT_TRUE(recognise_function(function));
}

graph::Node* find_node(Function& function, std::string_view op) {
  for (graph::Node& node : function.nodes) {
    if (node.op_type == op) return &node;
  }
  return nullptr;
}

TEST(RecognisedFunction, AModifiedFunctionIsNotRecognised) {
  struct Change {
    const char* what;
    std::function<void(Function&)> make;
  };
  const Change changes[] = {
      {"name", [](Function& f) { f.name = Text("QuantizeDequantize_other"); }},
      {"domain", [](Function& f) { f.domain = Text("ai.other"); }},
      {"overload", [](Function& f) { f.overload = Text("another"); }},
      {"doc of another use", [](Function& f) { f.doc = Text("int4 granularity=channel"); }},
      {"doc of no use", [](Function& f) { f.doc = Text("no format"); }},
      {"no doc", [](Function& f) { f.doc = Text(); }},
      {"input", [](Function& f) { f.inputs[0] = "renamed"; }},
      {"one more input", [](Function& f) { f.inputs.push_back("more"); }},
      {"output", [](Function& f) { f.outputs[0] = f.nodes.front().outputs[0]; }},
      {"attribute", [](Function& f) { f.attributes.push_back("more"); }},
      {"default attribute", [](Function& f) { f.default_attributes.emplace_back(); }},
      {"older opset", [](Function& f) { *f.opsets[0].version -= 1; }},
      {"another domain's opset", [](Function& f) { f.opsets.emplace_back().domain = Text("ai.other"); }},
      {"operator", [](Function& f) { find_node(f, "Mul")->op_type = Text("Add"); }},
      {"operator's domain", [](Function& f) { find_node(f, "Mul")->domain = Text("ai.other"); }},
      {"operator's overload", [](Function& f) { find_node(f, "Mul")->overload = Text("another"); }},
      {"a node's input", [](Function& f) { find_node(f, "Mul")->inputs[1] = f.inputs[0]; }},
      {"a node's output", [](Function& f) { find_node(f, "Mul")->outputs[0] = "renamed"; }},
      {"a node less", [](Function& f) { f.nodes.pop_back(); }},
      {"a node more", [](Function& f) { f.nodes.push_back(f.nodes.back()); }},
      {"order of nodes", [](Function& f) { std::swap(f.nodes[0], f.nodes[1]); }},
      {"an attribute's value",
       [](Function& f) { find_node(f, "Cast")->attributes[0].value = std::int64_t{10}; }},
      {"an attribute's name",
       [](Function& f) { find_node(f, "Cast")->attributes[0].name = Text("saturate"); }},
      {"an attribute's kind", [](Function& f) { find_node(f, "Cast")->attributes[0].value = 1.0f; }},
      {"an attribute less", [](Function& f) { find_node(f, "Cast")->attributes.clear(); }},
      {"an attribute twice",
       [](Function& f) { find_node(f, "Cast")->attributes[0].others.emplace_back(std::int64_t{1}); }},
  };
  for (const auto& make : {quantizer, decoder}) {
    ASSERT_TRUE(recognise_function(make()));
    for (const Change& change : changes) {
      Function function = make();
      change.make(function);
      EXPECT_FALSE(recognise_function(function)) << change.what;
    }
  }
}

TEST(RecognisedFunction, AModifiedConstantIsNotRecognised) {
  const auto changed = [](const std::function<void(graph::Tensor&)>& change) {
    int tensors = 0;
    const Function original = quantizer();
    for (std::size_t i = 0; i < original.nodes.size(); ++i) {
      Function function = original;
      if (function.nodes[i].op_type != "Constant") continue;
      change(std::get<graph::Tensor>(function.nodes[i].attributes[0].value));
      EXPECT_FALSE(recognise_function(function)) << "node " << i;
      ++tensors;
    }
    EXPECT_GT(tensors, 5);
  };
  changed([](graph::Tensor& tensor) {
    std::string bytes(tensor.data.text());
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    tensor.data = Bytes::own(bytes);
  });
  changed([](graph::Tensor& tensor) { tensor.element = 1; });
  changed([](graph::Tensor& tensor) { tensor.dims.push_back(1); });
}

TEST(RecognisedFunction, AReferenceToAnotherAttributeIsNotRecognised) {
  Function function = decoder();
  for (graph::Node& node : function.nodes) {
    for (graph::Attribute& one : node.attributes) {
      if (one.reference == "coded") one.reference = Text("dims");
    }
  }
  EXPECT_FALSE(recognise_function(function));
}

TEST(Functions, DifferentUsesHaveDifferentNames) {
  const auto name = [](std::string_view text) {
    return quantize_dequantize(use_of(text)).value().name.str();
  };
  EXPECT_EQ(name("mxfp4_e2m1 axis=1 block_size=32"), "QuantizeDequantize_mxfp4_e2m1_axis_1_block_size_32");
  EXPECT_NE(name("mxfp4_e2m1 axis=1"), name("mxfp4_e2m1 axis=-1"));
  EXPECT_NE(name("binary_residual gammas=1.5,2"), name("binary_residual gammas=1,5.2"));
}

TEST(Functions, UsesThatONNXCannotExpressAreRejectedWithAnAlternative) {
  const auto hint = [](std::string_view text) {
    const auto function = quantize_dequantize(use_of(text));
    return function.ok() ? std::string("no error") : function.error().text();
  };
  EXPECT_THAT(hint("int8 rounding=stochastic"), testing::HasSubstr("half_even"));
  EXPECT_THAT(hint("fixed frac=auto"), testing::HasSubstr("frac=half"));
  EXPECT_THAT(hint("binary_residual"), testing::HasSubstr("gammas=0.5,0.25"));
  EXPECT_THAT(hint("ternary basis=median"), testing::HasSubstr("basis=mean"));
  EXPECT_THAT(hint("int8 granularity=channel axis=3 rank=2"), testing::HasSubstr("axis 3"));
  EXPECT_THAT(hint("fp8_e4m3 granularity=element block_size=16"), testing::HasSubstr("granularity block"));
  formats::Use empty = use_of("mxint8");
  empty.grouping.block_size = 0;  // text with block_size=0 is rejected earlier
  EXPECT_FALSE(decode(empty).ok());
  EXPECT_FALSE(formats::read_use("mxint8 block_size=0").ok());
  formats::Use box = use_of("mxint8");
  box.grouping.block = {2, 16};
  EXPECT_FALSE(decode(box).ok());
}

// The opset of the functions decides to which opset a model is raised.
TEST(Functions, NeedNoNewerOpsetThanTheirOperators) {
  const auto opset = [](const Function& function) { return *function.opsets[0].version; };
  EXPECT_EQ(opset(quantize_dequantize(use_of("fp8_e4m3")).value()), 13);
  EXPECT_EQ(opset(quantize_dequantize(use_of("log")).value()), 13);
  EXPECT_EQ(opset(quantize_dequantize(use_of("fixed")).value()), 13);
  EXPECT_EQ(opset(quantize_dequantize(use_of("binary")).value()), 13);
  EXPECT_EQ(opset(quantize_dequantize(use_of("ternary")).value()), 18);
  EXPECT_EQ(opset(quantize_dequantize(use_of("mxfp4_e2m1")).value()), 18);
  EXPECT_EQ(opset(decode(use_of("mxfp4_e2m1")).value()), 18);
}

}  // namespace
}  // namespace anybit::portable
