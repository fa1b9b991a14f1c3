/// @file
/// Number formats: lists them, and encodes, decodes and fake-quantizes tensors. docs/formats.md defines every
/// format. Results are bit-identical on every CPU and for any number of threads.
///
/// @code{.cpp}
/// const std::vector<float> weights(64 * 256, 0.1f);
/// auto mx = anybit::TensorFormat::make("mxfp4_e2m1", {64, 256}, {.axis = 1, .block_size = 32});
/// if (!mx) return;
/// std::vector<std::uint8_t> packed(mx->packed_bytes());
/// auto scales = mx->choose_and_pack(weights, packed);
/// if (!scales) return;
/// std::vector<float> decoded(weights.size());
/// auto done = mx->decode_packed(packed, *scales, decoded);
/// @endcode
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

/// Rounding modes. half_up rounds ties toward +infinity. stochastic uses a counter-based random generator,
/// indexed by seed and element.
enum class Rounding { half_even, half_away, half_up, toward_zero, floor, stochastic };
/// Returns the name of a rounding mode.
ANYBIT_API std::string_view name_of(Rounding rounding) noexcept;
/// Returns the rounding mode of a name. Code::invalid_argument if there is none.
ANYBIT_API Result<Rounding> rounding_named(std::string_view name) noexcept;

/// The granularity of shared parameters (scale, zero point, exponent): none, per tensor, per channel, per
/// block.
enum class Granularity { element, tensor, channel, block };
/// Returns the name of a granularity.
ANYBIT_API std::string_view name_of(Granularity granularity) noexcept;
/// Returns the granularity of a name. Code::invalid_argument if there is none.
ANYBIT_API Result<Granularity> granularity_named(std::string_view name) noexcept;

/// A parameter of a format; and parameters by name.
using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;
using ParameterValues = std::map<std::string, ParameterValue, std::less<>>;

/// The description of a parameter of a format.
struct FormatParameter {
  std::string name;
  ParameterValue preset;             ///< default value, which also determines the type
  std::string doc;                   ///< one line
  double low, high;                  ///< bounds of a number
  std::vector<std::string> choices;  ///< of a string; empty: any
};

/// A parameter that the values of a group share, as it is stored.
struct FormatField {
  std::string name;  ///< "scale", "zero_point", "exponent", …
  std::string type;  ///< float32, float16, bfloat16, int8, int16, int32, uint8; bits (packed into bytes)
  int count;         ///< elements per group
  bool per_tensor;   ///< stored once for the tensor
};

/// The description of a format.
struct FormatInfo {
  std::string name, family, summary;
  std::vector<FormatParameter> parameters;
  std::vector<FormatField> fields;  ///< for a full group of the default size
  int bits;                         ///< of an encoded value
  double bits_per_value;            ///< including shared parameters, for the default group size
  /// The range of finite values: at a scale of 1 if the scale is arbitrary; over all scales if the format
  /// defines them.
  double lowest, largest;
  double smallest;                          ///< smallest positive value
  bool zero, negative_zero, infinity, nan;  ///< whether the format has such values
  std::string layout;  ///< bits of an encoded value, most significant first: "s eeee mmm"
  std::string
      float_type;  ///< the identical type of ONNX and ml_dtypes, "float8_e4m3fn"; empty if there is none
  Granularity granularity;  ///< default
  std::int64_t block_size;  ///< default for granularity block; otherwise 0
};

/// Returns all formats, sorted by name.
ANYBIT_API Result<std::vector<FormatInfo>> list_formats() noexcept;
/// Returns the description of a format with these parameters. Code::not_found if there is no such format.
ANYBIT_API Result<FormatInfo> describe_format(std::string_view name,
                                              const ParameterValues& parameters = {}) noexcept;
/// Parses a parameter value ("8", "0.5", "true", "floor") as the type of the format's parameter.
ANYBIT_API Result<ParameterValue> parse_parameter(std::string_view format, std::string_view name,
                                                  std::string_view text) noexcept;

/// Options of TensorFormat::make().
struct TensorFormatOptions {
  ParameterValues parameters = {};              ///< of the format; others have their defaults
  std::optional<Granularity> granularity = {};  ///< default: that of the format
  /// The axis of channels or blocks; negative: from the end. Default: the last.
  std::optional<std::int64_t> axis = {};
  std::optional<std::int64_t> block_size = {};  ///< along the axis; the last block of a row may be shorter
  /// Or the block shape over the last dimensions; -1: the whole dimension.
  std::vector<std::int64_t> block = {};
  Rounding rounding = Rounding::half_even;  ///< ignored by formats that define their rounding
  std::uint64_t seed = 0;                   ///< of stochastic rounding
  bool allow_nonfinite = false;  ///< encode Inf and NaN as the format defines; otherwise they are an error
  int threads = 0;               ///< 0: one per core
};

/// Quantization error of a tensor. Values that are not finite before or after quantization are excluded.
struct Losses {
  std::int64_t saturated = 0;     ///< values beyond the range of their group
  std::int64_t flushed = 0;       ///< nonzero values that became zero
  std::int64_t not_a_number = 0;  ///< NaN before quantization
  std::int64_t lost = 0;          ///< finite values that became NaN or infinite
  double sqnr = 0;  ///< SQNR, 10·log10(Σx² / Σ(x − x̂)²), in dB; infinite if there is no error
  double mean_squared_error = 0;       ///< mean of (x − x̂)²
  double largest_error = 0;            ///< max |x − x̂|
  std::int64_t largest_error_at = -1;  ///< index of that element; -1 if there are no values
};

/// The shared parameters of all groups, words_per_group() words per group, in row-major order of the group
/// grid. Opaque: made by TensorFormat::choose() or restore(), serialized by store().
using GroupParameters = std::vector<std::uint32_t>;

/// One field of the parameters of all groups, serialized: little-endian, row-major.
struct StoredField {
  std::string name;
  std::string type;                ///< as in FormatField; uint8 for fields of bits
  std::vector<std::int64_t> dims;  ///< the group grid, then the field's count if it is not 1
  std::vector<std::byte> bytes;
};

/// A format with its parameters, applied to row-major tensors of given dimensions. Immutable: copies are
/// cheap and may be used by different threads. Spans must have the exact size, and outputs must not overlap
/// inputs. NaN and infinity are an error (Code::invalid_data, which names the first) unless allow_nonfinite
/// is set.
class TensorFormat {
 public:
  /// Makes a format for tensors of these dimensions. Code::not_found if there is no such format.
  ANYBIT_API static Result<TensorFormat> make(std::string_view format, std::vector<std::int64_t> dims,
                                              const TensorFormatOptions& options = {}) noexcept;

  /// Returns the name of the format.
  ANYBIT_API std::string_view name() const noexcept;
  /// Returns the dimensions of the tensor.
  ANYBIT_API const std::vector<std::int64_t>& dims() const noexcept;
  /// Returns the number of groups in each dimension.
  ANYBIT_API const std::vector<std::int64_t>& group_grid() const noexcept;
  /// Returns the shape of a full group.
  ANYBIT_API const std::vector<std::int64_t>& group_shape() const noexcept;
  /// Returns the granularity.
  ANYBIT_API Granularity granularity() const noexcept;
  /// Returns the rounding mode in effect, which the format may define.
  ANYBIT_API Rounding rounding() const noexcept;
  /// Returns all parameters, including defaults.
  ANYBIT_API const ParameterValues& parameters() const noexcept;
  /// Returns the number of elements of the tensor.
  ANYBIT_API std::int64_t count() const noexcept;
  /// Returns the number of groups, and the size of GroupParameters per group.
  ANYBIT_API std::int64_t groups() const noexcept;
  ANYBIT_API std::int64_t words_per_group() const noexcept;
  /// Returns the bits of an encoded value.
  ANYBIT_API int bits() const noexcept;
  /// Returns the bits per element of this tensor, including shared parameters.
  ANYBIT_API double bits_per_value() const noexcept;
  /// Returns the axis along which encoded values are packed. In packed data it is the last axis; the others
  /// keep their order. Every row starts at a byte; values are packed least significant bit first, or as the
  /// format's parameter `packing` says.
  ANYBIT_API std::int64_t pack_axis() const noexcept;
  /// Returns the number of packed bytes.
  ANYBIT_API std::int64_t packed_bytes() const noexcept;
  /// Returns the dimensions of the array of packed bytes.
  ANYBIT_API std::vector<std::int64_t> packed_dims() const;

  /// Chooses the parameters of all groups from data.
  ANYBIT_API Result<GroupParameters> choose(std::span<const float> values) const noexcept;
  /// Chooses parameters, equal for all groups, from a range. Code::invalid_argument if the parameters of the
  /// format depend on the values.
  ANYBIT_API Result<GroupParameters> choose_from_range(float low, float high) const noexcept;

  /// Encodes values, one code per element. Parameters are checked: a scale of 0 or NaN is an error.
  ANYBIT_API Result<void> encode(std::span<const float> values, const GroupParameters& parameters,
                                 std::span<std::uint16_t> codes) const noexcept;
  /// Decodes values.
  ANYBIT_API Result<void> decode(std::span<const std::uint16_t> codes, const GroupParameters& parameters,
                                 std::span<float> out) const noexcept;
  /// Rounds values to values of the format (fake quantization).
  ANYBIT_API Result<void> quantize(std::span<const float> values, const GroupParameters& parameters,
                                   std::span<float> out) const noexcept;
  /// Combines choose() and quantize().
  ANYBIT_API Result<GroupParameters> choose_and_quantize(std::span<const float> values,
                                                         std::span<float> out) const noexcept;

  /// Packs encoded values into bytes.
  ANYBIT_API Result<void> pack(std::span<const std::uint16_t> codes,
                               std::span<std::uint8_t> packed) const noexcept;
  /// Unpacks bytes into encoded values.
  ANYBIT_API Result<void> unpack(std::span<const std::uint8_t> packed,
                                 std::span<std::uint16_t> codes) const noexcept;
  /// Combines encode() and pack().
  ANYBIT_API Result<void> encode_packed(std::span<const float> values, const GroupParameters& parameters,
                                        std::span<std::uint8_t> packed) const noexcept;
  /// Combines choose(), encode() and pack().
  ANYBIT_API Result<GroupParameters> choose_and_pack(std::span<const float> values,
                                                     std::span<std::uint8_t> packed) const noexcept;
  /// Combines unpack() and decode().
  ANYBIT_API Result<void> decode_packed(std::span<const std::uint8_t> packed,
                                        const GroupParameters& parameters,
                                        std::span<float> out) const noexcept;

  /// Serializes parameters. Fields that only encoding needs are not stored.
  ANYBIT_API Result<std::vector<StoredField>> store(const GroupParameters& parameters) const noexcept;
  /// Deserializes parameters. If the format has fields that are not stored, the result can only decode.
  ANYBIT_API Result<GroupParameters> restore(std::span<const StoredField> fields) const noexcept;

  /// Computes the quantization error of `quantized` with respect to `values`.
  ANYBIT_API Result<Losses> losses(std::span<const float> values, const GroupParameters& parameters,
                                   std::span<const float> quantized) const noexcept;

 private:
  struct State;
  explicit TensorFormat(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace anybit
