// Number formats: which there are, and what each does to a tensor. docs/formats.md defines every one of them.
//
//   auto mx = anybit::TensorFormat::make("mxfp4_e2m1", {rows, columns}, {.axis = 1, .block_size = 32});
//   std::vector<std::uint8_t> packed(mx->packed_bytes());
//   auto scales = mx->choose_and_pack(weights, packed);
//
// Results have the same bits on every CPU and for any number of threads. Nothing here throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/result.hpp"

namespace anybit {

// How a value between two codes is rounded. half_up goes toward +infinity; stochastic draws from a generator
// that is indexed by seed and element.
enum class Rounding { half_even, half_away, half_up, toward_zero, floor, stochastic };
ANYBIT_API std::string_view name_of(Rounding rounding) noexcept;
ANYBIT_API Result<Rounding> rounding_named(std::string_view name) noexcept;

// Over what values share parameters (a scale, a zero point, an exponent): nothing, the tensor, an index of an
// axis, a block.
enum class Granularity { element, tensor, channel, block };
ANYBIT_API std::string_view name_of(Granularity granularity) noexcept;
ANYBIT_API Result<Granularity> granularity_named(std::string_view name) noexcept;

// Parameters of a format, by name.
using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;
using ParameterValues = std::map<std::string, ParameterValue, std::less<>>;

struct FormatParameter {
  std::string name;
  ParameterValue preset;  // what holds unless it is given; tells the type, too
  std::string doc;
  double low, high;                  // bounds of a number
  std::vector<std::string> choices;  // of a word; empty: any
};

// What the values of a group share, as it is stored.
struct FormatField {
  std::string name;  // "scale", "zero_point", "exponent", …
  std::string type;  // float32, float16, bfloat16, int8, int16, int32, uint8; bits (packed into bytes)
  int count;         // of them in a group
  bool per_tensor;   // the same in every group: stored once
};

struct FormatInfo {
  std::string name, family, summary;
  std::vector<FormatParameter> parameters;
  std::vector<FormatField> fields;  // of a full group of the default size
  int bits;                         // of a code
  double bits_per_value;            // what is shared in a block of the default size included
  // With a scale of 1 where the scale is any number; over all scales where the format has its own.
  double lowest, largest;  // finite values
  double smallest;         // positive value, and so the finest step
  bool zero, negative_zero, infinity, nan;
  std::string layout;  // "s eeee mmm": the bits of a code, most significant first
  std::string
      float_type;  // of ONNX and ml_dtypes, with the same codes: "float8_e4m3fn"; empty: there is none
  Granularity granularity;
  std::int64_t block_size;  // default, where granularity is block; else 0
};

// All formats, in the order of their names.
ANYBIT_API Result<std::vector<FormatInfo>> list_formats() noexcept;
// One of them; the facts are those that hold with these parameters.
ANYBIT_API Result<FormatInfo> describe_format(std::string_view name,
                                              const ParameterValues& parameters = {}) noexcept;
// A parameter from text ("8", "0.5", "true", "floor"), read as the type that the format's parameter has.
ANYBIT_API Result<ParameterValue> parse_parameter(std::string_view format, std::string_view name,
                                                  std::string_view text) noexcept;

struct TensorFormatOptions {
  ParameterValues parameters = {};              // of the format; what is missing has its default
  std::optional<Granularity> granularity = {};  // default: the format's
  // Of channels or blocks; negative: from the end. Default: the last.
  std::optional<std::int64_t> axis = {};
  std::optional<std::int64_t> block_size = {};  // along the axis; the last block of a row may be short
  std::vector<std::int64_t> block = {};         // or a box over the last dimensions; -1: the whole dimension
  Rounding rounding = Rounding::half_even;      // formats whose parameters fix one ignore it
  std::uint64_t seed = 0;                       // of stochastic rounding
  bool allow_nonfinite = false;                 // Inf and NaN in values become what the format makes of them
  int threads = 0;                              // 0: one for each core
};

// What quantization did to a tensor. Errors are taken over the values that are finite before and after.
struct Losses {
  std::int64_t saturated = 0;     // beyond the range of their group
  std::int64_t flushed = 0;       // became zero, and were not
  std::int64_t not_a_number = 0;  // were NaN
  std::int64_t lost = 0;          // were finite, and became NaN or infinite; the errors below leave them out
  double signal_to_noise = 0;     // 10·log10(Σx² / Σ(x − x̂)²), in dB; infinite if nothing was lost
  double mean_squared_error = 0;  //
  double largest_error = 0;       // max |x − x̂|
  std::int64_t largest_error_at = -1;  // its index; -1 if there are no values
};

// Shared parameters of all groups: words_per_group() words for each, groups in row-major order of the grid.
// Opaque: they come from choose() or restore(), and go to a file through store().
using GroupParameters = std::vector<std::uint32_t>;

// A field of the parameters of all groups, ready for a file: little-endian, row-major.
struct StoredField {
  std::string name;
  std::string type;                // as in FormatField; fields of bits are uint8 here
  std::vector<std::int64_t> dims;  // the grid of groups, then the field's own length if it has one
  std::vector<std::byte> bytes;
};

// A format with its parameters on tensors of given dimensions, in row-major order. Copies share; may be used
// from several threads. Spans must have the exact size, and outputs must not overlap inputs. Values that are
// not finite are refused (Code::invalid_data, naming the first) unless allow_nonfinite is set.
class TensorFormat {
 public:
  ANYBIT_API static Result<TensorFormat> make(std::string_view format, std::vector<std::int64_t> dims,
                                              const TensorFormatOptions& options = {}) noexcept;

  ANYBIT_API std::string_view name() const noexcept;
  ANYBIT_API const std::vector<std::int64_t>& dims() const noexcept;
  ANYBIT_API const std::vector<std::int64_t>& group_grid() const noexcept;   // groups in each dimension
  ANYBIT_API const std::vector<std::int64_t>& group_shape() const noexcept;  // extent of a full group
  ANYBIT_API Granularity granularity() const noexcept;
  ANYBIT_API Rounding rounding() const noexcept;                  // in force: the format may fix it
  ANYBIT_API const ParameterValues& parameters() const noexcept;  // all, defaults filled in
  ANYBIT_API std::int64_t count() const noexcept;                 // values of the tensor
  ANYBIT_API std::int64_t groups() const noexcept;
  ANYBIT_API std::int64_t words_per_group() const noexcept;
  ANYBIT_API int bits() const noexcept;               // of a code
  ANYBIT_API double bits_per_value() const noexcept;  // of this tensor, shared parameters included
  // Packed codes: rows along this axis, which comes last, the others in their order. A row starts on a byte;
  // codes lie least significant bit first, or as the format's parameter `packing` says.
  ANYBIT_API std::int64_t pack_axis() const noexcept;
  ANYBIT_API std::int64_t packed_bytes() const noexcept;
  ANYBIT_API std::vector<std::int64_t> packed_dims() const;  // of the packed bytes

  // Shared parameters from data, or from a range alone where the format can do that (the same for each
  // group).
  ANYBIT_API Result<GroupParameters> choose(std::span<const float> values) const noexcept;
  ANYBIT_API Result<GroupParameters> choose_from_range(float low, float high) const noexcept;

  // Values to codes and back. Parameters from outside are checked: a scale of 0 or NaN is an error.
  ANYBIT_API Result<void> encode(std::span<const float> values, const GroupParameters& parameters,
                                 std::span<std::uint16_t> codes) const noexcept;
  ANYBIT_API Result<void> decode(std::span<const std::uint16_t> codes, const GroupParameters& parameters,
                                 std::span<float> out) const noexcept;
  // Values to the nearest that the format has ("fake quantization").
  ANYBIT_API Result<void> quantize(std::span<const float> values, const GroupParameters& parameters,
                                   std::span<float> out) const noexcept;
  ANYBIT_API Result<GroupParameters> choose_and_quantize(std::span<const float> values,
                                                         std::span<float> out) const noexcept;

  // Codes to packed bytes and back.
  ANYBIT_API Result<void> pack(std::span<const std::uint16_t> codes,
                               std::span<std::uint8_t> packed) const noexcept;
  ANYBIT_API Result<void> unpack(std::span<const std::uint8_t> packed,
                                 std::span<std::uint16_t> codes) const noexcept;
  // Values to packed bytes and back, without an array of codes between.
  ANYBIT_API Result<void> encode_packed(std::span<const float> values, const GroupParameters& parameters,
                                        std::span<std::uint8_t> packed) const noexcept;
  ANYBIT_API Result<GroupParameters> choose_and_pack(std::span<const float> values,
                                                     std::span<std::uint8_t> packed) const noexcept;
  ANYBIT_API Result<void> decode_packed(std::span<const std::uint8_t> packed,
                                        const GroupParameters& parameters,
                                        std::span<float> out) const noexcept;

  // Shared parameters to arrays for a file and back. Fields that only encoding needs are not stored; restored
  // parameters decode, but must not encode, where the format has such a field.
  ANYBIT_API Result<std::vector<StoredField>> store(const GroupParameters& parameters) const noexcept;
  ANYBIT_API Result<GroupParameters> restore(std::span<const StoredField> fields) const noexcept;

  ANYBIT_API Result<Losses> losses(std::span<const float> values, const GroupParameters& parameters,
                                   std::span<const float> quantized) const noexcept;

 private:
  struct State;
  explicit TensorFormat(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace anybit
