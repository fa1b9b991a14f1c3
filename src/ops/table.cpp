#include "ops/table.hpp"

#include <functional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "graph/model.hpp"

namespace anybit::ops {

bool before(const Descriptor& a, const Descriptor& b) {
  return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
}

const Descriptor* find(std::string_view domain, std::string_view name) {
  using Key = std::pair<std::string_view, std::string_view>;
  // Hashing the name is enough: few operators exist in two domains.
  const auto hash = [](const Key& key) { return std::hash<std::string_view>()(key.second); };
  static const auto index = [&] {
    std::unordered_map<Key, const Descriptor*, decltype(hash)> all(2 * table().size(), hash);
    for (const Descriptor* one : table()) all.emplace(Key(one->domain, one->name), one);
    return all;
  }();
  const auto found = index.find({graph::canonical_domain(domain), name});
  return found == index.end() ? nullptr : found->second;
}

std::optional<std::int64_t> version_in(const Descriptor& descriptor, std::int64_t opset) {
  std::optional<std::int64_t> newest;
  for (const std::int16_t version : descriptor.since) {
    if (version <= opset) newest = version;
  }
  return newest;
}

}  // namespace anybit::ops
