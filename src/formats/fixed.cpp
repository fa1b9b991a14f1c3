// Fixed point: q = clip(round(x · 2^frac)); docs/formats.md#fixed. Scales are powers of two, so there is no
// double rounding.
#include "formats/fixed.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/float_bits.hpp"
#include "formats/sums.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

// Without codes the step is a scale, a normal number.
constexpr int kMostWidePlaces = 126;

int preset_frac(const FixedLayout& layout) { return layout.bits / 2; }

// Whether every value becomes zero, for any number of fraction bits.
bool only_zero(const FixedLayout& layout, Range range) {
  return range.high <= 0 && (range.low >= 0 || !layout.is_signed);
}

// The most fraction bits for which nothing is clipped.
int widest_fit(const FixedLayout& layout, Range range) {
  int frac = layout.most_places();
  const auto fits = [&] {
    const double unit = wide_power_of_two(frac);
    return range.high * unit <= static_cast<double>(layout.highest()) &&
           (!layout.is_signed || range.low * unit >= static_cast<double>(layout.lowest()));
  };
  while (frac > layout.fewest_places() && !fits()) --frac;
  return frac;
}

struct Errors {
  double all = 0;      // squared error of all values
  double clipped = 0;  // of clipped values only; it grows with the fraction bits
};

Errors errors_at(const FixedLayout& layout, int frac, std::span<const float> values) {
  const double unit = wide_power_of_two(frac), step = wide_power_of_two(-frac);
  const auto low = static_cast<double>(layout.lowest()), high = static_cast<double>(layout.highest());
  Errors errors;

  const auto error = [&](std::size_t i, bool only_clipped) {
    // Negative values have a constant error in an unsigned format: it must not swamp the rest.
    if (!is_finite(values[i]) || (!layout.is_signed && values[i] < 0)) return 0.0;
    const double t = values[i] * unit;
    const double q = std::clamp(std::nearbyint(t), low, high);
    if (only_clipped && t >= low && t <= high) return 0.0;
    const double difference = (t - q) * step;
    return difference * difference;
  };
  errors.all = chunked_sum(values.size(), [&](std::size_t i) { return error(i, false); });
  errors.clipped = chunked_sum(values.size(), [&](std::size_t i) { return error(i, true); });
  return errors;
}

Result<std::shared_ptr<const Codec>> make_fixed(const Values& values) {
  const FixedLayout layout{integer(values, "width"), flag(values, "signed")};
  const std::string& text = word(values, "frac");
  if (text == "auto" && !layout.has_codes())
    return invalid_argument("frac = auto is not possible above 16 bits", "a number of fraction bits");
  if (text == "auto") return std::make_shared<const FixedCodec>(layout, std::nullopt);
  const int frac = text == "half" ? preset_frac(layout) : TRY(integer_or_auto(values, "frac", 0));
  const int most = layout.has_codes() ? layout.most_places() : kMostWidePlaces;
  if (frac < layout.fewest_places() || frac > most) {
    return invalid_argument(
        fmt::format("frac = {} is not possible: float32 cannot represent the values", frac),
        fmt::format("from {} to {}", layout.fewest_places(), most));
  }
  return std::make_shared<const FixedCodec>(layout, frac);
}

Descriptor fixed_point(std::string_view name, std::string_view summary) {
  return {.name = name,
          .family = "fixed",
          .summary = summary,
          .parameters = {{"width", std::int64_t{8}, "total bits; above 16 without codes", 1, 32},
                         {"frac", std::string("half"),
                          "fraction bits: an integer; half: width / 2; auto: the least squared error"},
                         {"signed", true, "two's complement"}},
          .granularity = Granularity::tensor,
          .make = make_fixed};
}

}  // namespace

Properties FixedCodec::properties() const {
  const double step = wide_power_of_two(-frac_.value_or(0));  // auto: for a unit of 1
  return {.bits = layout_.bits,
          .largest = static_cast<double>(layout_.highest()) * step,
          .lowest = static_cast<double>(layout_.lowest()) * step,
          .smallest = step,
          .zero = true,
          .layout = layout_.is_signed
                        ? fmt::format("s{}{:i<{}}", layout_.bits > 1 ? " " : "", "", layout_.bits - 1)
                        : std::string(static_cast<std::size_t>(layout_.bits), 'i')};
}

std::vector<Field> FixedCodec::fields(std::int64_t) const {
  if (frac_) return {};
  return {{.name = "frac", .store = Field::Store::int32, .stored_bits = 16}};
}

// Fewer fraction bits than fit without clipping only coarsen the steps; more are tried while their clipping
// error is below the best total error. On ties, the finer steps win. A group of zeros gets the default.
void FixedCodec::choose(std::span<const float> values, Words words) const {
  if (frac_) return;
  const Range range = finite_range(values);
  int best = preset_frac(layout_);
  if (!only_zero(layout_, range)) {
    double least = kInfinity;
    for (int frac = widest_fit(layout_, range); frac <= layout_.most_places(); ++frac) {
      const Errors errors = errors_at(layout_, frac, values);
      if (errors.clipped > least) break;
      if (errors.all <= least) {
        least = errors.all;
        best = frac;
      }
    }
  }
  words[0] = static_cast<std::uint32_t>(best);
}

Result<void> FixedCodec::choose_from_range(Range range, Words words) const {
  if (frac_) return {};
  TRY(check_range(range));
  words[0] = static_cast<std::uint32_t>(only_zero(layout_, range) ? preset_frac(layout_)
                                                                  : widest_fit(layout_, range));
  return {};
}

Result<void> FixedCodec::check(ConstWords words) const {
  if (frac_) return {};
  const int places = frac(words);
  if (places >= layout_.fewest_places() && places <= layout_.most_places()) return {};
  return invalid_argument(fmt::format("{} fraction bits are not possible", places),
                          fmt::format("from {} to {}", layout_.fewest_places(), layout_.most_places()));
}

double FixedCodec::rounded(float x, int frac, Draw draw, std::size_t i) const {
  if (is_nan(x)) return 0;
  const auto low = static_cast<double>(layout_.lowest()), high = static_cast<double>(layout_.highest());
  return std::clamp(draw(x * wide_power_of_two(frac), i), low, high);
}

void FixedCodec::encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const {
  const int places = frac(words);
  for (std::size_t i = 0; i < values.size(); ++i)
    codes[i] = layout_.code_of(static_cast<int>(rounded(values[i], places, draw, i)));
}

void FixedCodec::quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const {
  const int places = frac(words);
  const double step = wide_power_of_two(-places);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double q = rounded(values[i], places, draw, i);
    out[i] = static_cast<float>((q == 0 ? 0 : q) * step);  // there is no -0
  }
}

Result<void> FixedCodec::packable() const {
  if (layout_.has_codes()) return {};
  return error_at(Code::unsupported, {},
                  fmt::format("fixed point of {} bits is not stored as codes", layout_.bits),
                  "at most 16 bits");
}

void FixedCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const double step = wide_power_of_two(-frac(words));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    values[i] = static_cast<float>(layout_.integer_of(codes[i]) * step);
  }
}

std::optional<Scaled> FixedCodec::scaled(ConstWords words) const {
  if (frac_) return Scaled{};  // the same values in all groups
  return Scaled{static_cast<float>(wide_power_of_two(-frac(words)))};
}

void FixedCodec::set_neutral(Words words) const {
  if (!frac_) words[0] = 0;
}

Range FixedCodec::range(ConstWords words) const {
  const double step = wide_power_of_two(-frac(words));
  return {static_cast<float>(static_cast<double>(layout_.lowest()) * step),
          static_cast<float>(static_cast<double>(layout_.highest()) * step)};
}

std::optional<Ungrouped> FixedCodec::ungrouped(ConstWords words) const {
  if (!layout_.has_codes()) return std::nullopt;
  return Ungrouped{.low = static_cast<int>(layout_.lowest()),
                   .high = static_cast<int>(layout_.highest()),
                   .exponent = -frac(words)};
}

std::span<const Descriptor> fixed_descriptors() {
  static const Descriptor all[] = {
      fixed_point("fixed", "fixed point: an integer times 2^-frac"),
      fixed_point("integer", "alias of fixed"),
  };
  return all;
}

}  // namespace anybit::formats
