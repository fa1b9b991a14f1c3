// Holds what a view of a model points to, and turns the parts of models into the plain C structures of it.
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
  // Pointers that hold as long as this does.
  const char* text(std::string_view text);
  template <class T>
  const T* list(std::vector<T> list) {
    auto held = std::make_shared<const std::vector<T>>(std::move(list));
    kept_.push_back(held);
    return held->data();
  }

  // A tensor of which no more is known than this; dimensions that are not known are -1.
  anybit_value value(std::string_view name, const ops::Value& about);
  // Constants. The same one has the same `data` wherever it is used; an empty one has some, too.
  anybit_value value(std::string_view name, const ops::Array& constant);
  anybit_value value(std::string_view name, const graph::Tensor& constant);

  // `graph`: of an attribute that is one, by its name; null if it is not told.
  anybit_attribute attribute(const graph::Attribute& attribute, const anybit_graph* graph);

 private:
  anybit_value with_data(std::string_view name, const graph::Tensor& tensor);

  std::vector<std::shared_ptr<const void>> kept_;
  std::unordered_set<std::string> texts_;
  std::unordered_map<const std::byte*, graph::Tensor> packed_;  // constants of small types, by their elements
};

}  // namespace anybit::codegen
