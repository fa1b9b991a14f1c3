#include "evaluate/difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace anybit::evaluate {

void DifferenceSums::add(std::span<const float> reference, std::span<const float> other) {
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const auto a = static_cast<double>(reference[i]), b = static_cast<double>(other[i]);
    // Equal infinities (of a mask), or NaN in both, count as no difference; they have no magnitude to add.
    if (!std::isfinite(a) && (a == b || (std::isnan(a) && std::isnan(b)))) continue;
    const double lost = a - b;
    if (!std::isfinite(lost)) {
      broken_ = true;
      continue;
    }
    reference_ += a * a;
    other_ += b * b;
    product_ += a * b;
    noise_ += lost * lost;
    largest_error_ = std::max(largest_error_, std::abs(lost));
    largest_value_ = std::max(largest_value_, std::abs(a));
  }
  count_ += static_cast<std::int64_t>(reference.size());
}

void DifferenceSums::add(const DifferenceSums& other) {
  count_ += other.count_;
  skipped_ += other.skipped_;
  reference_ += other.reference_;
  other_ += other.other_;
  product_ += other.product_;
  noise_ += other.noise_;
  largest_error_ = std::max(largest_error_, other.largest_error_);
  largest_value_ = std::max(largest_value_, other.largest_value_);
  broken_ = broken_ || other.broken_;
}

void DifferenceSums::fill(Difference& difference) const {
  constexpr double kSame = 200;  // dB
  difference.count = count_;
  difference.skipped = skipped_;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  difference.sqnr = broken_      ? -kInfinity
                    : noise_ > 0 ? std::min(kSame, 10 * std::log10(reference_ / noise_))
                                 : kSame;
  const double sizes = std::sqrt(reference_) * std::sqrt(other_);
  difference.cosine = broken_      ? std::numeric_limits<double>::quiet_NaN()
                      : sizes > 0  ? product_ / sizes
                      : noise_ > 0 ? 0.0
                                   : 1.0;
  difference.largest_error = broken_ ? kInfinity : largest_error_;
  difference.largest_value = largest_value_;
}

}  // namespace anybit::evaluate
