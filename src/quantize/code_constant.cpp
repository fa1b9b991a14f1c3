#include "quantize/code_constant.hpp"

#include <cmath>

#include "anybit/formats.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "quantize/keep_sums.hpp"

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

// The values that are to be coded in place of these, whose nearest are `rounded`: they are of the format.
Result<std::vector<float>> with_sums_kept(const CodedConstantNote& note, const TensorFormat& format,
                                          const GroupParameters& chosen, std::span<const float> values,
                                          std::span<const float> rounded, std::int64_t& moved,
                                          ThreadPool& pool) {
  const Outputs outputs = outputs_of(note.tensor->dims, note.sums_axis);
  if (outputs.count == 0) return std::vector<float>();
  std::vector<float> kept(values.size()), other(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) kept[i] = mirrored(values[i], rounded[i]);
  TRY(format.quantize(kept, chosen, other));
  for (std::size_t i = 0; i < other.size(); ++i) {  // beyond the largest there may be Inf or NaN
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
  keep_sums(values.data(), outputs, neighbours, kept.data(), pool);
  Result<void> done;
  const auto nearest = [&](std::span<const float> from, std::span<float> to) {
    if (done.ok()) done = format.quantize(from, chosen, to);
  };
  trim_sums(values.data(), outputs, nearest, kept);
  TRY(done);
  for (std::size_t i = 0; i < kept.size(); ++i) moved += kept[i] != rounded[i] ? 1 : 0;
  return kept;
}

}  // namespace

Result<CodedWeight> code_constant(const CodedConstantNote& note, ThreadPool& pool) {
  const TensorFormat format = TRY(format_of(note, pool.threads()));
  const Bytes held = note.tensor->data.aligned(alignof(float));
  const std::span values(reinterpret_cast<const float*>(held.data()), held.size() / sizeof(float));
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(format.packed_bytes()));
  auto chosen = format.choose_and_pack(values, packed);
  if (!chosen.ok()) return std::move(chosen).error().within(note.name);
  std::vector<float> decoded(values.size());
  TRY(format.decode_packed(packed, *chosen, decoded));
  CodedWeight result;
  if (const auto kept = TRY(with_sums_kept(note, format, *chosen, values, decoded, result.moved, pool));
      result.moved > 0) {
    std::vector<std::uint8_t> codes(packed.size());
    std::vector<float> again(values.size());
    TRY(format.encode_packed(kept, *chosen, codes));
    TRY(format.decode_packed(codes, *chosen, again));
    // Not every encoding gives a value of the format back (ternary without a scale, random rounding).
    if (again == kept) {
      packed = std::move(codes);
      decoded = std::move(again);
    } else {
      result.moved = 0;
    }
  }
  const Losses losses = TRY(format.losses(values, *chosen, decoded));
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
