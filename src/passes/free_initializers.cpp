// Before IR version 4 every initializer had to be listed among the graph's inputs, though nobody meant it to
// be given. Such a model becomes one of IR version 4, where constants are constants. A list of inputs with
// defaults of a newer model means what it says, and stays.
#include <algorithm>
#include <set>

#include "passes/table.hpp"

namespace anybit::passes {
namespace {

constexpr std::int64_t kConstantsStandAlone = 4;

Result<std::int64_t> run(graph::Model& model, const PassOptions&) {
  if (!model.graph || model.ir_version.value_or(0) >= kConstantsStandAlone) return 0;
  std::set<std::string_view> initialized;
  for (const graph::Tensor& one : model.graph->initializers) initialized.insert(one.name.str());
  const auto dropped = std::erase_if(model.graph->inputs, [&](const graph::ValueInfo& one) {
    return initialized.find(one.name.str()) != initialized.end();
  });
  model.ir_version = kConstantsStandAlone;
  return static_cast<std::int64_t>(dropped);
}

}  // namespace

std::span<const Descriptor> free_initializers_descriptors() {
  static const Descriptor all[] = {{.name = "free_initializers",
                                    .order = 10,
                                    .summary = "constants of old files are no longer inputs",
                                    .run = run,
                                    .always = true}};
  return all;
}

}  // namespace anybit::passes
