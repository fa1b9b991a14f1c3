// Codec: one number format with its parameters fixed. It knows values and codes; how a tensor is cut into
// groups that share parameters, and how codes are packed, is the same for all formats and lies elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"
#include "formats/rounding.hpp"
#include "formats/value.hpp"

namespace anybit::formats {

// How codes lie in bytes; src/kernels/packing.hpp.
enum class Packing {
  bits,   // each in as many bits as it has
  fives,  // five codes of three values in a byte
};

// Up to 16 bits, the lowest ones of the word.
using Code16 = std::uint16_t;

// What a group of values shares (a scale, a zero point, an exponent …), in 32-bit words whose meaning is the
// format's own: a float32's bits, or an integer. Word order is that of Codec::fields().
using Words = std::span<std::uint32_t>;
using ConstWords = std::span<const std::uint32_t>;

// How a field of the words is written to a file.
struct Field {
  // A word of float16 or bfloat16 has a float32's bits, of a value that the smaller type holds exactly.
  // bits: a run of `count` single bits, 32 to a word.
  enum class Store { float32, float16, bfloat16, int32, uint8, bits };
  std::string_view name;  // "scale", "zero_point", "exponent", "shift", …
  Store store = Store::float32;
  int count = 1;            // values of this field in a group
  int stored_bits = 32;     // bits that one value takes on disk; 0: only encoding needs it, it is not written
  bool per_tensor = false;  // the same in every group: written once
  int bias = 0;             // uint8: what is added to the word to make it an unsigned byte
  int words() const { return store == Store::bits ? (count + 31) / 32 : count; }
};

struct Properties {
  int bits = 0;         // of a code
  double largest = 0;   // with the group's scale at 1, or over all scales where the format has its own
  double lowest = 0;    // most negative
  double smallest = 0;  // smallest positive value
  bool zero = false, negative_zero = false, infinity = false, nan = false;
  std::string layout;  // "s eeee mmm", most significant bit first
};

// What a group's words do to the values of codes.
struct Scaled {
  float factor = 1, zero = 0;
  // The same in all groups of a tensor; the factor is the product of this and a number of few bits, rounded.
  float unit = 1;
  // One bit for each pair of neighbours in the group, 32 to a word: the factor of those with 1 is half of it.
  ConstWords halved = {};
};

struct Range {
  float low = 0, high = 0;
};

// The values of a group with certain words, said without the group.
struct Ungrouped {
  int low = 0, high = 0, exponent = 0;  // whole numbers times 2^exponent, if there is no format
  std::string_view format = {};         // else its values, times a factor
  Values parameters = {};
  float factor = 1;
};

class Codec {
 public:
  virtual ~Codec() = default;

  virtual Properties properties() const = 0;
  virtual int bits() const = 0;
  virtual Packing packing() const { return Packing::bits; }
  // Bits that a code takes in full bytes.
  double packed_bits() const { return packing() == Packing::fives ? 8.0 / 5 : bits(); }

  // What a group of `size` values shares. None: every value stands for itself.
  virtual std::vector<Field> fields(std::int64_t size) const;
  int words(std::int64_t size) const;

  // Parameters of the whole tensor, looked at before any group: the words of per_tensor fields, in the place
  // they have in a group's words. `values` is the tensor in index order.
  virtual void choose_for_tensor(std::span<const float> values, Words words) const;
  // Parameters of one group, from its values. The words of per_tensor fields are already there.
  virtual void choose(std::span<const float> values, Words words) const;
  // From a range alone, where the format can do that.
  virtual Result<void> choose_from_range(Range range, Words words) const;
  // A last look at all groups, `stride` words each: a format may want to mend degenerate ones.
  virtual void settle(Words all, std::int64_t stride) const;
  // Words from outside (a file, a caller): refused if they cannot be meant (scale 0, NaN, negative).
  virtual Result<void> check(ConstWords words) const;

  virtual void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const = 0;
  virtual void decode(std::span<const Code16> codes, ConstWords words, float* values) const = 0;
  // decode(encode(x)), except where a policy lets values through that have no code.
  virtual void quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const;
  // The lowest and the highest value that a group with these words can hold.
  virtual Range range(ConstWords words) const = 0;

  // Where every group has the same values but for a factor and a zero, and decode() gives (value − zero) ·
  // factor, rounded once after each operation, as far as that is finite: what these words stand for. Nothing
  // for other formats.
  virtual std::optional<Scaled> scaled(ConstWords words) const;
  // Words that stand for a factor of 1 and a zero of 0, for formats that have them.
  virtual void set_neutral(Words) const {}

  // Nothing where a group goes by its values alone.
  virtual std::optional<Ungrouped> ungrouped(ConstWords words) const;

  // Do a group's words depend on that group alone? Then tensor and settle() need not be waited for.
  virtual bool local() const { return false; }
  // Is each value of a group coded by itself, once the words are known? Then a large group may be cut.
  virtual bool independent() const { return true; }
  // The rounding that the format's own parameters fix, or that was asked for.
  virtual Rounding rounding(Rounding asked) const { return asked; }
  // An error if what encode() produces cannot be stored (a policy meant for quantize() alone).
  virtual Result<void> packable() const { return {}; }
};

// The word of a scale from outside must be a finite, positive number.
Result<void> check_scale(float scale);

}  // namespace anybit::formats
