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

Writer::Writer(Ledger& ledger, std::span<const Node> forward) : ledger_(ledger), forward_(forward) {
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

std::vector<std::string> Writer::add(Added added, std::string_view stem) {
  Node node =
      graph::make_node(added.op_type, std::move(added.inputs), {}, std::move(added.attributes), added.domain);
  while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
  for (std::size_t i = 0; i < added.outputs; ++i)
    node.outputs.push_back(ledger_.names.numbered(fmt::format("{}/gradient", stem)));
  node.name = graph::Text(ledger_.names.numbered(fmt::format("{}/{}", stem, added.op_type)));
  infer(node);
  made_.insert(node.outputs.begin(), node.outputs.end());
  return backward.emplace_back(std::move(node)).outputs;
}

std::vector<std::string> Writer::add_known(Node node, const std::vector<Value>& outputs,
                                           std::string_view stem) {
  for (const Value& one : outputs) {
    node.outputs.push_back(ledger_.names.numbered(fmt::format("{}/gradient", stem)));
    ledger_.note(node.outputs.back(), one);
  }
  node.name = graph::Text(ledger_.names.numbered(fmt::format("{}/{}", stem, node.op_type.str())));
  made_.insert(node.outputs.begin(), node.outputs.end());
  return backward.emplace_back(std::move(node)).outputs;
}

std::string Writer::constant(graph::Tensor tensor) {
  std::string contents = fmt::format("{} {}:", tensor.element.value_or(0), fmt::join(tensor.dims, ","));
  contents.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  const auto [found, fresh] = known_.try_emplace(std::move(contents));
  if (!fresh) return found->second;
  found->second = ledger_.names.numbered("gradient/constant");
  tensor.name = graph::Text(found->second);
  Value value = ops::value_of(tensor);
  value.constant = nullptr;  // the list of constants still grows
  ledger_.note(found->second, std::move(value));
  constants.push_back(std::move(tensor));
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
  auto& list = maker != makers_.end() ? after_[maker->second] : made_.contains(value) ? backward : front_;
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
  std::ranges::move(backward, std::back_inserter(all));
  return all;
}

}  // namespace anybit::train
