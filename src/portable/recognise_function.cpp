// Recognises a function: regenerates it from its doc string and compares.
#include <algorithm>
#include <array>

#include "portable/look_up_neurons.hpp"
#include "portable/portable.hpp"

namespace anybit::portable {
namespace {

using graph::Attribute;
using graph::Function;
using graph::Node;
using graph::Tensor;

bool same(const Tensor& a, const Tensor& b) {
  return a.element == b.element && a.dims == b.dims && std::ranges::equal(a.data.span(), b.data.span());
}

// Our bodies have only integer, list, string and tensor attributes.
bool same(const Attribute& a, const Attribute& b) {
  if (a.name.str() != b.name.str() || a.reference.str() != b.reference.str() ||
      a.value.index() != b.value.index() || !a.others.empty())
    return false;
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        const T& other = std::get<T>(b.value);
        if constexpr (std::is_same_v<T, std::monostate>) return true;
        if constexpr (std::is_same_v<T, Tensor>) return same(value, other);
        if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::string> ||
                      std::is_same_v<T, std::vector<std::int64_t>>)
          return value == other;
        return false;
      },
      a.value);
}

bool same(const Node& a, const Node& b) {
  return a.op_type.str() == b.op_type.str() && a.domain.str() == b.domain.str() && a.overload.empty() &&
         a.inputs == b.inputs && a.outputs == b.outputs &&
         std::ranges::equal(a.attributes, b.attributes,
                            [](const Attribute& one, const Attribute& other) { return same(one, other); });
}

// The opset may have been raised, if the nodes are unchanged.
bool same_opsets(const Function& given, const Function& made) {
  return given.opsets.size() == 1 && given.opsets[0].domain.str().empty() &&
         given.opsets[0].version.value_or(0) >= made.opsets[0].version.value_or(0);
}

bool same(const Function& given, const Function& made) {
  return given.name.str() == made.name.str() && given.domain.str() == made.domain.str() &&
         given.overload.empty() && given.inputs == made.inputs && given.outputs == made.outputs &&
         given.attributes == made.attributes && given.default_attributes.empty() &&
         same_opsets(given, made) &&
         std::ranges::equal(given.nodes, made.nodes,
                            [](const Node& one, const Node& other) { return same(one, other); });
}

struct Kind {
  std::string_view op;
  Result<Function> (*make)(const formats::Use&);
};
constexpr std::array kKinds = {Kind{"QuantizeDequantize", quantize_dequantize}, Kind{"Decode", decode}};

}  // namespace

std::optional<RecognisedFunction> recognise_function(const Function& function) {
  if (function.name.str().starts_with("LookUpNeurons")) {
    const auto table = read_neuron_table(function.doc.str());
    if (!table || !same(function, look_up_neurons(*table))) return std::nullopt;
    return RecognisedFunction{"LookUpNeurons", {}, *table};
  }
  for (const Kind& kind : kKinds) {
    if (!function.name.str().starts_with(kind.op)) continue;
    const auto use = formats::read_use(function.doc.str());
    if (!use.ok()) return std::nullopt;
    const auto made = kind.make(*use);
    if (made.ok() && same(function, *made)) return RecognisedFunction{kind.op, *use, {}};
  }
  return std::nullopt;
}

}  // namespace anybit::portable
