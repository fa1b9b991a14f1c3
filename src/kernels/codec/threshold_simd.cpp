// Threshold codec: few values with thresholds between them. SIMD twin of formats/binary.cpp, ternary.cpp and
// binary_residual.cpp.
#include "formats/binary.hpp"
#include "formats/binary_residual.hpp"
#include "formats/ternary.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/threshold_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/codec/group_loops-inl.h"

#ifndef ANYBIT_KERNELS_THRESHOLD_SIMD_ONCE_
#define ANYBIT_KERNELS_THRESHOLD_SIMD_ONCE_
namespace anybit::kernels {
// The code of a value is that of step n, the number of thresholds at or below the value; NaN has its own
// code.
struct ThresholdTable {
  static constexpr int kMostSteps = 16;
  int steps = 1;
  float thresholds[kMostSteps - 1] = {};
  float values[kMostSteps] = {};
  std::uint32_t codes[kMostSteps] = {};
  float nan_value = 0;
  std::uint32_t nan_code = 0;
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

class ThresholdElement {
 public:
  explicit ThresholdElement(const ThresholdTable& threshold_table) : threshold_table_(threshold_table) {}
  HWY_INLINE VF Round(VF x) const {
    const DF d;
    VF value = hn::Set(d, threshold_table_.values[0]);
    for (int i = 1; i < threshold_table_.steps; ++i) {
      value = hn::IfThenElse(hn::Ge(x, hn::Set(d, threshold_table_.thresholds[i - 1])),
                             hn::Set(d, threshold_table_.values[i]), value);
    }
    return hn::IfThenElse(hn::Eq(x, x), value, hn::Set(d, threshold_table_.nan_value));
  }
  HWY_INLINE VU Code(VF x) const {
    const DF d;
    const DU du;
    VU code = hn::Set(du, threshold_table_.codes[0]);
    for (int i = 1; i < threshold_table_.steps; ++i) {
      const auto above = hn::RebindMask(du, hn::Ge(x, hn::Set(d, threshold_table_.thresholds[i - 1])));
      code = hn::IfThenElse(above, hn::Set(du, threshold_table_.codes[i]), code);
    }
    return hn::IfThenElse(hn::RebindMask(du, hn::Eq(x, x)), code, hn::Set(du, threshold_table_.nan_code));
  }

 private:
  const ThresholdTable& threshold_table_;
};

void RoundThresholds(const ThresholdTable& threshold_table, const float* x, std::size_t n, float* out) {
  RoundRun(ThresholdElement(threshold_table), Multiply(), x, n, 1, 1, out);
}

void CodeThresholds(const ThresholdTable& threshold_table, const float* x, std::size_t n, CodesOut codes) {
  CodeRun(ThresholdElement(threshold_table), Multiply(), x, n, 1, codes);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cmath>

#include "kernels/codec/table_decode.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(RoundThresholds);
HWY_EXPORT(CodeThresholds);

ThresholdTable threshold_table_of(const formats::BinaryCodec& codec, formats::ConstWords words) {
  ThresholdTable threshold_table{.steps = 2};
  threshold_table.thresholds[0] = codec.bipolar() ? 0.0f : std::numeric_limits<float>::denorm_min();
  threshold_table.values[0] = codec.low(words);
  threshold_table.values[1] = threshold_table.nan_value = codec.high(words);
  threshold_table.codes[1] = threshold_table.nan_code = 1;
  return threshold_table;
}

ThresholdTable threshold_table_of(const formats::TernaryCodec& codec, formats::ConstWords words) {
  using Ternary = formats::TernaryCodec;
  const float delta = codec.threshold(words), scale = codec.scale(words);
  ThresholdTable threshold_table{.steps = 3,
                                 .thresholds = {-delta, std::nextafter(delta, formats::kInfinity)}};
  threshold_table.values[0] = -scale;
  threshold_table.values[2] = scale;
  threshold_table.codes[0] = Ternary::kMinus;
  threshold_table.codes[1] = threshold_table.nan_code = Ternary::kZero;
  threshold_table.codes[2] = Ternary::kPlus;
  return threshold_table;
}

ThresholdTable threshold_table_of(const formats::ResidualCodec& codec, formats::ConstWords words) {
  const formats::ResidualSums sums = codec.sums(words);
  ThresholdTable threshold_table{.steps = static_cast<int>(sums.values.size())};
  for (std::size_t i = 0; i < sums.values.size(); ++i) {
    threshold_table.values[i] = sums.values[i];
    threshold_table.codes[i] = sums.codes[i];
  }
  for (std::size_t i = 0; i < sums.thresholds.size(); ++i) {
    const float threshold = sums.thresholds[i];
    // With clipping to ±1, a threshold above 1 is never reached, and one at or below -1 always is.
    threshold_table.thresholds[i] = !codec.clip() || (threshold > -1 && threshold <= 1) ? threshold
                                    : threshold > 1                                     ? formats::kNan
                                                                                        : -formats::kInfinity;
  }
  const float nan = formats::kNan;
  formats::Code16 nan_code;
  codec.encode({&nan, 1}, words, {}, &nan_code);
  threshold_table.nan_code = nan_code;
  threshold_table.nan_value = codec.value(nan_code, words);
  return threshold_table;
}

template <class Codec>
class ThresholdKernel final : public GroupKernel {
 public:
  ThresholdKernel(std::shared_ptr<const formats::Codec> codec, const Codec& known)
      : codec_(std::move(codec)), known_(known), plain_(plain_kernel(codec_, formats::Rounding::half_even)) {}

  void choose(const Groups& shape, const float* x, std::uint32_t* words) const override {
    plain_->choose(shape, x, words);
  }
  void quantize(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
                float* out) const override {
    each(shape, words, [&](const ThresholdTable& threshold_table, std::size_t at) {
      HWY_DYNAMIC_DISPATCH(RoundThresholds)(threshold_table, x + at, shape.size, out + at);
    });
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
              CodesOut codes) const override {
    each(shape, words, [&](const ThresholdTable& threshold_table, std::size_t at) {
      HWY_DYNAMIC_DISPATCH(CodeThresholds)(threshold_table, x + at, shape.size, codes + at);
    });
  }
  void decode(const Groups& shape, CodesIn codes, const std::uint32_t* words, float* out) const override {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      const std::size_t at = g * shape.size;
      DecodeTable(known_, words_of(shape, words, g)).run(codes + at, shape.size, 1, out + at);
    }
  }

 private:
  formats::ConstWords words_of(const Groups& shape, const std::uint32_t* words, std::size_t g) const {
    return {words + g * shape.stride, shape.stride};
  }
  template <class Body>
  void each(const Groups& shape, const std::uint32_t* words, const Body& body) const {
    for (std::size_t g = 0; g < shape.groups; ++g)
      body(threshold_table_of(known_, words_of(shape, words, g)), g * shape.size);
  }
  std::shared_ptr<const formats::Codec> codec_;  // keeps known_ alive
  const Codec& known_;
  std::unique_ptr<const GroupKernel> plain_;
};

template <class Codec>
std::unique_ptr<const GroupKernel> make(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* known = dynamic_cast<const Codec*>(codec.get());
  if (known == nullptr || 1 << codec->bits() > ThresholdTable::kMostSteps) return nullptr;
  return std::make_unique<const ThresholdKernel<Codec>>(codec, *known);
}

}  // namespace

std::span<const Descriptor> threshold_simd_descriptors() {
  static const Descriptor all[] = {
      {.name = "binary", .kernel = GroupCodec{make<formats::BinaryCodec>}},
      {.name = "binary_residual", .kernel = GroupCodec{make<formats::ResidualCodec>}},
      {.name = "ternary", .kernel = GroupCodec{make<formats::TernaryCodec>}},
  };
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
