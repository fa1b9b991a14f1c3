// Models whose only node is a function of ai.anybit, and what the library makes of the same values, for tests
// in Python through plain C calls. The last error is a string.
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "base/try.hpp"
#include "io/onnx/save.hpp"
#include "kernels/codec/stored_fields.hpp"
#include "kernels/codec/tensor_codec.hpp"
#include "portable/look_up_neurons.hpp"
#include "portable/portable.hpp"

using namespace anybit;

namespace {

thread_local std::string last_error, made;

// Kept until the next call; null if there is none.
const char* keep(Result<std::string> bytes, std::size_t* length) {
  if (!bytes.ok()) {
    last_error = bytes.error().text();
    return nullptr;
  }
  made = std::move(bytes).value();
  *length = made.size();
  return made.data();
}

graph::OpsetImport import(std::string_view domain, std::int64_t version) {
  graph::OpsetImport result;
  result.domain = graph::Text(domain);
  result.version = version;
  return result;
}

graph::ValueInfo value_info(std::string_view name, const formats::Dims* dims = nullptr) {
  graph::TensorType type;
  type.element = static_cast<std::int32_t>(graph::ElementType::float32);
  if (dims) {
    type.shape.emplace();
    for (const std::int64_t dim : *dims) type.shape->dims.emplace_back().value = dim;
  }
  graph::ValueInfo info;
  info.name = graph::Text(name);
  info.type.emplace().kind = type;
  return info;
}

// y = function(inputs), of these dimensions if they are known; its opset is the function's, unless a later
// one is asked for.
graph::Model model_of(graph::Function function, std::vector<std::string> inputs, const formats::Dims* dims,
                      std::int64_t opset) {
  opset = std::max(opset, *function.opsets[0].version);
  graph::Model model;
  model.ir_version = 8;
  model.opsets = {import("", opset), import("ai.anybit", 1)};
  graph::Graph& graph = model.graph.emplace();
  graph.name = graph::Text("one");
  graph::Node& node = graph.nodes.emplace_back();
  node.op_type = function.name;
  node.domain = function.domain;
  node.inputs = std::move(inputs);
  node.outputs = {"y"};
  graph.outputs.push_back(value_info("y", dims));
  function.opsets[0].version = opset;
  model.functions.push_back(std::move(function));
  return model;
}

// `dims`: of the input; null: whatever comes.
Result<std::string> quantize_model(const char* text, const formats::Dims* dims, std::int64_t opset) {
  graph::Model model =
      model_of(TRY(portable::quantize_dequantize(TRY(formats::read_use(text)))), {"x"}, dims, opset);
  model.graph->inputs.push_back(value_info("x", dims));
  return onnx::serialize(model);
}

Result<kernels::TensorCodec> codec_of(const formats::Use& use, const formats::Dims& dims) {
  return kernels::TensorCodec::make(
      use.format, dims, {.parameters = use.parameters, .grouping = use.grouping, .rounding = use.rounding});
}

void add_initializer(graph::Model& model, std::string_view name, std::string_view type,
                     std::vector<std::int64_t> dims, std::vector<std::byte> bytes) {
  graph::Tensor& tensor = model.graph->initializers.emplace_back();
  tensor.name = graph::Text(name);
  tensor.element = static_cast<std::int32_t>(graph::find_element_type(type)->type);
  tensor.dims = std::move(dims);
  tensor.data = Bytes::own(std::move(bytes));
}

void add_attribute(graph::Node& node, std::string_view name, const formats::Dims& values) {
  graph::Attribute& one = node.attributes.emplace_back();
  one.name = graph::Text(name);
  one.kind = static_cast<std::int32_t>(graph::AttributeKind::integers);
  one.value = values;
}

// `codes` replaces the packed values; null: unchanged.
Result<std::string> decode_model(const char* text, const formats::Dims& coded, const formats::Dims& dims,
                                 const float* values, const std::uint8_t* codes, std::int64_t opset,
                                 float* out) {
  const formats::Use use = TRY(formats::read_use(text));
  const kernels::TensorCodec codec = TRY(codec_of(use, coded));
  const std::span<const float> all(values, static_cast<std::size_t>(codec.count()));
  ThreadPool pool(1);
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(codec.packed_bytes()));
  const auto parameters = codec.choose_and_pack(all, packed.data(), pool);
  if (codes) std::memcpy(packed.data(), codes, packed.size());
  codec.decode_packed(packed.data(), parameters, out, pool);

  const std::vector<StoredField> fields = kernels::store(codec, parameters);
  std::vector<std::string> inputs{"codes"};
  for (const StoredField& field : fields) inputs.push_back(field.name);
  graph::Model model = model_of(TRY(portable::decode(use)), inputs, &dims, opset);
  const auto bytes = std::as_bytes(std::span(packed));
  add_initializer(model, "codes", "uint8", {codec.packed_bytes()}, {bytes.begin(), bytes.end()});
  for (const StoredField& field : fields)
    add_initializer(model, field.name, field.type, field.dims, field.bytes);
  add_attribute(model.graph->nodes[0], "coded", coded);
  add_attribute(model.graph->nodes[0], "dims", dims);
  return onnx::serialize(model);
}

// A model whose only function is that of LookUpNeurons.
Result<std::string> neurons_model(const char* text) {
  const auto table = portable::read_neuron_table(text);
  if (!table) return invalid_argument(fmt::format("'{}' is no neuron", text));
  return onnx::serialize(
      model_of(portable::look_up_neurons(*table), {"x", "connections", "tables"}, nullptr, 0));
}

Result<std::string> quantized(const char* text, const formats::Dims& dims, const float* values, float* out) {
  const kernels::TensorCodec codec = TRY(codec_of(TRY(formats::read_use(text)), dims));
  ThreadPool pool(1);
  codec.choose_and_quantize({values, static_cast<std::size_t>(codec.count())}, out, pool);
  return std::string();
}

formats::Dims dims_of(const std::int64_t* dims, int rank) { return {dims, dims + rank}; }

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const char* portable_error() { return last_error.c_str(); }

// "name family granularity" of every format, one to a line.
EXPORT const char* portable_formats() {
  static const std::string all = [] {
    std::string text;
    for (const formats::Descriptor* one : formats::table())
      text += fmt::format("{} {} {}\n", one->name, one->family, name_of(one->granularity));
    return text;
  }();
  return all.c_str();
}

// A rank of -1: dimensions are not known.
EXPORT const char* portable_quantize_model(const char* text, const std::int64_t* dims, int rank,
                                           std::int64_t opset, std::size_t* length) {
  const formats::Dims known = dims_of(dims, std::max(rank, 0));
  return keep(quantize_model(text, rank < 0 ? nullptr : &known, opset), length);
}
EXPORT const char* portable_decode_model(const char* text, const std::int64_t* coded, int packed_rank,
                                         const std::int64_t* dims, int rank, const float* values,
                                         const std::uint8_t* codes, std::int64_t opset, float* out,
                                         std::size_t* length) {
  return keep(decode_model(text, dims_of(coded, packed_rank), dims_of(dims, rank), values, codes, opset, out),
              length);
}
EXPORT const char* portable_neurons_model(const char* text, std::size_t* length) {
  return keep(neurons_model(text), length);
}
EXPORT int portable_quantize(const char* text, const std::int64_t* dims, int rank, const float* values,
                             float* out) {
  std::size_t length = 0;
  return keep(quantized(text, dims_of(dims, rank), values, out), &length) != nullptr ? 0 : -1;
}
