// Affine integers, int2…int16 and uint2…uint16; docs/formats.md#affine. The scale is computed from a range in
// double, then rounded to float32; quantized values come from a float32 division.
#include "formats/affine.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/log.hpp"
#include "formats/minifloat.hpp"
#include "formats/sums.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

constexpr std::string_view kScaleKinds[] = {
    "float32", "float16", "bfloat16", "power_of_two", "power_of_two_ceil", "multiplier31", "multiplier15"};
constexpr float kLargest = std::numeric_limits<float>::max();

float truncated(float scale, int bits) { return float_of(bits_of(scale) & ~((1u << (24 - bits)) - 1)); }

// Rounds the significand half to even; saturates instead of overflowing.
float rounded(float scale, int bits) {
  const std::uint32_t unit = 1u << (24 - bits);
  const bool odd = (bits_of(scale) & unit) != 0;
  const float up = float_of((bits_of(scale) + unit / 2 - (odd ? 0 : 1)) & ~(unit - 1));
  return is_finite(up) ? up : truncated(scale, bits);
}

// A scale of that kind within the range of float32.
float limited(float scale, int steps, ScaleKind kind) {
  return truncated(within_float32(scale, static_cast<double>(steps)), significant_bits(kind));
}

Result<std::shared_ptr<const Codec>> make_codec(AffineLayout layout, const Values& values) {
  layout.symmetric = flag(values, "symmetric");
  const std::string& narrow = word(values, "narrow");
  layout.narrow = narrow == "auto" ? layout.symmetric && layout.is_signed : narrow == "true";
  const auto kind = static_cast<ScaleKind>(
      std::find(std::begin(kScaleKinds), std::end(kScaleKinds), word(values, "scale_kind")) -
      std::begin(kScaleKinds));
  return std::make_shared<const AffineCodec>(layout, kind, static_cast<float>(real(values, "eps")));
}

// Storage for the names and summaries that descriptors refer to.
struct Texts {
  std::string name, summary;
};

std::vector<std::string_view> other_names(int bits, bool is_signed) {
  if (bits == 4)
    return is_signed ? std::vector<std::string_view>{"i4", "s4", "q4"} : std::vector<std::string_view>{"u4"};
  if (bits == 8)
    return is_signed ? std::vector<std::string_view>{"i8", "s8", "q8", "qint8"}
                     : std::vector<std::string_view>{"u8", "quint8"};
  if (bits == 16)
    return is_signed ? std::vector<std::string_view>{"i16", "s16"} : std::vector<std::string_view>{"u16"};
  return {};
}

Descriptor integer(const Texts& texts, int bits, bool is_signed) {
  return {.name = texts.name,
          .family = "affine",
          .summary = texts.summary,
          .parameters =
              {{"symmetric", is_signed, "fixed zero point, range symmetric around it"},
               {"narrow",
                std::string("auto"),
                "leave out the lowest code, so that -q exists for each q; auto: if symmetric and signed",
                0,
                0,
                {"auto", "true", "false"}},
               {"scale_kind",
                std::string("float32"),
                "type of the scale; power_of_two is the nearest by logarithm",
                0,
                0,
                {std::begin(kScaleKinds), std::end(kScaleKinds)}},
               {"eps", 0.0, "minimum of the scale, before it is rounded to its kind", 0, 1}},
          .granularity = Granularity::tensor,
          .other_names = other_names(bits, is_signed),
          .make = [bits, is_signed](const Values& values) {
            return make_codec({.bits = bits, .is_signed = is_signed}, values);
          }};
}

}  // namespace

int significant_bits(ScaleKind kind) {
  switch (kind) {
    case ScaleKind::float16:
      return 11;
    case ScaleKind::bfloat16:
      return 8;
    case ScaleKind::power_of_two:
    case ScaleKind::power_of_two_ceil:
      return 1;
    case ScaleKind::multiplier15:
      return 15;
    case ScaleKind::float32:
    case ScaleKind::multiplier31:
      break;
  }
  return 24;
}

float scale_of_kind(float scale, ScaleKind kind) {
  scale = std::max(scale, kSmallestScale);
  switch (kind) {
    case ScaleKind::float32:
    case ScaleKind::multiplier31:
      break;
    case ScaleKind::float16:
      scale = kFloat16.decode(kFloat16.encode(scale, true, Rounding::half_even, 0));
      return std::max(scale, static_cast<float>(kFloat16.smallest()));
    case ScaleKind::bfloat16:
    case ScaleKind::multiplier15:
      return rounded(scale, significant_bits(kind));
    case ScaleKind::power_of_two:
      return power_of_two(std::min(nearest_exponent(scale), 127));
    case ScaleKind::power_of_two_ceil:
      return power_of_two(std::min(exponent_of(std::nextafter(scale, 0.0f)) + 1, 127));
  }
  return scale;
}

AffineParameters AffineCodec::parameters(ConstWords words) const {
  return {float_of(words[0]), layout_.symmetric ? layout_.fixed_zero_point() : static_cast<int>(words[1])};
}

void AffineCodec::write(AffineParameters parameters, Words words) const {
  words[0] = bits_of(parameters.scale);
  if (!layout_.symmetric) words[1] = static_cast<std::uint32_t>(parameters.zero_point);
}

Properties AffineCodec::properties() const {
  // Any zero point is possible; the one nearest to zero is used.
  const int zero_point = layout_.symmetric ? layout_.fixed_zero_point() : std::max(layout_.lowest(), 0);
  return {.bits = layout_.bits,
          .largest = static_cast<double>(layout_.highest() - zero_point),
          .lowest = static_cast<double>(layout_.lowest() - zero_point),
          .smallest = 1,
          .zero = true,
          .layout = layout_.is_signed ? "s " + std::string(static_cast<std::size_t>(layout_.bits - 1), 'i')
                                      : std::string(static_cast<std::size_t>(layout_.bits), 'i')};
}

std::vector<Field> AffineCodec::fields(std::int64_t) const {
  Field scale{.name = "scale"};
  if (kind_ == ScaleKind::float16) scale.store = Field::Store::float16;
  if (kind_ == ScaleKind::bfloat16) scale.store = Field::Store::bfloat16;
  if (scale.store != Field::Store::float32) scale.stored_bits = 16;
  if (layout_.symmetric) return {scale};
  return {scale, {.name = "zero_point", .store = Field::Store::int32, .stored_bits = layout_.bits}};
}

float within_float32(float scale, double steps) {
  const double limit = static_cast<double>(kLargest) / steps;
  if (static_cast<double>(scale) <= limit) return scale;
  const auto nearest = static_cast<float>(limit);
  return static_cast<double>(nearest) > limit ? std::nextafter(nearest, 0.0f) : nearest;
}

AffineParameters AffineCodec::for_range(Range range) const {
  const int lowest = layout_.lowest(), highest = layout_.highest(), middle = layout_.fixed_zero_point();
  const double low = std::min(range.low, 0.0f), high = std::max(range.high, 0.0f);
  const double width = layout_.symmetric ? std::max(-low, high) : high - low;
  if (width == 0) return {0, layout_.symmetric ? middle : lowest};
  const int steps = layout_.symmetric ? highest - middle : highest - lowest;
  const float scale = scale_of_kind(std::max(static_cast<float>(width / steps), eps_), kind_);
  if (layout_.symmetric) return {limited(scale, steps, kind_), middle};
  const double zero = lowest - static_cast<double>(static_cast<float>(low) / scale);
  const auto zero_point = static_cast<int>(
      std::nearbyint(std::clamp(zero, static_cast<double>(lowest), static_cast<double>(highest))));
  const int reach = std::max(highest - zero_point, zero_point - lowest);
  return {limited(scale, reach, kind_), zero_point};
}

void AffineCodec::choose(std::span<const float> values, Words words) const {
  write(for_range(finite_range(values)), words);
}

Result<void> AffineCodec::choose_from_range(Range range, Words words) const {
  TRY(check_range(range));
  write(for_range(range), words);
  settle(words, static_cast<std::int64_t>(words.size()));
  return {};
}

void AffineCodec::settle(Words all, std::int64_t stride) const { settle_scales(all, stride); }

void settle_scales(Words all, std::int64_t stride) {
  float largest = 0;
  const auto step = static_cast<std::size_t>(stride);
  for (std::size_t i = 0; i < all.size(); i += step) largest = std::max(largest, float_of(all[i]));
  const std::uint32_t stand_in = bits_of(largest > 0 ? largest : 1.0f);
  for (std::size_t i = 0; i < all.size(); i += step) {
    if (all[i] == 0) all[i] = stand_in;
  }
}

Result<void> AffineCodec::check(ConstWords words) const {
  const auto [scale, zero_point] = parameters(words);
  TRY(check_scale(scale));
  const int lowest = layout_.lowest(), highest = layout_.highest();
  if (zero_point < lowest || zero_point > highest) {
    return invalid_argument(fmt::format("zero point {} is not a code of {} bits", zero_point, layout_.bits),
                            fmt::format("from {} to {}", lowest, highest));
  }
  return {};
}

void AffineCodec::encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const {
  const auto [scale, zero_point] = parameters(words);
  const double low = layout_.lowest() - zero_point, high = layout_.highest() - zero_point;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float quotient = values[i] / scale;
    const double steps = is_nan(quotient) ? 0.0 : std::clamp(draw(quotient, i), low, high);
    codes[i] = layout_.code_of(static_cast<int>(steps) + zero_point);
  }
}

std::optional<Scaled> AffineCodec::scaled(ConstWords words) const {
  const auto [scale, zero_point] = parameters(words);
  return Scaled{scale, layout_.symmetric ? 0.0f : static_cast<float>(zero_point)};
}

void AffineCodec::set_neutral(Words words) const { write({1, 0}, words); }

void AffineCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const auto [scale, zero_point] = parameters(words);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    values[i] = static_cast<float>(layout_.integer_of(codes[i]) - zero_point) * scale;
  }
}

Range AffineCodec::range(ConstWords words) const {
  const auto [scale, zero_point] = parameters(words);
  return {static_cast<float>(layout_.lowest() - zero_point) * scale,
          static_cast<float>(layout_.highest() - zero_point) * scale};
}

std::span<const Descriptor> affine_descriptors() {
  constexpr int kFewest = 2, kMost = 16;
  static const auto texts = [] {
    std::vector<Texts> list;
    for (int bits = kFewest; bits <= kMost; ++bits) {
      list.push_back({fmt::format("int{}", bits), fmt::format("{}-bit signed integers with a scale", bits)});
      list.push_back({fmt::format("uint{}", bits),
                      fmt::format("{}-bit unsigned integers with a scale and a zero point", bits)});
    }
    return list;
  }();
  static const auto all = [] {
    std::vector<Descriptor> list;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      list.push_back(integer(texts[i], kFewest + static_cast<int>(i / 2), i % 2 == 0));
    }
    return list;
  }();
  return all;
}

}  // namespace anybit::formats
