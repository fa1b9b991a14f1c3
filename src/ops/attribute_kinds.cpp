#include "ops/attribute_kinds.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/error.hpp"
#include "base/try.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Attributes as " name:kind name:kind! " (! is required), sorted by domain and operator.
struct KindRow {
  std::string_view domain, op, attributes;
};
constexpr KindRow kKindRows[] = {
#include "ops/attribute_kinds.inc"
};

// Names of the alternatives of Attribute::Value; AttributeKind has another order.
constexpr std::array<std::string_view, 15> kHeld = {
    "",       "float", "int",     "string",  "tensor", "graph",          "sparse_tensor", "type_proto",
    "floats", "ints",  "strings", "tensors", "graphs", "sparse_tensors", "type_protos"};
static_assert(kHeld.size() == std::variant_size_v<graph::AnyAttributeValue>);

const KindRow* find_row(const graph::Node& node) {
  const auto key = [](const KindRow& row) { return std::tie(row.domain, row.op); };
  const std::string_view domain = graph::canonical_domain(node.domain.str()), op = node.op_type.str();
  const KindRow* row = std::ranges::lower_bound(kKindRows, std::tie(domain, op), {}, key);
  return row != std::end(kKindRows) && row->domain == domain && row->op == op ? row : nullptr;
}

// "ints" for "pads" in "pads:ints"; empty if the operator has no attribute of that name.
std::string_view kind_of(const KindRow& row, std::string_view name) {
  const std::size_t at = row.attributes.find(fmt::format(" {}:", name));
  if (at == std::string_view::npos) return {};
  const std::size_t first = at + name.size() + 2;
  return row.attributes.substr(first, row.attributes.find_first_of(" !", first) - first);
}

Result<void> check_kind(const graph::Attribute& attribute, const KindRow& row) {
  const std::string_view wanted = kind_of(row, attribute.name.str());
  // No value: an empty list, which has any kind.
  const std::string_view held = kHeld[attribute.value.index()];
  if (wanted.empty() || held.empty() || wanted == held) return {};
  return wrong(fmt::format("attribute '{}' is of kind {}", attribute.name.str(), held), std::string(wanted));
}

Result<void> check_required(const graph::Node& node, const KindRow& row) {
  for (std::size_t at = row.attributes.find('!'); at != std::string_view::npos;
       at = row.attributes.find('!', at + 1)) {
    const std::size_t first = row.attributes.rfind(' ', at) + 1;
    const std::string_view name = row.attributes.substr(first, row.attributes.find(':', first) - first);
    if (!node.attribute(name)) return wrong(fmt::format("attribute '{}' is missing", name), "it is required");
  }
  return {};
}

}  // namespace

Result<void> check_attributes(const graph::Node& node) {
  const KindRow* row = find_row(node);
  if (!row) return {};
  for (const graph::Attribute& one : node.attributes) TRY(check_kind(one, *row));
  return check_required(node, *row);
}

}  // namespace anybit::ops
