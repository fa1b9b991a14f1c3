#include "calibrate/moving_averages.hpp"

#include "base/math.hpp"
#include "calibrate/collector_table.hpp"
#include "calibrate/extent.hpp"
#include "calibrate/fields.hpp"

namespace anybit::calibrate {
namespace {

std::string text_of(const MovingAverage& average) {
  return fmt::format("{{\"value\": {}, \"first\": {}}}", json_number(average.value),
                     json_number(average.first));
}

Result<MovingAverage> read_average(const JsonTree& object, const char* name, std::int64_t count) {
  const JsonTree* found = object.find(name);
  if (!found) return damaged(fmt::format("'moving_average' has no '{}'", name));
  MovingAverage result;
  result.value = TRY(real(*found, "value"));
  result.first = TRY(real(*found, "first"));
  result.count = count;
  return result;
}

}  // namespace

void MovingAverage::add(double x, double momentum) {
  if (count == 0) first = value = x;
  value += momentum * (x - value);
  ++count;
}

// The other average started with its first value at full weight; appended, that weight is shared with this
// average.
void MovingAverage::append(const MovingAverage& other, double momentum) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  // Not libm's, so that merged files are identical on every CPU.
  value =
      other.value + math::fixed::pow(1 - momentum, static_cast<double>(other.count)) * (value - other.first);
  count += other.count;
}

Result<void> MovingAverages::merge(const MovingAverages& other) {
  if (momentum != other.momentum)
    return invalid_argument(
        fmt::format("moving averages of momentum {} and {} cannot be merged", momentum, other.momentum));
  min.append(other.min, momentum);
  max.append(other.max, momentum);
  return {};
}

void MovingAverages::end_sample(const Glance& glance) {
  if (glance.finite == 0) return;
  min.add(static_cast<double>(glance.min), momentum);
  max.add(static_cast<double>(glance.max), momentum);
}

void MovingAverages::write(JsonMembers& to) const {
  if (min.count == 0) return;
  to.emplace_back("moving_average",
                  fmt::format("{{\"momentum\": {}, \"samples\": {}, \"min\": {}, \"max\": {}}}",
                              json_number(momentum), min.count, text_of(min), text_of(max)));
}

Result<void> MovingAverages::read(const JsonTree& from, const Extent& extent) {
  if (extent.finite() == 0) return {};
  const JsonTree* moving = from.find("moving_average");
  if (!moving) return damaged("'moving_average' is missing");
  momentum = TRY(real(*moving, "momentum"));
  const std::int64_t count = TRY(integer(*moving, "samples"));
  if (!(momentum >= 0 && momentum <= 1) || count < 1 || count > extent.samples)
    return damaged("'moving_average' is invalid");
  min = TRY(read_average(*moving, "min", count));
  max = TRY(read_average(*moving, "max", count));
  // Averages lie within the bounds, up to float64 rounding.
  const double low = static_cast<double>(extent.min), high = static_cast<double>(extent.max);
  const double slack = 1e-9 * (std::abs(low) + std::abs(high));
  for (const double value : {min.value, min.first, max.value, max.first}) {
    if (value < low - slack || value > high + slack)
      return damaged("'moving_average' is outside of the bounds");
  }
  if (min.value > max.value) return damaged("'moving_average' is invalid");
  return {};
}

std::span<const CollectorDescriptor> moving_averages_collector_descriptors() {
  static const CollectorDescriptor all[] = {
      {.name = "moving-average", .summary = "moving averages of each sample's minimum and maximum"}};
  return all;
}

}  // namespace anybit::calibrate
