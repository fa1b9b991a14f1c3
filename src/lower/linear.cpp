#include "lower/linear.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/scaled.hpp"
#include "graph/node.hpp"
#include "lower/standard.hpp"
#include "ops/convert.hpp"
#include "ops/node_attributes.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "ops/raise.hpp"
#include "portable/to_operators.hpp"

namespace anybit::lower {
namespace {

using formats::Code16;
using graph::ElementType;

// Maps the codes of a format to values of an ONNX type. Value of the format = value of the type · 2^exponent.
struct Mapping {
  ElementType type = ElementType::undefined;
  int exponent = 0;
  std::vector<std::int32_t> codes;  // indexed by the code of the format
};

constexpr ElementType kIntegers[] = {ElementType::int2,  ElementType::uint2, ElementType::int4,
                                     ElementType::uint4, ElementType::int8,  ElementType::uint8,
                                     ElementType::int16, ElementType::uint16};
constexpr ElementType kFloats[] = {ElementType::float4e2m1, ElementType::float8e4m3fn,
                                   ElementType::float8e5m2, ElementType::float8e4m3fnuz,
                                   ElementType::float8e5m2fnuz};

bool is_float(ElementType type) { return std::ranges::find(kFloats, type) != std::end(kFloats); }

// The values of all codes if groups share only a scale and a zero point; otherwise empty.
std::vector<float> values_of(const formats::Codec& codec) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(codec.words(1)));
  codec.set_neutral(words);
  // Formats whose elements have scales of their own inside a group do not fit one scale per block.
  const auto scaled = codec.scaled(words);
  if (!scaled || !scaled->halved.empty()) return {};
  std::vector<Code16> codes(std::size_t{1} << codec.bits());
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<Code16>(i);
  std::vector<float> values(codes.size());
  codec.decode(codes, words, values.data());
  return values;
}

bool counts(float value) { return std::isfinite(value) && value != 0; }

// The exponent of the lowest set bit of a nonzero value.
int lowest_bit(float value) {
  constexpr int kDigits = 24;
  int exponent = 0;
  const auto integer =
      static_cast<std::int32_t>(std::ldexp(std::frexp(std::fabs(value), &exponent), kDigits));
  return exponent - kDigits + std::countr_zero(static_cast<std::uint32_t>(integer));
}

// Returns true if the steps between sorted values are equal: uneven steps are those of a floating-point
// format.
bool even(std::vector<std::int32_t> codes) {
  std::ranges::sort(codes);
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  for (std::size_t i = 2; i < codes.size(); ++i) {
    if (codes[i] - codes[i - 1] != codes[1] - codes[0]) return false;
  }
  return true;
}

std::optional<Mapping> as_integers(std::span<const float> values) {
  constexpr double kLargest = 65535;
  std::optional<int> lowest;
  for (const float value : values) {
    if (counts(value)) lowest = std::min(lowest.value_or(lowest_bit(value)), lowest_bit(value));
  }
  Mapping mapping;
  mapping.exponent = lowest.value_or(0);
  std::vector<std::int32_t> meant;  // of the codes with a finite value
  for (const float value : values) {
    const double integer =
        std::isfinite(value) ? std::ldexp(static_cast<double>(value), -mapping.exponent) : 0;
    if (std::abs(integer) > kLargest) return std::nullopt;
    mapping.codes.push_back(static_cast<std::int32_t>(integer));
    if (std::isfinite(value)) meant.push_back(mapping.codes.back());
  }
  if (meant.empty() || !even(meant)) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(meant);
  for (const ElementType type : kIntegers) {
    const graph::IntegerRange range = graph::integer_range(type);
    if (low < range.low || high > range.high) continue;
    mapping.type = type;
    return mapping;
  }
  return std::nullopt;
}

float smallest_positive(std::span<const float> values) {
  float smallest = HUGE_VALF;
  for (const float value : values) {
    if (value > 0) smallest = std::min(smallest, value);
  }
  return smallest;
}

std::optional<Mapping> as_floats(std::span<const float> values, ElementType type) {
  const std::size_t count = std::size_t{1} << graph::find(type)->bits;
  if (values.size() != count) return std::nullopt;
  const std::span known(ops::small_float_values(type), count);
  Mapping mapping{type, std::ilogb(smallest_positive(values)) - std::ilogb(smallest_positive(known)), {}};
  for (const float value : values) {
    if (!std::isfinite(value)) {
      mapping.codes.push_back(0);
      continue;
    }
    const auto wanted = std::bit_cast<std::uint32_t>(std::ldexp(value, -mapping.exponent));
    const auto found =
        std::ranges::find(known, wanted, [](float one) { return std::bit_cast<std::uint32_t>(one); });
    if (found == known.end()) return std::nullopt;
    mapping.codes.push_back(static_cast<std::int32_t>(found - known.begin()));
  }
  return mapping;
}

std::optional<Mapping> mapping_of(const formats::Codec& codec) {
  const std::vector<float> values = values_of(codec);
  if (values.empty()) return std::nullopt;
  if (auto integers = as_integers(values)) return integers;
  for (const ElementType type : kFloats) {
    if (auto floats = as_floats(values, type)) return floats;
  }
  return std::nullopt;
}

// The layout of the scales: per tensor, per channel or per block. Blocks over several axes do not occur here.
Parameters layout_of(const formats::Grouping& grouping) {
  if (grouping.groups() <= 1) return {};
  const auto others_are_one = [](const formats::Dims& extents, std::size_t axis) {
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if (d != axis && extents[d] != 1) return false;
    }
    return true;
  };
  Parameters blocks;
  for (std::size_t axis = 0; axis < grouping.dims.size(); ++axis) {
    const auto number = static_cast<std::int64_t>(axis);
    if (grouping.box[axis] == 1 && others_are_one(grouping.grid, axis))
      return {.dims = {grouping.grid[axis]}, .axis = number};
    if (others_are_one(grouping.box, axis))
      blocks = {.dims = grouping.grid, .axis = number, .block_size = grouping.box[axis]};
  }
  return blocks;
}

Parameters parameters_of(const ops::StoredWeight& weight, const Mapping& mapping) {
  Parameters parameters = layout_of(weight.codec.grouping());
  parameters.type = mapping.type;
  const std::size_t stride = weight.codec.stride();
  std::vector<std::uint32_t> neutral(stride);
  weight.codec.codec().set_neutral(neutral);
  bool shifted = false;
  // An empty tensor has no groups, but one scale.
  for (std::int64_t group = 0; group < std::max<std::int64_t>(weight.codec.grouping().groups(), 1); ++group) {
    const auto words =
        weight.codec.count() == 0
            ? formats::ConstWords(neutral)
            : std::span(weight.parameters).subspan(static_cast<std::size_t>(group) * stride, stride);
    const formats::Scaled scaled = weight.codec.codec().scaled(words).value();
    parameters.scales.push_back(std::ldexp(scaled.factor, mapping.exponent));
    parameters.zero_points.push_back(static_cast<std::int32_t>(std::ldexp(scaled.zero, -mapping.exponent)));
    shifted = shifted || scaled.zero != 0;
  }
  if (!shifted) parameters.zero_points.clear();
  return parameters;
}

// Checks that DequantizeLinear of the codes gives exactly the values of the format.
Result<void> compare(const ops::StoredWeight& weight, const Parameters& parameters,
                     std::span<const std::int32_t> codes, ThreadPool& pool) {
  std::vector<float> wanted(codes.size());
  weight.codec.decode_packed(weight.codes, weight.parameters, wanted.data(), pool);
  const Places places(weight.codec.grouping().dims, parameters);
  const float* known = is_float(parameters.type) ? ops::small_float_values(parameters.type) : nullptr;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto place = static_cast<std::size_t>(places.of(static_cast<std::int64_t>(i)));
    const std::int32_t zero = parameters.zero_points.empty() ? 0 : parameters.zero_points[place];
    const float value = known ? known[codes[i]] : static_cast<float>(codes[i] - zero);
    if (value * parameters.scales[place] == wanted[i]) continue;
    return error_at(Code::unsupported, {},
                    fmt::format("value {}, {:g}, cannot be represented as {} times a float32 scale", i,
                                wanted[i], graph::name_of(parameters.type)),
                    "--emit portable, or values farther from the limits of float32");
  }
  return {};
}

}  // namespace

Result<LinearType> linear_type(const formats::Use& use) {
  if (standard_type(use).type != ElementType::undefined) return LinearType{};
  const formats::Descriptor* format = TRY(formats::find(use.format));
  const auto codec =
      TRY(formats::codec_of(*format, TRY(formats::complete(*format, use.parameters)), use.grouping));
  const auto mapping = mapping_of(*codec);
  if (!mapping || !codec->packable().ok()) return LinearType{};
  const formats::Granularity granularity = use.grouping.granularity.value_or(format->granularity);
  return LinearType{mapping->type, opset_of(mapping->type, granularity == formats::Granularity::channel,
                                            granularity == formats::Granularity::block)};
}

Result<Constant> to_linear(const Constant& packed, ThreadPool& pool) {
  graph::Node decode;
  portable::to_operator(decode, {"Decode", packed.use});
  decode.attributes.push_back(graph::attribute("coded", packed.grouped));
  decode.attributes.push_back(graph::attribute("dims", packed.dims));
  const auto memory = ops::Memory::make();
  std::vector<ops::Array> arrays{TRY(ops::Array::from(packed.quantized, *memory))};
  for (const graph::Tensor& field : packed.fields) arrays.push_back(TRY(ops::Array::from(field, *memory)));
  std::vector<const ops::Array*> stored;
  for (const ops::Array& one : arrays) stored.push_back(&one);
  const ops::StoredWeight weight = TRY(ops::StoredWeight::of(ops::NodeAttributes(decode), nullptr, stored));

  const Mapping mapping = mapping_of(weight.codec.codec()).value();
  std::vector<Code16> unpacked(static_cast<std::size_t>(weight.codec.count()));
  weight.codec.unpack(weight.codes, unpacked.data(), pool);
  std::vector<std::int32_t> codes;
  codes.reserve(unpacked.size());
  for (const Code16 code : unpacked) codes.push_back(mapping.codes[code]);
  Constant result = packed;
  result.fields.clear();
  result.parameters = parameters_of(weight, mapping);
  TRY(compare(weight, result.parameters, codes, pool));
  const std::vector<std::int64_t> dims = fit(result.parameters, packed.grouped, packed.dims);
  result.quantized = code_tensor(mapping.type, dims, codes, packed.name);
  return result;
}

}  // namespace anybit::lower
