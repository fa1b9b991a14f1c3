#include "quantize/code_constant.hpp"

#include "anybit/formats.hpp"
#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::quantizing {
namespace {

constexpr double kPerfect = 200;  // dB, where nothing was lost

Result<TensorFormat> format_of(const CodedConstantNote& note, int threads) {
  TensorFormatOptions options = formats::options_of(note.use);
  options.threads = threads;
  return TensorFormat::make(note.use.format, note.coded, options);
}

graph::Tensor tensor_of(graph::ElementType type, std::vector<std::int64_t> dims, Bytes data) {
  graph::Tensor tensor;
  tensor.element = static_cast<std::int32_t>(type);
  tensor.dims = std::move(dims);
  tensor.data = std::move(data);
  return tensor;
}

}  // namespace

Result<CodedWeight> code_constant(const CodedConstantNote& note, int threads) {
  const TensorFormat format = TRY(format_of(note, threads));
  const Bytes held = note.tensor->data.aligned(alignof(float));
  const std::span values(reinterpret_cast<const float*>(held.data()), held.size() / sizeof(float));
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(format.packed_bytes()));
  auto chosen = format.choose_and_pack(values, packed);
  if (!chosen.ok()) return std::move(chosen).error().within(note.name);
  std::vector<float> decoded(values.size());
  TRY(format.decode_packed(packed, *chosen, decoded));
  const Losses losses = TRY(format.losses(values, *chosen, decoded));

  CodedWeight result;
  result.signal_to_noise = std::min(losses.signal_to_noise, kPerfect);
  lower::CodedConstant& constant = result.constant;
  constant.name = note.name;
  constant.places = note.places;
  constant.use = note.use;
  constant.coded = note.coded;
  constant.dims = note.tensor->dims;
  result.bytes = static_cast<std::int64_t>(packed.size());
  constant.codes = tensor_of(graph::ElementType::uint8, format.packed_dims(), Bytes::own(std::move(packed)));
  for (StoredField& field : TRY(format.store(*chosen))) {
    result.bytes += static_cast<std::int64_t>(field.bytes.size());
    const graph::ElementTypeInfo* type = graph::find_element_type(field.type);
    constant.fields.push_back(tensor_of(type->type, field.dims, Bytes::own(std::move(field.bytes))));
    constant.fields.back().name = graph::Text(field.name);
  }
  return result;
}

}  // namespace anybit::quantizing
