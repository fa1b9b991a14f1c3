// One function per message of onnx.proto, with its generated field numbers. Each is run twice, by a Sizer and
// by an Emitter (encoder.hpp). Unknown fields go last: protobuf does not depend on the order.
#include "io/onnx/encode.hpp"

#include "base/error.hpp"
#include "io/onnx/onnx.pb.h"
#include "io/onnx/typed_data.hpp"

namespace anybit::onnx {
namespace {

using graph::Text;

std::uint64_t signed_varint(std::int64_t value) { return static_cast<std::uint64_t>(value); }

template <class Out>
class Encode {
 public:
  Encode(Out& out, const ExternalPlan& plan) : out_(out), plan_(plan) {}

  void operator()(const graph::Model& model) {
    using M = wire::Model;
    number(M::kIrVersionFieldNumber, model.ir_version);
    text(M::kProducerNameFieldNumber, model.producer);
    text(M::kProducerVersionFieldNumber, model.producer_version);
    text(M::kDomainFieldNumber, model.domain);
    number(M::kModelVersionFieldNumber, model.model_version);
    text(M::kDocStringFieldNumber, model.doc);
    if (model.graph) message(M::kGraphFieldNumber, *model.graph);
    each(M::kOpsetImportFieldNumber, model.opsets);
    each(M::kMetadataPropsFieldNumber, model.metadata);
    each(M::kTrainingInfoFieldNumber, model.training);
    each(M::kFunctionsFieldNumber, model.functions);
    strings(M::kConfigurationFieldNumber, model.configurations);
    extra(model.extra);
  }

 private:
  void operator()(const graph::Graph& graph) {
    using M = wire::Graph;
    each(M::kNodeFieldNumber, graph.nodes);
    text(M::kNameFieldNumber, graph.name);
    each(M::kInitializerFieldNumber, graph.initializers);
    text(M::kDocStringFieldNumber, graph.doc);
    each(M::kInputFieldNumber, graph.inputs);
    each(M::kOutputFieldNumber, graph.outputs);
    each(M::kValueInfoFieldNumber, graph.value_info);
    each(M::kQuantizationAnnotationFieldNumber, graph.annotations);
    each(M::kSparseInitializerFieldNumber, graph.sparse_initializers);
    each(M::kMetadataPropsFieldNumber, graph.metadata);
    extra(graph.extra);
  }

  void operator()(const graph::GraphBox& box) { (*this)(*box); }

  void operator()(const graph::Function& function) {
    using M = wire::Function;
    text(M::kNameFieldNumber, function.name);
    strings(M::kInputFieldNumber, function.inputs);
    strings(M::kOutputFieldNumber, function.outputs);
    strings(M::kAttributeFieldNumber, function.attributes);
    each(M::kNodeFieldNumber, function.nodes);
    text(M::kDocStringFieldNumber, function.doc);
    each(M::kOpsetImportFieldNumber, function.opsets);
    text(M::kDomainFieldNumber, function.domain);
    each(M::kAttributeProtoFieldNumber, function.default_attributes);
    each(M::kValueInfoFieldNumber, function.value_info);
    text(M::kOverloadFieldNumber, function.overload);
    each(M::kMetadataPropsFieldNumber, function.metadata);
    extra(function.extra);
  }

  void operator()(const graph::TrainingInfo& training) {
    using M = wire::TrainingInfo;
    if (training.initialization) message(M::kInitializationFieldNumber, **training.initialization);
    if (training.algorithm) message(M::kAlgorithmFieldNumber, **training.algorithm);
    each(M::kInitializationBindingFieldNumber, training.initialization_bindings);
    each(M::kUpdateBindingFieldNumber, training.update_bindings);
    extra(training.extra);
  }

  void operator()(const graph::Node& node) {
    using M = wire::Node;
    strings(M::kInputFieldNumber, node.inputs);
    strings(M::kOutputFieldNumber, node.outputs);
    text(M::kNameFieldNumber, node.name);
    text(M::kOpTypeFieldNumber, node.op_type);
    each(M::kAttributeFieldNumber, node.attributes);
    text(M::kDocStringFieldNumber, node.doc);
    text(M::kDomainFieldNumber, node.domain);
    text(M::kOverloadFieldNumber, node.overload);
    each(M::kMetadataPropsFieldNumber, node.metadata);
    strings(M::kDeviceConfigurationsFieldNumber, node.device_configurations);
    extra(node.extra);
  }

  void operator()(const graph::Attribute& attribute) {
    using M = wire::Attribute;
    text(M::kNameFieldNumber, attribute.name);
    value(attribute.value);
    for (const graph::Attribute::Value& other : attribute.others) value(other);
    text(M::kDocStringFieldNumber, attribute.doc);
    number(M::kTypeFieldNumber, attribute.kind);
    text(M::kRefAttrNameFieldNumber, attribute.reference);
    extra(attribute.extra);
  }

  void value(const graph::Attribute::Value& value) {
    std::visit([this](const auto& held) { this->held(held); }, value);
  }
  void held(std::monostate) {}
  void held(float value) { out_.fixed32(wire::Attribute::kFFieldNumber, value); }
  void held(std::int64_t value) { out_.varint(wire::Attribute::kIFieldNumber, signed_varint(value)); }
  void held(const std::string& value) { string(wire::Attribute::kSFieldNumber, value); }
  void held(const graph::Tensor& value) { message(wire::Attribute::kTFieldNumber, value); }
  void held(const graph::GraphBox& value) { message(wire::Attribute::kGFieldNumber, value); }
  void held(const graph::SparseTensor& value) { message(wire::Attribute::kSparseTensorFieldNumber, value); }
  void held(const graph::Type& value) { message(wire::Attribute::kTpFieldNumber, value); }
  void held(const std::vector<float>& values) {
    for (const float value : values) out_.fixed32(wire::Attribute::kFloatsFieldNumber, value);
  }
  void held(const std::vector<std::int64_t>& values) { numbers(wire::Attribute::kIntsFieldNumber, values); }
  void held(const std::vector<std::string>& values) { strings(wire::Attribute::kStringsFieldNumber, values); }
  void held(const std::vector<graph::Tensor>& values) { each(wire::Attribute::kTensorsFieldNumber, values); }
  void held(const std::vector<graph::GraphBox>& values) { each(wire::Attribute::kGraphsFieldNumber, values); }
  void held(const std::vector<graph::SparseTensor>& values) {
    each(wire::Attribute::kSparseTensorsFieldNumber, values);
  }
  void held(const std::vector<graph::Type>& values) { each(wire::Attribute::kTypeProtosFieldNumber, values); }

  void operator()(const graph::Tensor& tensor) {
    using M = wire::Tensor;
    numbers(M::kDimsFieldNumber, tensor.dims);
    number(M::kDataTypeFieldNumber, tensor.element);
    text(M::kNameFieldNumber, tensor.name);
    text(M::kDocStringFieldNumber, tensor.doc);
    strings(M::kStringDataFieldNumber, tensor.strings);
    if (const auto part = plan_.parts.find(&tensor); part != plan_.parts.end()) {
      external(tensor, part->second);
    } else {
      data(tensor);
      if (tensor.storage != graph::Storage::external) each(M::kExternalDataFieldNumber, tensor.external);
      if (tensor.has_location) out_.varint(M::kDataLocationFieldNumber, 0);
    }
    each(M::kMetadataPropsFieldNumber, tensor.metadata);
    extra(tensor.extra);
  }

  // Unknown entries are kept; the checksum is dropped, since it belongs to the file that the data was read
  // from.
  void external(const graph::Tensor& tensor, const ExternalPlan::Part& part) {
    using M = wire::Tensor;
    message(M::kExternalDataFieldNumber, graph::Property{"location", plan_.location, {}});
    message(M::kExternalDataFieldNumber, graph::Property{"offset", fmt::to_string(part.offset), {}});
    message(M::kExternalDataFieldNumber, graph::Property{"length", fmt::to_string(part.length), {}});
    for (const graph::Property& entry : tensor.external) {
      const std::string& key = entry.key;
      if (key == "location" || key == "offset" || key == "length" || key == "checksum") continue;
      message(M::kExternalDataFieldNumber, entry);
    }
    out_.varint(M::kDataLocationFieldNumber, 1);
  }

  void data(const graph::Tensor& tensor) {
    const std::size_t width = typed_width(tensor.type());
    if (tensor.storage == graph::Storage::typed && tensor.data.size() % width == 0) {
      if (!tensor.data.empty()) typed_data(tensor, tensor.data.size() / width);
    } else if (!tensor.data.empty() || (tensor.has_data_field && tensor.strings.empty()) ||
               tensor.storage == graph::Storage::external) {
      out_.bytes(wire::Tensor::kRawDataFieldNumber, tensor.data.span());
    }
  }

  void typed_data(const graph::Tensor& tensor, std::size_t count) {
    using M = wire::Tensor;
    using graph::TypedField;
    const graph::ElementTypeInfo* info = graph::find(tensor.type());
    const auto value = [&](std::size_t i) { return varint_value(tensor.data, tensor.type(), i); };
    switch (info ? info->field : TypedField::none) {
      case TypedField::none:
      case TypedField::string_data:
        return out_.bytes(M::kRawDataFieldNumber, tensor.data.span());
      case TypedField::float_data:
        return out_.bytes(M::kFloatDataFieldNumber, tensor.data.span());
      case TypedField::double_data:
        return out_.bytes(M::kDoubleDataFieldNumber, tensor.data.span());
      case TypedField::int32_data:
        return out_.packed_varints(M::kInt32DataFieldNumber, count, value);
      case TypedField::int64_data:
        return out_.packed_varints(M::kInt64DataFieldNumber, count, value);
      case TypedField::uint64_data:
        return out_.packed_varints(M::kUint64DataFieldNumber, count, value);
    }
  }

  void operator()(const graph::SparseTensor& sparse) {
    using M = wire::SparseTensor;
    if (sparse.values) message(M::kValuesFieldNumber, *sparse.values);
    if (sparse.indices) message(M::kIndicesFieldNumber, *sparse.indices);
    numbers(M::kDimsFieldNumber, sparse.dims);
    extra(sparse.extra);
  }

  void operator()(const graph::ValueInfo& info) {
    using M = wire::ValueInfo;
    text(M::kNameFieldNumber, info.name);
    if (info.type) message(M::kTypeFieldNumber, *info.type);
    text(M::kDocStringFieldNumber, info.doc);
    each(M::kMetadataPropsFieldNumber, info.metadata);
    extra(info.extra);
  }

  void operator()(const graph::QuantizationAnnotation& annotation) {
    text(wire::TensorAnnotation::kTensorNameFieldNumber, annotation.tensor);
    each(wire::TensorAnnotation::kQuantParameterTensorNamesFieldNumber, annotation.parameters);
    extra(annotation.extra);
  }

  void operator()(const graph::OpsetImport& opset) {
    text(wire::OperatorSetId::kDomainFieldNumber, opset.domain);
    number(wire::OperatorSetId::kVersionFieldNumber, opset.version);
    extra(opset.extra);
  }

  void operator()(const graph::Property& property) {
    text(wire::StringStringEntry::kKeyFieldNumber, property.key);
    text(wire::StringStringEntry::kValueFieldNumber, property.value);
    extra(property.extra);
  }

  void operator()(const graph::Type& type) {
    using M = wire::Type;
    if (const auto* tensor = std::get_if<graph::TensorType>(&type.kind))
      message(M::kTensorTypeFieldNumber, *tensor);
    if (const auto* sparse = std::get_if<graph::SparseTensorType>(&type.kind)) {
      message(M::kSparseTensorTypeFieldNumber, static_cast<const graph::TensorType&>(*sparse));
    }
    if (const auto* held = std::get_if<graph::SequenceType>(&type.kind))
      message(M::kSequenceTypeFieldNumber, *held);
    if (const auto* held = std::get_if<graph::OptionalType>(&type.kind))
      message(M::kOptionalTypeFieldNumber, *held);
    if (const auto* held = std::get_if<graph::MapType>(&type.kind)) message(M::kMapTypeFieldNumber, *held);
    if (const auto* held = std::get_if<graph::OpaqueType>(&type.kind))
      message(M::kOpaqueTypeFieldNumber, *held);
    text(M::kDenotationFieldNumber, type.denotation);
    extra(type.extra);
  }

  // SparseTensorType has the same fields with the same numbers.
  void operator()(const graph::TensorType& type) {
    number(wire::Type::TensorType::kElemTypeFieldNumber, type.element);
    if (type.shape) message(wire::Type::TensorType::kShapeFieldNumber, *type.shape);
    extra(type.extra);
  }

  void operator()(const graph::Shape& shape) {
    each(wire::TensorShape::kDimFieldNumber, shape.dims);
    extra(shape.extra);
  }

  void operator()(const graph::Dimension& dim) {
    using M = wire::TensorShape::Dimension;
    if (dim.known()) out_.varint(M::kDimValueFieldNumber, signed_varint(dim.size()));
    if (const auto* name = std::get_if<std::string>(&dim.value)) string(M::kDimParamFieldNumber, *name);
    text(M::kDenotationFieldNumber, dim.denotation);
    extra(dim.extra);
  }

  void operator()(const graph::SequenceType& type) {
    if (type.element.get()) message(wire::Type::Sequence::kElemTypeFieldNumber, *type.element.get());
    extra(type.extra);
  }

  void operator()(const graph::OptionalType& type) {
    if (type.element.get()) message(wire::Type::Optional::kElemTypeFieldNumber, *type.element.get());
    extra(type.extra);
  }

  void operator()(const graph::MapType& type) {
    number(wire::Type::Map::kKeyTypeFieldNumber, type.key);
    if (type.value.get()) message(wire::Type::Map::kValueTypeFieldNumber, *type.value.get());
    extra(type.extra);
  }

  void operator()(const graph::OpaqueType& type) {
    text(wire::Type::Opaque::kDomainFieldNumber, type.domain);
    text(wire::Type::Opaque::kNameFieldNumber, type.name);
    extra(type.extra);
  }

  template <class Part>
  void message(int field, const Part& part) {
    out_.message(field, [&] { (*this)(part); });
  }
  template <class Part>
  void each(int field, const std::vector<Part>& parts) {
    for (const Part& part : parts) message(field, part);
  }
  void string(int field, std::string_view value) { out_.bytes(field, std::as_bytes(std::span(value))); }
  void text(int field, const Text& value) {
    if (value.present()) string(field, value.str());
  }
  void strings(int field, const std::vector<std::string>& values) {
    for (const std::string& value : values) string(field, value);
  }
  template <class Number>
  void number(int field, const std::optional<Number>& value) {
    if (value) out_.varint(field, signed_varint(*value));
  }
  void numbers(int field, const std::vector<std::int64_t>& values) {
    for (const std::int64_t value : values) out_.varint(field, signed_varint(value));
  }
  void extra(const graph::Extra& extra) { out_.raw(extra.bytes()); }

  Out& out_;
  const ExternalPlan& plan_;
};

}  // namespace

Encoding::Encoding(const graph::Model& model, const ExternalPlan& plan) : model_(model), plan_(plan) {
  Sizer sizer;
  Encode<Sizer>(sizer, plan_)(model_);
  size_ = sizer.total();
  lengths_ = std::move(sizer).take_lengths();
}

Result<void> Encoding::write(const Sink& sink) const {
  Emitter emitter(lengths_, sink);
  Encode<Emitter>(emitter, plan_)(model_);
  return emitter.finish();
}

}  // namespace anybit::onnx
