#include "calibrate/channel_maxima.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "calibrate/collector_table.hpp"
#include "calibrate/extent.hpp"
#include "calibrate/fields.hpp"

namespace anybit::calibrate {

Result<void> ChannelMaxima::merge(const ChannelMaxima& other) {
  if (other.maxima_.empty()) return {};
  if (maxima_.empty()) maxima_.resize(other.maxima_.size());
  if (maxima_.size() != other.maxima_.size())
    return invalid_argument(fmt::format("{} channels, and {}", maxima_.size(), other.maxima_.size()));
  for (std::size_t i = 0; i < maxima_.size(); ++i) maxima_[i] = std::max(maxima_[i], other.maxima_[i]);
  return {};
}

Result<void> ChannelMaxima::see(const Look& look, Workbench& bench, std::mutex& guard) {
  const Rows rows = TRY(rows_of(view_, look.array.dims()));
  if (rows.length == 0) return {};
  ChannelMaxima found;  // small enough not to count against the memory limit
  found.maxima_.resize(static_cast<std::size_t>(rows.length));
  const auto add = [&](std::int64_t, const float* row) {
    for (std::size_t i = 0; i < found.maxima_.size(); ++i) {
      const float one = std::abs(row[i]);
      if (one > found.maxima_[i] && std::isfinite(one)) found.maxima_[i] = one;
    }
  };
  TRY(each_row(view_, look, bench, FunctionRef<std::int64_t, const float*>(add)));
  const std::lock_guard lock(guard);
  return merge(found);
}

void ChannelMaxima::write(JsonMembers& to) const {
  to.emplace_back("maxima", fmt::format("\"{}\"", fmt::join(maxima_, " ")));
}

Result<void> ChannelMaxima::read(const JsonTree& from, const Extent& extent) {
  const JsonTree* found = from.find("maxima");
  const std::string* text = found ? found->text() : nullptr;
  if (!text) return damaged("'maxima' is not a string of numbers");
  const float most = extent.finite() > 0 ? std::max(std::abs(extent.min), std::abs(extent.max)) : 0.0f;
  for (const char *at = text->data(), *end = at + text->size(); at < end;) {
    float one = 0;
    const auto [stop, problem] = std::from_chars(at, end, one);
    if (problem != std::errc() || !(one >= 0 && one <= most) || (stop != end && *stop != ' '))
      return damaged("'maxima' has an invalid number");
    maxima_.push_back(one);
    at = stop == end ? end : stop + 1;
  }
  return {};
}

Collector::Numbers ChannelMaxima::numbers() const {
  return {{std::ssize(maxima_)}, {maxima_.begin(), maxima_.end()}};
}

std::span<const CollectorDescriptor> channel_maxima_collector_descriptors() {
  static const CollectorDescriptor all[] = {
      {.name = "channel-maxima",
       .summary = "largest magnitude of each input channel of layers with weights",
       .make = [](const View& view) -> std::unique_ptr<Collector> {
         return std::make_unique<ChannelMaxima>(view);
       }}};
  return all;
}

}  // namespace anybit::calibrate
