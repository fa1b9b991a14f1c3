#include "quantize/sums_in_passing.hpp"

#include <algorithm>

#include "refine/shift_bias.hpp"

namespace anybit::quantizing {

SumsInPassing SumsInPassing::of(const graph::Model& model, std::span<const WantedRefinement> refinements,
                                const runtime::ExecutorOptions& with) {
  std::vector<int> layers;
  for (const WantedRefinement& one : refinements) {
    if (one.row->compares_sums) layers.insert(layers.end(), one.layers.begin(), one.layers.end());
  }
  std::ranges::sort(layers);
  SumsInPassing sums;
  if (!layers.empty() && !has_graphs_inside(*model.graph))
    sums.layers_ = MeasuredLayers::of(model, that_can_have_biases(*model.graph, std::move(layers)), with);
  return sums;
}

calibrate::Beside* SumsInPassing::beside() {
  if (!layers_ || layers_->all().empty()) return nullptr;
  beside_.values = layers_->outputs();
  beside_.watcher = [this](std::int64_t sample) -> std::shared_ptr<runtime::Watcher> {
    const std::lock_guard lock(all_->mutex);
    const auto number = all_->numbers.find(sample);
    if (number == all_->numbers.end()) return nullptr;
    const auto sums = std::make_shared<LayerSums>(layers_);
    all_->sums[number->second] = sums;
    all_->numbers.erase(number);
    return sums;
  };
  return &beside_;
}

void SumsInPassing::read(std::optional<std::uint64_t> number, const ChosenSamples& chosen) {
  if (!layers_) return;
  const std::lock_guard lock(all_->mutex);
  if (number) {
    all_->numbers.emplace(all_->samples, *number);
    std::erase_if(all_->numbers, [&](const auto& one) { return !chosen.has(one.second); });
    std::erase_if(all_->sums, [&](const auto& one) { return !chosen.has(one.first); });
  }
  ++all_->samples;
}

std::vector<Sample> SumsInPassing::take(ChosenSamples& chosen) {
  taken_ = chosen.numbers();
  return chosen.take();
}

FloatSums SumsInPassing::of_chosen() const {
  FloatSums found{.by_sample = {}, .run_bytes = beside_.run_bytes};
  for (const std::uint64_t number : taken_) {
    const auto sums = all_->sums.find(number);
    if (sums == all_->sums.end()) return {};
    found.by_sample.push_back(sums->second);
  }
  return found;
}

}  // namespace anybit::quantizing
