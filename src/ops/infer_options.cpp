#include "ops/infer_options.hpp"

#include <algorithm>
#include <set>

#include "base/nearest.hpp"

namespace anybit::ops {
namespace {

// The name nearest to `name`, or all known names.
std::string meant_or_all(const std::string& name, const std::vector<std::string_view>& known,
                         std::string_view what) {
  const std::string meant = did_you_mean(name, known);
  const std::set<std::string_view> all(known.begin(), known.end());  // a dimension may occur twice
  return meant.empty() && !all.empty() ? fmt::format("{} {}", what, fmt::join(all, ", ")) : meant;
}

}  // namespace

Result<InferOptions> checked_options(const graph::Model& model, const InferOptions& options) {
  InferOptions result = options;
  if (options.input_shapes.empty() && options.dims.empty()) return result;
  std::vector<std::string_view> names, symbols;
  for (const graph::ValueInfo& input : model.graph->inputs) {
    names.emplace_back(input.name.str());
    const graph::TensorType* type = input.type ? input.type->tensor() : nullptr;
    if (!type || !type->shape) continue;
    const auto given = options.input_shapes.find(input.name.str());
    if (given != options.input_shapes.end() && given->second.size() != type->shape->dims.size()) {
      return invalid_argument(
          fmt::format("the shape given for input '{}' has {} dimensions, the model declares {}",
                      input.name.str(), given->second.size(), to_string(*input.type)));
    }
    for (std::size_t i = 0; i < type->shape->dims.size(); ++i) {
      const graph::Dimension& dim = type->shape->dims[i];
      const auto* symbol = std::get_if<std::string>(&dim.value);
      if (symbol) symbols.emplace_back(*symbol);
      if (given == options.input_shapes.end()) continue;
      const std::int64_t size = given->second[i];
      if (size < 0)
        return invalid_argument(fmt::format("the size {} of input '{}' is negative", size, input.name.str()));
      if (dim.known() && dim.size() != size) {
        return invalid_argument(fmt::format("dimension {} of input '{}' is {}, not {}: the model declares {}",
                                            i, input.name.str(), dim.size(), size, to_string(*input.type)));
      }
      if (!symbol) continue;
      const auto [found, fresh] = result.dims.emplace(*symbol, size);
      if (!fresh && found->second != size) {
        return invalid_argument(
            fmt::format("dimension '{}' is given as {} and as {}", *symbol, found->second, size));
      }
    }
  }
  for (const auto& [name, shape] : options.input_shapes) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return invalid_argument(fmt::format("the model has no input '{}'", shown(name)),
                              meant_or_all(name, names, "its inputs are"));
    }
  }
  for (const auto& [name, size] : options.dims) {
    if (std::find(symbols.begin(), symbols.end(), name) == symbols.end()) {
      return invalid_argument(fmt::format("no input has a dimension named '{}'", shown(name)),
                              meant_or_all(name, symbols, "the named dimensions are"));
    }
    if (size < 0)
      return invalid_argument(fmt::format("the size {} of dimension '{}' is negative", size, name));
  }
  return result;
}

}  // namespace anybit::ops
