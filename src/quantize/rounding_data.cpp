#include "quantize/rounding_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/node.hpp"

namespace anybit::quantizing {
namespace {

bool is_known(const calibrate::WantedOf& one, const RoundingData& data) {
  if (!data.known) return true;
  const auto found = data.known->find(one.value);
  return found != data.known->end() && found->second.find(one.wanted.collector, one.wanted.view.text());
}

// An upper bound for the statistics of one layer's inputs: squares of their number, in integers and doubles.
std::int64_t statistics_bytes(const ConstantNote& note) {
  constexpr std::int64_t kEach = 12;
  const Outputs outputs = outputs_of(note.tensor->dims, note.outputs_axis);
  std::int64_t groups = 1;
  for (const calibrate::WantedOf& one : note.rounding.needs) {
    const auto& convolution = one.wanted.view.convolution;
    if (convolution) groups = std::max(groups, graph::integer(*convolution, "group", 1));
  }
  const double entries = static_cast<double>(outputs.length) * static_cast<double>(outputs.length + 1) *
                         static_cast<double>(groups);
  return static_cast<std::int64_t>(std::min(entries * kEach, 1e15));
}

class Dropping {
 public:
  explicit Dropping(const RoundingData& data) : data_(data), left_(data.bytes) {}

  void drop(GraphNotes& notes) {
    for (ConstantNote& note : notes.constants) {
      Rounder& rounding = note.rounding;
      if (!rounding.needs.empty() && is_met(note)) continue;
      if (!rounding.needs.empty() && !rounding.optional) skipped_.insert(rounding.row->name);
      rounding.needs.clear();
      if (rounding.ranges_optional) rounding.ranges = nullptr;
    }
    for (GraphNotes& inner : notes.inner) drop(inner);
  }

  std::string remark() const {
    if (skipped_.empty()) return {};
    return fmt::format("{} is skipped: it needs calibration data (--calib)", fmt::join(skipped_, ", "));
  }

 private:
  bool is_met(const ConstantNote& note) {
    if (!data_.any) return false;
    if (!note.rounding.optional) return true;
    for (const calibrate::WantedOf& one : note.rounding.needs) {
      if (!is_known(one, data_)) return false;
    }
    if (data_.known) return true;
    const calibrate::WantedOf& first = note.rounding.needs.front();
    if (counted_.contains({first.value, first.wanted.view.text()})) return true;  // shared with another layer
    const std::int64_t bytes = statistics_bytes(note);
    if (bytes > left_) return false;
    left_ -= bytes;
    counted_.insert({first.value, first.wanted.view.text()});
    return true;
  }

  const RoundingData& data_;
  std::int64_t left_;
  std::set<std::pair<std::string, std::string>> counted_;
  std::set<std::string_view> skipped_;
};

}  // namespace

bool rounds_by_samples(const Recipe& recipe) {
  const auto does = [](const Refinement& one) {
    const Descriptor* row = find_refinement(one.name);
    return row && row->phase == Descriptor::Phase::rounding && !row->needs.empty();
  };
  return std::ranges::any_of(recipe.rules, [&](const Rule& rule) {
    return rule.scheme.refine && std::ranges::any_of(*rule.scheme.refine, does);
  });
}

std::string drop_unmet_needs(Annotation& annotation, const RoundingData& data) {
  Dropping dropping(data);
  dropping.drop(annotation.graph);
  return dropping.remark();
}

}  // namespace anybit::quantizing
