// Visible names, and explanations for names that are not.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "graph/verify_parts.hpp"

namespace anybit::graph::verifier {
namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

std::size_t producer_of(std::string_view name, const std::vector<Node>& nodes, std::size_t from) {
  for (std::size_t i = from; i < nodes.size(); ++i) {
    const auto& outputs = nodes[i].outputs;
    if (std::find(outputs.begin(), outputs.end(), name) != outputs.end()) return i;
  }
  return kNobody;
}

// Whether node `later` depends, directly or indirectly, on node `here`.
bool depends(const std::vector<Node>& nodes, std::size_t later, std::size_t here) {
  std::unordered_map<std::string_view, std::size_t> producers;
  for (std::size_t i = here; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].outputs) {
      if (!output.empty()) producers.emplace(output, i);
    }
  }
  std::vector<bool> seen(nodes.size());
  std::vector<std::size_t> open{later};
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (node == here) return true;
    if (seen[node]) continue;
    seen[node] = true;
    for (const std::string& input : nodes[node].inputs) {
      const auto found = producers.find(input);
      if (found != producers.end()) open.push_back(found->second);
    }
  }
  return false;
}

}  // namespace

bool Scope::define(std::string_view name) {
  if (!names_.insert(name).second) return false;
  order_.push_back(name);
  return true;
}

void Scope::forget_since(std::size_t mark) {
  for (; order_.size() > mark; order_.pop_back()) names_.erase(order_.back());
}

std::string Scope::suggest(std::string_view name) const {
  // Only the latest names: a typo most often refers to something near, and an error must be quick.
  constexpr std::size_t kMost = 5'000;
  const std::span<const std::string_view> all(order_);
  return shown(did_you_mean(name, all.last(std::min(all.size(), kMost))));
}

Error undefined_input(std::size_t input, const Scope& scope, const Place& place) {
  const Scope::Body& here = scope.bodies.back();
  const std::string& name = (*here.nodes)[here.current].inputs[input];
  const std::string what = fmt::format("input {} {}", input, quoted(name));
  for (auto body = scope.bodies.rbegin(); body != scope.bodies.rend(); ++body) {
    const std::size_t later = producer_of(name, *body->nodes, body->current);
    if (later == kNobody) continue;
    const std::string producer = Place(nullptr, (*body->nodes)[later], later).text();
    if (later == body->current)
      return place.invalid(fmt::format("{} is an output of {} itself: a cycle", what, producer));
    if (depends(*body->nodes, later, body->current)) {
      return place.invalid(
          fmt::format("{} is produced by {}, which depends on this node: a cycle", what, producer));
    }
    return place.invalid(fmt::format("{} is produced later, by {}", what, producer),
                         "sort the nodes topologically: producers before consumers");
  }
  return place.invalid(fmt::format("nothing produces {}", what), scope.suggest(name));
}

}  // namespace anybit::graph::verifier
