#include "evaluate/class_rows.hpp"

#include <algorithm>
#include <cmath>

#include "evaluate/row_scores.hpp"

namespace anybit::evaluate {
namespace {

constexpr double kNormalized = 0.01;  // how far a sum of probabilities may be from 1
constexpr double kLikelyPeak = 0.4;   // mean of the largest probability: flat rows are no logits
constexpr double kLargestLogit = 100;

// log Σ exp(x).
double log_sum_exp(std::span<const float> row, float largest) {
  double sum = 0;
  for (const float value : row) sum += std::exp(static_cast<double>(value) - largest);
  return largest + std::log(sum);
}

}  // namespace

void ClassRows::add(std::span<const std::int64_t> dims, std::span<const float> reference,
                    std::span<const float> other) {
  const auto width = static_cast<std::size_t>(dims[axis_]);
  if (width < 2) return;
  // Logits are [N, C] or [N, C, …]: along the last axis of a sequence only probabilities are taken for
  // classes.
  logits_ = logits_ && axis_ == 1 && dims.size() != 3;
  if (chosen_.size() < width) {
    chosen_.resize(width);
    both_chose_.resize(width);
  }
  std::size_t inner = 1;
  for (std::size_t i = axis_ + 1; i < dims.size(); ++i) inner *= static_cast<std::size_t>(dims[i]);
  if (inner == 0) return;
  row_.resize(width);
  other_row_.resize(width);
  for (std::size_t block = 0; block < reference.size(); block += width * inner) {
    for (std::size_t at = block; at < block + inner; ++at) {
      for (std::size_t c = 0; c < width; ++c) {
        row_[c] = reference[at + c * inner];
        other_row_[c] = other[at + c * inner];
      }
      add_row(row_, other_row_);
    }
  }
}

void ClassRows::add_row(std::span<const float> reference, std::span<const float> other) {
  const std::size_t best = best_of(reference), theirs = best_of(other);
  ++rows_;
  ++chosen_[best];
  if (best == theirs) {
    ++agreed_;
    ++both_chose_[best];
  }
  const auto [low, high] = std::ranges::minmax(reference);
  if (!std::isfinite(low) || !std::isfinite(high)) return;
  largest_ = std::max({largest_, std::abs(static_cast<double>(low)), std::abs(static_cast<double>(high))});
  signed_ += low < 0 && high > 0 ? 1 : 0;
  if (low >= 0 && high <= 1 + kNormalized) {
    double sum = 0;
    for (const float value : reference) sum += value;
    normalized_ += std::abs(sum - 1) < kNormalized ? 1 : 0;
    if (!logits_) return;
  }
  const double total = log_sum_exp(reference, high);
  normalized_ += high <= 0 && std::abs(total) < kNormalized ? 1 : 0;
  peaks_ += std::exp(high - total);
}

std::int64_t ClassRows::same_as_dominant() const {
  const auto most = std::ranges::max_element(chosen_);
  if (most == chosen_.end() || *most * 2 <= rows_) return 0;
  const std::int64_t same = both_chose_[static_cast<std::size_t>(most - chosen_.begin())];
  // With one class only, this class is all there is to agree on.
  return *most == rows_ ? 0 : same;
}

bool ClassRows::likely() const {
  if (rows_ == 0) return false;
  const auto rows = static_cast<double>(rows_);
  if (static_cast<double>(normalized_) >= 0.99 * rows) return true;
  return logits_ && static_cast<double>(signed_) >= 0.8 * rows && peaks_ >= kLikelyPeak * rows &&
         largest_ <= kLargestLogit;
}

}  // namespace anybit::evaluate
