// The schema of check_wire() equals src/io/onnx/onnx.proto, field by field.
#include "io/onnx/wire_schema.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace anybit::onnx {
namespace {

const std::map<std::string, Message> kNames = {
    {"Model", Message::model},
    {"Graph", Message::graph},
    {"Node", Message::node},
    {"Attribute", Message::attribute},
    {"ValueInfo", Message::value_info},
    {"Tensor", Message::tensor},
    {"SparseTensor", Message::sparse_tensor},
    {"Type", Message::type},
    {"TensorType", Message::tensor_type},
    {"SparseTensorType", Message::tensor_type},
    {"Sequence", Message::sequence_type},
    {"Map", Message::map_type},
    {"Optional", Message::optional_type},
    {"Opaque", Message::opaque_type},
    {"TensorShape", Message::shape},
    {"Dimension", Message::dimension},
    {"OperatorSetId", Message::opset},
    {"StringStringEntry", Message::property},
    {"TensorAnnotation", Message::annotation},
    {"TrainingInfo", Message::training},
    {"Function", Message::function},
};

Payload payload_of(const std::string& type, bool repeated) {
  if (type == "string" || type == "bytes") return Payload::text;
  if (kNames.contains(type)) return Payload::message;
  if (!repeated) return Payload::number;
  if (type == "float") return Payload::packed_fixed32;
  if (type == "double") return Payload::packed_fixed64;
  return Payload::packed_varints;
}

TEST(WireSchema, EveryFieldOfTheProtoFileIsKnownAndNoOther) {
  std::ifstream file(ANYBIT_SOURCE "/src/io/onnx/onnx.proto");
  ASSERT_TRUE(file) << "onnx.proto is not where this test expects it";
  const std::regex opening(R"(\s*message (\w+) \{)");
  const std::regex declaration(R"(\s*(?:(optional|repeated) )?(\w+) (\w+) = (\d+)\b.*)");
  std::vector<std::string> open;
  std::map<Message, std::set<std::uint32_t>> seen;
  int fields = 0;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_match(line, match, opening)) {
      open.push_back(match[1]);
    } else if (line.find("oneof") != line.npos) {
      open.push_back(open.back());
    } else if (line.find('}') != line.npos && !open.empty()) {
      open.pop_back();
    } else if (!open.empty() && std::regex_match(line, match, declaration)) {
      ASSERT_TRUE(kNames.contains(open.back())) << open.back();
      const Message message = kNames.at(open.back());
      const bool repeated = match[1] == "repeated";
      const auto number = static_cast<std::uint32_t>(std::stoul(match[4]));
      const Field& field = field_of(message, number);
      EXPECT_EQ(field.name, match[3].str()) << open.back();
      EXPECT_EQ(field.payload, payload_of(match[2], repeated)) << open.back() << "." << field.name;
      if (field.payload == Payload::message) {
        EXPECT_EQ(field.child, kNames.at(match[2])) << open.back() << "." << field.name;
      }
      if (field.payload == Payload::message || field.payload == Payload::text) {
        EXPECT_EQ(field.repeated, repeated) << open.back() << "." << field.name;
      }
      seen[message].insert(number);
      ++fields;
    }
  }
  EXPECT_GT(fields, 100);
  for (const auto& [message, numbers] : seen) {
    for (std::uint32_t number = 0; number < 64; ++number) {
      const bool known = field_of(message, number).payload != Payload::unknown;
      EXPECT_EQ(known, numbers.contains(number)) << static_cast<int>(message) << " field " << number;
    }
  }
}

}  // namespace
}  // namespace anybit::onnx
