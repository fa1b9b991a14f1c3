#include "passes/learned.hpp"

namespace anybit::passes {

graph::Constants constants_of(const graph::Model& model, const PassOptions& options) {
  if (!options.learned) return graph::Constants(model);
  if (!options.learned->constants) options.learned->constants.emplace(model);
  return *options.learned->constants;
}

}  // namespace anybit::passes
