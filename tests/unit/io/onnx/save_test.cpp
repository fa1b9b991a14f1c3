// Saving: the layout of files, and that a failure leaves the old ones.
#include <gmock/gmock.h>

#include <filesystem>

#include "unit/base/scratch.hpp"
#include "unit/io/onnx/model_bytes.hpp"

namespace anybit::onnx {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using External = SaveOptions::External;

constexpr const char* kSecondName = "m.onnx.0000000000000001.data";

std::string weights_model(std::size_t size, char fill = 'w') {
  return model_bytes(graph_bytes(initializer(tensor_bytes(2, size, block(9, std::string(size, fill))))));
}

void save_or_fail(const graph::Model& model, const std::string& path, External external = External::keep) {
  SaveOptions options;
  options.external = external;
  const auto saved = save(model, path, options);
  EXPECT_TRUE(saved.ok()) << saved.error().text();
}

graph::Model loaded(const std::string& path) {
  auto model = load(path);
  if (model.ok()) return *std::move(model);
  ADD_FAILURE() << model.error().text();
  return {};
}

std::string entry(const graph::Tensor& tensor, std::string_view key) {
  for (const graph::Property& property : tensor.external) {
    if (property.key == key) return property.value;
  }
  return "absent";
}

TEST(Save, IsTheSameBytesAsSerialize) {
  const Scratch scratch;
  const graph::Model model = parsed(weights_model(100'000));
  save_or_fail(model, scratch.file("m.onnx"));
  EXPECT_EQ(scratch.content("m.onnx"), serialized(model));
  EXPECT_THAT(scratch.names(), ElementsAre("m.onnx"));
}

TEST(Save, OverTheFileThatTheModelCameFromWorks) {
  const Scratch scratch;
  const std::string path = scratch.put("m.onnx", weights_model(1'000'000));
  const graph::Model model = loaded(path);
  save_or_fail(model, path);
  save_or_fail(model, path);
  EXPECT_EQ(scratch.content("m.onnx"), again(weights_model(1'000'000)));
}

TEST(SaveExternal, MakesLargeInitializersExternalAndSmallOnesInternal) {
  const Scratch scratch;
  const std::string small = initializer(number(1, 3) + number(2, 2) + block(8, "small") + block(9, "abc"));
  const std::string large = initializer(tensor_bytes(2, 2000, block(9, std::string(2000, 'w'))));
  save_or_fail(parsed(model_bytes(graph_bytes(small + large))), scratch.file("m.onnx"), External::always);
  EXPECT_THAT(scratch.names(), ElementsAre("m.onnx", "m.onnx.data"));
  const graph::Model model = loaded(scratch.file("m.onnx"));
  EXPECT_EQ(model.graph->initializers.at(0).storage, graph::Storage::raw);
  EXPECT_EQ(model.graph->initializers.at(1).storage, graph::Storage::external);
  EXPECT_EQ(entry(model.graph->initializers.at(1), "location"), "m.onnx.data");
  EXPECT_EQ(model.graph->initializers.at(1).data.text(), std::string(2000, 'w'));
}

TEST(SaveExternal, LargeTensorsBeginOnAPage) {
  const Scratch scratch;
  std::string more;
  for (const std::size_t size : {2000u, 1u << 20, 1500u}) {
    more += initializer(number(1, size) + number(2, 2) + block(8, std::to_string(size)) +
                        block(9, std::string(size, 'w')));
  }
  save_or_fail(parsed(model_bytes(graph_bytes(more))), scratch.file("m.onnx"), External::always);
  const auto tensors = loaded(scratch.file("m.onnx")).graph->initializers;
  EXPECT_EQ(entry(tensors.at(0), "offset"), "0");
  EXPECT_EQ(entry(tensors.at(1), "offset"), "4096");
  EXPECT_EQ(entry(tensors.at(2), "offset"), std::to_string(4096 + (1 << 20)));
}

TEST(SaveExternal, SharedDataIsWrittenOnce) {
  const Scratch scratch;
  graph::Model model = parsed(weights_model(5000));
  model.graph->initializers.push_back(model.graph->initializers[0]);
  model.graph->initializers[1].name = "shared";
  save_or_fail(model, scratch.file("m.onnx"), External::always);
  EXPECT_EQ(scratch.content("m.onnx.data").size(), 5000u);
  EXPECT_EQ(loaded(scratch.file("m.onnx")).graph->initializers.at(1).data.size(), 5000u);
}

TEST(SaveExternal, KeepsExternalDataExternal) {
  const Scratch scratch;
  scratch.put("w.bin", "0123456789");
  const std::string entries = block(13, block(1, "location") + block(2, "w.bin")) +
                              block(13, block(1, "checksum") + block(2, "of the old file")) +
                              block(13, block(1, "colour") + block(2, "green"));
  const std::string path = scratch.put(
      "a.onnx", model_bytes(graph_bytes(initializer(tensor_bytes(2, 4, entries + number(14, 1))))));
  save_or_fail(loaded(path), scratch.file("b.onnx"));
  EXPECT_EQ(scratch.content("b.onnx.data"), "0123");
  const graph::Model again = loaded(scratch.file("b.onnx"));
  EXPECT_EQ(entry(again.graph->initializers.at(0), "colour"), "green");
  EXPECT_EQ(entry(again.graph->initializers.at(0), "checksum"), "absent");
  EXPECT_EQ(again.graph->initializers.at(0).data.text(), "0123");
  save_or_fail(loaded(path), scratch.file("c.onnx"), External::never);
  EXPECT_EQ(loaded(scratch.file("c.onnx")).graph->initializers.at(0).storage, graph::Storage::raw);
  EXPECT_THAT(scratch.names(), ElementsAre("a.onnx", "b.onnx", "b.onnx.data", "c.onnx", "w.bin"));
}

TEST(SaveExternal, ReplacesDataWithoutEverOverwritingIt) {
  const Scratch scratch;
  const std::string path = scratch.file("m.onnx");
  save_or_fail(parsed(weights_model(5000, 'a')), path, External::always);
  const graph::Model first = loaded(path);
  save_or_fail(parsed(weights_model(5000, 'b')), path, External::always);
  EXPECT_THAT(scratch.names(), ElementsAre("m.onnx", kSecondName));
  EXPECT_EQ(first.graph->initializers.at(0).data.text(), std::string(5000, 'a'));
  EXPECT_EQ(loaded(path).graph->initializers.at(0).data.text(), std::string(5000, 'b'));
  save_or_fail(loaded(path), path);
  EXPECT_THAT(scratch.names(), ElementsAre("m.onnx", "m.onnx.data"));
  EXPECT_EQ(loaded(path).graph->initializers.at(0).data.text(), std::string(5000, 'b'));
  save_or_fail(loaded(path), path, External::never);
  EXPECT_THAT(scratch.names(), ElementsAre("m.onnx"));
}

TEST(SaveExternal, DataThatAnotherModelNeedsStays) {
  const Scratch scratch;
  const std::string path = scratch.file("m.onnx");
  save_or_fail(parsed(weights_model(5000, 'a')), path, External::always);
  std::filesystem::copy_file(path, scratch.file("backup.onnx"));
  save_or_fail(parsed(weights_model(5000, 'b')), path, External::always);
  EXPECT_EQ(loaded(scratch.file("backup.onnx")).graph->initializers.at(0).data.text(),
            std::string(5000, 'a'));
  EXPECT_EQ(loaded(path).graph->initializers.at(0).data.text(), std::string(5000, 'b'));
}

TEST(SaveExternal, DataThatABackupNeedsStays) {
  const Scratch scratch;
  const std::string path = scratch.file("m.onnx");
  save_or_fail(parsed(weights_model(5000, 'a')), path, External::always);
  std::filesystem::copy_file(path, scratch.file("m.ONNX.bak"));
  save_or_fail(parsed(weights_model(5000, 'b')), path, External::never);
  EXPECT_EQ(loaded(scratch.file("m.ONNX.bak")).graph->initializers.at(0).data.text(), std::string(5000, 'a'));
}

TEST(SaveExternal, AFileThatTheOldModelDidNotUseStays) {
  const Scratch scratch;
  const std::string path = scratch.put("m.onnx", weights_model(10));
  scratch.put("m.onnx.data", "mine");
  save_or_fail(parsed(weights_model(10)), path);
  EXPECT_EQ(scratch.content("m.onnx.data"), "mine");
}

TEST(SaveExternal, ThroughALinkToAnotherFolderIsRejected) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.file("real"));
  std::filesystem::create_symlink("real/m.onnx", scratch.file("link.onnx"));
  SaveOptions options;
  options.external = External::always;
  const auto saved = save(parsed(weights_model(5000)), scratch.file("link.onnx"), options);
  ASSERT_FALSE(saved.ok());
  EXPECT_THAT(saved.error().message, HasSubstr("link to another folder"));
  EXPECT_THAT(saved.error().hint, HasSubstr("real/m.onnx"));
  EXPECT_THAT(scratch.names(), ElementsAre("link.onnx", "real"));
}

TEST(SaveExternal, FilesOfOtherNamesAreNotTouched) {
  const Scratch scratch;
  const std::string path = scratch.put("m.onnx", weights_model(10));
  for (const char* name : {"m.onnx.old.data", "m.onnx.data.bak", "other.data", "m.data"})
    scratch.put(name, "mine");
  std::filesystem::create_symlink("other.data", scratch.file("m.onnx.data"));
  save_or_fail(parsed(weights_model(5000)), path, External::always);
  EXPECT_THAT(scratch.names(), ElementsAre("m.data", "m.onnx", kSecondName, "m.onnx.data", "m.onnx.data.bak",
                                           "m.onnx.old.data", "other.data"));
  EXPECT_EQ(scratch.content("other.data"), "mine");
}

TEST(SaveExternal, ADataFileThatNoModelOwnsYetIsNotOverwritten) {
  const Scratch scratch;
  scratch.put("m.onnx.data", "mine");
  save_or_fail(parsed(weights_model(5000)), scratch.file("m.onnx"), External::always);
  EXPECT_EQ(scratch.content("m.onnx.data"), "mine");
}

TEST(Save, FromATruncatedFileFailsAndLeavesTheOldModel) {
  const Scratch scratch;
  scratch.put("out.onnx", "the old model");
  const std::string path = scratch.put("m.onnx", weights_model(1'000'000));
  const graph::Model model = loaded(path);
  std::filesystem::resize_file(path, 1000);
  for (const External external : {External::keep, External::always}) {
    SaveOptions options;
    options.external = external;
    const auto saved = save(model, scratch.file("out.onnx"), options);
    ASSERT_FALSE(saved.ok());
    EXPECT_EQ(saved.error().code, Code::data_lost);
    EXPECT_EQ(scratch.content("out.onnx"), "the old model");
    EXPECT_THAT(scratch.names(), ElementsAre("m.onnx", "out.onnx"));
  }
  EXPECT_FALSE(serialize(model).ok());
}

TEST(Save, IntoAFolderThatIsNotThereFails) {
  const auto saved = save(parsed(weights_model(10)), "no/such/folder/m.onnx");
  ASSERT_FALSE(saved.ok());
  EXPECT_THAT(saved.error().text(), HasSubstr("no/such/folder/m.onnx"));
}

// Two gigabytes without the memory: all tensors share the same bytes.
constexpr std::size_t kShared = 8 << 20;

graph::Model too_large_inside() {
  graph::Model model = parsed(weights_model(1));
  model.graph->initializers[0].dims = {kShared};
  model.graph->initializers[0].data = Bytes::own(std::string(kShared, 'w'));
  for (int i = 0; i < 256; ++i) {
    model.graph->initializers.push_back(model.graph->initializers[0]);
    model.graph->initializers.back().name = "copy" + std::to_string(i);
  }
  return model;
}

TEST(Save, BeyondTwoGigabytesDataBecomesExternal) {
  const Scratch scratch;
  const graph::Model model = too_large_inside();
  save_or_fail(model, scratch.file("m.onnx"));
  EXPECT_EQ(std::filesystem::file_size(scratch.file("m.onnx.data")), kShared);
  EXPECT_EQ(loaded(scratch.file("m.onnx")).graph->initializers.size(), 257u);
}

TEST(Save, BeyondTwoGigabytesFailsIfDataMustStayInside) {
  const Scratch scratch;
  const graph::Model model = too_large_inside();
  SaveOptions options;
  options.external = External::never;
  const auto saved = save(model, scratch.file("m.onnx"), options);
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, Code::limit_exceeded);
  EXPECT_THAT(saved.error().hint, HasSubstr("external data"));
  EXPECT_EQ(serialize(model).error().code, Code::limit_exceeded);
  EXPECT_TRUE(scratch.names().empty());
}

}  // namespace
}  // namespace anybit::onnx
