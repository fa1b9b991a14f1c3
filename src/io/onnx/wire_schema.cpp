#include "io/onnx/wire_schema.hpp"

#include <array>
#include <initializer_list>

namespace anybit::onnx {
namespace {

constexpr std::size_t kMessages = 20;
constexpr std::size_t kNumbers = 27;  // the largest field number + 1

struct Row {
  std::size_t number;
  Field field;
};

using Fields = std::array<Field, kNumbers>;

constexpr Fields fields(std::initializer_list<Row> rows) {
  Fields all{};
  for (const Row& row : rows) all[row.number] = row.field;
  return all;
}

constexpr Field number(std::string_view name) { return {name, Payload::number}; }
constexpr Field varints(std::string_view name) { return {name, Payload::packed_varints}; }
constexpr Field text(std::string_view name) { return {name, Payload::text}; }
constexpr Field texts(std::string_view name) { return {name, Payload::text, {}, true}; }
constexpr Field one(std::string_view name, Message child) { return {name, Payload::message, child, false}; }
constexpr Field many(std::string_view name, Message child) { return {name, Payload::message, child, true}; }

constexpr Fields kModel = fields({{1, number("ir_version")},
                                  {2, text("producer_name")},
                                  {3, text("producer_version")},
                                  {4, text("domain")},
                                  {5, number("model_version")},
                                  {6, text("doc_string")},
                                  {7, one("graph", Message::graph)},
                                  {8, many("opset_import", Message::opset)},
                                  {14, many("metadata_props", Message::property)},
                                  {20, many("training_info", Message::training)},
                                  {25, many("functions", Message::function)},
                                  {26, texts("configuration")}});

constexpr Fields kGraph = fields({{1, many("node", Message::node)},
                                  {2, text("name")},
                                  {5, many("initializer", Message::tensor)},
                                  {10, text("doc_string")},
                                  {11, many("input", Message::value_info)},
                                  {12, many("output", Message::value_info)},
                                  {13, many("value_info", Message::value_info)},
                                  {14, many("quantization_annotation", Message::annotation)},
                                  {15, many("sparse_initializer", Message::sparse_tensor)},
                                  {16, many("metadata_props", Message::property)}});

constexpr Fields kNode = fields({{1, texts("input")},
                                 {2, texts("output")},
                                 {3, text("name")},
                                 {4, text("op_type")},
                                 {5, many("attribute", Message::attribute)},
                                 {6, text("doc_string")},
                                 {7, text("domain")},
                                 {8, text("overload")},
                                 {9, many("metadata_props", Message::property)},
                                 {10, texts("device_configurations")}});

constexpr Fields kAttribute = fields({{1, text("name")},
                                      {2, number("f")},
                                      {3, number("i")},
                                      {4, text("s")},
                                      {5, one("t", Message::tensor)},
                                      {6, one("g", Message::graph)},
                                      {7, {"floats", Payload::packed_fixed32}},
                                      {8, varints("ints")},
                                      {9, texts("strings")},
                                      {10, many("tensors", Message::tensor)},
                                      {11, many("graphs", Message::graph)},
                                      {13, text("doc_string")},
                                      {14, one("tp", Message::type)},
                                      {15, many("type_protos", Message::type)},
                                      {20, number("type")},
                                      {21, text("ref_attr_name")},
                                      {22, one("sparse_tensor", Message::sparse_tensor)},
                                      {23, many("sparse_tensors", Message::sparse_tensor)}});

constexpr Fields kValueInfo = fields({{1, text("name")},
                                      {2, one("type", Message::type)},
                                      {3, text("doc_string")},
                                      {4, many("metadata_props", Message::property)}});

constexpr Fields kTensor = fields({{1, varints("dims")},
                                   {2, number("data_type")},
                                   {4, {"float_data", Payload::packed_fixed32}},
                                   {5, varints("int32_data")},
                                   {6, texts("string_data")},
                                   {7, varints("int64_data")},
                                   {8, text("name")},
                                   {9, text("raw_data")},
                                   {10, {"double_data", Payload::packed_fixed64}},
                                   {11, varints("uint64_data")},
                                   {12, text("doc_string")},
                                   {13, many("external_data", Message::property)},
                                   {14, number("data_location")},
                                   {16, many("metadata_props", Message::property)}});

constexpr Fields kSparseTensor =
    fields({{1, one("values", Message::tensor)}, {2, one("indices", Message::tensor)}, {3, varints("dims")}});

constexpr Fields kType = fields({{1, one("tensor_type", Message::tensor_type)},
                                 {4, one("sequence_type", Message::sequence_type)},
                                 {5, one("map_type", Message::map_type)},
                                 {6, text("denotation")},
                                 {7, one("opaque_type", Message::opaque_type)},
                                 {8, one("sparse_tensor_type", Message::tensor_type)},
                                 {9, one("optional_type", Message::optional_type)}});

constexpr Fields kTensorType = fields({{1, number("elem_type")}, {2, one("shape", Message::shape)}});
constexpr Fields kElementType = fields({{1, one("elem_type", Message::type)}});
constexpr Fields kMapType = fields({{1, number("key_type")}, {2, one("value_type", Message::type)}});
constexpr Fields kOpaqueType = fields({{1, text("domain")}, {2, text("name")}});
constexpr Fields kShape = fields({{1, many("dim", Message::dimension)}});
constexpr Fields kDimension =
    fields({{1, number("dim_value")}, {2, text("dim_param")}, {3, text("denotation")}});
constexpr Fields kOpset = fields({{1, text("domain")}, {2, number("version")}});
constexpr Fields kProperty = fields({{1, text("key")}, {2, text("value")}});
constexpr Fields kAnnotation =
    fields({{1, text("tensor_name")}, {2, many("quant_parameter_tensor_names", Message::property)}});
constexpr Fields kTraining = fields({{1, one("initialization", Message::graph)},
                                     {2, one("algorithm", Message::graph)},
                                     {3, many("initialization_binding", Message::property)},
                                     {4, many("update_binding", Message::property)}});

constexpr Fields kFunction = fields({{1, text("name")},
                                     {4, texts("input")},
                                     {5, texts("output")},
                                     {6, texts("attribute")},
                                     {7, many("node", Message::node)},
                                     {8, text("doc_string")},
                                     {9, many("opset_import", Message::opset)},
                                     {10, text("domain")},
                                     {11, many("attribute_proto", Message::attribute)},
                                     {12, many("value_info", Message::value_info)},
                                     {13, text("overload")},
                                     {14, many("metadata_props", Message::property)}});

// In the order of enum Message.
constexpr std::array<const Fields*, kMessages> kSchema = {
    &kModel,     &kGraph,      &kNode,        &kAttribute,  &kValueInfo,   &kTensor,     &kSparseTensor,
    &kType,      &kTensorType, &kElementType, &kMapType,    &kElementType, &kOpaqueType, &kShape,
    &kDimension, &kOpset,      &kProperty,    &kAnnotation, &kTraining,    &kFunction};

constexpr Field kUnknown{};

}  // namespace

const Field& field_of(Message message, std::uint32_t number) {
  return number < kNumbers ? (*kSchema[static_cast<std::size_t>(message)])[number] : kUnknown;
}

}  // namespace anybit::onnx
