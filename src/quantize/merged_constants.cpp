#include "quantize/merged_constants.hpp"

#include <algorithm>
#include <cmath>

namespace anybit::quantizing {
namespace {

using Range = ops::Traits::Range;

// Larger values stand for infinity, as in a Pad before MaxPool: clipped they are still the extremes.
constexpr float kEndless = 1e30F;

void widen(std::optional<Range>& range, float low, float high) {
  if (!range) range = Range{low, high};
  range->low = std::min(range->low, low);
  range->high = std::max(range->high, high);
}

void widen(std::optional<Range>& range, const graph::Tensor& constant) {
  if (constant.type() != graph::ElementType::float32) return;
  const auto count = static_cast<std::size_t>(constant.count());
  for (std::size_t i = 0; i < count; ++i) {
    const float value = constant.data.at<float>(i);
    if (std::abs(value) < kEndless) widen(range, value, value);
  }
}

// The clusters that quantize a value, at its producer or its consumers.
std::set<int> clusters_of(const ValueNote& note) {
  std::set<int> clusters;
  if (note.made >= 0) clusters.insert(note.made);
  for (const ValueNote::Taken& taken : note.taken) clusters.insert(taken.cluster);
  return clusters;
}

}  // namespace

void note_moved_constants(const Scope& scope, const std::vector<Part>& parts, const std::set<int>& carried,
                          GraphNotes& notes) {
  for (const ValueNote& note : notes.values) {
    const int producer = scope.index.producer(note.value);
    if (producer < 0 || carried.count(producer) == 0) continue;
    const auto at = static_cast<std::size_t>(producer);
    std::optional<Range> range;
    for (const int input : parts[at].constants) {
      const std::string& name = scope.graph.nodes[at].inputs[static_cast<std::size_t>(input)];
      widen(range, *scope.constant(name));
    }
    if (!range) continue;
    for (const int cluster : clusters_of(note))
      widen(notes.clusters[static_cast<std::size_t>(cluster)].constants, range->low, range->high);
  }
}

}  // namespace anybit::quantizing
