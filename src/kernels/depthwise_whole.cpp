// Products and sums in float32: below 2^24 they are exact, and the CPU has more of these units than of those
// for 32-bit products. Every target gives the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise_whole.cpp"
#include "kernels/depthwise_whole.hpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;

// The taps of one output that lie inside the input: where each begins, and its weights.
struct Tap {
  std::int64_t place, weights;
};

template <class X, class Y>
class Lanes {
 public:
  Lanes(const DepthwiseWhole& channels, std::int32_t x_zero, const DepthwiseOutput& output)
      : channels_(channels), x_zero_(x_zero), output_(output) {}

  // One vector of channels, from channel c on.
  HWY_INLINE void operator()(const X* x, const Tap* taps, std::int64_t count, std::int64_t c, Y* y) const {
    const DF d;
    const DI di;
    const auto zero = hn::Set(di, x_zero_);
    auto even = hn::Zero(d), odd = hn::Zero(d);
    const auto value = [&](const Tap& tap) HWY_ATTR {
      const hn::Rebind<X, DI> narrow;
      return hn::ConvertTo(d, hn::Sub(hn::PromoteTo(di, hn::LoadU(narrow, x + tap.place + c)), zero));
    };
    const float* weights = channels_.weights + c;
    std::int64_t t = 0;
    for (; t + 2 <= count; t += 2) {
      even = hn::MulAdd(value(taps[t]), hn::LoadU(d, weights + taps[t].weights), even);
      odd = hn::MulAdd(value(taps[t + 1]), hn::LoadU(d, weights + taps[t + 1].weights), odd);
    }
    if (t < count) even = hn::MulAdd(value(taps[t]), hn::LoadU(d, weights + taps[t].weights), even);
    const auto sum = hn::Add(hn::NearestInt(hn::Add(even, odd)), hn::LoadU(di, channels_.bias + c));
    const auto scaled = hn::Mul(hn::ConvertTo(d, sum), hn::LoadU(d, channels_.multiplier + c));
    // The ends are whole numbers: clamping before rounding gives the same, and no number is too large to
    // round.
    const auto low = hn::Set(d, static_cast<float>(output_.low - output_.zero_point));
    const auto high = hn::Set(d, static_cast<float>(output_.high - output_.zero_point));
    const auto codes =
        hn::Add(hn::NearestInt(hn::Min(hn::Max(scaled, low), high)), hn::Set(di, output_.zero_point));
    const hn::Rebind<Y, DI> narrow;
    hn::StoreU(hn::DemoteTo(narrow, codes), narrow, y + c);
  }

 private:
  const DepthwiseWhole& channels_;
  std::int32_t x_zero_;
  DepthwiseOutput output_;
};

template <class X, class Y>
void Rows(const ConvSizes& sizes, const DepthwiseWhole& channels, std::int32_t x_zero,
          const DepthwiseOutput& output, const X* x, std::int64_t first, std::int64_t last, Y* y) {
  const auto& [d, h, w] = sizes.window;
  const std::int64_t count = sizes.out_channels;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(DF()));
  const Lanes<X, Y> body(channels, x_zero, output);
  Tap taps[DepthwiseWhole::kMostTaps];
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t oh = row % h.output, od = row / h.output % d.output, n = row / (h.output * d.output);
    const Range depth = taps_inside(d, od), height = taps_inside(h, oh);
    for (std::int64_t ow = 0; ow < w.output; ++ow) {
      const Range width = taps_inside(w, ow);
      std::int64_t found = 0;
      for (std::int64_t kd = depth.first; kd < depth.last; ++kd) {
        for (std::int64_t kh = height.first; kh < height.last; ++kh) {
          const std::int64_t id = start_of(d, od) + kd * d.dilation, ih = start_of(h, oh) + kh * h.dilation;
          const std::int64_t line = ((n * d.input + id) * h.input + ih) * w.input;
          for (std::int64_t kw = width.first; kw < width.last; ++kw) {
            taps[found++] = {(line + start_of(w, ow) + kw * w.dilation) * count,
                             ((kd * h.kernel + kh) * w.kernel + kw) * count};
          }
        }
      }
      Y* place = y + (row * w.output + ow) * count;
      std::int64_t c = 0;
      for (; c + lanes <= count; c += lanes) body(x, taps, found, c, place);
      // The last vector begins earlier, over channels that are done already.
      if (c < count) body(x, taps, found, count - lanes, place);
    }
  }
}

void RowsUU(const ConvSizes& s, const DepthwiseWhole& c, std::int32_t z, const DepthwiseOutput& o,
            const std::uint8_t* x, std::int64_t a, std::int64_t b, std::uint8_t* y) {
  Rows(s, c, z, o, x, a, b, y);
}
void RowsUS(const ConvSizes& s, const DepthwiseWhole& c, std::int32_t z, const DepthwiseOutput& o,
            const std::uint8_t* x, std::int64_t a, std::int64_t b, std::int8_t* y) {
  Rows(s, c, z, o, x, a, b, y);
}
void RowsSU(const ConvSizes& s, const DepthwiseWhole& c, std::int32_t z, const DepthwiseOutput& o,
            const std::int8_t* x, std::int64_t a, std::int64_t b, std::uint8_t* y) {
  Rows(s, c, z, o, x, a, b, y);
}
void RowsSS(const ConvSizes& s, const DepthwiseWhole& c, std::int32_t z, const DepthwiseOutput& o,
            const std::int8_t* x, std::int64_t a, std::int64_t b, std::int8_t* y) {
  Rows(s, c, z, o, x, a, b, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(RowsUU);
HWY_EXPORT(RowsUS);
HWY_EXPORT(RowsSU);
HWY_EXPORT(RowsSS);

template <>
void depthwise_whole(const ConvSizes& sizes, const DepthwiseWhole& channels, std::int32_t x_zero,
                     const DepthwiseOutput& output, const std::uint8_t* x, std::int64_t first,
                     std::int64_t last, std::uint8_t* y) {
  HWY_DYNAMIC_DISPATCH(RowsUU)(sizes, channels, x_zero, output, x, first, last, y);
}
template <>
void depthwise_whole(const ConvSizes& sizes, const DepthwiseWhole& channels, std::int32_t x_zero,
                     const DepthwiseOutput& output, const std::uint8_t* x, std::int64_t first,
                     std::int64_t last, std::int8_t* y) {
  HWY_DYNAMIC_DISPATCH(RowsUS)(sizes, channels, x_zero, output, x, first, last, y);
}
template <>
void depthwise_whole(const ConvSizes& sizes, const DepthwiseWhole& channels, std::int32_t x_zero,
                     const DepthwiseOutput& output, const std::int8_t* x, std::int64_t first,
                     std::int64_t last, std::uint8_t* y) {
  HWY_DYNAMIC_DISPATCH(RowsSU)(sizes, channels, x_zero, output, x, first, last, y);
}
template <>
void depthwise_whole(const ConvSizes& sizes, const DepthwiseWhole& channels, std::int32_t x_zero,
                     const DepthwiseOutput& output, const std::int8_t* x, std::int64_t first,
                     std::int64_t last, std::int8_t* y) {
  HWY_DYNAMIC_DISPATCH(RowsSS)(sizes, channels, x_zero, output, x, first, last, y);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
