#include "anybit/calibrate.hpp"

#include <algorithm>
#include <map>

#include "api/executor_options.hpp"
#include "api/model_access.hpp"
#include "api/ranges.hpp"
#include "api/sample_stream.hpp"
#include "api/watched_values.hpp"
#include "base/cpu.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/nearest.hpp"
#include "base/reproducible.hpp"
#include "base/try.hpp"
#include "calibrate/gather.hpp"
#include "calibrate/histogram.hpp"
#include "calibrate/ranges_file.hpp"
#include "calibrate/table.hpp"
#include "io/onnx/content_hash.hpp"

namespace anybit {
namespace {

Ranges::Tensor tensor_of(const std::string& name, const calibrate::Statistics& one) {
  return {.name = name,
          .samples = one.extent.samples,
          .count = one.extent.count,
          .zeros = one.extent.zeros,
          .nans = one.extent.nans,
          .infinities = one.extent.infinities,
          .min = one.extent.min,
          .max = one.extent.max,
          .average_min = one.averages.min.value,
          .average_max = one.averages.max.value,
          .has_bins = one.has_bins,
          .first_bad = one.extent.first_bad};
}

// Adds collectors that gather statistics at the inputs of linear operators.
Result<void> want_further(const graph::Model& model, const std::vector<std::string>& names,
                          std::vector<calibrate::Watched>& watched) {
  std::vector<const calibrate::CollectorDescriptor*> rows;
  for (const std::string& name : names) {
    const calibrate::CollectorDescriptor* row = TRY(calibrate::named_collector(name));
    if (row->make) rows.push_back(row);
  }
  if (rows.empty()) return {};
  std::map<std::string, calibrate::Watched*> by_name;
  for (calibrate::Watched& one : watched) by_name[one.name] = &one;
  bool any = false;
  for (calibrate::WantedOf& one : calibrate::wanted_of_layers(calibrate::layer_inputs(*model.graph), rows)) {
    const auto found = by_name.find(one.value);
    if (found == by_name.end()) continue;
    found->second->collect.push_back(std::move(one.wanted));
    any = true;
  }
  if (any) return {};
  return invalid_argument(
      fmt::format("{} gathers at inputs of layers with constant weights, and this model has none",
                  rows[0]->name),
      "'anybit prepare' folds computed weights into constants");
}

Result<const calibrate::Statistics*> statistics(const calibrate::Ranges& ranges, const std::string& tensor) {
  const auto found = ranges.tensors.find(tensor);
  if (found != ranges.tensors.end()) return &found->second;
  std::vector<std::string_view> names;
  for (const auto& [name, one] : ranges.tensors) names.push_back(name);
  return error_at(Code::not_found, {}, fmt::format("there are no ranges of '{}'", shown(tensor)),
                  did_you_mean(tensor, names));
}

}  // namespace

Ranges RangesAccess::make(calibrate::Ranges ranges) {
  auto content = std::make_shared<Ranges::Content>();
  for (const auto& [name, one] : ranges.tensors) content->tensors.push_back(tensor_of(name, one));
  content->ranges = std::move(ranges);
  return Ranges(std::move(content));
}

Result<Ranges> Ranges::load(const std::string& path) noexcept {
  return guarded([&]() -> Result<Ranges> { return RangesAccess::make(TRY(calibrate::load_ranges(path))); });
}

Result<void> Ranges::save(const std::string& path) const noexcept {
  return guarded([&] { return calibrate::save_ranges(content_->ranges, path); });
}

Result<Ranges> Ranges::merged(const Ranges& other) const noexcept {
  return guarded([&]() -> Result<Ranges> {
    calibrate::Ranges both = content_->ranges;
    TRY(calibrate::merge(both, other.content_->ranges));
    return RangesAccess::make(std::move(both));
  });
}

Result<void> Ranges::check_belongs(const Model& model) const noexcept {
  return guarded(
      [&]() -> Result<void> { return calibrate::check_belongs(content_->ranges, TRY(content_hash(model))); });
}

std::int64_t Ranges::samples() const noexcept { return content_->ranges.samples; }
const std::string& Ranges::model_hash() const noexcept { return content_->ranges.model; }
const std::vector<Ranges::Tensor>& Ranges::tensors() const noexcept { return content_->tensors; }

Result<Ranges::Range> Ranges::range(const std::string& tensor, const RangeOptions& options) const noexcept {
  return guarded([&]() -> Result<Range> {
    const calibrate::Descriptor* observer = TRY(calibrate::named(options.observer));
    const calibrate::Statistics& seen = *TRY(statistics(content_->ranges, tensor));
    if (options.levels < 2 || !(options.percentile > 0 && options.percentile <= 100))
      return invalid_argument("levels must be at least 2, and the percentile above 0 and at most 100");
    if (!seen.has(observer->needs)) {
      return invalid_argument(
          fmt::format("{} needs {}, and these ranges have none", observer->name, observer->needs),
          "calibrate for that observer");
    }
    const auto chosen = observer->choose(seen, {.levels = options.levels, .symmetric = options.symmetric},
                                         {.percentile = options.percentile});
    return Range{chosen.low, chosen.high};
  });
}

Result<Histogram> Ranges::histogram(const std::string& tensor) const noexcept {
  return guarded([&]() -> Result<Histogram> {
    return calibrate::histogram(*TRY(statistics(content_->ranges, tensor)));
  });
}

Result<std::vector<Ranges::Collected>> Ranges::collected() const noexcept {
  return guarded([&]() -> Result<std::vector<Collected>> {
    std::vector<Collected> all;
    for (const auto& [tensor, one] : content_->ranges.tensors) {
      for (const auto& [key, collector] : one.further) all.push_back({tensor, key.first, key.second});
    }
    return all;
  });
}

Result<Ranges::Collected> Ranges::collected(const std::string& tensor, const std::string& collector,
                                            const std::string& view) const noexcept {
  return guarded([&]() -> Result<Collected> {
    TRY(calibrate::named_collector(collector));
    std::vector<std::string> views;
    for (const auto& [key, one] : TRY(statistics(content_->ranges, tensor))->further) {
      if (key.first == collector) views.push_back(key.second);
    }
    if (views.empty())
      return error_at(Code::not_found, {}, fmt::format("there is no {} for '{}'", collector, shown(tensor)),
                      "calibrate with that collector; it covers the inputs of layers with constant weights");
    const std::string& chosen = view.empty() ? views[0] : view;
    const auto* found = (*statistics(content_->ranges, tensor))->find(collector, chosen);
    if (!found || (view.empty() && views.size() > 1))
      return error_at(Code::not_found, {},
                      view.empty() ? fmt::format("'{}' has several views", shown(tensor))
                                   : fmt::format("'{}' has no view '{}'", shown(tensor), shown(view)),
                      fmt::format("one of: {}", fmt::join(views, "; ")));
    calibrate::Collector::Numbers numbers = found->numbers();
    return Collected{tensor, collector, chosen, std::move(numbers.dims), std::move(numbers.values)};
  });
}

std::vector<CollectorInfo> collectors() {
  std::vector<CollectorInfo> list;
  for (const calibrate::CollectorDescriptor* one : calibrate::collector_table())
    list.push_back({std::string(one->name), std::string(one->summary), one->make != nullptr});
  return list;
}

std::vector<Observer> observers() {
  std::vector<Observer> list;
  for (const calibrate::Descriptor* one : calibrate::table())
    list.push_back({std::string(one->name), std::string(one->summary), one->needs == "bins"});
  return list;
}

Result<std::string> content_hash(const Model& model) noexcept {
  return guarded([&] { return onnx::content_hash(ModelAccess::content(model).model); });
}

Result<Ranges> calibrate_model(const Model& model, Samples& samples,
                               const CalibrateOptions& options) noexcept {
  return guarded([&]() -> Result<Ranges> {
    TRY(check_cpu_cap());
    const ReproducibleScope scope(options.reproducible || reproducible());
    if (options.threads < 0 || options.threads > 1024)
      return invalid_argument(fmt::format("{} threads", options.threads), "1 to 1024, or 0 for one per core");
    if (!(options.momentum >= 0 && options.momentum <= 1))
      return invalid_argument(fmt::format("a momentum of {}", options.momentum), "0 to 1");
    const graph::Model& inner = ModelAccess::content(model).model;
    const bool bins = options.bins || std::ranges::count(options.collect, "bins") > 0;
    auto watched = TRY(watched_values(inner, bins, ModelAccess::content(model).limits));
    TRY(want_further(inner, options.collect, watched));
    SampleStream stream(samples);
    auto found = TRY(calibrate::gather(
        // Not owned: the caller's model outlives the call.
        std::shared_ptr<const graph::Model>(std::shared_ptr<const graph::Model>(), &inner), watched,
        [&] { return stream.next(); },
        {.executor = executor_options(model, options.threads, options.max_memory),
         .momentum = options.momentum,
         .allow_nan = options.allow_nan,
         .sample_name = [&](std::int64_t number) { return stream.name(number); },
         .progress = options.progress}));
    calibrate::Ranges ranges;
    ranges.model = TRY(content_hash(model));
    ranges.samples = stream.given();
    for (std::size_t i = 0; i < watched.size(); ++i) ranges.tensors[watched[i].name] = std::move(found[i]);
    return RangesAccess::make(std::move(ranges));
  });
}

}  // namespace anybit
