#include "graph/constant.hpp"

#include <cstring>
#include <type_traits>

#include "graph/index.hpp"
#include "graph/node.hpp"

namespace anybit::graph {
namespace {

template <class T, class As>
std::vector<As> contents(const Tensor& tensor) {
  std::vector<As> values(tensor.data.size() / sizeof(T));
  if constexpr (std::is_same_v<T, As>) {
    if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), values.size() * sizeof(T));
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<As>(tensor.data.at<T>(i));
  return values;
}

}  // namespace

Tensor make_tensor(std::string name, std::vector<std::int64_t> dims, std::vector<float> elements) {
  return make_tensor(std::move(name), ElementType::float32, std::move(dims), std::move(elements));
}

Tensor make_tensor(std::string name, std::vector<std::int64_t> dims, std::vector<std::int64_t> elements) {
  return make_tensor(std::move(name), ElementType::int64, std::move(dims), std::move(elements));
}

std::optional<std::vector<float>> floats(const Tensor* tensor) {
  if (!tensor || tensor->type() != ElementType::float32) return std::nullopt;
  return contents<float, float>(*tensor);
}

std::optional<std::vector<std::int64_t>> integers(const Tensor* tensor) {
  if (tensor && tensor->type() == ElementType::int64) return contents<std::int64_t, std::int64_t>(*tensor);
  if (tensor && tensor->type() == ElementType::int32) return contents<std::int32_t, std::int64_t>(*tensor);
  return std::nullopt;
}

std::optional<float> number(const Tensor* tensor) {
  if (!tensor || tensor->type() != ElementType::float32 || tensor->count() != 1) return std::nullopt;
  return tensor->data.at<float>(0);
}

Constants::Constants(const Model& model) {
  const auto found = std::make_shared<Found>();
  if (model.graph) add(*model.graph, *found);
  found_ = found;
}

void Constants::add(const Graph& graph, Found& found) {
  for (const Tensor& one : graph.initializers) found.emplace(one.name.str(), one);
  for (const ValueInfo& one : graph.inputs) found.erase(one.name.str());
  for (const Node& node : graph.nodes) {
    each_graph(node, [&](const Graph& inner) { add(inner, found); });
    if (!is(node, "Constant") || node.outputs.empty()) continue;
    const Attribute* held = node.attribute("value");
    if (const auto* tensor = held ? std::get_if<Tensor>(&held->value) : nullptr)
      found.emplace(node.outputs[0], *tensor);
  }
}

const Tensor* Constants::find(std::string_view name) const {
  const auto found = name.empty() ? found_->end() : found_->find(std::string(name));
  return found == found_->end() ? nullptr : &found->second;
}

}  // namespace anybit::graph
