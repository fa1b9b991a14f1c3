// Tensor data in files beside the model: read if it is valid, otherwise an error with the tensor's name.
#include <gmock/gmock.h>

#include <filesystem>

#include "unit/base/scratch.hpp"
#include "unit/io/onnx/model_bytes.hpp"

namespace anybit::onnx {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::string entry(const std::string& key, const std::string& value) {
  return block(13, block(1, key) + block(2, value));
}

constexpr std::uint64_t kUint8 = 2;

// `count` values of uint8 with the given external_data entries.
std::string model_with(std::uint64_t count, const std::string& entries) {
  return model_bytes(graph_bytes(initializer(tensor_bytes(kUint8, count, entries + number(14, 1)))));
}

std::string data_of(const graph::Model& model) {
  return model.graph ? std::string(model.graph->initializers.at(0).data.text()) : "";
}

TEST(ExternalData, IsFoundByOffsetAndLength) {
  const Scratch scratch;
  scratch.put("weights.bin", "0123456789");
  const std::string entries = entry("location", "weights.bin") + entry("offset", "2") + entry("length", "3");
  EXPECT_EQ(data_of(parsed(model_with(3, entries), scratch.path())), "234");
}

TEST(ExternalData, WithoutOffsetAndLengthFollowsFromTheShape) {
  const Scratch scratch;
  scratch.put("weights.bin", "0123456789");
  EXPECT_EQ(data_of(parsed(model_with(4, entry("location", "weights.bin")), scratch.path())), "0123");
}

TEST(ExternalData, HasPrecedenceOverDataInTheModel) {
  const Scratch scratch;
  scratch.put("weights.bin", "0123456789");
  const std::string both = entry("location", "weights.bin") + block(9, "zz");
  const std::string inside = serialized(parsed(model_with(4, both), scratch.path()));
  EXPECT_EQ(data_of(parsed(inside)), "0123");
}

TEST(ExternalData, MayLieInASubfolder) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.file("below"));
  scratch.put("below/w", "abc");
  EXPECT_EQ(data_of(parsed(model_with(3, entry("location", "below/w")), scratch.path())), "abc");
}

TEST(ExternalData, OfManyTensorsOpensEachFileOnce) {
  const Scratch scratch;
  scratch.put("w", std::string(200'000, 'w'));
  std::string more;
  for (int i = 0; i < 50; ++i) {
    more += initializer(number(1, 4) + number(2, kUint8) + block(8, "w" + std::to_string(i)) +
                        entry("location", "w") + number(14, 1));
  }
  const graph::Model model = parsed(model_bytes(graph_bytes(more)), scratch.path());
  EXPECT_EQ(model.sources.size(), 1u);
}

TEST(ExternalData, InAttributesIsReadToo) {
  const Scratch scratch;
  scratch.put("w", "xyz");
  const std::string tensor = tensor_bytes(kUint8, 3, entry("location", "w") + number(14, 1));
  const std::string attribute = block(5, block(1, "value") + block(5, tensor) + number(20, 4));
  const graph::Model model = parsed(model_bytes(graph_bytes({}, attribute)), scratch.path());
  EXPECT_EQ(std::get<graph::Tensor>(model.graph->nodes.at(0).attributes.at(0).value).data.text(), "xyz");
}

struct Bad {
  const char* what;
  std::string entries;
  const char* message;
};

TEST(ExternalData, ThatIsInvalidIsRejectedWithTheTensorsName) {
  const Scratch scratch;
  scratch.put("w", "0123456789");
  scratch.put("twice", "0123456789");
  std::filesystem::create_hard_link(scratch.file("twice"), scratch.file("hard"));
  std::filesystem::create_symlink("w", scratch.file("link"));
  std::filesystem::create_directory(scratch.file("inner"));
  const std::string inner = scratch.file("inner");
  const Bad all[] = {
      {"no location", entry("offset", "0"), "location"},
      {"missing file", entry("location", "nowhere"), "nowhere"},
      {"parent", entry("location", "../w"), "../w"},
      {"absolute", entry("location", scratch.file("w")), "w"},
      {"symbolic link", entry("location", "link"), "link"},
      {"hard link", entry("location", "hard"), "hard"},
      {"folder", entry("location", "inner"), "inner"},
      {"empty name", entry("location", ""), "tensor 'w'"},
      {"zero byte", entry("location", "w\0x"s), "tensor 'w'"},
      {"beyond the end", entry("location", "w") + entry("offset", "8") + entry("length", "3"),
       "beyond the 10 bytes"},
      {"offset beyond the end", entry("location", "w") + entry("offset", "11") + entry("length", "0"),
       "beyond"},
      {"wraps around",
       entry("location", "w") + entry("offset", "18446744073709551615") + entry("length", "3"), "beyond"},
      {"too long by shape", entry("location", "w") + entry("offset", "9"), "beyond"},
      {"negative", entry("location", "w") + entry("offset", "-1"), "offset '-1'"},
      {"no number", entry("location", "w") + entry("length", "3x"), "length '3x'"},
      {"too large a number", entry("location", "w") + entry("length", "99999999999999999999"), "length"},
  };
  for (const Bad& bad : all) {
    SCOPED_TRACE(bad.what);
    const Error error = refusal(model_with(3, bad.entries), scratch.path());
    EXPECT_THAT(error.text(), HasSubstr("tensor 'w'"));
    EXPECT_THAT(error.text(), HasSubstr(bad.message));
  }
}

TEST(ExternalData, ThroughLinksIsReadIfTheUserAllowsIt) {
  const Scratch scratch;
  scratch.put("w", "0123456789");
  std::filesystem::create_symlink("w", scratch.file("link"));
  LoadOptions options;
  options.allow_linked_data = true;
  const auto model = parse(Bytes::own(model_with(3, entry("location", "link"))), scratch.path(), options);
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(data_of(*model), "012");
}

TEST(ExternalData, OfAModelInMemoryNeedsAFolder) {
  const Error error = refusal(model_with(3, entry("location", "w")));
  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_THAT(error.text(), HasSubstr("tensor 'w'"));
  EXPECT_THAT(error.hint, HasSubstr("folder"));
}

TEST(ExternalData, CannotHoldStrings) {
  const Scratch scratch;
  scratch.put("w", "0123456789");
  const std::string tensor = tensor_bytes(8, 1, entry("location", "w") + number(14, 1));
  EXPECT_THAT(refusal(model_bytes(graph_bytes(initializer(tensor))), scratch.path()).text(),
              HasSubstr("tensor 'w'"));
}

}  // namespace
}  // namespace anybit::onnx
