#include "io/model_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "io/table.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::io {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

TEST(ModelFile, UnknownFilesAreRejectedWithTheListOfKnownFormats) {
  const std::pair<std::string, std::string> files[] = {
      {"{\"graph\": {}}", "JSON"},   {"ir_version: 8\nproducer_name: \"x\"\n", "text"},
      {"<!DOCTYPE html>", "HTML"},   {"PK\x03\x04\x00\x00"s, "zip"},
      {"\x80\x02}q\x00"s, "pickle"}, {"\x1c\0\0\0ORTM\x14\0\x20\0"s, "ONNX Runtime"},
      {"GGUF\x03\0\0\0"s, "GGUF"},   {"version https://git-lfs.github.com/spec/v1\noid", "Git LFS"},
      {"2 lines\nof text", "text"},  {"\xff\xff\xff"s, "not in a known model format"},
  };
  for (const auto& [bytes, name] : files) {
    const auto result = parse(Bytes::own(bytes));
    ASSERT_FALSE(result.ok()) << name;
    EXPECT_EQ(result.error().code, Code::malformed);
    EXPECT_THAT(result.error().message, HasSubstr(name));
    EXPECT_THAT(result.error().hint, HasSubstr("ONNX (.onnx)"));
  }
}

TEST(ModelFile, AnEmptyFileIsReportedAsSuch) {
  EXPECT_THAT(parse(Bytes::own(std::string())).error().message, HasSubstr("empty"));
}

TEST(ModelFile, TheExtensionChoosesTheFormat) {
  graph::Graph graph;
  graph.name = graph::Text("g");
  graph.inputs = {ops::testing::value("x", {"3"})};
  graph.outputs = {ops::testing::value("y", {"3"})};
  graph.nodes = {ops::testing::node("Relu", {"x"}, {"y"})};
  const graph::Model model = ops::testing::model(graph);
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "anybit_model_file_test";
  std::filesystem::create_directories(folder);
  for (const char* name : {"m.onnx", "m.ONNX", "m"}) {
    EXPECT_TRUE(save(model, (folder / name).string()).ok()) << name;
    EXPECT_TRUE(load((folder / name).string()).ok()) << name;
  }
  for (const char* name : {"m.tflite", "m.gguf", "m.pt"}) {
    const auto saved = save(model, (folder / name).string());
    ASSERT_FALSE(saved.ok()) << name;
    EXPECT_THAT(saved.error().hint, HasSubstr("ONNX (.onnx)"));
    EXPECT_FALSE(std::filesystem::exists(folder / name));
  }
  std::filesystem::remove_all(folder);
}

TEST(ModelFile, AMissingFileIsNamed) {
  const auto model = load("no/such/model.onnx");
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::not_found);
  EXPECT_THAT(model.error().text(), HasSubstr("no/such/model.onnx"));
}

TEST(ModelFile, EveryFormatHasANameAnExtensionAndAReader) {
  for (const Descriptor* one : table()) {
    EXPECT_FALSE(one->name.empty());
    EXPECT_TRUE(one->extension.starts_with(".")) << one->name;
    EXPECT_TRUE(one->probe && one->read) << one->name;
  }
}

}  // namespace
}  // namespace anybit::io
