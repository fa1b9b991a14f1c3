// Ternary: +1 for x > δ, -1 for x < -δ, otherwise 0; docs/formats.md#ternary.
#include "formats/ternary.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "formats/mase.hpp"
#include "formats/sums.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

constexpr std::string_view kPackings[] = {"bits", "fives"};
constexpr std::string_view kBases[] = {"mean", "median", "max"};

// The median of the finite magnitudes; for an even count the mean of the two in the middle.
double median_magnitude(std::span<const float> values) {
  std::vector<float> magnitudes;
  for (const float x : values) {
    if (is_finite(x)) magnitudes.push_back(std::fabs(x));
  }
  if (magnitudes.empty()) return 0;
  const auto middle = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 2);
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  if (magnitudes.size() % 2 == 1) return *middle;
  return (static_cast<double>(*middle) + *std::max_element(magnitudes.begin(), middle)) / 2;
}

double threshold_of(double factor, TernaryCodec::Basis basis, std::span<const float> values) {
  switch (basis) {
    case TernaryCodec::Basis::mean:
      break;
    case TernaryCodec::Basis::median:
      return factor * median_magnitude(values);
    case TernaryCodec::Basis::max:
      return factor * largest_magnitude(finite_range(values));
  }
  return sum_magnitudes(values).mean(factor);
}

// The largest float32 that is at most δ: a float32 exceeds one exactly if it exceeds the other.
float rounded_down(double delta) {
  const double largest = std::numeric_limits<float>::max();
  const auto nearest = static_cast<float>(std::min(delta, largest));
  return static_cast<double>(nearest) > delta ? std::nextafter(nearest, 0.0f) : nearest;
}

}  // namespace

Properties TernaryCodec::properties() const {
  return {.bits = 2, .largest = 1, .lowest = -1, .smallest = 1, .zero = true, .layout = "s i"};
}

std::vector<Field> TernaryCodec::fields(std::int64_t) const {
  std::vector<Field> list{{.name = "threshold", .stored_bits = 0}};
  if (scaled_) list.push_back({.name = "scale"});
  return list;
}

void TernaryCodec::choose(std::span<const float> values, Words words) const {
  const float delta = rounded_down(threshold_of(factor_, basis_, values));
  words[0] = bits_of(delta);
  if (!scaled_) return;
  // If no value exceeds the threshold, all codes are zero and any scale will do.
  const MagnitudeSum beyond = sum_magnitudes(values, delta);
  const auto mean = static_cast<float>(beyond.count > 0 ? beyond.mean() : 1.0);
  words[1] = bits_of(std::max(mean, kSmallestScale));
}

Result<void> TernaryCodec::check(ConstWords words) const {
  if (!is_finite(threshold(words)) || threshold(words) < 0) {
    return invalid_argument(fmt::format("a threshold of {:g} is not possible", threshold(words)),
                            "a finite number, 0 or more");
  }
  return check_scale(scale(words));
}

void TernaryCodec::encode(std::span<const float> values, ConstWords words, Draw, Code16* codes) const {
  const float delta = threshold(words);
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = values[i] > delta ? kPlus : values[i] < -delta ? kMinus : kZero;
  }
}

std::optional<Scaled> TernaryCodec::scaled(ConstWords words) const { return Scaled{scale(words)}; }

void TernaryCodec::set_neutral(Words words) const {
  words[0] = bits_of(0.0f);
  if (scaled_) words[1] = bits_of(1.0f);
}

void TernaryCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const float by_code[] = {0, scale(words), 0, -scale(words)};
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] = by_code[codes[i] & 3];
}

std::span<const Descriptor> ternary_descriptors() {
  static const Descriptor all[] = {
      {.name = "ternary",
       .family = "ternary",
       .summary = "-1, 0 and +1 around a threshold",
       .parameters = {{"threshold", 0.75, "the threshold in units of its basis", 0, 1e6},
                      {"basis",
                       std::string("mean"),
                       "statistic of |x| that the threshold is a multiple of",
                       0,
                       0,
                       {std::begin(kBases), std::end(kBases)}},
                      {"scale",
                       std::string("none"),
                       "mean: the mean of |x| beyond the threshold",
                       0,
                       0,
                       {"none", "mean"}},
                      {"packing",
                       std::string("bits"),
                       "bits: 2 bits per code; fives: five codes per byte",
                       0,
                       0,
                       {std::begin(kPackings), std::end(kPackings)}},
                      mase::profile_parameter()},
       .granularity = Granularity::tensor,
       .other_names = {"twn"},
       .vanishing = true,
       .make = [](const Values& values) -> Result<std::shared_ptr<const Codec>> {
         const auto basis = std::find(std::begin(kBases), std::end(kBases), word(values, "basis"));
         return std::make_shared<const TernaryCodec>(
             real(values, "threshold"), static_cast<TernaryCodec::Basis>(basis - std::begin(kBases)),
             word(values, "scale") == "mean",
             word(values, "packing") == "fives" ? Packing::fives : Packing::bits);
       }},
  };
  return all;
}

}  // namespace anybit::formats
