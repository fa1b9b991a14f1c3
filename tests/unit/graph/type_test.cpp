#include "graph/type.hpp"

#include <gtest/gtest.h>

namespace anybit::graph {
namespace {

TensorType tensor(std::int32_t element) { return {element, std::nullopt, {}}; }

TensorType image() {
  TensorType type = tensor(1);
  type.shape.emplace();
  type.shape->dims.resize(4);
  type.shape->dims[0].value = std::int64_t{1};
  type.shape->dims[1].value = std::int64_t{3};
  type.shape->dims[2].value = std::string("height");
  return type;
}

TEST(Type, IsSpelledWithNamesNumbersAndUnknownDimensions) {
  EXPECT_EQ(to_string(Type(image())), "float32[1, 3, height, ?]");
}

TEST(Type, AScalarDiffersFromAnUnknownShape) {
  TensorType scalar = tensor(7);
  scalar.shape.emplace();
  EXPECT_EQ(to_string(Type(scalar)), "int64[]");
  EXPECT_EQ(to_string(Type(tensor(7))), "int64[…]");
}

TEST(Type, NestsAsDeepAsTheFileDoes) {
  SequenceType sequence;
  sequence.element = Type(MapType{8, Type(OptionalType{Type(image()), {}}), {}});
  EXPECT_EQ(to_string(Type(sequence)), "seq(map(string, optional(float32[1, 3, height, ?])))");
}

TEST(Type, WithoutItsPartsStillHasASpelling) {
  EXPECT_EQ(to_string(Type{}), "?");
  EXPECT_EQ(to_string(Type(SequenceType{})), "seq(?)");
  EXPECT_EQ(to_string(Type(OpaqueType{"org.example", "thing", {}})), "opaque(org.example.thing)");
  SparseTensorType sparse;
  sparse.element = 11;
  EXPECT_EQ(to_string(Type(sparse)), "sparse(float64[…])");
}

TEST(TypeBox, CopiesItsContent) {
  TypeBox box = Type(image());
  const TypeBox copy = box;
  box.get()->denotation = "changed";
  EXPECT_FALSE(copy.get()->denotation.present());
  box = TypeBox();
  EXPECT_EQ(box.get(), nullptr);
  EXPECT_NE(copy.get(), nullptr);
}

}  // namespace
}  // namespace anybit::graph
