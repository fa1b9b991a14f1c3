#include "train/walk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/index.hpp"
#include "graph/node.hpp"
#include "ops/check.hpp"
#include "ops/gradient.hpp"

namespace anybit::train {
namespace {

using graph::Node;
using ops::Dim;
using ops::Value;

// A node before its rule.
class RuledNode final : public ops::Gradient {
 public:
  RuledNode(const Node& of, Writer& writer, Walk& walk)
      : Gradient(of),
        writer_(writer),
        walk_(walk),
        stem_(of.outputs.empty() ? of.name.str() : of.outputs[0]) {}

  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
  const Value& in(std::size_t i) const override { return facts(graph::input(node, i)); }
  const Value& out(std::size_t i) const override { return facts(node.outputs[i]); }
  std::string dy(std::size_t i) const override {
    return i < node.outputs.size() && !node.outputs[i].empty() ? walk_.of(node.outputs[i]) : std::string();
  }
  bool wants(std::size_t i) const override {
    return has(i) && writer_.ledger().depends(input(i)) && writer_.ledger().has_gradient(input(i));
  }
  void set(std::size_t i, std::string gradient) override {
    if (wants(i)) walk_.add(input(i), std::move(gradient));
  }
  std::string add(std::string_view op_type, std::vector<std::string> inputs, NodeAttributes attributes,
                  std::string_view domain) override {
    return add_all(op_type, std::move(inputs), 1, std::move(attributes), domain)[0];
  }
  std::vector<std::string> add_all(std::string_view op_type, std::vector<std::string> inputs,
                                   std::size_t outputs, NodeAttributes attributes,
                                   std::string_view domain) override {
    return writer_.add({op_type, domain, std::move(inputs), std::move(attributes), outputs}, stem_);
  }
  std::string number(double value) override { return writer_.number(value, in(0).type); }
  std::string number(double value, ops::ElementType type) override { return writer_.number(value, type); }
  std::string integers(std::span<const std::int64_t> elements) override { return writer_.integers(elements); }
  const Value& facts(const std::string& value) const override { return writer_.ledger().facts(value); }
  std::string shape(const std::string& value) override { return writer_.shape(value); }
  std::string zeros_like(const std::string& value) override { return writer_.zeros_like(value); }

 private:
  Writer& writer_;
  Walk& walk_;
  std::string stem_;
};

Error no_rule(const Node& node, std::string why) {
  const std::string domain = node.domain.empty() ? "" : node.domain.str() + ".";
  return error_at(Code::unsupported, {}, fmt::format("{}{} {}", domain, node.op_type.str(), std::move(why)),
                  "freeze what lies before the node, or exclude the node from training");
}

}  // namespace

std::string Walk::of(const std::string& value) const {
  const auto found = gradients_.find(value);
  return found == gradients_.end() ? std::string() : found->second;
}

void Walk::add(const std::string& value, std::string gradient) {
  std::string fitting = summed(gradient, value);
  std::string& sum = gradients_[value];
  sum = sum.empty() ? std::move(fitting)
                    : writer_.add_one({"Add", "", {std::move(sum), std::move(fitting)}}, value);
}

// Numpy's broadcasting repeats a value along missing leading axes and along axes of size 1.
std::string Walk::summed(const std::string& gradient, const std::string& value) {
  const auto &from = ledger_.facts(gradient).shape, &to = ledger_.facts(value).shape;
  const auto at_run_time = [&] {
    return writer_.add_one({"SumTo", ops::kTraining, {gradient, writer_.shape(value)}}, value);
  };
  if (!from || !to || from->size() < to->size()) return at_run_time();
  const std::size_t leading = from->size() - to->size();
  std::vector<std::int64_t> axes;
  bool inner = false;
  for (std::size_t axis = 0; axis < from->size(); ++axis) {
    const Dim& size = (*from)[axis];
    if (axis >= leading) {
      const Dim& wanted = (*to)[axis - leading];
      if (ops::same(size, wanted)) continue;
      if (!wanted.is(1)) return at_run_time();
      inner = true;
    }
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  if (axes.empty()) return gradient;
  const std::string sum = writer_.add_one({"ReduceSum",
                                           "",
                                           {gradient, writer_.integers(axes)},
                                           {graph::attribute("keepdims", static_cast<std::int64_t>(inner))}},
                                          value);
  if (!inner || leading == 0) return sum;
  std::vector<std::int64_t> first;
  for (std::size_t axis = 0; axis < leading; ++axis) first.push_back(static_cast<std::int64_t>(axis));
  return writer_.add_one({"Squeeze", "", {sum, writer_.integers(first)}}, value);
}

Result<void> Walk::back(std::span<const Node> nodes) {
  ends_.assign(nodes.size(), 0);
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const Node& node = nodes[i];
    const bool reached = std::ranges::any_of(
        node.outputs, [&](const std::string& name) { return !name.empty() && gradients_.contains(name); });
    if (reached && ledger_.depends(node)) {
      auto done = back(node);
      if (!done.ok()) return Error(done.error()).within(graph::place_of(node, i));
    }
    ends_[i] = writer_.added.nodes.size();
  }
  return {};
}

Result<void> Walk::back(const Node& node) {
  if (graph::is(node, "If")) return back_if(node);
  if (holds_graphs(node)) return no_rule(node, "runs a graph many times: there is no gradient through it");
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  if (!descriptor || !descriptor->gradient) return no_rule(node, "has no gradient rule");
  RuledNode ruled(node, writer_, *this);
  ruled.version = TRY(ops::checked_version(*descriptor, node, ledger_.opset_of(node)));
  if (ruled.in(0).type == ops::ElementType::undefined)
    return error_at(Code::unsupported, {}, "the type of input 0 is not known before the model runs");
  TRY(descriptor->gradient(ruled));
  if (writer_.failed) return *writer_.failed;
  return {};
}

}  // namespace anybit::train
