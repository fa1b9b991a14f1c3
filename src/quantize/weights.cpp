#include "quantize/weights.hpp"

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/float_bits.hpp"
#include "kernels/codec/stored_fields.hpp"
#include "kernels/codec/tensor_codec.hpp"
#include "kernels/reduce/losses.hpp"
#include "quantize/parameters.hpp"

namespace anybit::quantizing {
namespace {

constexpr double kPerfect = 200;  // dB, without any error

using kernels::TensorCodec;

Result<TensorCodec> codec_of(const ConstantNote& note) {
  const formats::Use& use = note.spec.use;
  return TensorCodec::make(
      note.spec.format(), note.grouped,
      {.parameters = use.parameters, .grouping = use.grouping, .rounding = use.rounding});
}

graph::Tensor tensor_of(graph::ElementType type, std::vector<std::int64_t> dims, Bytes data) {
  graph::Tensor tensor;
  tensor.element = static_cast<std::int32_t>(type);
  tensor.dims = std::move(dims);
  tensor.data = std::move(data);
  return tensor;
}

// The refined values, which are values of the format. `rounded` are the nearest ones.
Result<std::vector<float>> refined(const ConstantNote& note, const TensorCodec& codec,
                                   const GroupParameters& chosen, std::span<const float> values,
                                   std::span<const float> rounded, std::int64_t& moved, ThreadPool& pool) {
  const Outputs outputs = note.rounding ? outputs_of(note.tensor->dims, note.outputs_axis) : Outputs();
  if (outputs.count == 0) return std::vector<float>();
  std::vector<float> kept(values.size()), other(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) kept[i] = mirrored(values[i], rounded[i]);
  codec.quantize(kept, chosen, other.data(), pool);
  for (std::size_t i = 0; i < other.size(); ++i) {  // out of range there may be Inf or NaN
    if (!std::isfinite(rounded[i])) return std::vector<float>();
    if (!std::isfinite(other[i])) other[i] = rounded[i];
  }
  const auto neighbours = [&](std::int64_t at, std::span<const float>, std::span<float> nearest,
                              std::span<float> beyond) {
    auto from = static_cast<std::size_t>(at);
    for (std::size_t i = 0; i < nearest.size(); ++i, from += static_cast<std::size_t>(outputs.step)) {
      nearest[i] = rounded[from];
      beyond[i] = other[from];
    }
  };
  const auto nearest = [&](std::span<const float> from, std::span<float> to) {
    codec.quantize(from, chosen, to.data(), pool);
  };
  const Neighbours near(neighbours);
  const Nearest any(nearest);
  note.rounding.round({values.data(), outputs, near, &any, kept, pool});
  for (std::size_t i = 0; i < kept.size(); ++i) moved += kept[i] != rounded[i] ? 1 : 0;
  return kept;
}

// A weight in any format, packed.
Result<QuantizedWeight> packed_weight(const ConstantNote& note, ThreadPool& pool) {
  const TensorCodec codec = TRY(codec_of(note));
  TRY(codec.codec().packable());
  const Bytes held = note.tensor->data.aligned(alignof(float));
  const std::span values(reinterpret_cast<const float*>(held.data()), held.size() / sizeof(float));
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(codec.packed_bytes()));
  if (auto finite = codec.check_finite(values, pool); !finite.ok())
    return std::move(finite).error().within(note.name);
  const GroupParameters chosen = codec.choose_and_pack(values, packed.data(), pool);
  std::vector<float> decoded(values.size());
  codec.decode_packed(packed.data(), chosen, decoded.data(), pool);
  QuantizedWeight result;
  if (const auto kept = TRY(refined(note, codec, chosen, values, decoded, result.moved, pool));
      result.moved > 0) {
    std::vector<std::uint8_t> quantized(packed.size());
    std::vector<float> again(values.size());
    codec.encode_packed(kept, chosen, quantized.data(), pool);
    codec.decode_packed(quantized.data(), chosen, again.data(), pool);
    // Some encodings do not reproduce values of the format (ternary without a scale, stochastic rounding).
    if (again == kept) {
      packed = std::move(quantized);
      decoded = std::move(again);
    } else {
      result.moved = 0;
    }
  }
  const Losses losses = kernels::losses(codec, values, chosen, decoded, pool);
  result.sqnr = std::min(losses.sqnr, kPerfect);
  lower::Constant& constant = result.constant;
  constant.quantized =
      tensor_of(graph::ElementType::uint8, codec.packed_dims(), Bytes::own(std::move(packed)));
  for (StoredField& field : kernels::store(codec, chosen)) {
    const graph::ElementTypeInfo* type = graph::find_element_type(field.type);
    constant.fields.push_back(tensor_of(type->type, field.dims, Bytes::own(std::move(field.bytes))));
    constant.fields.back().name = graph::Text(field.name);
  }
  result.bytes = bytes_of(constant);
  return result;
}

// A weight in fixed point above 16 bits: int32, and a power of two as its scale.
Result<QuantizedWeight> wide_weight(const ConstantNote& note, const formats::FixedCodec& format,
                                    ThreadPool& pool) {
  const TensorCodec codec = TRY(codec_of(note));
  const Bytes held = note.tensor->data.aligned(alignof(float));
  const std::span values(reinterpret_cast<const float*>(held.data()), held.size() / sizeof(float));
  if (auto finite = codec.check_finite(values, pool); !finite.ok())
    return std::move(finite).error().within(note.name);
  std::vector<float> rounded(values.size());
  codec.quantize(values, {}, rounded.data(), pool);
  const int places = format.frac({});
  std::vector<std::int32_t> integers;
  integers.reserve(rounded.size());
  // The nearest float32 to the largest integer may be one more.
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  for (const float x : rounded)
    integers.push_back(static_cast<std::int32_t>(std::min(x * formats::wide_power_of_two(places), kMost)));
  QuantizedWeight result;
  result.sqnr = std::min(kernels::losses(codec, values, {}, rounded, pool).sqnr, kPerfect);
  lower::Constant& constant = result.constant;
  constant.quantized = lower::code_tensor(graph::ElementType::int32, note.tensor->dims, integers, note.name);
  constant.parameters = {
      .type = graph::ElementType::int32, .scales = {formats::power_of_two(-places)}, .zero_points = {0}};
  result.bytes = bytes_of(constant);
  return result;
}

// A weight in an ONNX integer type.
Result<QuantizedWeight> linear_weight(const ConstantNote& note, std::span<const double> least,
                                      ThreadPool& pool) {
  graph::Tensor seen = *note.tensor;
  seen.dims = note.grouped;
  QuantizedConstant made =
      TRY(quantize_constant(seen, note.spec, note.spec.use.grouping.axis.value_or(0), least, pool,
                            note.rounding, note.outputs_axis, note.bounded ? &*note.order : nullptr));
  QuantizedWeight result;
  result.raised = made.raised;
  result.moved = made.moved;
  result.sqnr = made.noise > 0 ? 10 * std::log10(made.signal / made.noise) : kPerfect;
  lower::Constant& constant = result.constant;
  constant.quantized = std::move(made.quantized);
  constant.parameters = std::move(made.parameters);
  constant.quantized.dims =
      note.turned ? note.tensor->dims : lower::fit(constant.parameters, note.grouped, note.tensor->dims);
  result.bytes = bytes_of(constant);
  return result;
}

}  // namespace

std::int64_t bytes_of(const lower::Constant& constant) {
  auto bytes = static_cast<std::int64_t>(constant.quantized.data.size());
  for (const graph::Tensor& field : constant.fields) bytes += static_cast<std::int64_t>(field.data.size());
  const lower::Parameters& parameters = constant.parameters;
  const int bits = graph::find(parameters.type)->bits;
  return bytes + std::ssize(parameters.scales) * 4 + (std::ssize(parameters.zero_points) * bits + 7) / 8;
}

Result<std::shared_ptr<const formats::FixedCodec>> wide_format(const formats::Use& use) {
  auto codec =
      std::dynamic_pointer_cast<const formats::FixedCodec>(TRY(formats::make(use.format, use.parameters)));
  return codec && !codec->packable().ok() ? codec : nullptr;
}

Result<QuantizedWeight> quantize_weight(const ConstantNote& note, std::span<const double> least,
                                        ThreadPool& pool) {
  const bool linear = note.spec.is_integer() && note.spec.has_own_type();
  const auto wide = TRY(wide_format(note.spec.use));
  QuantizedWeight result = TRY(wide     ? wide_weight(note, *wide, pool)
                               : linear ? linear_weight(note, least, pool)
                                        : packed_weight(note, pool));
  lower::Constant& constant = result.constant;
  constant.name = note.name;
  constant.places = note.places;
  constant.use = note.spec.use;
  constant.grouped = note.grouped;
  constant.dims = note.tensor->dims;
  constant.compute = note.compute;
  constant.apart = note.apart;
  return result;
}

}  // namespace anybit::quantizing
