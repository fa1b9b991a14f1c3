#include "session/device_defaults.hpp"

#include <set>

#include "session/model_access.hpp"
#include "session/port.hpp"

namespace anybit {

Model with_constant_defaults(const Model& model) {
  const Model::Content& content = ModelAccess::content(model);
  std::set<std::string> optional;
  for (const Port& port : input_ports(content.model)) {
    if (!port.required) optional.insert(port.name);
  }
  if (optional.empty()) return model;
  Model::Content changed = content;
  std::erase_if(changed.model.graph->inputs,
                [&](const graph::ValueInfo& one) { return optional.count(one.name.str()) != 0; });
  return ModelAccess::make(std::move(changed));
}

}  // namespace anybit
