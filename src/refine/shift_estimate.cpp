#include "refine/shift_estimate.hpp"

#include <algorithm>
#include <cmath>

namespace anybit::quantizing {
namespace {

// The slope of the function between a quantized value and the right one is the share of the error that
// passes.
void weigh(Measured& found, const ElementFunction& function, std::span<const float> right,
           std::span<const float> quantized) {
  constexpr float kCloseness = 1e-3f;
  const std::size_t channels = found.means.size();
  std::vector<float> largest(channels), other(right.begin(), right.end());
  for (std::size_t i = 0; i < right.size(); ++i)
    largest[i % channels] = std::max({largest[i % channels], std::abs(right[i]), std::abs(quantized[i])});
  for (std::size_t i = 0; i < right.size(); ++i) {  // differences that are not lost in rounding errors
    const float least = largest[i % channels] > 0 ? kCloseness * largest[i % channels] : 1;
    if (std::abs(right[i] - quantized[i]) < least)
      other[i] = quantized[i] + std::copysign(least, right[i] - quantized[i]);
  }
  const auto row = static_cast<std::int64_t>(channels);
  const std::vector<float> low = function({quantized.begin(), quantized.end()}, row),
                           high = function(other, row);
  if (low.size() != right.size() || high.size() != right.size()) return;
  found.picked.resize(channels);
  found.places = static_cast<std::int64_t>(right.size() / channels);
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double slope = (static_cast<double>(high[i]) - static_cast<double>(low[i])) /
                         (static_cast<double>(other[i]) - static_cast<double>(quantized[i]));
    const double error = static_cast<double>(right[i]) - static_cast<double>(quantized[i]);
    const double weight = slope * slope;
    found.picked[i % channels] += {error, error * error, weight, weight * error, weight * error * error};
  }
}

// The mean over all places as a control variate of the weighted one: the factor of the difference between
// the means over all and over the picked places.
double factor_of(const Measured::Picked& sums, double places) {
  const double mean = sums.error / places, variance = sums.square / places - mean * mean;
  const double both = (sums.weighted_square - sums.weighted_error * mean) / sums.weight;
  return variance > 0 ? std::clamp(both / variance, 0.0, 1.0) : 1;
}

// The errors of a channel, by sample; their mean is the shift.
std::vector<double> errors_of(std::span<const Measured> samples, std::size_t channel) {
  Measured::Picked sums;
  double places = 0;
  std::vector<double> errors;
  for (const Measured& one : samples) {
    errors.push_back(one.means[channel]);
    if (one.picked.empty()) continue;
    sums += one.picked[channel];
    places += static_cast<double>(one.places);
  }
  const bool weighted =
      sums.weight > 0 &&
      std::ranges::none_of(samples, &std::vector<Measured::Picked>::empty, &Measured::picked);
  if (!weighted) return errors;
  const double factor = factor_of(sums, places), n = static_cast<double>(samples.size());
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Measured::Picked& picked = samples[s].picked[channel];
    const double mean = picked.error / static_cast<double>(samples[s].places);
    errors[s] = factor * (errors[s] - mean) + n * picked.weighted_error / sums.weight;
  }
  return errors;
}

}  // namespace

Measured::Picked& Measured::Picked::operator+=(const Picked& other) {
  error += other.error;
  square += other.square;
  weight += other.weight;
  weighted_error += other.weighted_error;
  weighted_square += other.weighted_square;
  return *this;
}

Measured measured(const ChannelSums& right, const ChannelSums& quantized, const ElementFunction& function) {
  Measured found;
  if (right.channels.size() != quantized.channels.size()) return found;
  if (right.places != quantized.places || right.places == 0) return found;
  for (std::size_t i = 0; i < right.channels.size(); ++i)
    found.means.push_back((right.channels[i] - quantized.channels[i]) / static_cast<double>(right.places));
  if (function && right.picked.size() == quantized.picked.size() && !right.picked.empty())
    weigh(found, function, right.picked, quantized.picked);
  return found;
}

std::vector<double> shift_of(std::span<const Measured> samples) {
  if (samples.size() < 2) return {};
  const std::size_t channels = samples[0].means.size();
  if (std::ranges::any_of(samples, [&](const Measured& one) { return one.means.size() != channels; }))
    return {};
  const auto n = static_cast<double>(samples.size());
  std::vector<double> shift(channels);
  for (std::size_t i = 0; i < channels; ++i) {
    double sum = 0, squares = 0;
    for (const double error : errors_of(samples, i)) {
      sum += error;
      squares += error * error;
    }
    const double mean = sum / n, variance = std::max(squares - n * mean * mean, 0.0) / (n - 1);
    shift[i] = mean == 0 ? 0 : mean * (mean * mean / (mean * mean + variance / n));
    if (!std::isfinite(shift[i])) return {};
  }
  return shift;
}

}  // namespace anybit::quantizing
