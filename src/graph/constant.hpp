// Makes and reads small constants, and finds a model's constants by name.
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

// The elements of a constant of float32 (floats), int64 or int32 (integers); empty for other types.
std::optional<std::vector<float>> floats(const Tensor* tensor);
std::optional<std::vector<std::int64_t>> integers(const Tensor* tensor);
// The value of a float32 constant with one element.
std::optional<float> number(const Tensor* tensor);

// The constants of all graphs by name: initializers that are no input's default, and Constant nodes. A
// snapshot of the model; data is shared.
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
