// Shared microexponents (mx9, mx6, mx4): block floating point with a second, one-bit exponent for each pair;
// docs/formats.md#shared-microexponents.
#include "formats/shared_micro.hpp"

#include <algorithm>
#include <cmath>

#include "base/try.hpp"
#include "formats/block.hpp"
#include "formats/sign_magnitude.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

constexpr int kExponentBias = 127;

// The effective exponent of the i-th value of a block.
int exponent_at(ConstWords words, std::size_t i) {
  const std::size_t pair = i / 2;
  return exponent_in(words[0]) - static_cast<int>((words[1 + pair / 32] >> (pair % 32)) & 1);
}

Descriptor named(std::string_view name, int magnitude_bits, std::string_view summary) {
  return {.name = name,
          .family = "shared_micro",
          .summary = summary,
          .parameters = {},
          .granularity = Granularity::block,
          .block_size = 16,
          .make = [magnitude_bits](const Values&) -> Result<std::shared_ptr<const Codec>> {
            return std::make_shared<const SharedMicroCodec>(magnitude_bits);
          }};
}

}  // namespace

int SharedMicroCodec::exponent_for(float largest) const {
  if (largest == 0) return kLowestExponent;
  return std::clamp(smallest_exponent_for(largest, magnitude_bits_), kLowestExponent, kHighestExponent);
}

bool SharedMicroCodec::shifts(float largest_of_pair, int exponent) const {
  return largest_of_pair == 0 || smallest_exponent_for(largest_of_pair, magnitude_bits_) < exponent;
}

Properties SharedMicroCodec::properties() const {
  const double largest = std::ldexp((1 << magnitude_bits_) - 1, kHighestExponent - magnitude_bits_);
  return {.bits = bits(),
          .largest = largest,
          .lowest = -largest,
          .smallest = std::ldexp(1, kLowestExponent - 1 - magnitude_bits_),
          .zero = true,
          .negative_zero = true,
          .layout = "s " + std::string(static_cast<std::size_t>(magnitude_bits_), 'm')};
}

std::vector<Field> SharedMicroCodec::fields(std::int64_t size) const {
  return {{.name = "exponent", .store = Field::Store::uint8, .stored_bits = 8, .bias = kExponentBias},
          {.name = "shift",
           .store = Field::Store::bits,
           .count = static_cast<int>((size + 1) / 2),
           .stored_bits = 1}};
}

void SharedMicroCodec::choose(std::span<const float> values, Words words) const {
  const int exponent = exponent_for(saturated_maximum(values));
  words[0] = word_of(exponent);
  std::fill(words.begin() + 1, words.end(), 0u);
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const auto pair = values.subspan(i, std::min<std::size_t>(2, values.size() - i));
    if (shifts(saturated_maximum(pair), exponent)) words[1 + i / 64] |= 1u << (i / 2 % 32);
  }
}

Result<void> SharedMicroCodec::choose_from_range(Range range, Words words) const {
  std::uint32_t pair[2];
  TRY(choose_from_ends(*this, range, pair));
  words[0] = pair[0];
  std::fill(words.begin() + 1, words.end(), 0u);
  return {};
}

Result<void> SharedMicroCodec::check(ConstWords words) const {
  return check_exponent(exponent_in(words[0]), kLowestExponent, kHighestExponent);
}

void SharedMicroCodec::encode(std::span<const float> values, ConstWords words, Draw draw,
                              Code16* codes) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = encode_sign_magnitude(values[i], magnitude_bits_, exponent_at(words, i), draw.rounding,
                                     draw.noise ? draw.noise[i] : 0);
  }
}

void SharedMicroCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    values[i] = decode_sign_magnitude(codes[i], magnitude_bits_, exponent_at(words, i));
  }
}

Range SharedMicroCodec::range(ConstWords words) const {
  const auto code = static_cast<Code16>((1 << magnitude_bits_) - 1);
  const float largest = decode_sign_magnitude(code, magnitude_bits_, exponent_in(words[0]));
  return {-largest, largest};
}

std::optional<Scaled> SharedMicroCodec::scaled(ConstWords words) const {
  return Scaled{.factor = std::ldexp(1.0f, exponent_in(words[0])), .halved = words.subspan(1)};
}

void SharedMicroCodec::set_neutral(Words words) const {
  words[0] = word_of(0);
  std::fill(words.begin() + 1, words.end(), 0u);
}

std::optional<Ungrouped> SharedMicroCodec::ungrouped(ConstWords words) const {
  const int largest = (1 << magnitude_bits_) - 1;
  return Ungrouped{.low = -largest, .high = largest, .exponent = exponent_in(words[0]) - magnitude_bits_};
}

std::span<const Descriptor> shared_micro_descriptors() {
  static const Descriptor all[] = {
      named("mx9", 7, "shared microexponents: sign and 7 bits, 9 bits per value in total"),
      named("mx6", 4, "shared microexponents: sign and 4 bits, 6 bits per value in total"),
      named("mx4", 2, "shared microexponents: sign and 2 bits, 4 bits per value in total"),
  };
  return all;
}

}  // namespace anybit::formats
