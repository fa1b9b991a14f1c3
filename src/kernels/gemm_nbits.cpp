#include "kernels/gemm_nbits.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm_nbits.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm_blocks-inl.h"

#ifndef ANYBIT_KERNELS_GEMM_NBITS_ONCE_
#define ANYBIT_KERNELS_GEMM_NBITS_ONCE_
namespace anybit::kernels {
// Rows of a panel that share their scales.
struct CodeRows {
  const std::uint8_t* codes;
  const float *scales, *zero_points;  // of 16 columns
  std::int64_t count;
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// The plain loops become vector code at -O3.
template <int Bits>
void DecodeRows(const CodeRows& rows, float* HWY_RESTRICT to) {
  constexpr int kBytes = static_cast<int>(kPanel) * Bits / 8, kCodes = 8 / Bits;
  float scales[kPanel], zeros[kPanel];
  std::copy_n(rows.scales, kPanel, scales);
  std::copy_n(rows.zero_points, kPanel, zeros);
  for (std::int64_t k = 0; k < rows.count; ++k) {
    const std::uint8_t* HWY_RESTRICT from = rows.codes + k * kBytes;
    float numbers[kPanel];
    for (int part = 0; part < kCodes; ++part) {
      for (int i = 0; i < kBytes; ++i) {
        numbers[part * kBytes + i] = static_cast<float>((from[i] >> (part * Bits)) & ((1 << Bits) - 1));
      }
    }
    for (std::int64_t c = 0; c < kPanel; ++c) to[k * kPanel + c] = (numbers[c] - zeros[c]) * scales[c];
  }
}

void DecodeCodes(int bits, const CodeRows& rows, float* to) {
  if (bits == 2) return DecodeRows<2>(rows, to);
  if (bits == 4) return DecodeRows<4>(rows, to);
  DecodeRows<8>(rows, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {
namespace {

HWY_EXPORT(DecodeCodes);

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

PackedCodes::PackedCodes(const ColumnCodes& from)
    : k_(from.k), n_(from.n), block_(from.block), blocks_(from.blocks()), bits_(from.bits) {
  const std::int64_t panels = (n_ + kPanel - 1) / kPanel, row = kPanel * bits_ / 8;
  const std::int64_t column_bytes = blocks_ * block_ * bits_ / 8;
  codes_.resize(at(panels * k_ * row));
  scales_.resize(at(panels * blocks_ * kPanel));
  zero_points_.resize(scales_.size());
  if (from.block_of_row) block_of_row_.assign(from.block_of_row, from.block_of_row + k_);
  for (std::int64_t column = 0; column < n_; ++column) {
    const std::int64_t panel = column / kPanel, c = column % kPanel;
    for (std::int64_t b = 0; b < blocks_; ++b) {
      const std::size_t to = at((panel * blocks_ + b) * kPanel + c);
      scales_[to] = from.scales[column * blocks_ + b];
      zero_points_[to] =
          from.zero_points ? from.zero_points[column * blocks_ + b] : static_cast<float>(1 << (bits_ - 1));
    }
    const std::uint8_t* codes = from.codes + column * column_bytes;
    for (std::int64_t k = 0; k < k_; ++k) {
      const int code = codes[k * bits_ / 8] >> (k * bits_ % 8) & ((1 << bits_) - 1);
      std::uint8_t& to = codes_[at((panel * k_ + k) * row + c % row)];
      to = static_cast<std::uint8_t>(to | code << (c / row * bits_));
    }
  }
}

const float* PackedCodes::panel(std::int64_t index, std::int64_t k, std::int64_t count,
                                float* scratch) const {
  const std::int64_t row = kPanel * bits_ / 8;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t now = k + done;
    const std::int64_t block = block_of_row_.empty() ? now / block_ : block_of_row_[at(now)];
    std::int64_t together = block_of_row_.empty() ? std::min((block + 1) * block_ - now, count - done) : 1;
    const std::size_t scales = at((index * blocks_ + block) * kPanel);
    const CodeRows rows{codes_.data() + (index * k_ + now) * row, scales_.data() + scales,
                        zero_points_.data() + scales, together};
    HWY_DYNAMIC_DISPATCH(DecodeCodes)(bits_, rows, scratch + done * kPanel);
    done += together;
  }
  return scratch;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
