// Constants: making small ones, reading them, and finding those of a model by name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/model.hpp"

namespace anybit::graph {

template <class T>
Tensor make_tensor(std::string name, ElementType type, std::vector<std::int64_t> dims,
                   std::vector<T> elements) {
  Tensor tensor;
  if (!name.empty()) tensor.name = Text(std::move(name));
  tensor.element = static_cast<std::int32_t>(type);
  tensor.dims = std::move(dims);
  tensor.data = Bytes::own(std::move(elements));
  return tensor;
}
Tensor make_tensor(std::string name, std::vector<std::int64_t> dims, std::vector<float> elements);
Tensor make_tensor(std::string name, std::vector<std::int64_t> dims, std::vector<std::int64_t> elements);

// The contents of a constant of float32, or of int64 or int32; nothing if it is of another type.
std::optional<std::vector<float>> floats(const Tensor* tensor);
std::optional<std::vector<std::int64_t>> integers(const Tensor* tensor);
// Of a constant that holds one number, of float32.
std::optional<float> number(const Tensor* tensor);

// Constants of all graphs, by name: initializers that no input may replace, and what Constant nodes hold. A
// snapshot of the model as it was; data is shared.
class Constants {
 public:
  explicit Constants(const Model& model);
  const Tensor* find(std::string_view name) const;

 private:
  using Found = std::unordered_map<std::string, Tensor>;
  static void add(const Graph& graph, Found& found);
  std::shared_ptr<const Found> found_;
};

}  // namespace anybit::graph
