#include "train/writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "graph/constant.hpp"
#include "graph/node.hpp"
#include "ops/convert.hpp"

namespace anybit::train {
namespace {

using graph::Node;
using ops::ElementType;
using ops::Value;

graph::Tensor tensor_of(ElementType type, std::vector<std::int64_t> dims, double value) {
  graph::Tensor tensor = graph::make_tensor<std::byte>("", type, std::move(dims), {});
  const std::size_t size = ops::element_bytes(type), count = static_cast<std::size_t>(tensor.count());
  std::vector<std::byte> bytes(size * count);
  for (std::size_t i = 0; i < count; ++i) {
    ops::convert(ElementType::float64, reinterpret_cast<const std::byte*>(&value), type,
                 bytes.data() + i * size, 1);
  }
  tensor.data = Bytes::own(std::move(bytes));
  return tensor;
}

}  // namespace

Writer::Writer(Ledger& ledger, std::span<const Node> forward)
    : ledger_(ledger), adder_(added, ledger.names), forward_(forward) {
  for (std::size_t i = 0; i < forward.size(); ++i) {
    for (const std::string& name : forward[i].outputs) {
      if (!name.empty()) makers_.emplace(name, i);
    }
  }
}

void Writer::infer(const Node& node) {
  const auto outputs = ledger_.infer(node);
  if (!outputs.ok()) {
    if (!failed) failed = Error(outputs.error()).within(fmt::format("added {}", node.op_type.str()));
    return;
  }
  for (std::size_t i = 0; i < node.outputs.size() && i < outputs->size(); ++i) {
    if (!node.outputs[i].empty()) ledger_.note(node.outputs[i], (*outputs)[i]);
  }
}

std::vector<std::string> Writer::add(Added node, std::string_view stem) {
  auto outputs = adder_.add(
      graph::make_node(node.op_type, std::move(node.inputs), {}, std::move(node.attributes), node.domain),
      node.outputs, fmt::format("{}/gradient", stem));
  infer(added.nodes.back());
  made_.insert(outputs.begin(), outputs.end());
  return outputs;
}

std::vector<std::string> Writer::add_known(Node node, const std::vector<Value>& outputs,
                                           std::string_view stem) {
  auto names = adder_.add(std::move(node), outputs.size(), fmt::format("{}/gradient", stem));
  for (std::size_t i = 0; i < names.size(); ++i) ledger_.note(names[i], ops::Value(outputs[i]));
  made_.insert(names.begin(), names.end());
  return names;
}

std::string Writer::constant(graph::Tensor tensor) {
  std::string contents = fmt::format("{} {}:", tensor.element.value_or(0), fmt::join(tensor.dims, ","));
  contents.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  const auto [found, fresh] = known_.try_emplace(std::move(contents));
  if (!fresh) return found->second;
  Value value = ops::value_of(tensor);
  value.constant = nullptr;  // the list of constants still grows
  found->second = adder_.constant("gradient/constant", std::move(tensor));
  ledger_.note(found->second, std::move(value));
  return found->second;
}

std::string Writer::number(double value, ElementType type) { return constant(tensor_of(type, {}, value)); }
std::string Writer::integers(std::span<const std::int64_t> elements) {
  return constant(graph::make_tensor("", {static_cast<std::int64_t>(elements.size())},
                                     std::vector<std::int64_t>(elements.begin(), elements.end())));
}

std::string Writer::shape(const std::string& value) {
  if (const auto found = shapes_.find(value); found != shapes_.end()) return found->second;
  const auto& known = ledger_.facts(value).shape;
  if (const auto sizes = known ? ops::numbers(*known) : std::nullopt) return integers(*sizes);
  const std::string name = ledger_.names.numbered(fmt::format("{}/shape", value));
  Node node = graph::make_node("Shape", {value}, {name});
  node.name = graph::Text(ledger_.names.numbered(fmt::format("{}/Shape", value)));
  infer(node);
  const auto maker = makers_.find(value);
  auto& list = maker != makers_.end() ? after_[maker->second] : made_.contains(value) ? added.nodes : front_;
  list.push_back(std::move(node));
  return shapes_[value] = name;
}

std::string Writer::zeros_like(const std::string& value) {
  const std::string zero = number(0, ledger_.facts(value).type);
  return add_one({"Expand", "", {zero, shape(value)}}, value);
}

std::string Writer::own(const std::string& value, std::unordered_set<std::string>& taken) {
  const bool is_own = made_.contains(value) && !taken.contains(value);
  const std::string name = is_own ? value : add_one({"Identity", "", {value}}, value);
  taken.insert(name);
  return name;
}

std::vector<Node> Writer::assembled() && {
  std::vector<Node> all = std::move(front_);
  for (std::size_t i = 0; i < forward_.size(); ++i) {
    all.push_back(forward_[i]);
    if (const auto found = after_.find(i); found != after_.end())
      std::ranges::move(found->second, std::back_inserter(all));
  }
  std::ranges::move(added.nodes, std::back_inserter(all));
  return all;
}

}  // namespace anybit::train
