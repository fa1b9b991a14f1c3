// Binary: +1 for x >= 0, otherwise -1; or 1 for x > 0, otherwise 0; docs/formats.md#binary.
#include "formats/binary.hpp"

#include "base/error.hpp"
#include "formats/mase.hpp"
#include "formats/sums.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

// True with probability clip((x + 1) / 2, 0, 1): (x + 1) / 2 · 2^32 > noise, written so that nothing rounds.
bool drawn(float x, std::uint32_t noise) {
  return x * wide_power_of_two(31) > static_cast<double>(noise) - wide_power_of_two(31);
}

}  // namespace

Properties BinaryCodec::properties() const {
  return {.bits = 1,
          .largest = 1,
          .lowest = bipolar_ ? -1.0 : 0.0,
          .smallest = 1,
          .zero = !bipolar_,
          .layout = bipolar_ ? "s" : "i"};
}

std::vector<Field> BinaryCodec::fields(std::int64_t) const {
  if (!scaled_) return {};
  return {{.name = "scale"}};
}

void BinaryCodec::choose(std::span<const float> values, Words words) const {
  if (!scaled_) return;
  // A group of zeros gets the smallest scale, so that ±scale is as near to zero as possible.
  const auto mean = static_cast<float>(sum_magnitudes(values).mean());
  words[0] = bits_of(std::max(mean, kSmallestScale));
}

Result<void> BinaryCodec::check(ConstWords words) const {
  return scaled_ ? check_scale(float_of(words[0])) : Result<void>();
}

void BinaryCodec::encode(std::span<const float> values, ConstWords, Draw draw, Code16* codes) const {
  const bool stochastic = draw.rounding == Rounding::stochastic && draw.noise != nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = values[i];
    const bool up = stochastic ? drawn(x, draw.noise[i]) : bipolar_ ? x >= 0 : x > 0;
    codes[i] = up || is_nan(x) ? 1 : 0;
  }
}

std::optional<Scaled> BinaryCodec::scaled(ConstWords words) const { return Scaled{high(words)}; }

void BinaryCodec::set_neutral(Words words) const {
  if (scaled_) words[0] = bits_of(1.0f);
}

void BinaryCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const float one = high(words), other = low(words);
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] = (codes[i] & 1) != 0 ? one : other;
}

std::span<const Descriptor> binary_descriptors() {
  static const Descriptor all[] = {
      {.name = "binary",
       .family = "binary",
       .summary = "one bit per value: the sign",
       .parameters = {{"bipolar", true, "+1 (x >= 0) and -1; false: 1 (x > 0) and 0"},
                      {"scale",
                       std::string("none"),
                       "mean: times the mean of |x|, or 2^-126 if that is less",
                       0,
                       0,
                       {"none", "mean"}},
                      mase::profile_parameter()},
       .granularity = Granularity::tensor,
       .other_names = {"bool", "bnn", "bit", "int1"},
       .vanishing = true,
       .multiplied = true,
       .make = [](const Values& values) -> Result<std::shared_ptr<const Codec>> {
         const bool bipolar = flag(values, "bipolar");  // MASE scales 0 and 1
         return std::make_shared<const BinaryCodec>(
             bipolar, word(values, "scale") == "mean" || (mase::is_mase(values) && !bipolar));
       }},
  };
  return all;
}

}  // namespace anybit::formats
