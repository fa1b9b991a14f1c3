#include "evaluate/class_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

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

// False if a value is not finite, or if all of them are zero.
bool to_chances(std::span<const float> row, bool probabilities, std::vector<double>& chances) {
  chances.resize(row.size());
  const double largest = *std::ranges::max_element(row);
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!std::isfinite(row[i])) return false;
    const auto value = static_cast<double>(row[i]);
    chances[i] = probabilities ? std::max(value, 0.0) : std::exp(value - largest);
    sum += chances[i];
  }
  for (double& one : chances) one /= sum;
  return sum > 0;
}

// p log(p / m), which is 0 for p = 0.
double relative(double p, double middle) { return p > 0 ? p * std::log(p / middle) : 0; }

}  // namespace

double ClassRows::divergence_of(std::span<const float> reference, std::span<const float> other,
                                bool probabilities) {
  if (!to_chances(reference, probabilities, chances_) || !to_chances(other, probabilities, other_chances_))
    return std::numbers::ln2;  // as far apart as two distributions can be
  double sum = 0;
  for (std::size_t i = 0; i < chances_.size(); ++i) {
    const double p = chances_[i], q = other_chances_[i], middle = (p + q) / 2;
    sum += relative(p, middle) + relative(q, middle);
  }
  return std::max(0.0, sum / 2);
}

double ClassRows::divergence() const {
  return divergence_ / static_cast<double>(std::max<std::int64_t>(1, telling_rows()));
}

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
  bool probabilities = false;
  if (low >= 0 && high <= 1 + kNormalized) {
    double sum = 0;
    for (const float value : reference) sum += value;
    probabilities = std::abs(sum - 1) < kNormalized;
    normalized_ += probabilities ? 1 : 0;
  }
  if (probabilities || logits_) divergence_ += divergence_of(reference, other, probabilities);
  if (low >= 0 && !logits_) return;
  const double total = log_sum_exp(reference, high);
  const bool logarithms = high <= 0 && std::abs(total) < kNormalized;
  normalized_ += logarithms ? 1 : 0;
  peaks_ += std::exp(high - total);
  if (logarithms && !logits_) divergence_ += divergence_of(reference, other, false);
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
