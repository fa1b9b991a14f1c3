#include "calibrate/extent.hpp"

#include <algorithm>
#include <tuple>

#include "calibrate/collector_table.hpp"
#include "calibrate/fields.hpp"

namespace anybit::calibrate {
namespace {

Result<float> bound(const JsonTree& object, const char* name) {
  const double value = TRY(real(object, name));
  if (static_cast<double>(static_cast<float>(value)) != value)
    return damaged(fmt::format("'{}' is not a float32 number", name));
  return static_cast<float>(value);
}

}  // namespace

void Extent::add(const kernels::Extremes& seen) {
  if (seen.finite > 0) {
    min = finite() == 0 ? seen.min : std::min(min, seen.min);
    max = finite() == 0 ? seen.max : std::max(max, seen.max);
  }
  count += seen.finite + seen.nans + seen.infinities;
  nans += seen.nans;
  infinities += seen.infinities;
  zeros += seen.zeros;
}

void Extent::add_bad(std::int64_t sample, const std::string& name) {
  if (bad_sample >= 0 && std::tie(bad_sample, first_bad) <= std::tie(sample, name)) return;
  bad_sample = sample;
  first_bad = name;
}

Result<void> Extent::merge(const Extent& other) {
  if (other.finite() > 0) {
    min = finite() == 0 ? other.min : std::min(min, other.min);
    max = finite() == 0 ? other.max : std::max(max, other.max);
  }
  count += other.count;
  nans += other.nans;
  infinities += other.infinities;
  zeros += other.zeros;
  samples += other.samples;
  if (other.bad_sample >= 0) add_bad(other.bad_sample, other.first_bad);
  return {};
}

Result<void> Extent::see(const Look& look, Workbench&, std::mutex& guard) {
  const std::lock_guard lock(guard);
  add(look.extremes);
  return {};
}

void Extent::end_sample(const Glance& glance) { samples += glance.seen ? 1 : 0; }

void Extent::write(JsonMembers& to) const {
  to.emplace_back("samples", std::to_string(samples));
  to.emplace_back("count", std::to_string(count));
  to.emplace_back("zeros", std::to_string(zeros));
  if (finite() > 0) {
    to.emplace_back("min", json_number(static_cast<double>(min)));
    to.emplace_back("max", json_number(static_cast<double>(max)));
  }
  if (bad_sample < 0) return;
  to.emplace_back("nans", std::to_string(nans));
  to.emplace_back("infinities", std::to_string(infinities));
  to.emplace_back("bad_sample",
                  fmt::format("{{\"number\": {}, \"text\": {}}}", bad_sample, json_text(first_bad)));
}

Result<void> Extent::read(const JsonTree& from, const Extent&) {
  samples = TRY(integer(from, "samples"));
  count = TRY(integer(from, "count"));
  zeros = TRY(integer(from, "zeros"));
  nans = TRY(integer(from, "nans", 0));
  infinities = TRY(integer(from, "infinities", 0));
  if (finite() < zeros || (samples == 0 && count > 0)) return damaged("the counts do not add up");
  if (finite() > 0) {
    min = TRY(bound(from, "min"));
    max = TRY(bound(from, "max"));
    if (min > max) return damaged("'min' is larger than 'max'");
  }
  if (const JsonTree* bad = from.find("bad_sample")) {
    bad_sample = TRY(integer(*bad, "number"));
    const JsonTree* text = bad->find("text");
    if (!text || !text->text()) return damaged("'bad_sample' has no text");
    first_bad = *text->text();
  }
  if ((bad_sample >= 0) != (nans + infinities > 0))
    return damaged("the counts of NaN and infinity are inconsistent");
  return {};
}

std::span<const CollectorDescriptor> extent_collector_descriptors() {
  static const CollectorDescriptor all[] = {
      {.name = "extent", .summary = "element counts, minimum and maximum"}};
  return all;
}

}  // namespace anybit::calibrate
