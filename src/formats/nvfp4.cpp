// nvfp4: two levels of scales over 4-bit floats; docs/formats.md#nvfp4. Scales are not powers of two, so the
// order of the float32 operations is part of the format.
#include "formats/nvfp4.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "formats/block.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

constexpr float kLargestElement = 6, kLargestScale = 448;

float decode_one(Code16 code, float step) {
  return nearest_finite_float(static_cast<double>(Nvfp4Codec::kElement.decode(code)) * step);
}

}  // namespace

float Nvfp4Codec::tensor_scale_for(float largest) {
  if (largest == 0) return 1;
  return std::max(largest / (kLargestElement * kLargestScale), std::numeric_limits<float>::denorm_min());
}

Code16 Nvfp4Codec::block_scale_for(float largest, float tensor_scale) {
  return kScale.encode(largest / kLargestElement / tensor_scale, true, Rounding::half_even, 0);
}

float Nvfp4Codec::step(ConstWords words) {
  return kScale.decode(static_cast<Code16>(words[1])) * float_of(words[0]);
}

Properties Nvfp4Codec::properties() const {
  Properties all = MinifloatCodec(kElement, true).properties();
  all.largest = kLargestElement * kLargestScale;
  all.lowest = -all.largest;
  all.smallest = kElement.smallest() * kScale.smallest();
  return all;
}

std::vector<Field> Nvfp4Codec::fields(std::int64_t) const {
  return {{.name = "global_scale", .per_tensor = true},
          {.name = "scale", .store = Field::Store::uint8, .stored_bits = 8}};
}

void Nvfp4Codec::choose_for_tensor(std::span<const float> values, Words words) const {
  words[0] = bits_of(tensor_scale_for(saturated_maximum(values)));
}

void Nvfp4Codec::choose(std::span<const float> values, Words words) const {
  words[1] = block_scale_for(saturated_maximum(values), float_of(words[0]));
}

Result<void> Nvfp4Codec::choose_from_range(Range range, Words words) const {
  return choose_from_ends(*this, range, words);
}

Result<void> Nvfp4Codec::check(ConstWords words) const {
  const float tensor_scale = float_of(words[0]);
  if (!(tensor_scale > 0) || !is_finite(tensor_scale)) {
    return invalid_argument(fmt::format("the tensor scale is {:g}", tensor_scale),
                            "a positive, finite number");
  }
  if (words[1] > kScale.largest_code()) {
    return invalid_argument(fmt::format("the code of a block scale is {:#x}", words[1]),
                            "a non-negative finite e4m3 code: 0 to 0x7e");
  }
  return {};
}

void Nvfp4Codec::encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const {
  const float by = step(words);
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = by == 0 ? Code16{0}
                       : kElement.encode(values[i] / by, true, draw.rounding, draw.noise ? draw.noise[i] : 0);
  }
}

std::optional<Scaled> Nvfp4Codec::scaled(ConstWords words) const {
  return Scaled{.factor = step(words), .unit = float_of(words[0])};
}

void Nvfp4Codec::set_neutral(Words words) const {
  words[0] = bits_of(1.0f);
  words[1] = kScale.encode(1.0f, true, Rounding::half_even, 0);
}

void Nvfp4Codec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const float by = step(words);
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] = decode_one(codes[i], by);
}

Range Nvfp4Codec::range(ConstWords words) const {
  const float largest = decode_one(kElement.largest_code(), step(words));
  return {-largest, largest};
}

std::optional<Ungrouped> Nvfp4Codec::ungrouped(ConstWords words) const {
  return Ungrouped{.format = "fp4_e2m1", .factor = step(words)};
}

std::span<const Descriptor> nvfp4_descriptors() {
  static const Descriptor all[] = {
      {.name = "nvfp4",
       .family = "nvfp4",
       .summary = "blocks of 4-bit floats with an e4m3 scale, and a float32 scale for the tensor",
       .parameters = {},
       .granularity = Granularity::block,
       .block_size = 16,
       .make = [](const Values&) -> Result<std::shared_ptr<const Codec>> {
         return std::make_shared<const Nvfp4Codec>();
       }},
  };
  return all;
}

}  // namespace anybit::formats
