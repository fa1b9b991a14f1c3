// A format applied to a tensor of known dimensions: divides it into groups, distributes them over threads,
// packs the codes. Results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"
#include "base/thread_pool.hpp"
#include "formats/grouping.hpp"
#include "kernels/codec/group_kernel.hpp"

namespace anybit::kernels {

struct TensorOptions {
  formats::Values parameters;
  formats::GroupingOptions grouping;
  formats::Rounding rounding = formats::Rounding::half_even;
  std::uint64_t seed = 0;  // of stochastic rounding
  bool plain = false;      // no fast kernels: for tests and comparisons
};

struct Counts {
  std::int64_t saturated = 0;  // outside the range of their group
  std::int64_t flushed = 0;    // nonzero values that became zero
  std::int64_t not_a_number = 0;
};

// What becomes of the gradients of values outside the range of their group.
enum class Outside : std::uint8_t {
  zero,
  inward,  // they stay if a step against them moves the value towards the range
};

class TensorCodec {
 public:
  static Result<TensorCodec> make(std::string_view format, const formats::Dims& dims,
                                  const TensorOptions& options = {});

  const formats::Descriptor& descriptor() const { return *descriptor_; }
  const formats::Codec& codec() const { return *codec_; }
  const formats::Values& values() const { return values_; }  // all parameters of the format
  const formats::Grouping& grouping() const { return grouping_; }
  formats::Rounding rounding() const { return rounding_; }  // as requested, or as fixed by the format
  std::int64_t count() const { return count_; }
  int bits() const { return codec_->bits(); }
  std::size_t stride() const { return stride_; }  // words per group

  using Parameters = std::vector<std::uint32_t>;  // groups() × stride() words

  // "value [1, 2]"
  std::string place_of(std::int64_t index) const;
  // Rejects NaN and infinity, naming the first one.
  Result<void> check_finite(std::span<const float> values, ThreadPool& pool) const;

  Parameters choose(std::span<const float> values, ThreadPool& pool) const {
    return choose_for(values, values, pool);
  }
  // The same for values that are changed, such as scaled ones, beside the words for the whole tensor of
  // `values`.
  Parameters choose_for(std::span<const float> changed, std::span<const float> values,
                        ThreadPool& pool) const;
  // The same parameters for every group, chosen from a range.
  Result<Parameters> choose_from_range(formats::Range range) const;
  // Rejects parameters of the wrong number or with invalid values, naming the group.
  Result<void> check(const Parameters& parameters) const;

  void quantize(std::span<const float> values, const Parameters& parameters, float* out,
                ThreadPool& pool) const;
  // choose() and quantize() in one pass over memory where the format allows it. Returns the parameters.
  Parameters choose_and_quantize(std::span<const float> values, float* out, ThreadPool& pool) const;
  void encode(std::span<const float> values, const Parameters& parameters, formats::Code16* codes,
              ThreadPool& pool) const;
  void decode(std::span<const formats::Code16> codes, const Parameters& parameters, float* out,
              ThreadPool& pool) const;

  // Codes are packed in rows along grouping().pack_axis, with that axis last and the others in order.
  formats::Packing packing() const { return packing_; }
  // The same codec with Packing::bits.
  TensorCodec in_bits() const;
  std::int64_t packed_bytes() const;
  std::int64_t row_bytes() const;
  formats::Dims packed_dims() const;  // of the packed bytes: the pack axis last, in row_bytes()
  // One row, or the first codes of a row.
  template <class Code>
  void unpack_row(const std::uint8_t* packed, std::size_t n, Code* codes) const;
  void pack(const formats::Code16* codes, std::uint8_t* packed, ThreadPool& pool) const;
  void unpack(const std::uint8_t* packed, formats::Code16* codes, ThreadPool& pool) const;
  Parameters choose_and_pack(std::span<const float> values, std::uint8_t* packed, ThreadPool& pool) const;
  void encode_packed(std::span<const float> values, const Parameters& parameters, std::uint8_t* packed,
                     ThreadPool& pool) const;
  void decode_packed(const std::uint8_t* packed, const Parameters& parameters, float* out,
                     ThreadPool& pool) const;

  Counts count_losses(std::span<const float> values, const Parameters& parameters,
                      std::span<const float> quantized) const;
  // The gradient of straight-through rounding: dx is dy inside the range of a group, times `widened`.
  void pass_inside(std::span<const float> values, const Parameters& parameters, float widened,
                   Outside outside, const float* dy, float* dx, ThreadPool& pool) const;
  // Bits per value of the tensor, parameters included.
  double bits_per_value() const;

 private:
  TensorCodec() = default;
  // Calls op(shape, first group, in, noise, out) for all groups; groups that are not contiguous are gathered
  // and scattered. `may_cut`: a group may be processed in pieces.
  template <class In, class Out, class Op>
  void apply(bool may_cut, const In* in, Out* out, ThreadPool& pool, const Op& op) const;
  template <class In, class Out, class Op>
  void apply_flat(bool may_cut, const In* in, Out* out, ThreadPool& pool, const Op& op) const;
  template <class In, class Out, class Op>
  void apply_turned(const In* in, Out* out, ThreadPool& pool, const Op& op) const;
  template <class In, class Out, class Op>
  void apply_gathered(const In* in, Out* out, ThreadPool& pool, const Op& op) const;
  template <class Run>
  void for_runs(std::int64_t group, const Run& run) const;
  std::int64_t size_of(std::int64_t group) const;
  void find_flat_layout();
  // Whether codes can be packed as they are produced: every group starts on a byte of the packed tensor.
  bool packs_in_place() const;
  // Calls encode(destination of the codes), then packs them.
  template <class Encode>
  void encode_piece(const Groups& shape, std::uint8_t* out, const Encode& encode) const;
  void decode_piece(const Groups& shape, const std::uint8_t* in, const std::uint32_t* words,
                    float* out) const;
  std::int64_t row_length() const;
  template <class Visit>
  void for_rows(ThreadPool& pool, const Visit& visit) const;
  Parameters empty_parameters(std::span<const float> values) const;

  const formats::Descriptor* descriptor_ = nullptr;
  formats::Values values_;
  std::shared_ptr<const formats::Codec> codec_;
  formats::Packing packing_ = formats::Packing::bits;
  std::shared_ptr<const GroupKernel> kernel_;
  formats::Grouping grouping_;
  formats::Rounding rounding_ = formats::Rounding::half_even;
  std::uint64_t seed_ = 0;
  std::int64_t count_ = 0;
  std::size_t stride_ = 0;
  bool flat_ = false;  // groups are consecutive in memory, in pieces of block_ within rows of row_
  std::int64_t row_ = 0, block_ = 0;
  int turned_axis_ = -1;  // blocks run along this axis, with further axes after it; -1: not the case
};

}  // namespace anybit::kernels
