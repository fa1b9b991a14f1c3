// Accepted and rejected bytes of check_wire(), with the places in its errors.
#include "io/onnx/wire_check.hpp"

#include <gmock/gmock.h>

#include "unit/io/onnx/wire_text.hpp"

namespace anybit::onnx {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using namespace std::string_literals;

Result<void> check(const std::string& bytes, const Limits& limits = {}) {
  return check_wire(std::as_bytes(std::span(bytes)), limits);
}

void expect_error(const std::string& bytes, Code code, const std::string& place, const std::string& message,
                  const Limits& limits = {}) {
  const auto result = check(bytes, limits);
  ASSERT_FALSE(result.ok()) << "should be rejected: " << message;
  EXPECT_EQ(result.error().code, code) << result.error().text();
  EXPECT_EQ(result.error().place, place);
  EXPECT_THAT(result.error().message, HasSubstr(message));
}

std::string graph(const std::string& content) { return block(7, content); }
std::string node(const std::string& content) { return block(1, content); }

std::string nested_graphs(int count) {
  std::string inner;
  for (int i = 1; i < count; ++i) inner = node(block(5, block(6, inner)));
  return graph(inner);
}

std::string nested_types(int count) {
  std::string inner;
  for (int i = 1; i < count; ++i) inner = block(4, block(1, inner));
  return graph(block(11, block(2, inner)));
}

TEST(WireCheck, ASmallModelPasses) {
  EXPECT_TRUE(check(number(1, 8) + graph(node(block(4, "Add"))) + block(8, number(2, 17))).ok());
}

TEST(WireCheck, AnEmptyFileIsRejected) { expect_error("", Code::malformed, "byte 0", "empty"); }

TEST(WireCheck, ATruncatedNumberIsRejected) {
  expect_error(number(1, 8) + "\x28\x80"s, Code::malformed, "byte 2 (model_version)", "cut off");
  expect_error("\x80"s, Code::malformed, "byte 0", "cut off");
  expect_error(number(1, 8) + tag(9, 5) + "abc", Code::malformed, "byte 2 (unknown field 9)", "cut off");
  expect_error(number(1, 8) + tag(9, 1) + "abcdefg", Code::malformed, "byte 2 (unknown field 9)", "cut off");
}

TEST(WireCheck, ANumberOfElevenBytesIsRejected) {
  expect_error(tag(1, 0) + std::string(10, '\xff') + "\x01", Code::malformed, "byte 0 (ir_version)",
               "more than 10 bytes");
}

TEST(WireCheck, ALengthBeyondTheEnclosingMessageIsRejected) {
  expect_error(graph(node(tag(4, 2) + varint(9) + "Add")) + std::string(20, '\0'), Code::malformed,
               "byte 4 (graph > node 0 > op_type)", "9 bytes, but its message ends after 3");
}

TEST(WireCheck, ThePathCountsRecordsOfTheSameKind) {
  const std::string good = block(5, block(1, "k"));
  const std::string bad = block(5, tag(1, 2) + varint(1'000'000));
  const auto result = check(graph(block(2, "main") + node("") + node("") + node(block(3, "x") + good + bad)));
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().place, HasSubstr("(graph > node 2 > attribute 1 > name)"));
}

TEST(WireCheck, FieldNumberZeroIsRejected) {
  expect_error(number(1, 8) + "\x02\x01x"s, Code::malformed, "byte 2", "field number 0");
}

TEST(WireCheck, FieldNumbersOutOfRangeAreRejected) {
  expect_error("\xff\xff\xff\xff\x7f"s, Code::malformed, "byte 0 (unknown field 4294967295)", "beyond 2^29");
}

TEST(WireCheck, UnknownWireTypesAreRejected) {
  expect_error(tag(40, 6), Code::malformed, "byte 0 (unknown field 40)", "wire type 6");
  expect_error(tag(40, 7), Code::malformed, "byte 0 (unknown field 40)", "wire type 7");
}

TEST(WireCheck, UnknownFieldsAndUnexpectedWireTypesPassAsInProtobuf) {
  EXPECT_TRUE(check(block(99, "anything") + number(7, 3) + block(1, "no number")).ok());
  EXPECT_TRUE(check(tag(50, 3) + block(7, "\xff\xff") + tag(51, 3) + tag(51, 4) + tag(50, 4)).ok());
}

TEST(WireCheck, GroupsMustMatch) {
  expect_error(tag(50, 3) + tag(51, 4), Code::malformed, "byte 0 (unknown field 50)",
               "group 51 ends where group 50");
  expect_error(tag(50, 4), Code::malformed, "byte 0 (unknown field 50)", "never started");
  expect_error(tag(50, 3), Code::malformed, "byte 0 (unknown field 50)", "group is cut off");
}

TEST(WireCheck, NestedGroupsAreLimited) {
  std::string bomb;
  for (int i = 0; i < 100'000; ++i) bomb += tag(50, 3);
  expect_error(bomb, Code::limit_exceeded, "byte 0 (unknown field 50)", "64 levels of nested groups");
}

TEST(WireCheck, NestedGraphsAreLimited) {
  EXPECT_TRUE(check(nested_graphs(64)).ok());
  const auto result = check(nested_graphs(65));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::limit_exceeded);
  EXPECT_THAT(result.error().place, HasSubstr("graph > node 0 > attribute 0 > g > node 0"));
}

TEST(WireCheck, NestedTypesAreLimited) {
  EXPECT_TRUE(check(nested_types(64)).ok());
  ASSERT_FALSE(check(nested_types(65)).ok());
  EXPECT_EQ(check(nested_types(65)).error().code, Code::limit_exceeded);
}

TEST(WireCheck, SiblingGraphsAreNotNested) {
  std::string branches;
  for (int i = 0; i < 200; ++i) branches += node(block(5, block(6, "")));
  EXPECT_TRUE(check(graph(branches)).ok());
}

TEST(WireCheck, NodesAreLimited) {
  Limits limits;
  limits.nodes = 2;
  EXPECT_TRUE(check(graph(node("") + node("")), limits).ok());
  expect_error(graph(node("") + node("") + node("")), Code::limit_exceeded, "byte 6 (graph > node 2)",
               "2 nodes", limits);
  expect_error(graph(node("") + node("")) + block(25, block(7, "")), Code::limit_exceeded,
               "byte 9 (functions 0 > node 0)", "2 nodes", limits);
}

TEST(WireCheck, RecordsAreLimited) {
  Limits limits;
  limits.records = 4;  // the model, the graph and two strings or messages
  EXPECT_TRUE(check(graph(block(2, "a") + block(10, "b")), limits).ok());
  expect_error(graph(block(2, "") + block(10, "") + block(16, "")), Code::limit_exceeded,
               "byte 6 (graph > metadata_props 0)", "4 messages and strings", limits);
  expect_error(graph(block(2, "") + block(10, "") + block(2, "")), Code::limit_exceeded,
               "byte 6 (graph > name)", "4 messages and strings", limits);
}

TEST(WireCheck, PackedNumbersMustBeComplete) {
  const auto tensor = [](const std::string& content) { return graph(block(5, content)); };
  const std::string place = "byte 4 (graph > initializer 0 > ";
  EXPECT_TRUE(check(tensor(block(1, varint(300)) + block(4, "abcdefgh") + block(10, "abcdefgh"))).ok());
  expect_error(tensor(block(1, "\x80")), Code::malformed, place + "dims)", "cut off");
  expect_error(tensor(block(7, std::string(10, '\x80') + '\1')), Code::malformed, place + "int64_data)",
               "10 bytes");
  expect_error(tensor(block(4, "abcde")), Code::malformed, place + "float_data)", "do not fill");
  expect_error(tensor(block(10, "abcd")), Code::malformed, place + "double_data)", "do not fill");
}

TEST(WireCheck, TensorsInSegmentsAreUnsupported) {
  expect_error(graph(block(5, block(3, ""))), Code::unsupported,
               "byte 4 (graph > initializer 0 > unknown field 3)", "segments");
}

TEST(WireCheck, TheRecursionLimitFollowsTheDepth) {
  EXPECT_GE(protobuf_recursion_limit({}), 64 * 6);
  Limits limits;
  limits.depth = std::int64_t{1} << 62;
  EXPECT_GT(protobuf_recursion_limit(limits), 1'000'000'000);
}

}  // namespace
}  // namespace anybit::onnx
