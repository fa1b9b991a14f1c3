// Packs integer matrices into panels of 16 columns, with pairs along k adjacent.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_pack_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm/gemm_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// Widens pairs of bytes to 16 bits and subtracts zero points (of 16 columns; null: none).
void WidenPanel(const std::int8_t* HWY_RESTRICT from, std::int64_t pairs, const std::int32_t* zeros,
                std::int16_t* HWY_RESTRICT to) {
  constexpr std::int64_t kPair = 2 * kPanel;
  if (!zeros) {
    for (std::int64_t i = 0; i < pairs * kPair; ++i) to[i] = from[i];
    return;
  }
  std::int16_t less[kPair];
  for (std::int64_t i = 0; i < kPair; ++i) less[i] = static_cast<std::int16_t>(zeros[i / 2]);
  for (std::int64_t p = 0; p < pairs; ++p) {
    for (std::int64_t i = 0; i < kPair; ++i)
      to[p * kPair + i] = static_cast<std::int16_t>(from[p * kPair + i] - less[i]);
  }
}

// Extracts `part` of 16-bit values; 8-bit values have one part.
template <class T>
HWY_INLINE std::int16_t PartOf(T number, std::int32_t zero, int part) {
  const std::int32_t all = std::int32_t{number} - zero;
  if (sizeof(T) == 1) return static_cast<std::int16_t>(all);
  return static_cast<std::int16_t>(part == 0 ? all & 255 : all >> 8);
}

template <class T>
HWY_INLINE void PairPanel(const T* HWY_RESTRICT from, std::int64_t row_stride, std::int64_t column_stride,
                          std::int64_t columns, std::int64_t count, const std::int32_t* HWY_RESTRICT zeros,
                          int part, std::int16_t* HWY_RESTRICT to) {
  if (columns < kPanel || count % 2 != 0) {
    std::fill(to, to + (count + 1) / 2 * 2 * kPanel, std::int16_t{0});
  }
  const std::int64_t pairs = count / 2;
  if (column_stride == 1 && columns == kPanel) {
    for (std::int64_t p = 0; p < pairs; ++p) {
      const T* one = from + 2 * p * row_stride;
      const T* two = one + row_stride;
      std::int16_t* at = to + p * 2 * kPanel;
      for (std::int64_t c = 0; c < kPanel; ++c) {
        at[2 * c] = PartOf(one[c], zeros[c], part);
        at[2 * c + 1] = PartOf(two[c], zeros[c], part);
      }
    }
  } else {
    for (std::int64_t c = 0; c < columns; ++c) {
      const T* one = from + c * column_stride;
      for (std::int64_t k = 0; k < 2 * pairs; ++k) {
        to[k / 2 * 2 * kPanel + 2 * c + k % 2] = PartOf(one[k * row_stride], zeros[c], part);
      }
    }
  }
  for (std::int64_t c = 0; c < columns && count % 2 != 0; ++c) {
    to[pairs * 2 * kPanel + 2 * c] =
        PartOf(from[(count - 1) * row_stride + c * column_stride], zeros[c], part);
  }
}

void PairPanelOf(const IntegerView& b, std::int64_t columns, std::int64_t count, const std::int32_t* zeros,
                 int part, std::int16_t* to) {
  const auto pairs = [&]<class T>(T) HWY_ATTR {
    PairPanel(static_cast<const T*>(b.data), b.row_stride, b.column_stride, columns, count, zeros, part, to);
  };
  switch (b.type) {
    case IntegerType::int8:
      return pairs(std::int8_t());
    case IntegerType::uint8:
      return pairs(std::uint8_t());
    case IntegerType::int16:
      return pairs(std::int16_t());
    case IntegerType::uint16:
      return pairs(std::uint16_t());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/instructions.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(WidenPanel);
HWY_EXPORT(PairPanelOf);

std::int64_t panels_of(std::int64_t n) { return (n + kPanel - 1) / kPanel; }
std::int64_t even(std::int64_t k) { return k + k % 2; }

struct Range {
  std::int32_t low, high;
};
Range range_of(IntegerType type) {
  switch (type) {
    case IntegerType::int8:
      return {-128, 127};
    case IntegerType::uint8:
      return {0, 255};
    case IntegerType::int16:
      return {-32768, 32767};
    case IntegerType::uint16:
      return {0, 65535};
  }
  return {};
}

}  // namespace

void PlainIntegers::panel(std::int64_t index, std::int64_t k, std::int64_t count, int part,
                          std::int16_t* to) const {
  const std::int64_t column = index * kPanel, columns = std::min(kPanel, n_ - column);
  std::int32_t zeros[kPanel] = {};
  for (std::int64_t c = 0; c < columns && zero_points_.data; ++c) {
    zeros[c] = zero_points_.data[(column + c) * zero_points_.column_stride];
  }
  IntegerView at = b_;
  at.data = static_cast<const std::byte*>(b_.data) +
            (k * b_.row_stride + column * b_.column_stride) * bytes_of(b_.type);
  HWY_DYNAMIC_DISPATCH(PairPanelOf)(at, columns, count, zeros, part, to);
}

PackedIntegers::PackedIntegers(IntegerView b, std::int64_t k, std::int64_t n,
                               Spread<std::int32_t> zero_points)
    : k_(k), n_(n), wide_(bytes_of(b.type) == 2), memory_(aligned_bytes(bytes())) {
  const Range range = range_of(b.type);
  // Unsigned bytes are stored as signed ones: values and zero points are reduced by 128.
  const std::int32_t shift = b.type == IntegerType::uint8 ? 128 : 0;
  bool any = false;
  const std::int64_t padded = panels_of(n) * kPanel;
  zeros_ = std::make_unique<std::int32_t[]>(static_cast<std::size_t>(padded));
  for (std::int64_t c = 0; c < n; ++c) {
    const std::int32_t zero = zero_points.data ? zero_points.data[c * zero_points.column_stride] : 0;
    largest_ = std::max<std::int64_t>({largest_, zero - range.low, range.high - zero});
    zeros_[static_cast<std::size_t>(c)] = zero - shift;
    any = any || zero != shift;
  }
  if (!any) zeros_.reset();
  const std::int32_t shifts[kPanel] = {shift, shift, shift, shift, shift, shift, shift, shift,
                                       shift, shift, shift, shift, shift, shift, shift, shift};
  constexpr std::int64_t kStep = 256;
  std::int16_t low[kStep * kPanel], high[kStep * kPanel];
  for (std::int64_t p = 0; p < panels_of(n); ++p) {
    std::int64_t sums[kPanel] = {};
    for (std::int64_t k0 = 0; k0 < k; k0 += kStep) {
      const std::int64_t count = std::min(kStep, k - k0), columns = std::min(kPanel, n - p * kPanel);
      IntegerView at = b;
      at.data = static_cast<const std::byte*>(b.data) +
                (k0 * b.row_stride + p * kPanel * b.column_stride) * bytes_of(b.type);
      HWY_DYNAMIC_DISPATCH(PairPanelOf)(at, columns, count, shifts, 0, low);
      if (wide_) HWY_DYNAMIC_DISPATCH(PairPanelOf)(at, columns, count, shifts, 1, high);
      const std::int64_t first = (p * even(k) + k0) * kPanel;
      for (std::int64_t i = 0; i < even(count) * kPanel; ++i) {
        const std::int64_t c = i / 2 % kPanel;
        const std::int32_t code = low[i] + (wide_ ? 256 * high[i] : 0);
        sums[c] += std::abs(code - (zeros_ ? zeros_[static_cast<std::size_t>(p * kPanel + c)] : 0));
        if (wide_) {
          reinterpret_cast<std::int32_t*>(memory_.get())[first + i] = code;
        } else {
          reinterpret_cast<std::int8_t*>(memory_.get())[first + i] = static_cast<std::int8_t>(code);
        }
      }
    }
    largest_sum_ = std::max(largest_sum_, *std::max_element(sums, sums + kPanel));
  }
  if (!wide_ && usable(Instructions::avx512_vnni)) keep_column_sums();
}

void PackedIntegers::panel(std::int64_t index, std::int64_t k, std::int64_t count, int part,
                           std::int16_t* to) const {
  const std::int32_t* zeros = zeros_ ? zeros_.get() + index * kPanel : nullptr;
  const std::int64_t first = (index * even(k_) + k) * kPanel;
  if (!wide_) {
    HWY_DYNAMIC_DISPATCH(WidenPanel)(narrow(0) + first, (count + 1) / 2, zeros, to);
  } else {
    const auto* from = reinterpret_cast<const std::int32_t*>(memory_.get()) + first;
    for (std::int64_t i = 0; i < even(count) * kPanel; ++i) {
      const std::int32_t all = from[i] - (zeros ? zeros[i / 2 % kPanel] : 0);
      to[i] = static_cast<std::int16_t>(part == 0 ? all & 255 : all >> 8);
    }
  }
  for (std::int64_t i = 0; i < kPanel && count % 2 != 0 && zeros; ++i)
    to[count * kPanel + 2 * i + 1 - kPanel] = 0;
}

const std::int8_t* PackedIntegers::narrow(std::int64_t index) const {
  if (wide_) return nullptr;
  return reinterpret_cast<const std::int8_t*>(memory_.get()) + index * even(k_) * kPanel;
}

std::vector<std::int64_t> column_sums(const IntegerRhs& b, std::int64_t k, std::int64_t n) {
  constexpr std::int64_t kStep = 256;
  std::vector<std::int64_t> sums(static_cast<std::size_t>(panels_of(n) * kPanel));
  std::int16_t panel[kStep * kPanel];
  for (std::int64_t p = 0; p < panels_of(n); ++p) {
    for (std::int64_t k0 = 0; k0 < k; k0 += kStep) {
      const std::int64_t count = std::min(kStep, k - k0);
      for (int part = 0; part < b.parts(); ++part) {
        b.panel(p, k0, count, part, panel);
        for (std::int64_t i = 0; i < even(count) * kPanel; ++i) {
          sums[static_cast<std::size_t>(p * kPanel + i / 2 % kPanel)] += panel[i] * (part == 0 ? 1 : 256);
        }
      }
    }
  }
  return sums;
}

std::int64_t PackedIntegers::bytes() const { return panels_of(n_) * even(k_) * kPanel * (wide_ ? 4 : 1); }

}  // namespace anybit::kernels
#endif  // HWY_ONCE
