#include "node.hpp"

#include <optional>

#include "status.hpp"

namespace anybit::ort {
namespace {

// By number; empty: not among the inputs of any operator here.
constexpr std::string_view kTypes[] = {"",       "float32", "uint8", "int8", "uint16",  "int16",
                                       "int32",  "int64",   "",      "bool", "float16", "float64",
                                       "uint32", "uint64",  "",      "",     "bfloat16"};

// Calls a function of ONNX Runtime that fills a buffer; nothing if there is no such attribute.
template <class Buffer, class Element>
std::optional<Buffer> filled(const Api& api, const OrtKernelInfo* info, const char* name,
                             OrtStatus* (*get)(const OrtKernelInfo*, const char*, Element*, std::size_t*)) {
  std::size_t size = 0;
  if (!succeeded(api, get(info, name, nullptr, &size))) return std::nullopt;
  Buffer buffer(size, Element{});
  if (size != 0 && !succeeded(api, get(info, name, buffer.data(), &size))) return std::nullopt;
  return buffer;
}

// The attribute, if it has this kind.
std::optional<OperatorAttribute> attribute_as(const Api& api, const OrtKernelInfo* info, const char* name,
                                              AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer: {
      std::int64_t value = 0;
      if (succeeded(api, api.KernelInfoGetAttribute_int64(info, name, &value))) return value;
      return std::nullopt;
    }
    case AttributeKind::real: {
      float value = 0;
      if (succeeded(api, api.KernelInfoGetAttribute_float(info, name, &value))) return value;
      return std::nullopt;
    }
    case AttributeKind::text: {
      auto value = filled<std::string>(api, info, name, api.KernelInfoGetAttribute_string);
      if (!value) return std::nullopt;
      if (!value->empty()) value->pop_back();  // the terminating zero
      return *std::move(value);
    }
    case AttributeKind::integers:
      return filled<std::vector<std::int64_t>>(api, info, name, api.KernelInfoGetAttributeArray_int64);
    case AttributeKind::reals:
      return filled<std::vector<float>>(api, info, name, api.KernelInfoGetAttributeArray_float);
  }
  return std::nullopt;
}

constexpr const char* kKindNames[] = {"an integer", "a float", "a string", "a list of integers",
                                      "a list of floats"};

// Nothing if the node does not have it; an error if it has another kind.
Result<std::optional<OperatorAttribute>> read_attribute(const Api& api, const OrtKernelInfo* info,
                                                        const Attribute& attribute) {
  if (auto value = attribute_as(api, info, attribute.name, attribute.kind)) return value;
  for (const auto other : {AttributeKind::integer, AttributeKind::real, AttributeKind::text,
                           AttributeKind::integers, AttributeKind::reals}) {
    if (other == attribute.kind || !attribute_as(api, info, attribute.name, other)) continue;
    return Error(Code::invalid_model,
                 std::string("attribute '") + attribute.name + "' is " + kKindNames[static_cast<int>(other)],
                 {}, kKindNames[static_cast<int>(attribute.kind)]);
  }
  return std::optional<OperatorAttribute>();
}

std::string name_of_node(const Api& api, const OrtKernelInfo* info) {
  std::size_t size = 0;
  if (!succeeded(api, api.KernelInfo_GetNodeName(info, nullptr, &size))) return {};
  std::string name(size, '\0');
  if (size == 0 || !succeeded(api, api.KernelInfo_GetNodeName(info, name.data(), &size))) return {};
  name.pop_back();  // the terminating zero
  return name;
}

// Releases the description of a tensor.
struct ShapeInfo {
  const Api& api;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  explicit ShapeInfo(const Api& of) : api(of) {}
  ~ShapeInfo() {
    if (info != nullptr) api.ReleaseTensorTypeAndShapeInfo(info);
  }
  ShapeInfo(const ShapeInfo&) = delete;
  ShapeInfo& operator=(const ShapeInfo&) = delete;
};

}  // namespace

Result<void> Tensor::read(const Api& api, const OrtValue* value) {
  view_ = {};
  if (value == nullptr) return {};
  ShapeInfo shape(api);
  ElementType type = kAnyType;
  std::size_t rank = 0;
  void* data = nullptr;
  bool known = succeeded(api, api.GetTensorTypeAndShape(value, &shape.info)) &&
               succeeded(api, api.GetTensorElementType(shape.info, &type)) &&
               succeeded(api, api.GetDimensionsCount(shape.info, &rank));
  if (known) {
    dims_.resize(rank);
    known = succeeded(api, api.GetDimensions(shape.info, dims_.data(), rank)) &&
            // The function is for reading, too: the elements of an input are not written.
            succeeded(api, api.GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  }
  if (!known) return Error(Code::invalid_state, "ONNX Runtime does not describe an input as a tensor");
  const auto number = static_cast<std::size_t>(type);
  if (number >= std::size(kTypes) || kTypes[number].empty())
    return Error(Code::unsupported, "an input has element type " + std::to_string(number), {},
                 "a type of numbers up to bfloat16");
  view_ = {kTypes[number], dims_, data};
  return {};
}

Result<OperatorNode> read_node(const Api& api, const Definition& definition, const OrtKernelInfo* info,
                               std::vector<Tensor>& tensors) {
  OperatorNode node;
  node.domain = definition.domain;
  node.op_type = definition.name;
  node.name = name_of_node(api, info);
  for (const Attribute& attribute : definition.attributes) {
    auto value = read_attribute(api, info, attribute);
    if (!value.ok())
      return Error(value.error())
          .within(node.name.empty() ? "operator " + node.op_type : "node '" + node.name + "'");
    if (*value) node.attributes.emplace(attribute.name, **std::move(value));
  }
  if (auto done = checked(api, api.KernelInfo_GetInputCount(info, &node.inputs), "KernelInfo_GetInputCount");
      !done.ok())
    return std::move(done).error();
  tensors = std::vector<Tensor>(node.inputs);
  for (std::size_t i = 0; i < node.inputs; ++i) {
    int is_constant = 0;
    const OrtValue* value = nullptr;
    const bool known = succeeded(api, api.KernelInfoGetConstantInput_tensor(info, i, &is_constant, &value));
    if (known && is_constant != 0) {
      if (auto done = tensors[i].read(api, value); !done.ok()) return std::move(done).error();
    }
    node.constants.push_back(tensors[i].view());
  }
  return node;
}

}  // namespace anybit::ort
