#include "train/recompute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/index.hpp"
#include "graph/node.hpp"

namespace anybit::train {
namespace {

using graph::Node;

class Segments {
 public:
  Segments(std::span<const Node> forward, const Ledger& ledger) : forward_(forward), ledger_(ledger) {
    for (std::size_t i = 0; i < forward.size(); ++i) {
      for (const std::string& name : forward[i].outputs) makers_.emplace(name, i);
    }
    last_use_.resize(forward.size());
    for (std::size_t i = 0; i < forward.size(); ++i) {
      last_use_[i] = i;
      const auto use = [&](const std::string& name) {
        if (const auto found = makers_.find(name); found != makers_.end() && !name.empty())
          last_use_[found->second] = i;
      };
      std::ranges::for_each(forward[i].inputs, use);
      std::ranges::for_each(captured_by(forward[i]), use);
    }
    cut();
  }

  std::size_t of(std::size_t node) const { return segment_[node]; }
  std::size_t count() const { return segment_.empty() ? 0 : segment_.back() + 1; }
  // The node that makes a value; nullptr if none does.
  const std::size_t* maker(const std::string& value) const {
    const auto found = value.empty() ? makers_.end() : makers_.find(value);
    return found == makers_.end() ? nullptr : &found->second;
  }
  // Whether a node is computed again: its values are not used beyond its segment, and computing them twice
  // gives the same.
  bool again(std::size_t node) const {
    const Node& one = forward_[node];
    const ops::Descriptor* descriptor = ops::find(one.domain.str(), one.op_type.str());
    return descriptor && descriptor->pure && !holds_graphs(one) &&
           segment_[last_use_[node]] == segment_[node];
  }

 private:
  // A new segment begins where one value crosses and the segment before is long enough.
  void cut() {
    const std::size_t n = forward_.size();
    const auto length = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(n))));
    std::vector<std::int64_t> ends(n + 1);
    std::int64_t crossing = 0;
    std::size_t segment = 0, begin = 0;
    for (std::size_t i = 0; i < n; ++i) {
      segment_.push_back(segment);
      if (last_use_[i] > i && is_large(forward_[i])) {
        ++crossing;
        ++ends[last_use_[i]];
      }
      crossing -= ends[i];
      if (crossing > 1 || i + 1 - begin < length) continue;
      ++segment;
      begin = i + 1;
    }
  }

  // Shapes and the like may cross cuts: keeping them costs nothing.
  bool is_large(const Node& node) const {
    const auto counts = [&](const std::string& name) { return !name.empty() && ledger_.is_float(name); };
    return !graph::is(node, "Constant") && std::ranges::any_of(node.outputs, counts);
  }

  std::span<const Node> forward_;
  const Ledger& ledger_;
  std::unordered_map<std::string, std::size_t> makers_;
  std::vector<std::size_t> last_use_, segment_;
};

// The copies of one segment's nodes.
class Copies {
 public:
  Copies(std::span<const Node> forward, const Segments& segments, std::size_t segment, Ledger& ledger)
      : forward_(forward), segments_(segments), segment_(segment), ledger_(ledger) {}

  // The name that a backward node of the segment uses for a value.
  std::string of(const std::string& value) {
    const std::size_t* maker = segments_.maker(value);
    if (!maker || segments_.of(*maker) != segment_ || !segments_.again(*maker)) return value;
    const auto [found, fresh] = names_.try_emplace(value);
    if (fresh) {
      found->second = ledger_.names.numbered(fmt::format("{}/again", value));
      ledger_.note(found->second, ops::Value(ledger_.facts(value)));
      chosen_.insert(*maker);
    }
    return names_[value];
  }

  std::vector<Node> nodes() {
    // Needed inputs are earlier nodes; the set grows while it is walked from its end.
    std::vector<Node> made;
    for (std::size_t i = forward_.size(); i-- > 0;) {
      if (!chosen_.contains(i)) continue;
      Node copy = forward_[i];
      for (std::string& name : copy.inputs) name = of(name);
      for (std::string& name : copy.outputs) name = of(name);
      copy.name = graph::Text(ledger_.names.numbered(fmt::format("{}/again", copy.name.str())));
      made.push_back(std::move(copy));
    }
    std::ranges::reverse(made);
    return made;
  }

 private:
  std::span<const Node> forward_;
  const Segments& segments_;
  std::size_t segment_;
  Ledger& ledger_;
  std::unordered_map<std::string, std::string> names_;
  std::unordered_set<std::size_t> chosen_;
};

}  // namespace

void recompute(std::span<const Node> forward, const std::vector<std::size_t>& ends, Writer& writer) {
  const Segments segments(forward, writer.ledger());
  if (ends.empty() || segments.count() < 2) return;
  std::vector<Node> all;
  std::size_t done = 0;
  for (std::size_t last = forward.size(); last > 0;) {
    const std::size_t segment = segments.of(last - 1);
    std::size_t first = last - 1;
    while (first > 0 && segments.of(first - 1) == segment) --first;
    Copies copies(forward, segments, segment, writer.ledger());
    std::vector<Node> own(writer.added.nodes.begin() + static_cast<std::ptrdiff_t>(done),
                          writer.added.nodes.begin() + static_cast<std::ptrdiff_t>(ends[first]));
    // The values of the last segment have just been computed.
    if (last < forward.size()) {
      for (Node& node : own) {
        for (std::string& name : node.inputs) name = copies.of(name);
      }
      std::ranges::move(copies.nodes(), std::back_inserter(all));
    }
    std::ranges::move(own, std::back_inserter(all));
    done = ends[first];
    last = first;
  }
  std::move(writer.added.nodes.begin() + static_cast<std::ptrdiff_t>(done), writer.added.nodes.end(),
            std::back_inserter(all));
  writer.added.nodes = std::move(all);
}

}  // namespace anybit::train
