#include "table.hpp"

#include <algorithm>
#include <tuple>

namespace anybit::cgen {

bool before(const Descriptor& a, const Descriptor& b) {
  return std::tie(a.domain, a.op) < std::tie(b.domain, b.op);
}

const Descriptor* find(std::string_view op, std::string_view domain) {
  const Descriptor wanted{.op = op, .domain = domain == "ai.onnx" ? "" : domain};
  const auto all = table();
  const auto place = std::ranges::lower_bound(
      all, &wanted, [](const Descriptor* a, const Descriptor* b) { return before(*a, *b); });
  return place != all.end() && !before(wanted, **place) ? *place : nullptr;
}

}  // namespace anybit::cgen
