// Defaults of most formats: no shared parameters, quantization by encoding and decoding.
#include "formats/codec.hpp"

#include <array>

#include "base/error.hpp"
#include "formats/float_bits.hpp"

namespace anybit::formats {

std::vector<Field> Codec::fields(std::int64_t) const { return {}; }

int Codec::words(std::int64_t size) const {
  int total = 0;
  for (const Field& field : fields(size)) total += field.words();
  return total;
}

void Codec::choose_for_tensor(std::span<const float>, Words) const {}
void Codec::choose(std::span<const float>, Words) const {}

Result<void> Codec::choose_from_range(Range, Words words) const {
  if (words.empty()) return {};
  return invalid_argument("this format needs data to choose its parameters, a range is not enough");
}

void Codec::settle(Words, std::int64_t) const {}

Result<void> Codec::check(ConstWords) const { return {}; }

std::optional<Scaled> Codec::scaled(ConstWords words) const {
  return words.empty() ? std::optional(Scaled{}) : std::nullopt;
}

std::optional<Ungrouped> Codec::ungrouped(ConstWords) const { return std::nullopt; }

Result<void> check_scale(float scale) {
  if (is_finite(scale) && scale > 0) return {};
  return invalid_argument(fmt::format("a scale of {:g} is not possible", scale), "a finite number above 0");
}

void Codec::quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const {
  if (!words.empty()) {  // the group may be coupled (pairs, residuals), so it is not divided
    std::vector<Code16> codes(values.size());
    encode(values, words, draw, codes.data());
    decode(codes, words, out);
    return;
  }
  constexpr std::size_t kPiece = 1024;
  std::array<Code16, kPiece> codes;
  for (std::size_t begin = 0; begin < values.size(); begin += kPiece) {
    const auto piece = values.subspan(begin, std::min(kPiece, values.size() - begin));
    const Draw part{draw.rounding, draw.noise ? draw.noise + begin : nullptr};
    encode(piece, words, part, codes.data());
    decode(std::span(codes).first(piece.size()), words, out + begin);
  }
}

}  // namespace anybit::formats
