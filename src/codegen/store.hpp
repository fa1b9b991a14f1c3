// Converts parts of a model to the plain C structures of a view, and owns their memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "anybit/codegen.hpp"
#include "graph/model.hpp"
#include "ops/array.hpp"
#include "ops/op.hpp"

namespace anybit::codegen {

class Store {
 public:
  // Pointers are valid as long as the store.
  const char* text(std::string_view text);
  template <class T>
  const T* list(std::vector<T> list) {
    auto held = std::make_shared<const std::vector<T>>(std::move(list));
    kept_.push_back(held);
    return held->data();
  }

  // A tensor of which only type and shape are known; unknown dimensions are -1.
  anybit_value value(std::string_view name, const ops::Value& about);
  // Constants. The same constant has the same `data` at every use; an empty one has non-null `data`, too.
  anybit_value value(std::string_view name, const ops::Array& constant);
  anybit_value value(std::string_view name, const graph::Tensor& constant);

  // `graph`: for an attribute that is a graph; null if it is not shown.
  anybit_attribute attribute(const graph::Attribute& attribute, const anybit_graph* graph);

 private:
  anybit_value with_data(std::string_view name, const graph::Tensor& tensor);

  std::vector<std::shared_ptr<const void>> kept_;
  std::unordered_set<std::string> texts_;
  std::unordered_map<const std::byte*, graph::Tensor> packed_;  // constants below 8 bits, by their elements
};

}  // namespace anybit::codegen
