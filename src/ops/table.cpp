#include "ops/table.hpp"

#include <algorithm>
#include <tuple>

#include "graph/model.hpp"

namespace anybit::ops {

bool before(const Descriptor& a, const Descriptor& b) {
  return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
}

const Descriptor* find(std::string_view domain, std::string_view name) {
  const auto key = std::pair(graph::canonical_domain(domain), name);
  const auto all = table();
  const auto found = std::lower_bound(all.begin(), all.end(), key, [](const Descriptor* d, const auto& k) {
    return std::pair(d->domain, d->name) < k;
  });
  if (found == all.end() || std::pair((*found)->domain, (*found)->name) != key) return nullptr;
  return *found;
}

std::optional<std::int64_t> version_in(const Descriptor& descriptor, std::int64_t opset) {
  std::optional<std::int64_t> newest;
  for (const std::int16_t version : descriptor.since) {
    if (version <= opset) newest = version;
  }
  return newest;
}

}  // namespace anybit::ops
