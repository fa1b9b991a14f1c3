#include "quantize/wanted_refinements.hpp"

#include <algorithm>

#include "formats/table.hpp"

namespace anybit::quantizing {

std::vector<WantedRefinement> wanted_refinements(const GraphNotes& notes, const graph::Graph& graph) {
  std::vector<WantedRefinement> all;
  for (const Descriptor* row : table()) {
    if (row->phase == Descriptor::Phase::rounding) continue;
    std::vector<WantedRefinement> wanted;  // one per distinct choice of parameters
    for (std::size_t i = 0; i < notes.nodes.size(); ++i) {
      const NodeNote& note = notes.nodes[i];
      const bool changed = note.outcome == Outcome::quantized || note.outcome == Outcome::weights_only ||
                           note.outcome == Outcome::dynamic;
      if (!changed || !note.scheme.refine || (row->serves && !row->serves(graph.nodes[i]))) continue;
      const auto named = std::ranges::find(*note.scheme.refine, row->name, &Refinement::name);
      if (named == note.scheme.refine->end()) continue;
      auto same = std::ranges::find(wanted, named->parameters, &WantedRefinement::parameters);
      if (same == wanted.end()) same = wanted.insert(same, {row, named->parameters, named->optional, {}});
      same->layers.push_back(static_cast<int>(i));
    }
    all.insert(all.end(), wanted.begin(), wanted.end());
  }
  return all;
}

std::size_t samples_of(const WantedRefinement& wanted) {
  if (!wanted.row->needs_samples) return 0;
  return static_cast<std::size_t>(formats::integer(wanted.parameters, "samples"));
}

LayerBits bits_of(const NodeNote& note) {
  const auto bits = [](const std::optional<Spec>& spec) {
    if (!spec || spec->is_float()) return 0;
    return formats::make(spec->format(), spec->use.parameters)->get()->bits();
  };
  const Scheme& scheme = note.scheme;
  LayerBits result{note.outcome == Outcome::weights_only ? 0 : bits(scheme.data_in), bits(scheme.weight)};
  if (scheme.weight && scheme.weight->granularity() == Granularity::block)
    result.block = scheme.weight->block_size();
  return result;
}

}  // namespace anybit::quantizing
