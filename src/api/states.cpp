#include "api/states.hpp"

#include <algorithm>

namespace anybit {
namespace {

using ops::Datum;

// Whether an output could be given to an input: the same type and rank, at least one size above 1 that both
// declare, and no size that differs.
bool fits(const graph::ValueInfo& input, const graph::ValueInfo& output) {
  const graph::TensorType* in = input.type ? input.type->tensor() : nullptr;
  const graph::TensorType* out = output.type ? output.type->tensor() : nullptr;
  if (!in || !out || !in->shape || !out->shape || in->element != out->element) return false;
  const auto &a = in->shape->dims, &b = out->shape->dims;
  bool same = false;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!a[i].known() || !b[i].known()) continue;
    if (a[i].size() != b[i].size()) return false;
    same = same || a[i].size() > 1;
  }
  return same && a.size() == b.size();
}

// Arrays of numbers with the same type and shape, and more than one element.
bool same_form(const Datum& a, const Datum& b) {
  if (!a.is_array() || !b.is_array() || a.array.type() != b.array.type()) return false;
  const auto larger = [](std::int64_t size) { return size > 1; };
  return a.array.type() != graph::ElementType::string && std::ranges::equal(a.array.dims(), b.array.dims()) &&
         std::ranges::any_of(a.array.dims(), larger) && a.array.byte_count() > 0;
}

bool is_zero(const Datum& value) {
  return std::all_of(value.array.bytes(), value.array.bytes() + value.array.byte_count(),
                     [](std::byte one) { return one == std::byte{0}; });
}

// "state" and "stateN".
bool is_named_after(const std::string& output, const std::string& input) {
  return !input.empty() && output.starts_with(input);
}

}  // namespace

States::States(const graph::Graph& graph) {
  for (const graph::ValueInfo& input : graph.inputs) inputs_.insert(input.name.str());
  for (const graph::ValueInfo& output : graph.outputs) {
    for (const graph::ValueInfo& input : graph.inputs) {
      if (!fits(input, output)) continue;
      declared_.insert(output.name.str());
      taken_.insert(input.name.str());
    }
  }
  for (const graph::ValueInfo& output : graph.outputs) {
    if (!declared_.contains(output.name.str())) candidates_[names_.size()] = inputs_;
    names_.push_back(output.name.str());
  }
}

void States::see(const std::map<std::string, Datum>& inputs, std::span<const Datum> outputs) {
  for (auto& [at, candidates] : candidates_) {
    if (at >= outputs.size()) continue;
    std::erase_if(candidates, [&, k = at](const std::string& name) {
      const auto given = inputs.find(name);
      return given == inputs.end() || !same_form(given->second, outputs[k]) ||
             !(is_named_after(names_[k], name) || is_zero(given->second));
    });
  }
  ++samples_;
}

std::set<std::string> States::outputs() const {
  std::set<std::string> states = declared_, taken = taken_;
  for (const auto& [at, candidates] : candidates_) {
    if (samples_ == 0) break;
    const auto after = [&, k = at](const std::string& name) {
      return !taken.contains(name) && is_named_after(names_[k], name);
    };
    auto found = std::ranges::find_if(candidates, after);
    if (found == candidates.end())
      found =
          std::ranges::find_if(candidates, [&](const std::string& name) { return !taken.contains(name); });
    if (found == candidates.end()) continue;
    states.insert(names_[at]);
    taken.insert(*found);
  }
  const bool some = states.size() < names_.size() && taken.size() < inputs_.size();
  return some ? states : std::set<std::string>();
}

}  // namespace anybit
