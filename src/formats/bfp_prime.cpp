// bfp_prime: AMD Quark's to_bfp_prime; docs/formats.md#bfp_prime.
#include "formats/bfp_prime.hpp"

#include <algorithm>
#include <cmath>

#include "base/try.hpp"
#include "formats/block.hpp"
#include "formats/quark.hpp"
#include "formats/sign_magnitude.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

constexpr int kStoredBias = 126;
constexpr std::uint32_t kSmallestNormal = 0x00800000u;
constexpr float kQuarkNan = std::bit_cast<float>(0x7FFFFFFFu);  // the NaN that Quark writes

// E of values with this largest magnitude, which is finite.
int exponent_for(std::uint32_t largest) { return quark_exponent(float_of(largest)) + 1; }

Result<std::shared_ptr<const Codec>> make_codec(const Values& values) {
  return std::make_shared<const BfpPrimeCodec>(BfpPrimeLayout{
      integer(values, "width"), integer(values, "sub_block_size"), integer(values, "sub_block_shift_bits")});
}

}  // namespace

int BfpPrimeCodec::exponent_at(ConstWords words, std::size_t i) const {
  const auto sub_block = i / static_cast<std::size_t>(layout_.sub_block_size);
  return exponent_in(words[0]) - static_cast<int>(words[1 + sub_block]);
}

Properties BfpPrimeCodec::properties() const {
  const double largest = std::ldexp(layout_.largest_magnitude(), kHighestExponent - layout_.magnitude_bits());
  return {.bits = bits(),
          .largest = largest,
          .lowest = -largest,
          .smallest = std::ldexp(1, kLowestExponent - layout_.magnitude_bits()),
          .zero = true,
          .negative_zero = true,
          .nan = true,
          .layout = "s " + std::string(static_cast<std::size_t>(layout_.magnitude_bits()), 'm')};
}

std::vector<Field> BfpPrimeCodec::fields(std::int64_t size) const {
  const std::int64_t sub_blocks = (size + layout_.sub_block_size - 1) / layout_.sub_block_size;
  return {{.name = "exponent", .store = Field::Store::uint8, .stored_bits = 8, .bias = kStoredBias},
          {.name = "shift",
           .store = Field::Store::uint8,
           .count = static_cast<int>(sub_blocks),
           .stored_bits = layout_.shift_bits}};
}

void BfpPrimeCodec::choose(std::span<const float> values, Words words) const {
  std::ranges::fill(words, 0u);
  const std::uint32_t largest = largest_bits(values);
  if (largest >= kInfinityBits) {
    words[0] = word_of(kNanExponent);
    return;
  }
  words[0] = word_of(exponent_for(largest));
  const auto step = static_cast<std::size_t>(layout_.sub_block_size);
  for (std::size_t i = 0, word = 1; i < values.size(); i += step, ++word) {
    const auto part = values.subspan(i, std::min(step, values.size() - i));
    const int shift = exponent_for(largest) - exponent_for(largest_bits(part));
    words[word] = word_of(std::min(shift, layout_.largest_shift()));
  }
}

Result<void> BfpPrimeCodec::choose_from_range(Range range, Words words) const {
  std::vector<std::uint32_t> ends(static_cast<std::size_t>(this->words(2)));
  TRY(choose_from_ends(*this, range, ends));
  std::ranges::fill(words, 0u);
  words[0] = ends[0];
  return {};
}

Result<void> BfpPrimeCodec::check(ConstWords words) const {
  TRY(check_exponent(exponent_in(words[0]), kLowestExponent, kNanExponent));
  for (const std::uint32_t shift : words.subspan(1)) {
    if (shift > static_cast<std::uint32_t>(layout_.largest_shift()))
      return invalid_argument(fmt::format("the shift {} of a sub-block is out of range", shift),
                              fmt::format("0 to {}", layout_.largest_shift()));
  }
  return {};
}

void BfpPrimeCodec::encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = values[i];
    const float kept = magnitude_bits(x) < kSmallestNormal ? std::copysign(0.0f, x) : x;
    codes[i] = encode_sign_magnitude(kept, layout_.magnitude_bits(), exponent_at(words, i), draw.rounding,
                                     draw.noise ? draw.noise[i] : 0);
  }
}

void BfpPrimeCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const bool nan = exponent_in(words[0]) == kNanExponent;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    values[i] =
        nan ? kQuarkNan : decode_sign_magnitude(codes[i], layout_.magnitude_bits(), exponent_at(words, i));
  }
}

Range BfpPrimeCodec::range(ConstWords words) const {
  if (exponent_in(words[0]) == kNanExponent) return {kNan, kNan};
  const float largest = decode_sign_magnitude(static_cast<Code16>(layout_.largest_magnitude()),
                                              layout_.magnitude_bits(), exponent_in(words[0]));
  return {-largest, largest};
}

void BfpPrimeCodec::set_neutral(Words words) const { std::ranges::fill(words, 0u); }

std::span<const Descriptor> bfp_prime_descriptors() {
  static const Descriptor all[] = {
      {.name = "bfp_prime",
       .family = "bfp_prime",
       .summary =
           "block floating point with an exponent shift for each sub-block, as AMD Quark's to_bfp_prime",
       .parameters = {{"width", std::int64_t{8}, "bits per element, including the sign", 2, 16},
                      {"sub_block_size", std::int64_t{2}, "values that share a shift", 1, 1 << 20},
                      {"sub_block_shift_bits", std::int64_t{1}, "bits of the shift", 1, 8}},
       .granularity = Granularity::block,
       .block_size = 16,
       .make = make_codec},
  };
  return all;
}

}  // namespace anybit::formats
