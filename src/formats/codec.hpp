// Codec: one number format with fixed parameters. It converts between values and codes; the division of a
// tensor into groups that share parameters, and the packing of codes, are common to all formats and are
// elsewhere.
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

// How codes are packed into bytes; src/kernels/codec/packing.hpp.
enum class Packing {
  bits,   // each code in bits() bits
  fives,  // five ternary codes per byte
};

// A code of up to 16 bits, in the low bits.
using Code16 = std::uint16_t;

// The parameters that a group shares (a scale, a zero point, an exponent …), as 32-bit words. A word is the
// bits of a float32 or an integer; the order is that of Codec::fields().
using Words = std::span<std::uint32_t>;
using ConstWords = std::span<const std::uint32_t>;

// A field of the words, and how it is stored in a file.
struct Field {
  // float16, bfloat16: the word has the bits of a float32 that the smaller type represents exactly. bits:
  // `count` single bits, 32 per word.
  enum class Store { float32, float16, bfloat16, int32, uint8, bits };
  std::string_view name;  // "scale", "zero_point", "exponent", "shift", …
  Store store = Store::float32;
  int count = 1;            // values of this field per group
  int stored_bits = 32;     // per value in a file; 0: needed for encoding only, not stored
  bool per_tensor = false;  // the same in every group: stored once
  int bias = 0;             // uint8: added to the word to make it unsigned
  int words() const { return store == Store::bits ? (count + 31) / 32 : count; }
};

struct Properties {
  int bits = 0;         // per code
  double largest = 0;   // for a scale of 1, or over all scales if the format has its own
  double lowest = 0;    // most negative
  double smallest = 0;  // smallest positive value
  bool zero = false, negative_zero = false, infinity = false, nan = false;
  std::string layout;  // "s eeee mmm", most significant bit first
};

// The affine map that a group's words apply to values of codes.
struct Scaled {
  float factor = 1, zero = 0;
  // The same in all groups of a tensor; the factor is the product of this and a number of few bits, rounded.
  float unit = 1;
  // One bit for each pair of neighbours in the group, 32 per word: 1 halves the factor of that pair.
  ConstWords halved = {};
};

struct Range {
  float low = 0, high = 0;
};

// The values of a group with given words, without reference to the group.
struct Ungrouped {
  int low = 0, high = 0, exponent = 0;  // integers times 2^exponent, if `format` is empty
  std::string_view format = {};         // otherwise this format's values, times a factor
  Values parameters = {};
  float factor = 1;
};

class Codec {
 public:
  virtual ~Codec() = default;

  virtual Properties properties() const = 0;
  virtual int bits() const = 0;
  virtual Packing packing() const { return Packing::bits; }
  // Bits per code when bytes are full.
  double packed_bits() const { return packing() == Packing::fives ? 8.0 / 5 : bits(); }

  // The parameters that a group of `size` values shares. Empty: values are independent.
  virtual std::vector<Field> fields(std::int64_t size) const;
  int words(std::int64_t size) const;

  // Chooses the parameters of the whole tensor, before those of any group: the words of per_tensor fields, at
  // their position in a group's words. `values` is the tensor in index order.
  virtual void choose_for_tensor(std::span<const float> values, Words words) const;
  // Chooses the parameters of one group from its values. The words of per_tensor fields are already set.
  virtual void choose(std::span<const float> values, Words words) const;
  // From a range, where the format supports that.
  virtual Result<void> choose_from_range(Range range, Words words) const;
  // Postprocesses the words of all groups, `stride` words each: for example, replaces degenerate scales.
  virtual void settle(Words all, std::int64_t stride) const;
  // Checks words from a file or a caller: rejects impossible ones (scale 0, NaN, negative).
  virtual Result<void> check(ConstWords words) const;

  virtual void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const = 0;
  virtual void decode(std::span<const Code16> codes, ConstWords words, float* values) const = 0;
  // decode(encode(x)), except where a policy lets values through that have no code.
  virtual void quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const;
  // The lowest and the highest value that a group with these words can represent.
  virtual Range range(ConstWords words) const = 0;

  // For formats whose groups have the same values up to a factor and a zero, where decode() gives (value −
  // zero) · factor, rounded after each operation, as long as that is finite. Empty for other formats.
  virtual std::optional<Scaled> scaled(ConstWords words) const;
  // Words for a factor of 1 and a zero of 0, in formats that have both.
  virtual void set_neutral(Words) const {}

  // Empty if the values of a group cannot be described so.
  virtual std::optional<Ungrouped> ungrouped(ConstWords words) const;

  // Whether a group's words depend on that group only, so that choose_for_tensor() and settle() are not
  // needed.
  virtual bool local() const { return false; }
  // Whether each value of a group is encoded independently once the words are known, so that a large group
  // may be divided.
  virtual bool independent() const { return true; }
  // The rounding that the format's parameters fix, otherwise the requested one.
  virtual Rounding rounding(Rounding asked) const { return asked; }
  // An error if the results of encode() cannot be stored (a policy for quantize() only).
  virtual Result<void> packable() const { return {}; }
};

// A scale from a file or a caller must be finite and positive.
Result<void> check_scale(float scale);

}  // namespace anybit::formats
