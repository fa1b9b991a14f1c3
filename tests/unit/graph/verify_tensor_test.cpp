// Rules for tensors, sparse tensors and types.
#include <gtest/gtest.h>

#include <limits>

#include "base/checked.hpp"
#include "unit/graph/sample_models.hpp"

namespace anybit::graph {
namespace {

using namespace testing;
constexpr const char* kPlace = "graph 'main' > initializer 'w'";

Model with(Tensor tensor) {
  Model model = small_model();
  model.graph->initializers = {std::move(tensor)};
  return model;
}

TEST(VerifyTensor, TheElementTypeExists) {
  Tensor w = floats("w", {2}, {1, 2});
  w.element = 99;
  expect_invalid(with(w), kPlace, "element type 99 does not exist");
  w.element.reset();
  expect_invalid(with(w), kPlace, "element type is not set");
}

TEST(VerifyTensor, DataOfEveryTypeFillsItsDimensionsExactly) {
  for (const ElementTypeInfo& info : element_types()) {
    if (info.type == ElementType::string) continue;
    const auto bytes = static_cast<std::size_t>(*packed_bytes(15, info.bits));
    expect_sound(with(tensor("w", info.type, {3, 5}, std::vector<char>(bytes))));
    for (std::size_t wrong : {bytes - 1, bytes + 1, std::size_t{0}}) {
      expect_invalid(with(tensor("w", info.type, {3, 5}, std::vector<char>(wrong))), kPlace,
                     std::string(info.name) + "[3, 5] takes " + std::to_string(bytes) +
                         " bytes, but its raw data has " + std::to_string(wrong));
    }
  }
}

TEST(VerifyTensor, TheMessageSaysWhereTheDataWas) {
  Tensor w = floats("w", {3}, {1, 2});
  w.storage = Storage::external;
  expect_invalid(with(w), kPlace, "external data has 8");
  w.storage = Storage::typed;
  expect_invalid(with(w), kPlace, "typed data has 8");
}

TEST(VerifyTensor, ScalarsAndEmptyTensorsAreFine) {
  expect_sound(with(floats("w", {}, {1})));
  expect_sound(with(floats("w", {0}, {})));
  expect_sound(with(floats("w", {5, 0, 3}, {})));
}

TEST(VerifyTensor, StringsAreCounted) {
  Tensor w = floats("w", {2}, {});
  w.element = static_cast<std::int32_t>(ElementType::string);
  w.strings = {"a", "b"};
  expect_sound(with(w));
  w.strings = {"a"};
  expect_invalid(with(w), kPlace, "string[2] has 2 elements, but there are 1 strings");
  w.strings = {"a", "b"};
  w.data = Bytes::own(std::string("ab"));
  expect_invalid(with(w), kPlace, "strings cannot be raw data");
  w.data = {};
  w.storage = Storage::external;
  expect_invalid(with(w), kPlace, "strings cannot be external");
  w = floats("w", {2}, {1, 2});
  w.strings = {"a"};
  expect_invalid(with(w), kPlace, "strings in a tensor of float32");
}

TEST(VerifyTensor, DimensionsAreNotNegative) {
  expect_invalid(with(floats("w", {-1, -2}, {1, 2})), kPlace, "negative dimension in [-1, -2]");
}

TEST(VerifyTensor, RankAndElementsAreLimited) {
  expect_sound(with(floats("w", std::vector<std::int64_t>(32, 1), {1})));
  expect_error(with(floats("w", std::vector<std::int64_t>(33, 1), {1})), Code::limit_exceeded, kPlace,
               "rank 33");
  const std::int64_t large = std::int64_t{1} << 32;
  expect_error(with(floats("w", {large, large}, {})), Code::limit_exceeded, kPlace,
               "more than 1099511627776 elements");
  expect_error(with(floats("w", {large, large, 0}, {})), Code::limit_exceeded, kPlace, "elements");
  expect_error(with(floats("w", {std::int64_t{1} << 41}, {})), Code::limit_exceeded, kPlace, "elements");
}

TEST(VerifyTensor, LimitsCanBeChanged) {
  Limits limits;
  limits.elements = 2;
  expect_error(with(floats("w", {3}, {1, 2, 3})), Code::limit_exceeded, kPlace, "more than 2 elements",
               "raise the limit", limits);
  // Sizes do not overflow even without a limit.
  limits.elements = std::numeric_limits<std::int64_t>::max();
  const std::int64_t large = std::int64_t{1} << 32;
  expect_error(with(floats("w", {large, large}, {})), Code::limit_exceeded, kPlace, "elements", {}, limits);
  expect_error(with(floats("w", {large, large / 4}, {})), Code::limit_exceeded, kPlace, "too large", {},
               limits);
}

TEST(VerifyTensor, TensorsInAttributesAreChecked) {
  Model model = small_model();
  model.graph->nodes[0].attributes = {attribute("value", floats("", {2}, {1}), AttributeKind::tensor)};
  expect_invalid(model, "graph 'main' > node '/relu' (Relu) > value", "takes 8 bytes");
  model.graph->nodes[0].attributes = {
      attribute("values", std::vector{floats("", {1}, {1}), floats("", {2}, {1})}, AttributeKind::tensors)};
  expect_invalid(model, "graph 'main' > node '/relu' (Relu) > values > item 1", "takes 8 bytes");
}

SparseTensor sparse(std::vector<std::int64_t> dims, std::vector<float> values,
                    std::vector<std::int64_t> index_dims, std::vector<std::int64_t> indices) {
  SparseTensor tensor;
  const auto count = static_cast<std::int64_t>(values.size());
  tensor.values = floats("s", {count}, std::move(values));
  tensor.indices = testing::tensor("", ElementType::int64, std::move(index_dims), std::move(indices));
  tensor.dims = std::move(dims);
  return tensor;
}

Model with(SparseTensor tensor) {
  Model model = small_model();
  model.graph->sparse_initializers = {std::move(tensor)};
  return model;
}

constexpr const char* kSparse = "graph 'main' > sparse initializer 's'";

TEST(VerifySparse, LinearIndicesAndCoordinatesAreFine) {
  expect_sound(with(sparse({3, 4}, {1, 2}, {2}, {0, 11})));
  expect_sound(with(sparse({3, 4}, {1, 2}, {2, 2}, {0, 3, 2, 0})));
  expect_sound(with(sparse({3, 4}, {}, {0}, {})));
}

TEST(VerifySparse, IndicesAreInRange) {
  const std::string place = std::string(kSparse) + " > indices";
  expect_invalid(with(sparse({3, 4}, {1, 2}, {2}, {0, 12})), place, "index 12 of value 1 is not below 12");
  expect_invalid(with(sparse({3, 4}, {1, 2}, {2}, {-1, 2})), place, "index -1 of value 0");
  expect_invalid(with(sparse({3, 4}, {1}, {1, 2}, {0, 4})), place, "index 4 of value 0 is not below 4");
}

TEST(VerifySparse, IndicesAreSortedAndDiffer) {
  const std::string place = std::string(kSparse) + " > indices";
  expect_invalid(with(sparse({3, 4}, {1, 2}, {2}, {5, 4})), place, "the index of value 1 is not above");
  expect_invalid(with(sparse({3, 4}, {1, 2}, {2}, {4, 4})), place, "not above", "sort the indices");
  expect_invalid(with(sparse({3, 4}, {1, 2}, {2, 2}, {1, 2, 0, 3})), place, "not above");
  expect_invalid(with(sparse({3, 4}, {1, 2}, {2, 2}, {1, 2, 1, 2})), place, "not above");
}

TEST(VerifySparse, TheirShapesFit) {
  const std::string indices = std::string(kSparse) + " > indices";
  expect_invalid(with(sparse({3, 4}, {1, 2}, {1}, {0})), indices, "indices of shape [1] for 2 values",
                 "[2] or [2, 2]");
  expect_invalid(with(sparse({3, 4}, {1, 2}, {2, 1}, {0, 1})), indices, "indices of shape [2, 1]");
  SparseTensor tensor = sparse({3, 4}, {1, 2}, {2}, {0, 1});
  tensor.values->dims = {1, 2};
  expect_invalid(with(tensor), std::string(kSparse) + " > values", "rank 1");
  tensor = sparse({3, 4}, {1, 2}, {2}, {0, 1});
  tensor.indices->element = static_cast<std::int32_t>(ElementType::float64);
  expect_invalid(with(tensor), indices, "not int64");
  expect_invalid(with(sparse({}, {1}, {1}, {0})), kSparse, "without dimensions");
  expect_invalid(with(sparse({2}, {1, 2, 3}, {3}, {0, 1, 1})), std::string(kSparse) + " > values",
                 "3 values in a tensor of 2");
  expect_invalid(with(sparse({-2}, {1}, {1}, {0})), kSparse, "negative dimension");
}

TEST(VerifySparse, ValuesAndIndicesAreThere) {
  SparseTensor tensor = sparse({3, 4}, {1, 2}, {2}, {0, 1});
  tensor.indices.reset();
  expect_invalid(with(tensor), kSparse, "without indices");
  tensor.values.reset();
  expect_invalid(with(tensor), "graph 'main' > sparse initializer 0", "without values");
  tensor = sparse({3, 4}, {1, 2}, {2}, {0, 1});
  tensor.indices->data = {};
  expect_invalid(with(tensor), std::string(kSparse) + " > indices", "takes 16 bytes");
}

TEST(VerifySparse, TheNameIsTheNameOfItsValues) {
  SparseTensor tensor = sparse({3, 4}, {1, 2}, {2}, {0, 1});
  tensor.values->name = "w";
  expect_invalid(with(tensor), "graph 'main' > sparse initializer 'w'", "defined already");
  tensor.values->name = "";
  expect_invalid(with(tensor), "graph 'main' > sparse initializer 0", "no name");
}

Model with(Type type) {
  Model model = small_model();
  model.graph->value_info = {value("v", std::move(type))};
  return model;
}

constexpr const char* kType = "graph 'main' > value_info 'v'";

Type map_of(ElementType key) {
  MapType map;
  map.key = static_cast<std::int32_t>(key);
  map.value = tensor_type(ElementType::float32, {1});
  return Type(map);
}

TEST(VerifyType, TheElementTypeExists) {
  expect_invalid(with(tensor_type(static_cast<ElementType>(27), {1})), kType,
                 "element type 27 does not exist");
  expect_invalid(with(tensor_type(static_cast<ElementType>(-1), {1})), kType,
                 "element type -1 does not exist");
}

TEST(VerifyType, DimensionsArePossible) {
  expect_invalid(with(tensor_type(ElementType::int8, {3, -1})), kType, "dimension 1 is -1",
                 "leave an unknown");
  expect_error(with(tensor_type(ElementType::int8, std::vector<std::int64_t>(33, 1))), Code::limit_exceeded,
               kType, "rank 33");
  const std::int64_t large = std::int64_t{1} << 32;
  expect_error(with(tensor_type(ElementType::int8, {large, large})), Code::limit_exceeded, kType, "elements");
}

TEST(VerifyType, MapsHaveIntegersOrStringsAsKeys) {
  expect_sound(with(map_of(ElementType::string)));
  expect_sound(with(map_of(ElementType::uint16)));
  expect_invalid(with(map_of(ElementType::float32)), kType, "float32 cannot be the key");
  expect_invalid(with(map_of(ElementType::boolean)), kType, "bool cannot be the key");
  expect_invalid(with(map_of(ElementType::undefined)), kType, "type 0 cannot be the key");
}

TEST(VerifyType, InnerTypesAreChecked) {
  const Type bad = tensor_type(ElementType::int8, {-5});
  expect_invalid(with(Type(SequenceType{bad, {}})), kType, "dimension 0 is -5");
  expect_invalid(with(Type(OptionalType{bad, {}})), kType, "dimension 0 is -5");
  MapType map;
  map.key = static_cast<std::int32_t>(ElementType::int64);
  map.value = bad;
  expect_invalid(with(Type(map)), kType, "dimension 0 is -5");
  SparseTensorType sparse;
  sparse.element = 77;
  expect_invalid(with(Type(sparse)), kType, "element type 77");
}

TEST(VerifyType, NestedTypesAreLimited) {
  const auto nested = [](int count) {
    Type type = tensor_type(ElementType::int8, {});
    for (int i = 1; i < count; ++i) type = Type(SequenceType{std::move(type), {}});
    return type;
  };
  expect_sound(with(nested(64)));
  expect_error(with(nested(65)), Code::limit_exceeded, kType, "more than 64 levels of nested types");
}

TEST(VerifyType, TypesOfAttributesAreChecked) {
  Model model = small_model();
  model.graph->nodes[0].attributes = {
      attribute("t", tensor_type(ElementType::int8, {-5}), AttributeKind::type)};
  expect_invalid(model, "graph 'main' > node '/relu' (Relu) > t", "dimension 0 is -5");
}

}  // namespace
}  // namespace anybit::graph
