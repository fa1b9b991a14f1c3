#include "passes/prepare.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "graph/verify.hpp"
#include "passes/learned.hpp"

namespace anybit::passes {
namespace {

// Every change simplifies the model, so the passes reach a fixed point; this limit guards against bugs.
constexpr int kRounds = 32;

Result<void> check_names(const std::vector<std::string>& wanted) {
  std::vector<std::string_view> names;
  for (const Descriptor* one : table()) {
    if (one->run) names.push_back(one->name);
  }
  for (const std::string& name : wanted) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const auto nearest = anybit::nearest(name, names);
    return invalid_argument(
        fmt::format("pass '{}' is not known", shown(name)),
        nearest.empty() ? std::string() : fmt::format("did you mean '{}'?", nearest.front()));
  }
  return {};
}

}  // namespace

bool before(const Descriptor& a, const Descriptor& b) { return a.order < b.order; }

Result<std::vector<PassResult>> prepare(graph::Model& model, const PrepareOptions& options,
                                        std::string* remark) {
  std::vector<const Descriptor*> chosen;
  if (options.only) TRY(check_names(*options.only));
  for (const Descriptor* one : table()) {
    if (!one->run) continue;
    const bool named = options.only && std::ranges::find(*options.only, one->name) != options.only->end();
    if (one->always || named || (!options.only && !one->on_request)) chosen.push_back(one);
  }
  std::vector<PassResult> results;
  for (const Descriptor* one : chosen) results.push_back({one->name, one->summary, 0});
  Learned learned;
  PassOptions each = options;
  each.learned = &learned;
  graph::Budget own(model, options.limits);
  graph::Budget& budget = options.budget ? *options.budget : own;
  each.budget = &budget;
  for (int round = 0; round < kRounds; ++round) {
    std::int64_t changes = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      auto changed = chosen[i]->run(model, each);
      if (!changed.ok()) return std::move(changed).error().within(fmt::format("pass '{}'", chosen[i]->name));
      if (*changed != 0) learned = {};
      results[i].changes += *changed;
      changes += *changed;
    }
    if (changes == 0) break;
  }
  if (options.verify) TRY(graph::verify(model, options.limits));
  if (remark) *remark = budget.remark();
  return results;
}

}  // namespace anybit::passes
