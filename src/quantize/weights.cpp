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
#include "refine/range_search.hpp"

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

// A tensor's codec for single values.
class GroupedCodec {
 public:
  GroupedCodec(const TensorCodec& codec, const GroupParameters& chosen)
      : codec_(codec.codec()), grouping_(codec.grouping()), chosen_(chosen), stride_(codec.stride()) {
    draw_.rounding =
        codec.rounding() == formats::Rounding::stochastic ? formats::Rounding::half_even : codec.rounding();
  }

  struct Place {
    std::int64_t group = 0, in_group = 0, size = 1;  // size: of the group
  };
  Place place_of(std::int64_t at) const {
    Place place;
    std::int64_t grid = 1, box = 1;
    for (std::size_t d = grouping_.dims.size(); d-- > 0;) {
      const std::int64_t index = at % grouping_.dims[d], first = index / grouping_.box[d];
      at /= grouping_.dims[d];
      place.group += first * grid;
      grid *= grouping_.grid[d];
      place.in_group += (index - first * grouping_.box[d]) * box;
      const std::int64_t extent = std::min(grouping_.box[d], grouping_.dims[d] - first * grouping_.box[d]);
      box *= extent;
      place.size *= extent;
    }
    return place;
  }
  float nearest(std::int64_t at, float x) const {
    const Place place = place_of(at);
    const formats::ConstWords words(chosen_.data() + static_cast<std::size_t>(place.group) * stride_,
                                    stride_);
    return codec_.independent() ? single(x, words) : among(x, words, place.in_group, place.size);
  }

 private:
  float single(float x, formats::ConstWords words) const {
    formats::Code16 code = 0;
    float result = 0;
    codec_.encode({&x, 1}, words, draw_, &code);
    codec_.decode({&code, 1}, words, &result);
    return result;
  }
  // The place in the group matters.
  float among(float x, formats::ConstWords words, std::int64_t at, std::int64_t size) const {
    std::vector<float> values(static_cast<std::size_t>(size)), result(values.size());
    values[static_cast<std::size_t>(at)] = x;
    codec_.quantize(values, words, draw_, result.data());
    return result[static_cast<std::size_t>(at)];
  }

  const formats::Codec& codec_;
  const formats::Grouping& grouping_;
  const GroupParameters& chosen_;
  std::size_t stride_;
  formats::Draw draw_;
};

// The parameters with the least squared error of each group's values, weighted by `importance`, unless empty.
GroupParameters searched_words(const TensorCodec& codec, std::span<const float> values,
                               std::span<const float> importance, ThreadPool& pool) {
  GroupParameters best = codec.choose(values, pool);
  if (best.empty()) return best;
  const GroupedCodec places(codec, best);
  std::vector<std::uint32_t> groups(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    groups[i] = static_cast<std::uint32_t>(places.place_of(static_cast<std::int64_t>(i)).group);
  const auto chosen = [&](std::size_t which, ThreadPool& with) {
    std::vector<float> scaled(values.size());
    const auto factor = static_cast<float>(range_factors()[which]);
    for (std::size_t i = 0; i < scaled.size(); ++i) scaled[i] = values[i] * factor;
    return codec.choose_for(scaled, values, with);
  };
  const auto errors = [&](std::size_t which, std::span<double> sums) {
    ThreadPool alone(1);
    std::vector<float> rounded(values.size());
    codec.quantize(values, chosen(which, alone), rounded.data(), alone);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto error = static_cast<double>(values[i] - rounded[i]);
      sums[groups[i]] += (importance.empty() ? 1 : static_cast<double>(importance[i])) * error * error;
    }
  };
  const auto which =
      best_factors(static_cast<std::size_t>(codec.grouping().groups()), ErrorsAt(errors), pool);
  for (std::size_t i = 1; i < range_factors().size(); ++i) {
    if (std::ranges::count(which, i) == 0) continue;
    const GroupParameters words = chosen(i, pool);
    for (std::size_t group = 0; group < which.size(); ++group) {
      if (which[group] != i) continue;
      const auto at = static_cast<std::ptrdiff_t>(group * codec.stride());
      std::copy_n(words.begin() + at, codec.stride(), best.begin() + at);
    }
  }
  return best;
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
  const GroupedCodec grouped_codec(codec, chosen);
  const auto at = [&](std::int64_t place, std::int64_t step, std::span<const float> from,
                      std::span<float> to) {
    for (std::size_t i = 0; i < from.size(); ++i, place += step) {
      const float one = grouped_codec.nearest(place, from[i]);
      to[i] = std::isfinite(one) ? one : rounded[static_cast<std::size_t>(place)];
    }
  };
  const Neighbours near(neighbours);
  const Nearest any(nearest);
  const NearestAt single(at);
  note.rounding.round({values.data(), outputs, near, &any, kept, pool, &single});
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
  const GroupParameters chosen =
      note.rounding.ranges
          ? searched_words(codec, values,
                           importance_of(note.rounding, outputs_of(note.tensor->dims, note.outputs_axis)),
                           pool)
          : codec.choose_and_pack(values, packed.data(), pool);
  if (note.rounding.ranges) codec.encode_packed(values, chosen, packed.data(), pool);
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

namespace {

bool is_same(const ConstantNote& a, const ConstantNote& b) {
  return a.spec == b.spec && a.grouped == b.grouped && a.turned == b.turned && a.rounding == b.rounding &&
         a.rounding.collected == b.rounding.collected && a.outputs_axis == b.outputs_axis &&
         a.order == b.order && a.bounded == b.bounded;
}

}  // namespace

Result<QuantizedWeight> QuantizedWeights::quantize(const ConstantNote& note, std::span<const double> least,
                                                   ThreadPool& pool) {
  if (!note.rounding && !note.rounding.ranges) return quantize_weight(note, least, pool);  // fast enough
  const Bytes& data = note.tensor->data;
  const auto [begin, end] = known_.equal_range(data.data());
  for (auto one = begin; one != end; ++one) {
    const Known& known = one->second;
    if (known.data.size() != data.size() || !is_same(known.note, note) ||
        !std::ranges::equal(known.least, least))
      continue;
    QuantizedWeight made = known.made;
    made.constant.name = note.name;
    made.constant.places = note.places;
    made.constant.dims = note.tensor->dims;
    made.constant.compute = note.compute;
    made.constant.apart = note.apart;
    return made;
  }
  QuantizedWeight made = TRY(quantize_weight(note, least, pool));
  known_.emplace(data.data(), Known{data, note, {least.begin(), least.end()}, made});
  return made;
}

}  // namespace anybit::quantizing
