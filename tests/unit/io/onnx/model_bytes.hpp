// Small serialized models for tests: y = Identity(x), and parts that a test adds.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/mapped_file.hpp"
#include "base/path.hpp"
#include "base/try.hpp"
#include "io/onnx/load.hpp"
#include "io/onnx/save.hpp"
#include "unit/io/onnx/wire_text.hpp"

namespace anybit::onnx::testing {

using namespace std::string_literals;

// Fields are named by their numbers in onnx.proto.
inline std::string float_value_info(const std::string& name) {
  return block(1, name) + block(2, block(1, number(1, 1) + block(2, "")));
}
inline std::string identity(const std::string& more = {}) {
  return block(1, "x") + block(2, "y") + block(4, "Identity") + more;
}
inline std::string graph_bytes(const std::string& more = {}, const std::string& more_of_node = {}) {
  return block(1, identity(more_of_node)) + block(2, "g") + block(11, float_value_info("x")) +
         block(12, float_value_info("y")) + more;
}
inline std::string model_bytes(const std::string& graph, const std::string& more = {}) {
  return number(1, 8) + block(7, graph) + block(8, block(1, "") + number(2, 17)) + more;
}

// A file with its external data, mapped.
inline Result<graph::Model> load(const std::string& path) {
  const auto file = TRY(MappedFile::open(path));
  graph::Model model = TRY(parse(file->bytes(), folder_of(path)));
  model.sources.push_back(file);
  model.file = file;
  return model;
}

// The parsed model; fails the test otherwise.
inline graph::Model parsed(const std::string& bytes, const std::string& folder = {}) {
  auto model = parse(Bytes::own(bytes), folder);
  if (model.ok()) return *std::move(model);
  ADD_FAILURE() << model.error().text();
  return {};
}
inline Error refusal(const std::string& bytes, const std::string& folder = {}) {
  auto model = parse(Bytes::own(bytes), folder);
  if (!model.ok()) return std::move(model).error();
  ADD_FAILURE() << "was not rejected";
  return {};
}
inline std::string serialized(const graph::Model& model) {
  auto bytes = serialize(model);
  if (bytes.ok()) return *std::move(bytes);
  ADD_FAILURE() << bytes.error().text();
  return {};
}
inline std::string again(const std::string& bytes) { return serialized(parsed(bytes)); }

// A round trip must be a fixed point and preserve `part`.
inline void expect_kept(const std::string& bytes, const std::string& part) {
  const std::string once = again(bytes);
  EXPECT_NE(once.find(part), std::string::npos);
  EXPECT_EQ(again(once), once);
}

inline std::string initializer(const std::string& tensor) { return block(5, tensor); }
// A tensor of `element` with one dimension.
inline std::string tensor_bytes(std::uint64_t element, std::uint64_t count, const std::string& data) {
  return number(1, count) + number(2, element) + block(8, "w") + data;
}

}  // namespace anybit::onnx::testing
